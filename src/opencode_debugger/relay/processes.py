"""The programs of this user that one could attach to."""

from __future__ import annotations

import os
import pwd
from typing import Any

from ..adapters.debugpy import ports, target
from ..adapters.processes import marker_of, parent_pid
from ..core.events import timestamp
from ..runner.paths import FORKS

_TICKS = os.sysconf("SC_CLK_TCK")


def listed(sessions: dict[int, str], filter: str | None, kind: str = "python") -> list[dict[str, Any]]:
    """By process id, with the session that each belongs to: `sessions` has those that are debugged now."""
    listening = ports.Listening()
    user, booted = _user(), _boot_time()
    found = []
    for pid in _own_processes():
        argv = target.command(pid)
        shown = target.shown_command(argv)
        if filter is not None and filter.lower() not in " ".join(argv).lower():
            continue
        python = target.identify(pid)
        if not argv or kind not in ("all", "native" if python is None else "python"):
            continue
        session_id = sessions.get(pid) or _session_of(pid, argv)
        found.append(
            {
                "pid": pid,
                "ppid": parent_pid(pid),
                "name": _name(argv) if python else os.path.basename(argv[0])[:255],
                "command": shown,
                "user": user,
                "interpreter": python.path if python else None,
                "python_version": python.version_text if python else None,
                "cwd": _link(f"/proc/{pid}/cwd"),
                "started_at": _started_at(pid, booted),
                "debugpy_port": listening.port_of(pid),
                "session_id": session_id,
                **_verdict(pid, argv, python is None, pid in sessions, session_id),
            }
        )
    return sorted(found, key=lambda item: item["pid"])


def _verdict(pid: int, argv: list[str], is_native: bool, is_debugged: bool, session_id: str | None) -> dict[str, Any]:
    if is_debugged:
        return {"attachable": False, "reason": f"session {session_id} debugs it"}
    if ports.is_adapter(argv):
        return {"attachable": False, "reason": "it is debugpy's own process: attach to the program that it serves"}
    problem = target.problem(pid, is_native)
    return {"attachable": problem is None, "reason": problem.reason if problem else None}


def _session_of(pid: int, argv: list[str]) -> str | None:
    """Of a runner the session that it holds, of anything else the session that started it."""
    if argv[-3:-1] == ["-m", "opencode_debugger.runner"]:
        name = os.path.basename(argv[-1])
        return name if name != FORKS else None
    return marker_of(pid)


def _name(argv: list[str]) -> str:
    """What runs: the script or module, else the interpreter."""
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
    own = os.getuid()
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == own:
                found.append(int(name))
        except OSError:
            continue
    return found


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _boot_time() -> float:
    with open("/proc/stat") as file:
        return next((float(line.split()[1]) for line in file if line.startswith("btime ")), 0.0)


def _started_at(pid: int, booted: float) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
        return timestamp(booted + int(words[19]) / _TICKS)
    except (OSError, IndexError, ValueError):
        return None


def _link(path: str) -> str | None:
    try:
        return os.readlink(path).encode("utf-8", "backslashreplace").decode()
    except OSError:
        return None
