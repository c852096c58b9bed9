"""Clients of every door that write down what they ask and what is answered."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from dap_client import Dap
from ez_client import Ide
from native import Builder
from recording import TIME, UUID, Recording, as_json, settled
from relays import Relay, line_of
from sockets import PATIENCE, Socket, address, local_token
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

USUAL_HEADERS = {
    "content-type": "application/json; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
VARYING_HEADERS = {"date", "content-length", "x-request-id", "server", "connection", "transfer-encoding"}
"""Of each message, or of the server's own."""


@dataclass
class Stage:
    """All that a flow plays on."""

    relay: Relay
    recording: Recording
    folder: Path
    build: Builder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"), encoding="utf-8")
        return path

    def clean(self) -> None:
        """End the sessions that a flow has left."""
        with self.rest() as rest:
            for row in rest.quietly("/sessions", limit=100)["items"]:
                rest.http.delete(f"/api/v1/sessions/{row['session_id']}", params={"force": "true"})

    @contextlib.contextmanager
    def rest(self, token: str | None = None) -> Iterator[Rest]:
        headers = {"Authorization": f"Bearer {token}"} if token else None
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{self.relay.port}", timeout=60, headers=headers, verify=False
        ) as http:
            yield Rest(http, self.recording)

    @contextlib.contextmanager
    def session(self, **options: Any) -> Iterator[RestSession]:
        """Make a session, in the folder of the flow."""
        options = {"project_root": str(self.folder), **options}
        with self.rest() as rest, rest.session(**options) as session:
            yield session


def unwrapped(answer: Any) -> dict[str, Any]:
    """Return what an envelope has in it, if it is as envelopes are; else the whole answer."""
    if isinstance(answer, dict) and list(answer) == ["success", "data", "error", "meta"]:
        is_usual = list(answer["meta"]) == ["request_id", "timestamp"] and UUID.fullmatch(answer["meta"]["request_id"])
        if is_usual and TIME.fullmatch(answer["meta"]["timestamp"]):
            if answer["success"] is True and answer["error"] is None:
                return {"data": answer["data"]}
            if answer["success"] is False and answer["data"] is None:
                return {"error": answer["error"]}
    return {"answer": answer}


class Rest:
    def __init__(self, http: httpx2.Client, recording: Recording) -> None:
        self.http = http
        self.recording = recording

    def ask(
        self, method: str, path: str, body: Any = None, /, content: Any = None, headers: Any = None, **params: Any
    ) -> Any:
        """Ask, record, and return `data` or the error."""
        given = {"json": body} if body is not None else {"content": content} if content is not None else {}
        full = path if path.startswith(("/docs", "/openapi", "/api", "/redoc")) or path == "/" else f"/api/v1{path}"
        answer = self.http.request(method, full, params=params or None, headers=headers, **given)
        asked: dict[str, Any] = {}
        if params:
            asked["query"] = params
        if headers:
            asked["headers"] = headers
        if given:
            asked["body"] = body if body is not None else str(content)
        told = {name: value for name, value in answer.headers.items() if name not in VARYING_HEADERS}
        unusual = {} if told == USUAL_HEADERS else told
        found = as_json(answer.text)
        shown = {"status": answer.status_code, **({"answer_headers": unusual} if unusual else {}), **unwrapped(found)}
        self.recording.add(f"{method} {full}", **asked, **shown)
        return (found.get("data") or found.get("error")) if isinstance(found, dict) else found

    def quietly(self, path: str, /, **params: Any) -> Any:
        """Ask without a record."""
        return self.http.get(f"/api/v1{path}", params=params or None).json()["data"]

    def get(self, path: str, /, **params: Any) -> Any:
        return self.ask("GET", path, **params)

    def post(self, path: str, body: Any = None, /, **params: Any) -> Any:
        return self.ask("POST", path, body, **params)

    def patch(self, path: str, body: Any = None, /, **params: Any) -> Any:
        return self.ask("PATCH", path, body, **params)

    def put(self, path: str, body: Any = None, /, **params: Any) -> Any:
        return self.ask("PUT", path, body, **params)

    def delete(self, path: str, /, **params: Any) -> Any:
        return self.ask("DELETE", path, **params)

    @contextlib.contextmanager
    def session(self, **options: Any) -> Iterator[RestSession]:
        session = RestSession(self, self.post("/sessions", options)["session_id"])
        try:
            yield session
        finally:
            self.http.delete(f"/api/v1/sessions/{session.id}", params={"force": "true"})


