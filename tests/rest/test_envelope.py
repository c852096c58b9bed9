"""Every answer has the envelope, and the API documents itself completely."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from places import DOCS
from stub_relay import ACCESS, Door, StubRelay, StubSettings, served

from opencode_debugger.answers.breakpoints import ProfileList, ProfileSummary
from opencode_debugger.app import create_app
from opencode_debugger.doors.rest.routes import OperationRoute
from opencode_debugger.errors import CATALOGUE
from opencode_debugger.models.envelope import to_json


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with served() as running:
        yield running


@pytest.fixture(scope="module")
def schema(door: Door) -> dict[str, Any]:
    found: dict[str, Any] = door.client.get("/openapi.json").json()
    return found


def test_success_has_the_envelope(door: Door) -> None:
    answer = door.client.get("/api/v1/sessions/sess_1/status")
    body = answer.json()
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert (body["success"], body["data"], body["error"]) == (True, {"status": "paused"}, None)
    assert uuid.UUID(body["meta"]["request_id"]).version == 4
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", body["meta"]["timestamp"])
    datetime.fromisoformat(body["meta"]["timestamp"])


def test_error_has_the_envelope(door: Door) -> None:
    answer = door.client.get("/api/v1/sessions/unknown")
    body = answer.json()
    assert answer.status_code == 404
    assert (body["success"], body["data"]) == (False, None)
    assert body["error"]["code"] == "SESSION_NOT_FOUND"
    assert body["error"]["details"]["session_id"] == "unknown"
    assert "GET /api/v1/sessions" in body["error"]["details"]["suggestion"]


def test_create_is_201(door: Door) -> None:
    assert door.client.post("/api/v1/sessions").status_code == 201


@pytest.mark.parametrize("token", ["abc-123", 'quo"te\\', "x" * 128])
def test_sane_request_id_is_echoed(door: Door, token: str) -> None:
    answer = door.client.get("/api/v1/health", headers={"X-Request-ID": token})
    assert answer.json()["meta"]["request_id"] == token == answer.headers["x-request-id"]


@pytest.mark.parametrize("token", ["", "with space", "x" * 129, "caf\xe9"])
def test_other_request_ids_are_replaced(door: Door, token: str) -> None:
    answer = door.client.get("/api/v1/health", headers={b"X-Request-ID": token.encode("latin-1")})
    assert uuid.UUID(answer.headers["x-request-id"])


def test_unhandled_exception_is_500_without_its_text(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    answer = door.client.get("/api/v1/sessions/broken/status", headers={"X-Request-ID": "find-me"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (500, "INTERNAL_ERROR")
    assert error["message"] == "Unexpected server error: ZeroDivisionError"
    assert error["details"]["request_id"] == "find-me"
    assert "secret" not in answer.text
    assert any(record.exc_info for record in caplog.records)


def test_details_that_json_cannot_express_are_still_answered(door: Door) -> None:
    answer = door.client.get("/api/v1/sessions/odd/status")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "DEBUGPY_ERROR")


def test_unknown_route_names_the_nearest(door: Door) -> None:
    answer = door.client.get("/api/v1/sessions/sess_1/stacktrac")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "ROUTE_NOT_FOUND")
    assert "/api/v1/sessions/sess_1/stacktrace" in error["details"]["suggestion"]


def test_the_address_of_a_websocket_is_known_as_one(door: Door) -> None:
    error = door.client.get("/sessions/sess_1/logs").json()["error"]
    assert error["code"] == "ROUTE_NOT_FOUND"
    assert "WebSocket" in error["details"]["suggestion"]


def test_route_without_prefix_names_the_one_with_it(door: Door) -> None:
    error = door.client.post("/sessions").json()["error"]
    assert "Did you mean POST /api/v1/sessions?" in error["details"]["suggestion"]


def test_wrong_method_names_the_right_ones(door: Door) -> None:
    answer = door.client.put("/api/v1/sessions")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert error["details"]["allowed"] == ["GET", "POST"]
    assert answer.headers["allow"] == "GET, POST"


def test_a_struct_with_text_that_utf8_cannot_express_is_still_answered() -> None:
    told = ProfileList(profiles=[ProfileSummary(name="a\udcff")], total=1)
    assert json.loads(to_json(told)) == {"profiles": [{"name": "a?"}], "total": 1}


def test_unhealthy_is_503(door: Door) -> None:
    door.relay.status = "unhealthy"
    try:
        assert door.client.get("/api/v1/health").status_code == 503
    finally:
        door.relay.status = "healthy"


def test_info_lists_the_endpoints(door: Door) -> None:
    listed = door.client.get("/api/v1/info").json()["data"]["endpoints"]
    assert {"/api/v1/sessions", "/api/v1/sessions/{session_id}/evaluate"} <= set(listed)


def test_relay_is_started_and_stopped_with_the_server() -> None:
    with served() as running:
        assert running.relay.running
    assert not running.relay.running


def test_docs_page_needs_nothing_from_the_network(door: Door) -> None:
    page = door.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search(r"<script|<link|<img|src=|url\(|@import", page.text)
    for operation in ("createSession", "stepOver", "pollEvents"):
        assert f'id="{operation}"' in page.text


def test_schema_is_openapi_3_1_with_our_title(schema: dict[str, Any]) -> None:
    assert schema["openapi"].startswith("3.1")
    assert schema["info"]["title"] == "OpenCode Debug Relay Server"
    assert "curl" in schema["info"]["description"]


def test_every_operation_is_described(schema: dict[str, Any]) -> None:
    for operation in operations(schema):
        assert operation["summary"] and operation["description"] and operation["operationId"]
        assert all(parameter["description"] for parameter in operation.get("parameters", []))
        assert "422" not in operation["responses"]
        assert {"400", "403", "413", "421", "500"} <= operation["responses"].keys()


def test_every_field_of_every_schema_is_described(schema: dict[str, Any]) -> None:
    undescribed = [
        f"{name}.{field}"
        for name, model in schema["components"]["schemas"].items()
        for field, shape in model.get("properties", {}).items()
        if not shape.get("description")
    ]
    assert undescribed == []


def test_operation_ids_of_the_specification_exist(schema: dict[str, Any]) -> None:
    named = (
        "getHealth getInfo createSession listSessions getSession deleteSession launchProgram attachProcess "
        "setBreakpoints listBreakpoints removeBreakpoint continueExecution pauseExecution stepOver stepInto stepOut "
        "listThreads getStackTrace getScopes getVariables evaluate getOutput pollEvents"
    )
    assert set(named.split()) <= {operation["operationId"] for operation in operations(schema)}


def test_page_of_routes_lists_exactly_the_routes() -> None:
    app = create_app(StubRelay(), StubSettings(), ACCESS)
    routes = {
        (method, each.path) for each in app.routes if isinstance(each, OperationRoute) for method in each.methods or ()
    }
    row = r"^\| (GET|POST|PUT|PATCH|DELETE) \| `([^`]+)` \|"
    documented = re.findall(row, (DOCS / "rest.md").read_text(), re.MULTILINE)
    assert set(documented) == routes
    assert len(documented) == len(routes)


def test_page_of_errors_lists_exactly_the_catalogue() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d+)", (DOCS / "errors.md").read_text(), re.MULTILINE)
    assert {code: int(status) for code, status in rows} == {code: spec.status for code, spec in CATALOGUE.items()}
    assert len(rows) == len(CATALOGUE)


def operations(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for methods in schema["paths"].values() for operation in methods.values()]
