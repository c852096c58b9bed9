"""A program is recorded as it runs: each call, with arguments, result or exception, in the order of what happened."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from recordings import RAISED, RETURNED, UNSEEN, read_recording, recording_folders, traced_run
from relays import ApiError, Relay, Session, line_of, pythons
from targets import attach, running
from waiting import wait_until

PROGRAM = """
    import asyncio, threading

    class Box:
        def __init__(self, size, password="hidden"):
            self.size = size

        def grow(self, by):
            self.size += by
            return self.size

    def evens(count):
        for each in range(count):
            yield each * 2

    def both(count):
        yield from evens(count)
        return "done"

    def divide(number):
        return 10 // number

    def careful(number):
        try:
            return divide(number)
        except ZeroDivisionError:
            return None

    async def inner(number):
        await asyncio.sleep(0)
        return number + 1

    async def work(number):
        await asyncio.sleep(0)
        return await inner(number)

    async def main():
        return await asyncio.gather(work(1), work(2))

    def total(factor):
        result = 0
        for each in range(3):
            result += each * factor
        return result

    def endless():
        while True:
            yield 1

    box = Box(3)
    box.grow(4)
    assert list(both(3)) == [0, 2, 4]
    started = endless()
    next(started)
    started.close()
    careful(0)
    careful(5)
    asyncio.run(main())
    worker = threading.Thread(target=total, args=(2,), name="worker")
    worker.start()
    worker.join()
    sorted([3, 1, 2], key=lambda value: -value)
    divide(0)
"""
VERSIONS = {name: path for each in ("3.8", "3.10", "3.11", "3.12", "3.13") for name, path in pythons(each).items()}
"""Those that differ in how calls are seen, or generators and coroutines suspended."""


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS.keys())
def test_calls_are_recorded_as_a_trace_function_tells_them(
    python: Path, session: Session, program: Callable[..., Path], relay: Relay, tmp_path: Path
) -> None:
    path = program(PROGRAM)
    session.launch(path, python_path=str(python), stop_on_exception=False, record={"lines": ["program.total"]})
    (folder,) = recording_folders(relay.data_dir, session.id)
    recording = read_recording(folder)
    traced = traced_run(python, path, tmp_path / "log.json")
    told = recording.log()
    for log in (traced, told):
        log[1][2][2] = "a secret"  # the password, which is masked
        log[:] = [each for each in log if each[:2] != ["end", "endless"]]  # closing it raises GeneratorExit inside
    assert told == traced
    assert recording.end is not None and recording.end["reason"] == "exit" and not recording.end["failures"]

    (init,) = recording.named("__init__")
    assert init[6][2] == ("‹masked›",)
    (last,) = [call for call in recording.named("divide") if call[2] == recording.named("<module>")[0][0]]
    assert last[9] == RAISED and last[10][:3] == ("X", "ZeroDivisionError", [last[10][2][0]])
    assert last[11]["locals"] == ["number", 0]
    caught = recording.named("careful")[0][11]["caught"]
    assert [error[1] for _, error in caught] == ["ZeroDivisionError"]
    (worker,) = recording.named("total")
    assert recording.lanes[worker[4]][1:] == ("thread", "worker")
    changed = [(line[3], line[4]) for line in recording.steps]
    first = path.read_text().splitlines().index("def total(factor):") + 1
    assert changed[:4] == [(first + 1, ["factor", 2]), (first + 2, ["result", 0]), (first + 3, ["each", 0]),
                           (first + 2, [])]  # fmt: skip
    assert ["result", 6] in [changes for _, changes in changed]
    assert [recording.lanes[call[4]][1] for call in recording.named("work")] == ["task", "task"]
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


STEPPED = """
    def is_small(number):
        return number < limit()

    def limit():
        return 2

    def part(number):
        if number == 1:  # @part
            raise ValueError(number)  # @raise
        return number

    def total(count):
        result = 0
        for each in range(count):  # @loop
            try:
                result += part(each)  # @add
            except ValueError:  # @caught
                result += 100
        return result

    total(3)
    total(3)
