"""Runs inside the debugged program, on its Python (3.8 or newer): what debugpy itself cannot do.

The relay reaches it through debugpy's own evaluate request: `__import__('_ocdb').call('method', 'JSON')`, with a frame
to look into that frame, without one to act while the program runs.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterable, Optional, Set

from . import (
    assign,
    breakpoints,
    calls,
    completing,
    elsewhere,
    evaluate,
    exceptions,
    forks,
    functions,
    handles,
    hovering,
    interrupts,
    joining,
    leaving,
    loaded,
    natives,
    overflow,
    passed,
    raised,
    returned,
    sources,
    spawning,
    stepping,
    stops,
    targets,
    tasks,
    threads,
    travel,
    values,
    versions,
    watches,
    wire,
)
from .moves import Moves

EVENT = "ocdb"
LAUNCHER = "debugpy_launcher.py"


def prepare() -> None:
    """Once per process, before the program runs or right after attaching."""
    import pydevd_tracing
    from _pydev_bundle import pydev_log
    from _pydevd_bundle import pydevd_io

    # While it evaluates for us it would put itself in place of sys.stdout, and let go of that under other threads.
    pydevd_io.redirect_stream_to_pydb_io_messages_context = contextlib.nullcontext
    # pydevd's own log and warnings go to the program's stderr, where they do not belong.
    pydevd_tracing.TracingFunctionHolder._warn = False
    pydev_log._LoggingGlobals._debug_stream = pydev_log.NULL
    pydev_log._LoggingGlobals._debug_stream_initialized = True
    pydev_log.initialize_debug_stream = lambda reinitialize=False: None
    global _stops
    _stops = stops.install(on_resume=_resumed)
    for mend in (passed, raised, overflow, wire, forks, joining, versions, tasks, travel):
        mend.install()
    spawning.install(send, send_now)
    functions.install(send)
    _count_to_the_end()
    leaving.install()


def begin(first_reference: int) -> None:
    """Once per session: a program may be attached to again."""
    global _moves
    _moves = Moves()
    if _stops is not None:
        _stops.begin()
    handles.start_references_at(first_reference)
    breakpoints.rules.clear()
    functions.clear()
    stepping.install()


_moves = Moves()
_stops: Any = None


def program_starts() -> Callable[[], None]:
    """From now on pauses wait until what this gives is called."""
    _stops.program_runs.clear()
    begins: Callable[[], None] = _stops.program_runs.set
    return begins


def begin_family(config: Dict[str, Any]) -> None:
    """What becomes of the processes that this one starts; in a child, also what it is itself."""
    if config.get("command"):
        joining.about.update({name: config[name] for name in ("kind", "target", "args", "command")})
    if config["subprocesses"]:
        own = ("kind", "target", "args", "executable", "command", "orig_argv", "is_marked")
        spawning.STATE.config = {name: value for name, value in config.items() if name not in own}
        spawning.STATE.rejoin = lambda: joining.rejoin(_renew)


def _renew() -> None:
    """In a forked child: nothing of what the parent was asked is asked of it."""
    begin(1000)
    interrupts.renew()
    elsewhere.KEPT.clear()
    for known in (_threads, _cancelled, _elsewhere):
        known.clear()
    for part in (travel, passed, raised):
        part.forget()


def _resumed(thread_id: Any, kept: Iterable[Any]) -> None:
    _moves.go(thread_id, kept)
    elsewhere.forget(thread_id, kept)
    returned.forget()
    travel.visits.resumed()


def send(kind: str, body: Dict[str, Any]) -> None:
    import pydevd

    pydevd.send_json_message({"type": "event", "event": EVENT, "body": dict(body, kind=kind), "seq": 0})


def send_now(kind: str, body: Dict[str, Any]) -> None:
    """For last words: returns when they are out, or cannot get out."""
    import pydevd
    from _pydevd_bundle.pydevd_net_command import NetCommand

    writer = getattr(pydevd.get_global_debugger(), "writer", None)
    if writer is None:
        return
    message = {"type": "event", "event": EVENT, "body": dict(body, kind=kind), "seq": 0}
    command, sent = NetCommand(-1, 0, message, is_json=True), threading.Event()
    command.call_after_send(lambda sock: sent.set())
    writer.add_command(command)
    sent.wait(0.5)


def _count_to_the_end() -> None:
    """The last counts are sent when pydevd says goodbye, after the last line of the program."""
    import pydevd

    dispose = pydevd.PyDB.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(self: Any, *args: Any, **kwargs: Any) -> None:
        if breakpoints.rules and not self.pydb_disposed:
            send("hits", {"hits": breakpoints.counts()})
        if joining.about and not self.pydb_disposed:
            send("exiting", {"code": joining.exit_code})
        if not self.pydb_disposed:
            send("journeys", {"journeys": travel.reports()})
        dispose(self, *args, **kwargs)

    pydevd.PyDB.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads


def hit(number: int) -> bool:
    return breakpoints.hit(number, sys._getframe(1), send)


def stops_on_exception(mode: str) -> bool:
    return raised.stops(mode, sys._getframe(1), send)


def hit_function(index: int) -> bool:
    return functions.hit(index, sys._getframe(1))


def arrive(visit: int, number: int) -> bool:
    """At the line of a visit; `number` is the breakpoint there, if there is one, which goes on as ever."""
    if number and breakpoints.hit(number, sys._getframe(1), send):
        return True
    if travel.visits.current != visit:
        return False
    send("visited", {"number": visit})
    return True


_threads: Dict[int, int] = {}
"""Where each call that may take long runs, by its token."""
_cancelled: Set[int] = set()
"""Calls that were given up before their thread got to them: it must not run them later, at another stop."""


def call(method: str, argument: str, token: int = 0, thread: int = 0, moves: Optional[int] = None) -> handles.Reply:
    """Answers with an object whose repr is JSON. It keeps what it announces alive; debugpy drops it on resume."""
    reply = handles.Reply()
    if moves is not None and moves < _moves.of(threads.from_dap(thread)):
        return reply.finish({"gone": True})
    if token in _cancelled:
        _cancelled.discard(token)
        return reply.finish({"timed_out": True})
    _threads[token] = threading.get_ident()
    try:
        answer = METHODS[method](reply, **json.loads(argument))
    except BaseException as error:
        answer = {"failed": "%s: %s" % (type(error).__name__, error)}
    finally:
        _threads.pop(token, None)
    return reply.finish(answer)


def call_elsewhere(method: str, argument: str, token: int, thread: int, moves: int, frame_id: int) -> handles.Reply:
    """The same for a frame of a thread that cannot run anything now; what it assigns does not reach the frame.

    Says only that it has begun: the answer comes as an event, for nothing may hold up the thread that asks.
    """
    frame = elsewhere.find_frame(frame_id)
    if frame is None:
        return handles.Reply().finish({"gone": True})

    def work() -> None:
        _elsewhere[threading.get_ident()] = frame
        try:
            reply = call(method, argument, token, thread, moves)
        finally:
            del _elsewhere[threading.get_ident()]
        elsewhere.keep(threads.from_dap(thread), reply)
        send("answer", {"token": token, "text": reply.text})

    elsewhere.run(work)
    return handles.Reply().finish({})


_elsewhere: Dict[int, Any] = {}
"""The frame that a helper thread looks into, by the helper's ident."""


