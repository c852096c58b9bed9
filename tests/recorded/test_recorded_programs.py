"""What REST answers about programs that read, print, wait for each other, start children, or run already."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from clients import RestSession, Stage
from recording import settled
from relays import line_of
from targets import listening, running
from waiting import wait_until

ASKS = """
import sys

name = input("name? ")
print("hello", name)  # @hello
print("careful", file=sys.stderr)  # @careful
rest = sys.stdin.read()
print(len(rest))
"""


def test_input_and_output(stage: Stage) -> None:
    script = stage.write("asks.py", ASKS)
    with stage.session() as session:
        session.post("/stdin", {"input": "too early\n"})
        session.get("/output")
        session.break_at(script, "hello", "careful")
        session.launch(script)
        session.get("/status")
        session.post("/stdin", {})
        session.post("/stdin", {"input": 3})
        session.post("/stdin", {"input": "World\n", "wait": 60})
        session.resume()
        session.resume()
        session.post("/input", {"input": "a\nb\n", "eof": True, "wait": 60})
        session.post("/stdin", {"input": "too late\n"})
        session.get("/output")
        first = session.get("/output", limit=1)
        session.get("/output", cursor=first["next_cursor"], limit=1)
        session.get("/output", tail=1)
        session.get("/output", category="stderr", timeout=0)
        session.get("/output", cursor="nonsense")
        session.get("/output", tail=1, cursor=first["next_cursor"])
        session.get("/output", limit=0, category="none")
        events = session.get("/events", limit=3)
        session.get("/events", cursor=events["next_cursor"])
        session.get("/events", cursor="nonsense")
        session.get("/events", timeout="long")
        session.stream("/output/stream", "end")
        session.stream("/output/stream", "end", cursor=first["next_cursor"], category="stdout")
        session.stream("/events/stream", "terminated")
        session.stream("/events/stream", "terminated", kinds="stopped,terminated", headers={"Last-Event-ID": ""})
        session.get("/output/stream", cursor="nonsense")
        session.get("/events/stream", kinds="not a kind!")
        session.ask("GET", "/events/stream", headers={"Last-Event-ID": "nonsense"})
        session.delete("/output")
        session.get("/output")
        session.get("/output", cursor=first["next_cursor"])


THREADS = """
import sys
import threading

gate = threading.Lock()
gate.acquire()


def work(number):
    local = number
    gate.acquire()  # @blocked
    gate.release()


def is_blocked(worker):
    frame = sys._current_frames().get(worker.ident)
    return frame is not None and frame.f_code is work.__code__ and frame.f_lineno == 10


workers = [threading.Thread(target=work, args=(number,), name=f"worker-{number}") for number in (1, 2)]
for worker in workers:
    worker.start()
while not all(is_blocked(worker) for worker in workers):
    pass
ready = True  # @ready
gate.release()
for worker in workers:
    worker.join()
"""
LOCKS = """
import threading

first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)


def take(mine, other):
    with mine:  # @has
        both.wait()
        with other:  # @stuck
            pass


for number, locks in enumerate(((first, second), (second, first))):
    threading.Thread(target=take, args=locks, name=f"taker-{number}", daemon=True).start()
print("started", flush=True)
threading.Event().wait()
"""
TASKS = """
import asyncio


async def wait(event):
    await event.wait()  # @wait


async def main():
    event = asyncio.Event()
    waiting = asyncio.create_task(wait(event), name="waiter")
    done = asyncio.create_task(asyncio.sleep(0), name="done")
    await done
    stop = True  # @here
    event.set()
    await waiting


asyncio.run(main())
"""


def test_threads(stage: Stage) -> None:
    script = stage.write("threads.py", THREADS)
    with stage.session(stop_scope="all") as session:
        session.break_at(script, "ready")
        session.launch(script, fields="location")
        session.get("/threads")
        threads = session.quietly("/threads")["threads"]
        session.get(f"/threads/{threads[1]['id']}/stacktrace", levels=1)
        session.post("/continue", {"thread_id": 424242})
        session.post("/pause", {"thread_id": threads[1]["id"]})
        session.resume(fields="location")


def test_locks_and_a_pause(stage: Stage) -> None:
    script = stage.write("locks.py", LOCKS)
    with stage.session() as session:
        session.launch(script, wait=False)
        session.printed("started")
        settled(
            lambda: session.quietly("/locks"), lambda found: len(found.get("deadlocks") or found.get("cycles") or [1])
        )
        wait_until(lambda: "stuck" in str(stuck_lines(session, script)))
        session.get("/locks")
        session.get("/stacktrace")
        session.get("/report", wait=0)
        session.post("/pause", {"thread_id": 424242})
        session.post("/pause", {"wait": 60, "fields": "location"})
        session.get("/locks")
        session.post("/terminate")


def stuck_lines(session: RestSession, script: Path) -> list[str]:
    """Return `stuck` for each thread that stands there; nothing is recorded."""
    line = line_of(script, "stuck")
    rows = session.quietly("/threads")["threads"]
    pages = [session.quietly(f"/threads/{row['id']}/stacktrace", levels=50) for row in rows]
    at = [frame["line"] for page in pages for frame in page["frames"] if frame["source"]["path"] == str(script)]
    return ["stuck"] if at.count(line) == 2 else []


def test_tasks(stage: Stage) -> None:
    script = stage.write("tasks.py", TASKS)
    with stage.session() as session:
        session.break_at(script, "here")
        session.launch(script, fields="location")
        tasks = session.get("/tasks")
        session.get("/tasks", limit=1, offset=1)
        session.get("/tasks", limit=0)
        for task in tasks["tasks"]:
            session.get("/stacktrace", task_id=task["id"])
        session.get("/stacktrace", task_id=424242)


CHILD = """
import sys


