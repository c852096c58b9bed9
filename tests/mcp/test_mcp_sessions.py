"""Whole debug sessions through MCP, by the official client: over stdio and HTTP, in each era of the protocol."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp_clients import MODERN, Agent, over_http, over_stdio, pid_of_relay, relay_ended, text_of
from native import Builder
from relays import Api, Relay, free_port, line_of
from waiting import runs, wait_until

Write = Callable[..., Path]
Connect = Callable[[Path], AbstractAsyncContextManager[Agent]]

SUMS = """
    def add(a, b):
        total = a + b  # @add
        return total

    result = 0
    for item in [1, 2, 3]:
        result = add(result, item)
    print("result", result)
    """
WAITING = """
    import os, sys, time
    print("begun", flush=True)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    print("seen")  # @seen
    """


@pytest.fixture(autouse=True)
def no_other_sessions(api: Api) -> Iterator[None]:
    """Clients find the only session that there is."""
    end_sessions(api)
    yield
    end_sessions(api)


def end_sessions(api: Api) -> None:
    for item in api.get("/sessions")["items"]:
        api.delete(f"/sessions/{item['session_id']}", force="true")


@pytest.fixture(params=["stdio", "stdio, handshake", "http", "http, handshake"])
def connect(request: pytest.FixtureRequest, relay: Relay) -> Connect:
    """A way to the relay: the transport, and the era of the protocol."""
    transport, _, era = request.param.partition(", ")
    mode = "legacy" if era else MODERN
    if transport == "http":
        return lambda folder: over_http(relay, mode)
    return lambda folder: over_stdio(relay.data_dir, folder, mode)


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_python_program_is_debugged_from_its_start_to_its_end(connect: Connect, program: Write) -> None:
    path = program(SUMS, "sums.py")

    async def story() -> None:
        async with connect(path.parent) as agent:
            started = await agent.ask(
                "debug_run", command="python sums.py", cwd=str(path.parent),
                breakpoints=[f"sums.py:{line_of(path, 'add')} if b == 2"])
            assert started.structured_content is not None
            assert started.structured_content["status"] == "paused"
            session = started.structured_content["session_id"]
            stepped = await agent.call("debug_step", session=session)
            assert "total = 3" in stepped
            assert "6" in await agent.call("debug_eval", session=session, expression="total * 2")
            assert "result: int = 1" in await agent.call("debug_look", session=session, frame=1)
            assert "add" in await agent.call("debug_stack", session=session)
            assert "total = a + b" in await agent.call("debug_source", session=session)
            ended = await agent.call("debug_continue", session=session)
            assert "exited with code 0" in ended
            assert "result 6" in await agent.call("debug_output", session=session)
            refused = await agent.refused("debug_step", session=session)
            assert "debug_continue action=restart" in refused
            assert session in await agent.call("debug_end", session=session)
            assert session not in await agent.call("debug_sessions")

    play(story())


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_c_program_is_debugged_from_its_start_to_its_end(
    relay: Relay, build: Builder, transport: str, tmp_path: Path
) -> None:
    native = build("sums")

    async def story() -> None:
        async with over_stdio(relay.data_dir, tmp_path) if transport == "stdio" else over_http(relay) as agent:
            started = await agent.ask(
                "debug_run", program=str(native.program), cwd=str(native.program.parent), breakpoints=["add"])
            assert started.structured_content is not None
            session = started.structured_content["session_id"]
            assert "in add" in text_of(started)
            assert "→ 30" in await agent.call("debug_step", session=session)
            assert "60" in await agent.call("debug_eval", session=session, expression="sum * 2")
            assert "in main" in await agent.call("debug_step", session=session, kind="out")
            assert "exited with code 0" in await agent.call("debug_continue", session=session)
            await agent.call("debug_end", session=session)

    play(story())


def test_wait_that_is_cancelled_ends_and_the_program_goes_on(
    connect: Connect, program: Write, tmp_path: Path, api: Api
) -> None:
    path, go = program(WAITING), tmp_path / "go"

    async def story() -> None:
        async with connect(path.parent) as agent:
            started = await agent.ask(
                "debug_run", script=str(path), args=[str(go)], cwd=str(path.parent), stop_on="entry")
            assert started.structured_content is not None
            session = started.structured_content["session_id"]
            waiting = asyncio.create_task(agent.ask("debug_continue", session=session, wait=300))
            await asyncio.to_thread(wait_until, lambda: api.get(f"/sessions/{session}/status")["status"] == "running")
            waiting.cancel()
            await asyncio.wait([waiting])
            assert "running" in await agent.call("debug_sessions")
            go.touch()
            assert "exited with code 0" in await agent.call("debug_continue", session=session, action="wait")
            await agent.call("debug_end", session=session)

    play(story())


def test_client_that_asks_for_it_is_told_how_long_it_waits(connect: Connect, program: Write, tmp_path: Path) -> None:
    path, go = program(WAITING), tmp_path / "go"
    told: list[str | None] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)
        go.touch()

    async def story() -> None:
        async with connect(path.parent) as agent:
            ended = await agent.call(
                "debug_run", tell, script=str(path), args=[str(go)], cwd=str(path.parent), wait=300)
            assert "exited with code 0" in ended
            await agent.call("debug_end", session=ended.split()[0])

    play(story())
    assert told and str(told[0]).startswith("running, ")


def test_session_of_the_connection_is_meant_if_none_is_named(relay: Relay, program: Write) -> None:
    path = program(SUMS)

    async def story() -> None:
        async with over_stdio(relay.data_dir, path.parent) as one, over_http(relay, "legacy") as other:
            for agent in (one, other):
                await agent.call("debug_run", script=str(path), cwd=str(path.parent), stop_on="entry")
            await one.call("debug_eval", expression="whose = 'one'")
            await other.call("debug_eval", expression="whose = 'other'")
            assert "'one'" in await one.call("debug_eval", expression="whose")
            assert "'other'" in await other.call("debug_eval", expression="whose")
            async with over_http(relay, "legacy") as third:
                refused = await third.refused("debug_step")
                assert "There are 2 sessions" in refused
                assert "for instance session=sess_" in refused.splitlines()[-1]
                assert 'cwd="/' in (await third.refused("debug_run", script="app.py")).splitlines()[-1]
            await one.call("debug_end")
            async with over_http(relay, "legacy") as third:
                refused = await third.refused("debug_end")
                assert "This client has started no session" in refused
            await other.call("debug_end")
            assert "debug_run" in await one.refused("debug_step")

    play(story())


def test_only_live_session_is_found_by_a_new_client(relay: Relay, program: Write) -> None:
    path = program(SUMS)

    async def story() -> None:
        async with over_http(relay) as agent:
            await agent.call("debug_run", script=str(path), cwd=str(path.parent), stop_on="entry")
        async with over_http(relay, "legacy") as agent:
            assert "3" in await agent.call("debug_eval", expression="1 + 2")
            await agent.call("debug_end")

    play(story())


def test_relay_is_started_for_the_first_call_and_again_after_a_crash(program: Write, tmp_path: Path) -> None:
    path, data = program(SUMS), tmp_path / "data"

    async def story() -> None:
        async with over_stdio(data, path.parent) as agent:
            await agent.client.list_tools()
            assert (await agent.client.list_resources()).resources == []
            assert not data.exists()
            await agent.call("debug_run", script=path.name, stop_on="entry")
            await agent.call("debug_eval", expression="kept = 41")
            crashed = pid_of_relay(data)
            os.kill(crashed, signal.SIGKILL)
            await asyncio.to_thread(wait_until, lambda: not runs(crashed))
            assert "42" in await agent.call("debug_eval", expression="kept + 1")
            assert pid_of_relay(data) != crashed
            await agent.call("debug_end")

    with relay_ended(data):
        play(story())


def test_relay_of_another_version_is_asked_and_that_is_logged(tmp_path: Path) -> None:
    data = tmp_path / "data"

    async def story() -> None:
        async with over_stdio(data, tmp_path) as agent:
            assert "no session" in await agent.call("debug_sessions")
        lock = data / "relay.lock"
        lock.write_text(json.dumps(json.loads(lock.read_bytes()) | {"version": "0.0.1"}))
        async with over_stdio(data, tmp_path, log=log) as agent:
            assert "no session" in await agent.call("debug_sessions")

    with open(tmp_path / "log", "w+") as log, relay_ended(data):
        play(story())
        log.seek(0)
        assert log.read().count("has version 0.0.1, this client") == 1


def test_relay_that_cannot_be_reached_is_told_to_the_model(tmp_path: Path) -> None:
    async def story() -> None:
        async with over_stdio(tmp_path, tmp_path, server=f"http://127.0.0.1:{free_port()}") as agent:
            refused = await agent.refused("debug_sessions")
            assert "no relay answers" in refused
            assert "opencode-debugger serve" in refused

    play(story())


def test_mistyped_session_does_not_replace_the_one_that_is_remembered(relay: Relay, program: Write) -> None:
    path = program(SUMS, "sums.py")
    run = {"script": str(path), "cwd": str(path.parent), "stop_on": "entry"}

    async def story() -> None:
        async with over_http(relay, "legacy") as agent:
            for _ in range(2):
                await agent.call("debug_run", **run)
            for mistyped in ("sess_none", "sess/none"):
                await agent.refused("debug_stack", session=mistyped)
                assert "sums.py" in await agent.call("debug_stack")

    play(story())
