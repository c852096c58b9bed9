"""Breakpoints on lines, functions and exceptions as they are answered, and named sets of them."""

from __future__ import annotations

from typing import Annotated, Any

from .shape import UNSET, Answer, Maybe, said


class SourcePath(Answer):
    path: Annotated[str, said("Absolute path of the source file.", "/home/dev/myproject/main.py")]


class CodePlace(Answer):
    path: Annotated[str, said("Source file.", "/home/dev/cart.py")]
    line: Annotated[int, said("Line (1-indexed).", 12)]


FILE_MISSING = "Source file not found. Breakpoint pending."


class Suggestion(Answer):
    line: Annotated[Maybe[int], said("A line nearby that has code.", 16)] = UNSET
    text: Annotated[Maybe[str], said("What is written there.", "return total")] = UNSET
    path: Annotated[Maybe[str], said("Path of a file that is there.", "/home/dev/cart.py")] = UNSET


class Breakpoint(Answer):
    id: Annotated[str, said("Identifier, stable for the session's life.", "bp_1")]
    verified: Annotated[bool, said("Whether the program will stop there.", True)]
    source: Annotated[SourcePath | None, said("Source file.")]
    line: Annotated[int | None, said("Line that was asked for, or the first line inside the function.", 42)]
    function: Annotated[Maybe[str], said("Of a function breakpoint: the name that was asked for.", "Cart.add")] = UNSET
    file: Annotated[Maybe[str | None], said("Of a function breakpoint: the only file in which it counts.")] = UNSET
    locations: Annotated[Maybe[list[CodePlace]], said(
        "Of a function breakpoint: every place where it stops, at most 20.")] = UNSET
    text: Annotated[Maybe[str], said(
        "What is written on the line, if it was found by its text.", "total += price")] = UNSET
    condition: Annotated[str | None, said("Break only when this is truthy.", "x > 10")]
    hit_condition: Annotated[str | None, said("Hit count condition.", ">=5")]
    log_message: Annotated[str | None, said("Text of a logpoint.", "x is {x}")]
    enabled: Annotated[bool, said("Whether it is active.", True)]
    hit_count: Annotated[int, said("How often it was reached, and its condition, if any, was true, in this run.", 3)]
    restored: Annotated[Maybe[bool], said(
        "True when an earlier session of the project set it, and nobody in this one.", True)] = UNSET
    moved_from: Annotated[Maybe[int], said(
        "The line that it was on before, if it was moved: by a request, or with its text in a file that was "
        "edited.", 41)] = UNSET
    source_changed: Annotated[Maybe[bool], said(
        "True when its file changed after the program had loaded it.", True)] = UNSET
    message: Annotated[str | None, said(
        "Why it is not verified, or more about its line.", "No executable code at line 15")]
    suggestion: Annotated[Maybe[Suggestion], said(
        "A line nearby that has code, and its text; for a file that is not there, the path of one that is.")] = UNSET


NOT_SAVED = said(
    "Only if it could not be saved for the project, as on a full disk: why. It holds for this session.",
    "This holds for the session, but was not saved for its project ...",
)


class BreakpointsSet(Answer):
    breakpoints: Annotated[list[Breakpoint], said("The breakpoints of this request, in its order.")]
    breakpoint_id: Annotated[Maybe[str], said("Its id, when one bare breakpoint was sent.", "bp_1")] = UNSET
    verified: Annotated[Maybe[bool], said("Whether it is verified, when one bare breakpoint was sent.", True)] = UNSET
    warning: Annotated[Maybe[str], NOT_SAVED] = UNSET


class BreakpointChanged(Breakpoint):
    warning: Annotated[Maybe[str], NOT_SAVED] = UNSET


class BreakpointList(Answer):
    breakpoints: Annotated[list[Breakpoint], said("Every breakpoint of the session that matches.")]
    total: Annotated[int, said("How many there are.", 5)]


class BreakpointGone(Answer):
    id: Annotated[str, said("Identifier it had.", "bp_1")]
    source: Annotated[SourcePath | None, said("Source file; null if it was on a function of any file.")]
    line: Annotated[int | None, said("Line it was on; null if it was on a function.", 42)]
    function: Annotated[str | None, said("Function it was on.", "Cart.add")]
    file: Annotated[str | None, said("Source file.", "/home/dev/cart.py")]


