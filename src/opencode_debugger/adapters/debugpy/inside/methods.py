"""What the relay can ask, by name: each method takes a reply to fill and what was asked, and answers with JSON."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, Optional

from . import (
    assign,
    blocked,
    breakpoints,
    calls,
    completing,
    evaluate,
    exceptions,
    functions,
    handles,
    hovering,
    interrupts,
    joining,
    loaded,
    locks,
    natives,
    of_pydevd,
    raised,
    raw,
    returned,
    sources,
    stops,
    targets,
    tasks,
    threads,
    travel,
    values,
    versions,
    watches,
)
from .raised import TEST_FAILURE
from .scope import asked_frame, asked_names, names_of, variables
from .sending import send

LAUNCHER = "debugpy_launcher.py"
BREAK_MODES = {"raised": "always", "uncaught": "unhandled", TEST_FAILURE: "user_unhandled"}


def _deadline(seconds: float) -> float:
    return time.monotonic() + seconds


def _scopes(reply: handles.Reply) -> Any:
    return {"scopes": values.scopes(asked_frame(), reply)}


def _children(reply: handles.Reply, reference: int, seconds: float, **page: Any) -> Any:
    terms = values.SUMMARY if page.pop("summary", False) else values.DETAILED
    return values.children(reference, deadline=_deadline(seconds), reply=reply, terms=terms, **page)


def _locals(reply: handles.Reply, **page: Any) -> Any:
    return _children(reply, values.scopes(asked_frame(), reply)[0]["variables_reference"], **page)


def _report(
    reply: handles.Reply,
    budget: int,
    names: int,
    seconds: float,
    watched: Any = (),
    with_source: bool = False,
    stepped_from: Optional[int] = None,
) -> Any:
    """`watched`: expressions to evaluate as well; `stepped_from`: the line of this frame that a step into left."""
    frame, deadline = asked_frame(), _deadline(seconds)
    with interrupts.guard():
        answer = values.locals_report(frame, reply, budget, names, deadline)
        leaving = returned.left(frame)
        own, others = returned.values(frame, leaving)
        answer["left"] = None if leaving is None else {"function": leaving.name, "how": leaving.how}
        answer["return_value"], answer["returned"] = (
            [values.variable(name, value, reply, budget // 4, deadline) for name, value in found]
            for found in (own, others)
        )
        if watched:
            answer["watches"] = watches.look(watched, asked_names(), reply, budget // 2, deadline)
        if with_source:
            answer["source"] = sources.around(frame)
        if stepped_from is not None:
            answer["calls"] = calls.on_line(frame.f_code, stepped_from)
            answer["natives"] = natives.called(frame, stepped_from)
        return answer


def _watch(reply: handles.Reply, watched: Any, limit: int, seconds: float) -> Any:
    return {"watches": watches.look(watched, asked_names(), reply, limit, _deadline(seconds))}


def _set_variable(reply: handles.Reply, reference: int, name: str, value: str, limit: int) -> Any:
    return assign.set_variable(reference, name, value, asked_frame(), asked_names(), reply, limit)


def _set_expression(reply: handles.Reply, expression: str, value: str, limit: int) -> Any:
    return assign.set_expression(expression, value, asked_frame(), asked_names(), reply, limit)


def _complete(reply: handles.Reply, text: str, column: Optional[int]) -> Any:
    return completing.complete(text, column, asked_frame())


def _hover(
    reply: handles.Reply, limit: int, expression: Optional[str] = None, path: str = "", line: int = 1, column: int = 1
) -> Any:
    """Of an expression, or of what is written at a place: looked up, never evaluated."""
    place: Dict[str, Any] = {}
    namespace: Any = None
    if expression is None:
        try:
            text = sources.of_path(path)
            if text is None:
                raise hovering.Nothing("The source of this file cannot be read")
            found = hovering.find(path, text[1], line, column)
            hovering.check(found)
            scope = hovering.frame_for(found, path, asked_frame())
        except hovering.Nothing as nothing:
            return {"nothing": str(nothing)}
        expression = found.text
        namespace = variables(scope) if raw.is_a(scope, dict) else names_of(scope)
        place = {"line": found.line, "column": found.column, "end_column": found.end_column}
    answer = evaluate.look_up(expression, namespace or names_of(asked_frame()), reply, limit, about=hovering.about)
    answer.update(expression=expression, place=place)
    return answer


def _source(reply: handles.Reply, path: Optional[str] = None) -> Any:
    return sources.bounded(sources.of_frame(asked_frame()) if path is None else sources.of_path(path))


def _modules(reply: handles.Reply, offset: int, limit: int, filter: Optional[str]) -> Any:
    return loaded.page(offset, limit, filter)


def _has_module(reply: handles.Reply, path: str) -> Any:
    return {"loaded": sources.module_of(path) is not None}


def _evaluate(reply: handles.Reply, expression: str, context: str, limit: int) -> Any:
    return evaluate.evaluate(expression, asked_names(), reply, limit, context)


def _exception(reply: handles.Reply, seconds: Optional[float] = None) -> Any:
    """In short as it comes with a stop; with `seconds` to look, everything about it."""

    def is_foreign(name: str) -> bool:
        return returned.is_debugger_file(name) or name.endswith(LAUNCHER)

    error, trace = raised.at_stop()
    if error is None:
        return {"exception": None}
    if seconds is not None:
        return {"exception": exceptions.explain(error, trace, is_foreign, reply, _deadline(seconds))}
    described = exceptions.describe(error, trace, is_foreign)
    is_handled = raw.read(threading.current_thread(), "stop_reason") == of_pydevd.CAUGHT
    mode, described["rules"] = raised.hit_rules(is_handled)
    described["break_mode"] = BREAK_MODES.get(mode, mode)
    return {"exception": described}


def _define(reply: handles.Reply, rules: Any, forget: Any) -> Any:
    for number in forget:
        breakpoints.forget(number)
    for rule in rules:
        breakpoints.define(**rule)
    return {}


def _functions(reply: handles.Reply, wanted: Any) -> Any:
    return {"functions": functions.define(wanted)}


def _exceptions(reply: handles.Reply, rules: Any) -> Any:
    raised.define(rules, send)
    return {}


def _loaded(reply: handles.Reply, paths: Any) -> Any:
    return {"loaded": versions.describe(paths)}


def _counts(reply: handles.Reply) -> Any:
    return {"hits": breakpoints.counts()}


def _own_threads(reply: handles.Reply) -> Any:
    """Of the debugger: what they do is not the program's work. threading.enumerate does not list them."""
    there: Any = list(threading._active.values())  # type: ignore[attr-defined]
    found = (thread for thread in there if raw.read(thread, "is_pydev_daemon_thread"))
    return {"threads": [thread.native_id for thread in found if thread.native_id]}


