"""`ocdb trace` runs a program recorded; the other commands ask the recording that it leaves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Ocdb
from relays import line_of


def test_a_recorded_program_is_asked_from_a_shell(ocdb: Ocdb, program: Callable[..., Path]) -> None:
    path = program("""
        def price_of(item):
            return None if item == "gift" else len(item)

        def total(items):
            amount = 0
            for item in items:
                amount += price_of(item)
            return amount

        total(["pen", "paper", "gift"])
    """, "shop.py")
    told = ocdb("trace", "--lines", "total", str(path))
    assert "exited with code 1" in told and "TypeError" in told and "price_of(item='gift') → None" in told
    assert "1 of 3 calls" in ocdb("calls", "price_of", "where", "result", "is", "None")
    number = ocdb("calls", "total").split("#")[1].split()[0]
    assert "amount=8" in ocdb("life", number)
    assert "set in" in ocdb("origin", "8")
    assert "nothing recorded handled it" in ocdb("errors")
    assert "price_of" in ocdb("slow")
    assert "price_of" in ocdb("trace", "--of", "price_of")
    session = told.split()[0]
    assert "no difference in 5 calls" in ocdb("diff", session)
    file = path.with_name("run.ocrec")
    assert "opens it" in ocdb("export", str(file))
    chrome = path.with_name("run.json")
    ocdb("export", str(chrome))
    assert "traceEvents" in json.loads(chrome.read_text())
    assert "5 calls" in ocdb("open", str(file)) and "price_of" in ocdb("slow")
    assert "(no program): step at" in ocdb("back") and ocdb("print", "amount") == "8\n"
    assert "price_of is called here" in ocdb("goto", "#" + ocdb("calls", "price_of").split("#")[1].split()[0])
    assert "no present" in ocdb("now")
    assert "no difference in 5 calls" in ocdb("diff", str(file), str(file))


def test_a_test_that_cannot_be_run_says_why_though_nothing_was_recorded(
    ocdb: Ocdb, program: Callable[..., Path]
) -> None:
    path = program("def test_nothing():\n    pass\n", "test_nothing.py")
    told = ocdb("trace", "--test", str(path))
    assert "exited with code 1" in told and "pytest was not found" in told
    assert "no function of the recorded folders was called" in told


@pytest.mark.parametrize("command", [["pytest"], ["-m", "pytest"]])
def test_a_failing_test_is_told_first_however_pytest_is_started(
    command: list[str], ocdb: Ocdb, program: Callable[..., Path]
) -> None:
    path = program("""
        def price_of(item):
            return {"pen": 1}.get(item)

        def test_total():
            assert sum(map(price_of, ["pen", "gift"])) == 1
        """, "test_total.py")
    path.with_name(".venv").symlink_to(sys.prefix)
    told = ocdb("trace", "--cwd", str(path.parent), "--wait", "60", "--", *command, "-q", "-p", "no:xdist", path.name)
    lines = told.splitlines()
    assert "exited with code 1" in lines[0]
    assert "1 time TypeError at test_total.py:5 in test_total: nothing recorded handled it" in lines[1]
    assert "SystemExit" not in told, "the script that starts pytest is none of the program's code"


def test_what_a_library_handles_is_not_said_to_be_handled_by_its_caller(
    ocdb: Ocdb, program: Callable[..., Path]
) -> None:
    path = program("""
        import unittest

        class Lazy:
            def __getattr__(self, name):
                raise AttributeError(name)

        def parse(text):
            return int(text)

        class TotalTest(unittest.TestCase):
            def test_total(self):
                self.assertFalse(hasattr(Lazy(), "total"))
                self.assertRaises(ValueError, parse, "x")
                self.assertEqual(parse("3"), 4)  # @failing

        unittest.main()  # @main
        """, "test_total.py")
    told = ocdb("trace", str(path))
    failed, _, rest = told.partition("recording ")[0].partition("first:")
    failing, main = line_of(path, "failing"), line_of(path, "main")
    assert f"1 time AssertionError at test_total.py:{failing} in TotalTest.test_total: handled by code that" in failed
    assert f"is not recorded, called from <module> at test_total.py:{main}" in failed
    assert "SystemExit" in rest and "ValueError" not in rest and "AttributeError" not in rest
    expected = "in parse: handled by code that is not recorded, called from TotalTest.test_total at test_total.py"
    assert expected in ocdb("errors")


def test_skipped_tests_and_what_is_asked_for_in_vain_are_not_told_as_failures(
    ocdb: Ocdb, program: Callable[..., Path]
) -> None:
    path = program("""
        import pytest

        def __getattr__(name):
            raise AttributeError(name)

        def test_later():
            pytest.skip("not today")
        """, "test_later.py")
    path.with_name(".venv").symlink_to(sys.prefix)
    told = ocdb("trace", "--wait", "60", "--test", str(path))
    assert "exited with code 0" in told and "Skipped" not in told.partition("recording ")[0]
    assert "AttributeError" not in told.partition("recording ")[0]
    assert "Skipped" in ocdb("errors")
