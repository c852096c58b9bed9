"""A relay that crashes, restarts, is refused, is told to stop; runners that die; sessions whose time is up."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import RUN_ID, RUN_MARKER, Api, ApiError, Relay, Session, free_port, line_of
from waiting import holds_for, soon, wait_until

LOOP = """
def work(items):
    total = 0
    for item in items:
        total += item  # @body
    return total


print("begin")
answer = work([1, 2, 3, 4])
print("answer", answer)  # @print
"""

RUNNING = """
import pathlib
import sys
import time

go = pathlib.Path(sys.argv[1])
count = 0
while not go.exists():
    print("tick", count, flush=True)
    count += 1
    time.sleep(0.01)
print("end of ticks", count)
done = True  # @done
"""

SLEEPER = """
import time

print("asleep")
time.sleep(600)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Relay]]:
    """Relays of this test alone, stopped at its end."""
    started: list[Relay] = []

    def make(folder: str = "data", **settings: Any) -> Relay:
        relay = Relay(tmp_path / "relays" / folder, **settings)
        relay.data_dir.parent.mkdir(exist_ok=True)
        relay.data_dir.mkdir(mode=0o700, exist_ok=True)
        started.append(relay)
        return relay.start()

    yield make
    for relay in started:
        if relay.process is not None and relay.process.poll() == -signal.SIGKILL:
            relay.start()  # it takes care of what its predecessor left
        relay.stop()