"""


@pytest.mark.parametrize("version", ["3.8", pytest.param("3.11", marks=pytest.mark.wide), "3.13"])
def test_stops_and_steps_change_nothing_of_what_is_recorded(
    version: str, session: Session, program: Callable[..., Path], relay: Relay, tmp_path: Path
) -> None:
    path, python = program(STEPPED), VERSIONS[version]
    session.break_at(path, "add", condition="is_small(each)")  # what a condition calls is not the program's doing
    stop = session.launch(path, python_path=str(python), stop_on_exception=False, record={"lines": ["total"]})
    for place, how in (("add", "over"), ("loop", ""), ("add", "into"), ("part", "over"), ("raise", "over")):
        assert stop["current_location"]["line"] == line_of(path, place)
        stop = session.step(how) if how else session.resume()
    while stop["status"] == "paused":
        stop = session.resume()
    (folder,) = recording_folders(relay.data_dir, session.id)
    recording = read_recording(folder)
    assert recording.log() == traced_run(python, path, tmp_path / "log.json")
    for call in recording.named("total"):
        lines = [step[3] - line_of(path, "loop") for step in recording.steps if step[2] == call[0] and step[0] == "L"]
        assert lines == [-1, 0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 0, 5]
        assert [error[1] for _, error in call[11]["caught"]] == ["ValueError"]


LOOPING = """
    import threading

    def inner(number):
        return number + 1

    def outer(number):
        return inner(number)  # @here

    go_on = threading.Event()

    def loop():
        count = 0
        while not go_on.wait(0.01):
            count = outer(count)

    other = threading.Thread(target=loop, name="other", daemon=True)
    other.start()
    number = 0
    while number < 10**9:
        number = outer(number)
"""


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_recording_begins_and_ends_at_any_time_in_every_thread(
    version: str, session: Session, program: Callable[..., Path], relay: Relay
) -> None:
    path = program(LOOPING)
    session.launch(path, python_path=str(VERSIONS[version]), wait=False)
    assert session.get("/record") == {"recording": False, "message": "Nothing is recorded"}
    assert session.post("/record", {"limit_mb": 1})["recording"] is True
    names = {thread["name"] for thread in session.get("/threads")["threads"]}
    assert not any("Dummy" in name for name in names), "what writes the recording is no thread of the program"
    wait_until(lambda: session.get("/record")["dropped_calls"] > 0)
    session.break_at(path, "here")
    wait_until(lambda: session.get("/status")["status"] == "paused")
    ended = session.post("/record", {"enabled": False})
    assert ended["recording"] is False and ended["bytes"] < 1 << 20
    (folder,) = recording_folders(relay.data_dir, session.id)
    recording = read_recording(folder)
    assert {recording.lanes[call[4]][2] for call in recording.named("inner")} >= {"MainThread"}
    assert recording.end is not None and recording.end["reason"] == "stopped"
    assert all(call[10] == call[6][0] + 1 for call in recording.named("inner") if call[9] == 1)
    with pytest.raises(ApiError) as refused:
        session.post("/record", {"limit_mb": 0})
    assert refused.value.code == "INVALID_REQUEST"


PASSED_ON = """
    import asyncio, contextlib

    def fail():
        raise KeyError("gone")

    def other_except():
        try:
            fail()  # @other
        except ValueError:
            pass

    def only_finally():
        try:
            fail()
        finally:
            cleaned = 1

    def only_with():
        with contextlib.nullcontext():
            fail()

    def raised_again():
        try:
            fail()
        except KeyError:
            raise

    def raised_by_name():
        try:
            fail()
        except KeyError as error:
            raise error

    class Raising:
        def __enter__(self):
            pass

        def __exit__(self, kind, error, traceback):
            raise error

    def raised_by_exit():
        with Raising():
            fail()

    def cleans_up():
        try:
            fail()
        finally:
            try:
                int("x")
            except ValueError:
                pass

    def generator():
        yield 1
        fail()

    def closed():
        for text in "xy":
            try:
                int(text)
            except ValueError:
                pass
        try:
            yield 1
        finally:
            cleaned = 1

    async def coroutine():
        await asyncio.sleep(0)
        fail()

    def outer_except():
        try:
            try:
                fail()  # @outer
            finally:
                cleaned = 1
        except KeyError:
            pass

    def some_of_many():
        for number in range(8):
            try:
                fail()
            except KeyError:
                if number == 7:
                    raise

    for each in (other_except, only_finally, only_with, raised_again, raised_by_name, raised_by_exit, cleans_up,
                 some_of_many):
        with contextlib.suppress(KeyError):
            each()
    with contextlib.suppress(KeyError):
        list(generator())
    for _ in closed():
        break
    with contextlib.suppress(KeyError):
        asyncio.run(coroutine())
    outer_except()
