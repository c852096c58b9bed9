"""Threads stopped, looked at and let go one by one, in programs that stop together and in those that do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from breadth import each_of, first_of, last_of
from relays import Api, Session, line_of, meanwhile, pythons, refusal, session_on
from targets import listening_with
from waiting import wait_until

PYTHONS = pythons("3.8", "3.11", "3.12", "3.13")
NEWEST = pythons("3.11", "3.13")
SCOPES = ("all", "thread")
Write = Callable[..., Path]

MEETING = """
import threading
import time

present, over = [], threading.Event()


def meet():
    present.append(1)
    while len(present) < 3:  # without a lock, which a halted thread might have
        time.sleep(0.001)


def work():
    meet()
    mine = ["of the worker"]
    for number in range(2):
        mine.append(number)  # @worker
    return mine


def rest():
    meet()
    over.wait()


threads = [threading.Thread(target=work, name="Worker-1"), threading.Thread(target=rest, name="Worker-2")]
for thread in threads:
    thread.start()
meet()
mains = {"of": "main"}  # @main
over.set()  # @after
for thread in threads:
    thread.join()
print("done")
"""

TICKING = """
import threading
import time

ticks, over = {}, False


def tick(name):
    ticks[name] = 0
    while not over:
        ticks[name] += 1
        time.sleep(0.002)


threads = [threading.Thread(target=tick, args=(n,), name=f"tick-{n}") for n in range(2)]
for thread in threads:
    thread.start()
while len(ticks) < 2:
    time.sleep(0.001)
print("ticking")
here = 1  # @stop
for thread in threads:
    thread.join()
print("over")
"""

THREADS, ROUNDS, FEW = 8, 10, 4
CROWD = f"""
import threading

gate = threading.Barrier({THREADS})
totals = []


def work():
    total = 0
    for number in range({ROUNDS}):
        gate.wait()
        total += number  # @hit
    totals.append(total)


