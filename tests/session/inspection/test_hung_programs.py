"""Programs that hang: they can be paused, looked into, and asked who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, pythons
from waiting import wait_until

Write = Callable[..., Path]
PYTHONS = pythons("3.8", "3.11", "3.13")
EITHER = pythons("3.11", "3.13")

LOCKS = """
import threading

first, second, third, fourth = (threading.Lock() for _ in range(4))
all_have = threading.Barrier(4)

def take(mine, other, number):
    with mine:  # @has
        all_have.wait()
        with other:  # @stuck
            pass

def take_shortly(mine, other, number):
    with mine:
        all_have.wait()
        with other: pass  # @shortly

threads = [
    threading.Thread(target=take, args=locks, name=f"taker-{locks[2]}")
    for locks in ((first, second, 1), (second, first, 2))
]
threads += [
    threading.Thread(target=take_shortly, args=locks, name=f"taker-{locks[2]}")
    for locks in ((third, fourth, 3), (fourth, third, 4))
]
for thread in threads:
    thread.start()
threads[0].join()  # @join
"""
TASKS = """
import asyncio

async def take(mine, other, number):
    async with mine:  # @has
        await asyncio.sleep(0.01)
        async with other:  # @stuck
            pass

async def main():
    first, second = asyncio.Lock(), asyncio.Lock()
    await asyncio.gather(take(first, second, 1), take(second, first, 2))  # @gather

asyncio.run(main())
"""
WAITS = """
import concurrent.futures, queue, subprocess, sys, threading

class Shop:
    def __init__(self):
        self.lock, self.opened, self.orders = threading.RLock(), threading.Event(), queue.Queue()

def keep():
    with shop.lock:
        has_it.set()
        shop.opened.wait()

def enter():
    shop.lock.acquire()

def serve():
    order = shop.orders.get()

def fetch():
    return answer.result()

def child():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    process.wait()

shop, answer, has_it = Shop(), concurrent.futures.Future(), threading.Event()
threading.Thread(target=keep, name="keep").start()
has_it.wait()
for target in (enter, serve, fetch, child):
    threading.Thread(target=target, name=target.__name__).start()
