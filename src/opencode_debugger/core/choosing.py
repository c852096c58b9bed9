"""Which debugger a program is debugged with: by what was asked for, else by what the program is."""

from __future__ import annotations

import contextlib
import os

from ..adapters.ez.source import is_ez
from ..errors import RelayError, invalid_parameter
from .settings import Limits

SERVERS = {"gdbserver": "gdb", "lldb-server": "lldb"}
"""Debug servers, and whose they are."""
NATIVE = ("gdb", "lldb")
FILES = ("file", "program")
"""Kinds of launches whose target is a file."""
def adapter_for_launch(adapter: str | None, server: str | None, kind: str, target: str, limits: Limits) -> str:
    adapter = _with_server(adapter, server)
    if adapter == "ez" or (adapter is None and kind in FILES and is_ez(target)):
        return "ez"
    if kind == "command":
        if adapter in NATIVE:
            message = f"{adapter} debugs native programs, and {target} is a script"
            raise invalid_parameter("adapter", adapter, message, "Leave adapter and debugger out")
        return "none"
    if kind == "program":
        if adapter == "debugpy":
            message = "debugpy debugs Python, and this is a native program"
            raise invalid_parameter("adapter", adapter, message, 'Leave adapter out, or use "gdb" or "lldb"')
        return adapter or default_native(limits)
    if adapter in NATIVE:
        message = f"{adapter} debugs native programs, and this is Python"
        advice = "Leave adapter and debugger out; to debug the interpreter itself, give its path as `program` as well"
        raise invalid_parameter("adapter", adapter, message, advice)
    return "debugpy"


def adapter_for_attach(adapter: str | None, server: str | None, pid: int | None, limits: Limits) -> str:
    adapter = _with_server(adapter, server)
    if adapter is not None or pid is None:
        return adapter or "debugpy"
    from ..adapters.debugpy.target import identify

    try:
        is_python = identify(pid) is not None or not os.path.exists(f"/proc/{pid}/exe")
    except OSError:
        is_python = True  # whoever attaches says what is wrong with it
    return "debugpy" if is_python else default_native(limits)


def _with_server(adapter: str | None, server: str | None) -> str | None:
    if server is None:
        return adapter
    if adapter not in (None, SERVERS[server]):
        message = f"{server} is reached with {SERVERS[server]}, not with {adapter}"
        raise invalid_parameter("adapter", adapter or "", message, "Leave adapter out")
    return SERVERS[server]


def default_native(limits: Limits) -> str:
    """gdb, which the extra `native` brings; lldb where there is only that. Of neither, gdb is the one to install."""
    from ..adapters import gdb_program
    from ..adapters.native import lldb_program

    for name, find, path in (("gdb", gdb_program.find, limits.gdb_path), ("lldb", lldb_program.find, limits.lldb_path)):
        with contextlib.suppress(RelayError):
            find(path or None)
            return name
    return "gdb"