def _frame() -> Any:
    """The frame that debugpy was asked to evaluate in."""
    found = _elsewhere.get(threading.get_ident())
    if found is not None:
        return found
    frame: Any = sys._getframe(1)
    while frame.f_code.co_name != "evaluate_expression":
        frame = frame.f_back
    return frame.f_locals["frame"]


def _namespace() -> Dict[str, Any]:
    """Globals and locals in one, as debugpy made it; what changes here it writes back to the frame."""
    found = _elsewhere.get(threading.get_ident())
    if found is not None:
        return {**found.f_globals, **found.f_locals}
    frame: Any = sys._getframe(1)
    while frame.f_code.co_filename != "<string>":
        frame = frame.f_back
    namespace: Dict[str, Any] = frame.f_globals
    return namespace


def _deadline(seconds: float) -> float:
    return time.monotonic() + seconds


def _scopes(reply: handles.Reply) -> Any:
    return {"scopes": values.scopes(_frame(), reply)}


def _children(reply: handles.Reply, reference: int, seconds: float, **page: Any) -> Any:
    terms = values.SUMMARY if page.pop("summary", False) else values.DETAILED
    return values.children(reference, deadline=_deadline(seconds), reply=reply, terms=terms, **page)


def _locals(reply: handles.Reply, **page: Any) -> Any:
    return _children(reply, values.scopes(_frame(), reply)[0]["variables_reference"], **page)


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
    frame, deadline = _frame(), _deadline(seconds)
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
            answer["watches"] = watches.look(watched, _namespace(), reply, budget // 2, deadline)
        if with_source:
            answer["source"] = sources.around(frame)
        if stepped_from is not None:
            answer["calls"] = calls.on_line(frame.f_code, stepped_from)
            answer["natives"] = natives.called(frame, stepped_from)
        return answer


def _watch(reply: handles.Reply, watched: Any, limit: int, seconds: float) -> Any:
    return {"watches": watches.look(watched, _namespace(), reply, limit, _deadline(seconds))}


def _set_variable(reply: handles.Reply, reference: int, name: str, value: str, limit: int) -> Any:
    return assign.set_variable(reference, name, value, _frame(), _namespace(), reply, limit)


def _set_expression(reply: handles.Reply, expression: str, value: str, limit: int) -> Any:
    return assign.set_expression(expression, value, _frame(), _namespace(), reply, limit)


def _complete(reply: handles.Reply, text: str, column: Optional[int]) -> Any:
    return completing.complete(text, column, _frame())


def _hover(
    reply: handles.Reply, limit: int, expression: Optional[str] = None, path: str = "", line: int = 1, column: int = 1
) -> Any:
    """Of an expression, or of what is written at a place."""
    place: Dict[str, Any] = {}
    namespace: Any = None
    if expression is None:
        try:
            text = sources.of_path(path)
            if text is None:
                raise hovering.Nothing("The source of this file cannot be read")
            found = hovering.find(path, text[1], line, column)
            hovering.check(found)
            scope = hovering.frame_for(found, path, _frame())
        except hovering.Nothing as nothing:
            return {"nothing": str(nothing)}
        expression = found.text
        namespace = dict(scope) if isinstance(scope, dict) else {**scope.f_globals, **scope.f_locals}
        place = {"line": found.line, "column": found.column, "end_column": found.end_column}
    answer = evaluate.evaluate(expression, namespace or _namespace(), reply, limit, "hover", about=hovering.about)
    answer.update(expression=expression, place=place)
    return answer


def _source(reply: handles.Reply, path: Optional[str] = None) -> Any:
    return sources.bounded(sources.of_frame(_frame()) if path is None else sources.of_path(path))


def _modules(reply: handles.Reply, offset: int, limit: int, filter: Optional[str]) -> Any:
    return loaded.page(offset, limit, filter)


def _has_module(reply: handles.Reply, path: str) -> Any:
    return {"loaded": sources.module_of(path) is not None}


def _evaluate(reply: handles.Reply, expression: str, context: str, limit: int) -> Any:
    return evaluate.evaluate(expression, _namespace(), reply, limit, context)


def _exception(reply: handles.Reply, seconds: Optional[float] = None) -> Any:
    """In short as it comes with a stop; with `seconds` to look, everything about it."""
    from _pydevd_bundle.pydevd_comm_constants import CMD_STEP_CAUGHT_EXCEPTION

    def is_foreign(name: str) -> bool:
        return returned.is_debugger_file(name) or name.endswith(LAUNCHER)

    found = _namespace().get("__exception__")
    error = raised.with_trace(*found[1:]) if found else raised.leaving()
    if error is None:
        return {"exception": None}
    if seconds is None:
        described = exceptions.describe(error, is_foreign)
    else:
        described = exceptions.explain(error, is_foreign, reply, _deadline(seconds))
    is_handled = getattr(threading.current_thread(), "stop_reason", None) == CMD_STEP_CAUGHT_EXCEPTION
    mode, described["rules"] = raised.hit_rules(is_handled)
    described["break_mode"] = {"raised": "always", "uncaught": "unhandled"}.get(mode, mode)
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
    raised.define(rules)
    return {}


def _loaded(reply: handles.Reply, paths: Any) -> Any:
    return {"loaded": versions.describe(paths)}


def _counts(reply: handles.Reply) -> Any:
    return {"hits": breakpoints.counts()}


def _own_threads(reply: handles.Reply) -> Any:
    """Of the debugger: what they do is not the program's work. threading.enumerate does not list them."""
    there: Any = list(threading._active.values())  # type: ignore[attr-defined]
    found = (thread for thread in there if getattr(thread, "is_pydev_daemon_thread", False))
    return {"threads": [thread.native_id for thread in found if thread.native_id]}


def _step_targets(reply: handles.Reply) -> Any:
    frame = _frame()
    return {"line": frame.f_lineno, "targets": targets.Line(frame).described()}


def _set_out(reply: handles.Reply, token: int, most: int, until: Optional[str], target: Any) -> Any:
    """What the next step of this thread goes on with."""
    frame = _frame()
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
        code = evaluate.compiled(until, _namespace())
    except BaseException as error:
        return {"syntax_error": evaluate.syntax_problem(error, until)}
    travel.set_out(frame, token, travel.Until(most, code))
    return {}


def _visit(reply: handles.Reply, number: int) -> Any:
    travel.visits.plan(number)
    return {}


def _journey(reply: handles.Reply, token: int, end: bool) -> Any:
    return travel.report(token, end)


def _interrupt(reply: handles.Reply, token: int) -> Any:
    thread = _threads.get(token)
    if thread is None:
        _cancelled.add(token)
        return {"interrupted": False}
    return {"interrupted": interrupts.interrupt(thread)}


def _listed(reply: handles.Reply) -> Any:
    return {"threads": threads.listed(_stops)}


def _stack(reply: handles.Reply, thread: int) -> Any:
    return {"frames": threads.stack(_stops, thread)}


def _pause(reply: handles.Reply, thread: int) -> Any:
    import pydevd
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    PyDevdAPI().request_suspend_thread(pydevd.get_global_debugger(), threads.from_dap(thread))
    return {}


def _tasks(reply: handles.Reply, start: int, count: int) -> Any:
    return tasks.listed(start, count)


def _about(reply: handles.Reply) -> Any:
    return joining.describe()


METHODS: Dict[str, Callable[..., Any]] = {
    "about": _about,
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
    "interrupt": _interrupt,
    "threads": _listed,
    "stack": _stack,
    "pause": _pause,
    "tasks": _tasks,
    "own_threads": _own_threads,
    "step_targets": _step_targets,
    "set_out": _set_out,
    "journey": _journey,
    "visit": _visit,
}
