"""What the MCP server offers besides sessions: few bytes of tools, words about itself, resources, and clear errors."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_clients import MODERN, Agent, mcp_url, over_http, over_stdio, relay_ended, server_command, text_of
from mcp_types import TextContent, TextResourceContents
from relays import RUN_ID, RUN_MARKER, Api, Relay
from waiting import wait_until

from opencode_debugger.agents.table import AGENT_CALLS
from opencode_debugger.cli.serving.token_work import create_token, revoke_token

Write = Callable[..., Path]

MOST_BYTES = 8 * 1024
MOST_TOOLS = 14
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def ask_over_stdio(data_dir: Path, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers, which are all that the server writes to stdout until its stdin ends."""
    env = {**os.environ, RUN_MARKER: RUN_ID}
    answers = []
    with subprocess.Popen(
        server_command(data_dir), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=env,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            if "id" in message:
                answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.stdout.read() == ""
    assert server.returncode == 0
    return answers


def test_tools_say_what_they_may_do(relay: Relay) -> None:
    async def story() -> None:
        async with over_http(relay) as agent:
            tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
            for name, call in AGENT_CALLS.items():
                hints = tools[name].annotations
                assert hints is not None and hints.title
                assert bool(hints.read_only_hint) == call.is_read_only
                assert call.is_read_only or hints.destructive_hint == call.is_destructive

    asyncio.run(story())


def test_server_teaches_when_and_how_to_debug(relay: Relay) -> None:
    async def story() -> None:
        async with over_http(relay, "legacy") as agent:
            assert "debug_run" in (agent.client.instructions or "")
            (prompt,) = (await agent.client.list_prompts()).prompts
            answer = await agent.client.get_prompt(prompt.name, {"problem": "the total is wrong"})
            content = answer.messages[0].content
            assert isinstance(content, TextContent)
            assert "The problem: the total is wrong" in content.text
            assert len(content.text.splitlines()) <= 22
            for word in content.text.replace(",", " ").replace(":", " ").split():
                assert not word.startswith("debug_") or word.rstrip(".;") in AGENT_CALLS
            with pytest.raises(MCPError, match="debug is the one"):
                await agent.client.get_prompt("other")

    asyncio.run(story())


def test_output_and_source_are_resources(relay: Relay, program: Write) -> None:
    path = program('print("über")\nx = 1\nprint("done")\n', "my program.py")

    async def story() -> None:
        async with over_http(relay, "legacy") as agent:
            started = await agent.ask("debug_run", script=str(path), cwd=str(path.parent), breakpoints=[f"{path}:2"])
            assert started.structured_content is not None
            session = started.structured_content["session_id"]
            listed = (await agent.client.list_resources()).resources
            assert f"session://{session}/output" in [resource.uri for resource in listed]
            assert len((await agent.client.list_resource_templates()).resource_templates) == 2
            assert await read(agent, f"session://{session}/output") == "über\n"
            assert await read(agent, f"session://{session}/source/{path}") == path.read_text()
            for uri in ("session://sess_none/output", f"session://{session}/else", "file:///etc/passwd"):
                with pytest.raises(MCPError, match="→"):
                    await read(agent, uri)
            await agent.call("debug_end", session=session)

    asyncio.run(story())


async def read(agent: Agent, uri: str) -> str:
    (content,) = (await agent.client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


def test_wrong_arguments_are_told_with_what_is_right(relay: Relay) -> None:
    async def story() -> None:
        async with over_http(relay) as agent:
            assert "Did you mean kind?" in await agent.refused("debug_step", kindd="over")
            assert "one of back, into, out, over" in await agent.refused("debug_step", kind="sideways")
            assert "count is integer" in await agent.refused("debug_step", count="many")
            assert "debug_eval needs expression" in await agent.refused("debug_eval")
            assert "command, script" in await agent.refused("debug_run")
            assert "not script and module" in await agent.refused("debug_run", script="a.py", module="a")
            assert "cwd" in await agent.refused("debug_run", script="a.py")
            assert "Did you mean clone_session" in await agent.refused("debug_call", operation="clone_sesion")
            assert "remove_watch needs watch_id" in await agent.refused(
                "debug_call", operation="remove_watch", session="sess_none")
            assert "debug_sessions" in await agent.refused("debug_step", session="sess_none")
            with pytest.raises(MCPError, match="did you mean debug_step"):
                await agent.ask("debug_stepp")

    asyncio.run(story())


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_what_leads_nowhere_is_refused_in_the_same_way_everywhere(
    relay: Relay, tmp_path: Path, transport: str
) -> None:
    async def story() -> None:
        async with over_http(relay) if transport == "http" else over_stdio(relay.data_dir, tmp_path) as agent:
            for session in ("sess_1/locks", "..", "s" * 1000):
                assert "SESSION_NOT_FOUND" in await agent.refused("debug_stack", session=session)
            for operation, arguments, cause in (
                ("info", {"session_id": "sess_1/locks"}, "There is no session"),
                ("info", {"session_id": "sess_1", "format": "text"}, "form of the answer"),
                ("list_sessions", {"lean": True}, "form of the answer"),
                ("get_profile", {"name": "a/b"}, "has a /"),
                ("get_profile", {"name": ""}, "is empty"),
            ):
                told = await agent.refused("debug_call", operation=operation, arguments=arguments)
                assert cause in told and "no relay" not in told

    asyncio.run(story())


def test_arguments_are_taken_as_models_write_them(relay: Relay, program: Write) -> None:
    path = program("for i in range(9):\n    x = i\nprint(x)\n")

    async def story() -> None:
        async with over_http(relay, "legacy") as agent:
            await agent.call(
                "debug_run", command=f"python {path.name}", cwd=str(path.parent), breakpoints=f"{path.name}:2",
                wait="30", module=None, env='{"A": "1"}')
            assert "i: int = 1" in await agent.call("debug_step", count="3") + await agent.call("debug_look")
            assert "'1'" in await agent.call("debug_eval", expression="__import__('os').environ['A']", frame="0")
            await agent.call("debug_end", force="true")

    asyncio.run(story())


def test_client_whose_model_would_not_see_the_text_gets_the_text_alone(relay: Relay) -> None:
    async def story() -> None:
        for name, is_structured in (("claude-code", False), ("Visual Studio Code - Insiders", False), ("other", True)):
            async with over_http(relay, "legacy", client=name) as agent:
                answer = await agent.ask("debug_sessions")
                assert text_of(answer)
                assert (answer.structured_content is not None) == is_structured

    asyncio.run(story())


# Who may come in.


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    relay = Relay(tmp_path_factory.mktemp("locked") / "data", require_token=True).start()
    yield relay
    assert relay.stop() == 0


def make_token(relay: Relay, name: str, *scopes: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert create_token(name, scopes, "never", False, relay.data_dir) == 0
    return printed.getvalue().strip()


def test_token_is_needed_and_says_what_may_be_done(locked: Relay, program: Write) -> None:
    path = program("x = 1\nprint(x)\n")
    reader, writer = make_token(locked, "reader", "sessions:read"), make_token(locked, "writer", "all")

    async def story() -> None:
        async with over_http(locked, token=writer) as writing, over_http(locked, token=reader) as reading:
            started = await writing.ask("debug_run", script=str(path), cwd=str(path.parent), stop_on="entry")
            assert started.structured_content is not None
            session = started.structured_content["session_id"]
            assert session in await reading.call("debug_sessions")
            assert "program.py" in await reading.call("debug_stack", session=session)
            for tool, arguments in (
                ("debug_run", {"script": str(path), "cwd": str(path.parent)}), ("debug_step", {}),
                ("debug_eval", {"expression": "1"}), ("debug_end", {}), ("debug_output", {}),
                ("debug_call", {"operation": "shutdown"}),
            ):
                of_session = {} if tool in ("debug_run", "debug_call") else {"session": session}
                assert "FORBIDDEN" in await reading.refused(tool, **arguments, **of_session)
            await writing.call("debug_end", session=session)

    asyncio.run(story())
    assert httpx2.post(mcp_url(locked), json=INITIALIZE, headers=ACCEPT).status_code == 401


def test_connection_is_only_for_the_token_that_opened_it(locked: Relay) -> None:
    one, other = make_token(locked, "one", "all"), make_token(locked, "other", "all")
    first = {**ACCEPT, "Authorization": f"Bearer {one}"}
    opened = httpx2.post(mcp_url(locked), json=INITIALIZE, headers=first, timeout=60)
    assert opened.status_code == 200
    connection = {**ACCEPT, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for token, status in ((one, 200), (other, 404)):
        headers = {**connection, "Authorization": f"Bearer {token}"}
        assert httpx2.post(mcp_url(locked), json=ping, headers=headers).status_code == status


def test_what_is_remembered_for_a_connection_is_only_for_its_token(locked: Relay, program: Write) -> None:
    """Clients of the newest protocol may send any id of a connection."""
    path = program("x = 1\nprint(x)\n")
    run = {"script": str(path), "cwd": str(path.parent), "stop_on": "entry"}
    headers = {"Mcp-Session-Id": "chosen"}

    async def story() -> None:
        async with (
            over_http(locked, MODERN, make_token(locked, "first", "all"), headers=headers) as first,
            over_http(locked, MODERN, make_token(locked, "second", "all"), headers=headers) as second,
        ):
            started = [(await first.call("debug_run", **run)).split()[0] for _ in range(2)]
            assert "program.py" in await first.call("debug_stack")
            assert "There are 2 sessions" in await second.refused("debug_stack")
            for session in started:
                await first.call("debug_end", session=session)

    asyncio.run(story())


def test_stream_ends_when_its_token_is_revoked(locked: Relay) -> None:
    headers = {**ACCEPT, "Authorization": f"Bearer {make_token(locked, 'leaving', 'all')}"}
    opened = httpx2.post(mcp_url(locked), json=INITIALIZE, headers=headers, timeout=60)
    headers |= {"Accept": "text/event-stream", "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    with httpx2.stream("GET", mcp_url(locked), headers=headers, timeout=60) as listening:
        assert listening.status_code == 200
        assert revoke_token("leaving", locked.data_dir) == 0
        pings = 0
        for line in listening.iter_lines():
            pings += line.startswith(": ping")
            assert pings <= 1, "a revoked token still listens"


def test_web_pages_are_kept_out(relay: Relay) -> None:
    for headers in ({"Origin": "https://example.org"}, {"Host": "example.org"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = httpx2.post(mcp_url(relay), json=INITIALIZE, headers={**ACCEPT, **headers}, timeout=60)
        assert answer.status_code in (403, 421)


def test_what_is_no_mcp_is_refused_and_not_an_error_of_ours(relay: Relay, api: Api) -> None:
    url = mcp_url(relay)
    for answer in (
        httpx2.post(url, content=b"{", headers={**ACCEPT, "Content-Type": "application/json"}),
        httpx2.post(url, json=[], headers=ACCEPT),
        httpx2.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "nothing"}, headers=ACCEPT),
        httpx2.post(url, json=INITIALIZE, headers={"Accept": "text/html"}),
        httpx2.put(url, json={}),
        httpx2.get(url, headers={**ACCEPT, "Mcp-Session-Id": "unknown"}),
        httpx2.delete(url, headers={"Mcp-Session-Id": "unknown"}),
        httpx2.post(url, content=b"x" * (17 << 20), headers={**ACCEPT, "Content-Type": "application/json"}),
        httpx2.post(url, json=INITIALIZE, headers={**ACCEPT, "Mcp-Protocol-Version": "1999-01-01"}),
    ):
        assert 400 <= answer.status_code < 500, answer.text
    assert api.get("/health")["status"] == "healthy"


def test_relay_that_is_ending_answers_in_its_own_words_and_ends_though_a_client_listens(tmp_path: Path) -> None:
    """While a program that does not want to end is waited for."""
    relay = Relay(tmp_path / "data").start()
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN); print('begun', flush=True); signal.pause()"
    with httpx2.Client(timeout=60, verify=False) as http:
        opened = http.post(mcp_url(relay), json=INITIALIZE, headers=ACCEPT)  # loads the server first
        started = http.post(f"{relay.base_url}/run", json={"code": stubborn, "cwd": str(tmp_path), "wait": 0})
        output = f"{relay.base_url}/sessions/{started.json()['data']['session_id']}/output"
        wait_until(lambda: "begun" in http.get(output).text)
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        with http.stream("GET", mcp_url(relay), headers=headers) as listening:
            assert listening.status_code == 200
            assert http.post(f"{relay.base_url}/shutdown").status_code == 202
            with contextlib.suppress(httpx2.TransportError):  # until it is gone
                while True:
                    assert "INTERNAL_ERROR" not in http.post(mcp_url(relay), json=INITIALIZE, headers=ACCEPT).text
            assert relay.stop() == 0


def test_list_of_tools_is_short_and_only_messages_are_written_to_stdout(tmp_path: Path) -> None:
    """Also while a relay is started, which writes elsewhere."""
    data = tmp_path / "data"
    ready, listing = {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"}
    call = {"id": 3, "method": "tools/call", "params": {"name": "debug_sessions", "arguments": {}}}
    with relay_ended(data):
        first, listed, called = ask_over_stdio(data, INITIALIZE, ready, listing, call)
    assert (first["id"], listed["id"], called["id"]) == (1, 2, 3)
    assert len(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode()) <= MOST_BYTES
    assert [tool["name"] for tool in listed["result"]["tools"]] == list(AGENT_CALLS)
    assert len(AGENT_CALLS) <= MOST_TOOLS
    assert "no sessions" in called["result"]["content"][0]["text"]


def test_relay_loads_the_server_only_when_it_is_asked_for() -> None:
    check = "import sys, opencode_debugger.cli.serving.serve; sys.exit(bool({'mcp', 'mcp_types'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
