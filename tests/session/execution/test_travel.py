"""Going further in one call: several steps, steps until something is so, into a chosen call, to a line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, meanwhile, pythons, refusal
from waiting import soon, wait_until

PROGRAM = """
    import threading
    import time


    def double(x):
        y = x * 2  # @double
        return y


    def add(a, b):
        c = a + b  # @add
        return c


    class Box:
        def __init__(self, value):
            self.value = value  # @init

        def get(self):
            return self.value  # @get


    def noisy(function):
        def wrapper(*args):
            return function(*args)  # @wrapper
        return wrapper


    @noisy
    def loud(x):
        return x  # @loud


    def count():
        total = 0  # @start
        for i in range(100000):
            total += i  # @body
        return total


    def nested(x):
        total = add(double(x), double(x + 1))  # @nested
        box = Box(double(3)).get()  # @box
        made = [double(each) for each in (1, 2)]  # @made
        ring = loud(double(4))  # @ring
        many = (
            double(5)  # @many
            + add(1, 2)
        )
        lazy = nothing() and len("abc")  # @lazy
        return total, box, made, ring, many, lazy  # @end


    def nothing():
        return 0


    def fails():
        raise ValueError("no")


    for turn in range(20):
        nested(1)  # @call
    count()  # @count
    try:
        fails()  # @fails
    except ValueError:
        pass
    print("done")  # @last
