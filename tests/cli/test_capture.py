"""`ocdb capture`: one report of all stops, without a conversation."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Ocdb
from native import Builder
from relays import line_of
from waiting import wait_until

from opencode_debugger.cli.exit_codes import INTERRUPTED

Program = Callable[..., Path]


@pytest.fixture
def squares(program: Program) -> Path:
    return program("""
        def square(number):
            result = number * number
            return result  # @stop

        for each in range(4):
            square(each)
        print("done")
    """, "squares.py")


@pytest.fixture
def failing(program: Program) -> Path:
    return program("""
        def price(item):
            return item["price"]

        def test_prices():
            items = [{"price": 1}, {"cost": 2}]
            assert sum(price(item) for item in items) == 3

        def test_that_passes():
            assert price({"price": 1}) == 1

        def test_comparison():
            found = price({"price": 4})
            assert found == 5
    """, "test_prices.py")


def test_each_hit_is_recorded_with_its_values_and_the_program_runs_to_its_end(ocdb: Ocdb, squares: Path) -> None:
    line = line_of(squares, "stop")
    report = ocdb("capture", "-b", f"squares.py:{line}", "-e", "result + 1", "-e", "nothing", "squares.py")
    assert report.startswith("capture of squares.py: 4 stops\n")
    assert [row for row in report.splitlines() if row.startswith("result + 1 = ")] == [
        f"result + 1 = {value}" for value in (1, 2, 5, 10)]
    assert "nothing = " in report
    assert "NameError" in report
    assert "stack: 0 square squares.py" in report
    assert "exited with code 0" in report
    assert "out| done" in report
    assert "left out" not in report


def test_failing_tests_are_recorded_with_the_locals_of_their_own_frames(ocdb: Ocdb, failing: Path) -> None:
    report = ocdb("capture", "--test", "test_prices.py", "--format", "markdown", "--python", sys.executable)
    assert report.startswith("# Capture of `test_prices.py`\n\n2 stops.\n\n## Stop 1\n\n````text\n")
    assert "KeyError: 'price'" in report
    assert "item = {'cost': 2}" in report
    assert "items: list = [{'price': 1}, {'cost': 2}]" in report
    assert "found = 4" in report
    assert "2 failed, 1 passed" in report


def test_json_has_every_stop_as_a_lean_answer(ocdb: Ocdb, squares: Path, tmp_path: Path) -> None:
    words = ["-b", f"squares.py:{line_of(squares, 'stop')}", "-e", "number", "--format", "json", "-o", "report.json"]
    answer = ocdb.ask("capture", *words, "squares.py")
    assert (answer.code, answer.text) == (0, "")
    assert "wrote 4 stops to report.json" in answer.errors
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [stop["values"] for stop in report["stops"]] == [{"number": str(number)} for number in range(4)]
    assert {"name": "result", "value": "9"} in report["stops"][3]["report"]["locals"]
    assert report["end"]["exit_code"] == 0
    assert report["left_out"] == []


def test_an_uncaught_exception_is_recorded_without_any_breakpoint(ocdb: Ocdb, program: Program) -> None:
    program("def divide(a, b):\n    return a / b\n\ndivide(1, 0)\n", "dividing.py")
    report = ocdb("capture", "dividing.py")
    assert "ZeroDivisionError" in report
    assert "a = 1; b = 0" in report


def test_an_exception_is_told_with_how_it_came_about(ocdb: Ocdb, program: Program) -> None:
    program("""
        def price_of(name):
            return {"pen": 1.5}.get(name)

        def total(names, rate):
            return sum(price_of(name) * rate for name in names)

        total(["pen", "gift"], 2)
    """, "shop.py")
    report = ocdb("capture", "shop.py")
    assert "rate: given or changed" in report and "price_of: given" not in report
    course = report.partition("--- how it came about\n")[2]
    assert "TypeError" in course and "price_of(name='gift') → None" in course

    just_the_stop = len(report.partition("--- end\n")[0].encode())
    told = json.loads(ocdb("capture", "--format", "json", "--size", str(just_the_stop), "shop.py"))
    assert told["stops"][0]["changes"] and told["course"] is None
    assert "how it came about (see --size)" in told["left_out"]


def test_a_program_that_cannot_be_recorded_is_captured_without(ocdb: Ocdb, build: Builder) -> None:
    native = build("recorded")
    report = ocdb("capture", "-b", f"{native.source}:main", native.program)
    assert ": 1 stop\n" in report and "how it came about" not in report


@pytest.mark.parametrize(("limit", "says"), [
    (["--hits", "2"], "left out: what came after 2 stops (see --hits)"),
    (["--size", "1000", "-e", "'x' * 900"], "and what came after it (see --size)"),
], ids=["hits", "size"])
def test_what_is_beyond_a_limit_is_said_to_be_left_out(ocdb: Ocdb, squares: Path, limit: list[str], says: str) -> None:
    assert says in ocdb("capture", "-b", f"squares.py:{line_of(squares, 'stop')}", *limit, "squares.py")


def test_a_program_whose_time_is_up_is_told_of_where_it_was_with_its_output(ocdb: Ocdb, program: Program) -> None:
    program("import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.01)\n", "endless.py")
    report = ocdb("capture", "--time", "1", "endless.py")
    assert report.count("out| begun") == 1
    assert "paused: pause at endless.py:" in report
    assert "left out: what came after 1 s (see --time)" in report


def test_a_program_that_waits_for_input_is_not_waited_for(ocdb: Ocdb, program: Program) -> None:
    program("print(input())\n", "asking.py")
    assert "has read its input (see --stdin)" in ocdb("capture", "asking.py")
    assert "out| hello" in ocdb("capture", "--stdin", "hello", "asking.py")


def test_the_session_is_gone_afterwards_and_the_current_one_stays(ocdb: Ocdb, squares: Path) -> None:
    place = f"squares.py:{line_of(squares, 'stop')}"
    current = ocdb.json("run", "-b", place, "squares.py")["session_id"]
    before = ocdb.json("ls")["items"]
    ocdb("capture", "-b", place, "--hits", "1", "squares.py")
    assert ocdb.json("ls")["items"] == before
    assert ocdb.json("wait", "0")["session_id"] == current


def test_ctrl_c_ends_the_program(ocdb: Ocdb, program: Program, tmp_path: Path) -> None:
    program("import time\nopen('passed', 'w').close()\nwhile True:\n    time.sleep(0.01)\n", "unending.py")
    capturing = ocdb.begin("capture", "-b", "unending.py:2", "unending.py")
    wait_until((tmp_path / "passed").exists)
    capturing.send_signal(signal.SIGINT)
    _, errors = capturing.communicate(timeout=60)
    assert (capturing.returncode, "there is no report" in errors) == (INTERRUPTED, True)
    assert "unending.py" not in ocdb("ls")


def test_a_report_that_cannot_be_written_is_told_of(ocdb: Ocdb, squares: Path) -> None:
    assert "cannot be written to nowhere/report" in ocdb.refuse("capture", "-o", "nowhere/report", "squares.py")
    assert "give a program" in ocdb.refuse("capture", code=2)
