"""A stop in a library is told from the program's own code that called it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from relays import Api, Session, line_of
from waiting import wait_until

Write = Callable[..., Path]

PARSES = """
import json

def load(text):
    wanted = len(text)
    return json.loads(text)  # @loads

load("{not json")
"""


@pytest.fixture(scope="module")
def failing(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, Path, dict[str, object]]]:
    """Stopped by an exception that a library raised: one launch for all that look."""
    path = tmp_path_factory.mktemp("focus") / "program.py"
    path.write_text(PARSES)
    with api.session() as session:
        yield session, path, session.launch(path)


def test_the_report_is_about_the_frame_of_the_program_s_own(failing: tuple[Session, Path, dict[str, object]]) -> None:
    session, path, stop = failing
    place = {"path": str(path), "line": line_of(path, "loads"), "function": "load"}
    location = stop["current_location"]
    assert isinstance(location, dict) and place.items() <= location.items()
    top = stop["top_location"]
    assert isinstance(top, dict) and top["path"].endswith("json/decoder.py")
    own = stop["frame_id"]
    assert isinstance(own, int) and own > 0
    stack = session.get("/stacktrace")["frames"]
    assert (stack[own]["name"], stack[0]["line"]) == ("load", top["line"])
    source, locals = stop["source"], stop["locals"]
    assert isinstance(source, list) and any("# @loads" in line["text"] for line in source)
    assert isinstance(locals, list) and {row["name"] for row in locals} == {"text", "wanted"}
    assert session.get("/status")["location"] == session.get()["current_location"] == location


def test_what_is_asked_without_a_frame_means_that_one(failing: tuple[Session, Path, dict[str, object]]) -> None:
    session, path, stop = failing
    assert session.evaluate("wanted")["result"] == "9"
    assert "NameError" in session.evaluate("wanted", frame_id=0)["error"]
    assert session.get("/scopes")["frame_id"] == stop["frame_id"]
    assert session.get("/source")["path"] == str(path)
    assert session.post("/set-expression", {"expression": "wanted", "value": "10"})["value"] == "10"


def test_the_top_of_the_stack_is_one_call_away(failing: tuple[Session, Path, dict[str, object]]) -> None:
    session, _, stop = failing
    top = session.get("/report", frame="top")
    assert top["current_location"] == stop["top_location"]
    assert "frame_id" not in top and "text" not in {row["name"] for row in top["locals"]}


def test_a_step_or_breakpoint_in_a_library_is_where_it_was_asked_for(session: Session, program: Write) -> None:
    path = program(PARSES.replace("{not json", "1"))
    session.break_at(path, "loads")
    session.launch(path)
    inside = session.step("into")
    assert inside["current_location"]["function"] == "loads" and "frame_id" not in inside
    session.post("/breakpoints", {"function": "json.decoder.JSONDecoder.raw_decode"})
    assert session.resume()["current_location"]["function"] == "raw_decode"


def test_a_pause_shows_what_the_program_waits_in(session: Session, program: Write) -> None:
    loop = "def hold(event):\n    while not event.wait(0.01):\n        pass\n"
    session.launch(program(f"import threading\n\n{loop}\nhold(threading.Event())\n"), wait=0)
    wait_until(lambda: [each["line"] for each in session.get("/threads/1/stacktrace")["frames"]][-1:] == [7])
    stop = wait_until(lambda: (answer := session.post("/pause", {"wait": 5}))["status"] == "paused" and answer)
    assert stop["current_location"]["function"] == "hold"
