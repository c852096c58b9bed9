"""The WebSocket /debug: commands that are really carried out, and events as they happen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import DOCS
from relays import ApiError, Relay, Session, line_of
from sockets import Socket, debug_of, local_token, opened, own_relay
from waiting import wait_until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.doors.websocket.commands import ACTIONS, ALSO_CALLED
from opencode_debugger.models.named import request_model
from opencode_debugger.operations.table import OPERATIONS
from opencode_debugger.persistence.token_store import TokenStore

Write = Callable[..., Path]

FIELDS = {"session_id", "kind", "payload", "timestamp"}
STREAMS = {"follow_output", "follow_events", "export_recording"}
"""Operations that are streams themselves, or a file to download."""


@pytest.fixture
def story(program: Write) -> Path:
    return program(
        """
        def add(a, b):
            total = a + b  # @inside
            return total

        values = [1, 2, 3]
        x = add(1, 2)  # @call
        print("x is", x)
        name = input("name? ")
        print("hello", name)  # @last
        """
    )


# The second of the two examples of the specification, with our port:
# websocat -H "Authorization: Bearer $TOKEN" ws://localhost:8000/sessions/$SESSION_ID/debug


def test_the_example_for_debug_works_as_written(relay: Relay, session: Session, story: Path) -> None:
    session.break_at(story, "call")
    session.launch(story)
    headers = {"Authorization": f"Bearer {local_token(relay)}"}
    with connect(f"ws://localhost:{relay.port}/sessions/{session.id}/debug", additional_headers=headers) as connection:
        socket = Socket(connection)
        stopped = socket.until("stopped")
        assert set(stopped) == FIELDS
        assert (stopped["session_id"], stopped["payload"]["reason"]) == (session.id, "breakpoint")
        socket.send('{"action": "step"}')
        ack = socket.until("ack")
        assert (set(ack), ack["payload"]) == (FIELDS, {"action": "step"})
        told = {message["kind"]: message for message in (socket.next() for _ in range(3))}
    assert set(told) == {"continued", "stopped", "result"}
    line = line_of(story, "call") + 1
    assert told["stopped"]["payload"]["location"]["line"] == line
    assert told["result"]["payload"]["data"]["current_location"]["line"] == line
    assert set(told["result"]["payload"]) == {"action", "data"}


def test_every_route_of_a_session_has_an_action_that_takes_the_same() -> None:
    routes = [
        (operation, route)
        for operation in OPERATIONS.values()
        for route in operation.routes
        if "session_id" in route.path_names
    ]
    assert len(routes) > 50
    for operation, route in routes:
        if operation.name in STREAMS:
            continue
        action = ACTIONS[operation.name]
        taken = {*fields_of(action.params_model), *action.ids}
        asked = set(route.path_names) - {"session_id"}
        for name in (operation.query_of(route), operation.body_of(route)):
            asked |= fields_of(request_model(name)) if name else set()
        assert asked <= taken, route.path
    assert set(ACTIONS) == {operation.name for operation, _ in routes} - STREAMS
    assert set(OPERATIONS["tunnel"].scopes) <= set(OPERATIONS["debug"].scopes)  # `info` shows its token
    assert set(ALSO_CALLED.values()) <= set(ACTIONS)


def fields_of(annotation: Any) -> set[str]:
    from opencode_debugger.models.problems import unwrapped_models

    return {name for model in unwrapped_models([annotation]) for name in model.model_fields}


def test_a_whole_session_is_debugged_through_commands_alone(relay: Relay, session: Session, story: Path) -> None:
    with debug_of(relay, session, kinds="stopped,terminated") as socket:
        placed = socket.data("set_breakpoints", breakpoints=[{"file": str(story), "text": "total = a + b"}])
        (bp,) = placed["breakpoints"]
        watch = socket.data("add_watch", expression="len(values)")["watch_id"]
        launched = socket.data("launch", params={"script": str(story), "wait": 20})
        assert (launched["status"], launched["current_location"]["line"]) == ("paused", line_of(story, "inside"))
        frames = socket.data("stack_trace")["frames"]
        assert [frame["name"] for frame in frames][:2] == ["add", "<module>"]
        scope = socket.data("scopes", frame_id=0)["scopes"][0]
        reference = scope["variables_reference"]
        rows = socket.data("variables", variables_reference=reference)["variables"]
        assert {row["name"] for row in rows} >= {"a", "b"}
        assert socket.data("set_variable", variables_reference=reference, name="a", value="40")["value"] == "40"
        assert socket.data("evaluate", expression="a + b")["result"] == "42"
        assert socket.data("frame_variables", frame_id=1)["variables"]
        assert socket.data("list_watches", frame_id=1)["watches"][0]["value"] == "3"
        assert socket.data("remove_watch", watch_id=watch)["total"] == 0
        changed = socket.data("change_breakpoint", breakpoint_id=bp["id"], enabled=False)
        assert changed["enabled"] is False
        out = socket.data("step-out", fields=["locals"])
        assert out["current_location"]["function"] == "<module>"
        asks = socket.data("continue", wait=20)
        assert asks["waiting_for_input"]["prompt"] == "name? "
        ended = socket.data("input", input="Ada\n", wait=20)
        assert (ended["status"], ended["exit_code"]) == ("terminated", 0)
        texts = [entry["output"] for entry in socket.data("output")["entries"]]
        assert "".join(texts) == "x is 42\nname? hello Ada\n"
        assert socket.data("restart", wait=20)["waiting_for_input"]
        assert socket.data("update", name="another")["name"] == "another"
        assert socket.data("export", include_env=True)["name"] == "another"
        copy = Session(session.api, socket.data("clone", name="copy")["session_id"])
        with copy:
            assert copy.get()["name"] == "copy"
        assert socket.data("delete", force=True)["deleted"] is True
        assert socket.closed() == (1000, "SESSION_NOT_FOUND")


LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "info": ("", {}),
    "threads": ("/threads", {}),
    "tasks": ("/tasks", {"limit": 5}),
    "stacktrace": ("/stacktrace", {"levels": 1}),
    "step_targets": ("/step-targets", {}),
    "list_breakpoints": ("/breakpoints", {"verified": True}),
    "list_exception_breakpoints": ("/exception-breakpoints", {}),
    "list_data_breakpoints": ("/data-breakpoints", {}),
    "source": ("/source", {"start_line": 1, "end_line": 3}),
    "modules": ("/modules", {"filter": "json"}),
    "output": ("/output", {"limit": 1}),
    "events": ("/events", {"limit": 3}),
    "report": ("/report", {"fields": "location"}),
}


def test_answers_are_those_of_the_rest_routes(relay: Relay, session: Session, story: Path) -> None:
    session.break_at(story, "call")
    session.launch(story)
    with debug_of(relay, session, replay="false") as socket:
        for action, (path, params) in LOOKS.items():
            query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
            answer, same = socket.data(action, **params), session.get(path, **query)
            for moment in ("expires_at",):
                answer.pop(moment, None), same.pop(moment, None)
            assert answer == same, action


def test_the_page_lists_every_action_and_its_client_runs(relay: Relay, session: Session, program: Write) -> None:
    page = (DOCS / "websocket.md").read_text(encoding="utf-8")
    listed = page.split("### Actions\n")[1].split("\n### ")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(ACTIONS) | set(ALSO_CALLED)
    (client,) = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    named = {
        "ADDRESS": f"ws://127.0.0.1:{relay.port}/sessions/{session.id}",
        "TOKEN": local_token(relay),
        "SCRIPT": str(program("a = 1\nb = 2\n")),
    }
    done = subprocess.run(
        [sys.executable, "-c", client], env={**os.environ, **named}, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("stopped at line 1\nstopped at line 2\nended with 0\n", "")


# What is wrong with a command.


@pytest.mark.parametrize(
    ("action", "path", "body"),
    [
        ("evaluate", "/evaluate", {"expresion": "1"}),
        ("evaluate", "/evaluate", {"expression": 1, "frame_id": "0", "context": "x"}),
        ("set_breakpoints", "/breakpoints", {"breakpoints": [{"file": "/x.py", "line": -5}]}),
        ("step_into", "/step-into", {"count": 2, "target": "f"}),
        ("launch", "/launch", {"script": "/nowhere/at/all.py"}),
        ("continue", "/continue", {"wait": "soon"}),
        ("continue", "/continue", {}),
        ("update", "", {"status": "paused"}),
        ("stdin", "/stdin", {"input": "x"}),
    ],
)
def test_refusals_are_those_of_the_rest_routes(
    relay: Relay, session: Session, action: str, path: str, body: dict[str, Any]
) -> None:
    call = session.patch if action == "update" else session.post
    with pytest.raises(ApiError) as refused:
        call(path, body)
    with debug_of(relay, session) as socket:
        answer = socket.ask(action, id=5, **body)
    error = refused.value
    assert answer["kind"] == "error"
    assert answer["payload"] == {
        "action": action,
        "id": 5,
        "code": error.code,
        "message": error.message,
        "details": error.details,
    }


@pytest.mark.parametrize(
    ("sent", "field", "message"),
    [
        ("{", "", "The command is not valid JSON"),
        ('{"action": "ping"} x', "", "The command is not valid JSON"),
        ("[" * 100_000, "", "The command is not valid JSON"),
        ('{"action": NaN}', "", "The command is not valid JSON"),
        ("", "", "The command is not valid JSON"),
        (b'{"action": "ping"}', None, "Commands are text"),
        ("[]", "", "A command must be a JSON object"),
        ('"step"', "", "A command must be a JSON object"),
        ("{}", "action", "An action is required"),
        ('{"action": ["step"]}', "action", "An action is required"),
        ('{"action": "stpe"}', "action", "There is no action 'stpe'. Did you mean 'step'?"),
        ('{"action": "Step"}', "action", "There is no action 'Step'. Did you mean 'step'?"),
        ('{"action": "' + "x" * 50_000 + '"}', "action", "There is no action 'xxx"),
        ('{"action": "ping", "wait": 1}', "wait", "Unknown field 'wait'. It takes no fields"),
        ('{"action": "threads", "params": []}', "params", "Must be a JSON object"),
        ('{"action": "evaluate", "expression": "1", "params": {"frame_id": 0}}', "expression", "not both"),
        ('{"action": "stack_trace", "levels": "3"}', "levels", "Must be a JSON number or boolean, not text"),
        ('{"action": "stack_trace", "levels": true}', "levels", "valid integer"),
        ('{"action": "delete", "force": 1}', "force", "valid boolean"),
        ('{"action": "remove_watch"}', "watch_id", "This is required"),
        ('{"action": "remove_watch", "watchid": "w_1"}', "watch_id", "This is required"),
        ('{"action": "frame_variables", "frame_id": -1}', "frame_id", "greater than or equal to 0"),
        ('{"action": "ping", "id": "' + "x" * 2000 + '"}', "id", "Must have at most 1000 characters"),
    ],
)
def test_nonsense_gets_an_error_and_the_connection_stays(
    relay: Relay, session: Session, sent: str | bytes, field: str | None, message: str
) -> None:
    with debug_of(relay, session) as socket:
        socket.send(sent)
        error = socket.until("error")["payload"]
        assert error["code"] == "INVALID_REQUEST"
        assert len(error["details"]["suggestion"]) > 10
        problem = error["details"].get("errors", [{"field": None, "message": ""}])[0]
        assert problem["field"] == field
        assert message in error["message"] + problem["message"]
        assert socket.data("ping")["session_id"] == session.id


def test_a_command_can_be_answered_in_text(relay: Relay, session: Session, story: Path) -> None:
    session.break_at(story, "inside")
    session.launch(story)
    with debug_of(relay, session, replay="false") as socket:
        stepped = socket.data("step", id=1, format="text")
        assert stepped.split("\n")[1:] == [f">{line_of(story, 'inside') + 1} return total", "changed: total = 3"]
        assert socket.data("evaluate", params={"expression": "a + b"}, format="text") == "3"
        assert socket.data("evaluate", expression="a + b", format="json")["result"] == "3"
        refused = socket.ask("ping", format="xml")
        assert (refused["kind"], refused["payload"]["details"]["errors"][0]["field"]) == ("error", "format")


def test_a_command_of_ten_megabytes_is_answered_and_a_larger_one_closes(relay: Relay, session: Session) -> None:
    session.launch(code="while True: pass", wait=False)
    with debug_of(relay, session, replay="false") as socket:
        socket.send({"action": "evaluate", "id": 1, "expression": "x" * 10_000_000})
        assert socket.until("ack")["payload"] == {"action": "evaluate", "id": 1, "truncated": True}
        error = socket.until("error")["payload"]
        assert (error["id"], error["details"]["errors"][0]["field"]) == (1, "expression")
        assert len(json.dumps(error)) < 5000
        socket.send({"action": "stdin", "id": 2, "input": "y" * 9_000_000})
        assert socket.until("result", "error")["payload"]["data"]["accepted"] == 9_000_000
        assert socket.data("ping")
        with contextlib.suppress(ConnectionClosed):
            socket.send("z" * 17 * 1024 * 1024)
        assert socket.closed()[0] == 1009


def test_what_a_token_may_not_do_is_refused_command_by_command(relay: Relay, session: Session) -> None:
    store, token = TokenStore(relay.data_dir), new_token()
    store.add("writer of streams", hash_of(token), ["sessions:write"])
    session.launch(code="x = 1\nprint(x)", stop_on_entry=True)
    with opened(relay, f"/sessions/{session.id}/debug", token) as socket:
        assert socket.data("step")["status"] == "paused"
        error = socket.ask("output", id=9)["payload"]
        assert (error["code"], error["id"]) == ("FORBIDDEN", 9)
        assert error["details"]["required_scopes"] == ["artifacts:read", "sessions:read"]
        store.remove("writer of streams")
        socket.send({"action": "step"})
        assert socket.closed() == (1008, "UNAUTHORIZED")


# Events.


def test_events_are_replayed_resumed_chosen_and_left_out(relay: Relay, session: Session, story: Path) -> None:
    session.break_at(story, "call")
    session.launch(story)
    kept = session.events()
    with debug_of(relay, session, cursors="true") as socket:
        replayed = [socket.next() for _ in kept]
        assert set(replayed[0]) == FIELDS | {"cursor"}
        session.step()
        live = [socket.next() for _ in range(2)]
    assert [(m["kind"], m["payload"], m["timestamp"]) for m in replayed] == [
        (event["type"], event["body"], event["timestamp"]) for event in kept
    ]
    assert [message["kind"] for message in live] == ["continued", "stopped"]
    with debug_of(relay, session, since=replayed[-1]["cursor"]) as socket:
        assert [socket.next() for _ in range(2)] == live
    page = session.get("/events", cursor=replayed[-1]["cursor"])
    assert [event["type"] for event in page["events"]] == ["continued", "stopped"]
    with debug_of(relay, session, kinds="stopped") as socket:
        assert [socket.next()["kind"] for _ in range(2)] == ["stopped", "stopped"]
        assert socket.data("ping")
    with debug_of(relay, session, replay="false") as socket:
        socket.send({"action": "ping"})
        assert [socket.next()["kind"], socket.next()["kind"]] == ["ack", "result"]
    for query in ({"since": "x"}, {"since": "bzE="}, {"kinds": "a b"}, {"replay": "no"}, {"kind": "stopped"}):
        with debug_of(relay, session, **query) as socket:
            assert socket.rest() == []
            code, reason = socket.closed()
            assert (code, reason.partition(":")[0]) == (1008, "INVALID_PARAMETER")


def test_a_value_that_is_set_is_told_to_everybody(relay: Relay, session: Session, story: Path) -> None:
    session.break_at(story, "inside")
    session.launch(story)
    with debug_of(relay, session, replay="false") as socket:
        session.post("/set-expression", {"expression": "values[0]", "value": "'x' * 5000", "frame_id": 1})
        payload = socket.until("variable")["payload"]
    assert (payload["reason"], payload["name"], payload["type"], payload["old"]) == ("set", "values[0]", "str", "1")
    assert (payload["frame_id"], payload["thread_id"], len(payload["value"])) == (1, 1, 1000)


def test_what_only_the_debugger_tells_is_passed_on(relay: Relay, session: Session, story: Path) -> None:
    session.launch(story, stop_on_entry=True)
    with debug_of(relay, session, kinds="event") as socket:
        payload = socket.next()["payload"]
    assert payload["event"] == "process"
    assert payload["body"]["systemProcessId"] == session.get()["pid"]


def test_output_comes_as_events_and_what_fell_out_is_counted(tmp_path: Path) -> None:
    with own_relay(tmp_path, output_buffer_max_bytes=100_000) as (relay, api), api.session() as session:
        session.launch(code="for n in range(5000):\n    print(n)\ninput()")
        with debug_of(relay, session, kinds="output") as socket:
            dropped = socket.next()
            first = socket.next()
            assert (dropped["kind"], first["kind"]) == ("dropped", "output")
            assert 0 <= dropped["payload"]["count"] - int(first["payload"]["output"]) < 50  # lines may be in two pieces
            session.delete("/output")
        with debug_of(relay, session, kinds="output") as socket:
            assert socket.next()["kind"] == "cleared"


# Many commands.


def test_a_command_that_waits_holds_up_no_other(relay: Relay, session: Session) -> None:
    session.launch(code="import time\nprint('up', flush=True)\nwhile True:\n    time.sleep(0.01)", wait=False)
    session.wait_for_output("up")
    with debug_of(relay, session, kinds="stopped") as socket:
        socket.send({"action": "report", "wait": 60, "id": "waits"})
        assert socket.until("ack")
        assert socket.data("info")["status"] == "running"
        socket.send({"action": "pause", "wait": 20, "id": "pauses"})
        answers = [socket.until("result")["payload"] for _ in range(2)]
    assert {answer["id"]: answer["data"]["status"] for answer in answers} == {"waits": "paused", "pauses": "paused"}


def test_too_many_commands_at_once_are_refused_one_by_one(relay: Relay, session: Session) -> None:
    session.launch(code="import time\nprint('up', flush=True)\ntime.sleep(1000)", wait=False)
    session.wait_for_output("up")
    with debug_of(relay, session, kinds="stopped") as socket:
        for number in range(20):
            socket.send({"action": "report", "wait": 60, "id": number})
        refused = [socket.until("error")["payload"] for _ in range(4)]
        assert [(error["id"], error["code"]) for error in refused] == [
            (number, "TOO_MANY_COMMANDS") for number in range(16, 20)
        ]
        session.post("/terminate", {"force": True})
        done = [socket.until("result")["payload"] for _ in range(16)]
        assert {answer["id"] for answer in done} == set(range(16))
        assert socket.data("info")["status"] == "terminated"


def test_a_flood_of_nonsense_is_answered_to_the_last(relay: Relay, session: Session) -> None:
    count = 6_000
    with debug_of(relay, session) as socket, opened(relay, f"/sessions/{session.id}/debug") as other:
        for number in range(count):
            socket.send('{"action": "x"}' if number % 2 else "{")
            if number % 1000 == 999:
                errors = sum(socket.until("error")["kind"] == "error" for _ in range(1000))
                assert errors == 1000
                assert other.data("ping")
        assert socket.data("ping")["session_id"] == session.id


def test_who_leaves_in_the_middle_stops_no_step_and_leaves_no_wait(tmp_path: Path) -> None:
    with own_relay(tmp_path, session_timeout_seconds=2) as (relay, api):
        stepping = api.session()
        stepping.launch(code="import time\ntime.sleep(1)\nx = 1\n", stop_on_entry=True)
        stepping.step()
        with debug_of(relay, stepping, replay="false") as socket:
            socket.send({"action": "step", "wait": 600})
            socket.until("continued")
            socket.connection.socket.close()
        assert stepping.get("/report", wait=10)["current_location"]["line"] == 3
        waiting = api.session()
        waiting.launch(code="import time\ntime.sleep(1000)", wait=False)
        for _ in range(20):
            with debug_of(relay, waiting, kinds="stopped") as socket:
                for number in range(16):
                    socket.send({"action": "report", "wait": 600, "id": number})
                assert [socket.until("ack")["payload"]["id"] for _ in range(16)] == list(range(16))
                socket.connection.socket.close()
        # Somebody who waits would keep the session alive.
        wait_until(
            lambda: waiting.id not in {item["session_id"] for item in api.get("/sessions")["items"]},
            lambda: "somebody still waits for it",
        )
