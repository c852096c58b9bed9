"""The exception that the program stopped on, told as Python itself would."""

from __future__ import annotations

import traceback
from typing import Any, Callable, Dict, List, Optional

from .interrupts import guard
from .repr import type_name
from .texts import clip, encodable

MESSAGE_LIMIT = 4000
TRACEBACK_LIMIT = 20000


def describe(error: Any, is_foreign: Callable[[str], bool]) -> Dict[str, Any]:
    """`is_foreign` knows the files that run the program and are no part of it."""
    kind = type(error)
    with guard() as running:
        message = running.attempt(str, error)
        text = running.attempt(_traceback, error, is_foreign)
    if type(message) is not str:
        message = "<message not available>"
    return {
        "type": type_name(error),
        "full_type": "%s.%s" % (getattr(kind, "__module__", "?"), getattr(kind, "__qualname__", type_name(error))),
        "message": encodable(clip(message, MESSAGE_LIMIT)[0]),
        "traceback": encodable(text[-TRACEBACK_LIMIT:]) if type(text) is str else None,
    }


def _traceback(error: BaseException, is_foreign: Callable[[str], bool]) -> str:
    """With the callers that the exception has not reached yet, and what caused it."""
    lines: List[str] = []
    cause, link = _cause(error)
    if cause is not None:
        lines += traceback.format_exception(type(cause), cause, cause.__traceback__)
        lines.append("\n%s\n\n" % link)
    trace = error.__traceback__
    summary = list(traceback.extract_tb(trace))
    if trace is not None:
        summary = list(traceback.extract_stack(trace.tb_frame.f_back)) + summary
    lines.append("Traceback (most recent call last):\n")
    lines += traceback.format_list([entry for entry in summary if not is_foreign(entry.filename)])
    lines += traceback.format_exception_only(type(error), error)
    return "".join(lines)


def _cause(error: BaseException) -> "tuple[Optional[BaseException], str]":
    if error.__cause__ is not None:
        return error.__cause__, "The above exception was the direct cause of the following exception:"
    if error.__suppress_context__:
        return None, ""
    return error.__context__, "During handling of the above exception, another exception occurred:"
