"""The table of docs/agents.md: each question is asked as it is written there, of a program that it fits."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from command import Ocdb
from native import Builder
from places import ROOT
from targets import running

from opencode_debugger.cli.exit_codes import ENDED

PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([^|]+\?) \| `ocdb ([^`]+)`", re.MULTILINE)
QUESTIONS = {question: shlex.split(command) for question, command in ROW.findall(PAGE)}
SHOP = {
    42: """
class Cart:
    def __init__(self):
        self.total = 0

    def put(self, price):
        self.total += price


def serve(order):
    cart, before, total = Cart(), 0, 0
    for price in order:
        total += price
        cart.put(price)  # here
    return total
""",
    57: """
orders = [[1, 2], [3, -9]]
while True:
    for order in orders:
        total = serve(order)
        print("total", total, flush=True)  # here
        if "forever" in sys.argv:
            time.sleep(0.01)
    if "forever" not in sys.argv:
        break
""",
}
"""A program in parts: the number of the line of each of which the page tells."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    lines = ["import sys, time"]
    for number, part in SHOP.items():
        rows = part.strip().splitlines()
        here = next(index for index, row in enumerate(rows) if row.endswith("# here"))
        lines += [""] * (number - 1 - here - len(lines)) + rows
    path = tmp_path / "app.py"
    path.write_text("\n".join(lines) + "\n")
    return path


def ask(ocdb: Ocdb, question: str, code: int = 0, **names: object) -> str:
    words = [str(names.get(word, word)) for word in QUESTIONS[question]]
    return ocdb(*words, code=code)


def test_the_page_has_the_questions_that_are_tried_here() -> None:
    assert list(QUESTIONS) == [
        "Why does this test fail?", "Why is this result wrong?", "Who changed it?", "What did the caller pass?",
        "Why does it hang?", "What does it do in production?", "What happens at every call?",
        "Why did the C program crash?",
    ]


def test_questions_of_a_python_program_are_answered_by_one_call_each(ocdb: Ocdb, shop: Path) -> None:
    wrong = ask(ocdb, "Why is this result wrong?")
    assert "at app.py:57 in <module>" in wrong and "total = -6" in wrong
    ocdb("end", "--force")
    ocdb("run", "app.py", "-b", "app.py:42")
    assert "condition is met" in ask(ocdb, "Who changed it?")
    assert ask(ocdb, "What did the caller pass?") == "[1, 2]\n"
    assert ask(ocdb, "Why does it hang?") == "nobody waits for a lock\n"
    ocdb("set", "total", "0")
    assert "MainThread" in ocdb("stack", "--threads")
    ocdb("end", "--force")
    every = ask(ocdb, "What happens at every call?")
    assert [line for line in every.splitlines() if "total" in line]


def test_a_program_that_runs_is_asked_where_it_is(ocdb: Ocdb, shop: Path) -> None:
    with running(shop, "forever") as target:
        stopped = ask(ocdb, "What does it do in production?", PID=target.pid)
        assert "at app.py:42 in serve" in stopped
        ocdb("end", "--force")


def test_a_failing_test_is_asked_why(ocdb: Ocdb, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text("def test_y():\n    total = 1 + 1\n    assert total == 3\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    question, *rest = QUESTIONS["Why does this test fail?"]
    stopped = ocdb(question, *rest, "--python", sys.executable)
    assert "test_x.py:3 in test_y" in stopped and "total = 2" in stopped
    assert "1 failed" in ocdb("c", code=ENDED)


def test_a_crash_of_a_program_in_c_is_asked_why(ocdb: Ocdb, tmp_path: Path, build: Builder) -> None:
    source = tmp_path / "prog.c"
    source.write_text("int main(void) {\n  int *nowhere = 0;\n  return *nowhere;  // @crash\n}\n")
    native = build("prog_of_agents", source=source)
    (tmp_path / "prog").symlink_to(native.program)
    crashed = ask(ocdb, "Why did the C program crash?")
    assert "SIGSEGV" in crashed and "prog.c:3 in main" in crashed