def double(number):
    twice = number * 2  # @double
    return twice


sys.exit(double(int(sys.argv[1])))
"""
PARENT = """
import subprocess
import sys

print("parent", flush=True)
code = subprocess.run([sys.executable, sys.argv[1], "21"]).returncode
print("child gave", code)  # @given
"""


def test_children(stage: Stage) -> None:
    child, parent = stage.write("child.py", CHILD), stage.write("parent.py", PARENT)
    with stage.session(name="family") as session:
        session.break_at(parent, "given")
        session.launch(parent, args=[str(child)], fields="location")
        session.get("/events")
    with stage.session(name="family") as session:
        session.break_at(child, "double")
        session.launch(parent, args=[str(child)], debug_subprocesses=True)
        (born,) = session.get()["children"]
        one = RestSession(session.rest, born["session_id"])
        one.get()
        one.get("/report")
        one.get("/stacktrace", levels=1)
        one.get("/output")
        one.patch("", {"name": "renamed"})
        one.patch("", {"timeout_minutes": 9})
        one.post("/launch", {"code": "1"})
        one.post("/restart")
        one.post("/stdin", {"input": "x\n"})
        session.rest.get("/sessions", parent_session_id=session.id)
        one.resume(fields="location")
        session.get("/report", wait=60, fields="location,output")
        session.resume(fields="location,output")
        session.get()


def test_copies_of_sessions(stage: Stage) -> None:
    script = stage.write("plain.py", "x = 1\ny = 2  # @here\nprint(x + y)\n")
    with stage.session(name="original") as session:
        session.get("/export")
        session.post("/clone")
        session.break_at(script, "here", condition="x == 1")
        session.post("/exception-breakpoints", {"filters": ["uncaught"]})
        session.post("/watch", {"expression": "x"})
        session.launch(script, env={"SECRET": "s"}, args=["1"], fields="location")
        document = session.get("/export")
        session.get("/export", include_env="true")
        session.get("/export", include_env="yes")
        copy = session.post("/clone", {"name": "copy"})
        session.post("/clone", {"nam": "copy"})
        again = RestSession(session.rest, copy["session_id"])
        again.launch(fields="location,watches")
        again.get("/breakpoints")
        again.delete(force="true")
        rest = session.rest
        imported = rest.post("/sessions/import", document)
        RestSession(rest, imported["session_id"]).delete()
        rest.post("/sessions/import", {})
        rest.post("/sessions/import", {**document, "format": "other"})
        rest.post("/sessions/import", {**document, "version": 99})
        rest.post("/sessions/import", {**document, "project_root": "/nowhere/at/all"})
        rest.post("/sessions/import", {**document, "path_map": {"/a": "relative"}})


def test_profiles(stage: Stage) -> None:
    script = stage.write("plain.py", "x = 1\ny = 2  # @here\nprint(x + y)\n")
    with stage.session() as session:
        rest = session.rest
        rest.get("/breakpoint-profiles")
        session.break_at(script, "here", hit_condition=">1")
        rest.post("/breakpoint-profiles", {"name": "first", "session_id": session.id})
        rest.post("/breakpoint-profiles", {"name": "first", "session_id": session.id})
        rest.post("/breakpoint-profiles", {"name": "not valid!", "session_id": session.id})
        rest.post("/breakpoint-profiles", {"name": "second"})
        rest.post("/breakpoint-profiles", {"name": "second", "session_id": "sess_00000000"})
        given = {
            "breakpoints": [{"file": "plain.py", "line": 3}, {"function": "main"}],
            "project_root": str(stage.folder),
        }
        rest.post("/breakpoint-profiles", {"name": "second", **given})
        rest.put("/breakpoint-profiles/second", {**given, "exception_breakpoints": [{"filters": ["uncaught"]}]})
        rest.put("/breakpoint-profiles/third", {"session_id": session.id})
        rest.put("/breakpoint-profiles/third", {"session_id": session.id, "breakpoints": []})
        rest.put("/breakpoint-profiles/third", {"breakpoints": [{"file": "plain.py", "text": "x"}]})
        rest.get("/breakpoint-profiles")
        rest.get("/breakpoint-profiles/second")
        rest.get("/breakpoint-profiles/absent")
        rest.post("/breakpoint-profiles/second/apply", {"session_id": session.id})
        rest.post("/breakpoint-profiles/first/apply", {"session_id": session.id, "replace": True})
        rest.post("/breakpoint-profiles/absent/apply", {"session_id": session.id})
        rest.post("/breakpoint-profiles/first/apply", {"session_id": "sess_00000000"})
        rest.post("/breakpoint-profiles/first/apply", {})
        (stage.relay.data_dir / "profiles" / "third.json").write_text("{")
        rest.get("/breakpoint-profiles/third")
        rest.get("/breakpoint-profiles")
        for name in ("first", "second", "third", "absent"):
            rest.delete(f"/breakpoint-profiles/{name}")


SERVES = """
import sys

