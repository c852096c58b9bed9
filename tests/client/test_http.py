"""A relay is asked over HTTP, by a client that blocks and by one on an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Relay, Session, wait_for_requests
from sockets import own_relay
from started_relays import kill_relay
from waiting import wait_until

from opencode_debugger.agents.conversation import run_now
from opencode_debugger.client.address import Address
from opencode_debugger.client.discovery import find_relay, running_or_started
from opencode_debugger.client.http import AsyncHttpAsker, DebugError, HttpAsker, RelayGone, own_environment

HEAVY = ("asyncio", "ssl", "email", "http.client", "pydantic", "starlette", "typer", "subprocess", "logging.handlers")


def told(asking: Any) -> Any:
    return json.loads(run_now(asking))


def ask_health(make: type[HttpAsker], address: Address) -> Any:
    async def ask() -> bytes:
        asker = make(address)
        try:
            return await asker.ask("health", {})
        finally:
            asker.close()

    return json.loads(asyncio.run(ask()))


@pytest.fixture
def asker(relay: Relay) -> Iterator[HttpAsker]:
    made = HttpAsker(find_relay(data_dir=relay.data_dir))
    yield made
    made.close()


@pytest.fixture
def stopped(session: Session, program: Callable[..., Path]) -> Session:
    path = program("total = 3\nprint(total)  # @here\n")
    session.break_at(path, "here")
    assert session.launch(path)["stop_reason"] == "breakpoint"
    return session


def test_operations_are_asked_by_name(asker: HttpAsker, stopped: Session) -> None:
    about = {"session_id": stopped.id}
    assert told(asker.ask("evaluate", {**about, "expression": "total + 1"}))["result"] == "4"
    rows = told(asker.ask("frame_variables", {**about, "frame_id": 0, "count": 1}))["variables"]
    assert len(rows) == 1
    assert told(asker.ask("continue", {**about, "wait": 30}))["exit_code"] == 0
    assert told(asker.ask("output", about))["entries"][0]["output"] == "3\n"


@pytest.mark.parametrize(
    ("operation", "params", "code", "suggestion"),
    [
        ("info", {"session_id": "sess_00000000"}, "SESSION_NOT_FOUND", "list"),
        ("info", {}, "MISSING_PARAMETER", "Give session_id"),
        ("contine", {}, "INVALID_PARAMETER", "Use one of: continue"),
        ("follow_output", {}, "INVALID_PARAMETER", "output"),
        ("describe", {}, "INVALID_PARAMETER", "Use one of"),
        ("list_sessions", {"limit": "many"}, "INVALID_PARAMETER", "named in details"),
        ("create_session", {"name": "\udcff"}, "INVALID_PARAMETER", "UTF-8"),
        ("create_session", {"name": object()}, "INVALID_PARAMETER", "text"),
        ("info", {"session_id": "\udcff"}, "INVALID_PARAMETER", "UTF-8"),
        ("list_sessions", {"status": "\udcff"}, "INVALID_PARAMETER", "UTF-8"),
        ("create_session", {"name": 3}, "INVALID_REQUEST", "details.errors"),
    ],
)
def test_what_is_refused_is_raised_with_what_to_do(
    asker: HttpAsker, operation: str, params: dict[str, Any], code: str, suggestion: str
) -> None:
    with pytest.raises(DebugError) as refused:
        run_now(asker.ask(operation, params))
    assert (refused.value.code, suggestion in refused.value.suggestion) == (code, True), refused.value
    assert refused.value.message in str(refused.value) and refused.value.suggestion in str(refused.value)


def test_the_same_connection_is_used_again_until_the_relay_closes_it(tmp_path: Path) -> None:
    with own_relay(tmp_path) as (relay, api):
        assert relay.process is not None
        api.http.close()
        asker = HttpAsker(find_relay(data_dir=relay.data_dir))
        ports = set()
        for _ in range(3):
            run_now(asker.ask("health", {}))
            found = psutil.Process(relay.process.pid).net_connections("tcp")
            ports |= {each.raddr.port for each in found if each.status == "ESTABLISHED"}
        assert len(ports) == 1
        assert relay.stop() == 0
        with pytest.raises(RelayGone, match="no relay answers"):
            run_now(asker.ask("health", {}))
        relay.start()
        assert told(asker.ask("health", {}))["status"] == "healthy"
        asker.close()


def test_a_unix_socket_is_as_good(tmp_path: Path) -> None:
    path = str(tmp_path / "relay.sock")
    relay = Relay(tmp_path / "data", uds=path)
    relay.is_up = lambda: (relay.data_dir / "local-token").exists()
    relay.start()
    try:
        for address in (find_relay(data_dir=relay.data_dir), find_relay(f"unix:{path}", data_dir=relay.data_dir)):
            asker = HttpAsker(address)
            assert told(asker.ask("health", {}))["status"] == "healthy"
            assert told(asker.ask("list_sessions", {}))["items"] == []
            asker.close()
    finally:
        assert relay.stop() == 0


def test_over_tls_the_certificate_of_the_relay_is_checked(tmp_path: Path) -> None:
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", *names, "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(["openssl", *request], cwd=tmp_path, check=True, capture_output=True)
    relay = Relay(tmp_path / "data", certfile=tmp_path / "cert.pem", keyfile=tmp_path / "key.pem")
    relay.is_up = lambda: (relay.data_dir / "local-token").exists()
    relay.start()
    try:
        found = find_relay(data_dir=relay.data_dir)
        assert found.url.startswith("https:")
        for make in (HttpAsker, AsyncHttpAsker):
            assert ask_health(make, found)["status"] == "healthy"
            with pytest.raises(RelayGone, match="is not trusted"):
                ask_health(make, found._replace(cafile=None))
            with pytest.raises(RelayGone, match=r"is no relay: is it https|went away"):
                ask_health(make, found._replace(url=found.url.replace("https", "http")))
    finally:
        assert relay.stop() == 0


# On an event loop.


def test_several_things_are_asked_at_once_and_a_wait_that_is_cancelled_ends_in_the_relay(
    tmp_path: Path, program: Callable[..., Path]
) -> None:
    path = program("import time\nprint('runs', flush=True)\ntime.sleep(600)\n")
    with own_relay(tmp_path) as (relay, api), api.session() as session:
        session.launch(path, wait=0)
        session.wait_for_output("runs")
        address = find_relay(data_dir=relay.data_dir)

        async def cancel_a_wait() -> None:
            asker = AsyncHttpAsker(address)
            waiting = asyncio.create_task(asker.ask("report", {"session_id": session.id, "wait": 600}))
            await asyncio.to_thread(wait_for_requests, relay, 1)
            assert json.loads(await asker.ask("status", {"session_id": session.id}))["status"] == "running"
            assert not waiting.done()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            asker.close()

        asyncio.run(cancel_a_wait())
        assert relay.process is not None
        process = psutil.Process(relay.process.pid)
        # One is the test's own.
        wait_until(lambda: sum(each.status == "ESTABLISHED" for each in process.net_connections("tcp")) == 1)


# A relay that goes away.


def test_what_may_have_been_done_is_not_asked_for_twice(
    folder: Path, program: Callable[..., Path], tmp_path: Path
) -> None:
    lines = tmp_path / "lines"
    path = program(f"""
        for line in iter(input, "end"):
            print(line, file=open({str(lines)!r}, "a"))
            while line == "work":
                pass
    """)
    asker = HttpAsker(running_or_started(), find_again=running_or_started)
    session = {"session_id": told(asker.ask("create_session", {}))["session_id"]}
    told(asker.ask("launch", {**session, "script": str(path), "wait": 0}))
    killer = threading.Thread(target=lambda: (wait_until(lines.exists), kill_relay(folder)))
    killer.start()
    with pytest.raises(RelayGone, match=r"went away before it answered what it was asked \(stdin\), and is back"):
        run_now(asker.ask("stdin", {**session, "input": "work\n", "wait": 60}))
    killer.join()
    assert told(asker.ask("status", session))["status"] == "running", "the program went on meanwhile"
    assert lines.read_text() == "work\n"
    asker.close()


def test_a_relay_that_has_taken_the_place_of_ours_is_not_taken_for_it(folder: Path, relay: Relay) -> None:
    running_or_started()
    pid = kill_relay(folder)
    about = {"pid": pid, "host": "127.0.0.1", "port": relay.port}
    (folder / "relay.lock").write_text(json.dumps(about))
    asker = HttpAsker(find_relay(), find_again=running_or_started)
    assert asker.address.port == relay.port
    assert told(asker.ask("create_session", {"name": "ours"}))["name"] == "ours"
    assert asker.address.port != relay.port
    asker.close()


# Whatever else may answer.


@contextlib.contextmanager
def answering(*answers: bytes) -> Iterator[Address]:
    """A server that gives these answers, one for each connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in answers:
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Address(f"http://127.0.0.1:{server.getsockname()[1]}/api/v1")
        finally:
            thread.join()


