"""Other users of the machine get nowhere: not on a port, not on a socket, not in a file."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from relays import Api, Relay, Session
from sockets import local_token, own_relay
from strangers import heard_by_another_user, needs_root, own_address, readable_for_another_user
from waiting import wait_until

from opencode_debugger.auth.guard import HostNames
from opencode_debugger.cli.serving import listening, tunnel
from opencode_debugger.client import address as addresses
from opencode_debugger.config import ConfigError
from opencode_debugger.debuggers.process import loopback_peers

COMMAND = str(Path(sys.executable).with_name("opencode-debugger"))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Where everybody may look, as tmp_path is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def request(port: int | str, path: str, token: str | None = None, *headers: str, method: str = "GET") -> str:
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *headers]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += ["Connection: close"] if not headers else []
    return "\r\n".join([*lines, "", ""])


def upgrade(port: int, path: str, token: str) -> str:
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    return request(
        port, path, token, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", key
    )


def is_refused(heard: str) -> bool:
    head, _, body = heard.partition("\r\n\r\n")
    error = json.loads(body)["error"]
    assert "--allow-other-users" in error["details"]["suggestion"]
    return head.startswith("HTTP/1.1 403 ") and error["code"] == "OTHER_USER"


# Ports.


@needs_root
def test_no_port_answers_another_user_even_with_a_token(
    relay: Relay, session: Session, program: Callable[..., Path]
) -> None:
    session.launch(program("x = 1\n"), stop_on_entry=True)
    here, token, path = ("127.0.0.1", relay.port), local_token(relay), f"/api/v1/sessions/{session.id}"
    debugger = session.get()["debugger"]
    host, _, port = debugger["uri"].removeprefix("tcp://").rpartition(":")
    *answers, tunnel = heard_by_another_user(
        (here, request(relay.port, "/api/v1/health")),
        (here, request(relay.port, "/api/v1/sessions", token, method="POST")),
        (here, request(relay.port, "/api/v1/run", token, method="POST")),
        (here, request(relay.port, "/mcp", token, method="POST")),
        (here, request(relay.port, f"{path}/output/stream", token)),
        (here, upgrade(relay.port, f"/sessions/{session.id}/debug", token)),
        (here, upgrade(relay.port, f"/sessions/{session.id}/tunnel", token)),
        (here, ""),
        (here, "\0\xff no HTTP"),
        ((host, int(port)), f"Bearer {debugger['token']}\n"),
    )
    assert all(is_refused(heard) for heard in answers)
    assert tunnel == "ERROR this tunnel is for processes of the user who runs the session\n"
    assert session.get("/status")["status"] == "paused"


@needs_root
def test_another_user_who_comes_again_and_again_does_not_fill_the_log(relay: Relay) -> None:
    """One warning tells of many; the log of a relay that nobody watches is on its user's disk."""
    before = relay.log.read_text().count(" turned away: ")
    assert all(map(is_refused, heard_by_another_user(*[(("127.0.0.1", relay.port), "")] * 20)))
    assert relay.log.read_text().count(" turned away: ") <= before + 1
    assert " turned away: " in relay.log.read_text()


@needs_root
def test_another_user_gets_in_by_no_other_address_of_the_machine(relay: Relay, session: Session) -> None:
    """Loopback can be called from each of them."""
    source = own_address()
    session.launch(code="x = 1\n", stop_on_entry=True)
    debugger = session.get()["debugger"]
    host, _, port = debugger["uri"].removeprefix("tcp://").rpartition(":")
    answer, tunnel = heard_by_another_user(
        (("127.0.0.1", relay.port, source), request(relay.port, "/api/v1/sessions", method="POST")),
        ((host, int(port), source), f"Bearer {debugger['token']}\n"),
    )
    assert is_refused(answer)
    assert tunnel == "ERROR this tunnel is for processes of the user who runs the session\n"
    with socket.create_connection(("127.0.0.1", relay.port), 20, (source, 0)) as own:
        own.sendall(request(relay.port, "/api/v1/health").encode())
        assert own.recv(65536).startswith(b"HTTP/1.1 200 ")


@needs_root
def test_other_users_are_let_in_where_they_are_allowed(tmp_path: Path) -> None:
    with own_relay(tmp_path, allow_other_users=True) as (relay, api), api.session() as session:
        here, token = ("127.0.0.1", relay.port), local_token(relay)
        session.launch(code="x = 1\n", stop_on_entry=True)
        debugger = session.get()["debugger"]
        host, _, port = debugger["uri"].removeprefix("tcp://").rpartition(":")
        health, listed, tunnel, wrong = heard_by_another_user(
            (here, request(relay.port, "/api/v1/health")),
            (here, request(relay.port, "/api/v1/sessions", token)),
            ((host, int(port)), f"Bearer {debugger['token']}\nContent-Length: x\r\n\r\n"),
            ((host, int(port)), "Bearer wrong\n"),
        )
        assert health.startswith("HTTP/1.1 200 ") and listed.startswith("HTTP/1.1 200 ")
        assert not tunnel.startswith("ERROR this tunnel is for")
        assert wrong.startswith("ERROR the first line")
    assert "other users of this machine can run programs as you" in relay.log.read_text()


