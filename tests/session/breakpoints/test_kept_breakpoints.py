"""Breakpoints of earlier sessions: whose they are, what is told of them, and where they are after an edit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of
from waiting import wait_until

from opencode_debugger.session.breakpoints.find_line import content_of, find_again

Write = Callable[..., Path]

PROGRAM = """
def never():
    return 0  # @never


def work(n):
    total = n  # @first
    total += 1  # @second
    return total  # @third


print(work(1))  # @call
"""


@pytest.fixture
def path(program: Write) -> Path:
    return program(PROGRAM)


def listed(session: Session) -> list[dict[str, Any]]:
    return session.get("/breakpoints")["breakpoints"]  # type: ignore[no-any-return]


def lines(session: Session) -> dict[str, int]:
    return {bp["id"]: bp["line"] for bp in listed(session)}


def edit(path: Path, *changes: tuple[str, str], top: str = "") -> None:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(top + text)


def test_a_session_without_those_of_its_project_keeps_its_own_to_itself(api: Api, path: Path) -> None:
    root = str(path.parent)
    with api.session(project_root=root) as first:
        first.break_at(path, "first")
    with api.session(project_root=root, restore_breakpoints=False) as apart:
        assert listed(apart) == []
        apart.break_at(path, "second", "first")
        apart.patch("/breakpoints/bp_1", {"condition": "n == 1"})
        with Session(api, apart.post("/clone")["session_id"]) as copy:
            copy.break_at(path, "third")
        apart.delete("/breakpoints")
    with api.session(project_root=root) as last:
        assert lines(last) == {"bp_1": line_of(path, "first")}
        last.delete("/breakpoints")


def test_those_of_earlier_sessions_are_told_once_and_are_no_concern_of_reports(api: Api, path: Path) -> None:
    root = str(path.parent)
    with api.session(project_root=root) as first:
        first.break_at(path, "never")
        first.post("/breakpoints", {"function": "nowhere"})
    answer = api.post("/sessions", {"project_root": root})
    assert answer["restored_breakpoints"]["count"] == 2
    changed_at = answer["restored_breakpoints"]["changed_at"]
    assert answer["message"].startswith(f"2 breakpoints of this project were restored, last changed {changed_at}: ")
    assert '"restore_breakpoints": false' in answer["message"] and "DELETE" in answer["message"]
    with Session(api, answer["session_id"]) as second:
        assert [bp["restored"] for bp in listed(second)] == [True, True]
        assert "note" not in second.launch(path)
        second.break_at(path, "never")
        assert ["restored" in bp for bp in listed(second)] == [False, True]
        note = second.post("/restart", {"wait": 30})["note"]
        assert "bp_1" in note and "bp_2" not in note
        second.delete("/breakpoints/bp_2")
    answer = api.post("/sessions", {"project_root": root})
    assert answer["message"].startswith("1 breakpoint of this project was restored")
    with Session(api, answer["session_id"]) as third:
        third.delete("/breakpoints")
    answer = api.post("/sessions", {"project_root": root})
    assert "message" not in answer and "restored_breakpoints" not in answer
    api.delete(f"/sessions/{answer['session_id']}")


def test_a_breakpoint_follows_its_line_until_the_launch_and_says_so(session: Session, path: Path) -> None:
    session.post("/breakpoints", {"file": str(path), "text": "total = n"})
    session.break_at(path, "third")
    edit(path, top="# one\n# two\n# three\n")
    stop = session.launch(path)
    assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_1"], line_of(path, "first"))
    assert [warning.split("moved ")[1] for warning in stop["warnings"]] == [
        "with its line, from line 6 to line 9",
        "with its line, from line 8 to line 11",
    ]
    assert [(bp["line"], bp["moved_from"], bp["verified"]) for bp in listed(session)] == [(9, 6, True), (11, 8, True)]
    moved = [event["body"]["breakpoint"] for event in session.events("breakpoint")][-2:]
    assert [(bp["id"], bp["line"], bp["moved_from"]) for bp in moved] == [("bp_1", 9, 6), ("bp_2", 11, 8)]
    second = line_of(path, "second")
    edit(path, top="# four\n")
    assert session.break_at(path, second)[0]["source_changed"]
    # Those of the loaded version, as long as it runs.
    assert lines(session) == {"bp_1": 9, "bp_2": 11, "bp_3": second}
    stop = session.post("/restart", {"wait": 30})
    assert stop["current_location"]["line"] == line_of(path, "first")
    assert len(stop["warnings"]) == 3
    assert lines(session)["bp_3"] == line_of(path, "second")
    assert "warnings" not in session.post("/restart", {"wait": 30})
    call = line_of(path, "call")
    edit(path, top="# five\n")
    session.break_at(path, call)
    session.post("/restart", {"wait": 30})
    assert lines(session)["bp_4"] == line_of(path, "call")


def test_lines_that_take_each_others_places_are_followed_and_saved(api: Api, path: Path) -> None:
    root = str(path.parent)
    with api.session(project_root=root) as first:
        first.break_at(path, "first", "second", "third", "never")
    edit(path, ("    total = n  # @first\n", "    assert n\n    total = n  # @first\n"), ("return 0", "return 1"))
    expected = {f"bp_{n}": line_of(path, name) for n, name in enumerate(("first", "second", "third", "never"), 1)}
    answer = api.post("/sessions", {"project_root": root})
    edits = answer["restored_breakpoints"]["edits"]
    assert (len(edits), edits[-1].split("edited: ")[1]) == (4, "line 2 was 'return 0  # @never' when it was set")
    with Session(api, answer["session_id"]) as second:
        assert lines(second) == expected
        edit(path, top="# one\n")
        # What is set by the lines of the edited file is not confused with what was set before.
        assert second.break_at(path, "second", condition="n")[0]["id"] == "bp_2"
        assert lines(second) == {id: line + 1 for id, line in expected.items()}
        second.delete("/breakpoints/bp_3")
    with api.session(project_root=root) as third:
        assert sorted(lines(third).values()) == [line_of(path, name) for name in ("never", "first", "second")]
        assert [bp["condition"] for bp in listed(third)] == [None, "n", None]
        third.delete("/breakpoints")


def test_a_function_is_found_where_it_is_after_an_edit(api: Api, path: Path) -> None:
    root = str(path.parent)
    with api.session(project_root=root) as first:
        first.post("/breakpoints", {"function": "work", "file": path.name})
    edit(path, top="# one\n# two\n")
    with api.session(project_root=root) as second:
        assert listed(second)[0]["locations"] == [{"path": str(path), "line": line_of(path, "first")}]
        edit(path, top="# three\n")
        assert second.launch(path)["current_location"]["line"] == line_of(path, "first")
        second.delete("/breakpoints")


def test_one_whose_line_is_gone_is_listed_with_the_reason_and_can_be_removed(api: Api, path: Path) -> None:
    root = str(path.parent)
    with api.session(project_root=root) as first:
        first.break_at(path, "call")
    path.write_text("x = 1\n")
    with api.session(project_root=root) as second:
        (bp,) = listed(second)
        assert (bp["verified"], bp["line"]) == (False, 11)
        assert "Line 11 does not exist: the file has 1 line" in bp["message"]
        assert second.launch(path)["exit_code"] == 0
        second.delete("/breakpoints/bp_1")
    with api.session(project_root=root) as third:
        assert listed(third) == []


def test_one_whose_line_or_file_goes_away_is_not_verified_any_more(session: Session, path: Path) -> None:
    session.break_at(path, "call")
    path.write_text("x = 1\n")
    session.break_at(path, 1)
    assert [bp["line"] for bp in session.get("/breakpoints", verified=True)["breakpoints"]] == [1]
    told = [event["body"]["breakpoint"] for event in session.events("breakpoint")]
    assert [(bp["id"], bp["verified"]) for bp in told] == [("bp_1", True), ("bp_1", False), ("bp_2", True)]
    path.unlink()
    assert session.launch(code="x = 1")["exit_code"] == 0
    assert [bp["verified"] for bp in listed(session)] == [False, False]
    assert "Source file not found. Breakpoint pending." in listed(session)[1]["message"]


def test_one_whose_file_comes_back_edited_is_where_its_line_is(api: Api, path: Path) -> None:
    root = str(path.parent)
    with api.session(project_root=root) as first:
        first.break_at(path, "first", "second", "third")
    text = path.read_text()
    path.unlink()
    with api.session(project_root=root) as second:
        assert [bp["verified"] for bp in listed(second)] == [False] * 3
        path.write_text("# one\n" + text)
        expected = {f"bp_{n}": line_of(path, name) for n, name in enumerate(("first", "second", "third"), 1)}
        wait_until(lambda: all(bp["verified"] for bp in listed(second)))
        assert lines(second) == expected
        assert listed(second)[0]["moved_from"] == expected["bp_1"] - 1
    with api.session(project_root=root) as third:
        assert lines(third) == expected
        third.delete("/breakpoints")


BEFORE = ["def f():", "    x = 1", "    return x", "", "def g():", "    y = 1", "    return x"]


@pytest.mark.parametrize(
    ("line", "after", "found"),
    [
        pytest.param(3, ["# new", *BEFORE], 4, id="moved, though another is like it"),
        pytest.param(7, ["# new", "# new", *BEFORE], 9, id="moved, though another is nearer"),
        pytest.param(7, ["# 1", "# 2", "# 3", "# 4", *BEFORE], 11, id="moved, and its number is that of another"),
        pytest.param(3, [*BEFORE[:2], "    return 2", *BEFORE[3:]], 3, id="changed where it stands"),
        pytest.param(2, ["    " + line for line in BEFORE], 2, id="indented"),
        pytest.param(2, [*BEFORE[4:], "", *BEFORE[:3]], 6, id="after the other function"),
        pytest.param(6, ["pass"], 6, id="gone"),
        pytest.param(6, [], 6, id="empty"),
    ],
)
def test_a_line_is_found_by_its_text_and_its_neighbours(line: int, after: list[str], found: int) -> None:
    content = content_of(BEFORE, line)
    assert content is not None
    assert find_again(content, after, line) == found