mine = threading.Lock()
mine.acquire()  # @taken
mine.acquire()
"""


@pytest.fixture(params=PYTHONS.items(), ids=lambda item: item[0])
def session(request: pytest.FixtureRequest, api: Api) -> Iterator[Session]:
    with api.session(python_path=str(request.param[1])) as session:
        yield session


@pytest.fixture(params=EITHER.items(), ids=lambda item: item[0])
def either(request: pytest.FixtureRequest, api: Api) -> Iterator[Session]:
    """On a Python that the debugger traces, and on one that tells it what happens."""
    with api.session(python_path=str(request.param[1])) as session:
        yield session


def waiting(session: Session, count: int) -> Any:
    """Who waits for whom, once so many do."""
    return wait_until(lambda: found if len((found := session.get("/locks"))["waiting"]) >= count else None)


@pytest.fixture(scope="module", params=PYTHONS.items(), ids=lambda item: item[0])
def hung(
    request: pytest.FixtureRequest, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Session, Path]]:
    """Two pairs of threads that wait for each other: one launch for all that look."""
    path = tmp_path_factory.mktemp("hung") / "program.py"
    path.write_text(LOCKS)
    with api.session(python_path=str(request.param[1])) as session:
        session.launch(path, wait=False)
        waiting(session, 5)
        yield session, path


def test_two_threads_that_wait_for_each_other_are_explained(hung: tuple[Session, Path]) -> None:
    session, path = hung
    found = session.get("/locks")
    has, stuck = line_of(path, "has"), line_of(path, "stuck")
    main, *takers = found["waiting"][:3]
    assert (main["name"], main["waits_for"]) == ("MainThread", "thread 2 'taker-1'")
    assert main["location"] == {"path": str(path), "line": line_of(path, "join"), "function": "<module>"}
    assert [(row["name"], row["waits_for"], row["location"]["line"]) for row in takers] == [
        ("taker-1", "lock other", stuck),
        ("taker-2", "lock other", stuck),
    ]
    assert [(row["held_by"][0]["name"], row["held_by"][0]["since_line"]) for row in takers] == [
        ("taker-2", has),
        ("taker-1", has),
    ]
    assert [row["locals"]["number"] for row in takers] == ["1", "2"]
    deadlock = circles(found)["taker-1", "taker-2"]
    link = f"waits for lock other, which thread 3 'taker-2' has since line {has}"
    assert deadlock["text"].startswith(f"thread 2 'taker-1' {link}; thread 3 'taker-2' waits")


def circles(found: Any) -> dict[tuple[str, ...], Any]:
    """The deadlocks by the names of those in them."""
    return {tuple(sorted(member["name"] for member in each["members"])): each for each in found["deadlocks"]}


def test_a_lock_that_is_taken_for_one_line_is_waited_for_there(hung: tuple[Session, Path]) -> None:
    session, path = hung
    found = session.get("/locks")
    assert set(circles(found)) == {("taker-1", "taker-2"), ("taker-3", "taker-4")}
    assert "waits for lock other" in circles(found)["taker-3", "taker-4"]["text"]
    places = [row["location"]["line"] for row in found["waiting"] if row["name"] in ("taker-3", "taker-4")]
    assert places == [line_of(path, "shortly")] * 2


def test_two_tasks_that_wait_for_each_other_are_explained(session: Session, program: Write) -> None:
    path = program(TASKS)
    session.launch(path, wait=False)
    found = wait_until(lambda: found if (found := session.get("/locks"))["deadlocks"] else None)
    main, *takers = found["waiting"]
    assert (main["waits_for"], main["location"]["line"]) == ("2 of 2 gathered tasks", line_of(path, "gather"))
    assert [holder["name"] for holder in main["held_by"]] == [taker["name"] for taker in takers]
    assert {(row["waits_for"], row["location"]["line"]) for row in takers} == {("Lock other", line_of(path, "stuck"))}
    assert [row["locals"]["number"] for row in takers] == ["1", "2"]
    (deadlock,) = found["deadlocks"]
    assert [member["task_id"] for member in deadlock["members"]] == [row["task_id"] for row in takers]
    assert deadlock["text"].count(f"has since line {line_of(path, 'has')}") == 2
    assert session.post("/pause", {"wait": 20})["status"] == "paused"
    answers = [session.evaluate("number, mine.locked()", task_id=row["task_id"]) for row in takers]
    assert [(answer["result"], answer["elsewhere"]) for answer in answers] == [("(1, True)", True), ("(2, True)", True)]


def test_a_program_that_hangs_pauses_where_it_is_and_can_be_looked_into(hung: tuple[Session, Path]) -> None:
    session, path = hung
    stop = session.post("/pause", {"wait": 20})
    assert (stop["status"], stop["stop_reason"]) == ("paused", "pause")
    assert "inside a call that has not returned" in stop["note"] and "GET /sessions/{id}/locks" in stop["note"]
    taker = next(row for row in session.get("/threads")["threads"] if row["name"] == "taker-2")
    assert (taker["status"], taker["location"]["line"]) == ("paused", line_of(path, "stuck"))
    rows = session.get("/frames/0/variables", thread_id=taker["id"])["variables"]
    assert {row["name"]: row["value"] for row in rows}["number"] == "2"
    value = session.evaluate("number * 2", thread_id=taker["id"])
    assert (value["result"], value["elsewhere"]) == ("4", True)
    assert len(session.get("/locks")["deadlocks"]) == 2
    assert session.resume(wait=0.1)["status"] == "running"
    assert session.post("/pause", {"wait": 20})["status"] == "paused"
    assert session.resume(wait=0.1)["status"] == "running"


def test_a_call_that_returns_after_the_pause_halts_its_thread_behind_it(either: Session, program: Write) -> None:
    path = program(
        """
        import os

        def fetch():
            text = os.read(reading, 10)  # @blocked
            return text  # @behind

        reading, writing = os.pipe()
        print("asks", flush=True)
        fetch()
        """
    )
    either.launch(path, wait=False)
    either.wait_for_output("asks")
    stop = either.post("/pause", {"wait": 20})
    assert stop["current_location"]["line"] == line_of(path, "blocked")
    assert either.evaluate("os.write(writing, b'it')")["result"] == "2"
    wait_until(lambda: either.get("/status")["location"]["line"] == line_of(path, "behind"))
    assert "note" not in either.get("/report")
    assert either.evaluate("text")["result"] == "b'it'"
    assert [event["body"]["location"]["line"] for event in either.events("stopped")] == [
        line_of(path, "blocked"),
        line_of(path, "behind"),
    ]
    assert either.resume()["exit_code"] == 0


def test_every_kind_of_wait_is_named(api: Api, program: Write) -> None:
    path = program(WAITS)
    with api.session() as session:
        session.launch(path, wait=False)
        found = waiting(session, 6)
        waits = {row["name"]: row["waits_for"] for row in found["waiting"]}
        assert waits == {
            "MainThread": "lock mine",
            "keep": "Event shop.opened",
            "enter": "RLock shop.lock",
            "serve": "Queue shop.orders",
            "fetch": "Future answer",
            "child": "Popen process",
        }
        holders = {row["name"]: [holder["name"] for holder in row["held_by"]] for row in found["waiting"]}
        held = {name: several for name, several in holders.items() if several}
        assert held == {"MainThread": ["MainThread"], "enter": ["keep"]}
        (deadlock,) = found["deadlocks"]
        taken = line_of(path, "taken")
        itself = "thread 1 'MainThread'"
        assert deadlock["text"] == f"{itself} waits for lock mine, which {itself} has since line {taken}"
