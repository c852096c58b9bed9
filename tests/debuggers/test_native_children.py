"""Processes that a native program starts: sessions of their own with gdb, else told."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shlex
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, cast

import psutil
import pytest
from families import NOT_ENABLED, family, stopped
from native import Builder, Native
from relays import Api, Relay, Session, refusal
from waiting import runs, wait_until

from opencode_debugger.debuggers import trusted_gdb
from opencode_debugger.debuggers.native.gdb import run_to_exec
from opencode_debugger.debuggers.native.native_children import ONE_PROCESS, Hold, NativeArrival
from opencode_debugger.debuggers.process.program_process import tracer_of


@pytest.fixture
def program(build: Builder) -> Native:
    return build("family")


def launch(session: Session, native: Native, *args: str, **options: Any) -> Any:
    return session.launch(program=str(native.program), args=list(args), **{"adapter": "gdb", **options})


def debugged(session: Session, native: Native, *args: str, **options: Any) -> Any:
    session.break_at(native.source, "twice")
    return launch(session, native, *args, debug_subprocesses=True, **options)


def spawned(session: Session) -> list[dict[str, Any]]:
    return events(session, "subprocess_spawned")


def events(session: Session, kind: str) -> list[dict[str, Any]]:
    return [event["body"] for event in session.get("/events", limit=1000)["events"] if event["type"] == kind]


def output(session: Session) -> str:
    return "".join(entry["output"] for entry in session.get("/output")["entries"])


def test_children_that_are_started_in_any_way_are_sessions_of_their_own(session: Session, program: Native) -> None:
    report = debugged(session, program)
    arguments = [[], ["twice", "21"], ["twice", "21"], ["twice", "21"], ["twice", "3"]]
    for number, expected in zip(("4", "21", "21", "21", "3"), arguments, strict=True):
        (child_id,) = report["paused_children"]  # its stop has ended the wait for the program
        child = Session(session.api, child_id)
        stop = stopped(child)
        assert (stop["current_location"]["function"], stop["hit_breakpoint_ids"]) == ("twice", ["bp_1"])
        info = child.get()
        assert info["parent_session_id"] in (session.id, *(each["session_id"] for each in session.get()["children"]))
        assert info["program"] == {**info["program"], "program": str(program.program), "args": expected}
        assert child.locals()["number"] == number
        assert child.evaluate("number = number + 1")["result"] == str(int(number) + 1)
        assert child.step("over")["current_location"]["line"] == program.line("twice") + 1
        assert child.resume()["exit_code"] == 2 * int(number) + 2
        report = session.get("/report", wait=30)
    assert report["stop_reason"] == "breakpoint"  # the program itself, after all of them
    assert session.resume()["exit_code"] == 0
    assert output(session).split("\n")[:4] == ["fork 10", "exec 44", "vfork 44", "spawn 44"]
    assert output(session).split("\n")[4:] == ["system 8", "popen heard", "itself 2", ""]
    told = spawned(session)
    assert all(each["debuggable"] and each["session_id"] for each in told)
    commands = [each["command"].replace(str(program.program), "family") for each in told]
    assert commands[2:] == ["family twice 21", "family twice 21", "sh -c family twice 3", "sh -c echo heard"]


def test_what_a_program_becomes_is_told_and_stops_at_the_breakpoints(session: Session, program: Native) -> None:
    stop = debugged(session, program, "become", sys.executable, "-c", BECOMES, str(program.program))
    assert stop["current_location"]["function"] == "twice"
    assert session.get()["program"]["args"] == ["twice", "5"]
    became = [event["body"] for event in events(session, "event") if event["event"] == "exec"]
    assert [each["args"] for each in became] == [["-c", BECOMES, str(program.program)], ["twice", "5"]]
    assert session.resume()["exit_code"] == 10


BECOMES = "import os, sys; os.execv(sys.argv[1], ['family', 'twice', '5'])"


@pytest.mark.parametrize(
    "how",
    [{}, pytest.param({"adapter": None, "debugger": "gdbserver"}, marks=pytest.mark.wide)],
    ids=["gdb", "gdbserver"],
)
def test_a_daemon_is_debugged_after_the_program_has_ended(session: Session, program: Native, how: Any) -> None:
    debugged(session, program, "daemon", **how)
    (child,) = family(session, 1)
    (daemon,) = family(child, 1)
    assert stopped(daemon)["current_location"]["function"] == "twice"
    assert session.get()["exit_code"] == 3
    assert daemon.resume()["exit_code"] == 0
    assert output(session) == "daemon 14\n"


def test_with_the_program_its_family_ends(session: Session, program: Native) -> None:
    launch(session, program, "wait", debug_subprocesses=True, wait=0)
    (child,) = family(session, 1)
    assert child.post("/pause", {"wait": 30})["status"] == "paused"
    pid = child.get()["pid"]
    session.post("/terminate")
    assert child.get()["status"] == "terminated"
    assert not runs(pid)
    assert session.post("/restart", {"wait": 0})["restarted"]
    again = family(session, 2)[1]
    again.delete()  # ends that process alone, which its parent notices
    assert session.get("/report", wait=30)["exit_code"] == 256 - 15


def test_with_a_program_that_is_let_go_its_children_go(session: Session, program: Native) -> None:
    (child_id,) = debugged(session, program)["paused_children"]
    assert session.post("/detach")["children_let_go"] == [child_id]
    wait_until(lambda: session.get()["exit_code"] == 0)  # neither the child nor one that came later held it up
    assert [each["session_id"] for each in session.get()["children"]] == [child_id]
    assert output(session).startswith("fork 8\n") and output(session).endswith("itself 2\n")


def test_a_child_that_never_becomes_a_program_is_told(session: Session, program: Native) -> None:
    assert debugged(session, program, "missing")["exit_code"] == 127
    told = wait_until(lambda: spawned(session))
    assert told[0]["message"] == "Subprocess spawned but not attached: it ended before it became a program."


def test_a_child_whose_debugger_does_not_come_runs_on(tmp_path: Path, program: Native) -> None:
    relay = Relay(tmp_path / "data", gdb_path=slow_gdb(tmp_path)).start()
    try:
        with Api(relay.base_url) as api, api.session() as session:
            pid = child_without_debugger(session, program, tmp_path)
            (tmp_path / "die").touch()
            (told,) = wait_until(lambda: spawned(session))
            assert told["message"].startswith("Subprocess spawned but not attached, it runs on freely: Connection to ")
            assert told["pid"] == pid
            wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_SLEEPING)  # no longer held
            for name in ("slow", "waits", "die"):
                (tmp_path / name).unlink()
        with Api(relay.base_url) as api, api.session() as session:
            os.kill(child_without_debugger(session, program, tmp_path), signal.SIGKILL)
            (tmp_path / "slow").unlink()
            (told,) = wait_until(lambda: spawned(session))
            assert told["message"] == "Subprocess spawned but not attached: it ended before its debugger had come."
    finally:
        relay.stop()


SLOW_GDB = """\
#!/bin/sh
while [ -e {0}/slow ]; do
    [ ! -e {0}/die ] || kill -9 $$
    touch {0}/waits
    sleep 0.05
