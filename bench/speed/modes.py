"""What is asked of the debugger while a program runs: nothing, or a breakpoint that never stops it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.speed.places import ELSEWHERE, Program, find_line

NEVER_REACHED = 1_000_000_000
"""A number of hits that no program reaches."""


@dataclass(frozen=True)
class Breakpoint:
    """A breakpoint, however it is spelled by those who set it."""

    path: Path
    line: int
    condition: str = ""
    hits: int = 0
    logged: str = ""
    function: str = ""
    """set by this name instead of by its line"""


@dataclass(frozen=True)
class Mode:
    name: str
    words: str
    breakpoint: Callable[[Program, Path], Breakpoint | None]
    size: float = 1.0
    """of the work: what costs much per hit is measured with fewer"""


def hot_file(program: Program, packages: Path) -> Path:
    return packages / program.package_file if program.package_file else program.script


def _elsewhere(program: Program, packages: Path) -> Breakpoint:
    return Breakpoint(ELSEWHERE, find_line(ELSEWHERE, "# @elsewhere"))


def _cold(program: Program, packages: Path) -> Breakpoint:
    path = hot_file(program, packages)
    return Breakpoint(path, find_line(path, program.cold_text, after=find_line(path, program.hot_text)))


def hot(program: Program, packages: Path, **more: str | int) -> Breakpoint:
    path = hot_file(program, packages)
    return Breakpoint(path, find_line(path, program.hot_text), **more)  # type: ignore[arg-type]


def _function(program: Program, packages: Path) -> Breakpoint:
    path = hot_file(program, packages)
    return Breakpoint(path, find_line(path, program.function_text) + 1, function=program.function)


LOG = "log point on the hot line"
MODES = {
    mode.name: mode
    for mode in (
        Mode("launched", "launched, no breakpoint", lambda program, packages: None),
        Mode("elsewhere", "breakpoint in another file", _elsewhere),
        Mode("cold", "breakpoint in the hot function, line not reached", _cold),
        Mode("condition", "conditional breakpoint on the hot line, never true",
             lambda program, packages: hot(program, packages, condition=program.never)),
        Mode("hits", "hit count on the hot line",
             lambda program, packages: hot(program, packages, hits=NEVER_REACHED)),
        Mode("log", LOG, lambda program, packages: hot(program, packages, logged=program.logged), size=0.02),
        Mode("function", "breakpoint on another function", _function),
    )
}  # fmt: skip
