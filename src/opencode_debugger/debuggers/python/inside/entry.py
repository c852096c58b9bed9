"""Does inside the debugged program, on its Python (3.8 or newer), what debugpy itself cannot do.

The relay reaches it through debugpy's own evaluate request: `__import__('_ocdb').call('method', 'JSON')`, with a frame
to look into that frame, without one to act while the program runs.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable

from . import full_speed, python_versions, recording
from .breakpoints import exception_stops, function_breakpoints, hit_decisions
from .evaluation import printed_output
from .processes import forked_children, joining, leaving, spawning
from .pydevd_patches import (
    endless_recursion,
    late_tracing,
    message_sending,
    passed_breakpoints,
    pydevd_output,
    pydevd_parts,
    stop_events,
)
from .rpc import call_scope, calling, handles, interrupts, runner_connection
from .rpc.calling import call, call_elsewhere
from .rpc.event_sending import send_event
from .source import file_versions, source_text
from .stepping import multi_step, returned_values
from .threads import asyncio_tasks

__all__ = ("call", "call_elsewhere", "python_versions", "recording", "runner_connection", "source_text")


def prepare() -> None:
    """Patch pydevd and get our parts ready: once per process, before the program runs or right after attaching."""
    pydevd_output.install()
    stop_events.install(on_resume=_forget_resumed)
    repairs = (pydevd_parts, message_sending, late_tracing, passed_breakpoints, exception_stops, endless_recursion)
    parts = (calling, forked_children, joining, file_versions, asyncio_tasks, multi_step, function_breakpoints, leaving)
    for part in (*repairs, *parts):
        part.install()
    full_speed.install()
    spawning.install(lambda: joining.rejoin_runner(_renew_forked_child))


def begin(first_reference: int) -> None:
    """Begin a session. There may be several in a process, because a program may be attached to again."""
    calling.begin_session()
    if stop_events.current is not None:
        stop_events.current.begin_session()
    handles.HANDLES.start_at(first_reference)
    hit_decisions.forget_rules()
    function_breakpoints.clear_all()
    full_speed.begin_session()


def begin_family(config: Dict[str, Any]) -> None:
    """Tell how processes that this one starts are debugged, and in a child also what it is itself."""
    if config.get("command"):
        kind, target = config["kind"], config["target"]
        joining.child_facts = {"kind": kind, "target": target, "args": config["args"], "command": config["command"]}
    if config["subprocesses"]:
        own = ("kind", "target", "args", "executable", "command", "orig_argv", "is_marked")
        spawning.STATE.config = {name: value for name, value in config.items() if name not in own}


def _renew_forked_child() -> None:
    """Forget in a forked child whatever its parent was asked."""
    begin(1000)
    interrupts.renew_after_fork()
    printed_output.renew_after_fork()
    call_scope.kept_replies.clear()
    call_scope.frames_looked_into.clear()
    for part in (calling, multi_step, passed_breakpoints, exception_stops):
        part.forget_all()
    recording.begin_forked_child()


def _forget_resumed(thread_id: Any, kept: Iterable[Any]) -> None:
    calling.resumes.count_resume(thread_id, kept)
    call_scope.forget_replies(thread_id, kept)
    returned_values.forget_returned()
    multi_step.visits.begin_run()


def hit(number: int) -> bool:
    return hit_decisions.decide_hit(number, sys._getframe(1), send_event)


def stops_on_exception(mode: str) -> bool:
    return exception_stops.decide_stop(mode, sys._getframe(1))


def hit_function(index: int) -> bool:
    return function_breakpoints.decide_hit(index, sys._getframe(1))


def arrive(visit: int, number: int) -> bool:
    """Decide the stop at the line of a visit; `number` is the breakpoint that is there as well, or 0."""
    if number and hit_decisions.decide_hit(number, sys._getframe(1), send_event):
        return True
    if multi_step.visits.current != visit:
        return False
    send_event("visited", {"number": visit})
    return True
