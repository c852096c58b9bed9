"""The tasks of real asyncio programs: what each does, what it waits for, where it was made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from breadth import each_of, last_of
from relays import Session, line_of, pythons, refusal, session_on
from waiting import wait_until

PYTHONS = pythons("3.8", "3.11", "3.12", "3.13")
NEWEST = pythons("3.11", "3.13")
EAGER = pythons("3.12", "3.13")
Write = Callable[..., Path]

PROGRAM = """
import asyncio
import sys


async def fetch(delay):
    await asyncio.sleep(delay)  # @sleep


async def outer():
    await fetch(3600)  # @fetch


async def locked(lock):
    async with lock:  # @lock
        pass


async def fail():
    raise ValueError("told to nobody")


async def quick():
    return 1


async def watch(other):
    await other  # @other


def start(coroutine):
    return asyncio.ensure_future(coroutine)  # @start


async def main():
    lock = asyncio.Lock()
    await lock.acquire()
    sleeper = asyncio.create_task(outer())  # @made
    sleeper.set_name("sleeper") if hasattr(sleeper, "set_name") else None
    waiting = start(locked(lock))
    failed, done = start(fail()), start(quick())
    watcher = start(watch(sleeper))
    cancelled = start(fetch(1800))
    gathered = asyncio.gather(fetch(900), fetch(901))  # @gather
    await asyncio.sleep(0.01)
    cancelled.cancel()
    await asyncio.sleep(0.01)
    print("ready", flush=True)
    stop = 1  # @stop
    if sys.argv[1:] == ["stay"]:
        await asyncio.sleep(3600)  # @stay
    failed.exception()


