"""Changing a breakpoint: only what is named, all of it or nothing, under the same id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, refusal

Write = Callable[..., Path]


@pytest.fixture
def path(program: Write) -> Path:
    return program(
        """
        def f(n):
            x = n  # @first

            return x  # @second


        for i in range(10):
            f(i)  # @call
        """
    )


def change(session: Session, id: str, **changes: Any) -> dict[str, Any]:
    return session.api.request("PATCH", f"/sessions/{session.id}/breakpoints/{id}", changes)  # type: ignore[no-any-return]


def listed(session: Session) -> dict[str, dict[str, Any]]:
    return {bp["id"]: bp for bp in session.get("/breakpoints")["breakpoints"]}


def test_only_what_is_named_changes_and_null_takes_away(session: Session, path: Path) -> None:
    (before,) = session.break_at(path, "first", condition="n > 3", hit_condition=">=2")
    after = change(session, "bp_1", condition="n > 5")
    assert after == {**before, "condition": "n > 5"}
    after = change(session, "bp_1", hit_condition=None, log_message="n is {n}")
    assert after == {**before, "condition": "n > 5", "hit_condition": None, "log_message": "n is {n}"}
    assert change(session, "bp_1", log_message=None, condition=None) == {
        **before,
        "condition": None,
        "hit_condition": None,
    }
    assert listed(session) == {"bp_1": {**before, "condition": None, "hit_condition": None}}
    events = [event["body"] for event in session.events("breakpoint")]
    assert [event["reason"] for event in events] == ["new", "changed", "changed", "changed"]
    assert [event["breakpoint"]["log_message"] for event in events] == [None, None, "n is {n}", None]


def test_a_breakpoint_that_is_switched_off_stays_listed_and_keeps_its_count(session: Session, path: Path) -> None:
    session.break_at(path, "first", condition="n < 9")
    session.break_at(path, "call", hit_condition="%5")
    session.launch(path)
    session.resume()
    assert listed(session)["bp_1"]["hit_count"] == 2
    off = change(session, "bp_1", enabled=False)
    assert (off["id"], off["enabled"], off["condition"], off["hit_count"]) == ("bp_1", False, "n < 9", 2)
    assert session.resume()["hit_breakpoint_ids"] == ["bp_2"]
    assert (listed(session)["bp_1"]["enabled"], listed(session)["bp_1"]["hit_count"]) == (False, 2)
    change(session, "bp_1", enabled=True)
    assert session.resume()["hit_breakpoint_ids"] == ["bp_1"]
    assert session.locals()["n"] == "4"
    assert listed(session)["bp_1"]["hit_count"] == 3


def test_a_condition_changes_while_the_program_is_paused(session: Session, path: Path) -> None:
    session.break_at(path, "first")
    session.launch(path)
    change(session, "bp_1", condition="n == 7")
    assert session.resume()["hit_breakpoint_ids"] == ["bp_1"]
    assert session.locals()["n"] == "7"
    assert listed(session)["bp_1"]["hit_count"] == 2
    change(session, "bp_1", condition=None, hit_condition="==4")
    session.resume()
    assert session.locals()["n"] == "9"


def test_a_moved_breakpoint_keeps_its_id_and_counts_anew(session: Session, path: Path) -> None:
    session.break_at(path, "first", condition="True")
    session.launch(path)
    session.resume()
    moved = change(session, "bp_1", line=line_of(path, "second"))
    assert (moved["id"], moved["line"], moved["verified"], moved["hit_count"]) == (
        "bp_1",
        line_of(path, "second"),
        True,
        0,
    )
    assert moved["moved_from"] == line_of(path, "first")
    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_1"], line_of(path, "second"))
    stop = session.resume()
    assert stop["current_location"]["line"] == line_of(path, "second")
    assert listed(session)["bp_1"]["hit_count"] == 2
    blank = change(session, "bp_1", line=3)
    assert (blank["verified"], blank["message"]) == (False, "No executable code at line 3")
    assert session.resume()["status"] == "terminated"


def test_what_is_refused_changes_nothing(session: Session, path: Path) -> None:
    session.break_at(path, "first", condition="n > 3")
    session.break_at(path, "second")
    session.launch(path)
    before = listed(session)

    def refused(code: str, **changes: Any) -> Any:
        error = refusal(400, code, change, session, "bp_1", **changes)
        assert listed(session) == before
        return error

    other = refused("BREAKPOINT_INVALID_LINE", line=line_of(path, "second"), condition="n")
    assert (other.details["breakpoint_id"], "bp_2" in other.details["suggestion"]) == ("bp_2", True)
    refused("BREAKPOINT_INVALID_LINE", line=999, enabled=False)
    refused("BREAKPOINT_INVALID_LINE", line=3, strict=True)
    refused("BREAKPOINT_INVALID_CONDITION", condition="n >")
    refused("BREAKPOINT_INVALID_CONDITION", hit_condition="often", enabled=False)
    refused("BREAKPOINT_INVALID_CONDITION", log_message="{n")
    for body in ({}, {"strict": True}, {"line": None}, {"enabled": None}, {"line": 0}, {"path": "x"}, {"enabled": 1}):
        refused("INVALID_REQUEST", **body)
    refusal(404, "BREAKPOINT_NOT_FOUND", change, session, "bp_9", enabled=False)
    change(session, "bp_2", enabled=False)
    assert session.resume()["current_location"]["line"] == line_of(path, "first")
    assert session.locals()["n"] == "4"


def test_a_function_breakpoint_changes_but_has_no_line(session: Session, path: Path) -> None:
    session.post("/breakpoints", {"function": "f"})
    error = refusal(400, "INVALID_PARAMETER", change, session, "bp_1", line=2)
    assert error.details["parameter"] == "line"
    session.launch(path)
    changed = change(session, "bp_1", condition="n == 4")
    assert (changed["function"], changed["verified"], changed["line"]) == ("f", True, line_of(path, "first"))
    session.resume()
    assert session.locals()["n"] == "4"
    off = change(session, "bp_1", enabled=False)
    assert (off["verified"], off["hit_count"], off["line"]) == (True, 2, line_of(path, "first"))
    assert session.resume()["status"] == "terminated"


def test_changes_are_kept_for_the_project(api: Api, path: Path) -> None:
    root = str(path.parent)
    with api.session(project_root=root) as first:
        first.break_at(path, "first", "call")
        change(first, "bp_1", line=line_of(path, "second"), condition="x == 2")
        change(first, "bp_2", enabled=False)
    with api.session(project_root=root) as second:
        kept = {bp["line"]: (bp["condition"], bp["enabled"]) for bp in listed(second).values()}
        assert kept == {line_of(path, "second"): ("x == 2", True), line_of(path, "call"): (None, False)}
        assert second.launch(path)["current_location"]["line"] == line_of(path, "second")
        for id in listed(second):
            second.delete(f"/breakpoints/{id}")


def test_plain_breakpoints_count_every_hit_of_every_thread(session: Session, program: Write) -> None:
    path = program(
        """
        import threading


        def work():
            for _ in range(3):
                pass  # @hit


        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        """
    )
    session.break_at(path, "hit")
    stop = session.launch(path)
    seen = 0
    while stop["status"] == "paused":
        seen += 1
        assert listed(session)["bp_1"]["hit_count"] >= seen  # others may have come there that were not told yet
        stop = session.resume()
    assert seen == listed(session)["bp_1"]["hit_count"] == 9