class RestSession:
    """One session; what it is asked goes to its routes."""

    def __init__(self, rest: Rest, session_id: str) -> None:
        self.rest = rest
        self.id = session_id
        self.api = rest
        """so that the DAP client takes it for a session"""

    def ask(self, method: str, path: str, body: Any = None, /, **params: Any) -> Any:
        return self.rest.ask(method, f"/sessions/{self.id}{path}", body, **params)

    def get(self, path: str = "", /, **params: Any) -> Any:
        return self.ask("GET", path, **params)

    def post(self, path: str, body: Any = None, /, **params: Any) -> Any:
        return self.ask("POST", path, body, **params)

    def patch(self, path: str, body: Any = None, /, **params: Any) -> Any:
        return self.ask("PATCH", path, body, **params)

    def delete(self, path: str = "", /, **params: Any) -> Any:
        return self.ask("DELETE", path, **params)

    def quietly(self, path: str = "", /, **params: Any) -> Any:
        return self.rest.quietly(f"/sessions/{self.id}{path}", **params)

    def break_at(self, path: Path, *lines: int | str, **options: Any) -> Any:
        items = [{"source": {"path": str(path)}, "line": line_of(path, line), **options} for line in lines]
        return self.post("/breakpoints", {"breakpoints": items})

    def launch(self, script: Path | None = None, **options: Any) -> Any:
        target = {"script": str(script)} if script is not None else {}
        return self.post("/launch", {**target, "wait": 60, **options})

    def resume(self, **options: Any) -> Any:
        return self.post("/continue", {"wait": 60, **options})

    def step(self, how: str = "over", **options: Any) -> Any:
        return self.post(f"/step-{how}", options or None)

    def printed(self, text: str) -> None:
        """Wait until the program has printed that; nothing is recorded."""
        settled(
            lambda: "".join(entry["output"] for entry in self.quietly("/output", limit=1000)["entries"]),
            lambda found: text in found,
        )

    def comes_to(self, *states: str) -> None:
        """Wait for a state; nothing is recorded."""
        settled(lambda: self.quietly("/status")["status"], lambda status: status in states)

    def stream(self, path: str, until: str, headers: Any = None, **params: Any) -> None:
        """Record server-sent events up to the first of that name."""
        full = f"/api/v1/sessions/{self.id}{path}"
        asked: dict[str, Any] = {**({"query": params} if params else {}), **({"headers": headers} if headers else {})}
        events = []
        with self.rest.http.stream("GET", full, params=params or None, headers=headers) as answer:
            fields: dict[str, Any] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line and name:
                    fields[name] = as_json(value) if name == "data" else value
                elif not line and fields:
                    events.append(fields)
                    if fields.get("event") == until:
                        break
                    fields = {}
            told = {name: value for name, value in answer.headers.items() if name not in VARYING_HEADERS}
        shown = {"status": answer.status_code, "answer_headers": told, "events": events}
        self.rest.recording.add(f"GET {full}", **asked, **shown)


ANSWERS = ("ack", "result", "error")


