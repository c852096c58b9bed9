"""Breakpoints by what is written on the line: the line found, or the lines that may have been meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, refusal

TEXT = '''
"""total += price is what counts."""

def add(prices):
    total = 0
    for price in prices:
        # total += price, but twice
        total += price  # @first
    for price in prices:
        total += price  # @second
    else:
        done = True
    return total  # @return


print(add([1, 2]))
'''


@pytest.fixture
def path(program: Callable[..., Path]) -> Path:
    return program(TEXT)


@pytest.fixture
def in_project(api: Api, path: Path) -> Iterator[Session]:
    with api.session(project_root=str(path.parent), restore_breakpoints=False) as session:
        yield session


def by_text(session: Session, path: Path, text: str, **options: Any) -> dict[str, Any]:
    (bp,) = session.post("/breakpoints", {"file": str(path), "text": text, **options})["breakpoints"]
    return bp  # type: ignore[no-any-return]


def test_the_line_that_contains_the_text_is_found_and_told(session: Session, path: Path) -> None:
    bp = by_text(session, path, "  return total ", condition="total == 6")
    assert (bp["id"], bp["verified"], bp["line"]) == ("bp_1", True, line_of(path, "return"))
    assert (bp["text"], bp["condition"]) == ("return total  # @return", "total == 6")
    stop = session.launch(path)
    assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_1"], line_of(path, "return"))


def test_an_occurrence_counts_only_lines_with_code(session: Session, path: Path) -> None:
    assert by_text(session, path, "total += price", occurrence=2)["line"] == line_of(path, "second")
    assert by_text(session, path, "total += price", occurrence=1)["line"] == line_of(path, "first")
    assert by_text(session, path, "is what counts")["verified"] is False


def test_several_lines_are_told_as_candidates(session: Session, path: Path) -> None:
    error = refusal(400, "BREAKPOINT_INVALID_LINE", by_text, session, path, "total += price")
    assert error.message == "2 lines contain 'total += price'"
    assert error.details["candidates"] == [
        {"line": line_of(path, "first"), "text": "total += price  # @first"},
        {"line": line_of(path, "second"), "text": "total += price  # @second"},
    ]
    assert "occurrence (1 to 2)" in error.details["suggestion"]
    error = refusal(400, "BREAKPOINT_INVALID_LINE", by_text, session, path, "total += price", occurrence=3)
    assert error.message == "Only 2 lines contain 'total += price'"
    error = refusal(400, "BREAKPOINT_INVALID_LINE", by_text, session, path, "total = 0", occurrence=2)
    assert error.message == "Only 1 line contains 'total = 0'"
    assert session.get("/breakpoints")["total"] == 0


def test_a_text_that_no_line_contains_gets_those_most_like_it(session: Session, path: Path) -> None:
    error = refusal(400, "BREAKPOINT_INVALID_LINE", by_text, session, path, "retrun totl  # @return")
    assert error.message == "No line contains 'retrun totl  # @return'"
    assert error.details["candidates"][0] == {"line": line_of(path, "return"), "text": "return total  # @return"}
    error = refusal(400, "BREAKPOINT_INVALID_LINE", by_text, session, path, "§§§§§§§§§")
    assert error.details["candidates"] == []


def test_candidates_are_bounded(session: Session, program: Callable[..., Path]) -> None:
    path = program("x = 1\n" * 500 + "x = 2" + " " * 5000 + "# far\n", "many.py")
    error = refusal(400, "BREAKPOINT_INVALID_LINE", by_text, session, path, "x = 1")
    assert (len(error.details["candidates"]), error.details["total"]) == (10, 500)
    assert by_text(session, path, "x = 1", occurrence=500)["line"] == 500
    assert len(by_text(session, path, "# far")["text"]) == 200


def test_batches_are_all_or_nothing(session: Session, path: Path) -> None:
    good = {"file": str(path), "text": "return total"}
    bad = {"source": {"path": str(path)}, "text": "total += price"}
    refusal(400, "BREAKPOINT_INVALID_LINE", session.post, "/breakpoints", {"breakpoints": [good, bad]})
    assert session.get("/breakpoints")["total"] == 0
    items = [good, {**bad, "occurrence": 2}, {"file": str(path), "line": 4}]
    placed = session.post("/breakpoints", {"breakpoints": items, "strict": True})["breakpoints"]
    assert [bp["line"] for bp in placed] == [line_of(path, "return"), line_of(path, "second"), 4]
    assert [bp.get("text") for bp in placed] == ["return total  # @return", "total += price  # @second", None]


def test_strict_wants_a_line_with_code(session: Session, path: Path) -> None:
    assert by_text(session, path, "else:")["suggestion"]["text"] == "done = True"
    error = refusal(400, "BREAKPOINT_INVALID_LINE", by_text, session, path, "else:", strict=True)
    assert "line 10" in error.message


def test_a_file_that_is_missing_has_no_lines(session: Session, tmp_path: Path) -> None:
    error = refusal(400, "BREAKPOINT_FILE_NOT_FOUND", by_text, session, tmp_path / "missing.py", "x")
    assert error.details["file"] == str(tmp_path / "missing.py")


def test_relative_files_belong_to_the_project(in_project: Session, path: Path) -> None:
    (bp,) = in_project.post("/breakpoints", {"file": path.name, "text": "return total"})["breakpoints"]
    assert (bp["source"]["path"], bp["line"]) == (str(path), line_of(path, "return"))


def test_the_next_session_finds_it_by_its_text(api: Api, path: Path) -> None:
    with api.session(project_root=str(path.parent)) as first:
        by_text(first, path, "return total")
        by_text(first, path, "done =")
    text = path.read_text().replace("return total ", "return total + 1 ").replace("done = True", "pass")
    path.write_text("# one\n# two\n# three\n" + text)
    answer = api.post("/sessions", {"project_root": str(path.parent)})
    with Session(api, answer["session_id"]) as second:
        there, lost = answer["restored_breakpoints"]["edits"]
        assert there.endswith(f"moved with its line, from line 12 to line {line_of(path, 'return')}")
        assert lost.endswith("no line contains 'done =' any more. It stays at line 11")
        moved, stayed = second.get("/breakpoints")["breakpoints"]
        assert (moved["line"], moved["verified"], moved["moved_from"]) == (line_of(path, "return"), True, 12)
        assert (moved["text"], "text" in stayed) == ("return total + 1  # @return", False)
        second.delete("/breakpoints")


@pytest.mark.parametrize(
    "body",
    [
        {"text": "x"},
        {"file": "/x.py", "text": "x", "line": 1},
        {"file": "/x.py", "line": 1, "occurrence": 1},
        {"file": "/x.py", "text": " "},
        {"file": "/x.py", "text": "a\nb"},
        {"file": "/x.py", "text": "x", "occurrence": 0},
        {"text": "x", "function": "f"},
        {"file": "/x.py", "text": "x" * 1001},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(session: Session, body: dict[str, Any]) -> None:
    refusal(400, "INVALID_REQUEST", session.post, "/breakpoints", body)