def enveloped(error: dict[str, Any]) -> bytes:
    body = json.dumps({"success": False, "data": None, "error": error, "meta": {}}).encode()
    return b"HTTP/1.1 418 No\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def test_an_error_of_a_newer_relay_is_told_as_it_is() -> None:
    details = {"suggestion": "Drink it", "status": "hot", "message": "of its own"}
    newer = enveloped({"code": "TEAPOT", "message": "It is one", "details": details})
    with answering(newer) as address, pytest.raises(DebugError) as failed:
        ask_health(HttpAsker, address)
    assert (failed.value.code, failed.value.status, failed.value.details) == ("TEAPOT", 418, details)
    assert str(failed.value) == "TEAPOT: It is one (Drink it)"


def test_a_relay_that_does_not_know_an_operation_has_another_version() -> None:
    older = enveloped({"code": "ROUTE_NOT_FOUND", "message": "No route", "details": {"suggestion": "See /docs"}})
    with answering(older) as address, pytest.raises(DebugError) as failed:
        ask_health(HttpAsker, address)
    assert "starts one of this version" in failed.value.suggestion


def test_chunks_are_put_together() -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        b'10\r\n{"success":true,\r\n5;x=y\r\n"data\r\n7\r\n":[42]}\r\n0\r\n\r\n'
    )
    with answering(chunked) as address:
        assert ask_health(HttpAsker, address) == [42]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "went away before it answered"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "went away before it answered"),
        (b"HTTP/1.1 200 OK\r\nX: y", "went away before it answered"),
        (b"SSH-2.0-OpenSSH_9\r\n", "is no relay: is it https"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "is no relay"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "is no relay"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200, "is no relay"),
        (b"HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nPage", r"is no relay \(HTTP 404\)"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "is no relay"),
    ],
)
@pytest.mark.parametrize("make", [HttpAsker, AsyncHttpAsker])
def test_what_is_no_relay_is_said_to_be_none(make: type[HttpAsker], answer: bytes, said: str) -> None:
    with answering(answer) as address, pytest.raises(RelayGone, match=said):
        ask_health(make, address)


# What it takes along.


def test_the_light_client_loads_little() -> None:
    modules = "opencode_debugger.client.http, opencode_debugger.client.discovery"
    code = f"import sys, {modules}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_programs_get_the_clients_environment_without_its_tokens(
    relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_DEBUG_TOKEN", "ocdb_secret")
    monkeypatch.setenv("MINE", "ü")
    monkeypatch.setitem(os.environ, "NO_TEXT", os.fsdecode(b"\xff"))
    environment = own_environment()
    assert environment["MINE"] == "ü"
    assert not {"OPENCODE_DEBUG_TOKEN", "NO_TEXT"} & environment.keys()
    assert HttpAsker(find_relay(data_dir=relay.data_dir)).environment == environment
    assert HttpAsker(Address("http://elsewhere/api/v1")).environment is None
