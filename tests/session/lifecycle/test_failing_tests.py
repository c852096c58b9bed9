"""`stop_on_exception: "test_failure"` stops where a test really fails, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Session, line_of, pythons

Write = Callable[..., Path]
VERSIONS = pythons("3.8", "3.11", "3.13")

PYTEST = """
import asyncio
import unittest

import pytest

def broken(price):
    return price / 0  # @divides

def test_skips():
    pytest.skip("not now")

@pytest.mark.xfail
def test_is_expected_to_fail():
    assert broken(1)

def test_calls_for_an_exception():
    pytest.raises(ZeroDivisionError, broken, 1)
    with pytest.raises(ZeroDivisionError):
        broken(2)

def test_raises():
    price = 30
    assert broken(price)

def test_asserts():
    found = [1, 2]
    assert found == [1, 3]  # @asserts

@pytest.fixture
def shop():
    raise KeyError("no shop")  # @fixture

def test_with_a_fixture(shop):
    pass

class TestCase(unittest.TestCase):
    @pytest.mark.xfail
    def test_is_expected_to_fail(self):
        assert broken(1)

    def test_compares(self):
        self.assertEqual(6 * 7, 41)  # @compares

async def pay(amount):
    raise ValueError(amount)  # @pays

def test_tasks():
    async def main():
        async with asyncio.TaskGroup() as group:  # @group
            group.create_task(pay(1))
            group.create_task(pay(2))
    asyncio.run(main())
"""

UNITTEST = """
import unittest

class Test(unittest.TestCase):
    @unittest.expectedFailure
    def test_1_is_expected_to_fail(self):
        1 / 0

    def test_2_skips(self):
        self.skipTest("not now")

    def test_3_catches(self):
        with self.assertRaises(KeyError):
            {}[1]

    def test_4_compares(self):
        expected = 41
        self.assertEqual(6 * 7, expected)  # @compares

    def test_5_has_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                assert part, "the first"  # @part

class TestWithoutSetup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no disk")  # @setup

    def test(self):
        pass
"""


def failures(session: Session, **launch: Any) -> list[dict[str, Any]]:
    """The stops of a whole run."""
    stops = []
    stop = session.launch(None, stop_on_exception="test_failure", budget=50_000, **launch)
    while stop["status"] == "paused":
        stops.append(stop)
        stop = session.resume(budget=50_000)
    assert stop["exit_code"] == 1, session.output(None)
    return stops


def places(stops: list[dict[str, Any]], path: Path) -> list[tuple[str, int]]:
    """The exception of each, and the line of the innermost frame in that file."""
    found = []
    for stop in stops:
        own = next(frame for frame in stop["stack"] if frame["source"]["path"] == str(path))
        found.append((stop["exception"]["type"], own["line"]))
    return found


def test_pytest_stops_once_for_each_test_that_fails(session: Session, program: Write) -> None:
    path = program(PYTEST, "test_shop.py")
    args = ["-q", "-p", "no:cacheprovider", path.name]
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    stops = failures(session, module="pytest", args=args, cwd=str(path.parent), python_path=sys.executable, env=env)
    wanted = [("ZeroDivisionError", "divides"), ("AssertionError", "asserts"), ("KeyError", "fixture")]
    wanted += [("AssertionError", "compares"), ("ExceptionGroup", "group")]
    assert places(stops, path) == [(name, line_of(path, marker)) for name, marker in wanted]
    assert {"name": "price", "value": "30"}.items() <= stops[0]["locals"][0].items()
    members = stops[-1]["exception"]["exceptions"]
    assert [(each["type"], each["message"]) for each in members] == [("ValueError", "1"), ("ValueError", "2")]
    place = {"path": str(path), "line": line_of(path, "pays"), "function": "pay"}
    assert [each["location"] for each in members] == [place, place]
    assert "4 failed, 1 passed, 1 skipped, 2 xfailed, 1 error" in session.output()


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS.keys())
def test_unittest_stops_once_for_each_test_that_fails(session: Session, program: Write, python: Path) -> None:
    path = program(UNITTEST, "test_shop.py")
    stops = failures(session, module="unittest", args=["test_shop"], cwd=str(path.parent), python_path=str(python))
    wanted = [("AssertionError", "compares"), ("AssertionError", "part"), ("OSError", "setup")]
    assert places(stops, path) == [(name, line_of(path, marker)) for name, marker in wanted]
    assert stops[1]["exception"]["message"] == "the first"
    said = session.output("stderr")
    assert "failures=2, errors=1, skipped=1, expected failures=1" in said
    assert "failing_tests.py" not in said and "_ocdb" not in said
