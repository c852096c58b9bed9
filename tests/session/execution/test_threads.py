"""Ten threads at once: every hit is seen and counted, whoever steps and however soon one continues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from breadth import each_of, first_of
from relays import ApiError, Session, line_of, pythons, refusal, session_on
from waiting import wait_until

PYTHONS = pythons("3.11", "3.13")
THREADS, ROUNDS = 10, 24

CROWD = f"""
import threading

totals = {{}}


def work(name):
    total = 0
    for number in range({ROUNDS}):
        total += number  # @hit
        if number % 8 == 0:
            total += 0  # @eighth
        number  # @log
    totals[name] = total


threads = [threading.Thread(target=work, args=(n,), name=f"worker-{{n}}") for n in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(totals.values()))
"""
TOTAL = f"{THREADS * sum(range(ROUNDS))}\n"

GATHERED = """
import threading

gate = threading.Barrier(4)
over = threading.Event()


def wait_here(name):
    gate.wait()
    over.wait()


def lead():
    here = "leader"
    gate.wait()
    return here  # @stop


threads = [threading.Thread(target=wait_here, args=(n,), name=f"waiter-{n}") for n in range(3)]
leader = threading.Thread(target=lead, name="leader")
for thread in [*threads, leader]:
    thread.start()
leader.join()
over.set()
for thread in threads:
    thread.join()
print("done")
"""


crowd = session_on(each_of(PYTHONS))
any_python = session_on(first_of(PYTHONS))
"""For what is the same on all of them."""


def counts(session: Session) -> list[int]:
    return [row["hit_count"] for row in session.get("/breakpoints")["breakpoints"]]


def test_hundreds_of_stops_in_ten_threads_are_all_seen(any_python: Session, program: Callable[..., Path]) -> None:
    path = program(CROWD)
    any_python.break_at(path, "hit")
    stop = any_python.launch(path, fields=["breakpoints"])
    seen: Counter[int] = Counter()
    while stop["status"] == "paused":
        assert stop["hit_breakpoint_ids"] == ["bp_1"]
        assert stop["current_location"]["line"] == line_of(path, "hit")
        seen[stop["thread_id"]] += 1
        assert seen.total() <= THREADS * ROUNDS
        stop = any_python.resume(wait=True, fields=["breakpoints"])
    assert (stop["status"], stop["exit_code"]) == ("terminated", 0)
    assert sorted(seen.values()) == [ROUNDS] * THREADS
    assert counts(any_python) == [THREADS * ROUNDS]
    assert len(any_python.events("stopped")) == THREADS * ROUNDS
    assert len(any_python.events("continued")) == THREADS * ROUNDS
    assert any_python.output() == TOTAL


def test_two_breakpoints_in_ten_threads_each_count_their_own(crowd: Session, program: Callable[..., Path]) -> None:
    """And a logpoint, which loses no line."""
    path = program(CROWD)
    crowd.break_at(path, "hit", condition="number == 5")
    crowd.break_at(path, "eighth")
    crowd.break_at(path, "log", log_message="{name}:{number}")
    stop = crowd.launch(path, fields=["breakpoints"])
    seen: Counter[str] = Counter()
    while stop["status"] == "paused":
        seen.update(stop["hit_breakpoint_ids"])
        assert seen.total() <= THREADS * ROUNDS
        stop = crowd.resume(wait=True, fields=["breakpoints"])
    assert seen == {"bp_1": THREADS, "bp_2": THREADS * ROUNDS // 8}
    assert counts(crowd) == [THREADS, THREADS * ROUNDS // 8, THREADS * ROUNDS]
    logged = crowd.output("console").splitlines()
    assert sorted(logged) == sorted(f"{name}:{number}" for name in range(THREADS) for number in range(ROUNDS))
    assert crowd.output() == TOTAL


def test_hit_conditions_count_the_hits_of_all_threads_together(
    any_python: Session, program: Callable[..., Path]
) -> None:
    path = program(CROWD)
    any_python.break_at(path, "hit", hit_condition="%40")
    any_python.break_at(path, "eighth", condition="number == 16", hit_condition=">=9")
    stop = any_python.launch(path, fields=["breakpoints"])
    seen: Counter[str] = Counter()
    while stop["status"] == "paused":
        seen.update(stop["hit_breakpoint_ids"])
        assert seen.total() <= THREADS * ROUNDS
        stop = any_python.resume(wait=True, fields=["breakpoints"])
    assert seen == {"bp_1": THREADS * ROUNDS // 40, "bp_2": 2}
    assert counts(any_python) == [THREADS * ROUNDS, THREADS]
    assert any_python.output() == TOTAL


def test_stepping_in_one_thread_loses_no_stop_of_the_others(crowd: Session, program: Callable[..., Path]) -> None:
    """Each stop is stepped once and continued once; a hit elsewhere may come in between, as a stop of its own."""
    path = program(CROWD.replace("print(", "work('alone')  # whose steps none comes in between\nprint("))
    crowd.break_at(path, "eighth")
    stop = crowd.launch(path, fields=["breakpoints"])
    hits: Counter[int] = Counter()
    steps = 0
    while stop["status"] == "paused":
        if stop["stop_reason"] == "breakpoint":
            hits[stop["thread_id"]] += 1
            thread = stop["thread_id"]
            stop = crowd.step("over", fields=["breakpoints"])
            if stop["status"] == "paused" and stop["stop_reason"] == "step":
                assert stop["thread_id"] == thread
                steps += 1
        else:
            stop = crowd.resume(wait=True, fields=["breakpoints"])
        assert hits.total() <= (THREADS + 1) * ROUNDS
    assert sorted(hits.values()) == [ROUNDS // 8] * (THREADS + 1)
    assert steps >= ROUNDS // 8
    assert counts(crowd) == [(THREADS + 1) * ROUNDS // 8]
    assert (stop["exit_code"], crowd.output()) == (0, f"{(THREADS + 1) * sum(range(ROUNDS))}\n")


AT_ONCE = """
import threading

