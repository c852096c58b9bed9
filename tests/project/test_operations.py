"""One declaration is enough: REST, WebSocket, the API's description, states, scopes and the session follow from it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import HELPERS

from opencode_debugger.errors import CATALOGUE, RelayError
from opencode_debugger.models.named import checker_of, request_model
from opencode_debugger.operations.operation import Operation
from opencode_debugger.operations.states import State
from opencode_debugger.operations.table import OPERATIONS
from opencode_debugger.relay.service import Relay
from opencode_debugger.session.session import Session
from opencode_debugger.session.session_settings import Config
from opencode_debugger.text.render import answer_type

DECLARED = """
from opencode_debugger.operations import sessions
from opencode_debugger.operations.operation import STATE, Operation, post
from opencode_debugger.operations.scopes import READ
from opencode_debugger.operations.states import ONLY_PAUSED

sessions.OPERATIONS += (
    Operation(
        "count_stars",
        "Count the stars",
        "How many there are.",
        by_session="count_stars",
        scopes=(READ,),
        states=ONLY_PAUSED,
        takes="queries:TasksQuery",
        answer="sessions:Pong",
        errors=STATE,
        also_called=("stars",),
        routes=(post("/sessions/{session_id}/stars/{frame_id}", "countStars", takes="expressions:EvaluateRequest"),),
    ),
)

import asyncio, sys
from pathlib import Path
from locked_door import locked_door
from opencode_debugger.doors.rest import openapi
from opencode_debugger.doors.websocket.commands import action_called
from opencode_debugger.errors import RelayError
from opencode_debugger.session.session_settings import Config
from opencode_debugger.text.render import answer_type
from opencode_debugger.session.session import Session

with locked_door(Path(sys.argv[1])) as locked:
    def post(kind):
        headers = {"Authorization": f"Bearer {locked.tokens[kind]}"}
        return locked.door.client.post("/api/v1/sessions/s/stars/3", json={"expression": "x"}, headers=headers)

    assert post("sessions:write").json()["error"]["details"]["required_scopes"] == ["sessions:read"]
    assert post("sessions:read").status_code == 200
    operation, params = locked.door.relay.last
    assert (operation, params["frame_id"], params["expression"]) == ("count_stars", 3, "x"), params

action = action_called("stars")
assert (action.operation.name, action.read_params({"frame_id": 4, "limit": 5})) == (
    "count_stars",
    {"frame_id": 4, "limit": 5, "offset": 0},
)

described = openapi.openapi_document(1)["paths"]["/api/v1/sessions/{session_id}/stars/{frame_id}"]["post"]
assert described["summary"] == "Count the stars"
assert described["security"] == [{"token": ["sessions:read"]}, {}]
assert "`INVALID_SESSION_STATE`" in described["responses"]["409"]["description"]


class Gazing(Session):
    def count_stars(self, frame_id=0):
        self.debuggee.require_state("count_stars")


async def refused():
    try:
        Gazing(Config("sess_1", "name")).method_of("count_stars")(frame_id=1)
    except RelayError as error:
        return error.message

assert asyncio.run(refused()) == "Cannot count-stars: session is not paused"
print("found everywhere")
"""


def test_an_operation_that_is_declared_is_found_at_every_door(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(HELPERS)}
    command = [sys.executable, "-c", DECLARED, str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("found everywhere\n", 0), done.stderr


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_what_a_declaration_names_is_there(operation: Operation) -> None:
    assert operation.summary and operation.description
    assert set(operation.errors) <= set(CATALOGUE)
    for route in operation.routes:
        for name in (operation.body_of(route), operation.query_of(route)):
            assert name is None or callable(checker_of(request_model(name)).validate_python)
    assert operation.answer is None or answer_type(operation.name)


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS.values() if each.by_session], ids=lambda operation: operation.name
)
def test_a_session_has_the_method_that_an_operation_names(operation: Operation) -> None:
    async def found() -> Any:
        return Session(Config("sess_1", "name")).method_of(operation.name)

    assert callable(asyncio.run(found()))


def test_the_relay_has_the_methods_that_operations_name() -> None:
    for operation in OPERATIONS.values():
        if operation.by_relay and "." not in operation.by_relay:
            assert callable(getattr(Relay, operation.by_relay))


def test_an_operation_that_nobody_declared_is_refused() -> None:
    async def asked() -> None:
        Session(Config("sess_1", "name")).method_of("read_mind")

    with pytest.raises(RelayError, match="There is no operation 'read_mind'"):
        asyncio.run(asked())


def test_every_state_of_a_declaration_is_a_state() -> None:
    assert {state for operation in OPERATIONS.values() for state in operation.states or ()} <= set(State)