threads = [threading.Thread(target=work) for _ in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(totals))
"""
TOTAL = f"{THREADS * sum(range(ROUNDS))}\n"


anywhere = session_on(each_of(PYTHONS))
debugged = session_on(each_of(NEWEST))
any_python = session_on(first_of(NEWEST))
"""For what is the same on all of them."""
newest = session_on(last_of(NEWEST))


def ids(session: Session) -> dict[str, int]:
    return {row["name"]: row["id"] for row in session.get("/threads")["threads"]}


def states(session: Session) -> dict[str, str]:
    return {row["name"]: row["status"] for row in session.get("/status")["all_threads"]}


def finish(session: Session) -> None:
    stop = session.resume(fields=["location"])
    while stop["status"] == "paused":
        stop = session.resume(fields=["location"])
    assert (stop["status"], stop["exit_code"]) == ("terminated", 0)


# Breakpoints in several threads at once.


@pytest.mark.parametrize("scope", SCOPES)
def test_breakpoints_hit_in_several_threads_at_once_are_all_listed(
    anywhere: Session, program: Write, scope: str
) -> None:
    path = program(MEETING)
    anywhere.break_at(path, "main", "worker")
    stop = anywhere.launch(path, stop_scope=scope)
    known = ids(anywhere)
    if scope == "all":
        # Which comes first is up to the program; the other is led to its breakpoint by itself.
        other = known["Worker-1" if stop["thread_id"] == known["MainThread"] else "MainThread"]
        if len(anywhere.get("/status")["stopped_threads"]) == 1:
            assert anywhere.resume(thread_id=other)["thread_id"] == other
    else:
        wait_until(lambda: len(anywhere.get("/status")["stopped_threads"]) == 2)
    status = anywhere.get("/status")
    assert (status["status"], status["reason"]) == ("paused", "breakpoint")
    stopped = {row["name"]: row for row in status["stopped_threads"]}
    assert set(stopped) == {"MainThread", "Worker-1"}
    for name, bp, marker in (("MainThread", "bp_1", "main"), ("Worker-1", "bp_2", "worker")):
        row = stopped[name]
        assert (row["thread_id"], row["breakpoint_id"], row["reason"]) == (known[name], bp, "breakpoint")
        assert (row["location"]["path"], row["location"]["line"]) == (str(path), line_of(path, marker))
    resting = "paused" if scope == "all" else "running"
    assert states(anywhere) == {"MainThread": "paused", "Worker-1": "paused", "Worker-2": resting}
    places = {row["name"]: row.get("location") for row in status["all_threads"]}
    assert places["Worker-1"]["line"] == line_of(path, "worker")
    assert (places["Worker-2"] is None) == (scope == "thread")
    for name, expected in (("MainThread", "main"), ("Worker-1", "worker")):
        frames = anywhere.get(f"/threads/{known[name]}/stacktrace")["frames"]
        assert frames[0]["line"] == line_of(path, expected)
    assert anywhere.evaluate("mine[0]", thread_id=known["Worker-1"])["result"] == "'of the worker'"
    finish(anywhere)
    assert [row["hit_count"] for row in anywhere.get("/breakpoints")["breakpoints"]] == [1, 2]
    assert anywhere.output() == "done\n"


@pytest.mark.parametrize("scope", SCOPES)
def test_no_stop_of_many_threads_is_lost_when_all_are_continued_at_once(
    anywhere: Session, program: Write, scope: str
) -> None:
    path = program(CROWD)
    anywhere.break_at(path, "hit")
    stop = anywhere.launch(path, stop_scope=scope, fields=["breakpoints"])
    seen: Counter[int] = Counter()
    while stop["status"] == "paused":
        assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_1"], line_of(path, "hit"))
        seen[stop["thread_id"]] += 1
        assert seen.total() <= THREADS * ROUNDS
        stop = anywhere.resume(wait=True, fields=["breakpoints"])
    assert (stop["status"], stop["exit_code"]) == ("terminated", 0)
    assert sorted(seen.values()) == [ROUNDS] * THREADS
    assert [row["hit_count"] for row in anywhere.get("/breakpoints")["breakpoints"]] == [THREADS * ROUNDS]
    stops = anywhere.events("stopped")
    assert len(stops) == len(anywhere.events("continued")) == THREADS * ROUNDS
    assert {event["body"]["all_threads_stopped"] for event in stops} == {scope == "all"}
    assert anywhere.output() == TOTAL


@pytest.mark.parametrize("scope", SCOPES)
def test_no_stop_is_lost_when_threads_are_continued_one_by_one(debugged: Session, program: Write, scope: str) -> None:
    path = program(CROWD.replace(f"range({ROUNDS})", f"range({FEW})"))
    debugged.break_at(path, "hit")
    debugged.launch(path, stop_scope=scope, fields=["location"])
    while (status := debugged.get("/status"))["status"] != "terminated":
        for row in status["stopped_threads"]:
            debugged.post(f"/threads/{row['thread_id']}/continue", {"wait": False, "fields": []})
        if status["status"] == "paused" and not status["stopped_threads"]:
            debugged.post("/continue", {"fields": []})  # those halted on the way, and who stopped meanwhile
    stopped = Counter(event["body"]["thread_id"] for event in debugged.events("stopped"))
    assert sorted(stopped.values()) == [FEW] * THREADS
    assert [row["hit_count"] for row in debugged.get("/breakpoints")["breakpoints"]] == [THREADS * FEW]
    assert debugged.output() == f"{THREADS * sum(range(FEW))}\n"


def test_a_thread_that_is_halted_on_a_breakpoint_by_others_does_not_run_over_it(
    any_python: Session, program: Write
) -> None:
    """Conditions are asked, hits counted and messages logged once, whoever stops meanwhile."""
    path = program(CROWD.replace("total += number", "total += number; number  # @hit\n        number"))
    any_python.break_at(path, "hit", condition="number % 2", hit_condition=">=3")
    line = line_of(path, "hit") - 1
    any_python.break_at(path, line, log_message="{number}")
    stop = any_python.launch(path, fields=["breakpoints"])
    stops = 0
    while stop["status"] == "paused":
        stops += 1
        stop = any_python.resume(fields=["breakpoints"])
    hits = {row["line"]: row["hit_count"] for row in any_python.get("/breakpoints")["breakpoints"]}
    assert hits == {line + 1: THREADS * ROUNDS // 2, line: THREADS * ROUNDS}
    assert stops == THREADS * ROUNDS // 2 - 2
    logged = Counter(any_python.output("console").split())
    assert logged == {str(number): THREADS for number in range(ROUNDS)}


# One thread goes on, the others stay.


def test_one_thread_goes_on_while_the_others_stay_halted(debugged: Session, program: Write) -> None:
    path = program(TICKING)
    debugged.break_at(path, "stop")
    debugged.launch(path)
    known = ids(debugged)
    main, first, second = known["MainThread"], known["tick-0"], known["tick-1"]
    (row,) = [row for row in debugged.get("/frames/0/variables")["variables"] if row["name"] == "ticks"]
    reference = row["variables_reference"]

    answer = debugged.post(f"/threads/{first}/continue")
    assert (answer["status"], answer["thread_id"], answer["continued"]) == ("paused", main, True)
    assert f"Thread {first} runs" in answer["message"]
    assert states(debugged) == {"MainThread": "paused", "tick-0": "running", "tick-1": "paused"}
    before = debugged.evaluate("dict(ticks)")["result"]
    wait_until(lambda: debugged.evaluate("dict(ticks)")["result"] != before)
    at_rest = debugged.evaluate("ticks[1]")["result"]
    moves = debugged.evaluate("ticks[0]")["result"]
    wait_until(lambda: debugged.evaluate("ticks[0]")["result"] != moves)
    assert debugged.evaluate("ticks[1]")["result"] == at_rest
    assert len(debugged.get("/variables", variables_reference=reference)["variables"]) == 2
    assert debugged.events("continued")[-1]["body"] == {"thread_id": first, "all_threads_continued": False}

    for call in (
        lambda: debugged.evaluate("1", thread_id=first),
        lambda: debugged.get("/scopes", thread_id=first),
        lambda: debugged.get("/frames/0/variables", thread_id=first),
        lambda: debugged.step("over", thread_id=first),
        lambda: debugged.post(f"/threads/{first}/continue"),
    ):
        error = refusal(409, "INVALID_SESSION_STATE", call)
        assert f"Thread {first} is running" in error.message
        assert f'"thread_id": {first}' in error.details["suggestion"]
    stack = debugged.get(f"/threads/{first}/stacktrace")
    assert stack["running"] is True
    assert "tick" in [frame["name"] for frame in stack["frames"]]

    refusal(409, "INVALID_SESSION_STATE", debugged.post, "/pause", {"thread_id": second})
    stop = debugged.post("/pause", {"thread_id": first})
    assert (stop["status"], stop["stop_reason"], stop["thread_id"]) == ("paused", "pause", first)
    assert set(states(debugged).values()) == {"paused"}
    refusal(409, "INVALID_SESSION_STATE", debugged.post, "/pause")

    # With the last of them the program runs.
    for thread in (main, first, second):
        stop = debugged.post(f"/threads/{thread}/continue")
        assert stop["status"] == ("running" if thread == second else "paused")
    assert set(states(debugged).values()) == {"running"}
    assert "location" not in debugged.get("/threads")["threads"][0]
    assert debugged.post("/pause")["status"] == "paused"
    assert set(states(debugged).values()) == {"paused"}
    debugged.evaluate("globals().update(over=True)", frame_id=0, thread_id=first)
    frames = debugged.get(f"/threads/{first}/stacktrace")["frames"]
    assert frames[0]["name"] == "tick"
    assert debugged.resume()["exit_code"] == 0
    assert debugged.output() == "ticking\nover\n"


def test_the_only_thread_is_continued_as_ever(any_python: Session, program: Write) -> None:
    path = program("for number in range(3):\n    number += 0  # @here\n")
    any_python.break_at(path, "here")
    thread = any_python.launch(path)["thread_id"]
    assert any_python.resume(thread_id=thread)["stop_reason"] == "breakpoint"
    assert any_python.step("over", single_thread=True)["stop_reason"] == "step"
    assert any_python.events("continued")[0]["body"]["all_threads_continued"] is True
    assert any_python.resume(single_thread=True)["stop_reason"] == "breakpoint"
    assert any_python.resume(thread_id=thread, single_thread=False)["exit_code"] == 0


@pytest.mark.parametrize("scope", SCOPES)
def test_steps_of_one_thread_move_no_other(debugged: Session, program: Write, scope: str) -> None:
    path = program(MEETING)
    debugged.break_at(path, "main", "worker")
    debugged.launch(path, stop_scope=scope)
    known = ids(debugged)
    worker, main = known["Worker-1"], known["MainThread"]
    if scope == "all":
        for thread in (worker, main):
            here = {row["thread_id"] for row in debugged.get("/status")["stopped_threads"]}
            if thread not in here:
                debugged.resume(thread_id=thread)
    wait_until(lambda: len(debugged.get("/status")["stopped_threads"]) == 2)
    place = debugged.get(f"/threads/{main}/stacktrace")["frames"][0]
    for _ in range(3):
        stop = debugged.step("over", thread_id=worker, single_thread=True)
        assert (stop["status"], stop["thread_id"]) == ("paused", worker)
        assert debugged.get(f"/threads/{main}/stacktrace")["frames"][0] == place
    stop = debugged.step("over", thread_id=main, single_thread=True)
    assert (stop["thread_id"], stop["stop_reason"]) == (main, "step")
    assert stop["current_location"]["line"] == line_of(path, "after")
    out = debugged.step("out", thread_id=worker, single_thread=True, wait=10)
    while out["stop_reason"] == "breakpoint":
        out = debugged.step("out", thread_id=worker, single_thread=True, wait=10)
    assert out["thread_id"] == worker
    assert out["return_value"]["value"] == "['of the worker', 0, 1]"
    finish(debugged)
    assert debugged.output() == "done\n"


def test_a_step_that_needs_a_halted_thread_waits_and_ends_when_all_go_on(any_python: Session, program: Write) -> None:
    path = program(
        """
        import threading

        lock, ready = threading.Lock(), threading.Event()


        def hold():
            with lock:
                ready.set()
                for number in range(10**9):
                    if over:
                        break


        over = False
        thread = threading.Thread(target=hold, name="holder")
        thread.start()
        ready.wait()
        over = True  # @stop
        lock.acquire()  # @blocks
        print("got it")
        """
    )
    any_python.break_at(path, "stop")
    main = any_python.launch(path)["thread_id"]
    stop = any_python.step("over", single_thread=True)
    assert stop["current_location"]["line"] == line_of(path, "blocks")
    with meanwhile(any_python, lambda own: own.step("over", single_thread=True, wait=30)) as waiting:
        wait_until(lambda: states(any_python)["MainThread"] == "running")
        late = any_python.get("/report")
        assert (late["status"], late["stop_reason"]) == ("paused", "pause")
        assert late["thread_id"] == ids(any_python)["holder"] != main
        assert not waiting.done()
        assert any_python.resume()["exit_code"] == 0
        assert waiting.result(timeout=10)["status"] == "terminated"
    assert any_python.output() == "got it\n"


WORKERS = """
import threading
import time

