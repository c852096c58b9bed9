"""Describes the exception that the program stopped on, as Python itself would."""

from __future__ import annotations

import traceback
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

from ..frames import is_foreign_file
from ..pydevd_patches import pydevd_parts
from ..python_versions import EXCEPTION_GROUP
from ..rpc.handles import Reply
from ..rpc.interrupts import Guard, guard, is_quiet
from ..source import source_text
from ..values import raw
from ..values.atom_texts import clip, encodable
from ..values.bounded_repr import describe_error, message_of, render_value
from ..values.raw import type_name
from ..values.variable_rows import variable_row

if TYPE_CHECKING:
    from ....rows import ExceptionRow, PlaceRow

MESSAGE_LIMIT = 4000
TRACEBACK_LIMIT = 20000
LONGEST_CHAIN = 10
MOST_FRAMES = 50
MOST_MEMBERS = 20
DEEPEST_GROUP = 3
_SHORT_LIMIT = 300
_MOST_NOTES = 20
_LONGEST_STACK = 1000
_MODULE = type.__dict__["__module__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__


def _is_in_project(frame: FrameType) -> bool:
    py_db = pydevd_parts.pydevd.get_global_debugger()
    return bool(py_db is not None and py_db.in_project_scope(frame))


def describe_exception(error: Any, trace: Any, is_own: Callable[[FrameType], bool] = _is_in_project) -> ExceptionRow:
    """Return its type, message, notes, traceback, causes and members in short.

    `trace` is how far it has come by now: up to Python 3.11 the exception itself does not know."""
    with guard() as running:
        told = _type_and_message(error)
        text = _traceback_text(error, trace) if running.is_quiet else running.attempt(_traceback_text, error, trace)
        chain: List[ExceptionRow] = [
            {"relation": relation, "type": type_name(cause), "message": clip(_message_text(cause), _SHORT_LIMIT)[0]}
            for relation, cause in _cause_chain(error)
        ]
        told["traceback"] = encodable(text[-TRACEBACK_LIMIT:]) if type(text) is str else None
    if chain:
        told["chain"] = chain
    notes = _note_texts(error)
    if notes:
        told["notes"] = notes
    leaves = _group_leaves(error)
    if leaves:
        told["exceptions"] = [
            {**_type_and_message(member), "location": _raised_at(member, is_own)} for member in leaves
        ]
    return told


def related_exceptions(error: Any) -> List[BaseException]:
    """Return the members of a group, and what led to an exception."""
    return _group_leaves(error) + [cause for _, cause in _cause_chain(error)]


def _group_leaves(error: Any) -> List[BaseException]:
    """Return the exceptions of a group, and of groups in it, without the groups themselves."""
    found: List[BaseException] = []
    waiting = [error]
    for _ in range(_LONGEST_STACK):
        if not waiting or len(found) >= MOST_MEMBERS:
            break
        each = waiting.pop(0)
        inner = _exceptions_in_group(each)
        if inner:
            waiting = inner + waiting
        elif each is not error:
            found.append(each)
    return found


def _raised_at(error: BaseException, is_own: Callable[[FrameType], bool]) -> Optional[PlaceRow]:
    """Return the place where it was raised: the last one in the program's own code, if there is any."""
    is_own_found = False
    found: Optional[PlaceRow] = None
    for frame, line in islice(traceback.walk_tb(raw.exception_traceback(error)), _LONGEST_STACK):
        name = frame.f_code.co_filename
        is_here = is_own(frame)
        if not is_foreign_file(name) and (is_here or not is_own_found):
            found, is_own_found = {"path": encodable(name), "line": line, "function": frame.f_code.co_name}, is_here
    return found


def explain_exception(error: Any, trace: Any, reply: Reply, deadline: float) -> ExceptionRow:
    """Return everything about it: arguments, notes, frames, the whole chain and the members of a group."""
    with guard() as running:
        told = describe_exception(error, trace)
        row = variable_row(told["type"], error, reply, _SHORT_LIMIT, deadline)
        told["variables_reference"] = row["variables_reference"]
        args = raw.exception_args(error)[:MOST_MEMBERS]
        told["args"] = [render_value(each, MESSAGE_LIMIT, deadline)[0] for each in args]
        told["notes"] = _note_texts(error)
        told["frames"] = _frame_rows(trace, running, with_callers=True)
        told["chain"] = [
            {
                "relation": relation,
                **_type_and_message(cause),
                "frames": _frame_rows(raw.exception_traceback(cause), running),
                "notes": _note_texts(cause),
            }
            for relation, cause in _cause_chain(error)
        ]
        members = _group_members(error, running, DEEPEST_GROUP)
        if members:
            told["exceptions"] = members
    return told


def _type_and_message(error: Any) -> ExceptionRow:
    kind = type(error)
    module = _MODULE(kind) if raw.is_plainly_named(kind) else None
    full_type = encodable("%s.%s" % (module if type(module) is str else "?", str.__str__(_QUALNAME(kind))))
    return {"type": type_name(error), "full_type": full_type, "message": _message_text(error)}


def _message_text(error: Any) -> str:
    message = message_of(error)
    return encodable(clip(message, MESSAGE_LIMIT)[0]) if type(message) is str else "<message not available>"


def _note_texts(error: Any) -> List[str]:
    notes = (raw.instance_dict(error) or {}).get("__notes__")
    if type(notes) is not list:
        return []
    return [encodable(clip(note, MESSAGE_LIMIT)[0]) for note in notes[:_MOST_NOTES] if type(note) is str]


def _cause_chain(error: BaseException) -> List[Tuple[str, BaseException]]:
    """Return the exceptions that led to it, the nearest first."""
    found: List[Tuple[str, BaseException]] = []
    seen = {id(error)}
    while len(found) < LONGEST_CHAIN:
        cause, relation, _ = _direct_cause(error)
        if cause is None or id(cause) in seen:
            break
        seen.add(id(cause))
        found.append((relation, cause))
        error = cause
    return found


def _frame_rows(trace: Any, running: Guard, with_callers: bool = False) -> List[PlaceRow]:
    """Return the last frames of a trace; the place where it was raised comes last, as in a traceback."""
    if running.is_quiet:
        summary = _frame_summaries(trace, with_callers)
    else:
        summary = running.attempt(_frame_summaries, trace, with_callers) or []
    return [
        {
            "path": encodable(entry.filename),
            "line": entry.lineno,
            "function": encodable(entry.name),
            "text": encodable(clip(entry.line or "", _SHORT_LIMIT)[0]),
        }
        for entry in summary[-MOST_FRAMES:]
    ]


def _group_members(error: Any, running: Guard, depth: int) -> List[ExceptionRow]:
    """Return the members of an ExceptionGroup; there are such from Python 3.11 on."""
    found: List[ExceptionRow] = []
    for member in _exceptions_in_group(error)[:MOST_MEMBERS] if depth else ():
        told = _type_and_message(member)
        told["frames"] = _frame_rows(raw.exception_traceback(member), running)
        inner = _group_members(member, running, depth - 1)
        if inner:
            told["exceptions"] = inner
        found.append(told)
    return found


def _exceptions_in_group(error: Any) -> List[Any]:
    is_group = EXCEPTION_GROUP is not None and raw.is_a(error, EXCEPTION_GROUP)
    return list(raw.read_attribute(error, "exceptions", ())) if is_group else []


def _frame_summaries(trace: Any, with_callers: bool) -> List[Any]:
    """Return the frames of the program; `with_callers` also those that the exception has not reached yet."""
    summary = _trace_summaries(trace)
    callers = trace.tb_frame.f_back if with_callers and trace is not None else None
    if callers is not None and is_quiet():
        summary = _summaries_at_hand(traceback.walk_stack(callers))[::-1] + summary
    elif callers is not None:
        summary = traceback.extract_stack(callers) + summary
    return [entry for entry in summary if not is_foreign_file(entry.filename)]


def _trace_summaries(trace: Any) -> List[Any]:
    return _summaries_at_hand(traceback.walk_tb(trace)) if is_quiet() else list(traceback.extract_tb(trace))


def _summaries_at_hand(places: Any) -> List[Any]:
    """Return what the traceback module makes of frames, with the lines that can be had without asking a loader."""
    found = []
    for frame, line in islice(places, _LONGEST_STACK):
        code, text = frame.f_code, source_text.line_text(frame, line)
        found.append(traceback.FrameSummary(code.co_filename, line or 0, code.co_name, lookup_line=False, line=text))
    return found


def _traceback_text(error: BaseException, trace: Any) -> str:
    """Return the traceback with what caused it, and with callers that the exception has not reached yet."""
    cause, _, link = _direct_cause(error)
    lines: List[str] = []
    if cause is not None:
        before = raw.exception_traceback(cause)
        if is_quiet():
            lines = _formatted_lines(cause, _trace_summaries(before))
        else:
            lines = traceback.format_exception(type(cause), cause, before)
        lines.append("\n%s\n\n" % link)
    return "".join(lines + _formatted_lines(error, _frame_summaries(trace, True)))


def _formatted_lines(error: BaseException, summary: List[Any]) -> List[str]:
    if is_quiet():
        last = ["%s\n" % describe_error(error, MESSAGE_LIMIT)]
    else:
        last = traceback.format_exception_only(type(error), error)
    return ["Traceback (most recent call last):\n", *traceback.format_list(summary), *last]


def _direct_cause(error: BaseException) -> Tuple[Optional[BaseException], str, str]:
    cause = raw.read_attribute(error, "__cause__")
    if cause is not None:
        return cause, "cause", "The above exception was the direct cause of the following exception:"
    if raw.read_attribute(error, "__suppress_context__"):
        return None, "", ""
    context = raw.read_attribute(error, "__context__")
    return context, "context", "During handling of the above exception, another exception occurred:"
