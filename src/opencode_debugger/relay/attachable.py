"""The programs of this user that one could attach to."""

import contextlib
import os
import pwd

from ..answers.server import Process
from ..debuggers.process.program_process import marker_of, parent_pid
from ..debuggers.python.attach import attach_target, debugpy_ports
from ..runner.paths import FORKS
from ..timestamps import timestamp

_TICKS = os.sysconf("SC_CLK_TCK")


def list_attachable(sessions: dict[int, str], filter: str | None, kind: str = "python") -> list[Process]:
    """By process id, with the session that each belongs to: `sessions` has those that are debugged now."""
    listening = debugpy_ports.Listening()
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    with open("/proc/stat") as file:
        booted = next((float(line.split()[1]) for line in file if line.startswith("btime ")), 0.0)
    found = []
    for pid in _own_processes():
        argv = attach_target.command(pid)
        if filter is not None and filter.lower() not in " ".join(argv).lower():
            continue
        python = attach_target.identify(pid)
        if not argv or kind not in ("all", "native" if python is None else "python"):
            continue
        session_id = sessions.get(pid) or _session_of(pid, argv)
        obstacle = f"session {session_id} debugs it" if pid in sessions else _obstacle(pid, argv, python is None)
        found.append(
            Process(
                pid=pid, ppid=parent_pid(pid), name=_program_name(argv) if python else os.path.basename(argv[0])[:255],
                command=attach_target.shown_command(argv), user=user, interpreter=python.path if python else None,
                python_version=python.version_text if python else None, cwd=_read_link(f"/proc/{pid}/cwd"),
                started_at=_started_at(pid, booted), debugpy_port=listening.port_of(pid), session_id=session_id,
                attachable=obstacle is None, reason=obstacle,
            )
        )
    return sorted(found, key=lambda item: item.pid)


def _obstacle(pid: int, argv: list[str], is_native: bool) -> str | None:
    """Return what stands in the way of attaching to a process that no session debugs."""
    if debugpy_ports.is_adapter(argv):
        return "it is debugpy's own process: attach to the program that it serves"
    problem = attach_target.problem(pid, is_native)
    return problem.reason if problem else None


def _session_of(pid: int, argv: list[str]) -> str | None:
    """Return the session that a runner holds, or that started any other process."""
    if argv[-3:-1] == ["-m", "opencode_debugger.runner"]:
        name = os.path.basename(argv[-1])
        return name if name != FORKS else None
    return marker_of(pid)


def _program_name(argv: list[str]) -> str:
    """Return the name of what runs: the script or module, else the interpreter."""
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, "")[:255]
        if word == "-c":
            return "-c"
        if not word.startswith("-"):
            return os.path.basename(word)[:255]
    return os.path.basename(argv[0])[:255] if argv else ""


def _own_processes() -> list[int]:
    own, found = os.getuid(), []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == own:
                found.append(int(name))
    return found


def _started_at(pid: int, booted: float) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
        return timestamp(booted + int(words[19]) / _TICKS)
    except (OSError, IndexError, ValueError):
        return None


def _read_link(path: str) -> str | None:
    try:
        return os.readlink(path).encode("utf-8", "backslashreplace").decode()
    except OSError:
        return None