def failure(call: Callable[[], Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value


def marked(session_id: str) -> list[int]:
    """Programs of a session that are alive."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            if environment.get("OPENCODE_DEBUG_SESSION") == session_id and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def runner_of(relay: Relay, session_id: str) -> psutil.Process:
    folder = str(relay.data_dir / "sessions" / session_id)
    for process in psutil.process_iter():
        try:
            if process.cmdline()[-1:] == [folder] and "opencode_debugger.runner" in process.cmdline():
                return process
        except psutil.Error:
            continue
    raise AssertionError(f"no runner for {folder}")


def state_of(session: Session) -> dict[str, Any]:
    """All that must be the same before and after; looking does not count as activity, so times may differ."""
    info = session.get()
    for changing in ("expires_at", "warning"):
        info.pop(changing)
    state = {"info": info, "breakpoints": session.get("/breakpoints"), "output": session.output(None)}
    state["events"] = session.events()
    if info["status"] == "paused":
        state["stack"] = session.get("/stacktrace")
        state["locals"] = session.locals()
    return state


def test_three_sessions_outlive_a_killed_relay(own: Callable[..., Relay], program: Callable[..., Path]) -> None:
    relay = own()
    path, running = program(LOOP), program(RUNNING, "running.py")
    go = running.with_name("go")
    with Api(relay.base_url) as api:
        at_breakpoint, after_step, loop = api.session(name="first"), api.session(), api.session()
        at_breakpoint.break_at(path, "body", condition="item > 1")
        at_breakpoint.launch(path, record=True)
        after_step.break_at(path, "body")
        after_step.break_at(path, "print", enabled=False)
        after_step.launch(path)
        after_step.resume()
        after_step.step("over")
        loop.break_at(running, "done")
        loop.launch(running, args=[str(go)], wait=False)
        loop.wait_for_output("tick 3")
        before = [state_of(session) for session in (at_breakpoint, after_step)]
        pages = [session.get("/events", limit=3) for session in (at_breakpoint, after_step, loop)]
        outputs = [session.get("/output", limit=1) for session in (at_breakpoint, after_step, loop)]
        expected = api.get("/sessions")
        timeline = after_step.get("/timeline")
        told = [after_step.get(f"/timeline/{entry['id']}") for entry in timeline["entries"]]
        seen_ticks = loop.output()
    relay.kill()
    relay.start()
    with Api(relay.base_url) as api:
        assert api.get("/sessions") == expected
        first, second, third = (Session(api, session.id) for session in (at_breakpoint, after_step, loop))
        assert [state_of(session) for session in (first, second)] == before
        assert [second.get(f"/timeline/{entry['id']}") for entry in timeline["entries"]] == told
        for session, page, output in zip((first, second, third), pages, outputs, strict=True):
            whole = session.events()
            assert whole[: len(page["events"])] == page["events"]
            following = session.get("/events", cursor=page["next_cursor"], limit=1000)["events"]
            assert [event["seq"] for event in following] == list(range(4, 4 + len(following)))
            rest = session.get("/output", cursor=output["next_cursor"], limit=1000)
            both = [*output["entries"], *rest["entries"]]
            text = "".join(entry["output"] for entry in both)
            assert session.output(None).startswith(text)
        assert first.evaluate("total + item")["result"] == "3"
        assert first.get("/recording/calls", function="work")["calls"][0]["outcome"] == "running"
        assert first.resume()["current_location"]["line"] == line_of(path, "body")
        assert first.get("/breakpoints")["breakpoints"][0]["hit_count"] == 2
        assert first.resume()["status"] == "paused"
        assert first.resume()["exit_code"] == 0
        assert first.output() == "begin\nanswer 10\n"
        assert first.get("/recording/calls", function="work")["calls"][0]["value"] == "10"
        assert second.step("over")["current_location"]["line"] == line_of(path, "body")
        following = second.get("/timeline", cursor=timeline["next_cursor"])["entries"]
        assert [entry["operation"] for entry in following if entry["kind"] == "command"][-1] == "step_over"
        assert following[0]["id"] == len(told) + 1
        second.delete("/breakpoints/bp_1")
        new = second.break_at(path, "print")
        assert [bp["id"] for bp in new] == ["bp_2"]
        assert second.resume()["hit_breakpoint_ids"] == ["bp_2"]
        assert second.step("over")["status"] == "terminated"
        assert third.get("/status")["status"] == "running"
        go.touch()
        stop = third.get("/report", wait="30")
        assert stop["current_location"]["line"] == line_of(running, "done")
        count = int(third.evaluate("count")["result"])
        ticks = "".join(f"tick {number}\n" for number in range(count))
        assert third.output() == f"{ticks}end of ticks {count}\n"
        assert ticks.startswith(seen_ticks)
        assert third.resume()["exit_code"] == 0
        for session in (first, second, third):
            assert session.delete()["deleted"] is True


def test_what_is_printed_while_no_relay_runs_is_not_lost(
    own: Callable[..., Relay], program: Callable[..., Path]
) -> None:
    relay = own()
    path = program(
        """
        import pathlib
        import sys

        print("first", flush=True)
        while not pathlib.Path(sys.argv[1]).exists():
            pass
        for number in range(2000):
            sys.stdout.write(f"{number}\\n")  # print would write a line in two pieces
        pathlib.Path(sys.argv[2]).touch()
        sys.exit(7)
        """
    )
    go, done = path.with_name("go"), path.with_name("done")
    with Api(relay.base_url) as api:
        session = api.session()
        session.launch(path, args=[str(go), str(done)], stop_on_exception=False, wait=False)
        session.wait_for_output("first")
        cursor = session.get("/output")["next_cursor"]
        seen = session.get("/events", limit=1000)
    relay.kill()
    go.touch()
    wait_until(done.exists)
    wait_until(lambda: not marked(session.id))
    relay.start()
    with Api(relay.base_url) as api:
        again = Session(api, session.id)
        wait_until(lambda: again.get("/status")["status"] == "terminated")
        assert again.get()["exit_code"] == 7
        rest = again.get("/output", cursor=cursor, limit=1000)
        assert [entry["output"] for entry in rest["entries"]] == [f"{number}\n" for number in range(1000)]
        assert (rest["has_more"], rest["dropped"]) == (True, 0)
        assert again.output() == "first\n" + "".join(f"{number}\n" for number in range(2000))
        following = again.get("/events", cursor=seen["next_cursor"], limit=1000)["events"]
        assert following[0]["seq"] == seen["events"][-1]["seq"] + 1
        assert again.events("terminated")[0]["body"]["exit_code"] == 7
        again.delete()


def test_a_runner_that_nobody_claims_ends_itself_and_its_program(
    own: Callable[..., Relay], program: Callable[..., Path]
) -> None:
    relay = own(session_timeout_seconds=2)
    path = program(LOOP)
    with Api(relay.base_url) as api:
        session = api.session(name="left alone")
        session.break_at(path, "body")
        session.launch(path)
        runner = runner_of(relay, session.id)
        assert marked(session.id)
    relay.kill()
    runner.wait(timeout=15)
    assert marked(session.id) == []
    relay.start()
    with Api(relay.base_url) as api:
        error = failure(Session(api, session.id).get)
        assert (error.status, error.code) == (410, "SESSION_EXPIRED")
        assert error.details["last_status"] == "paused"
        assert error.details["reason"] == "timeout"
        assert api.get("/sessions")["total"] == 0
    assert not (relay.data_dir / "sessions" / session.id).exists()


def has_failed(session: Session) -> bool:
    try:
        return bool(session.get()["status"] == "failed")
    except ApiError as error:
        assert error.status == 502  # it was asked at the very moment
        return False


def test_a_killed_runner_fails_its_session_and_no_other(
    relay: Relay, api: Api, program: Callable[..., Path]
) -> None:
    path = program(LOOP)
    with api.session(name="unlucky") as unlucky, api.session() as other:
        for session in (unlucky, other):
            session.break_at(path, "body")
            session.launch(path)
        assert marked(unlucky.id)
        runner_of(relay, unlucky.id).kill()
        wait_until(lambda: has_failed(unlucky))
        wait_until(lambda: not marked(unlucky.id))
        info = unlucky.get()
        assert (info["session_id"], info["name"], info["status"]) == (unlucky.id, "unlucky", "failed")
        assert info["reason"]
        assert unlucky.get("/status")["status"] == "failed"
        listed = {item["session_id"]: item["status"] for item in api.get("/sessions")["items"]}
        assert (listed[unlucky.id], listed[other.id]) == ("failed", "paused")
        error = failure(unlucky.resume)
        assert (error.status, error.code) == (409, "INVALID_SESSION_STATE")
        assert error.details["current_state"] == "failed"
        assert other.step("over")["status"] == "paused"
        answer = unlucky.delete()
        assert (answer["deleted"], answer["final_status"]) == (True, "failed")
        assert failure(unlucky.get).code == "SESSION_NOT_FOUND"
        assert not (relay.data_dir / "sessions" / unlucky.id).exists()
        assert other.evaluate("item")["result"] == "1"


def test_a_call_that_waits_while_its_runner_is_killed_is_answered(
    relay: Relay, api: Api, program: Callable[..., Path]
) -> None:
    with api.session() as session:
        session.launch(program(SLEEPER), wait=False)
        session.wait_for_output("asleep")
        runner = runner_of(relay, session.id)
        client = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=20)
        with soon(), contextlib.closing(client) as waiting:
            waiting.request("GET", f"/api/v1/sessions/{session.id}/report?wait=40")
            session.wait_for_output("asleep")  # when a later request is answered, this one has been passed on
            runner.kill()
            assert waiting.getresponse().status == 502
        assert session.delete()["deleted"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "main.py").write_text(LOOP.lstrip())
    return folder


def described(session: Session) -> list[tuple[Any, ...]]:
    names = ("line", "condition", "hit_condition", "log_message", "enabled", "verified")
    return [tuple(row[name] for name in names) for row in session.get("/breakpoints")["breakpoints"]]


def test_breakpoints_of_a_project_come_back_after_a_restart(own: Callable[..., Relay], project: Path) -> None:
    relay = own()
    script = project / "main.py"
    with Api(relay.base_url) as api, api.session(project_root=str(project)) as session:
        session.break_at(script, "body", condition="item == 3")
        session.break_at(script, "print", log_message="got {answer}")
        session.break_at(script, 2, enabled=False)
        session.break_at(script, 5)
        session.delete("/breakpoints/bp_4")
        expected = described(session)
    assert relay.stop() == 0
    relay.start()
    with Api(relay.base_url) as api:
        with api.session(project_root=str(project)) as again:
            assert again.get()["breakpoint_count"] == 3
            assert described(again) == expected
            assert [row["hit_count"] for row in again.get("/breakpoints")["breakpoints"]] == [0, 0, 0]
            stop = again.launch(script)
            assert (stop["current_location"]["line"], again.locals()["item"]) == (line_of(script, "body"), "3")
            assert again.resume()["exit_code"] == 0
            assert again.output("console") == "got 10\n"
        with api.session(project_root=str(project), restore_breakpoints=False) as fresh:
            assert described(fresh) == []
        with api.session() as elsewhere:
            assert described(elsewhere) == []


def test_a_corrupt_store_is_set_aside_with_a_warning(own: Callable[..., Relay], project: Path) -> None:
    relay = own()
    with Api(relay.base_url) as api, api.session(project_root=str(project)) as session:
        session.break_at(project / "main.py", "body")
    relay.stop()
    (store,) = (relay.data_dir / "breakpoints").glob("*.json")
    store.write_text('{"version": 1, "breakpoints": [{"li')
    (relay.data_dir / "expired.json").write_bytes(b"\xff\x00")
    relay.start()
    with Api(relay.base_url) as api, api.session(project_root=str(project)) as session:
        assert described(session) == []
        aside = [path for path in store.parent.iterdir() if path != store]
        assert [path.read_text() for path in aside] == ['{"version": 1, "breakpoints": [{"li']
        assert "warning" in relay.log.read_text().lower()
        assert store.name in relay.log.read_text()
        session.break_at(project / "main.py", "print")
        assert [row["line"] for row in json.loads(store.read_text())["breakpoints"]] == [10]
        assert failure(Session(api, "sess_00000000").get).code == "SESSION_NOT_FOUND"


def run_serve(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opencode_debugger", "serve", *options]
    environment = {**os.environ, RUN_MARKER: RUN_ID}
    return subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment, check=False)


def test_a_second_relay_on_the_same_data_folder_is_refused(own: Callable[..., Relay]) -> None:
    relay = own()
    second = run_serve("--port", str(free_port()), "--data-dir", str(relay.data_dir))
    assert second.returncode == 1
    assert f"http://127.0.0.1:{relay.port}" in second.stderr
    assert relay.process is not None and str(relay.process.pid) in second.stderr
    assert "already running" in second.stderr
    assert "Traceback" not in second.stderr
    with Api(relay.base_url) as api:
        assert api.get("/health")["status"] == "healthy"


def test_a_taken_port_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = run_serve("--port", str(port), "--data-dir", str(tmp_path / "data"))
    assert refused.returncode == 1
    assert f"127.0.0.1:{port}" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.wide), signal.SIGINT], ids=lambda number: number.name
)
def test_a_signal_ends_the_relay_and_everything_of_its_own(
    own: Callable[..., Relay], program: Callable[..., Path], number: signal.Signals
) -> None:
    relay = own()
    path = program(LOOP)
    with Api(relay.base_url) as api, ExitStack() as stack:
        sessions = [api.session() for _ in range(3)]
        sessions[0].break_at(path, "body")
        sessions[0].launch(path)
        sessions[1].launch(program(SLEEPER, "sleeper.py"), wait=False)
        assert relay.process is not None
        family = psutil.Process(relay.process.pid).children(recursive=True)
        assert len(family) >= 5
        relay.process.send_signal(number)
        stack.callback(api.http.close)
        assert relay.process.wait(timeout=20) == 0
    assert [process for process in family if process.is_running()] == []
    assert [marked(session.id) for session in sessions] == [[], [], []]
    assert list((relay.data_dir / "sessions").iterdir()) == []
    assert "Traceback" not in relay.log.read_text()
    relay.start()
    with Api(relay.base_url) as api:
        assert api.get("/sessions")["total"] == 0


def test_an_idle_session_warns_half_way_and_expires(own: Callable[..., Relay], program: Callable[..., Path]) -> None:
    relay = own(session_timeout_seconds=2)
    path = program(LOOP)
    with Api(relay.base_url) as api:
        session = api.session()
        session.break_at(path, "body")
        session.launch(path)
        folder = relay.data_dir / "sessions" / session.id
        assert session.get("/status")["warning"] is None
        warning = wait_until(lambda: session.get("/status")["warning"])
        assert re.fullmatch(r"Session will expire in [01] seconds?", warning)
        assert session.get()["warning"]
        pinged = session.get("/ping")
        assert (pinged["session_id"], pinged["status"]) == (session.id, "paused")
        assert session.get("/status")["warning"] is None
        started = time.monotonic()
        wait_until(lambda: session.get("/status")["warning"])
        assert time.monotonic() - started > 0.7
        error = wait_until(lambda: expired(session))
        assert time.monotonic() - started > 1.7
        assert (error.status, error.code) == (410, "SESSION_EXPIRED")
        assert (error.details["last_status"], error.details["reason"]) == ("paused", "timeout")
        assert error.details["suggestion"]
        assert failure(session.resume).status == 410
        assert failure(session.delete).status == 410
        assert failure(lambda: session.get("/ping")).status == 410
        wait_until(lambda: not marked(session.id) and not folder.exists())
        assert api.get("/sessions")["total"] == 0
    relay.kill()
    relay.start()
    with Api(relay.base_url) as api:
        assert failure(Session(api, session.id).get).status == 410


def expired(session: Session) -> ApiError | None:
    try:
        session.get("/status")
    except ApiError as error:
        return error
    return None


def test_a_program_that_prints_keeps_its_session_alive(own: Callable[..., Relay], program: Callable[..., Path]) -> None:
    relay = own(session_timeout_seconds=1)
    path = program(RUNNING)
    go = path.with_name("go")
    with Api(relay.base_url) as api:
        session = api.session()
        session.launch(path, args=[str(go)], wait=False)
        holds_for(2.5, lambda: session.get("/status")["status"] == "running")
        go.touch()
        error = wait_until(lambda: expired(session))
        assert error.details["last_status"] == "terminated"
