"""Each flow of the user story as one test, step by step, on every interpreter of this machine."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, ApiError, Relay, Session, free_port, line_of, pythons, refusal
from waiting import wait_until

PYTHONS = pythons()
Write = Callable[..., Path]

ORDER = """
import os, time

def price(item, count):
    total = item["price"] * count
    return total  # @return


def main():
    while not os.path.exists("go"):
        time.sleep(0.01)
    item = {"name": "tea", "price": 4}
    total = price(item, 3)  # @call
    print("total", total)  # @print


main()
"""


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def any_session(request: pytest.FixtureRequest, api: Api) -> Iterator[Session]:
    """A session whose programs run on one of the interpreters."""
    with api.session(python_path=str(request.param)) as session:
        yield session


def poll(session: Session, status: str) -> dict[str, Any]:
    """As a client that knows nothing of `wait` does it."""
    return wait_until(
        lambda: answer if (answer := session.get("/status"))["status"] == status else None,
        lambda: session.get("/status"),
    )


def test_3_1_a_basic_debug_session(any_session: Session, program: Write) -> None:
    session, path = any_session, program(ORDER)
    assert session.get()["status"] == "created"
    point = session.post("/breakpoints", {"source": {"path": str(path)}, "line": line_of(path, "return")})
    assert point["verified"] is True and point["breakpoint_id"] == "bp_1"
    launch = {"script": str(path), "cwd": str(path.parent), "wait": False}
    assert session.post("/launch", launch)["status"] == "running"
    path.with_name("go").touch()
    paused = poll(session, "paused")
    assert (paused["reason"], paused["location"]["line"]) == ("breakpoint", line_of(path, "return"))
    assert paused["location"]["path"] == str(path)
    frames = session.get("/stacktrace")["frames"]
    assert [frame["name"] for frame in frames] == ["price", "main", "<module>"]
    variables = session.get("/frames/0/variables")["variables"]
    assert {row["name"]: row["value"] for row in variables} == {
        "item": "{'name': 'tea', 'price': 4}",
        "count": "3",
        "total": "12",
    }
    assert session.evaluate("item['name'] * 2") == session.evaluate("'teatea'") | {"result": "'teatea'", "type": "str"}
    stepped = session.post("/step-over")
    assert (stepped["status"], stepped["current_location"]["function"]) == ("paused", "main")
    assert session.post("/continue")["status"] in ("running", "terminated")
    assert poll(session, "terminated")["exit_code"] == 0
    assert session.output() == "total 12\n"
    assert session.delete()["deleted"] is True
    assert refusal(404, "SESSION_NOT_FOUND", session.get).details["session_id"] == session.id


def test_3_3_arguments_and_environment(any_session: Session, program: Write) -> None:
    path = program(
        """
        import argparse, os

        parser = argparse.ArgumentParser()
        parser.add_argument("--epochs", type=int)
        parser.add_argument("--data")
        options = parser.parse_args()
        device = os.environ["CUDA_VISIBLE_DEVICES"]
        print(options.epochs, open(options.data).read(), device, os.getcwd())  # @print
        """,
        "project/train.py",
    )
    path.with_name("data.csv").write_text("1,2", encoding="utf-8")
    launch = {
        "script": "train.py",
        "args": ["--epochs", "10", "--data", "./data.csv"],
        "env": {"CUDA_VISIBLE_DEVICES": "0"},
        "cwd": str(path.parent),
    }
    any_session.break_at(path, "print")
    stopped = any_session.post("/launch", {**launch, "wait": 30})
    assert stopped["current_location"]["line"] == line_of(path, "print")
    assert any_session.evaluate("options.epochs, options.data, device")["result"] == "(10, './data.csv', '0')"
    assert any_session.resume()["exit_code"] == 0
    assert any_session.output() == f"10 1,2 0 {path.parent}\n"


TEST_MATH = """
import unittest


def divide(a, b):
    return a / b


class TestDivide(unittest.TestCase):
    def test_divide(self):
        result = divide(6, 3)
        self.assertEqual(result, 2)  # @assert

    def test_other(self):
        raise AssertionError("not asked for")


def test_divide():
    quotient = divide(1, 3)
    assert quotient == 3  # @fails
"""


def test_3_4_a_unit_test_with_pytest(session: Session, program: Write) -> None:
    path = program(TEST_MATH, "test_math.py")
    session.break_at(path, "fails")
    launch = {"module": "pytest", "args": ["-xvs", "-p", "no:cacheprovider", "test_math.py::test_divide"]}
    where = {"cwd": str(path.parent), "python_path": sys.executable}
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    stopped = session.post("/launch", {**launch, **where, "env": alone, "wait": 60})
    assert (stopped["stop_reason"], stopped["current_location"]["line"]) == ("breakpoint", line_of(path, "fails"))
    assert session.locals()["quotient"].startswith("0.333")
    assert session.resume(wait=60)["exit_code"] == 1
    assert "1 failed" in session.output()


def test_3_4_a_unit_test_of_the_standard_library(any_session: Session, program: Write) -> None:
    path = program(TEST_MATH, "test_math.py")
    any_session.break_at(path, "assert")
    launch = {"module": "unittest", "args": ["test_math.TestDivide.test_divide"], "cwd": str(path.parent)}
    assert any_session.launch(**launch)["current_location"]["line"] == line_of(path, "assert")
    assert any_session.evaluate("result == 2")["result"] == "True"
    assert any_session.resume()["exit_code"] == 0


LOOP = """
def process(i):
    return i

