"""The programs whose speed is measured, and the places in them at which breakpoints are set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")
ELSEWHERE = PROGRAMS / "elsewhere.py"


@dataclass(frozen=True)
class Program:
    """A program; `hot` lines are reached all the time, `cold` ones of the same function never."""

    name: str
    never: str
    """a condition that is false on the hot line"""
    logged: str
    """what a log point writes there"""
    function: str
    """one that is not called"""
    package_file: str = ""
    """the file with the hot function, if it is one of an installed package"""
    hot_text: str = "# @hot"
    cold_text: str = "# @cold"
    function_text: str = "def other():"

    @property
    def script(self) -> Path:
        return PROGRAMS / f"{self.name}.py"


EACH = {
    program.name: program
    for program in (
        Program("loop", "number < 0", "{number}", "other"),
        Program("fib", "number < 0", "{number}", "other"),
        Program("richards", "task is None", "{task.ident}", "other"),
        Program("texts", "host is None", "{host}", "other"),
        Program("tasks", "number < 0", "{number}", "other"),
        Program("server", "number < 0", "{number}", "other"),
        Program("workers", "number < 0", "{number}", "other"),
        Program("exceptions", "number < 0", "{number}", "other"),
        Program(
            "package_tests",
            "prec < 0",
            "{prec}",
            "from_npfloat",
            "mpmath/libmp/libmpf.py",
            "tsign ^= _sub",
            "            return fnan",
            "def from_npfloat(x, prec=113, rnd=round_fast):",
        ),
    )
}


def find_line(path: Path, text: str, after: int = 0) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if number > after and line.rstrip().endswith(text))
