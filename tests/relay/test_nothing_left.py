"""After a session nothing of it is left: no process, no folder, whatever its program did to stay."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from relays import Api, ApiError, Relay, Session
from waiting import soon, wait_until

MARKER = "OPENCODE_DEBUG_SESSION"

DAEMON = """
import os
import sys
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3):
            os.close(fd)
        time.sleep(600)
    os._exit(0)
os.wait()
print("daemon is off", flush=True)
"""

STUBBORN = """
import signal
import time

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("ignoring", flush=True)
while True:
    time.sleep(0.01)
"""

FAMILY = """
import multiprocessing
import subprocess
import sys
import time


def child():
    time.sleep(600)


if __name__ == "__main__":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    subprocess.Popen("sleep 600 & sleep 600", shell=True)
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    multiprocessing.get_context("fork").Process(target=child).start()
    print("all started", flush=True)
    time.sleep(600)
"""


def alive(session_id: str) -> list[str]:
    """Every process that carries the session's marker."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARKER) == session_id and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {process.cmdline()}")
        except psutil.Error:
            continue
    return found


def runners(relay: Relay, session_id: str) -> list[int]:
    folder = str(relay.data_dir / "sessions" / session_id)
    found = []
    for process in psutil.process_iter():
        try:
            if process.cmdline()[-1:] == [folder] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def assert_nothing_left(relay: Relay, session_id: str) -> None:
    """At once: the answer to DELETE comes when everything is gone."""
    assert alive(session_id) == []
    assert not (relay.data_dir / "sessions" / session_id).exists()
    wait_until(lambda: runners(relay, session_id) == [], lambda: runners(relay, session_id))


@pytest.fixture
def doomed(api: Api) -> Iterator[Session]:
    session = api.session()
    yield session
    with pytest.raises(ApiError) as caught:
        session.get()
    assert caught.value.code == "SESSION_NOT_FOUND"


