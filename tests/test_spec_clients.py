"""The example clients of the specification, word for word but for paths and port, do what they are for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, Session

CLIENTS = Path(__file__).parent / "spec_clients"
WRITTEN_FOR = "/Users/dev/myproject"
PATIENCE = 40
SESSION_ID = re.compile(r"sess_[0-9a-f]{8}")
SUMMARY = ["north 15.50 78 %\n", "south 4.50 22 %\n", "3 sales, the best in north: 10.50 EUR\n"]

Json = dict[str, Any]


@dataclass
class Printed:
    """What a client wrote, and the project it worked on."""

    text: str
    project: Path

    def section(self, title: str) -> str:
        """What comes after `=== title ===`, up to the next title."""
        _, found, rest = self.text.partition(f"=== {title} ===\n")
        assert found, f"no section {title!r} in:\n{self.text}"
        return re.split(r"^=== .* ===$", rest, maxsplit=1, flags=re.MULTILINE)[0].strip()

    def values(self, title: str | None = None) -> list[Any]:
        """The JSON values in a section, or in everything."""
        text = self.text if title is None else self.section(title)
        decoder, found, at = json.JSONDecoder(), [], 0
        while match := re.compile(r"[\[{]").search(text, at):
            value, at = decoder.raw_decode(text, match.start())
            found.append(value)
        return found

    def value(self, title: str) -> Any:
        (value,) = self.values(title)
        return value

    def answers(self) -> list[Json]:
        """The `data` of each whole answer that was printed."""
        envelopes = [value for value in self.values() if isinstance(value, dict) and "meta" in value]
        assert [envelope["error"] for envelope in envelopes] == [None] * len(envelopes)
        return [envelope["data"] for envelope in envelopes]

    def path(self, name: str) -> str:
        return str(self.project / name)


def run(name: str, relay: Relay, folder: Path, changed: tuple[tuple[str, str], ...] = ()) -> Printed:
    project = folder / "myproject"
    shutil.copytree(CLIENTS / "myproject", project)
    text = (CLIENTS / name).read_text(encoding="utf-8")
    assert WRITTEN_FOR in text
    assert "localhost:5679" in text
    for old, new in changed:
        assert old in text
        text = text.replace(old, new)
    client = folder / name
    client.write_text(text.replace(WRITTEN_FOR, str(project)).replace("localhost:5679", f"localhost:{relay.port}"))
    done = subprocess.run(
        ["bash" if name.endswith(".sh") else sys.executable, str(client)],
        env={**os.environ, "NO_PROXY": "localhost"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stderr}\n{done.stdout}"
    return Printed(done.stdout, project)


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


def ids(api: Api) -> set[str]:
    return {item["session_id"] for item in api.get("/sessions", limit=100)["items"]}


def by_name(variables: list[Json]) -> dict[str, tuple[str, str]]:
    return {variable["name"]: (variable["value"], variable["type"]) for variable in variables}


def test_the_basic_script_debugs_a_program_from_start_to_end(relay: Relay, api: Api, tmp_path: Path) -> None:
    check_basic(run("basic_session.sh", relay, tmp_path), api)


def check_basic(printed: Printed, api: Api) -> None:
    main = printed.path("main.py")
    session_id = printed.section("Creating session").removeprefix("Session ID: ")
    assert SESSION_ID.fullmatch(session_id)

    (breakpoint,) = printed.value("Setting breakpoint")
    assert (breakpoint["id"], breakpoint["verified"], breakpoint["line"]) == ("bp_1", True, 25)
    assert breakpoint["source"] == {"path": main}
    launched = printed.value("Launching program")
    assert launched["session_id"] == session_id
    assert launched["status"] in ("running", "paused")
    assert launched["pid"] > 0
    assert launched["program"]["args"] == ["--input", "data.csv"]

    assert printed.section("Waiting for breakpoint") == "Paused!"
    location = printed.value("Current location")
    assert (location["path"], location["line"], location["function"]) == (main, 25, "process")
    frames = [(frame["id"], frame["name"], frame["line"]) for frame in printed.value("Stack trace")]
    assert frames == [(0, "process", 25), (1, "main", 35), (2, "<module>", 42)]
    assert by_name(printed.value("Local variables")) == {
        "data": ("[Sale('north', 10.5), Sale('south', 4.5), Sale('north', 5.0)]", "list"),
        "verbose": ("False", "bool"),
        "totals": ("{'north': 15.5, 'south': 4.5}", "dict"),
        "sale": ("Sale('north', 5.0)", "Sale"),
    }
    evaluated = printed.value("Evaluating expression")
    assert (evaluated["result"], evaluated["type"]) == ("3", "int")
    assert printed.value("Step over")["line"] == 26

    assert printed.value("Continuing")["continued"] is True
    assert printed.section("Waiting for completion") == "Program terminated"
    entries = printed.value("Program output")
    assert [(entry["category"], entry["output"]) for entry in entries] == [("stdout", line) for line in SUMMARY]
    deleted = printed.value("Cleaning up")
    assert (deleted["session_id"], deleted["deleted"], deleted["exit_code"]) == (session_id, True, 0)
    assert session_id not in ids(api)


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
