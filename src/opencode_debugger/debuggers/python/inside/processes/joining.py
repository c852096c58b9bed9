"""Makes children of the program debugged processes of their own: how they call the runner, and say goodbye."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Optional

from .. import recording
from ..frames import LAUNCHER
from ..pydevd_patches import pydevd_parts
from ..rpc import runner_connection
from . import forked_children
from .spawning import STATE, hidden_from_debugger

if TYPE_CHECKING:
    from ....rows import ChildRow

PATIENCE = 45.0
"""Seconds for which a child waits for the runner before it runs on without a debugger: it must never hang."""

child_facts: ChildRow = {}
"""Kind, target, arguments and command of this child; empty in the program itself."""
exit_code: Optional[int] = None
"""The code that it is about to end with, as far as is known."""
_generation = 0


def describe_process() -> ChildRow:
    ids: ChildRow = {"pid": os.getpid(), "ppid": os.getppid(), "cwd": None, "interpreter": sys.executable}
    with contextlib.suppress(OSError):
        ids["cwd"] = os.getcwd()
    return {**child_facts, **ids}


def install() -> None:
    import pydevd

    pydevd.PyDB.wait_for_ready_to_run = wait_for_runner
    begin = pydevd.PyDB.__init__

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self.mtime = _generation * 1000000  # another debugger must not use what pydevd has noted of code

    pydevd.PyDB.__init__ = __init__


def wait_for_runner(py_db: Any) -> None:
    """Wait until the runner lets it run. A child waits only as long as the runner is there, and not for ever."""
    deadline = time.monotonic() + PATIENCE
    while not py_db.ready_to_run:
        if child_facts and (py_db.pydb_disposed or time.monotonic() > deadline):
            break
        py_db.process_internal_commands()
        py_db._py_db_command_thread_event.clear()
        py_db._py_db_command_thread_event.wait(0.02)


def is_debugged() -> bool:
    py_db = pydevd_parts.pydevd.get_global_debugger()
    return py_db is not None and py_db.ready_to_run and not py_db.pydb_disposed


def rejoin_runner(renew: Callable[[], None]) -> None:
    """Give a forked child a new debugger and a new conversation, after `forked_children.let_go`."""
    global _generation, exit_code
    _generation, exit_code = _generation + 1, None
    with contextlib.suppress(BaseException):
        _connect_again(renew)
        if is_debugged():
            return
    forked_children.let_go()


def _connect_again(renew: Callable[[], None]) -> None:
    import pydevd
    from _pydevd_bundle import pydevd_constants, pydevd_custom_frames

    config = STATE.config
    assert config is not None
    global child_facts
    child_facts = {"fork": True}
    pydevd_constants.after_fork()
    renew()
    thread: Any = threading.current_thread()
    thread.additional_info = None
    setattr(thread, "__pydevd_main_thread", True)
    pydevd_custom_frames.custom_frames_container_init()
    _forget_thread_state(pydevd)
    setup = pydevd.SetupHolder.setup
    if setup is not None:
        setup[pydevd_constants.ARGUMENT_PPID] = os.getppid()
    nap, pydevd.time = pydevd.time, TimeWithoutSleep()
    hidden = {"dont_trace_start_patterns": (config["debugpy"],), "dont_trace_end_patterns": (LAUNCHER,)}
    options = {"suspend": False, "trace_only_current_thread": False, "overwrite_prev_trace": True, **hidden}
    try:
        runner_connection.instead_of_tcp(pydevd, config["way"])
        pydevd.settrace(host="127.0.0.1", port=0, patch_multiprocessing=False, notify_stdin=False, **options)
    finally:
        pydevd.time = nap
    say_goodbye_at_exit()


class TimeWithoutSleep:
    """The time module without sleep(): pydevd sleeps 0.1 s after connecting, for nothing."""

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        pass


def _forget_thread_state(pydevd: Any) -> None:
    from _pydevd_bundle.pydevd_constants import PYDEVD_USE_SYS_MONITORING
    from _pydevd_frame_eval.pydevd_frame_eval_main import clear_thread_local_info

    if clear_thread_local_info is not None:
        clear_thread_local_info()
    if PYDEVD_USE_SYS_MONITORING:
        pydevd.pydevd_sys_monitoring.reset_thread_local_info()


def say_goodbye_at_exit() -> None:
    """Have the last words said and written before os._exit, by which forked children of multiprocessing end."""
    leave: Any = os._exit
    if getattr(leave, "__module__", "") == __name__:
        return

    def _exit(status: int) -> None:
        global exit_code
        with contextlib.suppress(BaseException):
            exit_code = status
            recording.stop("exit")
            py_db = pydevd_parts.pydevd.get_global_debugger()
            if py_db is not None and child_facts:
                py_db.dispose_and_kill_all_pydevd_threads()
        leave(status)

    os._exit = hidden_from_debugger(_exit)
