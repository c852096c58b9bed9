"""The calls that the relay can make, by name: each takes a reply to fill and arguments, and answers with JSON."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional

from .. import recording
from ..breakpoints import exception_details, exception_stops, function_breakpoints, hit_decisions
from ..breakpoints.exception_stops import TEST_FAILURE
from ..evaluation import assigning, completing, evaluate, hovering
from ..processes import joining
from ..pydevd_patches import pydevd_parts, stop_events
from ..source import file_versions, source_text
from ..stepping import line_calls, multi_step, returned_values
from ..stepping.line_calls import LineTargets
from ..threads import asyncio_tasks, blocked_threads, lock_waits, thread_list
from ..values import raw, variable_rows
from . import handles, interrupts
from .call_scope import asked_frame, asked_names, frame_variables, names_in_frame

if TYPE_CHECKING:
    from ....rows import ExceptionRow

Answer = Mapping[str, object]
BREAK_MODES = {"raised": "always", "uncaught": "unhandled", TEST_FAILURE: "user_unhandled"}


def _deadline_in(seconds: float) -> float:
    return time.monotonic() + seconds


def _list_children(reply: handles.Reply, reference: int, seconds: float, **page: Any) -> Answer:
    terms = variable_rows.SUMMARY if page.pop("summary", False) else variable_rows.DETAILED
    return variable_rows.children_page(reference, deadline=_deadline_in(seconds), reply=reply, terms=terms, **page)


def _report_stop(
    reply: handles.Reply,
    budget: int,
    names: int,
    seconds: float,
    watched: Any = (),
    with_source: bool = False,
    stepped_from: Optional[int] = None,
) -> Answer:
    """Report a frame's locals and what was returned.

    `watched` are expressions to evaluate as well, `stepped_from` is the line of this frame that a step into left.
    """
    frame, deadline = asked_frame(), _deadline_in(seconds)
    with interrupts.guard():
        answer = variable_rows.locals_report(frame, reply, budget, names, deadline)
        leaving = returned_values.find_left_function(frame)
        own, others = returned_values.values_returned(frame, leaving)
        answer["left"] = None if leaving is None else {"function": leaving.name, "how": leaving.how}
        maker = variable_rows.RowMaker(reply, deadline)
        answer["return_value"] = [maker.make_row(name, value, budget // 4) for name, value in own]
        answer["returned"] = [maker.make_row(name, value, budget // 4) for name, value in others]
        if watched:
            answer["watches"] = evaluate.watch_rows(watched, asked_names(), reply, budget // 2, deadline)
        if with_source:
            answer["source"] = source_text.lines_around(frame)
        if stepped_from is not None:
            answer["calls"] = line_calls.has_calls_on(frame.f_code, stepped_from)
            answer["natives"] = line_calls.native_names_on(frame, stepped_from)
        return answer


def _describe_hovered(
    reply: handles.Reply, limit: int, expression: Optional[str] = None, path: str = "", line: int = 1, column: int = 1
) -> Answer:
    """Describe an expression, or what is written at a place: looked up, never evaluated."""
    place: Dict[str, Any] = {}
    namespace: Any = None
    if expression is None:
        try:
            text = source_text.text_of_path(path)
            if text is None:
                raise hovering.NothingToShow("The source of this file cannot be read")
            found = hovering.find_expression(text[1], line, column)
            scope = hovering.scope_for(found, path, asked_frame())
        except hovering.NothingToShow as nothing:
            return {"nothing": str(nothing)}
        expression = found.text
        namespace = frame_variables(scope) if raw.is_a(scope, dict) else names_in_frame(scope)
        place = {"line": found.line, "column": found.column, "end_column": found.end_column}
    answer = evaluate.look_up(expression, namespace or names_in_frame(asked_frame()), reply, limit, is_pointed_at=True)
    return {**answer, "expression": expression, "place": place}


def _describe_exception(reply: handles.Reply, seconds: Optional[float]) -> Optional[ExceptionRow]:
    """Describe the exception in short, as it comes with a stop; with `seconds` to look, everything about it."""
    error, trace = exception_stops.exception_at_stop()
    if error is None:
        return None
    if seconds is not None:
        return exception_details.explain_exception(error, trace, reply, _deadline_in(seconds))
    described = exception_details.describe_exception(error, trace)
    reason = raw.read_attribute(threading.current_thread(), "stop_reason")
    is_handled = reason == pydevd_parts.commands.CMD_STEP_CAUGHT_EXCEPTION
    mode, described["rules"] = exception_stops.hit_rules(is_handled)
    described["break_mode"] = BREAK_MODES.get(mode, mode)
    return described


def _define_rules(reply: handles.Reply, rules: Any, forget: Any) -> None:
    for number in forget:
        hit_decisions.forget_rule(number)
    for rule in rules:
        hit_decisions.define_rule(**rule)


def _own_threads() -> List[int]:
    """List the debugger's threads, whose work is not the program's; threading.enumerate does not list them."""
    there: Any = list(threading._active.values())  # type: ignore[attr-defined]
    found = (thread for thread in there if raw.read_attribute(thread, "is_pydev_daemon_thread"))
    return [thread.native_id for thread in found if thread.native_id]


def _begin_steps(reply: handles.Reply, token: int, most: int, until: Optional[str], target: Any) -> Answer:
    """Tell this thread how its next step goes on."""
    frame = asked_frame()
    if target is not None:
        line = LineTargets(frame)
        found = line.find_target(target)
        if found is None:
            return {"unknown": True, "targets": line.as_rows()}
        multi_step.begin_steps(frame, token, multi_step.StepIntoCall(frame, found, line.first, line.last))
        return {"target": found.as_row(line.targets.index(found))}
    try:
        code = None if until is None else evaluate.compile_expression(until, asked_names())
    except BaseException as error:
        return {"syntax_error": evaluate.syntax_problem(error, until or "")}
    steps = multi_step.MultiStep(most) if code is None else multi_step.StepUntil(most, code)
    multi_step.begin_steps(frame, token, steps)
    return {}


def _pause_thread(reply: handles.Reply, thread: int) -> None:
    import pydevd
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    PyDevdAPI().request_suspend_thread(pydevd.get_global_debugger(), thread_list.from_dap(thread))


def _speak_for_blocked(reply: handles.Reply, thread: Optional[int]) -> None:
    notifier = pydevd_parts.pydevd.get_global_debugger().threads_suspended_single_notification
    stop_events.current.speak_for_blocked(notifier, None if thread is None else thread_list.from_dap(thread))


def _look_at_threads(reply: handles.Reply) -> None:
    """Take the first of two looks, which tell who is blocked."""
    blocked_threads.threads_at_rest(thread_list.program_threads())


METHODS: Dict[str, Callable[..., object]] = {
    "about": lambda reply: joining.describe_process(),
    "set_environment": lambda reply, variables: os.environ.update(variables),
    # Values.
    "scopes": lambda reply: {"scopes": variable_rows.scope_rows(asked_frame(), reply)},
    "children": _list_children,
    "locals": lambda reply, **page: _list_children(
        reply, variable_rows.scope_rows(asked_frame(), reply)[0]["variables_reference"], **page
    ),
    "report": _report_stop,
    "watch": lambda reply, watched, limit, seconds: {
        "watches": evaluate.watch_rows(watched, asked_names(), reply, limit, _deadline_in(seconds))
    },
    "set_variable": lambda reply, **wish: assigning.set_variable(asked_frame(), asked_names(), reply, **wish),
    "set_expression": lambda reply, **wish: assigning.set_expression(asked_frame(), asked_names(), reply, **wish),
    "complete": lambda reply, text, column: completing.complete_text(text, column, asked_frame()),
    "hover": _describe_hovered,
    "evaluate": lambda reply, **wish: evaluate.evaluate_text(namespace=asked_names(), reply=reply, **wish),
    "exception": lambda reply, seconds=None: {"exception": _describe_exception(reply, seconds)},
    # Source.
    "source": lambda reply, path=None: source_text.bounded_answer(
        source_text.text_of_frame(asked_frame()) if path is None else source_text.text_of_path(path)
    ),
    "modules": lambda reply, **page: file_versions.module_page(**page),
    "has_module": lambda reply, path: {"loaded": source_text.module_globals(path) is not None},
    "loaded": lambda reply, paths: {"loaded": file_versions.describe_versions(paths)},
    # Breakpoints.
    "define": _define_rules,
    "functions": lambda reply, wanted: {"functions": function_breakpoints.define_functions(wanted)},
    "exceptions": lambda reply, rules: exception_stops.define_rules(rules),
    "counts": lambda reply: {"hits": hit_decisions.hit_counts()},
    # Threads.
    "threads": lambda reply: {"threads": thread_list.list_threads(stop_events.current)},
    "stack": lambda reply, thread: {"frames": thread_list.list_frames(stop_events.current, thread)},
    "pause": _pause_thread,
    "speak_for_blocked": _speak_for_blocked,
    "tasks": lambda reply, start, count: asyncio_tasks.list_tasks(start, count),
    "task_stack": lambda reply, number: asyncio_tasks.task_stack(number),
    "look_at_threads": _look_at_threads,
    "locks": lambda reply: lock_waits.explain_waits(stop_events.current, pydevd_parts.pydevd.get_global_debugger()),
    "own_threads": lambda reply: {"threads": _own_threads()},
    # Recording.
    "record": lambda reply, options: recording.start(options),
    "stop_recording": lambda reply: recording.stop(),
    "write_recording": lambda reply: recording.write(),
    "recording": lambda reply: recording.describe(),
    # Steps.
    "step_targets": lambda reply: {"line": asked_frame().f_lineno, "targets": LineTargets(asked_frame()).as_rows()},
    "set_out": _begin_steps,
    "journey": lambda reply, token, end: multi_step.report_steps(token, end),
    "visit": lambda reply, number: multi_step.visits.plan_visit(number),
}
"""The relay gets an empty object from those that return None."""
