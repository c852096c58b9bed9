"""WebSockets frame by frame: clients that say nonsense, leave, do not read, or come a thousand times."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Relay, Session
from sockets import BINARY, CLOSE, PING, PONG, TEXT, RawSocket, local_token, made, opened, own_relay
from stub_relay import Endless, StubRelay
from waiting import wait_until
from wired_relay import served

from opencode_debugger.doors.transport import uvicorn_http, uvicorn_websocket
from opencode_debugger.persistence.token_store import TokenStore
from opencode_debugger.relay import followers


def debug_path(session: Session) -> str:
    return f"/sessions/{session.id}/debug"


# Frames by hand.


def test_a_client_by_hand_is_understood(relay: Relay, session: Session) -> None:
    with RawSocket(relay, debug_path(session)) as raw:
        assert raw.head.startswith(b"HTTP/1.1 101")
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in raw.head
        raw.send(PING, b"are you there")
        assert raw.frame() == (PONG, b"are you there")
        raw.send(TEXT, b'{"action": ', is_final=False)
        raw.send(PING, b"")
        raw.send(0, b'"ping"', is_final=False)
        raw.send(0, b"}")
        assert raw.frame() == (PONG, b"")
        kinds = [json.loads(raw.frame()[1])["kind"] for _ in range(2)]
        assert kinds == ["ack", "result"]
        raw.send(CLOSE, b"\x03\xe8bye")
        assert raw.frame() == (CLOSE, b"\x03\xe8bye")
        with pytest.raises(EOFError):
            raw.frame()


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (made(TEXT, b'{"action":"ping"}', is_masked=False), 1002),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1002),
        (bytes(range(256)) * 40, 1002),
        (made(0, b"no beginning"), 1002),
        (made(3, b"an opcode that is not one"), 1002),
        (made(PING, b"x" * 126), 1002),
        (made(TEXT, b"\xff\xfe{}"), 1007),
        (b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff" + b"mask", 1009),
        (made(TEXT, b"x" * 17_000_000), 1009),
    ],
    ids=["unmasked", "http", "garbage", "continuation", "opcode", "long ping", "no UTF-8", "exabytes", "17 MB"],
)
@pytest.mark.parametrize("name", ["debug", "logs"])
def test_who_breaks_the_protocol_is_told_and_closed(
    relay: Relay, session: Session, name: str, sent: bytes, code: int
) -> None:
    with RawSocket(relay, f"/sessions/{session.id}/{name}") as raw:
        raw.socket.sendall(sent)
        assert raw.close_code() == code
        with pytest.raises((EOFError, ConnectionResetError)):
            raw.frame()


def test_who_hangs_up_in_the_middle_of_a_frame_leaves_nothing(relay: Relay, session: Session) -> None:
    before = relay.log.read_text()
    for sent in (made(TEXT, b'{"action":"ping"}')[:9], b"\x81", b"\x81\xfe\xff", made(TEXT, b"{", is_final=False), b""):
        for name in ("debug", "logs"):
            with RawSocket(relay, f"/sessions/{session.id}/{name}") as raw:
                raw.socket.sendall(sent)
    with opened(relay, debug_path(session)) as socket:
        assert socket.data("ping")
    assert "Traceback" not in relay.log.read_text().removeprefix(before)


def test_what_is_sent_to_the_logs_is_ignored(relay: Relay, session: Session) -> None:
    with RawSocket(relay, f"/sessions/{session.id}/logs") as raw:
        for number in range(2000):
            raw.send(BINARY if number % 2 else TEXT, b"whatever")
        session.launch(code="print('here')")
        assert [json.loads(message)["text"] for message in raw.messages()] == ["here\n"]


def test_there_are_no_other_streams(relay: Relay, session: Session) -> None:
    for path in ("/", "/sessions", f"/sessions/{session.id}", f"/sessions/{session.id}/log", "/api/v1/health"):
        with opened(relay, path) as socket:
            assert socket.closed() == (1008, "ROUTE_NOT_FOUND")


def test_tokens_and_addresses_are_in_no_log(tmp_path: Path) -> None:
    with own_relay(tmp_path, log_level="debug") as (relay, api), api.session() as session:
        with opened(relay, f"/sessions/{session.id}/debug", kinds="a_kind_of_mine") as socket:
            assert socket.data("ping")
        with RawSocket(relay, f"/sessions/{session.id}/logs?token=in_the_address", token="ocdb_wrong") as raw:
            assert raw.close_code() == 1008
    token = local_token(relay)
    log = relay.log.read_text()
    assert f"WS /sessions/{session.id}/logs 1008" in log
    for secret in (token, "ocdb_wrong", "in_the_address", "a_kind_of_mine"):
        assert secret not in log


# Again and again.


def test_hundreds_of_connections_leave_nothing_behind(tmp_path: Path) -> None:
    with own_relay(tmp_path) as (relay, api), api.session() as session:
        session.launch(code="for n in range(20):\n    print(n)\nimport time\ntime.sleep(1000)", wait=False)
        assert session.get("/output", limit=1, timeout=20)["entries"]
        assert relay.process is not None
        processes = [psutil.Process(relay.process.pid), relay.runner_of(session)]

        def come_and_go(times: int) -> None:
            for number in range(times):
                with RawSocket(relay, f"/sessions/{session.id}/{'logs' if number % 2 else 'debug'}") as raw:
                    if number % 3 == 0:
                        raw.send(TEXT, b'{"action":"report","wait":600}')
                        raw.frame()

        def used() -> list[tuple[int, int]]:
            return [(process.num_fds(), process.memory_info().rss) for process in processes]

        come_and_go(100)
        before = used()
        come_and_go(400)
        with opened(relay, f"/sessions/{session.id}/debug", kinds="stopped") as socket:
            assert socket.data("ping")
        for (descriptors, memory), (more_descriptors, more_memory) in zip(before, used(), strict=True):
            assert more_descriptors <= descriptors + 5
            assert more_memory < memory + 6_000_000


# Not reading at all, in less time than a real relay gives.


def test_a_reader_that_takes_nothing_is_closed_and_one_that_takes_little_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(uvicorn_websocket, "STALLED", 1.5)
    monkeypatch.setattr(uvicorn_websocket, "PARTING", 0.3)
    caplog.set_level(logging.INFO)
    with served(Endless(), tmp_path) as (server, relay, token):
        with RawSocket(relay, "/sessions/s/logs", token, receive_buffer=4096):
            wait_until(lambda: "WS /sessions/s/logs 1013" in caplog.text)
            wait_until(lambda: not server.server_state.connections)
        with RawSocket(relay, "/sessions/s/logs", token, receive_buffer=4096) as slow:
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline:
                assert slow.frame()[0] == TEXT
                time.sleep(0.05)
            assert len(server.server_state.connections) == 1
        wait_until(lambda: not server.server_state.tasks)


def test_a_reader_of_server_sent_events_that_takes_nothing_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uvicorn_websocket, "STALLED", 1.5)
    with served(Endless(), tmp_path) as (server, relay, _):
        request = f"GET /api/v1/sessions/s/output/stream HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", relay.port)) as connection:
            connection.sendall(request.encode())
            assert b" 200 " in connection.recv(100)
            wait_until(lambda: not server.server_state.connections)
            wait_until(lambda: not server.server_state.tasks)
        with socket.create_connection(("127.0.0.1", relay.port)) as connection:
            connection.sendall(request.encode())
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline:
                assert connection.recv(20_000)
                time.sleep(0.05)
            assert len(server.server_state.connections) == 1


def test_answers_to_pings_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    handle_ping = uvicorn_websocket.BoundedWebSocket.handle_ping
    monkeypatch.setattr(
        uvicorn_websocket.BoundedWebSocket, "handle_ping", lambda self: (handle_ping(self), seen.append(self))
    )
    with (
        served(Quiet(), tmp_path) as (_, relay, token),
        RawSocket(relay, "/sessions/s/logs", token, receive_buffer=4096) as raw,
    ):
        raw.socket.sendall(made(PING, b"p" * 125) * 60_000)
        wait_until(lambda: len(seen) == 60_000)
        assert seen[0].transport.get_write_buffer_size() < 500_000


def test_a_request_that_never_comes_to_its_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in uvicorn_http.PATIENCE:
        monkeypatch.setitem(uvicorn_http.PATIENCE, part, 0.2)
    with served(Endless(), tmp_path) as (server, relay, _):
        head = f"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nContent-Type: application/json\r\n"
        for begun in ("", "POST /api", head, f"{head}Content-Length: 9\r\n\r\n{{"):
            with socket.create_connection(("127.0.0.1", relay.port), timeout=10) as connection:
                connection.sendall(begun.encode())
                assert connection.recv(100) == b"", begun
        wait_until(lambda: not server.server_state.connections)
        wait_until(lambda: not server.server_state.tasks)


def test_whoever_sends_piece_by_piece_and_keeps_the_connection_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(uvicorn_http.PATIENCE, uvicorn_http.Awaited.BODY, 5)
    monkeypatch.setitem(uvicorn_http.PATIENCE, uvicorn_http.Awaited.HEAD, 0.5)
    with served(Endless(), tmp_path) as (_, relay, _):
        head = f"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nContent-Type: application/json\r\n"
        pieces = [head + "Content-Length: 4\r\n\r\n", "{", " ", " ", "}"]
        with socket.create_connection(("127.0.0.1", relay.port), timeout=10) as connection:
            for _ in range(2):
                for piece in pieces:
                    connection.sendall(piece.encode())
                    time.sleep(0.15)
                assert connection.recv(10_000).startswith(b"HTTP/1.1 201 ")


def test_the_beginning_of_another_request_does_not_end_the_answer_to_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(uvicorn_http.PATIENCE, uvicorn_http.Awaited.HEAD, 0.1)
    with served(Endless(), tmp_path) as (_, relay, _):
        head = f"GET /api/v1/sessions/s/output/stream HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", relay.port), timeout=10) as connection:
            connection.sendall(f"{head}GET /api".encode())
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                assert connection.recv(100_000)


@pytest.mark.parametrize("path", ["/api/v1/health", "/api/v1/sessions/s/logs"])
def test_a_head_without_an_end_is_refused(relay: Relay, path: str) -> None:
    begun = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nX-Long: ".encode()
    with socket.create_connection(("127.0.0.1", relay.port), timeout=10) as connection:
        connection.sendall(begun + b"x" * 100_000)
        hear(connection, b"The head of the request is larger than 65536 bytes")


def hear(connection: socket.socket, text: bytes) -> None:
    heard = b""
    while text not in heard:
        data = connection.recv(10_000)
        assert data, heard
        heard += data


def test_what_comes_behind_a_body_counts_for_nothing(relay: Relay) -> None:
    head = f"POST /api/v1/nothing HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = head.encode() + b"2\r\n{}\r\n0\r\n"
    with socket.create_connection(("127.0.0.1", relay.port), timeout=10) as connection:
        connection.sendall(body + b"Host: evil.example\r\nAuthorization: Bearer wrong\r\n\r\n")
        hear(connection, b"ROUTE_NOT_FOUND")
        connection.sendall(body + b"X-Long: ")
        hear(connection, b"ROUTE_NOT_FOUND")
        connection.sendall(b"x" * 100_000)
        hear(connection, b"larger than 65536 bytes")


@pytest.mark.parametrize(
    ("extra", "status"),
    [
        (f"Cookie: {'c' * 9000}\r\n", 431),
        ("".join(f"X-{number}: 1\r\n" for number in range(200)), 431),
        ("Content-Length: 5\r\n", 400),
    ],
    ids=["a long header", "many headers", "a body"],
)
def test_a_request_that_can_open_no_websocket_is_answered(relay: Relay, extra: str, status: int) -> None:
    upgrade = (
        f"GET /sessions/s/logs HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    with socket.create_connection(("127.0.0.1", relay.port), timeout=5) as connection:
        connection.sendall(f"{upgrade}{extra}\r\n".encode())
        assert connection.recv(10_000).startswith(b"HTTP/1.1 %d " % status)


def test_who_does_not_take_part_in_the_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_websocket, "PARTING", 0.3)
    with served(Endless(), tmp_path) as (server, relay, token):
        with RawSocket(relay, "/sessions/s/logs", token, receive_buffer=4096) as raw:
            raw.send(CLOSE, b"")
            wait_until(lambda: not server.server_state.connections)
        with RawSocket(relay, "/sessions/unknown/debug", token) as raw:
            assert raw.close_code() == 1008
            wait_until(lambda: not server.server_state.connections)


class Quiet(StubRelay):
    """A session in which nothing happens."""

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes:
        await asyncio.sleep(params["timeout"])
        return b'{"entries":[],"next_cursor":"bzE=","has_more":false,"dropped":0,"cleared":0}'


def test_a_token_that_is_revoked_ends_the_streams_it_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followers, "KEEP_ALIVE", 0.2)
    with served(Quiet(), tmp_path) as (_, relay, token):
        with opened(relay, "/sessions/s/logs", token) as logs, opened(relay, "/sessions/s/debug", token) as debug:
            TokenStore(tmp_path).remove("all")
            assert logs.closed() == debug.closed() == (1008, "UNAUTHORIZED")
        with opened(relay, "/sessions/s/logs", token) as socket:
            assert socket.closed() == (1008, "UNAUTHORIZED")


def test_a_fault_of_ours_is_told_without_its_insides(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(StubRelay(), tmp_path) as (_, relay, token):
        with opened(relay, "/sessions/broken/logs", token) as connection:
            assert connection.closed() == (1011, "INTERNAL_ERROR")
        with opened(relay, "/sessions/odd/logs", token) as connection:
            assert connection.closed() == (1011, "DEBUGPY_ERROR: lone ?")
    assert "a secret" in caplog.text