"""

VERSIONS = list(pythons("3.8", "3.11", "3.12", "3.13", each=True))
ENDS = (VERSIONS[0], VERSIONS[-1])
ALL = pytest.mark.parametrize(
    "version", [pytest.param(each, marks=() if each in ENDS else pytest.mark.wide) for each in VERSIONS]
)
TRACING_AND_NOT = ("3.11" if "3.11" in VERSIONS else VERSIONS[0], VERSIONS[-1])
WITH_AND_WITHOUT_TRACING = pytest.mark.parametrize(
    "version", [pytest.param(each, marks=() if each in TRACING_AND_NOT else pytest.mark.wide) for each in VERSIONS]
)
"""Steps are made by tracing up to 3.11, and without it later."""


@pytest.fixture
def travel(program: Callable[..., Path]) -> Path:
    return program(PROGRAM)


def stopped(api: Api, version: str | None, path: Path, marker: str) -> Session:
    options = {} if version is None else {"python_path": str(pythons(version)[version])}
    session = api.session(**options)
    (bp,) = session.break_at(path, marker)
    session.launch(path)
    session.delete(f"/breakpoints/{bp['id']}")
    return session


def at(path: Path, report: dict[str, Any], marker: str) -> bool:
    assert report["status"] == "paused", report
    assert report["current_location"]["line"] == line_of(path, marker), report
    return True


@WITH_AND_WITHOUT_TRACING
def test_steps_are_made_in_one_call(api: Api, travel: Path, version: str) -> None:
    with stopped(api, version, travel, "start") as session:
        report = session.step("over", count=101)
        assert (report["steps"], report["stop_reason"]) == (101, "step")
        assert session.evaluate("i")["result"] == "49"
        assert len(session.events("stopped")) == 2
        assert len(session.events("continued")) == 1
        report = session.post("/step-until", {"expression": "total > 5000"})
        assert (report["condition_met"], report["stop_reason"]) == (True, "step")
        assert session.evaluate("total")["result"] == "5050"
        with soon():
            report = session.post("/step-until", {"expression": "i == 1200", "max_steps": 100_000})
            assert (report["condition_met"], report["steps"] > 2000) == (True, True)
            assert session.evaluate("i")["result"] == "1200"
        assert len(session.events("stopped")) == 4


@WITH_AND_WITHOUT_TRACING
def test_steps_end_early_where_something_else_stops_the_program(api: Api, travel: Path, version: str) -> None:
    with stopped(api, version, travel, "double") as session:
        report = session.step("out", count=2)
        assert (at(travel, report, "call"), report["steps"]) == (True, 2)
        (bp,) = session.break_at(travel, "init")
        report = session.step("over", count=1000)
        assert at(travel, report, "init")
        assert (report["steps"] < 5, report["stop_reason"]) == (True, "breakpoint")
        assert report["hit_breakpoint_ids"] == [bp["id"]]
        session.delete(f"/breakpoints/{bp['id']}")
        report = session.post("/step-until", {"expression": "b == 2 and c == 3", "kind": "into"})
        assert (report["condition_met"], report["current_location"]["function"]) == (True, "add")
        session.post("/run-to", {"text": "fails()  # @fails"})
        report = session.step("over", count=50)
        assert (report["status"], report["exit_code"]) == ("terminated", 0)
        assert 1 <= report["steps"] < 50


@ALL
def test_step_into_a_chosen_call(api: Api, travel: Path, version: str) -> None:
    with stopped(api, version, travel, "nested") as session:
        found = session.get("/step-targets")
        assert found["line"] == line_of(travel, "nested")
        assert [(target["id"], target["name"], target["label"]) for target in found["targets"]] == [
            (0, "double", "double(x)"),
            (1, "double", "double(x + 1)"),
            (2, "add", "add(double(x), double(x + 1))"),
        ]
        assert session.get("/step-targets", frame_id=1)["targets"][0]["name"] == "nested"
        report = session.step("into", target="add")
        assert at(travel, report, "add")
        assert (report["target_reached"], report["target"]) == (True, found["targets"][2])
        assert session.locals()["a"] == "2"
        assert len(session.events("stopped")) == 2
        for line, target, place in CALLS:
            session.post("/run-to", {"line": line_of(travel, line)})
            if place == "wrapper" and version == "3.8":
                continue  # before 3.11 Python does not know which call of a line is which
            report = session.step("into", **target)
            assert at(travel, report, place), (line, target)
            assert report["target_reached"] is True
        session.post("/run-to", {"line": line_of(travel, "lazy")})
        report = session.step("into", target="len")
        assert at(travel, report, "end")
        assert report["target_reached"] is False


CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("nested", {"target_id": 1}, "double"),
    ("box", {"target": "Box"}, "init"),
    ("box", {"target": "get"}, "get"),
    ("box", {"target": "double"}, "double"),
    ("made", {"target": "double"}, "double"),
    ("many", {"target": "add"}, "add"),
    ("ring", {"target": "loud"}, "wrapper"),
]


@WITH_AND_WITHOUT_TRACING
def test_run_to_a_line_leaves_no_trace(api: Api, travel: Path, version: str) -> None:
    with stopped(api, version, travel, "call") as session:
        report = session.post("/run-to", {"line": line_of(travel, "made")})
        assert at(travel, report, "made")
        assert (report["stop_reason"], report["reached"]) == ("run_to", True)
        assert session.get("/breakpoints")["total"] == 0
        assert len(session.events("breakpoint")) == 2  # of the one that it stopped at first
        (plain,) = session.break_at(travel, "box")
        assert plain["id"] == "bp_2"
        (logs,) = session.break_at(travel, "ring", log_message="here {x}")
        (never,) = session.break_at(travel, "end", condition="x == 99")
        report = session.post("/run-to", {"line": line_of(travel, "ring")})
        assert (report["reached"], session.output("console")) == (True, "here 1\n")
        report = session.post("/run-to", {"line": line_of(travel, "end")})
        assert (report["reached"], report["stop_reason"]) == (True, "run_to")
        assert "hit_breakpoint_ids" not in report
        report = session.post("/run-to", {"line": line_of(travel, "box")})
        assert (report["reached"], report["hit_breakpoint_ids"]) == (True, [plain["id"]])
        hits = {bp["id"]: bp["hit_count"] for bp in session.get("/breakpoints")["breakpoints"]}
        assert hits == {plain["id"]: 1, logs["id"]: 1, never["id"]: 0}
        assert session.resume()["hit_breakpoint_ids"] == [plain["id"]]


def test_steps_until_are_bounded_in_number_and_in_time(api: Api, travel: Path) -> None:
    with stopped(api, None, travel, "start") as session:
        report = session.post("/step-until", {"expression": "1 / (total - 3) > 5"})
        assert report["error"] == "ZeroDivisionError: division by zero"
        assert (report["condition_met"], session.evaluate("total")["result"]) == (False, "3")
        report = session.post("/step-until", {"expression": "i < 0", "max_steps": 10})
        assert (report["condition_met"], report["steps"], report["status"]) == (False, 10, "paused")
        report = session.post("/step-until", {"expression": "i < 0", "max_steps": 100_000, "timeout": 0.3})
        assert (report["condition_met"], report["timed_out"], report["status"]) == (False, True, "paused")
        assert report["steps"] > 10
        report = session.post("/step-until", {"expression": "time.sleep(60)", "timeout": 0.5})
        assert (report["condition_met"], report["status"]) == (False, "paused")
        assert "interrupted" in report["error"]
        assert session.evaluate("1 + 1")["result"] == "2"


def test_only_a_paused_program_can_be_moved(session: Session) -> None:
    for path, body in {
        "/step-until": {"expression": "x"},
        "/run-to": {"line": 1},
        "/step-over": {"count": 3},
        "/step-into": {"target": "f"},
    }.items():
        refusal(409, "INVALID_SESSION_STATE", session.post, path, body)
    refusal(409, "INVALID_SESSION_STATE", session.get, "/step-targets")


def test_an_exception_ends_the_steps(session: Session, program: Callable[..., Path]) -> None:
    path = program("a = 1\nb = 2\nc = a / 0\nd = 4\n")
    session.launch(path, stop_on_entry=True)
    report = session.step("over", count=10)
    assert (report["stop_reason"], report["exception"]["type"]) == ("exception", "ZeroDivisionError")
    assert report["current_location"]["line"] == 3
    assert report["steps"] == 2


def test_a_pause_ends_the_steps_of_a_slow_program(session: Session, program: Callable[..., Path]) -> None:
    path = program("import time\nfor i in range(1000):\n    time.sleep(0.05)\n    x = i\n")
    session.launch(path, stop_on_entry=True)
    report = session.step("over", count=1000, wait=0.5)
    assert (report["status"], report["timed_out"]) == ("running", True)
    assert 0 < report["steps"] < 100
    report = session.post("/pause")
    assert report["status"] == "paused"
    line = report["current_location"]["line"]
    assert session.step("over")["current_location"]["line"] != line
    assert "steps" not in session.step("over")


def test_another_threads_stop_ends_the_steps(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        import threading
        import time

        i = 0

        def other():
            while i < 20:
                time.sleep(0.01)
            mark = 1  # @other

        threading.Thread(target=other, name="other").start()
        i = 0  # @main
        while i < 10**9:
            i += 1
        """
    )
    main, _ = session.break_at(path, "main", "other")
    session.launch(path)
    report = session.post("/step-until", {"expression": "i < 0", "max_steps": 100_000})
    assert at(path, report, "other")
    assert report["condition_met"] is False
    assert report["steps"] > 10
    # The thread that stepped is an ordinary one again.
    threads = {thread["name"]: thread["id"] for thread in session.get("/threads")["threads"]}
    report = session.step("over", thread_id=threads["MainThread"])
    assert report["status"] == "paused"
    assert main["id"] not in report.get("hit_breakpoint_ids", [])


