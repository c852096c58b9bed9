"""`ocdb trace` runs a program recorded; the other commands ask the recording that it leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from command import Ocdb


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
