"""Carries out the steps of a hunt: through MCP, through `ocdb`, and through plain REST."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx2
import msgspec
from bug_hunts import Hunt, Step
from places import ROOT
from relays import RUN_ID, RUN_MARKER, Relay

from bench.mcp_client import McpClient
from opencode_debugger.agents.conversation import Conversation, run_now
from opencode_debugger.agents.table import AGENT_CALLS
from opencode_debugger.operations.http_request import request_for
from opencode_debugger.operations.table import OPERATIONS

PROGRAMS = Path(__file__).with_name("programs")


class Exchange(NamedTuple):
    asked: str
    answer: str


class Performer(Protocol):
    def perform(self, step: Step) -> list[Exchange]: ...
    def close(self) -> None: ...


def make_project(folder: Path) -> None:
    """Lay out the hunted programs in a folder, with an environment that has the old releases."""
    subprocess.run(["sh", ROOT / "scripts" / "hunted-packages"], check=True)
    for program in PROGRAMS.iterdir():
        shutil.copytree(program, folder, dirs_exist_ok=True)
    (folder / ".venv").symlink_to(ROOT / ".venv" / "hunted")


def perform_hunt(hunt: Hunt, performer: Performer) -> list[Exchange]:
    """Take every step; each answer must show what the hunter is to learn from it."""
    exchanges: list[Exchange] = []
    for step in hunt.steps:
        exchanges += (new := performer.perform(step))
        answer = "\n".join(each.answer for each in new)
        for expected in step.shows:
            assert re.search(expected, answer, re.DOTALL), f"{expected!r} is not in: {answer}"
    return exchanges


def environment_of(relay: Relay) -> dict[str, str]:
    return {**os.environ, RUN_MARKER: RUN_ID, "OPENCODE_DEBUG_DATA_DIR": str(relay.data_dir)}


class McpPerformer:
    """An agent whose client has started `opencode-debugger mcp` in the project's folder."""

    def __init__(self, relay: Relay, folder: Path) -> None:
        command = [sys.executable, "-m", "opencode_debugger", "mcp"]
        self._client = McpClient(command, folder / "mcp.log", environment_of(relay))
        try:
            self._client.initialize()
        except BaseException:
            self._client.close()
            raise

    def perform(self, step: Step) -> list[Exchange]:
        asked = f"{step.call} {json.dumps(step.arguments)}"
        return [Exchange(asked, self._client.call(step.call, **step.arguments))]

    def close(self) -> None:
        self._client.close()


class CommandPerformer:
    """An agent or a person with a shell in the project's folder."""

    def __init__(self, relay: Relay, folder: Path) -> None:
        self._environment = environment_of(relay)
        self._folder = folder

    def perform(self, step: Step) -> list[Exchange]:
        words = command_words(step)
        done = subprocess.run(
            [sys.executable, "-m", "opencode_debugger", *words],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return [Exchange(shlex.join(["ocdb", *words]), done.stdout + done.stderr)]

    def close(self) -> None:
        pass


def command_words(step: Step) -> list[str]:
    """Spell an agent call as a command."""
    given = step.arguments
    match step.call:
        case "debug_run":
            breakpoints = [word for each in given.get("breakpoints", ()) for word in ("-b", each)]
            watches = [word for each in given.get("watches", ()) for word in ("-w", each)]
            return ["run", *breakpoints, *watches, given["script"]]
        case "debug_step" if "until" in given:
            return ["until", given["until"]]
        case "debug_step":
            return [{"over": "next", "into": "step"}.get(given["kind"], given["kind"])]
        case "debug_eval":
            return ["print", given["expression"]]
        case "debug_source":
            return ["source", str(given["line"]), "--around", str(given["around"])]
        case "debug_end":
            return ["end"]
    raise AssertionError(f"no hunt has needed {step.call} yet")


class RestPerformer:
    """A client that knows the routes and reads the JSON of their answers."""

    base = None

    def __init__(self, relay: Relay, folder: Path) -> None:
        self._http = httpx2.Client(base_url=relay.base_url.removesuffix("/api/v1"), timeout=60, verify=False)
        self._folder = folder
        self._exchanges: list[Exchange] = []
        self._session = ""

    def perform(self, step: Step) -> list[Exchange]:
        self._exchanges = []
        if step.call == "debug_run":
            self._run(**step.arguments)
        else:
            call = AGENT_CALLS[step.call]
            arguments = msgspec.convert({**step.arguments, "session": self._session}, call.takes)
            run_now(call.perform(Conversation(self, self), arguments))
        return self._exchanges

    def _run(self, script: str, breakpoints: list[str], watches: tuple[str, ...] = ()) -> None:
        """A session, its breakpoints and watches, and its program are made one after the other."""
        wishes = {"project_root": str(self._folder), "restore_breakpoints": False}
        made = run_now(self.ask("create_session", wishes))
        self._session = json.loads(made)["session_id"]
        named = {"session_id": self._session}
        run_now(self.ask("set_breakpoints", {**named, "breakpoints": breakpoints}))
        for expression in watches:
            run_now(self.ask("add_watch", {**named, "expression": expression}))
        run_now(self.ask("launch", {**named, "script": str(self._folder / script), "wait": 30}))

    async def ask(self, operation: str, params: dict[str, Any]) -> bytes:
        method, path, encoded = request_for(OPERATIONS[operation], params)
        body = None if encoded is None else json.loads(encoded)
        answer = self._http.request(method, path, json=body)
        self._exchanges.append(Exchange(f"{method} {path} {json.dumps(body)}", answer.text))
        return json.dumps(answer.json()["data"]).encode()

    def recall(self) -> str | None:
        return self._session

    def remember(self, session_id: str | None) -> None:
        """It names its session each time."""

    def close(self) -> None:
        self._http.close()
