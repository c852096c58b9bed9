"""Each tool in what it can do, on real programs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_clients import Agent, over_http
from relays import RUN_ID, RUN_MARKER, Relay, line_of

Write = Callable[..., Path]
Started = Callable[..., Any]

STEPS = """
    import threading

    def double(x):
        y = x * 2  # @double
        return y

    def main():
        values = list(range(300))
        total = 0
        for value in values:
            total += double(value)  # @loop
        print("total", total)  # @end

    main()
    """

PLAIN = "[pytest]\naddopts = -p no:schemathesis -p no:hypothesispytest -p no:anyio -p no:xdist -p no:xdist.looponfail\n"
"""Plugins of this run, which take longer to load than the test takes, are not the debugged pytest's."""


@pytest.fixture
def started(relay: Relay) -> Started:
    """A session of a client's own, which ends with the block."""

    @asynccontextmanager
    async def run(path: Path, **options: Any) -> AsyncIterator[Agent]:
        async with over_http(relay, "legacy") as agent:
            await agent.call("debug_run", script=str(path), cwd=str(path.parent), **options)
            yield agent
            await agent.call("debug_end", force=True)

    return run


async def listed(agent: Agent, of: str) -> dict[str, Any]:
    answer = (await agent.ask("debug_stack", of=of)).structured_content
    assert answer is not None
    return answer


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_steps_go_where_they_are_told(started: Started, program: Write) -> None:
    path = program(STEPS)

    async def story() -> None:
        async with started(path, breakpoints=[f"{path}:{line_of(path, 'loop')}"]) as agent:
            assert "in double" in await agent.call("debug_step", kind="into")
            assert "returned: double → 0" in await agent.call("debug_step", kind="out")
            await agent.call("debug_breakpoints", remove=["all"])
            assert "value = 7" in await agent.call("debug_step", until="value == 7") + await agent.call(
                "debug_eval", expression="f'value = {value}'")
            told = await agent.call("debug_step", to=str(line_of(path, "end")))
            assert f"program.py:{line_of(path, 'end')}" in told
            assert "total 89700" in await agent.call("debug_step", count=5)

    play(story())


def test_breakpoints_are_added_switched_removed_and_listed(started: Started, program: Write) -> None:
    path = program(STEPS)

    async def story() -> None:
        async with started(path, stop_on="entry") as agent:
            added = await agent.call("debug_breakpoints", add=["double if x == 5", "program.py~total +="])
            assert "double" in added and "x == 5" in added
            listed = await agent.call("debug_breakpoints")
            first, second = sorted(word for word in listed.split() if word.startswith("bp_"))
            await agent.call("debug_breakpoints", disable=[second])
            assert "x = 5" in await agent.call("debug_continue")
            await agent.call("debug_breakpoints", enable=[second], remove=[first])
            assert f"program.py:{line_of(path, 'loop')}" in await agent.call("debug_continue")
            await agent.call("debug_breakpoints", remove="all", exceptions=["ZeroDivisionError"])
            refused = await agent.refused("debug_breakpoints", remove=[first])
            assert "debug_breakpoints" in refused
            assert "exited with code 0" in await agent.call("debug_continue")

    play(story())


def test_values_are_looked_into_page_by_page(started: Started, program: Write) -> None:
    path = program(STEPS)

    async def story() -> None:
        async with started(path, breakpoints=[f"{path}:{line_of(path, 'loop')}"]) as agent:
            assert "total: int = 0" in await agent.call("debug_look")
            page = await agent.call("debug_look", expression="values", start=100, count=3)
            assert "100: int = 100" in page and "102: int = 102" in page and "103: int" not in page
            assert len(page.splitlines()[0]) < 250
            assert "total" not in await agent.call("debug_look", filter="values")
            printed = await agent.call("debug_eval", expression="print('shown') or 7")
            assert "7" in printed and "shown" in printed
            raised = await agent.call("debug_eval", expression="values[1000]")
            assert "IndexError" in raised

    play(story())


