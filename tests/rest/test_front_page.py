"""The relay explains itself: `/` to browsers and programs, `/llms.txt` to agents, whose commands work when pasted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from relays import Api, Relay, Session, line_of
from stub_relay import Door, served
from targets import running

from opencode_debugger.doors.rest.front_page import PLACES

BEFORE = """\
import time

items = []


class Cart:
    def add(self, item):
        items.append(item)


def advance(number):
    return number + 1


"""
LOOP = """\
def grow(x, total=0):
    while x < 8:
        x = advance(x)
        items.append(x)
        total = total + x  # @stops
        time.sleep(0)
    return total


print("begun")
grow(0)
print("answer", input("Go on? "))
while True:
    time.sleep(0.01)
"""
APP = BEFORE + "\n" * (42 - 5 - BEFORE.count("\n")) + LOOP
"""The line on which the text breaks is 42 here, too."""
FAILING = "def test_total():\n    total = 3\n    assert total == 4\n"
WAITING = "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.01)\n"


@pytest.fixture(scope="module")
def door() -> Door:
    with served() as door:
        yield door


def address(relay: Relay) -> str:
    return relay.base_url.removesuffix("/api/v1")


@pytest.mark.parametrize("accept", ["*/*", "text/plain", "application/json", "text/html;q=0.5, text/plain", ""])
def test_others_get_a_short_text(door: Door, accept: str) -> None:
    answer = door.client.get("/", headers={"Accept": accept})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(answer.content) <= 1024
    assert f"http://127.0.0.1:{door.port}/llms.txt" in answer.text


def test_every_place_that_is_named_is_there(relay: Relay) -> None:
    for path, _ in PLACES:
        answer = httpx2.get(address(relay) + path, timeout=60)
        assert answer.status_code == 200
        assert len(answer.text) > 10


def test_info_has_the_methods_of_each_path(api: Api) -> None:
    info = api.get("/info")
    assert list(info["methods"]) == info["endpoints"]
    assert sorted(info["methods"]["/api/v1/sessions"]) == ["GET", "POST"]
    assert info["methods"]["/api/v1/run"] == ["POST"]


def test_the_text_for_agents_is_short_and_has_the_address_at_which_it_was_asked_for(relay: Relay) -> None:
    answer = httpx2.get(f"http://localhost:{relay.port}/llms.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(answer.content) <= 4096
    assert f"R=http://localhost:{relay.port}/api/v1" in answer.text
    assert not re.search(r"\{\{|\}\}\}", answer.text)


def test_a_relay_on_a_unix_socket_names_it(tmp_path: Path) -> None:
    (tmp_path / "my relay").mkdir(mode=0o700)
    uds = tmp_path / "my relay" / "relay.sock"
    relay = Relay(tmp_path / "data", uds=uds)
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(uds)), base_url="http://localhost") as client:
        listens = tmp_path / "data" / "relay.lock"
        relay.is_up = lambda: listens.exists() and client.get("/api/v1/health").status_code == 200
        relay.start()
        try:
            lines = re.findall(r"^    (.+)$", client.get("/llms.txt").text, re.MULTILINE)
            assert "healthy" in pasted([*lines[:2], "d $R/health"], tmp_path)
        finally:
            assert relay.stop() == 0


def test_every_command_for_agents_works_when_it_is_pasted(
    relay: Relay, api: Api, program: Callable[..., Path]
) -> None:
    path = program(APP, "app.py")
    assert line_of(path, "stops") == 42
    program(FAILING, "tests/test_app.py")
    program("[pytest]\naddopts = -p no:schemathesis -p no:hypothesispytest\n", "pytest.ini")  # they take long to load
    (path.parent / ".venv").symlink_to(sys.prefix)
    lines = re.findall(r"^    (.+)$", httpx2.get(f"{address(relay)}/llms.txt").text, re.MULTILINE)
    preamble, commands = lines[:2], lines[2:]
    assert len(commands) > 25
    made: list[str] = []
    with running(program(WAITING, "waiting.py")) as target:
        for command in commands:
            if command.startswith("S="):
                preamble.append(command.replace("sess_1234abcd", made[0]))
                continue
            said = pasted([*preamble, command.replace("4711", str(target.pid))], path.parent)
            assert said.strip() and not said.startswith(("error ", "{")), f"{command}\n{said}"
            if "/run " in command or "/attach " in command:
                assert "paused" in said.splitlines()[0]
                made.append(said.split()[0])
    for session_id in made:
        Session(api, session_id).__exit__()


def pasted(lines: list[str], folder: Path) -> str:
    env = {**os.environ, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        ["sh", "-euc", "\n".join(lines)], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), f"{lines[-1]}\n{done.stderr}"
    return done.stdout
