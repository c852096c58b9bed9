"""Slow starts, strangers, odd characters, floods, hung runners, orphans: the session tells the truth and goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Api, ApiError, Relay, Session, line_of, meanwhile, refusal
from waiting import runs, soon, stop_process, wait_until

Write = Callable[..., Path]


@pytest.fixture
def slow(tmp_path: Path) -> dict[str, str]:
    """An environment in which Python starts when it may: when GATE is there."""
    folder = tmp_path / "slow"
    folder.mkdir()
    wait = "import os, time\nwhile not os.path.exists(os.environ['GATE']): time.sleep(0.01)\n"
    (folder / "sitecustomize.py").write_text(wait)
    return {"PYTHONPATH": str(folder), "GATE": str(tmp_path / "gate")}


def zombies_of(process: psutil.Process) -> list[psutil.Process]:
    found = []
    for child in process.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [child] if child.status() == psutil.STATUS_ZOMBIE else []
    return found


# Launching.


def message(**content: Any) -> bytes:
    text = json.dumps(content).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text)


FORGED = [
    message(seq=1, type="event", event="stopped", body={"reason": "pause", "threadId": 1}),
    message(seq=2, type="event", event="ocdb", body={"kind": "log", "number": 1, "hits": 1, "text": "forged line"}),
    message(
        seq=3, type="response", request_seq=1, command="pydevdAuthorize", success=True, body={"clientAccessToken": ""}
    ),
    message(seq=4, type="event", event="terminated", body={}),
    b"\xff\xfe no protocol at all\r\n\r\n",
    b"Content-Length: 99999999999999\r\n\r\n",
]


def test_strangers_on_the_call_back_socket_change_and_delay_nothing(
    relay: Relay, session: Session, slow: dict[str, str], program: Write
) -> None:
    path = program("import time\nprint('real line')\ntime.sleep(0.2)\nanswer = 42  # @stop\n")
    session.break_at(path, "stop")
    with ExitStack() as strangers, meanwhile(session, lambda own: own.launch(path, env=slow)) as launch:
        path_of_socket = str(wait_until(lambda: relay.call_back_of(session)))
        for forged in [b""] * 5 + FORGED:
            stranger = strangers.enter_context(socket.socket(socket.AF_UNIX))
            wait_until(lambda stranger=stranger: not stranger.connect_ex(path_of_socket))  # it may not listen yet
            stranger.sendall(forged)
        assert session.get()["status"] == "launching"
        Path(slow["GATE"]).touch()
        stop = launch.result(timeout=20)
    assert (stop["status"], stop["current_location"]["line"]) == ("paused", line_of(path, "stop"))
    assert len(session.events("stopped")) == 1
    assert session.resume()["exit_code"] == 0
    assert session.output(None) == "real line\n"


def test_breakpoints_set_and_removed_during_a_launch_take_effect(
    relay: Relay, session: Session, slow: dict[str, str], program: Write
) -> None:
    path = program(
        """
        import time

        for number in range(100):
            time.sleep(0.01)  # @early
            if number >= 60:
                time.sleep(0.001)  # @late
        print("through")
        """
    )
    (late,) = session.break_at(path, "late")
    with meanwhile(session, lambda own: own.launch(path, env=slow)) as launch:
        wait_until(lambda: relay.call_back_of(session))
        assert session.get()["status"] == "launching"
        removing = meanwhile(session, lambda own: own.delete(f"/breakpoints/{late['id']}"))
        setting = meanwhile(session, lambda own: own.break_at(path, "early", condition="number >= 50"))
        with removing as removal, setting as addition:
            for call in (removal, addition):
                with pytest.raises(TimeoutError):
                    call.result(timeout=0.2)  # it waits for the debugger
            Path(slow["GATE"]).touch()
            assert removal.result()["deleted"]
            (early,) = addition.result()
        stop = launch.result(timeout=20)
    assert stop["hit_breakpoint_ids"] == [early["id"]]
    assert session.evaluate("number")["result"] == "50"
    session.delete(f"/breakpoints/{early['id']}")
    assert session.resume()["exit_code"] == 0
    assert session.output() == "through\n"


def test_of_several_launches_at_once_one_is_done(session: Session, slow: dict[str, str], program: Write) -> None:
    path = program("print('once')\n")
    with ExitStack() as clients:
        calls = [clients.enter_context(meanwhile(session, lambda own: own.launch(path, env=slow))) for _ in range(4)]
        wait_until(lambda: sum(call.done() for call in calls) == 3)
        Path(slow["GATE"]).touch()
        errors = [error for call in calls if (error := call.exception(timeout=20))]
        ends = [call.result() for call in calls if call.exception() is None]
    assert [end["exit_code"] for end in ends] == [0]
    assert all(isinstance(error, ApiError) and error.code == "INVALID_SESSION_STATE" for error in errors)
    assert len(errors) == 3
    assert session.output() == "once\n"


def test_failed_launches_leave_no_trace_and_the_next_one_works(session: Session, program: Write) -> None:
    path = program("answer = 42  # @stop\nprint(answer)\n")
    session.break_at(path, "stop")
    for _ in range(2):
        with ExitStack() as clients:
            fails = [
                clients.enter_context(meanwhile(session, lambda own: own.launch(path, python_args=["-V"])))
                for _ in range(3)
            ]
            codes = {call.exception(timeout=20).code for call in fails}  # type: ignore[union-attr]
        assert "LAUNCH_FAILED" in codes
        assert codes <= {"LAUNCH_FAILED", "INVALID_SESSION_STATE"}
        info = session.get()
        assert (info["status"], info["pid"], info["exit_code"]) == ("created", None, None)
    assert session.events("terminated", "stopped") == []
    assert session.launch(path)["status"] == "paused"
    assert session.resume()["exit_code"] == 0
    assert session.output().splitlines()[-1] == "42"
    assert len(session.events("terminated")) == 1


# What programs say.


def test_lone_surrogates_are_shown_escaped_and_the_session_goes_on(session: Session, program: Write) -> None:
    path = program(
        r"""
        import os
        import threading

        name = "\ud800bad"
        print("before")  # @log
        over = threading.Event()
        thread = threading.Thread(target=over.wait, name="th\udc80read")
        thread.start()
        place = os.path.dirname(os.path.abspath(__file__)) + "/odd\udcff.py"
        with open(place, "w") as file:
            file.write("def odd():\n    breakpoint()\n    return 1\n")
        scope = {}
        exec(compile(open(place).read(), place, "exec"), scope)
        scope["odd"]()
        over.set()
        raise ValueError("what \udc9f is this")
        """
    )
    session.break_at(path, "log", log_message="name is {name} {name!r}")
    stop = session.launch(path)
    assert stop["status"] == "paused"
    assert session.output("console") == "name is \\ud800bad '\\ud800bad'\n"
    assert "\\udcff.py" in session.get("/stacktrace")["frames"][0]["source"]["path"]
    assert "th\\udc80read" in [row["name"] for row in session.get("/threads")["threads"]]
    assert session.evaluate("name", frame_id=1)["result"] == "'\\ud800bad'"
    assert session.step("over")["status"] == "paused"
    stop = session.resume()
    assert (stop["stop_reason"], stop["exception"]["type"]) == ("exception", "ValueError")
    assert stop["exception"]["message"] == "what \\udc9f is this"
    assert session.resume()["exit_code"] == 1


def test_fifteen_megabytes_come_in_pages_and_nobody_waits_for_them(api: Api, session: Session, program: Write) -> None:
    path = program("for number in range(500):\n    print(f'{number:06}' + 'x' * 29_993)\n")
    assert session.launch(path, fields=["location"])["exit_code"] == 0
    slowest, pages, text, cursor = 0.0, 0, [], None
    is_read = False

    def ask_for_health(own: Session) -> float:
        longest = 0.0
        while not is_read:
            asked = time.monotonic()
            assert own.api.get("/health")["status"] == "healthy"
            longest = max(longest, time.monotonic() - asked)
            time.sleep(0.005)
        return longest

    with meanwhile(session, ask_for_health) as health:
        try:
            for route, key in (("output", "entries"), ("events", "events")):
                text, cursor, has_more = [], None, True
                while has_more:
                    params = {"limit": 1000, **({"cursor": cursor} if cursor else {})}
                    answer = api.http.get(f"/sessions/{session.id}/{route}", params=params)
                    assert len(answer.content) < 4_000_000
                    data = answer.json()["data"]
                    assert data["dropped"] == 0
                    text += [(item.get("body") or item).get("output", "") for item in data[key]]
                    cursor, has_more, pages = data["next_cursor"], data["has_more"], pages + 1
                lines = "".join(text).splitlines()
                assert [int(line[:6]) for line in lines] == list(range(500))
                assert {len(line) for line in lines} == {29_999}
        finally:
            is_read = True
        slowest = health.result()
    assert pages > 10
    assert slowest < 5


def test_a_log_message_of_a_huge_value_is_cut(session: Session, program: Write) -> None:
    path = program("big = 'x' * 60_000_000\nprint(len(big))  # @log\n")
    session.break_at(path, "log", log_message="<{big}>")
    assert session.launch(path)["exit_code"] == 0
    logged = session.output("console")
    assert logged.startswith("<xxx")
    assert 5_000 < len(logged) < 12_000


SCOPES = """
limit = 100


