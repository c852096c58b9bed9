"""Nobody can exhaust the relay: not with connections, bodies, patience, or by not reading."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Api, Relay, Session, refusal
from sockets import CLOSE, TEXT, RawSocket, debug_of, made, own_relay
from stub_relay import Endless
from waiting import wait_until
from wired_relay import served

from opencode_debugger.doors.transport import uvicorn_http, uvicorn_websocket
from opencode_debugger.models.reading import decode_json

LITTLE = 2.0
"""Seconds of the processor's time, of which a request that is refused must not take more."""


@contextlib.contextmanager
def little_work(relay: Relay) -> Iterator[None]:
    """By the processor's clock, which other processes do not hurry."""
    assert relay.process is not None
    process = psutil.Process(relay.process.pid)
    before = process.cpu_times()
    yield
    after = process.cpu_times()
    assert after.user + after.system - before.user - before.system < LITTLE


def connected(relay: Relay, sent: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", relay.port), 20)
    connection.sendall(sent.replace("PORT", str(relay.port)).encode())
    return connection


def head(path: str, *lines: str, method: str = "GET") -> str:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1:PORT", *lines, "", ""])


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(20)
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


# Bodies.

NAMES = {f"name{number}": 0 for number in range(150_000)}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sessions", NAMES),
        ("/sessions/import", {"breakpoints": [{f"name{n}": 0 for n in range(100)}] * 1_400}),
        ("/sessions/{id}/breakpoints", {"breakpoints": [[]] * 300_000}),
        ("/sessions/{id}/launch", {"code": "x", "env": NAMES}),
    ],
    ids=["names", "names in a list", "items", "environment"],
)
def test_a_body_of_very_many_parts_is_refused_at_once(
    relay: Relay, api: Api, session: Session, path: str, body: Any
) -> None:
    with little_work(relay):
        error = refusal(400, "INVALID_REQUEST", api.post, path.format(id=session.id), body)
    assert len(error.details["errors"]) == 1