def test_threads_tasks_and_locks_are_told(started: Started, program: Write) -> None:
    path = program("""
        import asyncio, threading

        lock = threading.Lock()

        def wait():
            with lock:  # @wait
                pass

        async def main():
            task = asyncio.create_task(asyncio.sleep(100), name="sleeper")
            await asyncio.sleep(0)
            print("here")  # @here
            task.cancel()

        with lock:
            thread = threading.Thread(target=wait, name="waiter")
            thread.start()
            asyncio.run(main())
        thread.join()
        """)

    async def story() -> None:
        async with started(path, breakpoints=[f"{path}:{line_of(path, 'here')}"]) as agent:
            assert "waiter" in await agent.call("debug_stack", of="threads")
            assert "sleeper" in await agent.call("debug_stack", of="tasks")
            assert "sleeper waits for" in await agent.call("debug_stack", of="locks")
            (task,) = [row for row in (await listed(agent, "tasks"))["tasks"] if row["name"] == "sleeper"]
            (thread,) = [row for row in (await listed(agent, "threads"))["threads"] if row["name"] == "waiter"]
            assert "100" in await agent.call("debug_eval", expression="delay", task=task["id"])
            held = await agent.call("debug_eval", expression="lock.locked()", thread=thread["id"])
            assert "True" in held and "inside a call" in held
            assert "main" in await agent.call("debug_stack", count=1)

    play(story())


def test_recorded_test_tells_what_matters_and_is_asked_further(relay: Relay, program: Write) -> None:
    path = program("""
        def price_of(item):
            return None if item == "gift" else len(item)

        def total(items):
            return sum(price_of(item) for item in items)

        def test_total():
            assert total(["pen", "ink", "gift"]) == 6
        """, "test_total.py")
    path.with_name(".venv").symlink_to(sys.prefix)
    path.with_name("pytest.ini").write_text(PLAIN, encoding="utf-8")

    async def story() -> None:
        async with over_http(relay, "legacy") as agent:
            told = await agent.call("debug_trace", test="test_total.py", cwd=str(path.parent), lines=["total"], wait=60)
            assert "nothing recorded handled it" in told and "price_of(item='gift') → None" in told
            assert len(told) < 3500
            found = await agent.call("debug_trace", question="calls", of="price_of", where="result is None")
            assert "1 of 3 calls" in found
            number = found.split("#")[1].split()[0]
            assert "price_of" in await agent.call("debug_trace", of=number)
            assert "were not recorded" in await agent.call("debug_trace", question="life", of=number)
            assert "given to" in await agent.call("debug_trace", question="origin", of="gift")
            assert "TypeError" in await agent.call("debug_trace", question="errors")
            assert "own" in await agent.call("debug_trace", question="slow")
            assert "needs a function" in await agent.refused("debug_trace", question="calls")
            await agent.call("debug_end", force=True)

    play(story())


def test_program_is_given_input_and_its_output_read(started: Started, program: Write) -> None:
    path = program("""
        import sys
        name = input("name? ")
        print("hello", name)
        print("careful", file=sys.stderr)
        sys.stdin.read()
        """)

    async def story() -> None:
        async with started(path) as agent:
            assert "hello Ada" in await agent.call("debug_continue", input="Ada")
            assert "exited with code 0" in await agent.call("debug_continue", eof=True)
            everything = await agent.call("debug_output")
            assert "hello Ada" in everything and "careful" in everything
            assert "hello" not in await agent.call("debug_output", stream="stderr")
            assert "STDIN_CLOSED" in await agent.refused("debug_continue", input="more")

    play(story())


def test_source_is_shown_around_a_line(started: Started, program: Write) -> None:
    path = program(STEPS)

    async def story() -> None:
        async with started(path, breakpoints=["double"]) as agent:
            assert ">" in await agent.call("debug_source", around=2)
            text = await agent.call("debug_source", file=str(path), line=line_of(path, "end"), around=0)
            assert "total" in text and "double" not in text
            assert "double(value)" in await agent.call("debug_source", frame=1, around=1)
            assert "SOURCE_NOT_FOUND" in await agent.refused("debug_source", file=str(path.with_name("none.py")))

    play(story())