go = threading.Event()


def has_halted(thread):
    go.set()
    while thread.additional_info.pydev_state != 2:  # as the debugger notes it
        pass
    return True


def hit():
    go.wait()
    value = 1  # @hit
    return value  # @next


main = threading.main_thread()
thread = threading.Thread(target=hit)
thread.start()
here = 1  # @main
here = 2  # @then
thread.join()
"""


def test_a_step_that_the_stop_of_another_thread_has_ended_is_no_stop_of_its_own(
    crowd: Session, program: Callable[..., Path]
) -> None:
    path = program(AT_ONCE)
    crowd.break_at(path, "main")
    crowd.break_at(path, "hit")
    crowd.launch(path)
    stop = crowd.post("/step-until", {"expression": "has_halted(thread)"})
    assert (stop["stop_reason"], stop["current_location"]["line"]) == ("breakpoint", line_of(path, "hit"))
    step = crowd.step("over")
    assert (step["stop_reason"], step["thread_id"]) == ("step", stop["thread_id"])
    assert step["current_location"]["line"] == line_of(path, "next")
    assert crowd.resume()["exit_code"] == 0
    assert [event["body"]["reason"] for event in crowd.events("stopped")] == ["breakpoint", "breakpoint", "step"]


def test_a_thread_that_is_let_go_alone_does_not_leave_a_stop_that_nobody_was_told_of(
    crowd: Session, program: Callable[..., Path]
) -> None:
    path = program(AT_ONCE.replace("here = 1", "go.set()\nhere = 1"))
    crowd.break_at(path, "main")
    crowd.break_at(path, "hit", condition="has_halted(main)")
    first = crowd.launch(path)
    wait_until(lambda: len(crowd.get("/status")["stopped_threads"]) == 2)
    (other,) = {row["thread_id"] for row in crowd.get("/status")["stopped_threads"]} - {first["thread_id"]}
    places = {line_of(path, "main"): line_of(path, "then"), line_of(path, "hit"): line_of(path, "next")}
    del places[first["current_location"]["line"]]
    ((place, behind),) = places.items()
    stop = crowd.resume(thread_id=other)
    assert (stop["stop_reason"], stop["thread_id"], stop["current_location"]["line"]) == ("breakpoint", other, place)
    step = crowd.step("over", thread_id=other, single_thread=True)
    assert (step["thread_id"], step["current_location"]["line"]) == (other, behind)
    assert crowd.resume()["exit_code"] == 0
    assert [event["body"]["reason"] for event in crowd.events("stopped")] == ["breakpoint", "breakpoint", "step"]


def test_every_thread_is_listed_and_can_be_looked_at(any_python: Session, program: Callable[..., Path]) -> None:
    path = program(GATHERED)
    any_python.break_at(path, "stop")
    stop = any_python.launch(path)
    status = any_python.get("/status")
    names = {"MainThread", "leader", "waiter-0", "waiter-1", "waiter-2"}
    assert {thread["name"] for thread in status["all_threads"]} == names
    assert {thread["status"] for thread in status["all_threads"]} == {"paused"}
    (stopped,) = status["stopped_threads"]
    assert (stopped["thread_id"], stopped["name"]) == (stop["thread_id"], "leader")
    assert (stopped["breakpoint_id"], stopped["location"]["line"]) == ("bp_1", line_of(path, "stop"))
    listed = any_python.get("/threads")
    assert listed["stopped_thread_id"] == stop["thread_id"]
    ids = {thread["name"]: thread["id"] for thread in listed["threads"]}
    assert set(ids) == names
    assert [thread["name"] for thread in listed["threads"] if thread["is_current"]] == ["leader"]
    stack = any_python.get(f"/threads/{ids['waiter-1']}/stacktrace", levels=100)
    functions = [frame["name"] for frame in stack["frames"]]
    assert "wait_here" in functions
    frame = functions.index("wait_here")
    values = any_python.get(f"/frames/{frame}/variables", thread_id=ids["waiter-1"])["variables"]
    assert [(row["name"], row["value"]) for row in values] == [("name", "1")]
    answer = any_python.evaluate("name + 100", frame_id=frame, thread_id=ids["waiter-1"])
    assert answer["result"] == "101"
    main = any_python.get("/stacktrace", thread_id=ids["MainThread"], levels=100)
    assert main["frames"][-1]["name"] == "<module>"
    assert any_python.locals() == {"here": "'leader'"}
    calls: list[Callable[[], object]] = [
        lambda: any_python.get("/stacktrace", thread_id=987654),
        lambda: any_python.get("/threads/987654/stacktrace"),
        lambda: any_python.get("/scopes", thread_id=987654),
        lambda: any_python.get("/frames/0/variables", thread_id=987654),
        lambda: any_python.evaluate("1", thread_id=987654),
        lambda: any_python.resume(thread_id=987654),
        lambda: any_python.post("/threads/987654/continue"),
        lambda: any_python.step("over", thread_id=987654),
    ]
    for call in calls:
        refusal(404, "THREAD_NOT_FOUND", call)
    assert any_python.get("/status")["status"] == "paused"
    assert any_python.resume()["exit_code"] == 0
    assert any_python.output() == "done\n"


BUSY = """
    import threading
    import time

    class Slow:
        def __repr__(self):
            time.sleep(30)

    def work(number):
        data, slow = [1, {"a": number}], Slow()
        ready.release()
        time.sleep(60)

    ready = threading.Semaphore(0)
    threading.Thread(target=work, args=(7,), daemon=True, name="busy").start()
    ready.acquire()
    print("done")  # @stop
