"""The exception that the program stopped on, told as Python itself would."""

from __future__ import annotations

import builtins
import traceback
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import raw
from .handles import Reply
from .interrupts import Guard, guard
from .repr import render, type_name
from .texts import clip, encodable
from .values import variable

MESSAGE_LIMIT = 4000
TRACEBACK_LIMIT = 20000
CHAIN = 10
FRAMES = 50
MEMBERS = 20
DEPTH = 3
_SHORT = 300
_NOTES = 20

IsForeign = Callable[[str], bool]


def describe(error: Any, is_foreign: IsForeign) -> Dict[str, Any]:
    """`is_foreign` knows the files that run the program and are no part of it."""
    with guard() as running:
        told = _identity(error, running)
        text = running.attempt(_traceback, error, is_foreign)
        chain = [
            {"relation": relation, "type": type_name(cause), "message": clip(_message(cause, running), _SHORT)[0]}
            for relation, cause in _chain(error)
        ]
    told["traceback"] = encodable(text[-TRACEBACK_LIMIT:]) if type(text) is str else None
    if chain:
        told["chain"] = chain
    return told


def explain(error: Any, is_foreign: IsForeign, reply: Reply, deadline: float) -> Dict[str, Any]:
    """Everything: arguments, notes, frames, the whole chain and the members of a group."""
    with guard() as running:
        told = describe(error, is_foreign)
        row = variable(told["type"], error, reply, _SHORT, deadline)
        told["variables_reference"] = row["variables_reference"]
        told["args"] = [render(each, MESSAGE_LIMIT, deadline)[0] for each in raw.exception_args(error)[:MEMBERS]]
        told["notes"] = _notes(error)
        told["frames"] = _frames(error, is_foreign, running, with_callers=True)
        told["chain"] = [
            {
                "relation": relation,
                **_identity(cause, running),
                "frames": _frames(cause, is_foreign, running),
                "notes": _notes(cause),
            }
            for relation, cause in _chain(error)
        ]
        members = _members(error, is_foreign, running, DEPTH)
        if members:
            told["exceptions"] = members
    return told


def _identity(error: Any, running: Guard) -> Dict[str, Any]:
    kind = type(error)
    return {
        "type": type_name(error),
        "full_type": "%s.%s" % (getattr(kind, "__module__", "?"), getattr(kind, "__qualname__", type_name(error))),
        "message": _message(error, running),
    }


def _message(error: Any, running: Guard) -> str:
    message = running.attempt(str, error)
    return encodable(clip(message, MESSAGE_LIMIT)[0]) if type(message) is str else "<message not available>"


def _notes(error: Any) -> List[str]:
    notes = (raw.instance_dict(error) or {}).get("__notes__")
    if type(notes) is not list:
        return []
    return [encodable(clip(note, MESSAGE_LIMIT)[0]) for note in notes[:_NOTES] if type(note) is str]


def _chain(error: BaseException) -> List[Tuple[str, BaseException]]:
    """What led to it, the nearest first."""
    found: List[Tuple[str, BaseException]] = []
    seen = {id(error)}
    while len(found) < CHAIN:
        cause, relation, _ = _cause(error)
        if cause is None or id(cause) in seen:
            break
        seen.add(id(cause))
        found.append((relation, cause))
        error = cause
    return found


def _frames(error: Any, is_foreign: IsForeign, running: Guard, with_callers: bool = False) -> List[Dict[str, Any]]:
    """Where it was raised comes last, as in a traceback; of a long one the end."""
    summary = running.attempt(_summary, error, is_foreign, with_callers) or []
    return [
        {
            "path": encodable(entry.filename),
            "line": entry.lineno,
            "function": encodable(entry.name),
            "text": encodable(clip(entry.line or "", _SHORT)[0]),
        }
        for entry in summary[-FRAMES:]
    ]


def _members(error: Any, is_foreign: IsForeign, running: Guard, depth: int) -> List[Dict[str, Any]]:
    """Of an ExceptionGroup, from Python 3.11 on."""
    group = getattr(builtins, "BaseExceptionGroup", None)
    if group is None or not depth or not raw.is_a(error, group):
        return []
    found = []
    for member in list(error.exceptions)[:MEMBERS]:
        told = {**_identity(member, running), "frames": _frames(member, is_foreign, running)}
        inner = _members(member, is_foreign, running, depth - 1)
        if inner:
            told["exceptions"] = inner
        found.append(told)
    return found


def _summary(error: BaseException, is_foreign: IsForeign, with_callers: bool) -> List[Any]:
    """`with_callers`: those too that the exception has not reached yet."""
    trace = error.__traceback__
    summary = list(traceback.extract_tb(trace))
    if trace is not None and with_callers:
        summary = list(traceback.extract_stack(trace.tb_frame.f_back)) + summary
    return [entry for entry in summary if not is_foreign(entry.filename)]


def _traceback(error: BaseException, is_foreign: IsForeign) -> str:
    """With the callers that the exception has not reached yet, and what caused it."""
    lines: List[str] = []
    cause, _, link = _cause(error)
    if cause is not None:
        lines += traceback.format_exception(type(cause), cause, cause.__traceback__)
        lines.append("\n%s\n\n" % link)
    lines.append("Traceback (most recent call last):\n")
    lines += traceback.format_list(_summary(error, is_foreign, True))
    lines += traceback.format_exception_only(type(error), error)
    return "".join(lines)


def _cause(error: BaseException) -> Tuple[Optional[BaseException], str, str]:
    if error.__cause__ is not None:
        return error.__cause__, "cause", "The above exception was the direct cause of the following exception:"
    if error.__suppress_context__:
        return None, "", ""
    return error.__context__, "context", "During handling of the above exception, another exception occurred:"
