"""The end of a program, when threads of its debugger come to it at the wrong moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relays import Session

ENDING = """
    import os, threading, time
    import pydevd, pydevd_tracing

    debugger = pydevd.get_global_debugger()
    sleep, trace = time.sleep, pydevd_tracing.set_trace_to_threads

    def sleep_until_others_were_here(seconds):
        # pydevd's last thread sleeps: meanwhile the one that carries out commands finds that the program ends.
        for _ in range(50):
            debugger._py_db_command_thread_event.set()
            sleep(0.01)

    def trace_and_tell(*args, **options):
        # It starts a thread, for which the interpreter must be there.
        os.write(1, b"in a thread that is %swaited for\\n" % (b"not " if threading.current_thread().daemon else b""))
        return trace(*args, **options)

    time.sleep, pydevd_tracing.set_trace_to_threads = sleep_until_others_were_here, trace_and_tell
"""


def test_no_thread_is_started_by_one_that_the_interpreter_does_not_wait_for(
    session: Session, program: Callable[..., Path]
) -> None:
    end = session.launch(program(ENDING))
    assert end["exit_code"] == 0
    assert "waited for" in session.output()
    assert "not waited for" not in session.output()
