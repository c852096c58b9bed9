"""What a stop report keeps when there is little room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from relays import Api, Session, line_of

MANY = "\n".join(f"    other_{number} = 'x' * 50" for number in range(60))
PROGRAM = f"""
import json

def load(text):
{MANY}
    wanted = len(text)
    return json.loads(text), wanted  # @loads

print("y" * 300)
load("[1, 2")
"""


@pytest.fixture(scope="module")
def failing(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, Path]]:
    path = tmp_path_factory.mktemp("budget") / "program.py"
    path.write_text(PROGRAM)
    with api.session() as session:
        stop = session.launch(path, args=["z" * 1000], budget=1500)
        assert "program" not in stop and {"what": "program", "get": "GET /sessions/{id}"} in stop["omitted"]
        yield session, path


def test_what_the_line_uses_comes_first_in_locals(failing: tuple[Session, Path]) -> None:
    session, _ = failing
    shown = [row["name"] for row in session.get("/report")["locals"]]
    assert shown[:3] == ["text", "wanted", "other_0"] and len(shown) > 3


def test_fields_never_take_away_what_was_raised_or_notes(failing: tuple[Session, Path]) -> None:
    session, _ = failing
    report = session.get("/report", fields="output")
    assert (report["status"], report["stop_reason"]) == ("paused", "exception")
    assert report["exception"] == {
        "type": "JSONDecodeError",
        "message": "Expecting ',' delimiter: line 1 column 6 (char 5)",
    }
    with session.api.session() as other:
        other.post("/breakpoints", {"function": "never_there"})
        assert "bp_1" in other.launch(code="print(1)", fields=["output"])["note"]


def test_the_traceback_goes_before_source_locals_and_stack(failing: tuple[Session, Path]) -> None:
    session, path = failing
    report = session.get("/report", budget=2400)
    assert "traceback" not in report["exception"] and report["exception"]["message"].startswith("Expecting")
    assert line_of(path, "loads") in [line["line"] for line in report["source"]]
    assert [row["name"] for row in report["locals"]][:2] == ["text", "wanted"]
    assert report["stack"][0]["presentation_hint"] == "subtle"
    assert len(str(report)) < 3000
    smallest = session.get("/report", budget=200)
    assert smallest["exception"]["type"] == "JSONDecodeError" and "locals" not in smallest
    assert {"locals", "source", "stack"} <= {each["what"] for each in smallest["omitted"]}


def test_frames_of_libraries_are_the_first_to_go_from_a_traceback(failing: tuple[Session, Path]) -> None:
    session, _ = failing
    whole = session.get("/exception")["traceback"]
    shown = session.get("/report", fields="exception", budget=1500)["exception"]["traceback"]
    assert "json/decoder.py" in whole and "json/decoder.py" not in shown
    assert "in load" in shown and "3 frames in libraries" in shown and shown.endswith("(char 5)\n")
