"""Chooses the debugger of a program: by what was asked for, else by what the program is."""

from __future__ import annotations

import contextlib
import os

from ...debuggers.registry import (
    DEFAULT,
    NATIVE,
    ONLY_CHILDREN,
    SERVERS,
    Programs,
    configured_paths,
    find_record,
    record_of_source,
)
from ...debuggers.shapes import LaunchSpec
from ...default_settings import Limits
from ...errors import RelayError, invalid_parameter


def adapter_for_launch(adapter: str | None, server: str | None, kind: str, target: str, limits: Limits) -> str:
    adapter = _with_server(adapter, server)
    record = find_record(adapter) if adapter else record_of_source(target) if kind in ("file", "program") else None
    if record is not None and record.programs is Programs.FILES:
        return record.name
    if kind == "command":
        if adapter in NATIVE:
            message = f"{adapter} debugs native programs, and {target} is a script"
            raise invalid_parameter("adapter", adapter, message, "Leave adapter and debugger out")
        return ONLY_CHILDREN
    if kind == "program":
        if adapter == DEFAULT:
            message = f"{DEFAULT} debugs Python, and this is a native program"
            others = " or ".join(f'"{name}"' for name in NATIVE)
            raise invalid_parameter("adapter", adapter, message, f"Leave adapter out, or use {others}")
        return adapter or default_native(limits)
    if adapter in NATIVE:
        message = f"{adapter} debugs native programs, and this is Python"
        advice = "Leave adapter and debugger out; to debug the interpreter itself, give its path as `program` as well"
        raise invalid_parameter("adapter", adapter, message, advice)
    return DEFAULT


def adapter_for_attach(adapter: str | None, server: str | None, pid: int | None, limits: Limits) -> str:
    adapter = _with_server(adapter, server)
    if adapter is not None or pid is None:
        return adapter or DEFAULT
    from ...debuggers.python.attach.attach_target import identify

    try:
        is_python = identify(pid) is not None or not os.path.exists(f"/proc/{pid}/exe")
    except OSError:
        is_python = True  # whoever attaches says what is wrong with it
    return DEFAULT if is_python else default_native(limits)


def adapter_of(spec: LaunchSpec) -> str:
    """Return the name of the adapter for a launch: with tunnel_only it is one that hands the program over."""
    handing_over = find_record(spec.adapter).with_tunnel_only if spec.tunnel_only else None
    return handing_over or spec.adapter


def _with_server(adapter: str | None, server: str | None) -> str | None:
    if server is None:
        return adapter
    if adapter not in (None, SERVERS[server]):
        message = f"{server} is reached with {SERVERS[server]}, not with {adapter}"
        raise invalid_parameter("adapter", adapter or "", message, "Leave adapter out")
    return SERVERS[server]


def default_native(limits: Limits) -> str:
    """Return the first native debugger that is there: gdb, which the extra `native` brings, then lldb.

    Without either, gdb is the one to install."""
    paths = configured_paths(limits)
    for name in NATIVE:
        find = find_record(name).find
        assert find is not None
        with contextlib.suppress(RelayError):
            find(paths[name] or None)
            return name
    return NATIVE[0]
