"""Runs inside the debugged program, on its Python (3.8 or newer): what debugpy itself cannot do.

The relay reaches it through debugpy's own evaluate request: `__import__('_ocdb').call('method', 'JSON')`, with a frame
to look into that frame, without one to act while the program runs.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, Dict, Iterable

from . import (
    breakpoints,
    calling,
    elsewhere,
    forks,
    functions,
    handles,
    interrupts,
    joining,
    leaving,
    of_pydevd,
    overflow,
    passed,
    printed,
    raised,
    returned,
    spawning,
    stepping,
    stops,
    tasks,
    travel,
    versions,
    wire,
)
from .calling import call, call_elsewhere
from .sending import send, send_now

__all__ = ("call", "call_elsewhere")


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
    for mend in (of_pydevd, calling, passed, raised, overflow, wire, forks, joining, versions, tasks, travel):
        mend.install()
    spawning.install(send, send_now)
    functions.install(send)
    _count_to_the_end()
    leaving.install()


def begin(first_reference: int) -> None:
    """Once per session: a program may be attached to again."""
    calling.begin()
    if stops.current is not None:
        stops.current.begin()
    handles.start_references_at(first_reference)
    breakpoints.rules.clear()
    functions.clear()
    stepping.install()


def program_starts() -> Callable[[], None]:
    """From now on pauses wait until what this gives is called."""
    stops.current.program_runs.clear()
    begins: Callable[[], None] = stops.current.program_runs.set
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
    printed.renew()
    elsewhere.KEPT.clear()
    elsewhere.looked_into.clear()
    for part in (calling, travel, passed, raised):
        part.forget()


def _resumed(thread_id: Any, kept: Iterable[Any]) -> None:
    calling.let_go(thread_id, kept)
    elsewhere.forget(thread_id, kept)
    returned.forget()
    travel.visits.resumed()


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
