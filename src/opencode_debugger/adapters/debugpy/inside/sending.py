"""Events of ours, over debugpy's connection."""

from __future__ import annotations

import threading
from typing import Any, Dict

from . import of_pydevd

EVENT = "ocdb"


def send(kind: str, body: Dict[str, Any]) -> None:
    of_pydevd.pydevd.send_json_message({"type": "event", "event": EVENT, "body": dict(body, kind=kind), "seq": 0})


def send_now(kind: str, body: Dict[str, Any]) -> None:
    """For last words: returns when they are out, or cannot get out."""
    import pydevd
    from _pydevd_bundle.pydevd_net_command import NetCommand

    writer = getattr(pydevd.get_global_debugger(), "writer", None)
    if writer is None:
        return
    message = {"type": "event", "event": EVENT, "body": dict(body, kind=kind), "seq": 0}
    command, sent = NetCommand(-1, 0, message, is_json=True), threading.Event()
    command.call_after_send(lambda sock: sent.set())
    writer.add_command(command)
    sent.wait(0.5)