"""


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.12", "3.13"])
def test_an_exception_that_leaves_a_call_was_not_caught_there(
    version: str, session: Session, program: Callable[..., Path], relay: Relay
) -> None:
    path = program(PASSED_ON)
    session.launch(path, python_path=str(VERSIONS[version]), record=True)
    (folder,) = recording_folders(relay.data_dir, session.id)
    recording = read_recording(folder)

    def caught_by(name: str) -> list[str]:
        (call,) = recording.named(name)
        return [error[1] for _, error in (call[11] or {}).get("caught", ())]

    for name in ("other_except", "only_finally", "only_with", "raised_again", "generator", "coroutine"):
        assert not caught_by(name), name
    assert caught_by("closed") == ["ValueError"] * 2
    if version in ("3.12", "3.13"):  # before, nobody tells that an exception goes on after others
        assert not caught_by("raised_by_name") and not caught_by("raised_by_exit")
        assert caught_by("cleans_up") == ["ValueError"]
    assert caught_by("outer_except") == ["KeyError"]
    assert caught_by("some_of_many")[:5] == ["KeyError"] * 5
    assert recording.named("other_except")[0][11]["line"] == line_of(path, "other"), "and not that of except"
    assert recording.named("outer_except")[0][11]["caught"][0][0] == line_of(path, "outer")


BUSY = """
    import time

    def often(number):
        return number + 1

    def numbers(kind):
        for number in range(10_000):
            try:
                yield number
            except ValueError:
                pass

    def refuse(number):
        raise ValueError(number)

    def seldom(number):
        return often(number)

    def main():
        kept = numbers("kept")
        next(kept)
        rounds = 0
        while time.process_time() < 2:
            for number in range(1000):
                often(number)
                next(numbers("dropped"))
            for number in range(100):
                try:
                    refuse(number)
                except ValueError:
                    pass
            seldom(rounds)
            kept.throw(ValueError()) if rounds % 2 else next(kept)
            rounds += 1
        kept.close()
        return rounds

    main()
