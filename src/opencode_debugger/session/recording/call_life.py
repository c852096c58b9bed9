"""One recorded call: the lines that it took, what each changed and called; rounds that took the same way are folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...answers.recordings import LifeLine, NamedValue, RecordedCall
from .call_rows import call_row, named_values
from .recorded_calls import LINE, Call, RecordedCalls, Step
from .recorded_values import pairs_of

SHOWN_CALLS = 2
"""of one line"""
SHOWN_ROUNDS = 2
"""of rounds that take the same way"""
FEW_ROUNDS = 6
"""rounds of which all are shown"""


class Taken(NamedTuple):
    """A line that was run, from one step to the next."""

    line: int
    changes: list[NamedValue]
    calls: list[int]
    """positions"""


@dataclass
class CallLifeLines:
    calls: RecordedCalls
    call: Call

    def rows(self) -> list[LifeLine]:
        rounds = list(self._rounds())
        ways: dict[tuple[int, ...], int] = {}
        rows: list[LifeLine] = []
        skipped = 0
        for index, taken in enumerate(rounds):
            way = tuple(each.line for each in taken)
            ways[way] = ways.get(way, 0) + 1
            is_last = index >= len(rounds) - SHOWN_ROUNDS
            if len(rounds) > FEW_ROUNDS and ways[way] > SHOWN_ROUNDS and not is_last:
                skipped += 1
                continue
            if skipped:
                rows.append(_skipped_row(skipped))
                skipped = 0
            rows += [self._row(each) for each in taken]
        return rows

    def _rounds(self) -> Iterator[list[Taken]]:
        """Return lines in rounds: one ends where a line is reached again that was taken in it."""
        current: list[Taken] = []
        for taken in self._taken():
            if any(each.line == taken.line for each in current):
                yield current
                current = []
            current.append(taken)
        if current:
            yield current

    def _taken(self) -> Iterator[Taken]:
        steps = self.calls.steps_of(self.call.number)
        made = self.calls.tree.children_of(self.calls.positions[self.call.number])
        at = 0
        for step, after in zip(steps, [*steps[1:], None], strict=False):
            if step.kind != LINE:
                continue
            inside: list[int] = []
            while at < len(made) and (after is None or self.calls.numbers[made[at]] < after.number):
                if self.calls.numbers[made[at]] > step.number:
                    inside.append(made[at])
                at += 1
            yield Taken(step.line, _changes(after), inside)

    def _row(self, taken: Taken) -> LifeLine:
        return LifeLine(
            line=taken.line, source=self.calls.source_line(self.call.function.path, taken.line), changes=taken.changes,
            calls=self._called(taken.calls[:SHOWN_CALLS]), more_calls=max(0, len(taken.calls) - SHOWN_CALLS),
            skipped_rounds=0,
        )

    def _called(self, positions: list[int]) -> list[RecordedCall]:
        return [call_row(self.calls, call) for call in self.calls.calls_at(positions)]


def _changes(step: Step | None) -> list[NamedValue]:
    """Return what the line before a step has changed."""
    return named_values(pairs_of(step.changes)) if step else []


def _skipped_row(count: int) -> LifeLine:
    return LifeLine(line=0, source="", changes=[], calls=[], more_calls=0, skipped_rounds=count)

