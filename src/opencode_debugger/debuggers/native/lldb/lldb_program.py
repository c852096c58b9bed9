"""The lldb-dap that is used, and its lldb-server."""

from __future__ import annotations

import glob
import os

from ....errors import RelayError
from ....files import find_executable


def find(setting: str | None) -> str:
    """The lldb-dap that the settings name, else the one on PATH: the plain name first, then the newest version."""
    found = find_executable(os.path.expanduser(setting)) if setting else _on_path("lldb-dap")
    if found is None:
        nothing = "There is no lldb-dap, which debugs native programs with lldb"
        raise _missing(f"lldb_path {setting!r} is not a program" if setting else nothing)
    return found


def find_server(setting: str | None) -> str:
    """Find the one of the same version, in the folder of the real lldb-dap; else the one on PATH."""
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
    for folder in filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        for path in glob.glob(f"{glob.escape(folder)}/{name}-*"):
            version = path.rpartition("-")[2]
            if version.isdecimal() and os.access(path, os.X_OK):
                versions.setdefault(int(version), path)
    return versions[max(versions)] if versions else None


def _missing(message: str) -> RelayError:
    install = "Install lldb 18 or newer (on Debian or Ubuntu: apt-get install lldb-19)"
    advice = f"{install}, or name its lldb-dap in OPENCODE_DEBUG_LLDB_PATH"
    return RelayError("LAUNCH_FAILED", message, status=400, suggestion=advice)
