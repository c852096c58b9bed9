"""Sends events of ours over debugpy's connection."""

from __future__ import annotations

import threading
from json import JSONEncoder
from typing import Callable, Dict, Mapping

from ..pydevd_patches import message_sending, pydevd_parts
from ..pydevd_patches.message_sending import NEWS

Send = Callable[[str, Mapping[str, object]], None]
_encode = JSONEncoder(default=str).encode


def send_event(kind: str, body: Mapping[str, object]) -> None:
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if py_db is None or py_db.writer is None:
        return
    message = _event_message(kind, body)
    if not message_sending.send_news(py_db, _encode(message).encode("ascii")):
        pydevd_parts.pydevd.send_json_message(message)


def _event_message(kind: str, body: Mapping[str, object]) -> Dict[str, object]:
    return {"type": "event", "event": NEWS, "body": dict(body, kind=kind), "seq": 0}


def send_now(kind: str, body: Mapping[str, object]) -> None:
    """Send last words: returns when they are out, or cannot get out."""
    import pydevd
    from _pydevd_bundle.pydevd_net_command import NetCommand

    writer = getattr(pydevd.get_global_debugger(), "writer", None)
    if writer is None:
        return
    command, sent = NetCommand(-1, 0, _event_message(kind, body), is_json=True), threading.Event()
    command.call_after_send(lambda sock: sent.set())
    writer.add_command(command)
    sent.wait(0.5)
