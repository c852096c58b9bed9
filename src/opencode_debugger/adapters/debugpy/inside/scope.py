"""What a call looks into: a frame of the program, and its names."""

from __future__ import annotations

import sys
import threading
from typing import Any, Dict

from . import elsewhere, raw
from .interrupts import guard, is_quiet


def asked_frame() -> Any:
    """The frame that debugpy was asked to evaluate in."""
    found = elsewhere.looked_into.get(threading.get_ident())
    if found is not None:
        return found
    frame: Any = sys._getframe(1)
    while frame.f_code.co_name != "evaluate_expression":
        frame = frame.f_back
    return frame.f_locals["frame"]


def asked_names() -> Dict[str, Any]:
    """Globals and locals in one, as debugpy made it; what changes here it writes back to the frame."""
    found = elsewhere.looked_into.get(threading.get_ident())
    if found is not None or is_quiet():
        return names_of(found or asked_frame())
    frame: Any = sys._getframe(1)
    while frame.f_code.co_filename != "<string>":
        frame = frame.f_back
    namespace: Dict[str, Any] = frame.f_globals
    return namespace


def names_of(frame: Any) -> Dict[str, Any]:
    """Globals and locals in one, to look at."""
    found: Dict[str, Any] = {}
    for namespace in (frame.f_globals, frame.f_locals):
        found.update(pair for pair in variables(namespace).items() if type(pair[0]) is str)
    return found


def variables(namespace: Any) -> Dict[Any, Any]:
    """A snapshot of the variables of a frame. A class body may have any mapping for them: that is code to run."""
    found = raw.plain_variables(namespace)
    if found is not None:
        return dict(found)
    with guard() as running:
        return running.attempt(dict, namespace) or {}
