"""Every debugger once: its name, the programs and files it is for, how it is found, and how it is made.

Adding a debugger is a folder and a record here, or a package that is installed beside the relay and names its record
in the entry point group `opencode_debugger.debuggers`. Such packages are looked for only when a client asks for a name
that is not in this table, and code of a debugger is imported only when a session needs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..errors import RelayError
from .optional_features import NATIVE_CAPABILITIES, PYTHON_CAPABILITIES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .protocols import Debugger, Listener

ENTRY_POINTS = "opencode_debugger.debuggers"


class Programs(Enum):
    """The kinds of programs that debuggers run."""

    PYTHON = "python"
    NATIVE = "native"
    FILES = "files"
    """whatever file it is given: what is in it is the debugger's own affair"""


@dataclass(frozen=True)
class DebuggerSetup:
    """The facts of a session that its debugger is made with."""

    session_id: str
    folder: str
    """of the session, for sockets that nobody else may reach"""
    listener: Listener
    timeout: float
    """seconds for an answer"""
    launch_timeout: float
    """seconds for a program to be started"""
    interpreter: str
    """Python of the session"""
    asks_early: bool
    """whether the interpreter may be asked who it is before a launch"""
    spell: Callable[[str], str]
    """gives a path as the client has written it"""
    paths: Mapping[str, str] = field(default_factory=dict)
    """by name, where the settings say that a debugger is; empty if they do not"""


@dataclass(frozen=True)
class DebuggerRecord:
    """All that others know of a debugger before they have made one."""

    name: str
    programs: Programs
    make: Callable[[DebuggerSetup], Debugger]
    languages: tuple[str, ...] = ()
    suffixes: frozenset[str] = frozenset()
    """how the names of source files end that are its own, in lower case"""
    servers: tuple[str, ...] = ()
    """debug servers that are reached with it, of the relay's own"""
    with_tunnel_only: str | None = None
    """the record that hands its programs over to a client of the tunnel; None if it sees to tunnel_only itself"""
    capabilities: frozenset[str] = frozenset()
    """what it offers at most, of what not every debugger does"""
    path_setting: str | None = None
    """of the relay's own: the setting that says where it is"""
    find: Callable[[str | None], str] | None = None
    """returns its path, given that setting, or raises RelayError with what to install; None if it is always there"""
    package: str | None = None
    """the Python package that brings it, for its version"""
    is_offered: bool = True
    """whether clients may ask for it by its name"""


# How each is made. What few sessions need is imported when one does.


def _make_debugpy(setup: DebuggerSetup) -> Debugger:
    from .python.debugpy_adapter import DebugpyAdapter

    return DebugpyAdapter(setup)


def _make_only_children(setup: DebuggerSetup) -> Debugger:
    from .python.children.only_children import OnlyChildrenAdapter

    return OnlyChildrenAdapter(setup)


def _make_gdb(setup: DebuggerSetup) -> Debugger:
    from .native.gdb.gdb_adapter import GdbAdapter

    return GdbAdapter(setup)


def _make_lldb(setup: DebuggerSetup) -> Debugger:
    from .native.lldb.lldb_adapter import LldbAdapter

    return LldbAdapter(setup)


def _make_ez(setup: DebuggerSetup) -> Debugger:
    from .ez.ez_adapter import EzAdapter

    return EzAdapter(setup)


def _hand_over_native(setup: DebuggerSetup) -> Debugger:
    from .handed_over.native_servers import NativeServerAdapter

    return NativeServerAdapter(setup)


def _hand_over_python(setup: DebuggerSetup) -> Debugger:
    from .handed_over.plain_debugpy import PlainDebugpyAdapter

    return PlainDebugpyAdapter(setup)


# How each is found.


def _find_gdb(setting: str | None) -> str:
    from . import trusted_gdb

    return trusted_gdb.find(setting).command[0]


def _find_lldb(setting: str | None) -> str:
    from .native.lldb import lldb_program

    return lldb_program.find(setting)


def _find_ez(setting: str | None) -> str:
    from .ez import find_debugger

    return find_debugger.find(setting)


PYTHON_FILES = frozenset({".py", ".pyw"})
NATIVE_FILES = frozenset(
    {
        ".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".c++", ".h++", ".inl", ".ipp", ".tpp", ".m", ".mm",
        ".s", ".asm", ".rs", ".zig", ".d", ".go", ".nim", ".v", ".odin", ".f", ".f90", ".f95", ".f03", ".f08", ".for",
        ".pas", ".pp", ".adb", ".ads", ".cu", ".cl", ".swift", ".vala",
    }
)  # fmt: skip
"""How the names of files end that are compiled to machine code."""
NATIVE_LANGUAGES = ("C", "C++", "Rust", "others that are compiled to machine code")
DEFAULT = "debugpy"
ONLY_CHILDREN = "none"
NATIVE_HANDED_OVER = "native_passed_on"
PYTHON_HANDED_OVER = "python_passed_on"