def test_a_count_that_makes_no_sense_is_refused(session: Session) -> None:
    for count in (0, -1, 1001, 1.5, "2", True):
        error = refusal(400, "INVALID_REQUEST", session.step, "over", count=count)
        assert error.details["errors"][0]["field"] == "count"


def test_a_name_that_does_not_exist_yet_is_no_error_but_one_that_never_does_is_told(api: Api, travel: Path) -> None:
    with stopped(api, None, travel, "nested") as session:
        report = session.post("/step-until", {"expression": "maed", "max_steps": 1})
        assert (report["condition_met"], report["error"]) == (False, "NameError: name 'maed' is not defined")
        report = session.post("/step-until", {"expression": "made"})
        assert (report["condition_met"], "error" in report) == (True, False)
        assert at(travel, report, "ring")


def test_until_the_end_of_the_program(api: Api, travel: Path) -> None:
    with stopped(api, None, travel, "fails") as session:
        report = session.post("/step-until", {"expression": "False"})
        assert (report["status"], report["condition_met"]) == ("terminated", False)
        assert report["steps"] >= 3


def test_what_is_refused_moves_nothing(api: Api, travel: Path) -> None:
    with stopped(api, None, travel, "nested") as session:
        error = refusal(400, "INVALID_PARAMETER", session.step, "into", target="nope")
        assert [target["name"] for target in error.details["targets"]] == ["double", "double", "add"]
        refusal(400, "INVALID_PARAMETER", session.step, "into", target_id=3)
        both = refusal(400, "INVALID_REQUEST", session.step, "into", target="add", count=2)
        assert both.details["errors"][0]["field"] == "target"
        error = refusal(400, "EVALUATE_ERROR", session.post, "/step-until", {"expression": "x ="})
        assert error.details["offset"]
        error = refusal(400, "BREAKPOINT_INVALID_LINE", session.post, "/run-to", {"line": 4})
        assert "Try line" in error.details["suggestion"]
        error = refusal(400, "BREAKPOINT_INVALID_LINE", session.post, "/run-to", {"line": 9999})
        assert error.details["max_line"]
        refusal(400, "BREAKPOINT_FILE_NOT_FOUND", session.post, "/run-to", {"file": "/nowhere/x.py", "line": 1})
        refusal(400, "BREAKPOINT_INVALID_LINE", session.post, "/run-to", {"text": "no such text"})
        refusal(400, "INVALID_REQUEST", session.post, "/run-to", {"file": "relative.py", "line": 1})
        refusal(400, "INVALID_REQUEST", session.post, "/run-to", {"line": 1, "text": "x"})
        refusal(400, "INVALID_REQUEST", session.post, "/run-to", {})
        assert at(travel, session.get("/report"), "nested")
        assert at(travel, session.step("over"), "box")


