"""Remembers sessions that expired, so that their ids answer 410 and not 404, restarts included."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from opencode_debugger.files import read_json, write_json

log = logging.getLogger(__name__)

KEPT_SECONDS = 24 * 3600
KEPT_SESSIONS = 1000


class Tombstone(msgspec.Struct, frozen=True):
    status: str
    reason: str | None
    expired_at: float
    name: str | None = None


class TombstoneStore:
    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / "expired.json"
        self._clock = clock
        self._lock = threading.Lock()
        nothing: dict[str, Tombstone] = {}
        self._known = read_json(self.path, nothing, lambda data: msgspec.convert(data, dict[str, Tombstone]))

    def add(self, session_id: str, status: str, reason: str | None, name: str | None = None) -> None:
        with self._lock:
            self._known.pop(session_id, None)
            self._known[session_id] = Tombstone(status, reason, self._clock(), name)
            kept = [(key, tombstone) for key, tombstone in self._known.items() if self._is_kept(tombstone)]
            self._known = dict(kept[-KEPT_SESSIONS:])
            try:
                write_json(self.path, self._known)
            except (OSError, UnicodeEncodeError) as error:
                log.warning("expired session %s could not be saved: %s", session_id, error)

    def get(self, session_id: str) -> Tombstone | None:
        found = self._known.get(session_id)
        return found if found and self._is_kept(found) else None

    def _is_kept(self, tombstone: Tombstone) -> bool:
        return self._clock() - tombstone.expired_at <= KEPT_SECONDS
