"""The recordings are complete: every route, every action and every command is in one, done and refused."""

from __future__ import annotations

import re

import pytest
from recording import Exchange, recorded

from opencode_debugger.doors.websocket.commands import ACTIONS
from opencode_debugger.ez.protocol import COMMANDS

RECORDED = recorded()
EXCHANGES = [exchange for exchanges in RECORDED.values() for exchange in exchanges]
ROUTES = [
    pytest.param(method.upper(), path, id=f"{method.upper()} {path}")
    for path, methods in RECORDED["openapi"][0]["answer"]["paths"].items()
    for method in methods
]
NEVER_REFUSED = {"/api/v1/health", "/api/v1/info"}


def asked(name: str) -> list[Exchange]:
    return [exchange for exchange in EXCHANGES if exchange["asked"] == name]


@pytest.mark.parametrize("method, path", ROUTES)
def test_a_route_is_recorded_with_an_answer_and_an_error(method: str, path: str) -> None:
    pattern = re.compile(f"{method} " + re.sub(r"\\\{\w+\\\}", "[^/?]+", re.escape(path)) + r"(\?.*)?")
    found = [exchange["status"] for exchange in EXCHANGES if pattern.fullmatch(exchange["asked"])]
    assert any(status < 300 for status in found)
    assert any(status >= 400 for status in found) or path in NEVER_REFUSED


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_of_the_websocket_is_recorded(action: str) -> None:
    also = {"step_over": "step", "stack_trace": "stacktrace", "step_out": "step-out", "delete_session": "delete"}
    also["clone_session"] = "clone"
    assert asked(f"WS {action}") or asked(f"WS {also[action]}")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_ez_protocol_is_recorded(command: str) -> None:
    assert asked(f"EZ {command}")
