"""Runs inside the debugged program, on its Python (3.8 or newer): what debugpy itself cannot do.

The relay reaches it through debugpy's own evaluate request: `__import__('_ocdb').call('method', 'JSON')`, with a frame
to look into that frame, without one to act while the program runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from typing import Any, Callable, Dict, Optional, Set

from . import (
    breakpoints,
    elsewhere,
    evaluate,
    exceptions,
    forks,
    handles,
    interrupts,
    natives,
    raised,
    stepping,
    stops,
    targets,
    travel,
    values,
    wire,
)

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
    stops.install(on_resume=_resumed)
    for mend in (stepping, raised, wire, forks, travel):
        mend.install()
    _count_to_the_end()


def begin(first_reference: int) -> None:
    """Once per session: a program may be attached to again."""
    global _resumes
    _resumes = 0
    handles.start_references_at(first_reference)
    breakpoints.rules.clear()


_resumes = 0
"""How often the relay let the program go on: it counts too, and says for which stop it asks."""


def _resumed() -> None:
    global _resumes
    _resumes += 1
    travel.visits.resumed()
    elsewhere.KEPT.clear()


def send(kind: str, body: Dict[str, Any]) -> None:
    import pydevd

    pydevd.send_json_message({"type": "event", "event": EVENT, "body": dict(body, kind=kind), "seq": 0})


def _count_to_the_end() -> None:
    """The last counts are sent when pydevd says goodbye, after the last line of the program."""
    import pydevd

    dispose = pydevd.PyDB.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(self: Any, *args: Any, **kwargs: Any) -> None:
        if breakpoints.rules and not self.pydb_disposed:
            send("hits", {"hits": breakpoints.counts()})
        if not self.pydb_disposed:
            send("journeys", {"journeys": travel.reports()})
        dispose(self, *args, **kwargs)

    pydevd.PyDB.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads


def hit(number: int) -> bool:
    return breakpoints.hit(number, sys._getframe(1), send)


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


def call(method: str, argument: str, token: int = 0, resumes: Optional[int] = None) -> handles.Reply:
    """Answers with an object whose repr is JSON. It keeps what it announces alive; debugpy drops it on resume."""
    reply = handles.Reply()
    if resumes not in (None, _resumes):
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


def call_elsewhere(method: str, argument: str, token: int, resumes: int, frame_id: int) -> handles.Reply:
    """The same for a frame of a thread that cannot run anything now; what it assigns does not reach the frame.

    Says only that it has begun: the answer comes as an event, for nothing may hold up the thread that asks.
    """
    frame = elsewhere.find_frame(frame_id)
    if frame is None:
        return handles.Reply().finish({"gone": True})

    def work() -> None:
        _elsewhere[threading.get_ident()] = frame
        try:
            reply = call(method, argument, token, resumes)
        finally:
            del _elsewhere[threading.get_ident()]
        elsewhere.KEPT.append(reply)
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


def _report(reply: handles.Reply, budget: int, names: int, seconds: float) -> Any:
    frame, deadline = _frame(), _deadline(seconds)
    answer = values.locals_report(frame, reply, budget, names, deadline)
    # What the functions called from this frame returned during the last step, as debugpy kept it.
    kept = frame.f_locals.get("__pydevd_ret_val_dict") or {}
    answer["returned"] = [
        values.variable(name, value, reply, budget // 4, deadline) for name, value in list(kept.items())
    ]
    return answer


def _evaluate(reply: handles.Reply, expression: str, context: str, limit: int) -> Any:
    return evaluate.evaluate(expression, _namespace(), reply, limit, context)


def _exception(reply: handles.Reply) -> Any:
    import debugpy
    from _pydevd_bundle.pydevd_comm_constants import CMD_STEP_CAUGHT_EXCEPTION

    own = (os.path.dirname(debugpy.__file__), "<ocdb", os.path.dirname(__file__))
    found = _namespace().get("__exception__")
    if not found:
        return {"exception": None}
    described = exceptions.describe(found[1], lambda name: name.startswith(own) or name.endswith(LAUNCHER))
    is_handled = threading.current_thread().stop_reason == CMD_STEP_CAUGHT_EXCEPTION  # type: ignore[attr-defined]
    described["break_mode"] = "always" if is_handled else "unhandled"
    return {"exception": described}


def _define(reply: handles.Reply, rules: Any, forget: Any) -> Any:
    for number in forget:
        breakpoints.forget(number)
    for rule in rules:
        breakpoints.define(**rule)
    return {}


def _counts(reply: handles.Reply) -> Any:
    return {"hits": breakpoints.counts()}


def _step_targets(reply: handles.Reply) -> Any:
    frame = _frame()
    return {"line": frame.f_lineno, "targets": targets.Line(frame).described()}


def _natives(reply: handles.Reply, line: int) -> Any:
    return {"functions": natives.called(_frame(), line)}


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


METHODS: Dict[str, Callable[..., Any]] = {
    "scopes": _scopes,
    "children": _children,
    "locals": _locals,
    "report": _report,
    "evaluate": _evaluate,
    "exception": _exception,
    "define": _define,
    "counts": _counts,
    "interrupt": _interrupt,
    "step_targets": _step_targets,
    "natives": _natives,
    "set_out": _set_out,
    "journey": _journey,
    "visit": _visit,
}
