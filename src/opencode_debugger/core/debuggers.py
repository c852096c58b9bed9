"""Makes the adapter of a session by its name; what few sessions need is imported when one does."""

from __future__ import annotations

from collections.abc import Callable

from ..adapters.base import Debugger, Listener
from ..adapters.debugpy.adapter import DebugpyAdapter
from .settings import Config


def make_adapter(name: str, config: Config, listener: Listener, spell: Callable[[str], str]) -> Debugger:
    id, limits = config.session_id, config.limits
    timeouts = limits.dap_timeout_seconds, limits.dap_launch_timeout_seconds
    match name:
        case "gdb":
            from ..adapters.native.gdb import GdbAdapter

            return GdbAdapter(id, listener, *timeouts, limits.gdb_path)
        case "lldb":
            from ..adapters.native.lldb import LldbAdapter

            return LldbAdapter(id, listener, *timeouts, limits.lldb_path)
        case "ez":
            from ..adapters.ez.adapter import EzAdapter

            return EzAdapter(id, listener, *timeouts, limits.ez_path)
        case "native_passed_on":
            from ..adapters.passed_on.native import NativePassedOn

            return NativePassedOn(id, listener, timeouts[1], limits.gdb_path, limits.lldb_path)
        case "python_passed_on":
            from ..adapters.passed_on.python import PythonPassedOn

            return PythonPassedOn(id, config.folder, listener, timeouts[1])
        case "none":
            from ..adapters.debugpy.only_children import OnlyChildrenAdapter

            return OnlyChildrenAdapter(id, config.folder, config.interpreter, listener, *timeouts, config.asks_early)
    adapter = DebugpyAdapter(id, config.folder, config.interpreter, listener, *timeouts, config.asks_early)
    adapter.spell = spell
    return adapter