@needs_root
def test_the_port_that_the_command_opens_for_a_debugger_is_not_for_others(relay: Relay, session: Session) -> None:
    session.launch(code="x = 1\n", stop_on_entry=True)
    command = [COMMAND, "tunnel", "--data-dir", str(relay.data_dir), "--listen", "0", session.id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[2].rpartition(":")[2])
        heard = heard_by_another_user((("127.0.0.1", port), "Content-Length: 2\r\n\r\n{}"))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert heard in ([""], ["ConnectionResetError"])
    assert "a process of another user was turned away" in said


# Whose a connection is.

FAMILIES = [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1"), ("127.0.0.1", "::ffff:127.0.0.1")]


@contextlib.contextmanager
def connection(bound: str, called: str) -> Iterator[tuple[socket.socket, socket.socket]]:
    family = socket.AF_INET6 if ":" in bound else socket.AF_INET
    with (
        socket.create_server((bound, 0), family=family, dualstack_ipv6=bound == "::") as listener,
        socket.create_connection((called, listener.getsockname()[1]), 10) as there,
        listener.accept()[0] as here,
    ):
        yield here, there


@pytest.mark.parametrize("way", [loopback_peers.ask_kernel, loopback_peers.read_tables])
@pytest.mark.parametrize(("bound", "called"), FAMILIES)
def test_the_owner_of_a_connection_is_found_and_who_is_gone_is_nobody(
    bound: str, called: str, way: loopback_peers.Way
) -> None:
    with connection(bound, called) as (here, there):
        ends = loopback_peers.ends_of(here)
        assert ends is not None and ends.is_local
        assert way(ends) == os.geteuid()
        assert not loopback_peers.is_other_user(here)
        there.close()
        assert way(ends) is None
        assert loopback_peers.is_other_user(here)


@needs_root
@pytest.mark.parametrize("way", [loopback_peers.ask_kernel, loopback_peers.read_tables])
@pytest.mark.parametrize(("bound", "called"), FAMILIES)
def test_another_user_is_known_whatever_the_family(
    monkeypatch: pytest.MonkeyPatch, bound: str, called: str, way: loopback_peers.Way
) -> None:
    """The other way round, which is the same to the system: the process that is called is another user's."""
    with connection(bound, called) as (here, there):
        os.fchown(there.fileno(), 64_123, -1)
        monkeypatch.setattr(loopback_peers, "way_to_tell", lambda: way)
        assert loopback_peers.is_other_user(here)
        os.fchown(there.fileno(), 0, -1)
        monkeypatch.setattr(os, "geteuid", lambda: 64_124)
        assert not loopback_peers.is_other_user(here), "root may do anything anyway"


def test_where_the_system_does_not_tell_nobody_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback_peers, "way_to_tell", lambda: None)
    with connection("127.0.0.1", "127.0.0.1") as (here, there):
        there.close()
        assert not loopback_peers.is_other_user(here)


def test_while_nothing_can_be_told_for_want_of_descriptors_everybody_counts_as_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loopback_peers.way_to_tell.cache_clear()
    with connection("127.0.0.1", "127.0.0.1") as (here, _):
        with monkeypatch.context() as scarce:
            scarce.setattr(loopback_peers.socket, "socket", lambda *_: os.open("/nowhere", os.O_RDONLY))
            assert loopback_peers.is_other_user(here)
        assert not loopback_peers.is_other_user(here), "and not for good"


# A unix socket.


def at(relay: Relay) -> Api:
    api = Api("http://localhost/api/v1")
    api.http = httpx2.Client(base_url=api.base_url, transport=httpx2.HTTPTransport(uds=relay.settings["uds"]))
    return api