def test_a_message_of_very_many_parts_is_refused_at_once(relay: Relay, api: Api) -> None:
    """At /mcp, also when it begins a connection."""
    url, headers = f"http://127.0.0.1:{relay.port}/mcp", {"Accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    assert api.http.post(url, json=message, headers=headers).status_code < 500  # it is loaded now
    for params in (NAMES, {"capabilities": {"experimental": NAMES}}, {"arguments": [[[]]] * 200_000}):
        with little_work(relay):
            answer = api.http.post(url, json={**message, "params": params}, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_REQUEST")


def test_a_command_of_very_many_parts_is_refused_at_once(relay: Relay, session: Session) -> None:
    with debug_of(relay, session) as stream, little_work(relay):
        error = stream.ask("evaluate", expression="1", **NAMES)
        assert (error["kind"], error["payload"]["code"]) == ("error", "INVALID_REQUEST")
        error = stream.ask("set_breakpoints", breakpoints=[{f"name{n}": 0 for n in range(100)}] * 1_400)
        assert (error["kind"], error["payload"]["code"]) == ("error", "INVALID_REQUEST")


def test_very_many_parameters_are_refused_at_once(relay: Relay, api: Api, session: Session) -> None:
    query = "&".join(["limit"] * 10_000)
    with little_work(relay):
        for path in ("/sessions", f"/sessions/{session.id}/output/stream"):
            answer = api.http.get(f"{path}?{query}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_PARAMETER")
        with RawSocket(relay, f"/sessions/{session.id}/logs?{query[:7000]}") as raw:
            assert raw.close_code() == 1008


def test_large_bodies_that_make_sense_are_read() -> None:
    points = [{"file": f"/a/{n}.py", "line": n, "condition": "x > 1", "enabled": True} for n in range(1, 10_001)]
    document = json.dumps({"version": 1, "breakpoints": points}).encode()
    assert len(decode_json(document, "body")["breakpoints"]) == 10_000
    text = json.dumps({"input": "a,[{" * 1_250_000}).encode()
    assert len(decode_json(text, "body")["input"]) == 5_000_000


# Patience.


def test_a_body_that_trickles_in_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(uvicorn_http.PATIENCE, uvicorn_http.Awaited.BODY, 0.5)
    with served(Endless(), tmp_path) as (server, relay, _):
        kind = "Content-Type: application/json"
        asked = head("/api/v1/sessions", kind, "Content-Length: 9000", method="POST")
        with connected(relay, asked) as connection:
            deadline = time.monotonic() + 20
            with contextlib.suppress(ConnectionError):
                while time.monotonic() < deadline:
                    connection.sendall(b" ")
                    time.sleep(0.05)
            assert time.monotonic() < deadline, "a byte now and then kept it alive"
        wait_until(lambda: not server.server_state.connections)


def test_a_long_body_has_time_for_its_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(uvicorn_http.PATIENCE, uvicorn_http.Awaited.BODY, 0.5)
    monkeypatch.setattr(uvicorn_http, "SLOWEST", 50)
    with served(Endless(), tmp_path) as (_, relay, _):
        kind = "Content-Type: application/json"
        with connected(relay, head("/api/v1/sessions", kind, "Content-Length: 2002", method="POST")) as connection:
            connection.sendall(b"{" + b" " * 1000)
            for _ in range(10):
                time.sleep(0.1)
                connection.sendall(b" " * 100)
            connection.sendall(b"}")
            assert connection.recv(1000).startswith(b"HTTP/1.1 201 ")


# Connections.


def test_the_owner_gets_in_however_many_connections_do_nothing(tmp_path: Path) -> None:
    with own_relay(tmp_path, descriptors=128) as (relay, api), contextlib.ExitStack() as stack:
        assert relay.process is not None
        process = psutil.Process(relay.process.pid)
        idle: list[socket.socket] = []
        for sent in ("", "GET /api/v1/hea", head("/api/v1/health")):
            for _ in range(100):
                idle.append(stack.enter_context(connected(relay, sent)))
        with Api(relay.base_url) as owner, owner.session() as session:
            assert session.launch(code="print('here')")["exit_code"] == 0
        assert is_closed(idle[0])
        assert process.num_fds() < 128
        work = process.cpu_times().user
        assert api.get("/health")["status"] == "healthy"
        assert process.cpu_times().user - work < LITTLE


def test_who_is_turned_away_from_a_stream_does_not_keep_a_place(tmp_path: Path) -> None:
    with own_relay(tmp_path, descriptors=128) as (relay, _), contextlib.ExitStack() as stack:
        for _ in range(150):
            stack.enter_context(RawSocket(relay, "/sessions/s/logs", token="wrong"))
        with Api(relay.base_url) as owner, owner.session() as session:
            assert session.launch(code="print('here')")["exit_code"] == 0


# Readers.


def test_the_slowest_readers_are_cut_when_too_much_waits_for_all_of_them() -> None:
    class Transport:
        is_cut = False

        def get_write_buffer_size(self) -> int:
            return 30 * 1024 * 1024

        def abort(self) -> None:
            self.is_cut = True

    class Reader:
        def __init__(self, waiting_since: float | None) -> None:
            self.transport, self.waiting_since = Transport(), waiting_since

    readers = [Reader(since) for since in (None, 1.0, 3.0, 2.0, *[9.5] * 7)]
    uvicorn_websocket.cut_slowest(readers, now=10.0)  # type: ignore[arg-type]
    assert [reader.transport.is_cut for reader in readers[:4]] == [False, True, False, True]
    uvicorn_websocket.cut_slowest([Reader(9.5) for _ in range(20)], now=10.0)  # type: ignore[arg-type]
    assert not any(reader.transport.is_cut for reader in readers[4:]), "a moment is given to everybody"


def test_memory_that_many_readers_took_is_given_back(tmp_path: Path) -> None:
    with own_relay(tmp_path) as (relay, api), api.session() as session:
        assert session.launch(code="for n in range(8000):\n    print('x' * 1000)")["exit_code"] == 0
        assert relay.process is not None
        process = psutil.Process(relay.process.pid)
        before = process.memory_info().rss
        with contextlib.ExitStack() as stack:
            path = f"/sessions/{session.id}/logs"
            for _ in range(200):
                stack.enter_context(RawSocket(relay, path, receive_buffer=4096))
            wait_until(lambda: process.memory_info().rss > before + 60_000_000)
        wait_until(lambda: process.memory_info().rss < before + 50_000_000)


# Garbage.


def test_what_is_no_request_behind_one_that_is_ends_as_documented(tmp_path: Path) -> None:
    with own_relay(tmp_path, log_level="debug") as (relay, api), api.session() as session:
        for garbage in ("\0\1\2", "\xff\xfe no HTTP\r\n\r\n", "GET\r\n\r\n", "{}"):
            for asked in (head("/api/v1/health"), head(f"/api/v1/sessions/{session.id}/report?wait=1")):
                with connected(relay, asked + garbage) as connection:
                    assert connection.recv(65536).startswith(b"HTTP/1.1 ")
                    assert is_closed(connection)
            posting = head("/api/v1/sessions", "Content-Length: 2", method="POST")
            with connected(relay, posting + "{}" + garbage) as posted:
                assert posted.recv(65536).startswith(b"HTTP/1.1 ")
        for sent, code in (
            (made(TEXT, b"\xff") + made(CLOSE, b"\x03\xe8"), 1000),
            (b"\xff" + made(CLOSE, b"\x03\xe8"), 1002),
            (made(CLOSE, b"\x03\xe8\xff"), 1007),
            (made(CLOSE, b"\x03"), 1002),
            (made(TEXT, b"{", is_final=False) + made(0, b"\xff\xff"), 1007),
            (made(CLOSE, b"\x03\xe8") + b"\xff" * 100, 1000),
            (made(TEXT, b'{"action":"ping"}') + b"\xff" + made(CLOSE, b""), 1002),
        ):
            with RawSocket(relay, f"/sessions/{session.id}/debug") as raw:
                raw.socket.sendall(sent)
                assert raw.close_code() == code
        session.launch(code="x = 1\n", stop_on_entry=True)
        host, _, port = session.get()["debugger"]["uri"].removeprefix("tcp://").rpartition(":")
        for line in (b"\xff\xfe\n", b"Bearer \xff\xff\n", b"\0" * 300):
            with socket.create_connection((host, int(port)), 20) as connection:
                connection.sendall(line)
                assert connection.recv(1000).startswith(b"ERROR the first line")
        log = relay.data_dir / "sessions" / session.id / "runner.log"
        assert "Traceback" not in (log.read_text() if log.exists() else "")
