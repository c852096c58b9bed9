"""Forks, busy threads, evaluations that overlap, attaching again: nothing hangs, nothing runs at the wrong stop."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from breadth import first_of, last_of
from relays import Api, ApiError, Session, busy_until, line_of, meanwhile, pythons, refusal, session_on
from targets import listening_with

PYTHONS = pythons("3.11", "3.13")
Write = Callable[..., Path]

FORKS = """
import multiprocessing
import os
import threading
import warnings

warnings.simplefilter("ignore")  # of forking with threads: the debugger has some


def square(number):
    return number * number  # @square


def noted(number):
    return number + 1  # @noted


def fork(work):
    pid = os.fork()
    if pid == 0:
        work()
    return os.waitpid(pid, 0)[1] >> 8


def fail():
    raise ValueError("in the child")


if __name__ == "__main__":
    print("failed with", fork(fail), flush=True)
    print("noted", fork(lambda: os._exit(noted(41))), flush=True)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, range(6)), flush=True)
    thread = threading.Thread(target=square, args=(3,))
    print(thread.name, flush=True)
    print(noted(1), flush=True)
    print(square(5), flush=True)
    os._exit(7)
"""

SLEEPER = """
import threading
import time

over = False
log = []


def nap():
    ready.set()
    time.sleep(600)


ready = threading.Event()
threading.Thread(target=nap, daemon=True, name="sleeper").start()
ready.wait()
for number in range(3):
    log.append(number)  # @stop
while not over:
    time.sleep(0.005)
print("done")
"""

LOOP = """
import time

log = []
for number in range(3):
    place = number  # @stop
print(log)
"""

CROWD = """
import threading

gate = threading.Barrier(12)
passed = []


def work(number):
    for _ in range(5):
        gate.wait()
        passed.append(number)  # @hit


threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(passed))
"""


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def python(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


any_python = session_on(first_of(PYTHONS))
"""For what is the same on all of them."""
newest = session_on(last_of(PYTHONS))


@pytest.fixture
def debugged(python: Path, api: Api) -> Iterator[Session]:
    with api.session(python_path=str(python)) as session:
        yield session


def thread_named(session: Session, name: str) -> int:
    return next(int(row["id"]) for row in session.get("/threads")["threads"] if row["name"] == name)


def paused_in(session: Session, path: Path, marker: str = "stop") -> None:
    session.break_at(path, marker)
    stop = session.launch(path)
    assert (stop["status"], stop["current_location"]["line"]) == ("paused", line_of(path, marker))


# Forks.


def test_forked_children_run_as_without_a_debugger(debugged: Session, python: Path, program: Write) -> None:
    """One dies of an exception, one passes a logpoint, a pool passes a breakpoint; only the parent ever stops."""
    path = program(FORKS)
    plain = subprocess.run([python, path], capture_output=True, text=True, timeout=30)
    assert (plain.returncode, plain.stderr.count("ValueError: in the child")) == (7, 1)
    debugged.break_at(path, "square")
    debugged.break_at(path, "noted", log_message="noted {number}")
    stop = debugged.launch(path)
    assert (stop["status"], stop.get("stop_reason")) == ("paused", "breakpoint")
    assert debugged.locals() == {"number": "5"}
    end = debugged.resume()
    assert (end["status"], end["exit_code"]) == ("terminated", 7)
    assert debugged.output("stdout") == plain.stdout
    assert debugged.output("stderr") == plain.stderr
    assert debugged.output("console") == "noted 1\n"
    assert [row["hit_count"] for row in debugged.get("/breakpoints")["breakpoints"]] == [1, 1]


def test_a_child_goes_on_while_its_parent_is_halted_and_no_threads_of_the_debugger_are_warned_of(
    newest: Session, program: Write
) -> None:
    path = program(
        """
        import os
        import time

        begun, ended = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.write(begun[1], b"1")
            for number in range(20):
                time.sleep(0.005)
                print("child", number)  # @child
            os._exit(0)
        os.read(begun[0], 1)
        print("parent")  # @parent
        os.wait()
        print("end")
        """
    )
    newest.break_at(path, "child", "parent")
    stop = newest.launch(path)
    assert stop["current_location"]["line"] == line_of(path, "parent")
    newest.wait_for_output("child 19")
    assert newest.get("/status")["status"] == "paused"
    assert newest.step("over")["stop_reason"] == "step"
    assert newest.resume()["exit_code"] == 0
    assert newest.output().splitlines()[-2:] == ["parent", "end"]
    assert newest.output("stderr") == "", "from 3.12 on Python warns of threads where it forks"


# Steps of a thread that cannot move.


@pytest.mark.parametrize("how", ["over", "into", "out"])
def test_a_step_of_a_thread_asleep_in_c_never_wedges_the_session(debugged: Session, how: str, program: Write) -> None:
    path = program(SLEEPER)
    paused_in(debugged, path)
    sleeper = thread_named(debugged, "sleeper")
    stop = debugged.step(how, thread_id=sleeper, wait=5)
    assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint"), "the main thread runs on to its next hit"
    debugged.delete("/breakpoints/bp_1")
    running = debugged.step(how, thread_id=sleeper, wait=0.2)
    assert (running["status"], running.get("timed_out")) == ("running", True)
    stop = debugged.post("/pause", {"wait": 5})
    assert (stop["status"], stop["stop_reason"]) == ("paused", "pause")
    main = thread_named(debugged, "MainThread")
    frame = len(debugged.get("/stacktrace", thread_id=main, levels=100)["frames"]) - 1
    assert debugged.evaluate("log", thread_id=main, frame_id=frame)["result"] == "[0, 1, 2]"
    debugged.evaluate("globals().update(over=True)", thread_id=main, frame_id=frame)
    assert debugged.resume()["exit_code"] == 0
    assert debugged.output() == "done\n"


def test_stepping_another_thread_out_tells_no_value_of_the_stopped_one(any_python: Session, program: Write) -> None:
    path = program(
        """
        import threading

        gate, over = threading.Barrier(2), threading.Event()


        def other():
            gate.wait()
            while not over.is_set():
                pass
            return "of the other"


        def mine():
            gate.wait()
            over.set()  # @stop
            return "of mine"


        def run(work):
            return work()


        thread = threading.Thread(target=run, args=(other,), name="other")
        thread.start()
        run(mine)
        thread.join()
        """
    )
    paused_in(any_python, path)
    stop = any_python.step("out", thread_id=thread_named(any_python, "other"), wait=10)
    assert "of mine" not in str(stop.get("return_value"))
    while stop["status"] == "paused":
        stop = any_python.resume()
    assert stop["exit_code"] == 0


def test_an_exception_whose_text_needs_a_lock_of_a_halted_thread_is_reported(
    any_python: Session, program: Write
) -> None:
    path = program(
        """
        import threading
        import time

        lock, ready = threading.Lock(), threading.Event()


        class Locked(Exception):
            def __str__(self):
                with lock:
                    return "text"


        def fail():
            ready.wait()
            raise Locked  # @raise


        thread = threading.Thread(target=fail)
        thread.start()
        with lock:
            ready.set()
            for _ in range(50):
                time.sleep(0.005)
        thread.join()
        print("end")
        """
    )
    stop = any_python.launch(path, wait=5)
    assert (stop["status"], stop.get("stop_reason")) == ("paused", "exception")
    assert stop["current_location"]["line"] == line_of(path, "raise")
    assert any_python.resume(wait=5).get("exit_code") == 0
    assert any_python.output() == "end\n"
    assert "Locked: text" in any_python.output("stderr")


# Evaluations.


def test_an_evaluate_that_was_given_up_never_runs_later(any_python: Session, program: Write) -> None:
    path = program(LOOP)
    paused_in(any_python, path)
    go = path.with_name("go")
    with meanwhile(any_python, lambda own: own.evaluate(busy_until(go), timeout=60)) as first:
        any_python.wait_for_output("begun")
        refusal(504, "DEBUGPY_TIMEOUT", any_python.evaluate, "log.append(number)", timeout=0.2)
        go.touch()
        assert first.result()["result"] == "(None, 'done')"
    assert any_python.resume()["current_location"]["line"] == line_of(path, "stop")
    assert any_python.evaluate("log, number")["result"] == "([], 1)"


def test_evaluates_in_the_queue_are_dropped_when_another_client_continues(any_python: Session, program: Write) -> None:
    path = program(LOOP)
    paused_in(any_python, path)
    for stops in range(1, 3):
        with ExitStack() as clients:
            go = path.with_name(f"go {stops}")
            busy = meanwhile(any_python, lambda own, go=go: own.evaluate(busy_until(go), timeout=60))
            calls = [clients.enter_context(busy)]
            any_python.wait_for_output("begun\n" * stops)
            queued = [meanwhile(any_python, lambda own: own.evaluate("log.append(number)")) for _ in range(6)]
            calls += [clients.enter_context(client) for client in queued]
            with pytest.raises(TimeoutError):
                calls[-1].result(timeout=0.2)
            resumed = clients.enter_context(meanwhile(any_python, lambda own: own.resume()))
            for call in calls:
                error = call.exception(timeout=20)
                assert isinstance(error, ApiError)
                assert (error.status, error.code) == (404, "FRAME_NOT_FOUND")
            go.touch()
            assert resumed.result(timeout=20)["current_location"]["line"] == line_of(path, "stop")
        assert any_python.evaluate("log, number")["result"] == f"([], {stops})"
    assert any_python.resume()["exit_code"] == 0
    assert any_python.output().splitlines()[-1] == "[]"


def test_an_evaluation_in_a_busy_thread_holds_up_nobody(any_python: Session, program: Write) -> None:
    path = program(SLEEPER)
    paused_in(any_python, path)
    sleeper = thread_named(any_python, "sleeper")
    stack = any_python.get("/stacktrace", thread_id=sleeper)["frames"]
    frame = next(row["id"] for row in stack if row["name"] == "nap")
    refusal(404, "FRAME_NOT_FOUND", any_python.evaluate, "1", thread_id=sleeper, frame_id=500)
    assert any_python.evaluate("1 + 1", thread_id=sleeper)["result"] == "2"
    go = path.with_name("go")
    where = {"thread_id": sleeper, "frame_id": frame, "timeout": 60}
    with meanwhile(any_python, lambda own: own.evaluate(busy_until(go), **where)) as call:
        any_python.wait_for_output("begun")
        (row,) = any_python.break_at(path, "stop", condition="number == 2")
        assert any_python.evaluate("number + 1")["result"] == "1"
        assert not call.done()
        assert row["verified"]
        go.touch()
        assert call.result()["result"] == "(None, 'done')"
    refusal(
        504, "DEBUGPY_TIMEOUT", any_python.evaluate, "time.sleep(60)", thread_id=sleeper, frame_id=frame, timeout=0.2
    )
    any_python.resume()
    assert any_python.evaluate("number")["result"] == "2"


# Attached programs.


@pytest.mark.parametrize("stops", [pytest.param(1, marks=pytest.mark.wide), 4])
def test_detaching_with_many_threads_at_breakpoints_lets_the_program_run_to_its_end(
    newest: Session, stops: int, program: Write, tmp_path: Path
) -> None:
    path = program(CROWD)
    newest.break_at(path, "hit")
    python = Path(newest.get()["config"]["python_path"])
    with listening_with(python, tmp_path / "path", path) as (process, port):
        stop = newest.post("/attach", {"port": port, "wait": 10})
        for _ in range(stops - 1):
            stop = newest.resume(wait=10)
        assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
        newest.delete()
        assert process.communicate(timeout=15)[0] == "60\n"
        assert process.returncode == 0