gates = [threading.Event() for _ in range(3)]


def work(number):
    while not gates[number].is_set():
        time.sleep(0.001)
    return number  # @hit


threads = [threading.Thread(target=work, args=(n,), name=f"worker-{n}") for n in range(3)]
for thread in threads:
    thread.start()
started = True  # @start
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("scope", SCOPES)
def test_clients_that_wait_for_different_threads_are_all_answered(
    debugged: Session, program: Write, scope: str
) -> None:
    """With a stop of its own thread, or with the one that halted it too."""
    path = program(WORKERS)
    debugged.break_at(path, "start", "hit")
    debugged.launch(path, stop_scope=scope)
    known = ids(debugged)
    workers = [known[f"worker-{number}"] for number in range(3)]
    if scope == "thread":
        for worker in workers:
            assert debugged.post("/pause", {"thread_id": worker, "wait": 10})["thread_id"] == worker
    with ExitStack() as clients:
        calls = {}
        for worker in workers[:2]:
            client = meanwhile(debugged, lambda own, worker=worker: own.resume(thread_id=worker, wait=20))
            calls[worker] = clients.enter_context(client)
        wait_until(lambda: [states(debugged)[f"worker-{n}"] for n in range(3)] == ["running", "running", "paused"])
        for number in (1, 0):
            assert not calls[workers[0]].done()
            debugged.evaluate(f"gates[{number}].set()", thread_id=known["MainThread"])
            told = calls[workers[number]].result(timeout=10)
            assert (told["stop_reason"], told["current_location"]["line"]) == ("breakpoint", line_of(path, "hit"))
            assert told["thread_id"] == workers[number if scope == "thread" else 1]
            if scope == "all":
                break
        assert calls[workers[0]].result(timeout=10)["thread_id"] == workers[0 if scope == "thread" else 1]
    for number in range(3):
        debugged.evaluate(f"gates[{number}].set()", thread_id=known["MainThread"])
    finish(debugged)
    assert [row["hit_count"] for row in debugged.get("/breakpoints")["breakpoints"]] == [1, 3]


