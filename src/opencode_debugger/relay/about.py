"""Describes the relay and what it can do."""

import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path

from .. import __version__
from ..answers.server import Capabilities, Health, Info, InstalledDebugger
from ..answers.shape import UNSET
from ..config import Settings
from ..debuggers.registry import OFFERED, configured_paths, find_record, installed_names
from ..errors import RelayError

ALL_SUPPORTED = {name: True for name in Capabilities.__struct_fields__ if name.startswith("supports_")}


def health_report(folder: Path, uptime: float, sessions: int) -> Health:
    debugpy = importlib.util.find_spec("debugpy") is not None
    return Health(
        status="healthy" if debugpy and os.access(folder, os.W_OK) else "unhealthy", version=__version__,
        uptime_seconds=int(uptime), active_sessions=sessions, debugpy_available=debugpy,
    )


def server_info(settings: Settings) -> Info:
    """Describe all but the endpoints, which a door knows."""
    paths = configured_paths(settings)
    return Info(
        name="OpenCode Debug Relay Server", version=__version__, api_version="v1",
        python_version=platform.python_version(), debugpy_version=importlib.metadata.version("debugpy"),
        debuggers={name: _find_debugger(name, paths.get(name) or None) for name in (*OFFERED, *installed_names())},
        capabilities=Capabilities(**ALL_SUPPORTED, max_sessions=settings.max_sessions), endpoints=[], methods={},
    )


def _find_debugger(name: str, setting: str | None) -> InstalledDebugger:
    """Tell where a debugger of this machine is, or what to do about its absence."""
    try:
        record = find_record(name)
        path = UNSET if record.find is None else record.find(setting)
    except RelayError as error:
        return InstalledDebugger(available=False, reason=error.message, suggestion=error.details["suggestion"])
    version = importlib.metadata.version(record.package) if record.package else UNSET
    return InstalledDebugger(available=True, path=path, version=version)
