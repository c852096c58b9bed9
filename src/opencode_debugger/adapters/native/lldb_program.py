"""Which lldb-dap is used, and its lldb-server."""

from __future__ import annotations

import os
import re

from ...errors import RelayError
from ...files import find_executable

HOW_TO = (
    "Install lldb 18 or newer (on Debian or Ubuntu: apt-get install lldb-19), or name its lldb-dap in "
    "OPENCODE_DEBUG_LLDB_PATH"
)


def find(setting: str | None) -> str:
    """The lldb-dap that the settings name, else the one on PATH: the plain name first, then the newest version."""
    if setting:
        path = find_executable(os.path.expanduser(setting))
        if path is None:
            raise _missing(f"lldb_path {setting!r} is not a program")
        return path
    found = _on_path("lldb-dap")
    if found is None:
        raise _missing("There is no lldb-dap, which debugs native programs with lldb")
    return found


def find_server(setting: str | None) -> str:
    """Of the same version, which is in the same folder as the real lldb-dap; else the one on PATH."""
    beside = os.path.join(os.path.dirname(os.path.realpath(find(setting))), "lldb-server")
    found = beside if os.access(beside, os.X_OK) else _on_path("lldb-server")
    if found is None:
        raise _missing("There is no lldb-server")
    return found


def serving(setting: str | None) -> list[str]:
    """The command of a server that talks on the socket that is its stdin."""
    server = [find_server(setting), "gdbserver", "--fd", "6"]
    return ["/bin/sh", "-c", 'exec "$@" 6<&0 0</dev/null 1>/dev/null', "sh", *server]


def _on_path(name: str) -> str | None:
    plain = find_executable(name)
    if plain is not None:
        return plain
    versions: dict[int, str] = {}
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for entry in _entries(folder) if os.path.isabs(folder) else ():
            match = re.fullmatch(re.escape(name) + r"-(\d+)", entry)
            path = os.path.join(folder, entry)
            if match and os.access(path, os.X_OK):
                versions.setdefault(int(match[1]), path)
    return versions[max(versions)] if versions else None


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _missing(message: str) -> RelayError:
    return RelayError("LAUNCH_FAILED", message, status=400, suggestion=HOW_TO)
