"""Targets, and tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Target:
    what: str
    measured: float
    wanted: str
    passed: bool


def at_most(limit: float, unit: str) -> Callable[[str, float], Target]:
    return lambda what, value: Target(what, round(value, 2), f"≤ {limit:g}{unit}", value <= limit)


def at_least(limit: float, unit: str) -> Callable[[str, float], Target]:
    return lambda what, value: Target(what, round(value, 2), f"≥ {limit:g}{unit}", value >= limit)


def markdown_table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