"""


def test_a_thread_that_is_busy_in_a_call_can_be_looked_into(any_python: Session, program: Callable[..., Path]) -> None:
    path = program(BUSY)
    any_python.break_at(path, "stop")
    any_python.launch(path)
    busy = next(thread["id"] for thread in any_python.get("/threads")["threads"] if thread["name"] == "busy")
    stack = any_python.get("/stacktrace", thread_id=busy)["frames"]
    frame = next(row["id"] for row in stack if row["name"] == "work")
    rows = {row["name"]: row for row in any_python.get(f"/frames/{frame}/variables", thread_id=busy)["variables"]}
    assert (rows["number"]["value"], rows["data"]["value"]) == ("7", "[1, {'a': 7}]")
    assert rows["slow"]["value"].startswith("<Slow object at ")
    items = any_python.get("/variables", variables_reference=rows["data"]["variables_reference"])["variables"]
    assert [row["value"] for row in items] == ["1", "{'a': 7}"]
    assert any_python.evaluate("number + 1", thread_id=busy, frame_id=frame)["result"] == "8"
    with pytest.raises(ApiError) as caught:
        any_python.evaluate("[0 for _ in iter(int, 1)]", thread_id=busy, frame_id=frame, timeout=0.2)
    assert caught.value.code == "DEBUGPY_TIMEOUT"
    assert any_python.resume()["exit_code"] == 0


def test_pause_stops_every_thread_of_a_running_program(crowd: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        import threading
        import time

        ticks = [0, 0, 0]
        over = False


        def tick(place):
            while not over:
                ticks[place] += 1
                time.sleep(0.001)


        for place in range(3):
            threading.Thread(target=tick, args=(place,), name=f"tick-{place}").start()
        while not all(ticks):
            time.sleep(0.001)
        print("ticking")
        while not over:
            time.sleep(0.001)
        print("over")
        """
    )
    assert crowd.launch(path, wait=False)["status"] == "running"
    crowd.wait_for_output("ticking")
    with pytest.raises(ApiError) as caught:
        crowd.post("/pause", {"thread_id": 987654})
    assert caught.value.code == "THREAD_NOT_FOUND"
    stop = crowd.post("/pause", {"wait": True})
    assert (stop["status"], stop["stop_reason"]) == ("paused", "pause")
    names = {thread["name"] for thread in crowd.get("/status")["all_threads"]}
    assert names == {"MainThread", "tick-0", "tick-1", "tick-2"}
    main = next(thread["id"] for thread in crowd.get("/threads")["threads"] if thread["name"] == "MainThread")
    frames = crowd.get("/stacktrace", thread_id=main)["frames"]
    before = crowd.evaluate("list(ticks)", frame_id=len(frames) - 1, thread_id=main)["result"]
    assert crowd.evaluate("list(ticks)", frame_id=len(frames) - 1, thread_id=main)["result"] == before
    crowd.evaluate("globals().update(over=True)", frame_id=len(frames) - 1, thread_id=main)
    assert crowd.resume()["exit_code"] == 0
    assert crowd.output() == "ticking\nover\n"