@pytest.fixture(params=["false", "true"], ids=["asked", "forced"])
def force(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_session_that_never_launched(relay: Relay, doomed: Session, force: str) -> None:
    assert runners(relay, doomed.id)
    answer = doomed.delete(force=force)
    assert (answer["session_id"], answer["deleted"], answer["final_status"]) == (doomed.id, True, "terminated")
    assert_nothing_left(relay, doomed.id)


def test_a_paused_program(relay: Relay, doomed: Session, force: str, program: Callable[..., Path]) -> None:
    path = program("x = 1\nprint(x)  # @stop\n")
    doomed.break_at(path, "stop")
    doomed.launch(path)
    assert alive(doomed.id)
    with soon():
        assert doomed.delete(force=force)["final_status"] == "terminated"
    assert_nothing_left(relay, doomed.id)


def test_a_running_program(relay: Relay, doomed: Session, force: str, program: Callable[..., Path]) -> None:
    doomed.launch(program("while True:\n    pass\n"), wait=False)
    assert doomed.delete(force=force)["final_status"] == "terminated"
    assert_nothing_left(relay, doomed.id)


def test_a_program_that_is_just_being_launched(relay: Relay, api: Api, program: Callable[..., Path]) -> None:
    """Deleted at different moments of the launch; its caller gets an answer too."""
    path = program("import time\ntime.sleep(600)\n")
    for delay in (0.0, 0.05, 0.15, 0.3):
        session = api.session()
        outcomes: list[object] = []

        def launch(session: Session = session, outcomes: list[object] = outcomes) -> None:
            with Api(relay.base_url) as own:
                try:
                    outcomes.append(Session(own, session.id).launch(path, wait=60)["status"])
                except ApiError as error:
                    outcomes.append(error)

        caller = threading.Thread(target=launch)
        caller.start()
        time.sleep(delay)
        assert session.delete()["deleted"]
        assert_nothing_left(relay, session.id)
        caller.join(timeout=20)
        assert not caller.is_alive()
        assert len(outcomes) == 1
        assert_nothing_left(relay, session.id)


def test_a_program_that_ignores_signals(relay: Relay, doomed: Session, program: Callable[..., Path]) -> None:
    doomed.launch(program(STUBBORN), wait=False)
    doomed.wait_for_output("ignoring")
    assert doomed.delete()["deleted"]
    assert_nothing_left(relay, doomed.id)


def test_a_daemon_that_left_the_session(
    relay: Relay, doomed: Session, force: str, program: Callable[..., Path]
) -> None:
    path = program(DAEMON + "time.sleep(600)\n")
    doomed.launch(path, wait=False)
    doomed.wait_for_output("daemon is off")
    assert len(alive(doomed.id)) >= 2
    doomed.delete(force=force)
    assert_nothing_left(relay, doomed.id)


def test_a_daemon_whose_program_has_ended(relay: Relay, doomed: Session, program: Callable[..., Path]) -> None:
    assert doomed.launch(program(DAEMON))["exit_code"] == 0
    assert doomed.get()["status"] == "terminated"
    doomed.delete()
    assert_nothing_left(relay, doomed.id)


def test_a_whole_family(relay: Relay, doomed: Session, program: Callable[..., Path]) -> None:
    doomed.launch(program(FAMILY), wait=False)
    doomed.wait_for_output("all started")
    assert len(alive(doomed.id)) >= 5
    doomed.delete()
    assert_nothing_left(relay, doomed.id)


def test_a_program_that_keeps_forking(relay: Relay, doomed: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        import os
        import time

        print("forking", flush=True)
        stop = time.monotonic() + 8
        while time.monotonic() < stop:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.005)
        """
    )
    doomed.launch(path, wait=False)
    doomed.wait_for_output("forking")
    doomed.delete()
    assert_nothing_left(relay, doomed.id)


def test_a_program_that_ended_by_itself(relay: Relay, doomed: Session, program: Callable[..., Path]) -> None:
    doomed.launch(program("import sys\nsys.exit(5)\n"), stop_on_exception=False)
    assert alive(doomed.id) == []
    answer = doomed.delete()
    assert (answer["final_status"], answer["exit_code"]) == ("terminated", 5)
    assert answer["runtime_seconds"] > 0
    assert_nothing_left(relay, doomed.id)


def test_an_evaluation_that_never_ends(relay: Relay, doomed: Session, program: Callable[..., Path]) -> None:
    path = program("x = 1\nprint(x)  # @stop\n")
    doomed.break_at(path, "stop")
    doomed.launch(path)
    with pytest.raises(ApiError) as caught:
        doomed.evaluate("__import__('time').sleep(600)", timeout=0.2)
    assert caught.value.code == "DEBUGPY_TIMEOUT"
    doomed.delete()
    assert_nothing_left(relay, doomed.id)


def test_two_deletes_at_once_end_it_once(relay: Relay, doomed: Session, program: Callable[..., Path]) -> None:
    doomed.launch(program("while True:\n    pass\n"), wait=False)
    outcomes: list[object] = []

    def delete() -> None:
        with Api(relay.base_url) as own:
            try:
                outcomes.append(Session(own, doomed.id).delete()["deleted"])
            except ApiError as error:
                outcomes.append(error.code)

    callers = [threading.Thread(target=delete) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=30)
    assert sorted(outcomes, key=str) == ["SESSION_NOT_FOUND", True]
    assert_nothing_left(relay, doomed.id)


def test_a_relay_that_is_told_to_stop_takes_everything_along(tmp_path: Path, program: Callable[..., Path]) -> None:
    relay = Relay(tmp_path / "own" / "data")
    relay.data_dir.parent.mkdir()
    relay.data_dir.mkdir(mode=0o700)
    relay.start()
    try:
        with Api(relay.base_url) as api:
            stubborn, daemon, paused, ended = (api.session() for _ in range(4))
            stubborn.launch(program(STUBBORN, "stubborn.py"), wait=False)
            stubborn.wait_for_output("ignoring")
            daemon.launch(program(DAEMON + "time.sleep(600)\n", "daemon.py"), wait=False)
            daemon.wait_for_output("daemon is off")
            paused.launch(program("x = 1\n", "paused.py"), stop_on_entry=True)
            assert ended.launch(program(DAEMON, "ended.py"))["status"] == "terminated"
    finally:
        assert relay.stop() == 0
    for session in (stubborn, daemon, paused, ended):
        assert_nothing_left(relay, session.id)
    assert list((relay.data_dir / "sessions").iterdir()) == []
    assert "Traceback" not in relay.log.read_text()
