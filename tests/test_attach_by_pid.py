"""Attaching to running programs by process id: any Python, whatever it does at the moment, and never any harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from relays import Api, Relay, Session, line_of, pythons, refusal
from targets import Target, listening, running, stopped, wait_until

Write = Callable[..., Path]
PYTHONS = pythons("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")

ASKED = """
    import sys

    def answer(question):
        return question.upper()  # @here

    print("ready")
    for question in sys.stdin:
        print(answer(question.strip()))
    print("end")
"""
SLEEPING = """
    import os, sys, time

    print("ready")
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
        rounds = 1  # @here
    print("slept")
"""
BUSY = """
    import os, sys

    def spin():
        rounds = 0
        while rounds % 100 or not os.path.exists(sys.argv[1]):
            rounds += len([str(number) for number in range(101)])
            last = rounds  # @here

    print("ready")
    spin()
    print("spun")
"""
THREADS = """
    import os, queue, sys, threading, time

    done = queue.Queue()
    over = threading.Event()

    def compute(name):
        total = 0
        while not over.is_set():
            total += sum(range(50))  # @here
        done.put(name)

    def wait(name):
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        over.set()
        done.put(name)

    threads = [threading.Thread(target=work, args=(i,)) for i, work in enumerate((compute, wait, compute, wait))]
    for thread in threads:
        thread.start()
    print("ready")
    for thread in threads:
        thread.join()
    print(sorted(done.queue))
"""


@pytest.mark.parametrize("version", PYTHONS)
def test_a_program_that_waits_for_input_is_debugged_and_let_go(api: Api, version: str, program: Write) -> None:
    script = program(ASKED)
    with running(script, python=PYTHONS[version]) as target, api.session() as session:
        attached = session.post("/attach", {"pid": target.pid})
        assert (attached["attached"], attached["status"], attached["pid"]) == (True, "running", target.pid)
        assert attached["program"]["command"].endswith(str(script))
        assert attached["program"]["python_version"] == version
        session.break_at(script, "here")
        target.tell("first")
        stop = stopped(session)
        assert (stop["stop_reason"], stop["current_location"]["line"]) == ("breakpoint", line_of(script, "here"))
        assert session.locals() == {"question": "'first'"}
        session.evaluate("question = 'changed'")
        answer = session.post("/detach")
        assert (answer["detached"], answer["status"], answer["reason"]) == (True, "terminated", "detached")
        assert answer["pid"] == target.pid
        assert target.says() == "CHANGED"
        target.tell("second")
        assert target.says() == "SECOND"
        assert target.finish() == (0, "end\n", "")


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("kind", ["sleeping", "busy", "threads"])
def test_attached_to_again_and_again_a_program_ends_as_it_would_have(
    api: Api, version: str, kind: str, program: Write, tmp_path: Path
) -> None:
    text, end = {"sleeping": (SLEEPING, "slept\n"), "busy": (BUSY, "spun\n"), "threads": (THREADS, "[0, 1, 2, 3]\n")}[kind]
    script = program(text)
    with running(script, str(tmp_path / "over"), python=PYTHONS[version]) as target:
        for _ in range(2):
            with api.session() as session:
                session.break_at(script, "here")
                stop = session.post("/attach", {"pid": target.pid, "wait": 10})
                assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
                assert session.post("/detach")["detached"] is True
        (tmp_path / "over").touch()
        assert target.finish() == (0, end, "")
