"""The exception that the program stopped on, told as Python itself would."""

from __future__ import annotations

import builtins
import traceback
from itertools import islice
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import of_pydevd, raw, sources
from .handles import Reply
from .interrupts import Guard, guard, is_quiet
from .repr import describe_error, message_of, render, type_name
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
_STACK = 1000
_MODULE = type.__dict__["__module__"].__get__
_GROUP: Any = getattr(builtins, "BaseExceptionGroup", None)
_QUALNAME = type.__dict__["__qualname__"].__get__

IsForeign = Callable[[str], bool]


def describe(error: Any, trace: Any, is_foreign: IsForeign) -> Dict[str, Any]:
    """`trace` is how far it has come by now, which up to Python 3.11 the exception itself does not know.

    `is_foreign` knows the files that run the program and are no part of it.
    """
    with guard() as running:
        told = _identity(error)
        if running.is_quiet:
            text = _traceback(error, trace, is_foreign)
        else:
            text = running.attempt(_traceback, error, trace, is_foreign)
        chain = [
            {"relation": relation, "type": type_name(cause), "message": clip(_message(cause), _SHORT)[0]}
            for relation, cause in _chain(error)
        ]
    told["traceback"] = encodable(text[-TRACEBACK_LIMIT:]) if type(text) is str else None
    if chain:
        told["chain"] = chain
    members = [{**_identity(member), "location": _place(member, is_foreign)} for member in _leaves(error)]
    if members:
        told["exceptions"] = members
    return told


def _leaves(error: Any) -> List[BaseException]:
    """What a group is made of, without the groups in it."""
    found: List[BaseException] = []
    waiting = [error]
    for _ in range(_STACK):
        if not waiting or len(found) >= MEMBERS:
            break
        each = waiting.pop(0)
        inner = _grouped(each)
        if inner:
            waiting = inner + waiting
        elif each is not error:
            found.append(each)
    return found


def _place(error: BaseException, is_foreign: IsForeign) -> Optional[Dict[str, Any]]:
    """Where it was raised, in code of the program's own if it came from there."""
    py_db, found, is_own_found = of_pydevd.pydevd.get_global_debugger(), None, False
    for frame, line in islice(traceback.walk_tb(raw.exception_traceback(error)), _STACK):
        name = frame.f_code.co_filename
        is_own = bool(py_db is not None and py_db.in_project_scope(frame))
        if not is_foreign(name) and (is_own or not is_own_found):
            found, is_own_found = {"path": encodable(name), "line": line, "function": frame.f_code.co_name}, is_own
    return found


def explain(error: Any, trace: Any, is_foreign: IsForeign, reply: Reply, deadline: float) -> Dict[str, Any]:
    """Everything: arguments, notes, frames, the whole chain and the members of a group."""
    with guard() as running:
        told = describe(error, trace, is_foreign)
        row = variable(told["type"], error, reply, _SHORT, deadline)
        told["variables_reference"] = row["variables_reference"]
        told["args"] = [render(each, MESSAGE_LIMIT, deadline)[0] for each in raw.exception_args(error)[:MEMBERS]]
        told["notes"] = _notes(error)
        told["frames"] = _frames(trace, is_foreign, running, with_callers=True)
        told["chain"] = [
            {
                "relation": relation,
                **_identity(cause),
                "frames": _frames(raw.exception_traceback(cause), is_foreign, running),
                "notes": _notes(cause),
            }
            for relation, cause in _chain(error)
        ]
        members = _members(error, is_foreign, running, DEPTH)
        if members:
            told["exceptions"] = members
    return told


def _identity(error: Any) -> Dict[str, Any]:
    return {"type": type_name(error), "full_type": _full_name(type(error)), "message": _message(error)}


def _full_name(kind: type) -> str:
    module = _MODULE(kind) if raw.is_plainly_named(kind) else None
    return encodable("%s.%s" % (module if type(module) is str else "?", str.__str__(_QUALNAME(kind))))


def _message(error: Any) -> str:
    message = message_of(error)
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


def _frames(trace: Any, is_foreign: IsForeign, running: Guard, with_callers: bool = False) -> List[Dict[str, Any]]:
    """Where it was raised comes last, as in a traceback; of a long one the end."""
    if running.is_quiet:
        summary = _summary(trace, is_foreign, with_callers)
    else:
        summary = running.attempt(_summary, trace, is_foreign, with_callers) or []
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
    found = []
    for member in _grouped(error)[:MEMBERS] if depth else ():
        frames = _frames(raw.exception_traceback(member), is_foreign, running)
        told = {**_identity(member), "frames": frames}
        inner = _members(member, is_foreign, running, depth - 1)
        if inner:
            told["exceptions"] = inner
        found.append(told)
    return found


def _grouped(error: Any) -> List[Any]:
    if _GROUP is None or not raw.is_a(error, _GROUP):
        return []
    return list(raw.read(error, "exceptions", ()))


def _summary(trace: Any, is_foreign: IsForeign, with_callers: bool) -> List[Any]:
    """`with_callers`: those too that the exception has not reached yet."""
    summary = _of_trace(trace)
    if trace is not None and with_callers:
        summary = _of_callers(trace.tb_frame.f_back) + summary
    return [entry for entry in summary if not is_foreign(entry.filename)]


def _of_trace(trace: Any) -> List[Any]:
    return _at_hand(traceback.walk_tb(trace)) if is_quiet() else list(traceback.extract_tb(trace))


def _of_callers(frame: Any) -> List[Any]:
    if frame is None:
        return []
    return _at_hand(traceback.walk_stack(frame))[::-1] if is_quiet() else list(traceback.extract_stack(frame))


def _at_hand(places: Any) -> List[Any]:
    """As the traceback module makes them, with the lines that are there without asking a loader for them."""
    return [
        traceback.FrameSummary(
            frame.f_code.co_filename,
            line or 0,
            frame.f_code.co_name,
            lookup_line=False,
            line=sources.line_of(frame, line),
        )
        for frame, line in islice(places, _STACK)
    ]


def _traceback(error: BaseException, trace: Any, is_foreign: IsForeign) -> str:
    """With the callers that the exception has not reached yet, and what caused it."""
    lines: List[str] = []
    cause, _, link = _cause(error)
    if cause is not None:
        lines += _formatted(cause)
        lines.append("\n%s\n\n" % link)
    lines.append("Traceback (most recent call last):\n")
    lines += traceback.format_list(_summary(trace, is_foreign, True))
    lines += [_last_line(error)] if is_quiet() else traceback.format_exception_only(type(error), error)
    return "".join(lines)


def _formatted(cause: BaseException) -> List[str]:
    trace = raw.exception_traceback(cause)
    if not is_quiet():
        return traceback.format_exception(type(cause), cause, trace)
    return [
        "Traceback (most recent call last):\n",
        *traceback.format_list(_of_trace(trace)),
        _last_line(cause),
    ]


def _last_line(error: BaseException) -> str:
    return "%s\n" % describe_error(error, MESSAGE_LIMIT)


def _cause(error: BaseException) -> Tuple[Optional[BaseException], str, str]:
    cause = raw.read(error, "__cause__")
    if cause is not None:
        return cause, "cause", "The above exception was the direct cause of the following exception:"
    if raw.read(error, "__suppress_context__"):
        return None, "", ""
    context = raw.read(error, "__context__")
    return context, "context", "During handling of the above exception, another exception occurred:"