print("ready", flush=True)
for line in sys.stdin:
    answer = line.strip().upper()  # @answer
    print(answer, flush=True)
"""


def test_attached_programs(stage: Stage) -> None:
    script = stage.write("serves.py", SERVES)
    with ExitStack() as stack:
        session = stack.enter_context(stage.session())
        session.post("/attach", {})
        session.post("/attach", {"pid": 999_999_999})
        session.post("/attach", {"pid": 1, "port": 2})
        session.post("/attach", {"port": 9, "connect_timeout": 0.1})
        target = stack.enter_context(running(script))
        session.break_at(script, "answer")
        session.rest.get("/processes", filter=str(script))
        session.rest.get("/processes", kind="odd")
        session.rest.get("/processes", filter="no such process at all")
        session.post("/attach", {"pid": target.pid, "connect_timeout": 60})
        session.get()
        session.rest.get("/processes", filter=str(script))
        other = stack.enter_context(stage.session())
        other.post("/attach", {"pid": target.pid})
        session.post("/stdin", {"input": "x\n"})
        target.tell("hello")
        session.get("/report", wait=60)
        session.post("/restart")
        session.post("/detach")
        assert target.says() == "HELLO"
        session.get()
        session.post("/restart")
    with ExitStack() as stack:
        target, port = stack.enter_context(listening(script))
        session = stack.enter_context(stage.session())
        session.break_at(script, "answer")
        session.post("/attach", {"port": port})
        target.tell("hello")
        session.get("/report", wait=60, fields="location")
        session.get()
        session.delete()
        assert target.says() == "HELLO"
    with ExitStack() as stack:
        target = stack.enter_context(running(script))
        rest = stack.enter_context(stage.rest())
        made = rest.post("/sessions", {"mode": "attach", "pid": target.pid, "connect_timeout": 60})
        session = RestSession(rest, made["session_id"])
        session.delete()


SHOP = """
def price_of(item):
    return {"tea": 3, "milk": 2}[item]  # @prices

print(price_of("tea") + price_of("milk"))
"""


def test_one_call(stage: Stage) -> None:
    """From nothing to the first stop."""
    script = stage.write("shop.py", SHOP)
    here = {"cwd": str(stage.folder)}
    with stage.rest() as rest:
        spelled = [f"shop.py:{line_of(script, 'prices')} if item == 'milk'", "nowhere.py:3"]
        stopped = rest.post("/run", {**here, "script": "shop.py", "breakpoints": spelled, "watches": ["item"]})
        session = RestSession(rest, stopped["session_id"])
        session.resume()
        rest.post("/run", {**here, "script": "shop.py", "breakpoints": ["shop.py"]})
        rest.post("/run", {**here, "script": "nowhere.py"})
        rest.post("/run", {"script": "shop.py"})
        rest.post("/run", {**here, "code": "1", "test": "tests"})
        stage.write("test_shop.py", TESTED)
        rest.post("/run", {**here, "test": "test_shop.ShopTest.test_price"})
        with running(stage.write("waits.py", WAITS)) as target:
            paused = rest.post("/attach", {"pid": target.pid, "pause": True, "wait": 60, "fields": "location"})
            RestSession(rest, paused["session_id"]).delete()
        rest.post("/attach", {"pause": True})
        rest.get("/sessions", status="paused")


TESTED = """
import unittest

from shop import price_of


class ShopTest(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price_of("tea"), 4)
"""
WAITS = """
import time

print("ready", flush=True)
while True: time.sleep(0.001)
"""
"""On one line, so that it is always stopped there."""
