"""GET /processes: what one could attach to, found quickly and without touching anything."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from native import Builder
from relays import Api, Relay, Session, pythons, refusal
from targets import Target, attach, listening, running

Write = Callable[..., Path]

WAITING = "import sys; print('ready'); sys.stdin.read()"


def listed(api: Api, **params: Any) -> dict[int, dict[str, Any]]:
    return {item["pid"]: item for item in api.get("/processes", limit=1000, **params)["items"]}


def test_a_plain_program_is_described(api: Api, program: Write, tmp_path: Path) -> None:
    script = program(WAITING, "täglich server.py")
    before = time.time()
    target = Target([sys.executable, str(script), "--port", "8000"])
    try:
        target.says()
        found = listed(api)[target.pid]
        assert found["name"] == "täglich server.py"
        assert found["ppid"] == os.getpid()
        assert found["command"] == f"{sys.executable} {script} --port 8000"
        assert found["interpreter"] == os.path.realpath(sys.executable)
        assert found["python_version"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
        assert (found["attachable"], found["reason"]) == (True, None)
        assert (found["debugpy_port"], found["session_id"]) == (None, None)
        assert found["cwd"] == os.getcwd()
        started = time.strptime(found["started_at"][:19], "%Y-%m-%dT%H:%M:%S")
        assert abs(time.mktime(started) - time.timezone - before) < 60
    finally:
        target.end()
    assert target.pid not in listed(api)


@pytest.mark.parametrize("version", pythons())
def test_every_python_is_recognized(api: Api, version: str, program: Write) -> None:
    with running(program(WAITING), python=pythons()[version]) as target:
        assert (listed(api)[target.pid]["python_version"], listed(api)[target.pid]["attachable"]) == (version, True)


def test_what_cannot_be_attached_to_says_why(api: Api, program: Write, session: Session, relay: Relay) -> None:
    old = pythons("3.7")
    if "3.7" in old:
        with running(program(WAITING), python=old["3.7"]) as target:
            found = listed(api)[target.pid]
            assert (found["attachable"], found["reason"]) == (False, "it runs Python 3.7: debugpy needs 3.8 or newer")
    assert relay.process is not None
    found = listed(api)
    assert found[relay.process.pid]["attachable"] is False
    runner = found[relay.runner_of(session).pid]
    assert (runner["attachable"], runner["session_id"]) == (False, session.id)


def test_a_launched_program_is_found_by_its_name(api: Api, session: Session, program: Write) -> None:
    path = program("import sys, time\nprint(sys.argv, flush=True)\ntime.sleep(30)\n", "nightly job.py")
    pid = session.launch(path, args=["--fast"], wait=False)["pid"]
    session.wait_for_output("--fast")
    assert session.output() == f"{[str(path), '--fast']}\n"
    (found,) = [item for item in listed(api, filter="nightly job.py").values() if item["pid"] == pid]
    assert found["command"].endswith("nightly job.py --fast")


def test_programs_of_sessions_carry_the_session(api: Api, session: Session, program: Write) -> None:
    script = program(
        """
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print("up", child.pid)
        time.sleep(60)
        """
    )
    pid = session.launch(script, wait=False)["pid"]
    session.wait_for_output("up")
    child = int(session.output().split()[1])
    found = listed(api)
    assert (found[pid]["session_id"], found[pid]["attachable"]) == (session.id, False)
    assert found[pid]["reason"] == f"session {session.id} debugs it"
    assert (found[child]["session_id"], found[child]["attachable"]) == (session.id, True)


def test_an_attached_program_carries_the_session_until_it_is_let_go(api: Api, session: Session, program: Write) -> None:
    with running(program(WAITING)) as target:
        attach(session, target)
        assert listed(api)[target.pid]["session_id"] == session.id
        assert listed(api)[target.pid]["attachable"] is False
        session.post("/detach")
        assert listed(api)[target.pid]["session_id"] is None
        assert listed(api)[target.pid]["attachable"] is True


def test_the_port_of_a_debugpy_that_listens_is_found(api: Api, session: Session, program: Write) -> None:
    with listening(program(WAITING)) as (target, port):
        found = listed(api)
        assert (found[target.pid]["debugpy_port"], found[target.pid]["attachable"]) == (port, True)
        adapters = [item for item in found.values() if f"--port {port}" in item["command"]]
        assert [item["attachable"] for item in adapters] == [False]
        # It was only looked at: whoever attaches now is the first to do so.
        assert session.post("/attach", {"port": port, "connect_timeout": 60})["status"] == "running"


def test_pages_and_a_filter(api: Api, program: Write) -> None:
    script = program(WAITING, "unusual_name.py")
    with running(script) as first, running(script) as second:
        pids = sorted([first.pid, second.pid])
        assert list(listed(api, filter="UNUSUAL_name")) == pids
        page = api.get("/processes", filter="unusual_name", limit=1)
        assert ([item["pid"] for item in page["items"]], page["total"], page["has_more"]) == (pids[:1], 2, True)
        page = api.get("/processes", filter="unusual_name", limit=1, offset=1)
        assert ([item["pid"] for item in page["items"]], page["has_more"]) == (pids[1:], False)
        assert api.get("/processes", filter="no such program anywhere")["items"] == []
        everything = list(listed(api))
        assert everything == sorted(everything)


def test_native_programs_are_listed_when_asked_for(api: Api, build: Builder, tmp_path: Path) -> None:
    slow = build("slow")
    with subprocess.Popen([slow.program, "unusual argument"], stdout=subprocess.DEVNULL) as process:
        try:
            assert process.pid not in listed(api)
            found = listed(api, kind="native", filter="unusual argument")
            assert list(found) == [process.pid] and process.pid in listed(api, kind="all")
            item = found[process.pid]
            assert (item["name"], item["interpreter"], item["attachable"]) == ("slow", None, True)
        finally:
            process.kill()


def test_a_long_command_is_cut(api: Api, program: Write) -> None:
    with running(program(WAITING), "x" * 5000) as target:
        assert len(listed(api)[target.pid]["command"]) == 1003


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": 1001}, {"offset": -1}, {"filter": "a\0b"}, {"pid": 1}])
def test_parameters_are_checked(api: Api, params: dict[str, Any]) -> None:
    refusal(400, "INVALID_PARAMETER", api.get, "/processes", **params)