def test_program_that_runs_is_paused_waited_for_and_run_again(started: Started, program: Write) -> None:
    path = program("import time\nbegun = True\nwhile True:\n    time.sleep(0.01)\n")

    async def story() -> None:
        async with started(path, wait=0.2) as agent:
            waited = await agent.call("debug_continue", action="wait", wait=0.1)
            assert "running" in waited
            assert "paused" in await agent.call("debug_continue", action="pause")
            assert "True" in await agent.call("debug_eval", expression="begun", session_id=None)
            await agent.call("debug_breakpoints", add=["program.py:2"])
            assert "program.py:2" in await agent.call("debug_continue", action="restart")

    play(story())


def test_running_program_is_found_attached_to_and_let_go(relay: Relay, program: Write) -> None:
    path = program("import time\nprint('up', flush=True)\nwhile True:\n    time.sleep(0.01)\n", "attachable_server.py")
    environment = {"PATH": "/usr/bin:/bin", RUN_MARKER: RUN_ID}

    async def story(pid: int) -> None:
        async with over_http(relay, "legacy") as agent:
            assert str(pid) in await agent.call("debug_attach", filter="attachable_server")
            stopped = await agent.call("debug_attach", pid=pid, pause=True)
            assert "paused" in stopped and "attachable_server.py" in stopped
            assert "42" in await agent.call("debug_eval", expression="6 * 7")
            await agent.call("debug_end", detach=True)

    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"up\n"
            play(story(process.pid))
            assert process.poll() is None
        finally:
            process.kill()


def test_every_other_operation_is_called_by_its_name(started: Started, program: Write) -> None:
    path = program(STEPS)

    async def story() -> None:
        async with started(path, breakpoints=["double"], watches=["x + 1"]) as agent:
            assert "export" in await agent.call("debug_call")
            assert "x + 1" in await agent.call("debug_call", operation="list_watches")
            added = await agent.call("debug_call", operation="add_watch", arguments={"expression": "x * 10"})
            assert "x * 10" in added
            assert "healthy" in await agent.call("debug_call", operation="health")
            refused = await agent.refused("debug_call", operation="add_watch", arguments={"expresion": "x"})
            assert "expression" in refused and "details" not in refused

    play(story())


def test_what_cannot_be_debugged_is_told_with_what_to_do(relay: Relay, program: Write) -> None:
    path = program(STEPS)

    async def story() -> None:
        async with over_http(relay, "legacy") as agent:
            folder = str(path.parent)
            missing = await agent.refused("debug_run", script="nowhere.py", cwd=folder)
            assert "nowhere.py does not exist" in missing and "set cwd" in missing
            ended = await agent.call("debug_run", script=path.name, cwd=folder, breakpoints=[f"{path.name}:2"])
            assert "No executable code at line 2" in ended and "exited with code 0" in ended
            await agent.call("debug_end")

    play(story())


def test_structured_content_has_no_secret_that_the_text_masks(relay: Relay, program: Write) -> None:
    path = program("""
        def connect(db_password):
            data = {"user": "u", "token": db_password}
            return data  # @here

        connect("hunter2hunter2")
        """)

    async def story() -> None:
        async with over_http(relay) as agent:
            started = await agent.ask(
                "debug_run", script=str(path), cwd=str(path.parent), breakpoints=["connect"],
                env={"API_KEY": "hunter2hunter2"})
            assert started.structured_content is not None
            session = started.structured_content["session_id"]
            answers = [
                started, await agent.ask("debug_step", session=session), await agent.ask("debug_look", session=session),
                await agent.ask("debug_look", session=session, expression="data"),
                await agent.ask("debug_eval", session=session, expression="data"),
                await agent.ask("debug_call", session=session, operation="info"),
            ]
            for answer in answers:
                assert "hunter2" not in str(answer.structured_content).replace("connect(\"hunter2hunter2\")", "")
            asked = await agent.ask("debug_eval", session=session, expression="db_password")
            assert "hunter2hunter2" in str(asked.structured_content)
            await agent.call("debug_end", session=session)

    play(story())
