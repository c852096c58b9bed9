"""A running process as one to attach to: what it is, and why it cannot be attached to. Only looks, never touches."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from dataclasses import dataclass
from typing import Any

from ...errors import RelayError
from ..processes import marker_of
from . import symbols
from .interpreter import OLDEST
from .launch import debugpy_folder

PTRACE_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
CAP_SYS_PTRACE = 1 << 19
LONGEST_COMMAND = 1000

LISTEN = "Start it with: python -m debugpy --listen 127.0.0.1:PORT script.py, and attach to the port"
NATIVE = "Launch it in a session instead, or run it under gdbserver and attach to its port"
PTRACE = f"Run: sudo sysctl kernel.yama.ptrace_scope=0, or run the relay as root. {LISTEN}"

_PYTHON = re.compile(r"(?:^|/)(?:lib)?(python|pypy)(\d)(?:\.(\d+))?[a-z]*(?:\.so[\d.]*|-[\w-]+|\.exe)?$")
_VERSIONED = re.compile(r"/(?:lib)?python(\d)\.(\d+)[a-z]*[/.]")
_STATE = re.compile(r"^State:\s+(\w)", re.MULTILINE)
_TRACER = re.compile(r"^TracerPid:\s+(\d+)", re.MULTILINE)
_UIDS = re.compile(r"^Uid:\s+(\d+)", re.MULTILINE)
_EFFECTIVE_UID = re.compile(r"^Uid:\s+\d+\s+(\d+)", re.MULTILINE)
_CAPABILITIES = re.compile(r"^CapEff:\s+([0-9a-f]+)", re.MULTILINE)


@dataclass(frozen=True)
class Problem:
    """Why a process cannot be attached to, and what to do."""

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
        advice = found.suggestion.replace(LISTEN, "").strip() or NATIVE if native else found.suggestion
        raise RelayError("ATTACH_FAILED", f"Cannot attach to process {pid}: {found.reason}", pid=pid, suggestion=advice)


def problem(pid: int, native: bool = False) -> Problem | None:
    """The first reason that there is, if any; a native debugger needs neither Python nor a way back to us."""
    if not os.path.isdir("/proc/self"):
        return Problem("attaching by process id works on Linux only")
    try:
        status = _read(f"/proc/{pid}/status")
    except OSError:
        return Problem("there is no such process", _listed(native))
    return _state_problem(status, native) or _permission_problem(pid, status, native) or _kind_problem(pid, native)


def _listed(native: bool) -> str:
    return f"GET /api/v1/processes{'?kind=native' if native else ''} lists the processes to attach to"


def _state_problem(status: str, native: bool) -> Problem | None:
    state = _found(_STATE, status)
    if state in ("Z", "X"):
        return Problem("it has ended already", _listed(native))
    tracer = int(_found(_TRACER, status) or 0)
    session = marker_of(tracer) if tracer else None
    if session:
        advice = f"Use that session, or let the program go first: POST /api/v1/sessions/{session}/detach"
        return Problem(f"session {session} debugs it already", advice)
    if tracer:
        return Problem(f"process {tracer} traces it already", f"End the debugger or tracer {tracer} first")
    if state == "T":
        return Problem("it is stopped", "Let it go on first: kill -CONT PID")
    return None


def held_by(pid: int) -> str | None:
    """The other debugger that has halted the process, all of it, and what lets it go on."""
    try:
        status = _read(f"/proc/{pid}/status")
        tracer = int(_found(_TRACER, status) or 0)
        if not tracer or _found(_STATE, status) != "t":
            return None
        tasks = (_read(f"/proc/{pid}/task/{task}/status") for task in os.listdir(f"/proc/{pid}/task"))
        if any(_found(_STATE, task) != "t" for task in tasks):
            return None
    except OSError:
        return None
    session = marker_of(tracer)
    if session is None:
        return f"another debugger (process {tracer}): let it go on there"
    return f"the debugger of session {session}: POST /api/v1/sessions/{session}/continue, or /detach, lets it go on"


def _permission_problem(pid: int, status: str, native: bool) -> Problem | None:
    may_all = has_ptrace_capability()
    owner = int(_found(_UIDS, status) or 0)
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
    return int(_found(_EFFECTIVE_UID, _read(f"/proc/{pid}/status")) or 0)


def can_enter(pid: int, folder: str) -> bool:
    """A folder of ours: whether it has it under the same name, and may look into it."""
    try:
        return effective_user(pid) == os.geteuid() and os.path.samefile(f"/proc/{pid}/root{folder}", folder)
    except OSError:
        return False


def _kind_problem(pid: int, native: bool) -> Problem | None:
    if pid == os.getpid() or is_own(command(pid)):
        return Problem("it is a process of the relay itself", f"Choose another process: {_listed(native)}")
    if native:
        return None
    python = identify(pid)
    if python is None:
        return Problem("it is not a Python program", "GET /api/v1/processes lists Python programs")
    if python.implementation != "cpython":
        return Problem(f"it runs {python.implementation}: only CPython can be attached to by process id")
    if python.version is not None and python.version < OLDEST:
        return Problem(
            f"it runs Python {python.version_text}: debugpy needs 3.8 or newer", "Run it with a newer Python"
        )
    return None


def identify(pid: int) -> Python | None:
    """Which Python runs there, if any; found out without executing anything."""
    try:
        exe = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return None
    named = _PYTHON.search(exe)
    version = _version(named)
    if named is None or version is None:
        mapped = _mapped(pid)
        library = next((found for path in mapped if (found := _PYTHON.search(path)) and ".so" in path), None)
        if named is None and library is None:
            return None
        found = next((match for path in mapped if (match := _VERSIONED.search(path))), None)
        version = _version(library) or ((int(found[1]), int(found[2])) if found else None)
        named = named or library
    implementation = "pypy" if named and named[1] == "pypy" else "cpython"
    return Python(exe, version, implementation)


def _version(found: re.Match[str] | None) -> tuple[int, int] | None:
    return (int(found[2]), int(found[3])) if found and found[3] else None


def _mapped(pid: int) -> list[str]:
    try:
        return list(symbols.mapped_files(pid))
    except OSError:
        return []


def describe(pid: int) -> dict[str, Any]:
    """What a session shows of a program that was attached to."""
    python = identify(pid)
    cwd = None
    with contextlib.suppress(OSError):
        cwd = os.readlink(f"/proc/{pid}/cwd")
    return {
        "command": shown_command(command(pid)),
        "cwd": cwd,
        "interpreter": python.path if python else None,
        "python_version": python.version_text if python else None,
    }


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
    """A relay or a runner, of whichever data folder."""
    after = [argv[index + 1] for index, word in enumerate(argv[:-1]) if word == "-m"]
    if after:
        return after[0] in ("opencode_debugger", "opencode_debugger.runner")
    names = {os.path.basename(word) for word in argv[:2]}
    return bool(names & {"opencode-debugger", "ocdb"}) and "serve" in argv


def ptrace_scope() -> int:
    try:
        return int(_read(PTRACE_SCOPE))
    except (OSError, ValueError):
        return 0


@functools.cache
def has_ptrace_capability() -> bool:
    return bool(int(_found(_CAPABILITIES, _read("/proc/self/status")) or "0", 16) & CAP_SYS_PTRACE)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None