def is_listening(relay: Relay) -> bool:
    """A connection is made as soon as it is, and answered when it can be."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(relay.settings["uds"])
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from None
    return True


@contextlib.contextmanager
def relay_on(folder: Path, **settings: Any) -> Iterator[Relay]:
    relay = Relay(folder / "data", uds=str(folder / "sockets" / "relay.sock"), **settings)
    relay.is_up = lambda: is_listening(relay)
    relay.start()
    try:
        yield relay
    finally:
        relay.stop()


@needs_root
def test_a_unix_socket_is_the_only_way_in_and_only_for_its_user(open_folder: Path) -> None:
    with relay_on(open_folder) as relay, at(relay) as api, api.session() as session:
        path = Path(relay.settings["uds"])
        assert session.launch(code="x = 1\n", stop_on_entry=True)["status"] == "paused"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert relay.process is not None
        assert [each for each in psutil.Process(relay.process.pid).net_connections("inet") if not each.raddr] == []
        sent = (str(path), request("1", "/api/v1/health"))
        assert heard_by_another_user(sent) == ["PermissionError"]
        path.parent.chmod(0o755)
        assert heard_by_another_user(sent) == ["PermissionError"]
        path.chmod(0o666)
        (heard,) = heard_by_another_user(sent)
        assert is_refused(heard), "also if somebody has opened it up"
    assert not path.exists()
    assert f"Socket    {path}" in relay.log.read_text()


def test_the_command_finds_the_relay_by_its_socket(tmp_path: Path) -> None:
    with relay_on(tmp_path) as relay, at(relay) as api, api.session() as session:
        session.launch(code="x = 1\n", stop_on_entry=True)
        asked = b'{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}'
        message = b"Content-Length: %d\r\n\r\n%b" % (len(asked), asked)
        for where in (["--data-dir", str(relay.data_dir)], ["--server", f"unix:{relay.settings['uds']}"]):
            command = [COMMAND, "tunnel", *where, session.id]
            env = {**os.environ, "OPENCODE_DEBUG_TOKEN": local_token(relay)}
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write(message)
                process.stdin.flush()
                assert process.stdout.readline().startswith(b"Content-Length:")
                process.stdin.close()
                process.stdout.read()
        missing = subprocess.run(
            [COMMAND, "tunnel", "--data-dir", str(relay.data_dir), "--listen", "0", "sess_none"],
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert "there is no session sess_none" in missing.stderr


def serve_on(path: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, "serve", "--uds", str(path), "--data-dir", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_a_socket_that_was_left_is_replaced_and_one_that_answers_is_not(tmp_path: Path) -> None:
    with relay_on(tmp_path) as relay:
        path = Path(relay.settings["uds"])
        refused = serve_on(path, tmp_path / "other")
        assert refused.returncode == 1 and "a relay is listening there already" in refused.stderr
        with at(relay) as api:
            assert api.get("/health")["status"] == "healthy"
        relay.kill()
        assert path.exists()
        relay.start()
        with at(relay) as api:
            assert api.get("/health")["status"] == "healthy"
    wait_until(lambda: not path.exists())


def test_what_is_no_socket_of_ours_is_left_alone(tmp_path: Path, open_folder: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert "something else is there" in serve_on(file, tmp_path / "data").stderr
    assert file.read_text() == "mine"
    open_folder.chmod(0o777)
    assert "others can change what is in" in serve_on(open_folder / "relay.sock", tmp_path / "data").stderr
    assert "more than 107 bytes" in serve_on(tmp_path / ("x" * 120), tmp_path / "data").stderr
    pem = tmp_path / "cert.pem"
    assert "needs no --certfile" in serve_on(tmp_path / "s", tmp_path / "data", "--certfile", str(pem)).stderr


def test_a_folder_that_somebody_keeps_locked_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "LOCKED", 0.1)
    path = tmp_path / "relay.sock"
    with pytest.raises(ConfigError, match="keeps its folder locked"), listening.lock_held(tmp_path):
        listening.listening_on_path(path).__enter__()


def test_a_relay_that_does_not_answer_at_its_socket_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tunnel, "OPENING", 0.1)
    path = str(tmp_path / "relay.sock")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        silent.listen()
        address = addresses.Address(addresses.HERE, uds=path, token="token")
        with pytest.raises(addresses.Problem, match="no relay answers"):
            tunnel.check_session(address, "sess_x")
        monkeypatch.setattr(loopback_peers, "is_other_user", lambda connection: True)
        with pytest.raises(addresses.Problem, match="socket of another user"):
            tunnel.check_session(address, "sess_x")


@pytest.mark.parametrize("host", [b"localhost", b"localhost:5679", b"127.0.0.1:1", b"[::1]"])
def test_any_loopback_name_and_no_other_is_right_at_a_unix_socket(host: bytes) -> None:
    hosts, scope = HostNames("127.0.0.1", 5679, is_unix=True), {"server": ("/path", None), "headers": [(b"host", host)]}
    assert hosts.is_own(scope, host)
    assert not hosts.is_own(scope, b"evil.example")
    assert hosts.is_own_origin(scope, b"http://" + host)
    assert not hosts.is_own_origin(scope, b"http://localhost:3000"), "a page of another server on this machine"


# Files.


@needs_root
def test_nothing_in_the_data_folder_is_open_to_another_user(open_folder: Path) -> None:
    with own_relay(open_folder) as (relay, api), api.session(project_root=str(open_folder)) as session:
        session.launch(code="x = 1\n", stop_on_entry=True)
        session.post("/breakpoints", {"breakpoints": [{"source": {"path": str(open_folder / "x.py")}, "line": 1}]})
        api.post("/breakpoint-profiles", {"name": "kept", "session_id": session.id})
        found = [relay.data_dir, *relay.data_dir.rglob("*")]
        sockets = [str(path) for path in found if path.is_socket()]
        others = [str(path) for path in found if not path.is_socket()]
        assert any(path.endswith("rpc.sock") for path in sockets)
        assert {"local-token", "tokens.json"} <= {Path(path).name for path in others}
        for folder in (path for path in found if path.is_dir()):
            folder.chmod(0o755)  # so that each file has to stand for itself
        assert [path for path in readable_for_another_user(others) if not Path(path).is_dir()] == []
        assert set(heard_by_another_user(*((path, "{}\n") for path in sockets))) == {"PermissionError"}
        for folder in (path for path in found if path.is_dir()):
            folder.chmod(0o700)
        assert readable_for_another_user(others) == []