def test_a_client_that_waits_for_a_thread_is_told_when_it_ends(any_python: Session, program: Write) -> None:
    path = program(
        """
        import threading


        def work():
            go.wait()
            return 1


        go = threading.Event()
        thread = threading.Thread(target=work, name="ends")
        thread.start()
        here = 1  # @stop
        """
    )
    any_python.break_at(path, "stop")
    main = any_python.launch(path)["thread_id"]
    ending = ids(any_python)["ends"]
    any_python.evaluate("go.set()")
    stop = any_python.resume(thread_id=ending, wait=20)
    assert (stop["status"], stop["thread_id"]) == ("paused", main)
    assert f"Thread {ending} has ended" in stop["message"]
    assert "timed_out" not in stop
    assert any_python.resume()["exit_code"] == 0


# Only the thread that hits stops.


def test_with_stop_scope_thread_the_others_run_on(debugged: Session, program: Write) -> None:
    path = program(TICKING)
    debugged.break_at(path, "stop")
    stop = debugged.launch(path, stop_scope="thread")
    known = ids(debugged)
    assert (stop["status"], stop["thread_id"]) == ("paused", known["MainThread"])
    assert states(debugged) == {"MainThread": "paused", "tick-0": "running", "tick-1": "running"}
    before = debugged.evaluate("list(ticks.values())")["result"]
    wait_until(lambda: debugged.evaluate("list(ticks.values())")["result"] != before)
    assert debugged.events("stopped")[-1]["body"]["all_threads_stopped"] is False

    other = debugged.post("/pause", {"thread_id": known["tick-1"]})
    assert (other["stop_reason"], other["thread_id"]) == ("pause", known["tick-1"])
    assert states(debugged) == {"MainThread": "paused", "tick-0": "running", "tick-1": "paused"}
    assert [row["name"] for row in debugged.get("/status")["stopped_threads"]] == ["MainThread", "tick-1"]
    assert debugged.evaluate("name", thread_id=known["tick-1"])["result"] == "1"
    step = debugged.step("over")
    assert (step["thread_id"], step["stop_reason"]) == (known["tick-1"], "step")
    assert states(debugged)["MainThread"] == "paused"

    going = debugged.resume(thread_id=known["MainThread"], wait=0.2)
    assert (going["status"], going["timed_out"], going["thread_id"]) == ("paused", True, known["tick-1"])
    paused = debugged.post("/pause", {"wait": 5})
    assert (paused["status"], paused["stop_reason"]) == ("paused", "pause")
    wait_until(lambda: states(debugged)["tick-0"] == "paused")
    debugged.evaluate("globals().update(over=True)", thread_id=known["tick-0"])
    assert debugged.resume()["exit_code"] == 0
    assert debugged.output() == "ticking\nover\n"


