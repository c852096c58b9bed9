"""Debuggers over MCP, ours and its peers: how each is brought to a breakpoint, and how it tells a step.

A step ends when place, source and locals are known; each is asked with the fewest calls of its tools that tell them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bench.mcp_client import McpClient
from bench.relay import RelayProcess
from bench.target import BREAK, PROGRAM

INSTALL = Path(__file__).parents[1] / "scripts" / "bench-peers"
OURS = "opencode-debugger"


class Debugger(Protocol):
    def start(self, client: McpClient) -> None: ...
    def step(self, client: McpClient) -> str: ...


class Server(NamedTuple):
    """A debugger, and the command that serves it."""

    debugger: Debugger
    command: list[str]
    environment: dict[str, str]


def install_peers() -> None:
    """Install those that are missing; one that cannot be is named on stderr."""
    subprocess.run(["sh", INSTALL, _installed()], env={**os.environ, "PYTHON": sys.executable}, check=True)


def find_servers(relay: RelayProcess, folder: Path) -> dict[str, Server]:
    """Return ours, through the relay that runs, and the peers that are installed."""
    command = [sys.executable, "-m", "opencode_debugger", "mcp"]
    found = {OURS: Server(Ours(), command, relay.client_environment)}
    for name, server in _peers(_installed(), folder).items():
        version = _installed() / name / ".installed"
        if version.exists():
            found[f"{name} {version.read_text(encoding='utf-8').strip()}"] = server
    return found


def _installed() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "opencode-debugger" / "peers"


def _peers(installed: Path, folder: Path) -> dict[str, Server]:
    """mcp-debugger has no debugpy of its own, and takes the one of dap-mcp's environment."""
    python = installed / "dap-mcp" / "bin" / "python"
    node = installed / "mcp-debugger" / "node_modules" / ".bin"
    polybugger = installed / "polybugger-mcp" / "bin"
    config = folder / "dap-mcp.json"
    adapter = {"type": "debugpy", "debuggerPath": str(python), "debuggerArgs": ["-m", "debugpy.adapter"]}
    config.write_text(json.dumps({**adapter, "python": [str(python)], "program": PROGRAM}), encoding="utf-8")
    with_debugpy = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    return {
        "polybugger-mcp": Server(Polybugger(polybugger / "python"), [str(polybugger / "polybugger-mcp")], {}),
        "dap-mcp": Server(DapMcp(), [str(python.with_name("dap-mcp")), "--config", str(config)], {}),
        "mcp-debugger": Server(
            McpDebugger(python), [str(node / "node"), str(node / "mcp-debugger"), "stdio"], with_debugpy
        ),
    }


class Ours:
    def start(self, client: McpClient) -> None:
        client.call("debug_run", script=PROGRAM, breakpoints=[f"{PROGRAM}:{BREAK}"], python=sys.executable)

    def step(self, client: McpClient) -> str:
        return client.call("debug_step")


class Polybugger:
    def __init__(self, python: Path) -> None:
        self._python = str(python)
        self._session: dict[str, str] = {}

    def start(self, client: McpClient) -> None:
        folder = str(Path(PROGRAM).parent)
        made = json.loads(client.call("debug_create_session", project_root=folder, python_path=self._python))
        self._session = {"session_id": made["session_id"]}
        client.call("debug_set_breakpoints", **self._session, file_path=PROGRAM, lines=[BREAK])
        client.call("debug_launch", **self._session, program=PROGRAM)
        self._await_stop(client)

    def step(self, client: McpClient) -> str:
        client.call("debug_step", **self._session, mode="over")
        self._await_stop(client)
        place = client.call("debug_get_call_chain", **self._session, format="json")
        frame = json.loads(place)["call_chain"][0]["frame_id"]
        scopes = json.loads(client.call("debug_get_scopes", **self._session, frame_id=frame, format="json"))["scopes"]
        reference = scopes[0]["variables_reference"]
        return place + client.call(
            "debug_get_variables", **self._session, variables_reference=reference, format="json"
        )

    def _await_stop(self, client: McpClient) -> None:
        """Poll as it tells agents to: other events come before the stop."""
        while not any(event["type"] == "stopped" for event in self._events(client)):
            pass

    def _events(self, client: McpClient) -> Any:
        return json.loads(client.call("debug_poll_events", **self._session))["events"]


class DapMcp:
    def start(self, client: McpClient) -> None:
        client.call("set_breakpoint", path=PROGRAM, line=BREAK)
        client.call("launch")

    def step(self, client: McpClient) -> str:
        return client.call("next")


class McpDebugger:
    def __init__(self, python: Path) -> None:
        self._python = str(python)
        self._session: dict[str, str] = {}

    def start(self, client: McpClient) -> None:
        made = json.loads(client.call("create_debug_session", language="python", executablePath=self._python))
        self._session = {"sessionId": made["sessionId"]}
        client.call("set_breakpoint", **self._session, file=PROGRAM, line=BREAK)
        client.call("start_debugging", **self._session, scriptPath=PROGRAM, dapLaunchArgs={"stopOnEntry": False})

    def step(self, client: McpClient) -> str:
        return client.call("step_over", **self._session) + client.call("get_local_variables", **self._session)
