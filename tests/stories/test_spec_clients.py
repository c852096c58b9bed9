"""The example clients of the specification, word for word but for paths and port, do what they are for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from relays import Api, Relay, Session
from spec_client import (
    SESSION_ID,
    SUMMARY,
    by_name,
    check_basic,
    ids,
    run,
)


@pytest.fixture(autouse=True)
def tools() -> None:
    missing = [tool for tool in ("bash", "curl", "jq") if shutil.which(tool) is None]
    assert not missing, f"the scripts need {missing}: run scripts/test-tools"


@pytest.fixture(autouse=True)
def no_session_is_left(api: Api) -> Iterator[None]:
    """Some of the scripts leave theirs: the next ones must find room."""
    before = ids(api)
    yield
    for session_id in ids(api) - before:
        api.delete(f"/sessions/{session_id}", force="true")


def test_the_basic_script_debugs_a_program_from_start_to_end(relay: Relay, api: Api, tmp_path: Path) -> None:
    check_basic(run("basic_session.sh", relay, tmp_path), api)


def test_the_conditional_script_stops_when_its_conditions_hold(relay: Relay, api: Api, tmp_path: Path) -> None:
    printed = run("conditional_breakpoints.sh", relay, tmp_path)
    *placed, launched = printed.answers()
    breakpoints = [answer["breakpoints"][0] for answer in placed]
    assert [(bp["id"], bp["line"], bp["verified"]) for bp in breakpoints] == [
        ("bp_1", 42, True),
        ("bp_2", 45, True),
        ("bp_3", 48, True),
    ]
    with Session(api, launched["session_id"]) as session:
        stop = session.get("/report", wait=30)
        assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_1"], 42)
        assert session.evaluate("len(items), item.name")["result"] == "(101, 'item-101')"

        session.delete("/breakpoints/bp_1")
        stop = session.resume()
        assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_2"], 45)
        assert session.evaluate("i")["result"] == "49"

        end = session.resume()
        assert (end["status"], end["exit_code"]) == ("terminated", 0)
        logged = [f"Processing item {number}: item-{number}" for number in range(3)]
        assert session.output("console").splitlines() == logged
        assert "processed item-2\n" in session.output()
        hits = {bp["id"]: bp["hit_count"] for bp in session.get("/breakpoints")["breakpoints"]}
        assert hits == {"bp_2": 120, "bp_3": 3}


def test_the_exception_script_finds_the_cause_of_a_crash(relay: Relay, api: Api, tmp_path: Path) -> None:
    printed = run("exception.sh", relay, tmp_path)
    script = printed.path("buggy_script.py")
    launched, deleted = printed.answers()
    exception, *_ = printed.values("Exception caught!")
    assert exception["type"] == "AttributeError"
    assert exception["message"] == "'NoneType' object has no attribute 'split'"
    assert (exception["location"]["path"], exception["location"]["line"]) == (script, 7)

    frames = [(frame["name"], frame["line"]) for frame in printed.value("Stack trace at exception")]
    assert frames == [("count_words", 7), ("<module>", 12)]
    assert by_name(printed.value("Variables at crash")) == {
        "texts": ("['one two', 'three', None]", "list"),
        "counts": ("{'one two': 2, 'three': 1}", "dict"),
        "problematic_var": ("None", "NoneType"),
    }
    kind, text, _ = printed.values("Diagnosing cause")
    assert (kind["result"], kind["type"]) == ("<class 'NoneType'>", "type")
    assert (text["result"], text["type"]) == ("'None'", "str")
    assert (deleted["session_id"], deleted["deleted"]) == (launched["session_id"], True)
    assert launched["session_id"] not in ids(api)


def test_the_multi_file_script_goes_from_file_to_file(relay: Relay, api: Api, tmp_path: Path) -> None:
    printed = run("multi_file.sh", relay, tmp_path)
    main, helpers, data = (printed.path(name) for name in ("main.py", "utils/helpers.py", "models/data.py"))
    placed, launched, stepped, continued = printed.answers()
    assert [(bp["source"]["path"], bp["line"], bp["verified"]) for bp in placed["breakpoints"]] == [
        (main, 15, True),
        (helpers, 42, True),
        (data, 78, True),
    ]
    frames = [value for value in printed.values("Multi-file stack trace") if "file" in value]
    assert [(frame["name"], frame["file"], frame["line"]) for frame in frames] == [
        ("load", main, 15),
        ("read_csv", helpers, 13),
        ("main", main, 34),
        ("<module>", main, 42),
    ]
    (location,) = [value for value in printed.values("Multi-file stack trace") if "function" in value]
    assert (location["path"], location["line"], location["function"]) == (data, 36, "__init__")
    assert stepped["current_location"] == location
    assert continued["continued"] is True
    with Session(api, launched["session_id"]) as session:
        places = []
        stop = session.get("/report", wait=30)
        while stop["status"] == "paused":
            places.append((stop["current_location"]["path"], stop["current_location"]["line"]))
            stop = session.resume()
        assert places == [(helpers, 42), (helpers, 42), (data, 78), (data, 78)]
        assert (stop["status"], stop["exit_code"]) == ("terminated", 0)


def test_the_python_client_prints_what_it_finds(relay: Relay, api: Api, tmp_path: Path) -> None:
    printed = run("python_client.py", relay, tmp_path)
    main = printed.path("main.py")
    created, *lines = printed.text.splitlines()
    session_id = created.removeprefix("Created session: ")
    assert SESSION_ID.fullmatch(session_id)
    place = {"path": main, "line": 25, "column": 1, "function": "process"}
    assert lines == [
        "Set 1 breakpoint(s)",
        "Program launched",
        f"Paused at: {place}",
        "Stack trace (3 frames):",
        f"  process at {main}:25",
        f"  main at {main}:35",
        f"  <module> at {main}:42",
        "Local variables:",
        "  data = [Sale('north', 10.5), Sale('south', 4.5), Sale('north', 5.0)] (list)",
        "  verbose = True (bool)",
        "  totals = {'north': 15.5, 'south': 4.5} (dict)",
        "  sale = Sale('north', 5.0) (Sale)",
        "Evaluation result: 6 (int)",
        "Program terminated",
        "Program output (6 entries):",
        "  [stdout] south: 4.5",
        "  [stdout] north: 5.0",
        *(f"  [stdout] {line.strip()}" for line in SUMMARY),
        "Session cleaned up",
    ]
    assert session_id not in ids(api)
