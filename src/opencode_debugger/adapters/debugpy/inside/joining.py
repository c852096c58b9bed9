"""Children of the program as debugged processes of their own: how one calls the runner, and how it says goodbye."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Any, Callable, Dict, Optional

from . import forks, reaching
from .spawning import STATE, hidden

PATIENCE = 45.0
"""Seconds for which a child waits for the runner before it runs on without a debugger: it must never hang."""

about: Dict[str, Any] = {}
"""What this child is; empty in the program itself."""
exit_code: Optional[int] = None
"""What it is about to end with, as far as is known"""
_generation = 0


def describe() -> Dict[str, Any]:
    return {**about, "pid": os.getpid(), "ppid": os.getppid(), "cwd": _folder(), "interpreter": sys.executable}


def _folder() -> Optional[str]:
    try:
        return os.getcwd()
    except OSError:
        return None


def install() -> None:
    import pydevd

    pydevd.PyDB.wait_for_ready_to_run = wait_for_runner
    begin = pydevd.PyDB.__init__

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self.mtime = _generation * 1000000  # what pydevd knows of code is of no use to another debugger

    pydevd.PyDB.__init__ = __init__


def wait_for_runner(py_db: Any) -> None:
    """Until the runner lets it run. A child waits only as long as the runner is there, and not for ever."""
    deadline = time.monotonic() + PATIENCE
    while not py_db.ready_to_run:
        if about and (py_db.pydb_disposed or time.monotonic() > deadline):
            break
        py_db.process_internal_commands()
        py_db._py_db_command_thread_event.clear()
        py_db._py_db_command_thread_event.wait(0.02)


def is_debugged() -> bool:
    import pydevd

    py_db = pydevd.get_global_debugger()
    return py_db is not None and py_db.ready_to_run and not py_db.pydb_disposed


def rejoin(renew: Callable[[], None]) -> None:
    """In a forked child, after `forks.let_go`: a new debugger and a new conversation."""
    global _generation, exit_code
    _generation, exit_code = _generation + 1, None
    try:
        _connect_again(renew)
    except BaseException:
        forks.let_go()
        return
    if not is_debugged():
        forks.let_go()


def _connect_again(renew: Callable[[], None]) -> None:
    import pydevd
    from _pydevd_bundle import pydevd_constants, pydevd_custom_frames

    config = STATE.config
    assert config is not None
    about.clear()
    about.update(fork=True)
    pydevd_constants.after_fork()
    _free_tools(getattr(sys, "monitoring", None))
    renew()
    thread: Any = threading.current_thread()
    thread.additional_info = None
    setattr(thread, "__pydevd_main_thread", True)
    pydevd_custom_frames.custom_frames_container_init()
    _forget_thread(pydevd)
    setup = pydevd.SetupHolder.setup
    if setup is not None:
        setup[pydevd_constants.ARGUMENT_PPID] = os.getppid()
    nap, pydevd.time = pydevd.time, _NoNap()
    try:
        reaching.instead_of_tcp(pydevd, config["way"])
        pydevd.settrace(
            host="127.0.0.1",
            port=0,
            suspend=False,
            trace_only_current_thread=False,
            overwrite_prev_trace=True,
            patch_multiprocessing=False,
            dont_trace_start_patterns=(config["debugpy"],),
            dont_trace_end_patterns=("debugpy_launcher.py",),
            notify_stdin=False,
        )
    finally:
        pydevd.time = nap
    _end_politely()


class _NoNap:
    """The time module without sleep(): pydevd sleeps 0.1 s after connecting, for nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        pass


def _forget_thread(pydevd: Any) -> None:
    from _pydevd_bundle.pydevd_constants import PYDEVD_USE_SYS_MONITORING
    from _pydevd_frame_eval.pydevd_frame_eval_main import clear_thread_local_info

    if clear_thread_local_info is not None:
        clear_thread_local_info()
    if PYDEVD_USE_SYS_MONITORING:
        pydevd.pydevd_sys_monitoring.reset_thread_local_info()


def _free_tools(monitoring: Any) -> None:
    """Let go, not given back: so that who asks for one gets it as at the first time."""
    for tool in range(6) if monitoring is not None else ():
        if monitoring.get_tool(tool) in ("pydevd", "opencode-debugger"):
            monitoring.free_tool_id(tool)


def _end_politely() -> None:
    """Forked children of multiprocessing end by os._exit: what the debugger has still to say must get out before."""
    leave: Any = os._exit
    if getattr(leave, "__module__", "") == __name__:
        return

    def _exit(status: int) -> Any:
        global exit_code
        with contextlib.suppress(BaseException):
            import pydevd

            exit_code = status
            py_db = pydevd.get_global_debugger()
            if py_db is not None and about:
                py_db.dispose_and_kill_all_pydevd_threads()
        leave(status)

    os._exit = hidden(_exit)