class RecordedSocket(Socket):
    """A WebSocket that records each command with its answer, and events, which come when they like, by themselves."""

    def __init__(self, connection: ClientConnection, recording: Recording) -> None:
        super().__init__(connection)
        self.recording = recording
        self.events: list[Any] = []

    def asks(self, action: str, /, **params: Any) -> Any:
        command = {"action": action, **params}
        return self.raw(json.dumps(command, separators=(",", ":")), command)

    def raw(self, text: str | bytes, command: Any = None) -> Any:
        """Send anything, and record its answer."""
        self.send(text)
        name = f"WS {command['action']}" if command else "WS raw"
        messages = self._until(ANSWERS, "result", "error")
        self.recording.add(name, command=command or str(text), messages=messages)
        return messages[-1]["payload"] if isinstance(messages[-1], dict) else None

    def hears(self, *kinds: str) -> None:
        """Record the events up to one of these kinds, or the end; those that came with answers included."""
        if not any(isinstance(event, dict) and event.get("kind") in kinds for event in self.events):
            self._until((), *kinds)
        self.recording.add("WS events", messages=self.events)
        self.events = []

    def _until(self, taken: tuple[str, ...], *kinds: str) -> list[Any]:
        """Return messages of the kinds that are taken, up to one of these kinds; keep the others."""
        found: list[Any] = []
        try:
            while True:
                message = as_json(str(self.connection.recv(PATIENCE)))
                (found if message.get("kind") in taken else self.events).append(message)
                if message.get("kind") in kinds:
                    return found
        except ConnectionClosed:
            end = f"closed: {self.connection.close_code} {self.connection.close_reason}"
            (found if taken else self.events).append(end)
            return found


@contextlib.contextmanager
def socket(stage: Stage, path: str, token: str | None = None, **query: Any) -> Iterator[RecordedSocket]:
    headers = {"Authorization": f"Bearer {token or local_token(stage.relay)}"}
    options: dict[str, Any] = {"compression": None, "max_size": None, "ping_interval": None, "close_timeout": 0.5}
    stage.recording.add(f"WS open {path}", query=query)
    with connect(address(stage.relay, path, **query), additional_headers=headers, **options) as connection:
        yield RecordedSocket(connection, stage.recording)


def refused_socket(stage: Stage, path: str, token: str | None = None, **query: Any) -> None:
    """Record how a WebSocket is refused, by an answer of HTTP or by a close."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer: Any
    try:
        with connect(address(stage.relay, path, **query), additional_headers=headers, compression=None) as connection:
            try:
                answer = as_json(str(connection.recv(PATIENCE)))
            except ConnectionClosed:
                answer = f"closed: {connection.close_code} {connection.close_reason}"
    except InvalidStatus as refusal:
        body = refusal.response.body
        answer = {"status": refusal.response.status_code, "answer": as_json(body.decode() if body else "")}
    stage.recording.add(f"WS open {path}", query=query, answer=answer)


class RecordedIde(Ide):
    """An IDE that records each command with the events that came up to one of those that answer it."""

    recording: Recording

    def asks(self, command: str, /, *until: str, **params: Any) -> Any:
        self.send(command, **params)
        return self.hears(f"EZ {command}", *until, params=params)

    def raw(self, text: str, *until: str) -> Any:
        self.write(text)
        return self.hears("EZ raw", *until, line=text)

    def hears(self, asked: str, *until: str, **what: Any) -> Any:
        events: list[Any] = []
        while (line := self.line()) is not None:
            event = as_json(line.decode())
            events.append(event)
            is_refused = event["event"] == "error" and asked in ("EZ raw", f"EZ {event['data'].get('command')}")
            if is_refused or event["event"] in until:
                break
        self.recording.add(asked, **what, events=output_joined(events))
        return events[-1]["data"] if events else None


def output_joined(events: list[Any]) -> list[Any]:
    """Join what was written between two other events, by category: where it is cut is chance, and so is the order of
    stdout, stderr and console."""
    found: list[Any] = []
    for is_output, run in itertools.groupby(events, lambda event: event["event"] == "output"):
        texts: dict[str, Any] = {}
        for event in sorted(run, key=lambda event: str(event["data"].get("category"))) if is_output else ():
            first = texts.setdefault(event["data"]["category"], event)
            first["data"]["text"] += event["data"]["text"] if first is not event else ""
        found += texts.values() if is_output else run
    return found


class RecordedDap(Dap):
    """An editor that records each request with its answer; events are recorded where they are waited for."""

    recording: Recording

    def asks(self, command: str, **arguments: Any) -> Any:
        seq = self.send(command, **arguments)
        self._read_until(lambda: seq in self.answers)
        answer = self.answers.pop(seq)
        self.recording.add(f"DAP {command}", arguments=arguments, answer={**answer, "seq": 0})
        return answer.get("body") or {}

    def hears(self, name: str, **wanted: Any) -> Any:
        body = self.event(name, **wanted)
        self.recording.add("DAP hears", event=name, body=body)
        return body
