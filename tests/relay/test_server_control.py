"""The relay itself: its settings while it runs, and how it is told to end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Api, ApiError, Relay, Session, left_running, meanwhile, refusal, wait_for_requests
from waiting import wait_until

from opencode_debugger.config import CHANGEABLE, Settings
from opencode_debugger.models.requests.configuration import UpdateConfigRequest

STUBBORN = """
import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""

LOOP = """
import time

count = 0
while True:
    count += 1  # @count
    time.sleep(0.01)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Relay]]:
    made: list[Relay] = []

    def make(**settings: Any) -> Relay:
        made.append(Relay(tmp_path / "data", **settings))
        return made[-1].start()

    yield make
    for relay in made:
        assert relay.process is not None
        if relay.process.poll() is None:
            relay.stop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """One whose settings may be changed by many tests."""
    folder = tmp_path_factory.mktemp("shared") / "data"
    folder.mkdir(mode=0o700)
    (folder / "config.json").write_text(json.dumps({"evaluate_timeout_seconds": 4.5, "theirs": [1]}))
    relay = Relay(folder).start()
    yield relay
    assert relay.stop() == 0


@pytest.fixture
def control(shared: Relay) -> Iterator[Api]:
    with Api(shared.base_url) as api:
        yield api


def values(api: Api) -> dict[str, Any]:
    return {name: setting["value"] for name, setting in api.get("/config")["settings"].items()}


# Settings.


def test_every_setting_is_shown_with_its_source(shared: Relay, control: Api) -> None:
    answer = control.get("/config")
    assert answer["config_file"] == str(shared.data_dir / "config.json")
    settings = answer["settings"]
    assert settings.keys() == Settings.model_fields.keys()
    sources = {name: settings[name]["source"] for name in ("port", "max_sessions", "evaluate_timeout_seconds", "host")}
    assert sources == {
        "port": "command line",
        "max_sessions": "environment",
        "evaluate_timeout_seconds": "config.json",
        "host": "default",
    }
    assert (settings["port"]["value"], settings["port"]["default"]) == (shared.port, 5679)
    assert settings["evaluate_timeout_seconds"]["value"] == 4.5
    assert settings["max_sessions"]["takes"] == "a whole number from 1 to 1000"
    assert (settings["host"]["changeable"], settings["host"]["applies"]) == (False, "after a restart")
    assert (settings["stop_budget_chars"]["changeable"], settings["log_level"]["applies"]) == (True, "at once")


def test_a_setting_in_dotenv_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENCODE_DEBUG_EVENT_LOG_MAX=77\n")
    script = "from opencode_debugger.config import load; print(load(port=1, host=None).sources)"
    said = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "'event_log_max': '.env'" in said.stdout and "'port': 'command line'" in said.stdout
    assert "host" not in said.stdout


def test_the_body_has_exactly_the_settings_that_may_change() -> None:
    assert UpdateConfigRequest.model_fields.keys() - {"persist"} == CHANGEABLE
    assert UpdateConfigRequest.refused.keys() == Settings.model_fields.keys() - CHANGEABLE


def test_changes_are_in_force_for_new_sessions(control: Api, program: Callable[..., Path]) -> None:
    path = program("x = 1\ny = list(range(5000))  # @here\nz = 3\n")
    with control.session() as old:
        before = values(control)
        changes = {"session_timeout_seconds": 120, "evaluate_timeout_seconds": 0.3, "stop_budget_chars": 700}
        answer = control.patch("/config", changes)
        assert (answer["changed"], answer["persisted"]) == (sorted(changes), False)
        assert values(control) == {**before, **changes}
        assert answer["settings"]["stop_budget_chars"]["source"] == "run time"
        with control.session() as new:
            assert new.get()["config"]["timeout_minutes"] == 2
            assert old.get()["config"]["timeout_minutes"] == 60
            for session, seconds in ((new, 0.3), (old, 4.5)):
                session.break_at(path, "here")
                session.launch(path)
                error = refusal(504, "DEBUGPY_TIMEOUT", session.evaluate, "__import__('time').sleep(30)")
                assert error.details["timeout"] == seconds
    control.patch("/config", {"session_timeout_seconds": 3600, "evaluate_timeout_seconds": 4.5})


def test_the_limit_and_the_log_level_change_at_once(shared: Relay, control: Api) -> None:
    control.patch("/config", {"max_sessions": 1, "log_level": "Warning"})
    seen = len(shared.log.read_text())
    with control.session():
        assert refusal(429, "SESSION_LIMIT_REACHED", control.session).details["max_sessions"] == 1
        control.patch("/config", {"max_sessions": 2})
        with control.session():
            pass
    assert control.get("/info")["capabilities"]["max_sessions"] == 2
    assert shared.log.read_text()[seen:] == ""
    control.patch("/config", {"max_sessions": 100, "log_level": "info"})
    control.get("/sessions")  # the line of a request is written after its answer
    assert "PATCH" in shared.log.read_text()[seen:]


def test_spare_runners_come_and_go(shared: Relay, control: Api) -> None:
    def runners() -> int:
        return len(shared.runners())

    def becomes(count: int) -> None:
        wait_until(lambda: runners() == count, runners)

    control.patch("/config", {"spare_runners": 3})
    becomes(3)
    control.patch("/config", {"spare_runners": 0})
    becomes(0)
    with control.session() as session:
        assert session.get()["status"] == "created"
    control.patch("/config", {"spare_runners": 1})
    becomes(1)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"port": 6000}, "port", "needs a restart"),
        ({"data_dir": "/tmp/x"}, "data_dir", "OPENCODE_DEBUG_DATA_DIR"),
        ({"require_token": False}, "require_token", "needs a restart"),
        ({"max_sesions": 5}, "max_sesions", "Did you mean 'max_sessions'"),
        ({"max_sessions": 0}, "max_sessions", "greater than or equal to 1"),
        ({"max_sessions": 1001}, "max_sessions", "less than or equal to 1000"),
        ({"max_sessions": "5"}, "max_sessions", "integer"),
        ({"log_level": "loud"}, "log_level", "debug"),
        ({"evaluate_timeout_seconds": 0}, "evaluate_timeout_seconds", "0.1"),
        ({"default_python_path": ""}, "default_python_path", "at least 1"),
        ({"persist": "yes"}, "persist", "boolean"),
    ],
)
def test_what_is_not_allowed_changes_nothing(control: Api, changes: dict[str, Any], field: str, said: str) -> None:
    before = values(control)
    error = refusal(400, "INVALID_REQUEST", control.patch, "/config", {"event_log_max": 500, **changes})
    (problem,) = error.details["errors"]
    assert problem["field"] == field and said in problem["message"]
    assert values(control) == before


def test_an_interpreter_that_is_none_is_no_default(control: Api) -> None:
    refusal(400, "INVALID_PARAMETER", control.patch, "/config", {"default_python_path": "~\0x"})
    error = refusal(400, "INVALID_PARAMETER", control.patch, "/config", {"default_python_path": "/no", "persist": True})
    assert error.details["parameter"] == "default_python_path"
    assert values(control)["default_python_path"] == "python3"


def test_changes_that_are_persisted_are_there_after_a_restart(own: Callable[..., Relay]) -> None:
    relay = own()
    file = relay.data_dir / "config.json"
    file.write_text('{"theirs": {"kept": true}, "stop_budget_chars": 900}')
    with Api(relay.base_url) as api:
        api.patch("/config", {"event_log_max": 50})
        assert json.loads(file.read_text()) == {"theirs": {"kept": True}, "stop_budget_chars": 900}
        changes = {"stop_budget_chars": 800, "max_sessions": 9}
        answer = api.patch("/config", {**changes, "persist": True})
        assert answer["persisted"] is True
        assert answer["warnings"] == [
            "max_sessions is also set by the environment, which wins over config.json at the next start"
        ]
        assert json.loads(file.read_text()) == {"theirs": {"kept": True}, **changes}
        assert [name for name in file.parent.iterdir() if name.name.startswith(".")] == []
    assert relay.stop() == 0
    relay.start()
    with Api(relay.base_url) as api:
        settings = api.get("/config")["settings"]
        assert (settings["stop_budget_chars"]["value"], settings["stop_budget_chars"]["source"]) == (800, "config.json")
        assert (settings["event_log_max"]["value"], settings["max_sessions"]["value"]) == (10_000, 100)


def test_a_file_that_cannot_be_written_changes_nothing(own: Callable[..., Relay]) -> None:
    relay = own()
    blocked = relay.data_dir / ".config.json.tmp"
    (blocked / "full").mkdir(parents=True)
    with Api(relay.base_url) as api:
        error = refusal(507, "STORAGE_FAILED", api.patch, "/config", {"event_log_max": 50, "persist": True})
        assert "nothing was changed" in error.message and "persist" in error.details["suggestion"]
        assert values(api)["event_log_max"] == 10_000
        assert api.patch("/config", {"event_log_max": 50})["changed"] == ["event_log_max"]


# Shutting down.


def test_a_shutdown_ends_everything_and_exits_with_0(own: Callable[..., Relay], program: Callable[..., Path]) -> None:
    relay = own()
    assert relay.process is not None
    path = program(LOOP)
    with Api(relay.base_url) as api:
        paused, running = api.session(), api.session()
        paused.break_at(path, "count")
        paused.launch(path)
        running.launch(path, wait=False)
        family = psutil.Process(relay.process.pid).children(recursive=True)
        answer = api.post("/shutdown")
        assert answer == {
            "shutting_down": True,
            "keep_sessions": False,
            "sessions": sorted([paused.id, running.id]),
        }
        assert relay.process.wait(20) == 0
    assert [process for process in family if process.is_running()] == []
    assert list((relay.data_dir / "sessions").iterdir()) == []
    assert "Traceback" not in relay.log.read_text() and "Cancel" not in relay.log.read_text()


def test_whoever_waits_is_answered_before_a_shutdown(own: Callable[..., Relay], program: Callable[..., Path]) -> None:
    relay = own()
    assert relay.process is not None
    with Api(relay.base_url) as api:
        running, created = api.session(), api.session()
        running.launch(program(LOOP), wait=False)
        with (
            meanwhile(running, lambda session: session.get("/report", wait=300)) as report,
            meanwhile(created, lambda session: outcome(session.get, "/events", timeout=300)) as events,
        ):
            wait_for_requests(relay, 2)
            api.post("/shutdown")
            assert report.result(20)["status"] == "terminated"
            assert events.result(20) == (503, "SHUTTING_DOWN")
        assert relay.process.wait(20) == 0


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return call(*args, **options)
    except ApiError as error:
        return error.status, error.code


def test_a_program_that_does_not_end_is_killed_after_the_timeout(
    own: Callable[..., Relay], program: Callable[..., Path]
) -> None:
    relay = own()
    assert relay.process is not None
    with Api(relay.base_url) as api:
        session = api.session()
        pid = session.launch(program(STUBBORN), wait=False)["pid"]
        session.wait_for_output("ready")
        api.post("/shutdown", {"timeout": 0})
        assert relay.process.wait(20) == 0
    assert not psutil.pid_exists(pid)


def test_sessions_that_are_kept_are_found_by_the_next_relay(
    own: Callable[..., Relay], program: Callable[..., Path]
) -> None:
    relay = own()
    assert relay.process is not None
    path = program(LOOP)
    with Api(relay.base_url) as api:
        paused, running = api.session(name="kept"), api.session()
        paused.break_at(path, "count", hit_condition="5")
        paused.launch(path)
        running.launch(path, wait=False)
        pid = running.get()["pid"]
        with meanwhile(running, lambda session: outcome(session.get, "/report", wait=300)) as report:
            wait_for_requests(relay, 1)
            assert api.post("/shutdown", {"keep_sessions": True})["keep_sessions"] is True
            assert report.result(20) == (503, "SHUTTING_DOWN")
        assert relay.process.wait(20) == 0
    assert psutil.pid_exists(pid)
    folders = sorted(folder.name for folder in (relay.data_dir / "sessions").iterdir())
    assert folders == sorted([paused.id, running.id])
    relay.start()
    with Api(relay.base_url) as api:
        found = Session(api, paused.id)
        assert (found.get()["name"], found.get()["status"]) == ("kept", "paused")
        assert found.evaluate("count")["result"] == "4"
        assert found.step()["status"] == "paused"
        assert Session(api, running.id).post("/pause", {"wait": 10})["status"] == "paused"
        api.post("/shutdown")
        assert relay.process.wait(20) == 0
    assert not psutil.pid_exists(pid)
    assert [line for line in left_running() if paused.id in line or running.id in line] == []


@pytest.mark.parametrize("body", [{"keep": True}, {"keep_sessions": 1}, {"timeout": -1}, {"timeout": 301}, []])
def test_a_shutdown_that_is_not_understood_does_not_happen(control: Api, body: Any) -> None:
    refusal(400, "INVALID_REQUEST", control.post, "/shutdown", body)
    with control.session() as session:
        assert session.get()["status"] == "created"