def work(numbers, limit):
    for number in numbers:
        done = number  # @here
        seen = done  # @hidden


work([1, 2, 3, 4], 3)
"""


def test_generators_and_lambdas_in_conditions_see_the_locals(session: Session, program: Write) -> None:
    """Also one that hides a global of its name."""
    path = program(SCOPES)
    session.break_at(path, "hidden", condition="any(n == limit for n in [number])")
    session.break_at(path, "here", condition="all(n < number for n in numbers[:2])")
    stop = session.launch(path)
    assert stop.get("note") is None
    assert session.evaluate("number")["result"] == "3"
    line = (
        "{sum(n for n in numbers if n != number)} {[n * number for n in numbers]} {max(numbers, key=lambda n: -number)}"
    )
    session.break_at(path, "here", log_message=line)
    stop = session.resume()
    assert stop["status"] == "paused", "the condition saw the global"
    assert session.evaluate("number, any(n == limit for n in [number])")["result"] == "(3, True)"
    assert session.resume()["exit_code"] == 0
    assert session.output("console") == "6 [4, 8, 12, 16] 1\n"


# Ends.


def test_a_session_lasts_while_somebody_waits_and_then_its_time_is_up(tmp_path: Path, program: Write) -> None:
    """Idle time does not run during a call; age does, and is given as the reason of the program's end."""
    (tmp_path / "own").mkdir()
    limits = {"session_timeout_seconds": 2, "session_max_lifetime_seconds": 8}
    relay = Relay(tmp_path / "own" / "data", **limits).start()
    try:
        with Api(relay.base_url) as api:
            path = program("import time\ntime.sleep(600)\n")
            paused = api.session()
            paused.launch(path, stop_on_entry=True)
            session = api.session()
            assert session.launch(path, wait=False)["status"] == "running"
            waiting = session.get("/report", wait=3.5)
            assert (waiting["status"], waiting["timed_out"]) == ("running", True)
            expired = refusal(410, "SESSION_EXPIRED", paused.get)
            assert (expired.details["last_status"], expired.details["reason"]) == ("paused", "timeout")
            end = session.get("/report", wait=20)
            assert (end["status"], end["reason"]) == ("terminated", "timeout")
            wait_until(lambda: _is_expired(session))
    finally:
        assert relay.stop() == 0