asyncio.run(main())
print("end")
"""


debugged = session_on(each_of(PYTHONS))
newest = session_on(last_of(NEWEST))
eager = session_on(each_of(EAGER))


def by_coroutine(session: Session) -> dict[str, dict[str, Any]]:
    return {row["coroutine"]: row for row in session.get("/tasks")["tasks"]}


def spots(rows: list[dict[str, Any]], path: Path) -> list[tuple[str, int]]:
    return [(row["function"], row["line"]) for row in rows if row["path"] == str(path)]


def check_waiting(tasks: dict[str, dict[str, Any]], path: Path, thread: int) -> None:
    def line(marker: str) -> int:
        return line_of(path, marker)

    sleeper = tasks["outer"]
    assert (sleeper["name"], sleeper["state"], sleeper["is_current"]) == ("sleeper", "pending", False)
    assert spots(sleeper["awaiting"], path) == [("fetch", line("sleep")), ("outer", line("fetch"))]
    assert sleeper["awaiting"][0]["function"] == "sleep"
    assert sleeper["waits_for"] == "sleep(3600)"
    assert (sleeper["created"]["line"], sleeper["created"]["function"]) == (line("made"), "main")
    assert sleeper["created"]["path"] == str(path)
    assert sleeper["thread_id"] == thread
    assert tasks["locked"]["waits_for"] == "Lock.acquire"
    assert spots(tasks["locked"]["awaiting"], path) == [("locked", line("lock"))]
    assert tasks["locked"]["created"]["line"] == line("start")
    assert tasks["watch"]["waits_for"] == f"task {sleeper['id']} 'sleeper'"
    assert tasks["watch"]["state"] == "pending"
    assert (tasks["fail"]["state"], tasks["quick"]["state"]) == ("failed", "finished")
    assert tasks["fail"]["awaiting"] == [] and tasks["fail"]["waits_for"] is None


def look_into(debugged: Session, tasks: dict[str, dict[str, Any]], path: Path) -> None:
    """Frames, variables and expressions of tasks that wait."""
    sleeper = tasks["outer"]["id"]
    stack = debugged.get("/stacktrace", task_id=sleeper)
    own = [(frame["name"], frame["line"]) for frame in stack["frames"] if frame["source"]["path"] == str(path)]
    assert own == [("fetch", line_of(path, "sleep")), ("outer", line_of(path, "fetch"))]
    fetch = next(frame["id"] for frame in stack["frames"] if frame["name"] == "fetch")
    rows = debugged.get(f"/frames/{fetch}/variables", task_id=sleeper)["variables"]
    assert [(row["name"], row["value"]) for row in rows] == [("delay", "3600")]
    answer = debugged.evaluate("delay // 60", task_id=sleeper)
    assert (answer["result"], answer["elsewhere"]) == ("60", True)
    lock = debugged.evaluate("lock", task_id=tasks["locked"]["id"])
    assert debugged.get(f"/variables/{lock['variables_reference']}")["variables"]
    assert debugged.evaluate("stop, len(sys.argv)", task_id=tasks["main"]["id"])["error"].startswith("NameError")
    assert debugged.evaluate("type(lock).__name__", task_id=tasks["main"]["id"])["result"] == "'Lock'"
    for task in (tasks["quick"]["id"], 999):
        refusal(404, "FRAME_NOT_FOUND", debugged.evaluate, "1", task_id=task)
    refusal(404, "FRAME_NOT_FOUND", debugged.evaluate, "1", task_id=sleeper, frame_id=99)


def test_the_tasks_of_a_stopped_program(debugged: Session, program: Write) -> None:
    path = program(PROGRAM)
    debugged.break_at(path, "stop")
    thread = debugged.launch(path)["thread_id"]
    listed = debugged.get("/tasks")
    assert listed["total"] == len(listed["tasks"]) == 9
    assert listed["has_more"] is False
    tasks = by_coroutine(debugged)
    check_waiting(tasks, path, thread)
    main = tasks["main"]
    assert (main["state"], main["is_current"], main["waits_for"]) == ("running", True, None)
    assert spots(main["awaiting"], path) == [("main", line_of(path, "stop"))]
    gathered = [row for row in listed["tasks"] if (row["created"] or {}).get("line") == line_of(path, "gather")]
    assert sorted(row["waits_for"] for row in gathered) == ["sleep(900)", "sleep(901)"]
    assert [row["state"] for row in listed["tasks"] if row["coroutine"] == "fetch"].count("cancelled") == 1
    finished = [row["state"] in ("finished", "failed", "cancelled") for row in listed["tasks"]]
    assert finished == sorted(finished)

    ids = [row["id"] for row in listed["tasks"]]
    first = debugged.get("/tasks", limit=4)
    assert ([row["id"] for row in first["tasks"]], first["has_more"], first["total"]) == (ids[:4], True, 9)
    rest = debugged.get("/tasks", offset=4)
    assert ([row["id"] for row in rest["tasks"]], rest["has_more"]) == (ids[4:], False)

    look_into(debugged, tasks, path)
    stop = debugged.resume()
    assert stop["exit_code"] == 0
    assert debugged.output() == "ready\nend\n"


def test_the_tasks_of_a_running_program(session: Session, program: Write) -> None:
    path = program(PROGRAM)
    session.launch(path, args=["stay"], wait=False)
    session.wait_for_output("ready")
    tasks = by_coroutine(session)
    (thread,) = (row["id"] for row in session.get("/threads")["threads"])
    check_waiting(tasks, path, thread)
    assert session.get("/status")["status"] == "running"
    wait_until(lambda: by_coroutine(session)["main"]["state"] != "running")
    main = by_coroutine(session)["main"]
    assert (main["waits_for"], spots(main["awaiting"], path)) == ("sleep(3600)", [("main", line_of(path, "stay"))])


def test_tasks_are_registered_as_they_are_without_a_debugger(debugged: Session, program: Write) -> None:
    path = program(
        """
        import asyncio
        import gc
        import weakref

        register = getattr(asyncio.tasks, "_scheduled_tasks", None)
        if register is None:
            register = asyncio.tasks._all_tasks


        async def work():
            await asyncio.sleep(0)


        async def main():
            kept = [asyncio.ensure_future(work()) for _ in range(100)]  # @made
            assert [weakref.getweakrefcount(task) for task in kept] == [1] * 100
            assert asyncio.all_tasks() == {*kept, asyncio.current_task()}
            here = 1  # @stop
            under_way = iter(register)
            next(under_way)
            await asyncio.wait(kept)
            kept.clear()
            gc.collect()  # what goes now is taken from the register when the iteration is over
            under_way.close()
            last = asyncio.ensure_future(work())
            assert set(register) == {last, asyncio.current_task()} and len(register.data) == 2
            await last


        asyncio.run(main())
        """
    )
    debugged.break_at(path, "stop")
    debugged.launch(path)
    tasks = [row for row in debugged.get("/tasks", limit=1000)["tasks"] if row["coroutine"] == "work"]
    assert [row["created"]["line"] for row in tasks] == [line_of(path, "made")] * 100
    assert [row["id"] for row in tasks] == sorted(row["id"] for row in tasks)
    assert debugged.resume()["exit_code"] == 0, debugged.output("stderr")


def test_looking_at_a_failed_task_does_not_count_as_handling_it(newest: Session, program: Write) -> None:
    path = program(PROGRAM.replace("    failed.exception()\n", ""))
    newest.break_at(path, "stop")
    newest.launch(path)
    assert by_coroutine(newest)["fail"]["state"] == "failed"
    assert newest.resume()["exit_code"] == 0
    assert "Task exception was never retrieved" in newest.output("stderr")


def test_steps_into_a_new_task_do_not_go_through_the_debugger(newest: Session, program: Write) -> None:
    path = program(
        """
        import asyncio


        async def work():
            return 1


        async def main():
            task = asyncio.ensure_future(work())  # @made
            return await task


        asyncio.run(main())
        """
    )
    newest.break_at(path, "made")
    stop = newest.launch(path, fields=["location"])
    for _ in range(60):
        if stop["current_location"]["line"] != line_of(path, "made") and "program" in stop["current_location"]["path"]:
            break
        assert "inside" not in stop["current_location"]["path"]
        assert "pydevd" not in stop["current_location"]["path"]
        stop = newest.step("into", fields=["location"])


def test_each_event_loop_has_its_tasks(session: Session, program: Write) -> None:
    path = program(
        """
        import asyncio
        import threading


        async def wait(name, ready):
            ready.set()
            await asyncio.get_running_loop().create_future()


        readies = [threading.Event() for _ in range(2)]
        for number, ready in enumerate(readies):
            run = threading.Thread(target=asyncio.run, args=(wait(number, ready),), name=f"loop-{number}")
            run.daemon = True
            run.start()
            ready.wait()
        here = 1  # @stop
        """
    )
    session.break_at(path, "stop")
    session.launch(path)
    threads = {row["name"]: row["id"] for row in session.get("/threads")["threads"]}
    tasks = session.get("/tasks")["tasks"]
    assert {row["thread_id"] for row in tasks} == {threads["loop-0"], threads["loop-1"]}
    assert {row["waits_for"] for row in tasks} <= {"a future", None}


def test_a_program_without_asyncio_has_no_tasks_and_does_not_get_it(session: Session, program: Write) -> None:
    path = program("import sys\nhere = 1  # @stop\nprint('asyncio' in sys.modules, sys.meta_path[0].__class__)\n")
    session.break_at(path, "stop")
    session.launch(path)
    assert session.get("/tasks") == {"tasks": [], "total": 0, "offset": 0, "limit": 100, "has_more": False}
    assert session.resume()["exit_code"] == 0
    assert session.output().startswith("False")
    refusal(409, "INVALID_SESSION_STATE", session.get, "/tasks")


def test_a_task_that_begins_eagerly_keeps_its_number(eager: Session, program: Write) -> None:
    path = program(
        """
        import asyncio


        async def work():
            begun = True  # @begun
            await asyncio.sleep(0)
            return begun  # @later


        async def main():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            await asyncio.create_task(work())


        asyncio.run(main())
        """
    )
    eager.break_at(path, "begun", "later")
    eager.launch(path)

    def number() -> int:
        return next(row["id"] for row in eager.get("/tasks")["tasks"] if row["coroutine"] == "work")

    before = number()
    assert eager.resume()["current_location"]["line"] == line_of(path, "later")
    assert number() == before
    assert eager.resume()["exit_code"] == 0
