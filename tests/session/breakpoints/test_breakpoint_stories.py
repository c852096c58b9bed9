"""The user story's breakpoints: flows 3.5 and 3.7, acceptance criteria AC-BP-1 to AC-BP-8, edge cases 4.2 and 4.9."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, Session, line_of
from waiting import wait_until

Write = Callable[..., Path]


@pytest.fixture
def main(program: Write) -> Path:
    return program(
        """
        # Processes numbers.

        def process(i):
            return i * 2  # @process


        for i in range(120):
            process(i)  # @loop
        """,
        "main.py",
    )


def one(session: Session, **body: Any) -> Any:
    return session.post("/breakpoints", body)


def test_ac_bp_1_a_valid_line_is_verified(session: Session, main: Path) -> None:
    assert one(session, source={"path": str(main)}, line=line_of(main, "process"))["verified"] is True


@pytest.mark.parametrize("line", [1, 2], ids=["comment", "blank"])
def test_ac_bp_2_a_line_without_code_is_not_verified_and_says_why(session: Session, main: Path, line: int) -> None:
    answer = one(session, file=str(main), line=line)
    assert answer["verified"] is False
    assert answer["breakpoints"][0]["message"] == f"No executable code at line {line}"


def test_ac_bp_3_a_condition_pauses_only_when_it_is_true(session: Session, main: Path) -> None:
    one(session, file=str(main), line=line_of(main, "process"), condition="i in (3, 77)")
    session.launch(main)
    seen = [session.locals()["i"]]
    while session.resume()["status"] == "paused":
        seen.append(session.locals()["i"])
    assert seen == ["3", "77"]


def test_ac_bp_4_a_hit_count_pauses_after_that_many_hits(session: Session, main: Path) -> None:
    one(session, file=str(main), line=line_of(main, "process"), hit_condition="10")
    session.launch(main)
    assert session.locals()["i"] == "9"
    assert session.resume()["status"] == "terminated"


def test_ac_bp_5_a_removed_breakpoint_pauses_no_more(session: Session, main: Path) -> None:
    one(session, file=str(main), line=line_of(main, "process"))
    assert session.launch(main)["status"] == "paused"
    session.delete("/breakpoints/bp_1")
    assert session.resume()["status"] == "terminated"


def test_ac_bp_6_a_disabled_breakpoint_does_not_pause(session: Session, main: Path) -> None:
    one(session, file=str(main), line=line_of(main, "process"), enabled=False)
    one(session, file=str(main), line=line_of(main, "loop"))
    assert session.launch(main)["hit_breakpoint_ids"] == ["bp_2"]
    session.api.request("PATCH", f"/sessions/{session.id}/breakpoints/bp_2", {"enabled": False})
    assert session.resume()["status"] == "terminated"
    assert [(bp["id"], bp["enabled"]) for bp in session.get("/breakpoints")["breakpoints"]] == [
        ("bp_1", False),
        ("bp_2", False),
    ]


def test_ac_bp_7_breakpoints_outlive_the_relay(main: Path, tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data").start()
    with Api(relay.base_url) as api:
        session = api.session(project_root=str(main.parent))
        one(session, file="main.py", line=line_of(main, "process"), condition="i == 5")
        one(session, function="process", enabled=False)
        assert session.launch(main)["status"] == "paused"
        apart = api.session(project_root=str(main.parent), restore_breakpoints=False)
    relay.kill()
    relay.start()
    with Api(relay.base_url) as api:
        one(Session(api, apart.id), function="unsaved")
    with Api(relay.base_url) as api, api.session(project_root=str(main.parent)) as fresh:
        same = Session(api, session.id)
        assert [bp["id"] for bp in same.get("/breakpoints")["breakpoints"]] == ["bp_1", "bp_2"]
        same.delete(force="true")
        kept = fresh.get("/breakpoints")["breakpoints"]
        assert [(bp.get("function"), bp["condition"], bp["enabled"]) for bp in kept] == [
            (None, "i == 5", True),
            ("process", None, False),
        ]
        fresh.launch(main)
        assert fresh.locals()["i"] == "5"
    assert relay.stop() == 0


def test_ac_bp_8_exception_breakpoints_pause_on_the_classes_asked_for_only(session: Session, program: Write) -> None:
    path = program(
        """
        class Mine(ValueError):
            pass


        for kind in (KeyError, Mine, OSError, ValueError):
            try:
                raise kind("x")  # @raise
            except Exception:
                pass
        """
    )
    session.post("/exception-breakpoints", {"exceptions": ["ValueError"]})
    stop = session.launch(path)
    seen = []
    while stop["status"] == "paused":
        assert (stop["stop_reason"], stop["current_location"]["line"]) == ("exception", line_of(path, "raise"))
        seen.append(stop["exception"]["type"])
        stop = session.resume()
    assert seen == ["Mine", "ValueError"]


def test_edge_4_2_a_breakpoint_in_a_file_that_does_not_exist_waits_for_it(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "missing.py"
    answer = one(session, file=str(path), line=2)
    (bp,) = answer["breakpoints"]
    assert (answer["breakpoint_id"], answer["verified"]) == ("bp_1", False)
    assert bp["message"] == "Source file not found. Breakpoint pending."
    assert (bp["source"]["path"], bp["line"]) == (str(path), 2)
    path.write_text("x = 1\nprint(x)\n")
    wait_until(lambda: session.get("/breakpoints")["breakpoints"][0]["verified"])
    assert session.launch(path)["hit_breakpoint_ids"] == ["bp_1"]


def test_edge_4_9_a_script_that_modifies_its_own_source_keeps_its_lines_and_warns(
    session: Session, program: Write
) -> None:
    path = program(
        """
        open(__file__, "a").write("# more\\n")
        x = 1  # @here
        """
    )
    session.break_at(path, "here")
    stop = session.launch(path)
    assert stop["current_location"]["line"] == line_of(path, "here")
    assert "has changed since the program loaded it" in stop["note"]
    assert session.get("/breakpoints")["breakpoints"][0]["source_changed"] is True


def test_a_condition_that_raises_is_told_once_and_stops_each_time(session: Session, main: Path) -> None:
    one(session, file=str(main), line=line_of(main, "process"), condition="nothing > i if i < 3 else 1 / 0")
    stop = session.launch(main)
    notes = []
    for _ in range(5):
        notes.append(stop["note"])
        stop = session.resume()
    name, division = "NameError: name 'nothing' is not defined", "ZeroDivisionError: division by zero"
    assert notes == [f"Condition raised {name}"] * 3 + [f"Condition raised {division}"] * 2
    told = [event["body"] for event in session.events("breakpoint")]
    assert [(body["reason"], body.get("error")) for body in told] == [
        ("new", None),
        ("condition_error", name),
        ("condition_error", division),
    ]
    assert told[1]["breakpoint"]["id"] == "bp_1"
