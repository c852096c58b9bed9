"""Advice is given in the words of the door through which somebody has come: routes, commands or tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from relays import Api, Relay, refusal

from opencode_debugger.agents.table import AGENT_CALLS
from opencode_debugger.cli.command_line import find_command, read_arguments
from opencode_debugger.models.named import request_model
from opencode_debugger.operations.advice import advice
from opencode_debugger.operations.door_words import COMMAND_LINE, MCP, PLACE, command_call, speak_as
from opencode_debugger.operations.operation import Operation
from opencode_debugger.operations.table import OPERATIONS

Write = Callable[..., Path]

@pytest.mark.parametrize("operation", [each for each in OPERATIONS.values() if each.tool], ids=lambda each: each.name)
def test_tool_that_advice_names_has_these_arguments(operation: Operation) -> None:
    name, *given = operation.tool.split(" ")
    takes = [field.name for field in msgspec.structs.fields(AGENT_CALLS[name].takes)]
    assert [each.partition("=")[0] for each in given if each.partition("=")[0] not in takes] == []


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS.values() if each.command], ids=lambda each: each.name)
def test_command_that_advice_names_is_understood(operation: Operation) -> None:
    given = dict.fromkeys([*PLACE.findall(operation.command), "session_id"], "1")
    program, *words = command_call(operation, given, is_full=True).split(" ")
    assert program == "ocdb" and words[0] != "call"
    command, rest = find_command(words)
    assert read_arguments(command, rest)["session"] == "1"


@pytest.mark.parametrize("operation", [each for each in OPERATIONS.values() if "{" in each.tool + each.command],
    ids=lambda each: each.name)
def test_places_in_words_are_parameters_of_the_operation(operation: Operation) -> None:
    models = {operation.takes, *(name for route in operation.routes for name in (route.takes, route.query))}
    fields = {name for model in models if model for name in request_model(model).model_fields}
    ids = {route.renamed.get(name, name) for route in operation.routes for name in route.path_names}
    assert set(PLACE.findall(operation.command + operation.tool)) <= fields | ids


@pytest.mark.parametrize(
    ("text", "command", "tool", "route"),
    [
        ("{continue}", "ocdb continue", "debug_continue", "POST /sessions/{id}/continue"),
        ("{continue thread_id=?}", "ocdb continue --thread THREAD_ID", "debug_continue thread=…",
            "POST /sessions/{id}/threads/{thread_id}/continue"),
        ("{/continue session_id=sess_1}", "ocdb continue --session sess_1", "debug_continue session=sess_1",
            "POST /api/v1/sessions/sess_1/continue"),
        ("{report wait=30}", "ocdb wait 30", "debug_continue action=wait wait=30", "GET /sessions/{id}/report?wait=30"),
        ("{/delete_session force=true}", "ocdb end --force", "debug_end force=true",
            "DELETE /api/v1/sessions/{id}?force=true"),
        ("{remove_watch watch_id=?}", "ocdb watch --remove WATCH_ID",
            'debug_call operation=remove_watch arguments={"watch_id": "…"}', "DELETE /sessions/{id}/watch/{watch_id}"),
        ("{exception}", "ocdb call exception", "debug_call operation=exception", "GET /sessions/{id}/exception"),
        ("{list_processes kind=native}", "ocdb call list_processes kind=native",
            'debug_call operation=list_processes arguments={"kind": "native"}', "GET /processes?kind=native"),
        ("{launch module=pytest}", "ocdb run -m pytest", "debug_run module=pytest",
            'POST /sessions/{id}/launch {"module": "pytest"}'),
        ("{~launch}", "ocdb run", "debug_run", "/launch"),
        ("{~delete_session} one", "ocdb end one", "debug_end one", "DELETE one"),
    ],
)
def test_calls_are_spelled_for_the_door(text: str, command: str, tool: str, route: str) -> None:
    with speak_as(COMMAND_LINE):
        assert advice(text) == command
    with speak_as(MCP):
        assert advice(text) == tool
    assert advice(text) == route


@pytest.fixture(params=["cli", "mcp", "unknown"])
def door(request: pytest.FixtureRequest, relay: Relay) -> Iterator[Api]:
    with Api(relay.base_url) as api:
        api.http.headers["X-Debug-Door"] = request.param
        yield api


def test_relay_and_runner_answer_in_the_words_of_the_door(door: Api, program: Write) -> None:
    words = {"cli": "ocdb ", "mcp": "debug_", "unknown": "GET /"}[door.http.headers["X-Debug-Door"]]
    path = program("x = 1\nprint(x)\n")
    assert words in refusal(404, "SESSION_NOT_FOUND", door.get, "/sessions/sess_none/status").details["suggestion"]
    with door.session() as session:
        session.launch(path, stop_on_entry=True)
        raised = refusal(404, "FRAME_NOT_FOUND", session.get, "/frames/99/variables")
        assert words in raised.details["suggestion"]
        session.resume()
        ended = refusal(409, "INVALID_SESSION_STATE", session.step)
        assert words in ended.details["suggestion"]
        assert ("or /launch" in ended.details["suggestion"]) == (words == "GET /")


def test_doors_do_not_mix_on_one_connection(relay: Relay) -> None:
    with Api(relay.base_url) as api:
        told = []
        for door in ("mcp", "", "cli", ""):
            api.http.headers["X-Debug-Door"] = door
            told.append(refusal(404, "SESSION_NOT_FOUND", api.get, "/sessions/sess_none/status").details["suggestion"])
    assert told[1] == told[3] == "Use GET /api/v1/sessions to list active sessions"
    assert told[0] == "Use debug_sessions to list active sessions"
    assert told[2] == "Use ocdb sessions to list active sessions"
