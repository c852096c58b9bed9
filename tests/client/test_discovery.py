"""A relay is found where its data folder says, and started if none runs."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from relays import Relay
from started_relays import relay_pid, relays_of
from waiting import runs, wait_until

from opencode_debugger import __version__
from opencode_debugger.agents.conversation import run_now
from opencode_debugger.client import address, starting
from opencode_debugger.client.address import Address, Problem
from opencode_debugger.client.discovery import find_relay, is_running, running_or_started, version_note
from opencode_debugger.client.http import HttpAsker
from opencode_debugger.debuggers.process import loopback_peers

CLIENT = "from opencode_debugger.client.discovery import running_or_started as find; print(find().url)"


def ask(found: Address, operation: str, **params: Any) -> Any:
    asker = HttpAsker(found)
    try:
        return json.loads(run_now(asker.ask(operation, params)))
    finally:
        asker.close()


def test_a_relay_is_started_where_none_runs_and_goes_on_without_its_client(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CLIENT], capture_output=True, text=True, timeout=60)
    pid = relay_pid(folder)
    assert (done.stdout, done.stderr) == (f"{find_relay().url}\n", "")
    assert os.getsid(pid) == pid, "it has a session of its own, so no Ctrl-C of the client's"
    assert running_or_started() == find_relay(), "the next client finds it"
    assert relay_pid(folder) == pid
    assert ask(find_relay(), "health")["status"] == "healthy"
    assert stat.S_IMODE((folder / "relay.log").stat().st_mode) == 0o600
    assert os.readlink(f"/proc/{pid}/cwd") == "/"


def test_clients_that_start_one_at_the_same_time_end_up_with_one(folder: Path) -> None:
    clients = [subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = {client.communicate(timeout=90)[0] for client in clients}
    assert told == {f"{find_relay().url}\n"}
    log = (folder / "relay.log").read_text()
    assert log.count("OpenCode Debug Relay") == 1
    assert "already running" not in log


def test_a_relay_whose_port_is_taken_takes_another_and_a_log_that_has_grown_is_begun_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "LARGEST_LOG", 10)
    folder.mkdir(mode=0o700)
    (folder / "relay.log").write_text("what happened before")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setenv("OPENCODE_DEBUG_PORT", str(port))
        found = running_or_started()
        assert found.port != port
        assert ask(found, "health")["status"] == "healthy"
    assert "before" not in (folder / "relay.log").read_text()


def test_a_relay_that_nobody_needs_ends_and_is_started_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_DEBUG_IDLE_EXIT_MINUTES", "0.001")
    asker = HttpAsker(running_or_started(), find_again=running_or_started)
    wait_until(lambda: not relays_of(folder))
    monkeypatch.setenv("OPENCODE_DEBUG_IDLE_EXIT_MINUTES", "10")
    assert json.loads(run_now(asker.ask("health", {})))["status"] == "healthy"
    asker.close()


def test_a_relay_that_is_started_by_itself_ends_when_idle_and_says_little(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENCODE_DEBUG_IDLE_EXIT_MINUTES")
    settings = ask(running_or_started(), "get_config")["settings"]
    assert (settings["idle_exit_minutes"]["value"], settings["log_level"]["value"]) == (30, "warning")


def test_a_relay_that_cannot_start_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_DEBUG_MAX_SESSIONS", "many")
    with pytest.raises(Problem, match=r"did not start: .*MAX_SESSIONS.* whole number .*relay\.log"):
        running_or_started()


def test_a_relay_that_never_answers_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    silent = tmp_path / "silent"
    silent.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\necho 'opencode-debugger: about to' >&2\nexec sleep 600\n")
    silent.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(silent))
    monkeypatch.setattr(starting, "PATIENCE", 1.0)
    with pytest.raises(Problem, match="did not answer for 1 s; about to"):
        running_or_started()
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not runs(pid))


def test_no_relay_is_started_in_a_folder_that_others_can_read(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    with pytest.raises(Problem, match=rf"no relay can be started for {folder}: .*chmod 700"):
        running_or_started()
    assert not (folder / "relay.log").exists()


def test_who_listens_in_the_place_of_our_relay_is_not_told_the_token(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        folder.mkdir(mode=0o700)
        port = stranger.getsockname()[1]
        (folder / "relay.lock").write_text(json.dumps({"pid": os.getpid(), "host": "127.0.0.1", "port": port}))
        (folder / "local-token").write_text("ocdb_secret")
        (folder / "local-token").chmod(0o600)
        monkeypatch.setattr(address, "ACCEPTING", 0.1)
        monkeypatch.setattr(loopback_peers, "is_other_user", lambda connection: True)
        assert not is_running(folder)
        with pytest.raises(Problem, match="socket of another user"):
            ask(find_relay(), "health")
        for _ in range(2):
            connection, _ = stranger.accept()
            with connection:
                assert connection.recv(1000) == b"", "nothing was said to it"


@pytest.mark.parametrize("is_named", [False, True])
def test_without_a_lock_file_the_token_is_told_to_nobody_else_either(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    """Nor if the address was given: the token of the folder is for processes of ours alone."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        folder.mkdir(mode=0o700)
        (folder / "local-token").write_text("ocdb_secret")
        (folder / "local-token").chmod(0o600)
        monkeypatch.setenv("OPENCODE_DEBUG_PORT", str(stranger.getsockname()[1]))
        monkeypatch.setattr(address, "ACCEPTING", 0.1)
        monkeypatch.setattr(loopback_peers, "is_other_user", lambda connection: True)
        with pytest.raises(Problem, match="socket of another user"):
            ask(find_relay(f"localhost:{stranger.getsockname()[1]}" if is_named else None), "health")
        connection, _ = stranger.accept()
        with connection:
            assert connection.recv(1000) == b"", "nothing was said to it"


@pytest.mark.parametrize("about", ["", "{", "[]", '{"pid": "x"}', '{"pid": 99999999999999999999}', '{"pid": -1}', "{}"])
def test_a_lock_file_that_makes_no_sense_means_that_none_runs(folder: Path, about: str) -> None:
    folder.mkdir(mode=0o700)
    (folder / "relay.lock").write_text(about)
    assert not is_running(folder)


def test_a_relay_of_another_version_is_used_and_that_is_told(folder: Path) -> None:
    assert running_or_started().version == __version__
    assert version_note(find_relay()) is None
    lock = folder / "relay.lock"
    lock.write_text(json.dumps(json.loads(lock.read_bytes()) | {"version": "0.0.1"}))
    found = running_or_started()
    note = version_note(found)
    assert note is not None
    assert f"has version 0.0.1, this client {__version__}" in note and "\n" not in note
    assert ask(found, "health")["status"] == "healthy"


def test_a_server_that_was_named_is_asked_and_none_is_started(folder: Path, relay: Relay) -> None:
    for server in (f"127.0.0.1:{relay.port}", f"http://localhost:{relay.port}", relay.base_url):
        found = running_or_started(server)
        assert (found.url, found.token, found.is_own) == (f"http://{found.netloc}/api/v1", "", False)
        assert ask(found, "health")["status"] == "healthy"
    assert not folder.exists()


def test_a_server_can_be_named_in_the_environment(folder: Path, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_DEBUG_SERVER", f"127.0.0.1:{relay.port}")
    assert running_or_started().url == relay.base_url
    assert not folder.exists()


@pytest.mark.parametrize("server", ["ftp://here", "http://", "localhost:1/elsewhere"])
def test_what_is_no_address_is_refused(server: str) -> None:
    with pytest.raises(Problem, match="is not the address of a relay"):
        find_relay(server)