def _is_expired(session: Session) -> bool:
    try:
        session.get()
    except ApiError as error:
        return error.code == "SESSION_EXPIRED"
    return False


def test_whoever_waits_for_a_session_that_is_deleted_is_told_so(session: Session, program: Write) -> None:
    session.launch(program("import time\nprint('on')\ntime.sleep(600)\n"), wait=False)
    session.wait_for_output("on")
    with meanwhile(session, lambda own: own.get("/report", wait=30)) as waiting:
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        session.delete()
        end = waiting.result(timeout=10)
    assert (end["status"], end["reason"]) == ("terminated", "deleted")


def test_a_pause_at_the_moment_of_the_end_tells_the_end(api: Api, program: Write) -> None:
    path = program("import os, time\nprint('on')\ntime.sleep(0.15)\nos._exit(3)\n")
    for delay in (0.13, 0.15):
        with api.session() as session:
            session.launch(path, wait=False)
            session.wait_for_output("on")
            time.sleep(delay)
            try:
                answer = session.post("/pause", {"wait": 5})
                if answer["status"] == "paused":
                    answer = session.resume()
            except ApiError as error:
                assert error.code == "INVALID_SESSION_STATE", error
                answer = session.get("/report")
            assert (answer["status"], answer["exit_code"]) == ("terminated", 3)