class ExceptionBreakpoint(Answer):
    id: Annotated[str, said("Identifier, stable for the session's life.", "ex_1")]
    filters: Annotated[list[str], said("When it stops: raised, uncaught, user_unhandled, test_failure.", ["raised"])]
    exceptions: Annotated[list[str], said("Classes on which it stops, subclasses included; none: all.", ["ValueError"])]
    condition: Annotated[str | None, said("Stops only if this is truthy.", "exc.errno == 2")]
    from_launch: Annotated[bool, said("Whether it is the launch option stop_on_exception.", False)]
    hit_count: Annotated[int, said("How often the program stopped for it in this run.", 1)]


class ExceptionBreakpointSet(Answer):
    exception_breakpoint_id: Annotated[str, said("Its id.", "ex_1")]
    exception_breakpoints: Annotated[list[ExceptionBreakpoint], said("The one that was set.")]
    filters: Annotated[list[str], said("Every filter that is in use now.", ["raised", "uncaught"])]


class ExceptionBreakpointList(Answer):
    exception_breakpoints: Annotated[list[ExceptionBreakpoint], said("All of them.")]
    filters: Annotated[list[str], said("Every filter that is in use.", ["raised", "uncaught"])]
    total: Annotated[int, said("How many there are.", 2)]


class ExceptionBreakpointsRemoved(Answer):
    deleted: Annotated[bool, said("Always true.", True)]
    removed: Annotated[list[str], said("Ids of those that were removed.", ["ex_1"])]


class BreakpointsApplied(BreakpointsSet):
    exception_breakpoints: Annotated[list[ExceptionBreakpoint], said("The exception breakpoints that were set.")]
    removed: Annotated[list[BreakpointGone], said("Breakpoints that were removed.")]


class BreakpointsRemoved(Answer):
    deleted: Annotated[bool, said("Always true.", True)]
    removed: Annotated[list[BreakpointGone], said("Those that were removed.")]
    warning: Annotated[Maybe[str], NOT_SAVED] = UNSET


class BreakpointRemoved(BreakpointGone):
    deleted: Annotated[bool, said("Always true.", True)]
    warning: Annotated[Maybe[str], NOT_SAVED] = UNSET


class WhyUnreadable(Answer):
    code: Annotated[str, said("Error code.", "PROFILE_UNREADABLE")]
    message: Annotated[str, said("What is wrong with it.")]


class ProfileSummary(Answer):
    name: Annotated[str, said("Name of the profile.", "checkout-bug")]
    saved_at: Annotated[Maybe[str], said("When it was saved.", "2026-01-13T10:30:00.000Z")] = UNSET
    project_root: Annotated[Maybe[str | None], said("Root of the project it was saved from.", "/home/dev/shop")] = UNSET
    breakpoint_count: Annotated[Maybe[int], said("How many breakpoints it has.", 3)] = UNSET
    exception_breakpoint_count: Annotated[Maybe[int], said("How many exception breakpoints it has.", 1)] = UNSET
    error: Annotated[Maybe[WhyUnreadable], said("Why it cannot be read.")] = UNSET


class ProfileList(Answer):
    profiles: Annotated[list[ProfileSummary], said("All profiles, by name.")]
    total: Annotated[int, said("How many there are.", 2)]


class Profile(Answer):
    name: Annotated[str, said("Name of the profile.", "checkout-bug")]
    breakpoints: Annotated[list[dict[str, Any]], said("Its breakpoints; paths inside of the project are relative.")]
    exception_breakpoints: Annotated[list[dict[str, Any]], said("On which exceptions it stops.")]
    project_root: Annotated[str | None, said("Root of the project it was saved from.", "/home/dev/shop")]
    saved_at: Annotated[str, said("When it was saved.", "2026-01-13T10:30:00.000Z")]


class ProfileApplied(BreakpointsSet):
    profile: Annotated[str, said("Name of the profile.", "checkout-bug")]
    session_id: Annotated[str, said("Session in which it was set.", "sess_a1b2c3d4")]
    exception_breakpoints: Annotated[list[dict[str, Any]], said("The exception breakpoints that were set.")]
    removed: Annotated[list[dict[str, Any]], said("Breakpoints that were removed.")]


class ProfileDeleted(Answer):
    name: Annotated[str, said("Name of the profile.", "checkout-bug")]
    deleted: Annotated[bool, said("Always true.", True)]
