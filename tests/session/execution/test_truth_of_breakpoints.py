"""Every arrival at a breakpoint against what `sys.settrace` records of the same program without the relay."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from places import PROGRAMS
from relays import Api, Session, pythons

EVERY_LINE = PROGRAMS / "every_line.py"
TOUR = PROGRAMS / "tour.py"
PYTHONS = pythons("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", each=True)
RECORDER = """
import json, sys, threading
lines = []
def trace(frame, event, arg):
    if frame.f_code.co_filename != sys.argv[1]:
        return None
    if event == "line":
        lines.append(frame.f_lineno)
    return trace
code = compile(open(sys.argv[1]).read(), sys.argv[1], "exec")
threading.settrace(trace)
sys.settrace(trace)
exec(code, {"__name__": "__main__"})
sys.settrace(None)
print(json.dumps(lines))
"""


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def python(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def lines_of(python: Path, script: Path) -> list[int]:
    """The lines to which the interpreter comes, one after the other, but for the docstring: nothing happens there."""
    done = subprocess.run([python, "-c", RECORDER, script], check=True, capture_output=True, timeout=30)
    return [line for line in json.loads(done.stdout.splitlines()[-1]) if line != 1]


def break_at_each(session: Session, script: Path, lines: list[int], **options: object) -> None:
    items = [{"source": {"path": str(script)}, "line": line, **options} for line in sorted(set(lines))]
    for item in items:
        if "log_message" in item:
            item["log_message"] = str(item["line"])
    made = session.post("/breakpoints", {"breakpoints": items})["breakpoints"]
    assert [bp["line"] for bp in made] == sorted(set(lines))


@pytest.mark.parametrize("script", [EVERY_LINE, TOUR], ids=["every_line", "tour"])
def test_every_line_is_logged_when_the_interpreter_comes_to_it(api: Api, python: Path, script: Path) -> None:
    expected = lines_of(python, script)
    assert len(expected) > 90
    with api.session(python_path=str(python)) as session:
        break_at_each(session, script, expected, log_message="")
        assert session.launch(script)["exit_code"] == 0
        assert [int(line) for line in session.output("console").split()] == expected


def test_the_program_stops_wherever_the_interpreter_comes_to_a_line(api: Api, python: Path) -> None:
    """At every second of the lines; the others are logged in between."""
    expected = lines_of(python, EVERY_LINE)
    halting = set(sorted(set(expected))[::2])
    with api.session(python_path=str(python)) as session:
        break_at_each(session, EVERY_LINE, [line for line in expected if line in halting])
        break_at_each(session, EVERY_LINE, [line for line in expected if line not in halting], log_message="")
        stop = session.launch(EVERY_LINE, fields=["location"])
        stops = []
        while stop["status"] == "paused" and len(stops) < 300:
            assert stop["stop_reason"] == "breakpoint"
            stops.append(stop["current_location"]["line"])
            stop = session.resume(fields=["location"])
        assert stops == [line for line in expected if line in halting]
        logged = [int(line) for line in session.output("console").split()]
        assert logged == [line for line in expected if line not in halting]
