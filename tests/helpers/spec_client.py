"""Runs the example clients of the specification, and reads what they print."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from places import TESTS
from relays import Api, Relay

CLIENTS = TESTS / "spec_clients"
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


def ids(api: Api) -> set[str]:
    return {item["session_id"] for item in api.get("/sessions", limit=100)["items"]}


def by_name(variables: list[Json]) -> dict[str, tuple[str, str]]:
    return {variable["name"]: (variable["value"], variable["type"]) for variable in variables}


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
