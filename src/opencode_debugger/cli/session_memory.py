"""Remembers the current session of a folder: in a file of the data folder, found from the folders below, too."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..files import delete_file, read_file, write_json

FOLDER = "current-sessions"
SESSION_ID = re.compile(r"[\w.-]{1,100}")


class Remembered(NamedTuple):
    path: Path
    session_id: str


class FolderMemory:
    """Of a session that the command line names nothing is remembered: `ocdb use` and the commands that start a program
    make one the current one."""

    def __init__(
        self, data_folder: Path, here: Path, server: str | None, named: str | None = None, is_starting: bool = False
    ) -> None:
        self._folder = data_folder / FOLDER
        self._here = here
        self._server = server or ""
        self._named = named
        self._is_starting = is_starting
        """A new session takes the place of the current one here, and not in the folders above."""

    def recall(self) -> str | None:
        found = self._find()
        return found.session_id if found else None

    def remember(self, session_id: str | None) -> None:
        found = self._find()
        if session_id is None:
            if found and not self._is_starting and self._named in (None, found.session_id):
                delete_file(found.path)
        elif session_id != self._named and (found is None or found.session_id != session_id):
            self.make_current(session_id)

    def make_current(self, session_id: str) -> None:
        write_json(self._path_for(self._here), {"folder": str(self._here), "session_id": session_id})

    def _find(self) -> Remembered | None:
        """Return what is remembered for the nearest of this folder and those above it."""
        if not self._folder.is_dir():
            return None
        for folder in (self._here, *self._here.parents):
            path = self._path_for(folder)
            session_id = _read_session(path)
            if session_id is not None:
                return Remembered(path, session_id)
        return None

    def _path_for(self, folder: Path) -> Path:
        key = os.fsencode(folder) + b"\0" + self._server.encode()
        return self._folder / f"{sha256(key).hexdigest()[:32]}.json"


def _read_session(path: Path) -> str | None:
    try:
        found = msgspec.json.decode(read_file(path), type=dict[str, str]).get("session_id", "")
    except (OSError, msgspec.MsgspecError):
        return None
    return found if SESSION_ID.fullmatch(found) else None