def test_what_changed_is_told_of_each_thread_for_itself(session: Session, program: Write) -> None:
    path = program(
        """
        import threading

        def work(start):
            value = start
            for _ in range(2):
                value += 1  # @here

        threads = [threading.Thread(target=work, args=(n * 100,)) for n in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """
    )
    session.break_at(path, "here")
    session.post("/watch", {"expression": "value"})
    seen: dict[int, list[object]] = {}
    stop = session.launch(path, stop_scope="thread")
    while stop["status"] == "paused":
        watch = stop["watches"][0]
        changed = {change["name"]: change["old"] for change in stop["changes"]}
        seen.setdefault(stop["thread_id"], []).append((changed.get("value"), watch.get("old"), watch["value"]))
        stop = session.resume()
    assert sorted(map(str, seen.values())) == [
        "[(None, None, '100'), ('100', '100', '101')]",
        "[(None, None, '200'), ('200', '200', '201')]",
    ]


def test_stop_scope_is_the_sessions_unless_the_launch_says_otherwise(api: Api, program: Write) -> None:
    path = program(TICKING.replace("over = {}, False", "over = {}, True"))
    for launch, halts in (({}, False), ({"stop_scope": "all"}, True)):
        with api.session(stop_scope="thread") as session:
            assert session.get()["config"]["stop_scope"] == "thread"
            session.break_at(path, "stop")
            session.launch(path, **launch)
            assert session.events("stopped")[0]["body"]["all_threads_stopped"] is halts
    refusal(400, "INVALID_REQUEST", api.post, "/sessions", {"stop_scope": "process"})