done
exec env {1} "$@"
"""


def slow_gdb(folder: Path) -> str:
    gdb = trusted_gdb.find(None)
    settings = [f"{name}={value}" for name, value in (gdb.environment | gdb.python).items()]
    path = folder / "gdb"
    path.write_text(SLOW_GDB.format(folder, shlex.join([*settings, *gdb.command])))
    path.chmod(0o755)
    return str(path)


def child_without_debugger(session: Session, program: Native, folder: Path) -> int:
    """Its debugger is slow from the entry of its parent on."""
    started = launch(session, program, "wait", debug_subprocesses=True, stop_on_entry=True)
    (folder / "slow").touch()
    session.resume(wait=0)
    wait_until((folder / "waits").exists)
    (child,) = psutil.Process(started["pid"]).children()
    return int(child.pid)


def test_a_child_is_debugged_when_the_debugger_of_its_parent_has_let_go_of_it() -> None:
    with subprocess.Popen(["sleep", "600"]) as child, ThreadPoolExecutor() as aside:
        try:
            let_go = threading.Event()
            threading.Thread(target=trace, args=(child.pid, let_go)).start()
            wait_until(lambda: tracer_of(child.pid))
            arrival = NativeArrival(Hold(child.pid, 0, b""), os.getpid(), cast(Any, None))
            introduced = aside.submit(asyncio.run, arrival.introduce())
            assert not wait([introduced], timeout=0.1).done
            let_go.set()
            assert introduced.result(30)["program"]["args"] == ["600"]
            assert tracer_of(child.pid) is None
        finally:
            child.kill()


def trace(pid: int, let_go: threading.Event) -> None:
    """What a thread traces is let go when the thread ends."""
    run_to_exec.ptrace(run_to_exec.SEIZE, pid)
    let_go.wait(30)


def test_a_child_that_is_killed_while_it_is_held_leaves_nothing_in_the_memory_of_its_parent() -> None:
    shared = ctypes.create_string_buffer(b"on the spot")
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        Hold(child.pid, ctypes.addressof(shared), b"not collect", sharer=os.getpid()).undo()
        assert shared.value == b"not collect"
        child.wait()
        Hold(child.pid, ctypes.addressof(shared), b"as it was..", sharer=os.getpid()).undo()
        assert shared.value == b"as it was.."


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, NOT_ENABLED),
        pytest.param({"debugger": "gdbserver"}, NOT_ENABLED, marks=pytest.mark.wide),
        ({"adapter": "lldb"}, f"Subprocess spawned but not attached: {ONE_PROCESS}."),
    ],
    ids=["gdb", "gdbserver", "lldb"],
)
def test_children_of_native_programs_are_told(session: Session, program: Native, how: Any, message: str) -> None:
    started = launch(session, program, "wait", wait=0, **how)
    (told,) = wait_until(lambda: spawned(session))
    assert told == {**told, "command": f"fork of {started['pid']}", "debuggable": False, "message": message}
    assert runs(told["pid"])


def test_lldb_refuses_to_debug_children(session: Session, program: Native) -> None:
    error = refusal(400, "NOT_SUPPORTED", launch, session, program, adapter="lldb", debug_subprocesses=True)
    assert "gdb" in error.details["suggestion"]