"""


@pytest.mark.parametrize("version", ["3.8", pytest.param("3.10", marks=pytest.mark.wide), "3.11", "3.12"])
def test_functions_that_are_called_too_often_rest_and_all_others_are_recorded(
    version: str, session: Session, program: Callable[..., Path], relay: Relay
) -> None:
    session.launch(program(BUSY), python_path=str(VERSIONS[version]), record=True)
    (folder,) = recording_folders(relay.data_dir, session.id)
    recording = read_recording(folder)
    assert recording.end is not None and not recording.end["failures"]
    rested = {recording.names[number].split(".")[-1]: rests for number, rests in recording.end["rested"]}
    assert {"often", "refuse"} <= set(rested) <= {"often", "numbers", "refuse"}
    (main,) = recording.named("main")
    rounds = main[10]
    seldom, often = recording.named("seldom"), recording.named("often")
    assert [call[6] for call in seldom] == [[number] for number in range(rounds)]
    assert all(call[2] == main[0] and call[9] == RETURNED and call[10] == call[6][0] + 1 for call in seldom)
    assert 1000 < len(often) < rounds * 1001
    assert all(call[10] == call[6][0] + 1 for call in often if call[9] == RETURNED)
    assert [call[6] for call in recording.named("numbers")].count(["kept"]) == 1, "one that goes on has not begun"
    raised = recording.named("refuse")
    assert 20 < len(raised) < rounds * 100 and {call[9] for call in raised} <= {RAISED, UNSEEN}
    unseen = sum("late" in (call[11] or {}) for call in raised)
    in_each = 21 if version == "3.12" else 0  # the first ones, and perhaps one that began before it woke
    assert bool(in_each) == bool(unseen) and unseen <= in_each * rested["refuse"]


FORKING = """
    import os, sys

    def child(number):
        return number * 2

    def parent(number):
        return number

    parent(1)
    pid = os.fork()
    if pid == 0:
        child(2)
        os._exit(child(0))
    os.waitpid(pid, 0)
    parent(3)
    os._exit(0)
"""


def test_a_forked_child_that_is_debugged_has_a_recording_of_its_own(
    session: Session, program: Callable[..., Path], relay: Relay
) -> None:
    session.launch(program(FORKING), record=True, debug_subprocesses=True)
    found = [read_recording(folder) for folder in recording_folders(relay.data_dir, session.id)]
    (own,) = [each for each in found if each.named("parent") and not each.named("child")]
    (of_child,) = [each for each in found if each.named("child")]
    assert [call[6] for call in own.named("parent")] == [[1], [3]]
    assert [call[6] for call in of_child.named("child")] == [[2], [0]] and not of_child.named("parent")
    assert own.end is not None and of_child.end is not None and of_child.header["ppid"] == own.header["pid"]


KILLED = """
    import os, signal, sys

    def deepest(number):
        print("ready", flush=True)
        sys.stdin.readline()
        os.kill(os.getpid(), signal.SIGKILL)

    def middle(number):
        return deepest(number + 1)

    middle(1)
"""


def test_a_recording_survives_a_program_that_is_killed_and_has_the_calls_in_which_it_was(
    session: Session, program: Callable[..., Path], relay: Relay
) -> None:
    session.launch(program(KILLED), record=True, wait=False)
    wait_until(lambda: "ready" in session.output())
    (folder,) = recording_folders(relay.data_dir, session.id)
    wait_until(lambda: any(folder.glob("0*.ocr")))  # what is open is written, too
    session.post("/stdin", {"input": "go\n"})
    wait_until(lambda: session.get("/status")["status"] == "terminated")
    recording = read_recording(folder)
    assert recording.end is None
    assert [(recording.names[call[1]], call[6], call[9]) for call in recording.calls] == [
        ("<module>", [], 0), ("middle", [1], 0), ("deepest", [2], 0),
    ]  # fmt: skip
    assert session.get("/record") == {
        "recording": False, "message": "The program has ended; what was recorded of it can be asked",
        "recordings": [folder.name],
    }  # fmt: skip


ASKED = """
    import sys

    def answer(question):
        return question.upper()

    print("ready")
    for question in sys.stdin:
        print(answer(question.strip()))
"""


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_a_program_that_was_attached_to_is_recorded_until_it_is_let_go(
    version: str, session: Session, program: Callable[..., Path], relay: Relay
) -> None:
    with running(program(ASKED), python=VERSIONS[version]) as target:
        attach(session, target, record=True)
        target.tell("one")
        assert target.says() == "ONE"
        session.post("/detach")
        target.tell("two")
        assert target.says() == "TWO"
        (folder,) = recording_folders(relay.data_dir, session.id)
        recording = read_recording(folder)
        assert [(call[6], call[10]) for call in recording.named("answer")] == [(["one"], "ONE")]
        assert recording.end is not None and recording.end["reason"] == "stopped"
