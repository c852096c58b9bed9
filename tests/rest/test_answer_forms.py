"""Answers in text and in lean JSON: how they are asked for, on every route that answers in the envelope."""

from __future__ import annotations

from typing import Any

import pytest
from relays import Api, Session

from opencode_debugger.doors.rest.openapi import openapi_document

PLAIN = "text/plain; charset=utf-8"


@pytest.mark.parametrize("accepted", [
    "text/plain", "text/plain, application/json;q=0.9", "application/json;q=0.5, text/plain;q=0.6", "TEXT/PLAIN",
])
def test_text_is_answered_to_who_wants_it_most(api: Api, accepted: str) -> None:
    answer = api.http.get("/health", headers={"Accept": accepted})
    assert answer.headers["content-type"] == PLAIN
    assert answer.text.startswith("status: healthy\n") and answer.text.endswith("\n")


@pytest.mark.parametrize("accepted", [
    "*/*", "application/json", "application/json, text/plain, */*", "text/html, text/plain;q=0.5",
    "text/plain;q=x, */*", "text/plain;q=0", "",
])
def test_json_is_answered_to_everybody_else(api: Api, accepted: str) -> None:
    assert api.http.get("/health", headers={"Accept": accepted}).json()["success"] is True


def test_the_parameter_wins_over_the_header(api: Api) -> None:
    asked = {"headers": {"Accept": "text/plain"}}
    assert api.http.get("/health", params={"format": "json"}, **asked).json()["success"] is True
    assert api.http.get("/health", params={"format": "text"}).headers["content-type"] == PLAIN


def test_the_state_of_the_session_is_a_header_of_its_text(session: Session) -> None:
    answer = session.api.http.get(f"/sessions/{session.id}/report", params={"format": "text"})
    assert answer.headers["x-session-status"] == "created" and answer.text == f"{session.id} created\n"
    answer = session.api.http.post(
        f"/sessions/{session.id}/launch", params={"format": "text"}, json={"code": "print(1)", "wait": 30}
    )
    assert answer.headers["x-session-status"] == "terminated" and "out| 1\n" in answer.text
    assert "x-session-status" not in session.api.http.get("/health", params={"format": "text"}).headers


@pytest.mark.parametrize(("method", "path", "status", "code", "body"), [
    ("GET", "/sessions/sess_none", 404, "SESSION_NOT_FOUND", None),
    ("GET", "/nothing", 404, "ROUTE_NOT_FOUND", None),
    ("DELETE", "/health", 405, "METHOD_NOT_ALLOWED", None),
    ("POST", "/sessions", 400, "INVALID_REQUEST", {"project_root": 3}),
])
def test_refusals_are_text_too(api: Api, method: str, path: str, status: int, code: str, body: Any) -> None:
    answer = api.http.request(method, path, params={"format": "text"}, json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PLAIN)
    first, second, *_ = answer.text.split("\n")
    assert first.startswith(f"error {code}: ") and second.startswith("→ ")


@pytest.mark.parametrize("query", [
    "format=xml", "format=", "lean=1", "reveal=yes", "format=text&format=json", "lean=true&lean=true",
])
def test_other_forms_are_refused(api: Api, query: str) -> None:
    answer = api.http.get(f"/sessions?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_PARAMETER")
    assert answer.json()["error"]["details"]["parameter"] == query.partition("=")[0]


def test_streams_have_one_form(session: Session) -> None:
    for stream in ("output", "events"):
        answer = session.api.http.get(f"/sessions/{session.id}/{stream}/stream", params={"lean": "true"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_PARAMETER")


def test_every_route_describes_its_forms() -> None:
    for path, methods in openapi_document(1)["paths"].items():  # type: ignore[union-attr]
        for described in methods.values():  # type: ignore[union-attr]
            names = {parameter["name"] for parameter in described.get("parameters", [])}
            kinds = {kind for answer in described["responses"].values() for kind in answer["content"]}
            if path.endswith("/recording/export"):
                assert "format" in names and "application/octet-stream" in kinds
            elif path.endswith("/stream"):
                assert not names & {"format", "lean", "reveal"}
            else:
                also = {"text/html"} if path.endswith("/timeline/export") else set()
                assert names >= {"format", "lean", "reveal"} and kinds == {"application/json", "text/plain"} | also
