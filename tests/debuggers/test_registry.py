"""The registry of debuggers: the relay's own, and one that a package brings which is installed beside the relay."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import toy_debugger
from relays import Api, Relay, Session, line_of, refusal

from opencode_debugger.debuggers import registry
from opencode_debugger.debuggers.registry import OWN_RECORDS, DebuggerRecord, DebuggerSetup
from opencode_debugger.session.session_settings import Limits


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A relay beside which the toy debugger is installed, and two that are broken."""
    folder = tmp_path_factory.mktemp("toys")
    toy_debugger.install(folder / "site", broken="toy_debugger:NOTHING", misnamed="toy_debugger:RECORD")
    relay = Relay(folder / "data")
    relay.env = {"PYTHONPATH": str(folder / "site")}
    relay.start()
    with Api(relay.base_url) as api:
        yield api
    assert relay.stop() == 0


@pytest.fixture
def toy(toys: Api) -> Iterator[Session]:
    with toys.session(adapter="toy") as session:
        yield session


@pytest.fixture
def tour(program: Callable[..., Path]) -> Path:
    return program(
        """
        let x 1  # @first
        let y 20
        call twice  # @call
        print x  # @print
        end

        sub twice
        add x x  # @add
        add x y
        return  # @return
        """,
        "tour.toy",
    )


def where(stop: dict[str, Any]) -> tuple[str, int]:
    return stop["current_location"]["function"], stop["current_location"]["line"]


def test_a_program_is_debugged_with_it_from_launch_to_end(toy: Session, tour: Path) -> None:
    (bp,) = toy.break_at(tour, "add")
    stop = toy.launch(tour)

    assert (stop["status"], stop["stop_reason"], stop["hit_breakpoint_ids"]) == ("paused", "breakpoint", [bp["id"]])
    assert where(stop) == ("twice", line_of(tour, "add"))
    frames = toy.get("/stacktrace")["frames"]
    assert [(frame["name"], frame["line"]) for frame in frames] == [
        ("twice", line_of(tour, "add")),
        ("main", line_of(tour, "call")),
    ]
    assert toy.locals() == {"x": "1", "y": "20"}
    (scope,) = toy.get("/scopes", frame_id=0)["scopes"]
    rows = toy.get("/variables", variables_reference=scope["variables_reference"])["variables"]
    assert [(row["name"], row["value"], row["type"]) for row in rows] == [("x", "1", "number"), ("y", "20", "number")]

    stop = toy.step("over")
    assert (stop["stop_reason"], where(stop)) == ("step", ("twice", line_of(tour, "add") + 1))
    assert toy.locals()["x"] == "2"
    assert where(toy.step("out")) == ("main", line_of(tour, "print"))

    end = toy.resume()
    assert (end["status"], end["exit_code"]) == ("terminated", 0)
    assert toy.output() == "22\n"
    assert toy.post("/restart", {"wait": 30})["status"] == "paused"


def test_what_it_does_not_offer_is_refused_with_what_to_do_instead(toy: Session, tour: Path) -> None:
    error = refusal(400, "NOT_SUPPORTED", toy.launch, tour, just_my_code=True)
    assert error.message == "just_my_code is not for programs under this debugger (toy)"
    toy.launch(tour, stop_on_entry=True)
    for call in (
        lambda: toy.evaluate("x"),
        lambda: toy.get("/tasks"),
        lambda: toy.post("/step-until", {"expression": "x == 2"}),
        lambda: toy.post("/run-to", {"line": line_of(tour, "print")}),
        lambda: toy.post("/step-back"),
        lambda: toy.get("/disassembly"),
        lambda: toy.post("/detach"),
    ):
        error = refusal(400, "NOT_SUPPORTED", call)
        assert error.message.startswith("The debugger of this session (toy) cannot ")
    (bp,) = toy.break_at(tour, "return", condition="x == 2")
    assert (bp["verified"], bp["message"]) == (False, "toy knows lines only")


def test_it_is_listed_with_the_others(toys: Api) -> None:
    found = toys.get("/info")["debuggers"]
    assert list(found) == [*registry.OFFERED, "broken", "misnamed", "toy"]
    assert found["toy"] == {"available": True, "version": "2.0"}
    assert "could not be loaded" in found["broken"]["reason"]


def test_it_may_be_named_by_a_launch_alone(toys: Api, tour: Path) -> None:
    with toys.session() as session:
        stop = session.launch(tour, adapter="toy", stop_on_entry=True)
        assert where(stop) == ("main", line_of(tour, "first"))
        assert session.get()["debugger"]["adapter"] == "toy"


@pytest.mark.parametrize("name", ["broken", "misnamed"])
def test_one_that_cannot_be_loaded_says_why(toys: Api, tour: Path, name: str) -> None:
    with toys.session() as session:
        error = refusal(400, "LAUNCH_FAILED", session.launch, tour, adapter=name)
        assert "toy_debugger:" in error.details["suggestion"]


def test_a_name_that_nobody_brings_is_refused(toys: Api) -> None:
    error = refusal(400, "INVALID_REQUEST", toys.session, adapter="other")
    assert "'debugpy', 'gdb', 'lldb' or 'ez'" in error.details["errors"][0]["message"]


def test_the_folder_in_which_the_relay_is_started_brings_none(tmp_path: Path) -> None:
    toy_debugger.install(tmp_path / "start")
    relay = Relay(tmp_path / "data")
    relay.cwd, relay.env = tmp_path / "start", {"PYTHONPATH": os.pathsep.join(["", "."])}
    relay.start()
    with Api(relay.base_url) as api:
        refusal(400, "INVALID_REQUEST", api.session, adapter="toy")
        assert "toy" not in api.get("/info")["debuggers"]
    assert relay.stop() == 0


@pytest.mark.parametrize("record", OWN_RECORDS, ids=lambda record: record.name)
def test_a_debugger_is_what_its_record_says(record: DebuggerRecord, tmp_path: Path) -> None:
    async def check() -> None:
        paths = registry.configured_paths(Limits())
        setup = DebuggerSetup("sess_1", str(tmp_path), Mock(), 1, 1, "python3", False, str, paths)
        made = record.make(setup)
        assert made.capabilities <= record.capabilities
        if record.is_offered:
            assert made.name == record.name

    asyncio.run(check())
