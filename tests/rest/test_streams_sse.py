"""Events as server-sent events: the same as over the WebSocket, for clients without one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from relays import Api, Relay, Session, refusal
from sockets import debug_of

Write = Callable[..., Path]


class Sse(NamedTuple):
    event: str
    data: dict[str, Any]
    id: str | None


@contextlib.contextmanager
def stream(session: Session, last_id: str | None = None, **params: Any) -> Iterator[Iterator[Sse]]:
    headers = {"Last-Event-ID": last_id} if last_id is not None else {}
    with (
        httpx2.Client(base_url=session.api.base_url, timeout=10) as client,
        client.stream("GET", f"/sessions/{session.id}/events/stream", params=params, headers=headers) as answer,
    ):
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        yield parsed(answer.iter_lines())


def parsed(lines: Iterator[str]) -> Iterator[Sse]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
        elif not line and "data" in fields:
            yield Sse(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


def test_events_are_those_of_the_websocket_and_resumed_by_their_id(
    relay: Relay, session: Session, program: Write
) -> None:
    path = program("x = 1\ny = 2  # @here\nprint(x + y)\n")
    session.break_at(path, "here")
    session.launch(path)
    with stream(session) as events, debug_of(relay, session, cursors="true") as socket:
        first = [next(events) for _ in session.events()]
        session.resume()
        while first[-1].event != "terminated":
            first.append(next(events))
        for event in first:
            message = socket.next()
            assert message.pop("cursor") == event.id
            assert (event.data, event.event) == (message, message["kind"])
        session.post("/restart", {"wait": 20})
        while next(events).event != "restarted":
            pass
    with stream(session, first[2].id) as events:
        assert [next(events) for _ in first[3:]] == first[3:]
    with stream(session, cursor=first[2].id, kinds="terminated") as events:
        assert next(events) == first[-1]
    with stream(session, replay="false", kinds="stopped,terminated") as events:
        session.post("/terminate")
        assert next(events).data["payload"]["reason"] == "terminated"


def test_what_is_missing_is_told_in_its_place(session: Session) -> None:
    session.launch(code="print('one')\nprint('two')\ninput()")
    session.delete("/output")
    with stream(session, kinds="output") as events:
        cleared = next(events)
    assert (cleared.event, cleared.data["kind"], cleared.data["payload"]) == ("cleared", "cleared", {"count": 2})


def test_a_deleted_session_ends_the_stream(api: Api) -> None:
    session = api.session()
    with stream(session) as events:
        session.delete()
        (error,) = events
    assert (error.event, error.data["code"]) == ("error", "SESSION_NOT_FOUND")


def test_what_is_wrong_is_told_in_the_envelope(session: Session, api: Api) -> None:
    refusal(404, "SESSION_NOT_FOUND", api.get, "/sessions/sess_none/events/stream")
    for name, value in (("cursor", "x"), ("kinds", "a-b"), ("replay", "maybe"), ("kind", "stopped")):
        error = refusal(400, "INVALID_PARAMETER", session.get, "/events/stream", **{name: value})
        assert error.details["parameter"] == name
    answer = api.http.get(f"/sessions/{session.id}/events/stream", headers={"Last-Event-ID": "bzE="})
    error = answer.json()["error"]
    assert (error["code"], error["details"]["parameter"]) == ("INVALID_PARAMETER", "Last-Event-ID")