def test_a_breakpoint_on_the_way_to_a_target_or_to_a_line_comes_first(api: Api, travel: Path) -> None:
    with stopped(api, None, travel, "nested") as session:
        (bp,) = session.break_at(travel, "double")
        report = session.step("into", target="add")
        assert at(travel, report, "double")
        assert (report["stop_reason"], report["target_reached"]) == ("breakpoint", False)
        report = session.post("/run-to", {"line": line_of(travel, "end")})
        assert at(travel, report, "double")
        assert (report["reached"], report["stop_reason"]) == (False, "breakpoint")
        session.delete(f"/breakpoints/{bp['id']}")
        assert session.resume()["status"] == "terminated"


def test_run_to_in_another_file_and_by_text(session: Session, program: Callable[..., Path], tmp_path: Path) -> None:
    helper = program("def work():\n    a = 1\n    return a\n", "helper.py")
    path = program("import helper\nx = helper.work()\ny = 2\nz = 3\n")
    session.launch(path, stop_on_entry=True)
    report = session.post("/run-to", {"source": {"path": str(helper)}, "line": 3})
    assert report["current_location"]["path"] == str(helper)
    assert report["target"] == {"path": str(helper), "line": 3}
    report = session.post("/run-to", {"file": str(path), "text": "z = 3"})
    assert (report["reached"], report["current_location"]["line"]) == (True, 4)


def test_a_line_that_is_never_reached_ends_with_the_program(api: Api, travel: Path) -> None:
    with stopped(api, None, travel, "last") as session:
        report = session.post("/run-to", {"line": line_of(travel, "get")})
        assert (report["status"], report["reached"]) == ("terminated", False)


def test_a_run_to_a_line_goes_on_when_nobody_waits(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        "import time\nwhile True:\n    time.sleep(0.01)\n    if 'go' in globals():\n        x = 1\n        y = 2\n"
    )
    session.launch(path, stop_on_entry=True)
    report = session.post("/run-to", {"line": 6, "wait": 0.3})
    assert (report["status"], report["timed_out"], report["reached"]) == ("running", True, False)
    session.post("/pause")
    session.evaluate("go = 1")
    # The pause was the end of that run: its line is forgotten.
    assert session.resume(wait=0.5)["status"] == "running"
    session.post("/pause")
    assert session.post("/run-to", {"line": 6})["reached"] is True


def test_breakpoints_may_be_set_while_it_runs_to_a_line(session: Session, program: Callable[..., Path]) -> None:
    path = program("import time\nfor i in range(40):\n    time.sleep(0.02)\nx = 1\ny = 2\n")
    session.launch(path, stop_on_entry=True)
    with meanwhile(session, lambda other: other.post("/run-to", {"line": 4})) as running:
        wait_until(lambda: session.get("/status")["status"] == "running")
        session.break_at(path, 5)
        assert running.result()["reached"] is True
    assert session.resume()["current_location"]["line"] == 5


def test_what_is_no_file_has_no_line_to_run_to(session: Session) -> None:
    session.launch(code="a = 1\nb = 2\nc = 3\n", stop_on_entry=True)
    error = refusal(400, "NOT_SUPPORTED", session.post, "/run-to", {"line": 3})
    assert "step-until" in error.details["suggestion"]
    assert session.step(count=2)["current_location"]["line"] == 3


@WITH_AND_WITHOUT_TRACING
def test_a_step_into_c_goes_on_and_says_so(api: Api, program: Callable[..., Path], version: str) -> None:
    path = program(
        """
        import math

        def own(x):
            return x

        root = math.sqrt(16)  # @module
        items = sorted([3, 1], key=abs)  # @builtin
        word = "abc"
        upper = word.upper()  # @method
        plain = root + 1  # @plain
        same = own(len(items))  # @own
        done = 1
        """
    )
    with stopped(api, version, path, "module") as session:
        report = session.step("into")
        assert at(path, report, "builtin")
        assert (report["native_frame"], report["native_functions"]) == (True, ["math.sqrt"])
        assert "sorted" in session.step("into")["native_functions"]
        session.step("into")
        report = session.step("into")
        assert (at(path, report, "plain"), report["native_functions"]) == (True, ["word.upper"])
        report = session.step("into")
        assert (at(path, report, "own"), "native_frame" in report) == (True, False)
        report = session.step("into")
        assert (report["current_location"]["function"], "native_frame" in report) == ("own", False)


def test_a_breakpoint_on_the_first_line_is_hit_before_the_answer(
    session: Session, program: Callable[..., Path]
) -> None:
    path = program("x = 1\ny = 2\nz = 3\n")
    session.break_at(path, 1, 2, 3)
    report = session.launch(path, wait=True)
    for line in (1, 2, 3):
        assert (report["status"], report["current_location"]["line"]) == ("paused", line)
        assert session.get("/status")["location"]["line"] == line
        report = session.resume()
    assert report["status"] == "terminated"
