"""Every stop of a stepped program against what `sys.settrace` records of the same program without the relay.

What a step into stops on, derived from the interpreter's own events:

- each `line` event, in the frame that it belongs to;
- each `return` event of a function whose caller is the program's own code: the stop is in the caller, still on the line
  of the call.

Up to 3.11 the debugger itself uses `sys.settrace`. There an exception that leaves a function is a `return` event as
well, and so is each yield of a generator: the debugger takes it for the generator's end if it is on a line on which the
generator can end (as in a generator expression of one line), else it goes on.
From 3.12 on it uses `sys.monitoring`, which tells these apart: only a real end is a stop. Its line events come when the
line changes, while settrace adds one for each jump back within a line (an inlined comprehension): that is no stop.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import PROGRAMS
from relays import Api, pythons

TOUR = PROGRAMS / "tour.py"
STEPS = PROGRAMS / "steps.py"
PYTHONS = pythons("3.8", "3.11", "3.12", "3.13")
MOST_STOPS = 400


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def python(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def version_of(python: Path) -> tuple[int, int]:
    name = next(name for name, path in PYTHONS.items() if path == python)
    major, minor = name.split(".")
    return int(major), int(minor)


def without_addresses(values: dict[str, str]) -> dict[str, str]:
    return {name: re.sub(r"0x[0-9a-f]+", "0x", value) for name, value in values.items()}


def recorded(python: Path, script: Path, folder: Path) -> list[dict[str, Any]]:
    out = folder / "events.json"
    subprocess.run([python, PROGRAMS / "recorder.py", script, out], check=True, timeout=30, capture_output=True)
    return json.loads(out.read_text())  # type: ignore[no-any-return]


def expected_stops(events: list[dict[str, Any]], version: tuple[int, int]) -> Iterator[dict[str, Any]]:
    stops = stops_with_settrace if version < (3, 12) else stops_with_monitoring
    lines: dict[int, int] = {}
    """The last line of each frame."""
    for event in events:
        if event["kind"] == "line":
            same = lines.get(event["frame"]) == event["here"]["line"]
            lines[event["frame"]] = event["here"]["line"]
            if stops(event, same):
                yield event["here"]
        elif event["kind"] == "return" and event["back"] and stops(event, False):
            yield event["back"]


def stops_with_settrace(event: dict[str, Any], same_line: bool) -> bool:
    if event["kind"] == "return" and event["generator"]:
        return bool(event["on_return_line"])
    return True


def stops_with_monitoring(event: dict[str, Any], same_line: bool) -> bool:
    if event["kind"] == "return":
        return bool(event["ends"])
    return not (same_line and event["jumps_back"])


class Walk:
    """Where steps of any kind go, by the interpreter's events.

    A step over stops at the next line of its frame, a step out where its frame returns to. When a frame that is stepped
    over ends: up to 3.11 at the next stop of a step into, from 3.12 on at once, in the caller. An exception that leaves
    the frame ends it as well: there the step stops in the frame that handles it.
    """

    def __init__(self, events: list[dict[str, Any]], version: tuple[int, int]) -> None:
        self._events = iter(events)
        self._monitoring = version >= (3, 12)
        self._frame: int | None = None

    def step(self, how: str) -> dict[str, Any] | None:
        for event in self._events:
            own = event["frame"] == self._frame
            if event["kind"] == "line" and (how == "into" or (how == "over" and own)):
                self._frame = event["frame"]
                return event["here"]  # type: ignore[no-any-return]
            if event["kind"] != "return" or event["generator"]:
                continue
            ends = event["ends"] or not self._monitoring
            if event["back"] and ends and (how == "into" or (own and (how == "out" or self._monitoring))):
                self._frame = event["back_frame"]
                return event["back"]  # type: ignore[no-any-return]
            if own:
                how = "into"
        return None


def seen(stop: dict[str, Any]) -> dict[str, Any]:
    place = stop["current_location"]
    here = {name: place[name] for name in ("path", "line", "function")}
    assert "omitted" not in stop, stop["omitted"]
    rows = {row["name"]: row["value"] for row in stop["locals"]}
    values = {name: value for name, value in rows.items() if not name.startswith("__")}
    return {**here, "locals": without_addresses(values)}


def test_every_step_into_is_where_the_interpreter_says(api: Api, python: Path, tmp_path: Path) -> None:
    events = recorded(python, TOUR, tmp_path)
    expected = list(expected_stops(events, version_of(python)))
    expected = [{**stop, "locals": without_addresses(stop["locals"])} for stop in expected]
    assert len(expected) >= 100
    stops = []
    with api.session(python_path=str(python)) as session:
        stop = session.launch(TOUR, stop_on_entry=True, fields=["location", "locals"], budget=50_000)
        while stop["status"] == "paused" and len(stops) < MOST_STOPS:
            stops.append(seen(stop))
            stop = session.step("into", fields=["location", "locals"], budget=50_000)
        assert (stop["status"], stop["exit_code"]) == ("terminated", 0)
        plain = subprocess.run([python, TOUR], capture_output=True, check=True, timeout=30)
        assert session.output() == plain.stdout.decode()
    for number, (one, other) in enumerate(zip(stops, expected, strict=False)):
        assert one == other, f"stop {number} of {len(stops)}"
    assert len(stops) == len(expected)


def chosen_step(script: Path, line: int) -> str:
    """Over, unless the line says otherwise."""
    text = script.read_text().splitlines()[line - 1]
    return text.rpartition("# ")[2] if "# " in text else "over"


def test_every_step_over_and_step_out_is_where_the_interpreter_says(api: Api, python: Path, tmp_path: Path) -> None:
    walk = Walk(recorded(python, STEPS, tmp_path), version_of(python))
    taken = []
    with api.session(python_path=str(python)) as session:
        stop = session.launch(STEPS, stop_on_entry=True, fields=["location", "locals"], budget=50_000)
        expected = walk.step("into")
        while expected is not None:
            expected["locals"] = without_addresses(expected["locals"])
            assert stop["status"] == "paused", f"after {taken}, expected {expected}"
            assert seen(stop) == expected, f"after {taken}"
            how = chosen_step(STEPS, expected["line"])
            taken.append((expected["line"], how))
            stop = session.step(how, fields=["location", "locals"], budget=50_000)
            expected = walk.step(how)
        assert (stop["status"], stop["exit_code"]) == ("terminated", 0)
        assert session.output() == "([6, 14], 2, [2, 1], '4')\n"
    assert len(taken) > 30


def test_a_breakpoint_on_the_way_interrupts_a_step_and_a_step_out_tells_what_the_function_returned(
    api: Api, python: Path
) -> None:
    with api.session(python_path=str(python)) as session:
        session.break_at(STEPS, 37)
        assert session.launch(STEPS)["stop_reason"] == "breakpoint"
        session.break_at(STEPS, 6)
        stop = session.step("over")
        assert (stop["stop_reason"], stop["current_location"]["line"]) == ("breakpoint", 6)
        assert stop["hit_breakpoint_ids"] == ["bp_2"]
        assert [row["hit_count"] for row in session.get("/breakpoints")["breakpoints"]] == [1, 1]
        first = session.step("out")
        assert (first["current_location"]["function"], first["current_location"]["line"]) == ("middle", 17)
        assert first["return_value"] == {"type": "int", "value": "6", "function": "inner"}
        second = session.step("over")
        assert second["current_location"]["line"] == 18
        assert "return_value" not in second
        outer = session.step("into")
        assert outer["current_location"]["function"] == "inner"
        assert session.step("out")["return_value"]["value"] == "12"
        session.delete("/breakpoints/bp_2")
        whole = session.step("out")
        assert (whole["current_location"]["function"], whole["return_value"]["value"]) == ("main", "[6, 14]")
        assert session.resume()["exit_code"] == 0
