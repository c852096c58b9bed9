"""Breakpoints on lines, functions and exceptions."""

from .operation import REFUSED_BREAKPOINT, STATE, Operation, delete, get, patch, post
from .scopes import READ, WRITE

TAG = "Breakpoints"

OPERATIONS = (
    Operation("set_breakpoints", "Set breakpoints",
        """Add breakpoints, or replace those at the same file and line: a list of them, or one bare breakpoint.

        Works before launch too. All of a list are set, or none.""",
        by_session="placement.set_breakpoints", scopes=(WRITE,), takes="breakpoints:BreakpointsBody",
        answer="breakpoints:BreakpointsSet", outcome="Breakpoints set", changes_breakpoints=True,
        errors=(*STATE, *REFUSED_BREAKPOINT),
        command="ocdb break", tool="debug_breakpoints add=…",
        routes=(post("breakpoints", "setBreakpoints"),)),
    Operation("list_breakpoints", "List breakpoints", "Every breakpoint with its hit count.",
        by_session="placement.list_breakpoints", scopes=(READ,), takes="queries:BreakpointQuery",
        answer="breakpoints:BreakpointList",
        command="ocdb break", tool="debug_breakpoints",
        routes=(get("breakpoints", "listBreakpoints"),)),
    Operation("change_breakpoint", "Change breakpoint",
        "Change what is named in the body and nothing else; switch it off and on. Its id stays.",
        by_session="placement.change_breakpoint", scopes=(WRITE,), takes="breakpoints:ChangeBreakpointRequest",
        answer="breakpoints:BreakpointChanged", changes_breakpoints=True,
        errors=(*STATE, *REFUSED_BREAKPOINT, "BREAKPOINT_NOT_FOUND"),
        routes=(patch("breakpoints/{breakpoint_id}", "changeBreakpoint"),)),
    Operation("clear_breakpoints", "Remove all breakpoints",
        "Remove every breakpoint, restored ones included; those on exceptions stay.",
        by_session="placement.clear_breakpoints", scopes=(WRITE,), answer="breakpoints:BreakpointsRemoved",
        changes_breakpoints=True, errors=STATE,
        command="ocdb break --remove all", tool="debug_breakpoints remove=all",
        routes=(delete("breakpoints", "clearBreakpoints"),)),
    Operation("remove_breakpoint", "Remove breakpoint", "Remove one breakpoint.",
        by_session="placement.remove_breakpoint", scopes=(WRITE,), answer="breakpoints:BreakpointRemoved",
        changes_breakpoints=True, errors=(*STATE, "BREAKPOINT_NOT_FOUND"),
        command="ocdb break --remove {breakpoint_id}", tool="debug_breakpoints remove={breakpoint_id}",
        routes=(delete("breakpoints/{breakpoint_id}", "removeBreakpoint"),)),
    Operation("set_exception_breakpoint", "Set exception breakpoint",
        """Stop on exceptions: on all, or on those of some classes, or those that meet a condition.

        Adds to what is there; for the same classes and filters it replaces. Works before launch and at any time.""",
        by_session="placement.exceptions.set_exception_breakpoint", scopes=(WRITE,),
        takes="breakpoints:ExceptionBreakpointRequest", answer="breakpoints:ExceptionBreakpointSet",
        errors=(*STATE, "BREAKPOINT_INVALID_CONDITION"),
        command="ocdb break --on {filters}", tool="debug_breakpoints exceptions={filters}",
        routes=(post("exception-breakpoints", "setExceptionBreakpoint"),)),
    Operation("list_exception_breakpoints", "List exception breakpoints",
        "On which exceptions the program stops; the launch option stop_on_exception is among them.",
        by_session="placement.exceptions.list_exception_breakpoints", scopes=(READ,),
        answer="breakpoints:ExceptionBreakpointList", errors=STATE,
        routes=(get("exception-breakpoints", "listExceptionBreakpoints"),)),
    Operation("remove_exception_breakpoints", "Remove all exception breakpoints", "Stop on no exception any more.",
        by_session="placement.exceptions.remove_exception_breakpoints", scopes=(WRITE,),
        answer="breakpoints:ExceptionBreakpointsRemoved", errors=STATE, optional_ids=("breakpoint_id",),
        routes=(
            delete("exception-breakpoints", "removeExceptionBreakpoints"),
            delete("exception-breakpoints/{breakpoint_id}", "removeExceptionBreakpoint",
                summary="Remove one exception breakpoint", errors=(*STATE, "BREAKPOINT_NOT_FOUND"),
                renamed={"breakpoint_id": "id"}, description="Remove one of them."),
        )),
    Operation("apply_breakpoints", "Apply a profile's breakpoints", "Set the breakpoints of a profile in a session.",
        by_session="placement.apply_profile", scopes=(WRITE,), changes_breakpoints=True),
    Operation("unsaved_breakpoints", "Take unsaved changes",
        "Changes of breakpoints that are to be saved for the session's project.",
        by_session="placement.unsaved.take_changes", scopes=(WRITE,), passes_wheel=True, is_routine=True),
)
