"""Who may talk to the relay: Host, Origin, size, and what is written to the log."""

from __future__ import annotations

import json
import logging
import socket
import sys
from collections.abc import Iterator

import pytest
from stub_relay import Door, StubSettings, served
from waiting import wait_until

from opencode_debugger import logs
from opencode_debugger.auth.guard import HostNames


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with served() as running:
        yield running


def get(door: Door, *headers: bytes) -> tuple[int, str]:
    """Status and error code of GET /health with exactly these headers."""
    lines = b"".join(header + b"\r\n" for header in (*headers, b"Connection: close"))
    return parsed(door.raw(b"GET /api/v1/health HTTP/1.1\r\n" + lines + b"\r\n"))


def parsed(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    return int(head.split()[1]), error["code"] if error else ""


@pytest.mark.parametrize("host", [b"127.0.0.1:PORT", b"localhost:PORT", b"LOCALHOST:PORT", b"[::1]:PORT"])
def test_loopback_names_with_our_port_are_served(door: Door, host: bytes) -> None:
    assert get(door, b"Host: " + host) == (200, "")


@pytest.mark.parametrize(
    "host",
    [
        b"127.0.0.1",
        b"localhost",
        b"[::1]",
        b"127.0.0.1:1",
        b"evil.example:PORT",
        b"127.0.0.1.evil.example:PORT",
        b"",
        b":PORT",
        b"user@127.0.0.1:PORT",
        b"127.0.0.1:PORT:PORT",
        b"127.0.0.1:0PORT",
        b"10.0.0.1:PORT",
    ],
)
def test_other_hosts_are_421(door: Door, host: bytes) -> None:
    assert get(door, b"Host: " + host) == (421, "HOST_NOT_ALLOWED")


def test_missing_host_is_421(door: Door) -> None:
    assert parsed(door.raw(b"GET /api/v1/health HTTP/1.0\r\n\r\n")) == (421, "HOST_NOT_ALLOWED")


def test_second_host_is_421(door: Door) -> None:
    assert get(door, b"Host: 127.0.0.1:PORT", b"Host: 127.0.0.1:PORT") == (421, "HOST_NOT_ALLOWED")


def test_host_that_the_server_was_bound_to_is_its_own() -> None:
    hosts, scope = HostNames("192.168.1.5", 5679), {"server": ("192.168.1.5", 5679)}
    assert hosts.is_own(scope, b"192.168.1.5:5679")
    assert not hosts.is_own(scope, b"192.168.1.6:5679")


def test_any_address_but_no_foreign_name_reaches_a_server_bound_everywhere() -> None:
    hosts, scope = HostNames("0.0.0.0", 5679), {"server": ("10.0.0.1", 5679)}
    assert hosts.is_own(scope, b"10.0.0.1:5679")
    assert not hosts.is_own(scope, b"evil.example:5679")


@pytest.mark.parametrize(
    "origin", [b"http://127.0.0.1:PORT", b"http://localhost:PORT", b"http://[::1]:PORT", b"https://trusted.example"]
)
def test_own_and_listed_origins_are_served(door: Door, origin: bytes) -> None:
    assert get(door, b"Host: 127.0.0.1:PORT", b"Origin: " + origin) == (200, "")


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"null", b"", b"http://localhost:1", b"https://127.0.0.1:PORT", b"file://"]
)
def test_other_origins_are_403(door: Door, origin: bytes) -> None:
    assert get(door, b"Host: 127.0.0.1:PORT", b"Origin: " + origin) == (403, "ORIGIN_NOT_ALLOWED")


def test_second_origin_cannot_hide_the_first(door: Door) -> None:
    origins = (b"Origin: http://evil.example", b"Origin: http://127.0.0.1:PORT")
    assert get(door, b"Host: 127.0.0.1:PORT", *origins) == (403, "ORIGIN_NOT_ALLOWED")


@pytest.mark.parametrize("site", [b"cross-site", b"same-site"])
def test_requests_caused_by_other_sites_are_403(door: Door, site: bytes) -> None:
    assert get(door, b"Host: 127.0.0.1:PORT", b"Sec-Fetch-Site: " + site) == (403, "ORIGIN_NOT_ALLOWED")


@pytest.mark.parametrize("site", [b"none", b"same-origin"])
def test_requests_of_the_user_or_our_own_page_are_served(door: Door, site: bytes) -> None:
    assert get(door, b"Host: 127.0.0.1:PORT", b"Sec-Fetch-Site: " + site) == (200, "")


def test_listed_origin_may_ask_before_and_read_after(door: Door) -> None:
    headers = {"Origin": "https://trusted.example", "Access-Control-Request-Method": "POST"}
    before = door.client.options("/api/v1/sessions", headers=headers)
    assert (before.status_code, before.headers["access-control-allow-origin"]) == (204, "https://trusted.example")
    after = door.client.get("/api/v1/health", headers={"Origin": "https://trusted.example"})
    assert after.headers["access-control-allow-origin"] == "https://trusted.example"