@pytest.mark.parametrize("scope", SCOPES)
def test_threads_of_a_program_that_was_attached_to_are_controlled_alike(
    newest: Session, program: Write, tmp_path: Path, scope: str
) -> None:
    """Through somebody else's adapter, which knows nothing of single threads."""
    path = program(TICKING)
    newest.break_at(path, "stop")
    python = Path(newest.get()["config"]["python_path"])
    with listening_with(python, tmp_path / "path", path) as (process, port):
        stop = newest.post("/attach", {"port": port, "wait": 20, "stop_scope": scope})
        known = ids(newest)
        assert stop["thread_id"] == known["MainThread"]
        others = "paused" if scope == "all" else "running"
        assert states(newest) == {"MainThread": "paused", "tick-0": others, "tick-1": others}
        if scope == "thread":
            stop = newest.post("/pause", {"thread_id": known["tick-1"], "wait": 10})
            assert stop["thread_id"] == known["tick-1"]
        else:
            newest.post(f"/threads/{known['tick-0']}/continue")
        assert states(newest) == {"MainThread": "paused", "tick-0": "running", "tick-1": "paused"}
        newest.evaluate("globals().update(over=True)", thread_id=known["MainThread"])
        newest.resume(wait=10)
        assert process.communicate(timeout=15)[0] == "ticking\nover\n"


# Threads that are busy.


def test_a_pause_of_a_program_that_is_busy_in_a_call_says_in_which(any_python: Session, program: Write) -> None:
    path = program(
        """
        import hashlib


        def reckon():
            print("begun")
            hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # @busy


        reckon()
        """
    )
    any_python.launch(path, wait=False)
    any_python.wait_for_output("begun")
    (thread,) = ids(any_python).values()
    place = f"{path}:{line_of(path, 'busy')}"
    for body in ({"wait": 0.1}, {"wait": 0.1, "thread_id": thread}):
        answer = any_python.post("/pause", body)
        assert (answer["status"], answer["timed_out"]) == ("running", True)
        assert f"Thread {thread} 'MainThread' is in reckon ({place})" in answer["message"]
    stack = any_python.get(f"/threads/{thread}/stacktrace")
    assert stack["running"] is True
    assert [frame["name"] for frame in stack["frames"]] == ["reckon", "<module>"]
    assert stack["frames"][0]["line"] == line_of(path, "busy")
    refusal(404, "THREAD_NOT_FOUND", any_python.get, "/threads/987654/stacktrace")


def test_with_stop_scope_thread_a_blocked_thread_pauses_where_it_is(any_python: Session, program: Write) -> None:
    path = program(
        """
        import threading
        import time

        thread = threading.Thread(target=time.sleep, args=(600,), name="sleeper", daemon=True)
        thread.start()
        here = 1  # @stop
        """
    )
    any_python.break_at(path, "stop")
    any_python.launch(path, stop_scope="thread")
    sleeper = ids(any_python)["sleeper"]
    answer = any_python.post("/pause", {"thread_id": sleeper, "wait": 20})
    assert (answer["status"], answer["thread_id"], answer["stop_reason"]) == ("paused", sleeper, "pause")
    # Python may list a thread twice that has just begun, the second time as a dummy.
    assert states(any_python).items() >= {"MainThread": "paused", "sleeper": "paused"}.items()
    any_python.post(f"/threads/{sleeper}/continue", {"wait": False})
    assert states(any_python).items() >= {"MainThread": "paused", "sleeper": "running"}.items()
    assert any_python.resume()["exit_code"] == 0