def _step_targets(reply: handles.Reply) -> Any:
    frame = asked_frame()
    return {"line": frame.f_lineno, "targets": targets.Line(frame).described()}


def _set_out(reply: handles.Reply, token: int, most: int, until: Optional[str], target: Any) -> Any:
    """What the next step of this thread goes on with."""
    frame = asked_frame()
    if target is not None:
        line = targets.Line(frame)
        found = line.find(target)
        if found is None:
            return {"unknown": True, "targets": line.described()}
        travel.set_out(frame, token, travel.IntoCall(frame, found, line.first, line.last))
        return {"target": found.described(line.targets.index(found))}
    if until is None:
        travel.set_out(frame, token, travel.Journey(most))
        return {}
    try:
        code = evaluate.compiled(until, asked_names())
    except BaseException as error:
        return {"syntax_error": evaluate.syntax_problem(error, until)}
    travel.set_out(frame, token, travel.Until(most, code))
    return {}


def _visit(reply: handles.Reply, number: int) -> Any:
    travel.visits.plan(number)
    return {}


def _journey(reply: handles.Reply, token: int, end: bool) -> Any:
    return travel.report(token, end)


def _listed(reply: handles.Reply) -> Any:
    return {"threads": threads.listed(stops.current)}


def _stack(reply: handles.Reply, thread: int) -> Any:
    return {"frames": threads.stack(stops.current, thread)}


def _pause(reply: handles.Reply, thread: int) -> Any:
    import pydevd
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    PyDevdAPI().request_suspend_thread(pydevd.get_global_debugger(), threads.from_dap(thread))
    return {}


def _speak_for_blocked(reply: handles.Reply, thread: Optional[int]) -> Any:
    notifier = of_pydevd.pydevd.get_global_debugger().threads_suspended_single_notification
    stops.current.speak_for_blocked(notifier, None if thread is None else threads.from_dap(thread))
    return {}


def _look_at_threads(reply: handles.Reply) -> Any:
    """The first of two looks, which tell who is blocked."""
    blocked.at_rest(threads.of_the_program())
    return {}


def _locks(reply: handles.Reply) -> Any:
    return locks.explained(stops.current, of_pydevd.pydevd.get_global_debugger())


def _tasks(reply: handles.Reply, start: int, count: int) -> Any:
    return tasks.listed(start, count)


def _task_stack(reply: handles.Reply, number: int) -> Any:
    return tasks.stack(number)


def _about(reply: handles.Reply) -> Any:
    return joining.describe()


def _set_environment(reply: handles.Reply, variables: Dict[str, str]) -> Any:
    os.environ.update(variables)
    return {}


METHODS: Dict[str, Callable[..., Any]] = {
    "about": _about,
    "set_environment": _set_environment,
    "scopes": _scopes,
    "children": _children,
    "locals": _locals,
    "report": _report,
    "watch": _watch,
    "set_variable": _set_variable,
    "set_expression": _set_expression,
    "complete": _complete,
    "hover": _hover,
    "source": _source,
    "modules": _modules,
    "has_module": _has_module,
    "evaluate": _evaluate,
    "exception": _exception,
    "define": _define,
    "functions": _functions,
    "exceptions": _exceptions,
    "loaded": _loaded,
    "counts": _counts,
    "threads": _listed,
    "stack": _stack,
    "pause": _pause,
    "speak_for_blocked": _speak_for_blocked,
    "tasks": _tasks,
    "task_stack": _task_stack,
    "look_at_threads": _look_at_threads,
    "locks": _locks,
    "own_threads": _own_threads,
    "step_targets": _step_targets,
    "set_out": _set_out,
    "journey": _journey,
    "visit": _visit,
}
