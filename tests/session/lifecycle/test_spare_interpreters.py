"""A launch takes in an interpreter that was started ahead, and the program cannot tell; or it is not used."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Api, Relay, pythons
from waiting import runs, wait_until

from opencode_debugger.debuggers.python.launch import spare_interpreter
from opencode_debugger.debuggers.python.launch.spare_interpreter import LaunchRecipe, SpareInterpreter
from opencode_debugger.debuggers.python.launch.start_program import LAUNCHER

FACTS = Path(__file__).parents[2] / "programs" / "start_facts.py"
PYTHONS = pythons("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    relay = Relay(tmp_path_factory.mktemp("spares") / "data", spare_interpreters=True).start()
    yield relay
    assert relay.stop() == 0


@pytest.fixture(scope="module")
def api(relay: Relay) -> Iterator[Api]:
    with Api(relay.base_url) as api:
        yield api


def find_spare(relay: Relay) -> psutil.Process | None:
    """Return the interpreter that waits for a program: nothing of one is on its command line."""
    with contextlib.suppress(psutil.NoSuchProcess):  # it ended while we looked
        for runner in relay.runners():
            for child in runner.children():
                if child.cmdline()[-1:] == [LAUNCHER]:
                    return child
    return None


def await_spare(relay: Relay) -> psutil.Process:
    return wait_until(lambda: find_spare(relay))


def run_facts(api: Api, python: Path, **options: Any) -> Any:
    """Return what a program finds out about its start."""
    with api.session(python_path=str(python)) as session:
        assert session.launch(FACTS, args=["--name", "ä b"], **options)["status"] == "terminated"
        return json.loads(session.output())


@pytest.mark.parametrize("version", PYTHONS)
def test_a_program_cannot_tell_that_its_interpreter_was_started_ahead(relay: Relay, api: Api, version: str) -> None:
    python = PYTHONS[version]
    fresh = run_facts(api, python, cwd=str(FACTS.parent))
    spare = await_spare(relay)
    ahead = run_facts(api, python, cwd=str(FACTS.parent))
    assert ahead["pid"] == spare.pid
    assert ahead["process"] == fresh["process"]
    assert ahead["interpreter"] == fresh["interpreter"]
    assert ahead["logs since"]


@pytest.mark.parametrize(
    "different", ["environment", "folder", "option", pytest.param("modules", marks=pytest.mark.wide)]
)
def test_a_launch_that_differs_starts_an_interpreter_of_its_own(
    relay: Relay, api: Api, tmp_path: Path, different: str
) -> None:
    python = Path(sys.executable)
    run_facts(api, python, cwd=str(FACTS.parent))
    spare = await_spare(relay)
    options: dict[str, Any] = {
        "environment": {"env": {"LANG": "C"}, "cwd": str(FACTS.parent)},
        "folder": {"cwd": str(tmp_path)},
        "option": {"python_args": ["-O"], "cwd": str(FACTS.parent)},
        "modules": {"pythonpath": [str(tmp_path)], "cwd": str(FACTS.parent)},
    }[different]
    found = run_facts(api, python, **options)
    assert found["pid"] != spare.pid
    assert found["process"]["cwd"][0] == options["cwd"]
    wait_until(lambda: not runs(spare.pid))


@pytest.mark.parametrize("value", ["", "\udcff"])
def test_launches_with_options_or_with_what_is_no_text_prepare_nothing(value: str) -> None:
    command = (sys.executable, "-Xfrozen_modules=off", LAUNCHER)
    assert LaunchRecipe(command, "/", {"NAME": value}).is_usable == (value == "")
    assert not LaunchRecipe((*command[:2], "-O", LAUNCHER), "/", {}).is_usable


def test_an_interpreter_that_is_older_than_what_it_has_read_is_not_used(relay: Relay, api: Api, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import os, sys\nprint(os.getpid(), getattr(sys.modules.get('sitecustomize'), '__file__', None))")
    folder = tmp_path / "modules"
    folder.mkdir()
    launch = {"env": {"PYTHONPATH": str(folder)}, "cwd": str(tmp_path)}
    with api.session(python_path=sys.executable) as session:
        session.launch(script, **launch)
    spare = await_spare(relay)
    (folder / "sitecustomize.py").write_text("")
    with api.session(python_path=sys.executable) as session:
        session.launch(script, **launch)
        pid, customized = session.output().split()
    assert customized == str(folder / "sitecustomize.py")
    assert pid != str(spare.pid)


def test_a_spare_interpreter_ends_with_its_runner_or_when_the_relay_is_killed(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data", spare_interpreters=True).start()
    with Api(relay.base_url) as api:
        run_facts(api, Path(sys.executable))
        spare = await_spare(relay)
        psutil.Process(spare.ppid()).kill()
        wait_until(lambda: not runs(spare.pid))
        run_facts(api, Path(sys.executable))
        run_facts(api, Path(sys.executable))
    spare = await_spare(relay)
    assert not spare.net_connections()
    runner = spare.ppid()
    relay.kill()
    wait_until(lambda: not runs(spare.pid) and not runs(runner))


def test_a_spare_interpreter_that_nobody_wants_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spare_interpreter, "IDLE", 0.01)
    recipe = LaunchRecipe((sys.executable, "-Xfrozen_modules=off", LAUNCHER), str(tmp_path), {**os.environ})

    async def start_and_wait() -> None:
        before = psutil.Process().children()
        SpareInterpreter().start(recipe, "none")
        (spare,) = (child for child in psutil.Process().children() if child not in before)
        await asyncio.to_thread(wait_until, lambda: not runs(spare.pid))

    asyncio.run(start_and_wait())
