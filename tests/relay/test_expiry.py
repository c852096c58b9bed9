"""When a session's time is up: never while its program works, always when nobody does anything."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from relays import Api, ApiError, Relay, Session, pythons
from waiting import holds_for, wait_until

TIMEOUT = 2
MANY = pythons("3.8", "3.13")

BUSY = """
import time

end = time.monotonic() + 60
while time.monotonic() < end:
    enough = time.process_time() + 0.01
    while time.process_time() < enough:
        pass
    time.sleep(0.06)
"""
"""At work for a part of the time that counts as work many times over."""

PARENT = f"""
import subprocess
import sys

subprocess.run([sys.executable, "-c", {BUSY!r}])
"""

DETACHED = """
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    while True:
        enough = time.process_time() + 0.01
        while time.process_time() < enough:
            pass
        time.sleep(0.06)
os.wait()
time.sleep(600)
"""

WAITING = """
import time

while True:
    time.sleep(0.2)
"""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    relay = Relay(tmp_path_factory.mktemp("hasty") / "data", session_timeout_seconds=TIMEOUT).start()
    yield relay
    assert relay.stop() == 0


@pytest.fixture
def quick(hasty: Relay) -> Iterator[Api]:
    with Api(hasty.base_url) as api:
        yield api


def status(session: Session) -> str:
    try:
        return str(session.get("/status")["status"])
    except ApiError as error:
        assert (error.status, error.code) == (410, "SESSION_EXPIRED"), error
        return f"expired while {error.details['last_status']}"


def until_expired(session: Session) -> str:
    wait_until(lambda: status(session).startswith("expired"), lambda: f"it is still {status(session)}")
    return status(session)


def running(api: Api) -> set[str]:
    return {item["session_id"] for item in api.get("/sessions", status="running")["items"]}


def test_programs_that_work_in_silence_go_on(quick: Api, program: Callable[..., Path]) -> None:
    """By themselves, on old and new interpreters; through a child; through one that detached itself."""
    texts = {"busy": BUSY, "parent": PARENT, "detached": DETACHED}
    paths = {name: program(text, f"{name}.py") for name, text in texts.items()}
    own = sys.executable
    runs = [(python, "busy") for python in MANY.values()] + [(own, "parent"), (own, "detached")]
    sessions = []
    for python, name in runs:
        sessions.append(quick.session(python_path=str(python)))
        sessions[-1].launch(paths[name], wait=False)
    ids = {session.id for session in sessions}
    holds_for(2.5 * TIMEOUT, lambda: ids <= running(quick), lambda: [status(session) for session in sessions])
    assert all(session.get()["expires_at"] for session in sessions)
    for session in sessions:
        session.delete(force="true")


@pytest.mark.parametrize("python", MANY.values(), ids=MANY.keys())
def test_a_program_that_waits_expires_although_it_is_looked_at(
    quick: Api, program: Callable[..., Path], python: Path
) -> None:
    """Looking makes the debugger inside the program work: that is not the program's work."""
    session = quick.session(python_path=str(python))
    pid = session.launch(program(WAITING), wait=False)["pid"]
    assert until_expired(session) == "expired while running"
    assert not psutil.pid_exists(pid)


def test_a_paused_program_expires_and_a_ping_keeps_it(quick: Api, program: Callable[..., Path]) -> None:
    path = program(BUSY)
    left = paused_in(quick, path)
    pinged = paused_in(quick, path)
    wait_until(lambda: pinged.get("/ping")["status"] == "paused" and status(left) == "expired while paused")
    assert pinged.get("/ping")["status"] == "paused"
    assert pinged.evaluate("end > 0")["result"] == "True"
    assert until_expired(pinged) == "expired while paused"


def paused_in(api: Api, path: Path) -> Session:
    session = api.session()
    session.break_at(path, 5)
    assert session.launch(path)["status"] == "paused"
    return session


def test_work_that_ends_is_followed_by_the_whole_idle_time(quick: Api, program: Callable[..., Path]) -> None:
    path = program(
        """
        import time

        end = time.monotonic() + 2
        while time.monotonic() < end:
            sum(range(200_000))
            time.sleep(0.06)
        open(__file__ + ".done", "w").close()
        time.sleep(600)
        """
    )
    session = quick.session()
    session.launch(path, wait=False)
    done = Path(f"{path}.done")
    while not done.exists():
        assert status(session) == "running"
        time.sleep(0.05)
    ended = time.monotonic()
    until_expired(session)
    assert time.monotonic() - ended > TIMEOUT * 0.5


def test_a_working_program_outlives_its_relay_for_longer_than_its_idle_time(
    tmp_path: Path, program: Callable[..., Path]
) -> None:
    relay = Relay(tmp_path / "data", session_timeout_seconds=TIMEOUT).start()
    with Api(relay.base_url) as api:
        session = api.session(python_path=sys.executable)
        session.launch(program(BUSY), wait=False)
    relay.kill()
    time.sleep(2.5 * TIMEOUT)
    relay.start()
    with Api(relay.base_url) as api:
        assert status(Session(api, session.id)) == "running"
    assert relay.stop() == 0


def test_a_session_that_failed_expires_too(hasty: Relay, quick: Api) -> None:
    session = quick.session(name="unlucky")
    hasty.runner_of(session).kill()
    wait_until(lambda: session.id in [item["session_id"] for item in quick.get("/sessions", status="failed")["items"]])
    assert session.get()["status"] == "failed"
    assert session.get()["expires_at"] > session.get()["created_at"]
    assert until_expired(session) == "expired while failed"
    assert session.id not in [item["session_id"] for item in quick.get("/sessions")["items"]]
    wait_until(lambda: not (hasty.data_dir / "sessions" / session.id).exists())
