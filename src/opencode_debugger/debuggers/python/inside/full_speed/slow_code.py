"""Remembers what of the program does not run at full speed, and why: the session's status says so."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Dict, List, Tuple

from ..rpc.event_sending import send_event

if TYPE_CHECKING:
    from ....rows import SlowRow

MOST_KEPT = 20
RAISED = "Every exception that is raised is looked at: an exception filter (raised, user_unhandled) asks for it"

_reasons: Dict[Tuple[str, str], str] = {}
_lock = threading.Lock()


def note_slow(path: str, function: str, reason: str) -> None:
    """Note that a function of a file, all of them (""), or the whole program ("") is slower; keep the first few."""
    with _lock:
        if len(_reasons) >= MOST_KEPT or _reasons.get((path, function)) == reason:
            return
        _reasons[path, function] = reason
        _tell()


def forget_slow() -> None:
    with _lock:
        if _reasons:
            _reasons.clear()
            _tell()


def _tell() -> None:
    rows: List[SlowRow] = [{"path": path, "function": name, "why": why} for (path, name), why in _reasons.items()]
    send_event("slow", {"code": rows})