for i in range(1000):
    process(i)  # @here
"""


def test_3_5_conditions_hit_counts_and_log_points(any_session: Session, program: Write) -> None:
    session, path = any_session, program(LOOP, "main.py")
    place = {"file": str(path), "line": line_of(path, "here")}
    session.post("/breakpoints", {**place, "condition": "i > 100"})
    session.launch(path)
    assert session.evaluate("i")["result"] == "101"
    session.post("/breakpoints", {**place, "hit_condition": "== 50"})
    session.resume()
    # Counted on from what was hit so far: once.
    assert session.evaluate("i")["result"] == "150"
    session.post("/breakpoints", {**place, "log_message": "i = {i}"})
    assert session.resume()["status"] == "terminated"
    logged = session.output("console").splitlines()
    assert (logged[0], logged[-1], len(logged)) == ("i = 151", "i = 999", 849)


def test_3_6_a_crash(any_session: Session, program: Write) -> None:
    session = any_session
    path = program(
        """
        import os, time

        def parse(text):
            return int(text)  # @raises

        while not os.path.exists("go"):
            time.sleep(0.01)
        parse("abc")
        """
    )
    launch = {"script": str(path), "cwd": str(path.parent), "stop_on_exception": "uncaught", "wait": False}
    assert session.post("/launch", launch)["status"] == "running"
    path.with_name("go").touch()
    crashed = poll(session, "paused")
    assert crashed["reason"] == "exception"
    assert crashed["exception"]["type"] == "ValueError"
    assert crashed["exception"]["message"] == "invalid literal for int() with base 10: 'abc'"
    assert crashed["exception"]["location"]["line"] == line_of(path, "raises")
    assert [frame["name"] for frame in session.get("/stacktrace")["frames"]] == ["parse", "<module>"]
    assert session.locals() == {"text": "'abc'"}
    assert session.evaluate("text.isdigit()")["result"] == "False"
    assert session.delete()["deleted"] is True


def test_3_7_breakpoints_in_places_that_do_not_work(session: Session, program: Write, tmp_path: Path) -> None:
    path = program("x = 1\n# a comment\ny = 2\n")
    missing = {"file": str(tmp_path / "missing.py"), "line": 1}
    strict = refusal(400, "BREAKPOINT_FILE_NOT_FOUND", session.post, "/breakpoints", {**missing, "strict": True})
    assert strict.details["file"] == missing["file"]
    assert session.post("/breakpoints", missing)["verified"] is False
    comment = session.post("/breakpoints", {"file": str(path), "line": 2})
    assert comment["verified"] is False
    assert comment["breakpoints"][0]["message"] == "No executable code at line 2"
    past = refusal(400, "BREAKPOINT_INVALID_LINE", session.post, "/breakpoints", {"file": str(path), "line": 999})
    assert (past.details["line"], past.details["max_line"]) == (999, 3)
    wrong = {"file": str(path), "line": 1, "condition": "x =="}
    error = refusal(400, "BREAKPOINT_INVALID_CONDITION", session.post, "/breakpoints", wrong)
    assert "SyntaxError" in error.message


def test_3_8_a_session_runs_into_its_timeout(tmp_path: Path, program: Write) -> None:
    path = program("x = 1  # @here\n")
    relay = Relay(tmp_path / "data", session_timeout_seconds=2).start()
    with Api(relay.base_url) as api:
        session = api.session()
        assert session.get("/status")["warning"] is None
        session.break_at(path, "here")
        session.launch(path)
        warned = False
        while True:
            try:
                warned = bool(session.get("/status")["warning"]) or warned
            except ApiError as error:
                assert (error.status, error.code) == (410, "SESSION_EXPIRED")
                assert (error.details["last_status"], error.details["reason"]) == ("paused", "timeout")
                break
            time.sleep(0.05)
        assert warned
        longer = api.session(timeout_minutes=120).get()
        assert longer["expires_at"] > longer["created_at"]
    assert relay.stop() == 0


def test_3_9_connections_that_fail(relay: Relay, api: Api, program: Write) -> None:
    with pytest.raises(Exception, match="refused"), Api(f"http://127.0.0.1:{free_port()}/api/v1") as nobody:
        nobody.get("/health")
    crashed = api.session()
    relay.runner_of(crashed).kill()
    wait_until(lambda: crashed.get()["status"] == "failed")
    assert "unexpectedly" in crashed.get()["reason"]
    crashed.delete()
    path = program("import time\nx = 1  # @here\ntime.sleep(30)\n")
    with api.session() as session:
        session.break_at(path, "here")
        pid = session.launch(path)["pid"]
        slow = refusal(504, "DEBUGPY_TIMEOUT", session.evaluate, "__import__('time').sleep(9)", timeout=0.3)
        assert slow.details["operation"] == "evaluate"
        session.resume(wait=False)
        os.kill(pid, signal.SIGKILL)
        died = poll(session, "terminated")
        assert (died["exit_code"], died["signal"]) == (-signal.SIGKILL, "SIGKILL")


def test_the_interpreters_that_are_missing_are_named(record_property: Callable[[str, object], None]) -> None:
    """Every flow above ran on those that are installed; the report says which were not."""
    wanted = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
    missing = [version for version in wanted if version not in PYTHONS]
    record_property("interpreters not installed", missing)
    print("not installed:", ", ".join(missing) or "none", file=sys.stderr)
    assert PYTHONS
