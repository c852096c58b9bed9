"""Examining breakpoints before they are set: expressions, lines, functions, and what the debugger objected to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...answers.breakpoints import FILE_MISSING, Suggestion
from ...errors import RelayError
from . import conditions
from .source_files import OPEN, SourceFile

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter
    from .breakpoint_table import Breakpoint

FOR_NATIVE = 'for a native program, create the session with "adapter": "gdb"'


def not_loaded(function: str | None) -> str:
    return f"Function '{function}' is not loaded yet. Breakpoint pending."


def check_expressions(bp: Breakpoint, check: conditions.Checker | None) -> None:
    """Check condition, hit condition and log message. Other languages than Python are left to the debugger."""
    if bp.condition is not None and check is not None and (problem := check(bp.condition)) is not None:
        raise _bad_condition(bp, problem.message, problem.offset)
    if bp.hit_condition is not None:
        conditions.parse_hit_condition(bp.hit_condition)
    if bp.log_message is not None:
        conditions.parse_log_message(bp.log_message, check)


def _bad_condition(bp: Breakpoint, message: str, offset: int | None) -> RelayError:
    # Without a file it is taken for Python unless the session says otherwise.
    advice = {} if bp.path else {"suggestion": f"Correct it; {FOR_NATIVE}"}
    return conditions.bad_condition(bp.condition or "", message, offset=offset, line=bp.line, **advice)


async def examine_breakpoint(bp: Breakpoint, strict: bool, adapter: Adapter) -> None:
    """Hold the line against the file's real line table."""
    if bp.function:
        await examine_function(bp, strict, adapter)
        return
    if not file_exists(bp, strict):
        return
    source = SourceFile(bp.path, await adapter.examine(bp.path))
    verdict = source.judge_line(bp.line)
    if verdict.reason == "past_end":
        raise _invalid_line(bp, verdict.message or "", None, max_line=source.max_line)
    if strict and not verdict.verified and verdict.reason != "open":
        message = f"Cannot set breakpoint at line {bp.line}: {source.why_not(bp.line)}"
        raise _invalid_line(bp, message, verdict.suggestion, content=source.line_text(bp.line)[:200])
    bp.verified, bp.message, bp.suggestion = verdict.verified, verdict.message, verdict.suggestion
    bp.is_pending, bp.is_undecided = False, verdict.reason == "open"


def _invalid_line(bp: Breakpoint, message: str, nearest: Suggestion | None, **details: Any) -> RelayError:
    error = RelayError("BREAKPOINT_INVALID_LINE", message, file=bp.path, line=bp.line, **details)
    if nearest is not None:
        error.details["suggestion"] = f"Try line {nearest.line} which contains: {nearest.text!r}"
    return error


def file_exists(bp: Breakpoint, strict: bool) -> bool:
    """Tell whether the file is there; until it is, the breakpoint is pending."""
    if os.path.isfile(bp.path):
        bp.suggestion = None
        return True
    if strict:
        raise RelayError("BREAKPOINT_FILE_NOT_FOUND", f"Source file not found: {bp.path}", file=bp.path)
    bp.verified, bp.is_pending, bp.message = False, True, FILE_MISSING
    return False


async def examine_function(bp: Breakpoint, strict: bool, adapter: Adapter) -> None:
    """Look for the function in its file, if one is given; the program has the last word."""
    bp.is_pending, bp.verified, bp.message = False, False, not_loaded(bp.function)
    if not bp.path or not bp.function or not file_exists(bp, strict):
        return
    if found := await adapter.find_function(bp.path, bp.function):
        bp.verified, bp.message = True, None
        bp.places = tuple({"path": bp.path, "line": line} for line in found)
    else:
        bp.message = f"No function '{bp.function}' in {bp.path}. Breakpoint pending."


def require_usable(bp: Breakpoint, strict: bool) -> None:
    """Refuse a condition that the debugger did not take: it knows languages other than Python once the program is
    loaded. If `strict`, refuse what cannot stop, too."""
    if bp.bad_condition is not None:
        raise _bad_condition(bp, bp.bad_condition, None)
    if strict and bp.is_undecided and not bp.verified and bp.message != OPEN:
        raise _invalid_line(bp, bp.message or "", bp.suggestion)
    if strict and bp.function and not bp.verified:
        message = (bp.message or "").replace(" Breakpoint pending.", "")
        raise RelayError("BREAKPOINT_FUNCTION_NOT_FOUND", message, function=bp.function)