OWN_RECORDS = (
    DebuggerRecord(
        DEFAULT,
        Programs.PYTHON,
        _make_debugpy,
        languages=("Python",),
        suffixes=PYTHON_FILES,
        with_tunnel_only=PYTHON_HANDED_OVER,
        capabilities=PYTHON_CAPABILITIES,
        package="debugpy",
    ),
    DebuggerRecord(
        "gdb",
        Programs.NATIVE,
        _make_gdb,
        languages=NATIVE_LANGUAGES,
        suffixes=NATIVE_FILES,
        servers=("gdbserver",),
        with_tunnel_only=NATIVE_HANDED_OVER,
        capabilities=NATIVE_CAPABILITIES | {"reverse", "subprocesses"},
        path_setting="gdb_path",
        find=_find_gdb,
    ),
    DebuggerRecord(
        "lldb",
        Programs.NATIVE,
        _make_lldb,
        languages=NATIVE_LANGUAGES,
        suffixes=NATIVE_FILES,
        servers=("lldb-server",),
        with_tunnel_only=NATIVE_HANDED_OVER,
        capabilities=NATIVE_CAPABILITIES,
        path_setting="lldb_path",
        find=_find_lldb,
    ),
    DebuggerRecord(
        "ez",
        Programs.FILES,
        _make_ez,
        languages=("EZ",),
        suffixes=frozenset({".ez"}),
        capabilities=frozenset({"completions", "step_until", "data_breakpoints", "reverse"}),
        path_setting="ez_path",
        find=_find_ez,
    ),
    DebuggerRecord(
        ONLY_CHILDREN,
        Programs.PYTHON,
        _make_only_children,
        capabilities=frozenset({"subprocesses"}),
        is_offered=False,
    ),
    DebuggerRecord(NATIVE_HANDED_OVER, Programs.NATIVE, _hand_over_native, is_offered=False),
    DebuggerRecord(PYTHON_HANDED_OVER, Programs.PYTHON, _hand_over_python, is_offered=False),
)  # fmt: skip

_known = {record.name: record for record in OWN_RECORDS}
"""those of the relay, and those of other packages that were asked for"""

OFFERED = tuple(record.name for record in OWN_RECORDS if record.is_offered)
"""Names that clients may give, besides those of packages that are installed."""
SERVERS = {server: record.name for record in OWN_RECORDS for server in record.servers}
"""Debug servers, and whose they are."""
NATIVE = tuple(record.name for record in OWN_RECORDS if record.programs is Programs.NATIVE and record.is_offered)


def find_record(name: str) -> DebuggerRecord:
    """Return the record of a debugger by its name; that of another package is loaded now."""
    if name not in _known:
        _known[name] = _load_record(name)
    return _known[name]


def record_of_source(path: str) -> DebuggerRecord | None:
    """Return the first record whose source a file is, by its name."""
    suffix = os.path.splitext(path)[1].lower()
    return next((record for record in _known.values() if suffix in record.suffixes), None)


def is_run_as_file(path: str) -> bool:
    """Say whether a file is the source of a program that its debugger runs itself."""
    record = record_of_source(path)
    return record is not None and record.programs is Programs.FILES


def configured_paths(settings: object) -> dict[str, str]:
    """Return by name where the settings say that debuggers are."""
    return {record.name: getattr(settings, record.path_setting) for record in OWN_RECORDS if record.path_setting}


# Debuggers of other packages.


def installed_names() -> list[str]:
    return sorted(_entry_points())


def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # takes a while to import, and most sessions never need it

    return {found.name: found for found in entry_points(group=ENTRY_POINTS) if found.name not in _own_names}


def _load_record(name: str) -> DebuggerRecord:
    found = _entry_points().get(name)
    if found is None:
        raise _unusable_debugger(f"There is no debugger {name!r}", f"Use one of {', '.join(OFFERED)}")
    advice = f"Correct or reinstall the package that brings it ({found.value})"
    try:
        record: Any = found.load()
    except Exception as error:  # it is somebody else's code
        raise _unusable_debugger(f"The debugger {name!r} could not be loaded: {error!r}", advice) from error
    if not isinstance(record, DebuggerRecord) or record.name != name:
        raise _unusable_debugger(f"{found.value} is no record of a debugger {name!r}", advice)
    return record


def _unusable_debugger(message: str, advice: str) -> RelayError:
    return RelayError("LAUNCH_FAILED", message, status=400, suggestion=advice)


_own_names = frozenset(_known)
"""which no other package can take"""