def test_other_answers_are_not_shared(door: Door) -> None:
    assert "access-control-allow-origin" not in door.client.get("/api/v1/health").headers


def test_websocket_of_a_foreign_page_is_refused_before_it_opens(door: Door) -> None:
    upgrade = (
        b"GET /api/v1/sessions/sess_1/logs HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://evil.example\r\n"
        b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nConnection: close\r\n\r\n"
    )
    assert parsed(door.raw(upgrade)) == (403, "ORIGIN_NOT_ALLOWED")
    rebound = upgrade.replace(b"127.0.0.1:PORT\r\nOrigin: http://evil.example", b"evil.example:PORT")
    assert parsed(door.raw(rebound)) == (421, "HOST_NOT_ALLOWED")


def test_declared_length_over_the_limit_is_413(door: Door) -> None:
    answer = door.client.post("/api/v1/sessions", content=b"x" * 10_001)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert answer.json()["error"]["details"]["max_body_bytes"] == StubSettings.max_body_bytes


def test_chunks_over_the_limit_are_413(door: Door) -> None:
    head = b"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
    chunks = (b"3e8\r\n" + b" " * 1000 + b"\r\n") * 11 + b"0\r\n\r\n"
    answer = door.raw(head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks)
    assert parsed(answer) == (413, "PAYLOAD_TOO_LARGE")


def test_chunks_within_the_limit_are_read(door: Door) -> None:
    answer = door.client.post(
        "/api/v1/sessions", content=iter([b'{"name":', b'"n"}']), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 201
    assert door.relay.last[1]["name"] == "n"


def test_server_goes_on_after_a_client_left_in_the_middle_of_a_body(door: Door) -> None:
    head = b"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", door.port)) as connection:
        connection.sendall(head.replace(b"PORT", b"%d" % door.port) + b'Content-Length: 100\r\n\r\n{"name"')
    assert door.client.get("/api/v1/health").status_code == 200


def record(**extra: object) -> logging.LogRecord:
    made = logging.LogRecord("name", logging.INFO, __file__, 1, "said %s", ("this",), None)
    made.__dict__.update(extra)
    return made


def test_log_lines_are_json_with_the_request_id() -> None:
    token = logs.request_id.set("abc")
    try:
        line = json.loads(logs.JsonLines().format(record(fields={"status": 200})))
    finally:
        logs.request_id.reset(token)
    assert (line["level"], line["logger"], line["message"]) == ("info", "name", "said this")
    assert (line["request_id"], line["status"]) == ("abc", 200)


def test_log_lines_on_a_terminal_are_for_people_and_cannot_be_forged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = logs.PlainLines()
    line = plain.format(record(fields={"ms": 6.5}, msg="GET /a\x1b[2J\n10:00:00  ocdb_%s", args=("a" * 43,)))
    assert line[8:] == r"  GET /a\x1b[2J\n10:00:00  ocdb_...  6.5 ms"
    failed = record(levelno=logging.ERROR, levelname="ERROR", exc_info=(ValueError, ValueError("bad"), None))
    assert plain.format(failed)[8:] == "  ERROR: said this\n    ValueError: bad"
    before = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        for format, is_terminal, is_json in (
            ("auto", True, False),
            ("auto", False, True),
            ("json", True, True),
            ("text", False, False),
        ):
            monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
            logs.configure_logs("info", format)
            logging.getLogger("x").warning("heard")
            said = capsys.readouterr().err
            assert ("heard" in said, said.startswith("{")) == (True, is_json)
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)


def access_lines(caplog: pytest.LogCaptureFixture, count: int) -> list[logging.LogRecord]:
    """A line is written after its answer is sent: the client may be quicker."""

    def found() -> list[logging.LogRecord]:
        return [entry for entry in caplog.records if "/sess_1" in entry.getMessage()]

    wait_until(lambda: len(found()) >= count, lambda: f"fewer than {count} access lines: {caplog.records}")
    return found()


def test_each_request_is_logged_without_its_body(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="opencode_debugger.access"):
        door.client.post("/api/v1/sessions/sess_1/evaluate?", json={"expression": "password"})
        door.client.get("/api/v1/sessions/sess_1/status")
        door.client.get("/api/v1/sessions/sess_1")
        lines = [entry.__dict__["fields"] for entry in access_lines(caplog, 2)]
    assert [(line["method"], line["path"].rpartition("/")[2]) for line in lines] == [
        ("POST", "evaluate"),
        ("GET", "sess_1"),
    ]
    assert "password" not in caplog.text


def test_polls_are_logged_when_debugging(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="opencode_debugger.access"):
        door.client.get("/api/v1/sessions/sess_1/status")
        assert "/status" in access_lines(caplog, 1)[0].getMessage()
