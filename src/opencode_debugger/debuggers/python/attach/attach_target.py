"""A running process as one to attach to: what it is, and why it cannot be attached to. Only looks, never touches."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....errors import RelayError
from ....operations.advice import advice
from ...process.proc_files import read_text
from ...process.program_process import marker_of
from ..interpreters.interpreter import OLDEST
from ..launch.start_program import debugpy_folder
from . import memory_symbols

if TYPE_CHECKING:
    from ...rows import ProgramRow

PTRACE_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
CAP_SYS_PTRACE = 1 << 19
LONGEST_COMMAND = 1000

LISTEN = "Start it with: python -m debugpy --listen 127.0.0.1:PORT script.py, and attach to the port"
NATIVE = "Launch it in a session instead, or run it under gdbserver and attach to its port"
PTRACE = f"Run: sudo sysctl kernel.yama.ptrace_scope=0, or run the relay as root. {LISTEN}"

_PYTHON = re.compile(r"(?:^|/)(?:lib)?(python|pypy)(\d)(?:\.(\d+))?[a-z]*(?:\.so[\d.]*|-[\w-]+|\.exe)?$")
_VERSIONED = re.compile(r"/(?:lib)?python(\d)\.(\d+)[a-z]*[/.]")


@dataclass(frozen=True)
class Problem:
    """The reason why a process cannot be attached to, and what to do."""

    reason: str
    suggestion: str = LISTEN


@dataclass(frozen=True)
class Python:
    path: str
    version: tuple[int, int] | None
    implementation: str

    @property
    def version_text(self) -> str | None:
        return f"{self.version[0]}.{self.version[1]}" if self.version else None


def require_attachable(pid: int, native: bool = False) -> None:
    found = problem(pid, native)
    if found is not None:
        instead = found.suggestion.replace(LISTEN, "").strip() or NATIVE if native else found.suggestion
        message = f"Cannot attach to process {pid}: {found.reason}"
        raise RelayError("ATTACH_FAILED", message, pid=pid, suggestion=instead)


def problem(pid: int, native: bool = False) -> Problem | None:
    """Return the first reason not to attach, if any; a native debugger needs neither Python nor a way back to us."""
    if not os.path.isdir("/proc/self"):
        return Problem("attaching by process id works on Linux only")
    try:
        status = ProcessStatus(f"/proc/{pid}/status")
    except OSError:
        return Problem("there is no such process", _where_listed(native))
    return _state_problem(status, native) or _permission_problem(pid, status, native) or _kind_problem(pid, native)


def _where_listed(native: bool) -> str:
    return advice(f"{{/list_processes{' kind=native' if native else ''}}} lists the processes to attach to")


def _state_problem(status: ProcessStatus, native: bool) -> Problem | None:
    if status.state in ("Z", "X"):
        return Problem("it has ended already", _where_listed(native))
    tracer = status.tracer
    session = marker_of(tracer) if tracer else None
    if session:
        instead = advice(f"Use that session, or let the program go first: {{/detach session_id={session}}}")
        return Problem(f"session {session} debugs it already", instead)
    if tracer:
        return Problem(f"process {tracer} traces it already", f"End the debugger or tracer {tracer} first")
    if status.state == "T":
        return Problem("it is stopped", "Let it go on first: kill -CONT PID")
    return None


def halt_by_another(pid: int) -> str | None:
    """Say which other debugger has halted the process, all of it, and what lets it go on."""
    try:
        status = ProcessStatus(f"/proc/{pid}/status")
        if not status.tracer or status.state != "t":
            return None
        tasks = os.listdir(f"/proc/{pid}/task")
        if any(ProcessStatus(f"/proc/{pid}/task/{task}/status").state != "t" for task in tasks):
            return None
    except OSError:
        return None
    session = marker_of(status.tracer)
    if session is None:
        holder = f"another debugger (process {status.tracer}): let it go on there"
    else:
        way_on = advice(f"{{/continue session_id={session}}}, or {{~detach}}, lets it go on")
        holder = f"the debugger of session {session}: {way_on}"
    return f"The program's process {pid} is halted by {holder}"


def _permission_problem(pid: int, status: ProcessStatus, native: bool) -> Problem | None:
    may_all, owner = has_ptrace_capability(), status.users[0]
    if owner != os.getuid() and not may_all:
        return Problem(f"it belongs to another user (uid {owner})", "Run the relay as that user")
    scope = ptrace_scope()
    if scope == 3 or (scope in (1, 2) and not may_all):
        return Problem(f"the system forbids it (kernel.yama.ptrace_scope is {scope})", PTRACE if scope < 3 else LISTEN)
    try:
        with open(f"/proc/{pid}/maps", "rb") as maps:
            maps.read(1)
        is_near = shares_namespace(pid, "net") and os.path.isdir(f"/proc/{pid}/root{debugpy_folder()}")
    except OSError:
        return Problem("the system does not let us look into it", PTRACE)
    if not is_near and not native:
        return Problem("it runs in a container or namespace from which it cannot reach us")
    return None


def shares_namespace(pid: int, kind: str) -> bool:
    return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")


def effective_user(pid: int) -> int:
    return ProcessStatus(f"/proc/{pid}/status").users[1]


def can_enter(pid: int, folder: str) -> bool:
    """Tell whether the process has a folder of ours under the same name, and may look into it."""
    try:
        return effective_user(pid) == os.geteuid() and os.path.samefile(f"/proc/{pid}/root{folder}", folder)
    except OSError:
        return False


def _kind_problem(pid: int, native: bool) -> Problem | None:
    if pid == os.getpid() or is_own(command(pid)):
        return Problem("it is a process of the relay itself", f"Choose another process: {_where_listed(native)}")
    if native:
        return None
    python = identify(pid)
    if python is None:
        return Problem("it is not a Python program", advice("{/list_processes} lists Python programs"))
    if python.implementation != "cpython":
        return Problem(f"it runs {python.implementation}: only CPython can be attached to by process id")
    if python.version is None or python.version >= OLDEST:
        return None
    return Problem(f"it runs Python {python.version_text}: debugpy needs 3.8 or newer", "Run it with a newer Python")


def identify(pid: int) -> Python | None:
    """Return the Python that runs there, if any; found out without executing anything."""
    try:
        exe = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return None
    named = _PYTHON.search(exe)
    version = _version_in(named)
    if named is None or version is None:
        mapped: list[str] = []
        with contextlib.suppress(OSError):
            mapped = list(memory_symbols.mapped_files(pid))
        library = next((found for path in mapped if (found := _PYTHON.search(path)) and ".so" in path), None)
        if named is None and library is None:
            return None
        found = next((match for path in mapped if (match := _VERSIONED.search(path))), None)
        version = _version_in(library) or ((int(found[1]), int(found[2])) if found else None)
        named = named or library
    implementation = "pypy" if named and named[1] == "pypy" else "cpython"
    return Python(exe, version, implementation)


def _version_in(found: re.Match[str] | None) -> tuple[int, int] | None:
    return (int(found[2]), int(found[3])) if found and found[3] else None


def describe(pid: int) -> ProgramRow:
    """Return what a session shows of a program that was attached to."""
    python = identify(pid)
    row: ProgramRow = {"command": shown_command(command(pid)), "cwd": None}
    with contextlib.suppress(OSError):
        row["cwd"] = os.readlink(f"/proc/{pid}/cwd")
    row["interpreter"] = python.path if python else None
    row["python_version"] = python.version_text if python else None
    return row


def command(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            text = file.read().decode("utf-8", "backslashreplace")
    except OSError:
        return []
    return text.rstrip("\0").split("\0") if text else []


def shown_command(argv: list[str]) -> str:
    text = " ".join(argv)
    return text if len(text) <= LONGEST_COMMAND else text[:LONGEST_COMMAND] + "..."


def is_own(argv: list[str]) -> bool:
    """Tell whether it is a relay or a runner, of whichever data folder."""
    after = [argv[index + 1] for index, word in enumerate(argv[:-1]) if word == "-m"]
    if after:
        return after[0] in ("opencode_debugger", "opencode_debugger.runner")
    names = {os.path.basename(word) for word in argv[:2]}
    return bool(names & {"opencode-debugger", "ocdb"}) and "serve" in argv


def ptrace_scope() -> int:
    try:
        return int(read_text(PTRACE_SCOPE))
    except (OSError, ValueError):
        return 0


@functools.cache
def has_ptrace_capability() -> bool:
    return bool(ProcessStatus("/proc/self/status").capabilities & CAP_SYS_PTRACE)


class ProcessStatus:
    """The fields of a status file of the kernel that we look at."""

    def __init__(self, path: str) -> None:
        fields = dict(line.split(":", 1) for line in read_text(path).splitlines() if ":" in line)
        self.state = fields.get("State", "").strip()[:1]
        self.tracer = int(fields.get("TracerPid", 0))
        self.users = [int(user) for user in fields.get("Uid", "0 0").split()]
        """real and effective, then others"""
        self.capabilities = int(fields.get("CapEff", "0"), 16)
