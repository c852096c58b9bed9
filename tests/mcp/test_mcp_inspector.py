"""The MCP inspector's command line debugs programs: a process for each call, and the session is found again."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_clients import mcp_url, server_command
from native import Builder
from places import ROOT
from relays import Api, Relay

Write = Callable[..., Path]
Inspect = Callable[..., Any]

BIN = ROOT / ".venv" / "npm" / "node_modules" / ".bin"
SUMS = """
    total = 0
    for item in [1, 2, 3]:
        total += item
    print("total", total)
    """


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open(tmp_path_factory.getbasetemp().parent / "inspector.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["sh", str(ROOT / "scripts" / "mcp-inspector")], check=True)


@pytest.fixture
def inspect(request: pytest.FixtureRequest, relay: Relay, api: Api, tmp_path: Path) -> Iterator[Inspect]:
    """Call the inspector, and get what it prints; the only session is found by each of its processes."""
    end_sessions(api)
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "HOME": str(tmp_path), "MCP_CATALOG_PATH": str(tmp_path / "catalog.json")}
    server = server_command(relay.data_dir) if request.param == "stdio" else [mcp_url(relay)]

    def run(method: str, *options: str) -> Any:
        patience = ["--connect-timeout", "120000"]
        command = [str(BIN / "mcp-inspector"), "--cli", *patience, "--method", method, *options, "--", *server]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    yield run
    end_sessions(api)


def end_sessions(api: Api) -> None:
    for item in api.get("/sessions")["items"]:
        api.delete(f"/sessions/{item['session_id']}", force="true")


def call_tool(inspect: Inspect, tool: str, **arguments: Any) -> str:
    given = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()]
    options = [part for each in given for part in ("--tool-arg", each)]
    answer = inspect("tools/call", "--tool-name", tool, *options)
    assert not answer.get("isError"), answer
    text: str = answer["content"][0]["text"]
    return text


@pytest.mark.parametrize("inspect", [pytest.param("stdio", marks=pytest.mark.wide), "http"], indirect=True)
def test_inspector_finds_the_tools_portable(inspect: Inspect) -> None:
    assert len(inspect("tools/list", "--strict")["tools"]) == 14


@pytest.mark.parametrize("inspect", ["stdio"], indirect=True)
def test_inspector_debugs_a_python_program(inspect: Inspect, program: Write) -> None:
    path = program(SUMS, "sums.py")
    stopped = call_tool(inspect, "debug_run", command="python sums.py", cwd=str(path.parent), breakpoints=["sums.py:3"])
    assert "sums.py:3" in stopped
    assert "total: 0 → 1" in call_tool(inspect, "debug_step")
    call_tool(inspect, "debug_breakpoints", remove=["all"])
    assert "exited with code 0" in call_tool(inspect, "debug_continue")
    assert "deleted" in call_tool(inspect, "debug_end", session=stopped.split()[0])


@pytest.mark.parametrize("inspect", ["http"], indirect=True)
def test_inspector_debugs_a_c_program(inspect: Inspect, build: Builder) -> None:
    native = build("sums")
    stopped = call_tool(
        inspect, "debug_run", program=str(native.program), cwd=str(native.program.parent), breakpoints=["add"])
    assert "in add" in stopped
    assert "exited with code 0" in call_tool(inspect, "debug_continue")
    assert "deleted" in call_tool(inspect, "debug_end", session=stopped.split()[0])
