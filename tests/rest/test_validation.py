"""What clients may send: each field strictly, each refusal with its place and reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from stub_relay import Door, served

SESSION = "/api/v1/sessions/sess_1"


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with served() as running:
        yield running


def problems(door: Door, path: str, body: Any) -> dict[str, str]:
    """Field to message, of a body that must be refused."""
    answer = door.client.post(path, json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "INVALID_REQUEST")
    return {problem["field"]: problem["message"] for problem in error["details"]["errors"]}


def sent(door: Door, path: str, body: Any = None) -> Any:
    """What reaches the relay."""
    answer = door.client.post(path, json=body) if body is not None else door.client.post(path)
    assert answer.status_code in (200, 201), answer.text
    return door.relay.last


def malformed(door: Door, body: bytes) -> dict[str, Any]:
    answer = door.client.post(
        f"{SESSION}/evaluate", content=body, headers={"Content-Type": "application/json; charset=utf-8"}
    )
    error: dict[str, Any] = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "INVALID_REQUEST")
    return error


def test_unknown_field_names_the_nearest(door: Door) -> None:
    found = problems(door, f"{SESSION}/breakpoints", {"file": "a.py", "lin": 3})
    assert found == {"lin": "Unknown field 'lin'. Did you mean 'line'?"}


def test_unknown_field_in_a_list_has_its_place(door: Door) -> None:
    body = {"breakpoints": [{"source": {"path": "/a.py", "pth": 1}, "line": 1}]}
    found = problems(door, f"{SESSION}/breakpoints", body)
    assert found == {"breakpoints[0].source.pth": "Unknown field 'pth'. Did you mean 'path'?"}


def test_every_wrong_field_is_named_at_once(door: Door) -> None:
    body = {"breakpoints": [{"file": "a.py", "line": -5}, {"file": "a.py", "line": "3"}]}
    found = problems(door, f"{SESSION}/breakpoints", body)
    message = "Line number must be a positive integer"
    assert found == {"breakpoints[0].line": message, "breakpoints[1].line": message}


@pytest.mark.parametrize("line", [0, -1, True, 1.0, "1", 10**30])
def test_line_must_be_a_positive_integer(door: Door, line: object) -> None:
    assert problems(door, f"{SESSION}/breakpoints", {"file": "a.py", "line": line}).keys() == {"line"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"line": 1}, "source"),
        ({"file": "a.py"}, "line"),
        ({"file": "a.py", "source": {"path": "/a.py"}, "line": 1}, "file"),
        ({"file": "a.py", "line": 1, "function": "f"}, "function"),
        ({"breakpoints": []}, "breakpoints"),
        ([], ""),
    ],
)
def test_breakpoint_without_one_clear_place_is_refused(door: Door, body: Any, field: str) -> None:
    assert problems(door, f"{SESSION}/breakpoints", body).keys() == {field}


def test_bare_breakpoint_reaches_the_relay_as_a_list_of_one(door: Door) -> None:
    operation, params = sent(door, f"{SESSION}/breakpoints", {"file": "a.py", "line": 3, "strict": True})
    item = {"path": "a.py", "relative_ok": True, "line": 3, "function": None, "enabled": True}
    item |= {"condition": None, "hit_condition": None, "log_message": None}
    assert (operation, params) == ("set_breakpoints", {"breakpoints": [item], "strict": True, "single": True})


def test_list_of_breakpoints_reaches_the_relay(door: Door) -> None:
    body = {"breakpoints": [{"source": {"path": "/a.py"}, "line": 3, "condition": "x > 1"}, {"function": "f"}]}
    _, params = sent(door, f"{SESSION}/breakpoints", body)
    assert (params["strict"], params["single"]) == (False, False)
    first, second = params["breakpoints"]
    assert (first["path"], first["relative_ok"], first["condition"]) == ("/a.py", False, "x > 1")
    assert (second["path"], second["function"]) == (None, "f")


def test_session_may_be_created_with_no_body(door: Door) -> None:
    assert sent(door, "/api/v1/sessions") == ("create_session", {})


@pytest.mark.parametrize(
    "body",
    [
        {"timeout_minutes": 0},
        {"timeout_minutes": 1441},
        {"timeout_minutes": "60"},
        {"timeout_minutes": True},
        {"name": "x" * 256},
        {"name": 5},
        {"project_root": "a\0b"},
        {"stop_on_entry": 1},
    ],
)
def test_session_options_are_strict(door: Door, body: dict[str, Any]) -> None:
    assert problems(door, "/api/v1/sessions", body).keys() == body.keys()


@pytest.mark.parametrize("body", [{"script": "a.py", "module": "b"}, {"script": "a.py", "code": "pass"}])
def test_launch_takes_no_more_than_one_program(door: Door, body: dict[str, Any]) -> None:
    found = problems(door, f"{SESSION}/launch", body)
    assert found == {"": "Provide exactly one of script, program, module and code"}


def test_a_debugger_where_a_debug_server_is_meant_is_told_its_field(door: Door) -> None:
    found = problems(door, f"{SESSION}/launch", {"program": "a.out", "debugger": "lldb"})
    told = "lldb is a debugger: give it as adapter; debugger takes a debug server, gdbserver or lldb-server"
    assert found == {"debugger": told}


@pytest.mark.parametrize("body", [None, {}, {"script": None}])
def test_launch_without_a_program_is_for_the_session_to_complete(door: Door, body: dict[str, Any] | None) -> None:
    assert sent(door, f"{SESSION}/launch", body) == ("launch", {})
    assert sent(door, f"{SESSION}/launch", {"args": ["x"], "wait": 2}) == ("launch", {"args": ["x"], "wait": 2})


def test_launch_reaches_the_relay_with_its_defaults(door: Door) -> None:
    operation, params = sent(door, f"{SESSION}/launch", {"module": "pytest", "cwd": None, "wait": 2.5})
    assert operation == "launch"
    assert params == {
        "module": "pytest",
        "args": [],
        "env": {},
        "console": "internalConsole",
        "python_args": [],
        "just_my_code": False,
        "tunnel_only": False,
        "line_buffered": True,
        "recordable": False,
        "stdin_inputs": [],
        "stdin_eof": False,
        "wait": 2.5,
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stop_on_exception", 1),
        ("stop_on_exception", "always"),
        ("debug_subprocesses", 1),
        ("stop_on_exception", []),
        ("console", "xterm"),
        ("args", "a"),
        ("env", []),
        ("wait", "true"),
        ("wait", -1),
        ("wait", 3601),
        ("fields", 5),
        ("fields", ["Not A Name"]),
        ("budget", 199),
        ("budget", 100_001),
    ],
)
def test_launch_options_are_strict(door: Door, field: str, value: object) -> None:
    assert problems(door, f"{SESSION}/launch", {"script": "a.py", field: value}).keys() == {field}


def test_environment_is_text(door: Door) -> None:
    found = problems(door, f"{SESSION}/launch", {"script": "a.py", "env": {"A=B": "x", "C": 5, "D": "\0"}})
    assert found.keys() == {"env.A=B", "env.C", "env.D"}


def test_attach_by_port_is_to_localhost(door: Door) -> None:
    assert sent(door, f"{SESSION}/attach", {"port": 5678})[1] == {
        "host": "localhost",
        "port": 5678,
        "connect_timeout": 10,
    }


@pytest.mark.parametrize("body", [{}, {"pid": 1, "port": 2}, {"host": "localhost"}])
def test_attach_needs_one_target(door: Door, body: dict[str, Any]) -> None:
    assert problems(door, f"{SESSION}/attach", body) == {"": "Provide either pid, or host and port"}


@pytest.mark.parametrize(
    "body",
    [{"frame_id": -1}, {"frame_id": 10**30}, {"context": "x"}, {"timeout": 0.01}, {"timeout": 301}, {"expression": ""}],
)
def test_evaluate_options_are_strict(door: Door, body: dict[str, Any]) -> None:
    assert problems(door, f"{SESSION}/evaluate", {"expression": "x"} | body).keys() == body.keys()


def test_step_reaches_the_relay_with_its_wait(door: Door) -> None:
    path = f"{SESSION}/step-over?wait=5&fields=location,locals&budget=500"
    assert sent(door, path) == ("step_over", {"wait": 5.0, "fields": ["location", "locals"], "budget": 500})


def test_value_in_the_body_wins_over_the_query(door: Door) -> None:
    assert sent(door, f"{SESSION}/continue?wait=true", {"wait": False})[1] == {"wait": False}


def test_thread_in_the_path_is_continued(door: Door) -> None:
    assert sent(door, f"{SESSION}/threads/3/continue", {"wait": True}) == ("continue", {"wait": True, "thread_id": 3})


@pytest.mark.parametrize(
    ("path", "operation", "params"),
    [
        ("", "info", {"with_token": True}),
        ("/status", "status", {}),
        ("/ping", "ping", {}),
        ("/threads", "threads", {}),
        ("/report?fields=stack", "report", {"fields": ["stack"]}),
        ("/stacktrace?thread_id=2", "stack_trace", {"thread_id": 2, "start_frame": 0, "levels": 20}),
        ("/threads/2/stacktrace?levels=5", "stack_trace", {"thread_id": 2, "start_frame": 0, "levels": 5}),
        ("/scopes", "scopes", {}),
        ("/frames/2/scopes?thread_id=1", "scopes", {"frame_id": 2, "thread_id": 1}),
        ("/frames/2/variables?summary=true", "frame_variables", {"frame_id": 2, "summary": True}),
        ("/variables?variables_reference=7&count=5", "variables", {"variables_reference": 7, "count": 5}),
        ("/variables/7?filter=named", "variables", {"variables_reference": 7, "filter": "named"}),
        ("/scopes/7/variables?start=3", "variables", {"variables_reference": 7, "start": 3}),
        ("/breakpoints?verified=false&file=a.py", "list_breakpoints", {"verified": False, "file": "a.py"}),
        ("/output?category=stderr", "output", {"category": "stderr", "limit": 100, "timeout": 0}),
        ("/events?cursor=abc&timeout=30", "events", {"cursor": "abc", "limit": 100, "timeout": 30}),
    ],
)
def test_each_spelling_reaches_its_operation(door: Door, path: str, operation: str, params: dict[str, Any]) -> None:
    assert door.client.get(SESSION + path).status_code == 200
    assert door.relay.last == (operation, params)


@pytest.mark.parametrize("path", ["/stdin", "/input"])
def test_both_spellings_send_input(door: Door, path: str) -> None:
    assert sent(door, SESSION + path, {"input": "x\n", "wait": 1}) == (
        "stdin",
        {"input": "x\n", "eof": False, "wait": 1},
    )


def test_delete_passes_force(door: Door) -> None:
    door.client.delete(SESSION + "?force=true")
    assert door.relay.last == ("delete_session", {"force": True})


def test_missing_parameter_is_named(door: Door) -> None:
    error = door.client.get(f"{SESSION}/variables").json()["error"]
    assert error["code"] == "MISSING_PARAMETER"
    assert error["details"]["errors"][0]["field"] == "variables_reference"


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/variables?variables_reference=x", "variables_reference"),
        ("/variables?variables_reference=1.0", "variables_reference"),
        (f"/variables?variables_reference={10**30}", "variables_reference"),
        ("/variables/-1", "variables_reference"),
        ("/frames/x/scopes", "frame_id"),
        ("/scopes?frame_id=-1", "frame_id"),
        ("/output?limit=0", "limit"),
        ("/output?limit=1001", "limit"),
        ("/output?category=x", "category"),
        ("/output?cursor=%00", "cursor"),
        ("/events?timeout=301", "timeout"),
        ("/breakpoints?verified=yes", "verified"),
        ("/report?fields=A", "fields"),
        ("/report?wait=soon", "wait"),
        ("/status?verbose=1", "verbose"),
        ("/output?limit=1&limit=2", "limit"),
    ],
)
def test_wrong_parameter_is_named(door: Door, path: str, parameter: str) -> None:
    answer = door.client.get(SESSION + path)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "INVALID_PARAMETER")
    assert error["details"]["errors"][0]["field"] == parameter == error["details"]["parameter"]


def test_unknown_parameter_names_the_nearest(door: Door) -> None:
    error = door.client.get(f"{SESSION}/output?curser=x").json()["error"]
    assert error["message"] == "Unknown parameter 'curser'. Did you mean 'cursor'?"


def test_malformed_json_has_its_position(door: Door) -> None:
    details = malformed(door, b'{"expression":\n  oops}')["details"]
    assert (details["position"], details["line"], details["column"]) == (17, 2, 3)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"expression": "\xff"}', "it is not valid UTF-8"),
        (b"[" * 100_00, "it is nested too deeply"),
        (b'{"expression": "x"', "Input data was truncated"),
    ],
)
def test_unreadable_body_is_explained(door: Door, body: bytes, reason: str) -> None:
    assert reason in malformed(door, body[:9_999])["message"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"expression": "x", "timeout": NaN}',
        b'{"expression": "x", "timeout": Infinity}',
        b'{"expression": "\\ud800"}',
        b'{"expression": "x", "timeout": 1e999}',
        b'{"expression": "x", "timeout": 1' + b"0" * 5000 + b"}",
        b" ",
    ],
)
def test_json_that_only_some_parsers_take_is_refused(door: Door, body: bytes) -> None:
    malformed(door, body)


def test_values_in_errors_are_bounded(door: Door) -> None:
    answer = door.client.post(f"{SESSION}/evaluate", json={"expression": ["x" * 9000]})
    assert len(answer.content) < 2000


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_other_content_types_are_415(door: Door, content_type: str) -> None:
    answer = door.client.post("/api/v1/sessions", content=b"{}", headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_body_without_content_type_is_415(door: Door) -> None:
    assert door.client.post("/api/v1/sessions", content=b"{}").status_code == 415