@pytest.mark.parametrize(
    ("call", "delays"),
    [
        ("/continue", (0, 0.01)),
        ("/step-over", (0.002,)),
        ("/step-out", (0.005,)),
        *(
            pytest.param(call, (0, 0.002, 0.005, 0.01, 0.02), marks=pytest.mark.wide)
            for call in ("/continue", "/step-over", "/step-out")
        ),
    ],
)
def test_going_on_with_a_program_that_was_just_killed_tells_its_end(
    api: Api, call: str, delays: tuple[float, ...], program: Write
) -> None:
    path = program("first = 1\nsecond = 2\n")
    for delay in delays:
        with api.session() as session:
            stop = session.launch(path, stop_on_entry=True, fields=["location"])
            os.kill(stop["pid"], signal.SIGKILL)
            time.sleep(delay)
            try:
                end = session.post(call, {"wait": 10})
            except ApiError as error:
                assert error.code == "INVALID_SESSION_STATE", error
                end = session.get("/report")
            assert (end["status"], end["signal"], end["exit_code"]) == ("terminated", "SIGKILL", -9)


# Processes.


def test_orphans_are_reaped_and_what_is_left_behind_ends_with_the_program(
    relay: Relay, session: Session, program: Write
) -> None:
    path = program(
        """
        import subprocess
        import time

        for _ in range(5):
            subprocess.run(["sh", "-c", "sleep 0.05 &"])
        away = "sleep 600 >/dev/null 2>&1 & echo $!"
        script = f"setsid {away}; env -i setsid {away}"
        kept = subprocess.run(script, shell=True, capture_output=True, text=True).stdout
        print("left", *kept.split(), flush=True)
        time.sleep(0.3)
        print("reaped?")  # @stop
        """
    )
    session.break_at(path, "stop")
    session.launch(path)
    left = [int(pid) for pid in session.output().split()[1:]]
    assert all(map(runs, left))
    runner = relay.runner_of(session)
    wait_until(lambda: not zombies_of(runner))
    assert session.resume()["exit_code"] == 0
    wait_until(lambda: not any(map(runs, left)))
    assert session.get()["status"] == "terminated"


def test_a_hung_runner_is_ended_and_holds_up_no_other_session(relay: Relay, api: Api, program: Write) -> None:
    path = program("import time\nfor number in range(3):\n    time.sleep(0.01)  # @stop\n")
    hung = api.session()
    pid = hung.launch(path, stop_on_entry=True)["pid"]
    runner = relay.runner_of(hung)
    stop_process(runner.pid)
    try:
        with soon():
            listed = {row["session_id"]: row["status"] for row in api.get("/sessions", limit=100)["items"]}
        assert listed[hung.id] == "failed"
        with meanwhile(hung, lambda own: own.delete(force="true")) as deletion:
            with soon(), api.session() as other:
                other.break_at(path, "stop")
                stop = other.launch(path)
                for _ in range(3):
                    assert stop["current_location"]["line"] == line_of(path, "stop")
                    stop = other.resume()
                assert stop["exit_code"] == 0
            assert deletion.result(timeout=40)["deleted"]
        assert not runs(runner.pid)
        assert not runs(pid)
        assert not (relay.data_dir / "sessions" / hung.id).exists()
        refusal(404, "SESSION_NOT_FOUND", hung.get)
    finally:
        if runs(runner.pid):
            runner.kill()
        if runs(pid):
            os.kill(pid, signal.SIGKILL)
