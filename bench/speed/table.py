"""The speed of programs as figures, targets and Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from bench.figures import Target, at_most, markdown_table
from bench.speed.measure import RELAY, Cell
from bench.speed.modes import MODES

HEADING = "## Speed of programs"
REWRITABLE = ("3.8", "3.9", "3.10", "3.11")
"""Pythons whose bytecode is final: there a condition can be part of the code."""
NAMES = {RELAY: "relay", "stock": "stock debugpy", "vscode": "VS Code's defaults", "pdb": "pdb"}
FULL_SPEED = ("launched", "elsewhere", "cold", "function")


def to_rows(cells: list[Cell]) -> list[dict[str, Any]]:
    return [_row(cell) for cell in cells]


def _row(cell: Cell) -> dict[str, Any]:
    named: dict[str, Any] = {name: getattr(cell, name) for name in ("python", "program", "mode", "way")}
    if cell.failure:
        return {**named, "failure": cell.failure}
    figures = {"seconds": round(cell.best, 5), "plain": round(cell.plain, 5), "ratio": round(cell.ratio, 3)}
    hit = {"hits": cell.hits, "us_per_hit": round(cell.microseconds_per_hit, 2)} if cell.hits else {}
    return {**named, **figures, **hit}


def figure(cell: Cell) -> str:
    if cell.failure:
        return "failed"
    return f"{cell.microseconds_per_hit:.1f} µs" if cell.mode == "log" else f"{cell.ratio:.2f}"


def markdown(cells: list[Cell], clock: str, met: list[Target]) -> str:
    """Return a table for every Python and way, and the targets."""
    programs = list(dict.fromkeys(cell.program for cell in cells))
    about = "Times plain Python, in the same run; a log point's is what one hit costs."
    parts = [HEADING, f"{about} Clock: {clock}."]
    for python in dict.fromkeys(cell.python for cell in cells):
        found = {(cell.way, cell.mode, cell.program): cell for cell in cells if cell.python == python}
        shown = dict.fromkeys((way, mode) for way, mode, _ in found)
        rows = [[f"{NAMES[way]}: {MODES[mode].words}", *_figures(found, way, mode, programs)] for way, mode in shown]
        parts.append(markdown_table([f"Python {python}", *programs], rows))
    parts.append(
        markdown_table(
            ["target", "wanted", "measured", ""],
            [[t.what, t.wanted, f"{t.measured:g}", "met" if t.passed else "**missed**"] for t in met],
        )
    )
    return "\n\n".join(parts)


def _figures(found: dict[tuple[str, str, str], Cell], way: str, mode: str, programs: list[str]) -> list[str]:
    cells = [found.get((way, mode, program)) for program in programs]
    return ["–" if cell is None else figure(cell) for cell in cells]


def targets(cells: list[Cell]) -> list[Target]:
    """Return what the relay is to reach on every Python; a program that failed has missed."""
    found: list[Target] = []
    for python in dict.fromkeys(cell.python for cell in cells):
        own = [cell for cell in cells if cell.python == python and cell.way == RELAY]
        found += _of_python(python, own)
    return found


def _of_python(python: str, cells: list[Cell]) -> Iterable[Target]:
    by_mode = {mode: [cell for cell in cells if cell.mode == mode] for mode in MODES}
    for mode in FULL_SPEED:
        ratios = [_ratio(cell) for cell in by_mode[mode] if cell.program != "exceptions"]
        if ratios:
            what = f"{python}, {MODES[mode].words}"
            yield at_most(1.05, "×")(f"{what}: median", median(ratios))
            yield at_most(1.15, "×")(f"{what}: slowest", max(ratios))
    rewritten = python in REWRITABLE
    for mode, limit in (("condition", 2.5 if rewritten else 6), ("hits", 4 if rewritten else 8)):
        if by_mode[mode]:
            yield at_most(limit, "×")(f"{python}, {MODES[mode].words}: slowest", max(map(_ratio, by_mode[mode])))
    if by_mode["log"]:
        costs = [float("inf") if cell.failure else cell.microseconds_per_hit for cell in by_mode["log"]]
        yield at_most(30, " µs")(f"{python}, {MODES['log'].words}: slowest hit", max(costs))
    for cell in by_mode["launched"]:
        if cell.program == "exceptions":
            yield at_most(1.3, "×")(f"{python}, 100,000 caught exceptions", _ratio(cell))


def _ratio(cell: Cell) -> float:
    return float("inf") if cell.failure else cell.ratio
