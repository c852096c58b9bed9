"""The call tree within a budget: the way to exceptions first, then what is near the top; repeated calls are folded."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from ...answers.recordings import FoldedCalls, OutcomeCount, TraceRow
from ...text.recording_lines import trace_line
from ...text.view import View
from .call_rows import OUTCOMES, call_row
from .call_tree import NOWHERE
from .recorded_calls import RAISED, RecordedCalls

LONGEST_PERIOD = 6
"""calls of a loop's round that are known as one when they come again"""
SHOWN_ROUNDS = 3
"""rounds that are not folded"""
MOST_GROUPS = 16
"""different things that a call does in turn; of one that does more, calls are told by function"""
MANY = 300
"""calls among which no rounds are looked for"""
COUNTED = 2000
"""calls whose outcomes are counted"""
SHOWN_OUTCOMES = 4
SHOWN_ODD = 3
"""calls of a fold that ended otherwise than the others"""
RARE = 2
"""times that an outcome comes which most have not"""
LONGEST_CHAIN = 3
"""calls of a recursion that are not folded"""


class Shown(NamedTuple):
    """A line of the tree: a call, or several that are alike."""

    depth: int
    position: int
    folded: tuple[int, ...] = ()
    period: int = 1


@dataclass
class FoldedTree:
    calls: RecordedCalls
    view: View
    budget: int
    deepest: int = 1000
    _expanded: dict[int, list[Shown]] = field(default_factory=dict)
    """what is shown in a call, by its position"""
    _rows: dict[tuple[int, bool], TraceRow] = field(default_factory=dict)
    """by position, and whether it stands for a fold"""
    _used: int = 0
    _failing: set[int] = field(default_factory=set)
    """calls that raised, or in which a call did"""

    def rows(self, roots: list[int]) -> list[TraceRow]:
        """Return the rows of the trees below these calls."""
        self._mark_failing()
        waiting: list[tuple[tuple[bool, int, int], int, Shown]] = []
        serial = count()
        tops = self._render(roots, 0)
        self._used = self._cost(tops)

        def offer(lines: list[Shown]) -> None:
            for line in lines:
                if not line.folded and self.calls.tree.has_children(line.position) and line.depth < self.deepest:
                    weight = (line.position not in self._failing, line.depth, -self.calls.tree.sizes[line.position])
                    heapq.heappush(waiting, (weight, next(serial), line))

        offer(tops)
        while waiting and self._used < self.budget:
            line = heapq.heappop(waiting)[2]
            inner = self._expand(line)
            if inner:
                self._expanded[line.position] = inner
                self._used += self._cost(inner)
                offer(inner)
        return [self._finish(line) for line in self._walk(tops)]

    def unfolded(self, positions: list[int]) -> list[TraceRow]:
        """Return calls one by one as far as the budget goes; the rest is folded again."""
        self._mark_failing()
        shown: list[Shown] = []
        while len(shown) < len(positions) and self._used < self.budget:
            shown.append(Shown(0, positions[len(shown)]))
            self._used += self._cost(shown[-1:])
        rest = positions[len(shown) :]
        period = 1 if len({self.calls.function_ids[each] for each in rest}) == 1 else len(rest)
        return [self._row(line) for line in (*shown, *self._show_skipped(rest, period, 0))]

    def _expand(self, line: Shown) -> list[Shown]:
        """Return what is shown in a call: all of it if there is room, else at least the way to an exception."""
        children = self.calls.tree.children_of(line.position)
        chain = self._chain(line.position)
        if len(chain) > LONGEST_CHAIN:
            folded = Shown(line.depth + 1, chain[0], tuple(chain[:-1]))
            inner = [folded, Shown(line.depth + 1, chain[-1])]
        else:
            inner = self._render(children, line.depth + 1)
        if self._used + self._cost(inner) <= self.budget:
            return inner
        return [Shown(line.depth + 1, each) for each in children if each in self._failing][:SHOWN_ODD]

    def _chain(self, position: int) -> list[int]:
        """Return the calls of a recursion in which each makes one call, of the same function."""
        tree, functions, chain = self.calls.tree, self.calls.function_ids, []
        inner = tree.children_of(position)
        while len(inner) == 1 and functions[inner[0]] == functions[position]:
            chain.append(inner[0])
            inner = tree.children_of(inner[0])
        return chain

    def _render(self, positions: list[int], depth: int) -> list[Shown]:
        groups = [] if len(positions) > MANY else list(self._rounds(positions))
        if not groups or len(groups) > MOST_GROUPS:
            return self._by_function(positions, depth)
        return [line for period, members in groups for line in self._show_group(members, period, depth)]

    def _rounds(self, positions: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Return calls in groups: rounds that repeat the same functions in turn, with how many there are in each."""
        functions = [self.calls.function_ids[each] for each in positions]
        at = 0
        while at < len(positions):
            best = (1, 1)
            for period in range(1, LONGEST_PERIOD + 1):
                pattern, times = functions[at : at + period], 1
                while functions[at + times * period : at + (times + 1) * period] == pattern:
                    times += 1
                if times > 1 and times * period > best[0] * best[1]:
                    best = (times, period)
            times, period = best
            yield period, positions[at : at + times * period]
            at += times * period

    def _by_function(self, positions: list[int], depth: int) -> list[Shown]:
        groups: dict[int, list[int]] = {}
        for position in positions:
            groups.setdefault(self.calls.function_ids[position], []).append(position)
        return [line for members in groups.values() for line in self._show_group(members, 1, depth)]

    def _show_group(self, members: list[int], period: int, depth: int) -> list[Shown]:
        """Return the first round, what ended otherwise, and the last; the others are folded."""
        if len(members) <= SHOWN_ROUNDS * period:
            return [Shown(depth, each) for each in members]
        shown = {*members[:period], *members[-period:], *self._odd_ones(members)}
        lines: list[Shown] = []
        skipped: list[int] = []
        for each in members:
            if each not in shown:
                skipped.append(each)
                continue
            lines += self._show_skipped(skipped, period, depth)
            skipped = []
            lines.append(Shown(depth, each))
        return lines

    def _show_skipped(self, skipped: list[int], period: int, depth: int) -> list[Shown]:
        if len(skipped) > 1:
            return [Shown(depth, skipped[0], tuple(skipped), period)]
        return [Shown(depth, each) for each in skipped]

    def _odd_ones(self, members: list[int]) -> list[int]:
        """Return the first calls that failed, and those with an outcome that hardly any other has."""
        odd = [each for each in members if each in self._failing][:SHOWN_ODD]
        if len(members) > COUNTED:
            return odd
        texts = [self.calls.call_at(each).result for each in members]
        counts = Counter(texts)
        if counts.most_common(1)[0][1] * 2 > len(members):
            odd += [each for each, text in zip(members, texts, strict=True) if counts[text] <= RARE]
        return odd[:SHOWN_ODD]

    def _mark_failing(self) -> None:
        for position in self.calls.raised:
            while position != NOWHERE and position not in self._failing:
                self._failing.add(position)
                position = self.calls.tree.parents[position]

    # Lines of the tree become rows of the answer.

    def _walk(self, lines: list[Shown]) -> Iterator[Shown]:
        stack = list(reversed(lines))
        while stack:
            line = stack.pop()
            yield line
            if not line.folded:
                stack.extend(reversed(self._expanded.get(line.position, ())))

    def _cost(self, lines: list[Shown]) -> int:
        return sum(len(trace_line(self._row(line), self.view)) + 1 for line in lines)

    def _row(self, line: Shown) -> TraceRow:
        key = (line.position, bool(line.folded))
        if key not in self._rows:
            self._rows[key] = self._make_row(line)
        return self._rows[key]

    def _make_row(self, line: Shown) -> TraceRow:
        if line.folded:
            return TraceRow(depth=line.depth, inside=0, folded=self._fold(line))
        size = self.calls.tree.sizes[line.position] - 1
        return TraceRow(depth=line.depth, inside=size, call=call_row(self.calls, self.calls.call_at(line.position)))

    def _finish(self, line: Shown) -> TraceRow:
        """Return a row that says how many calls are inside only if they are not shown."""
        row = self._row(line)
        shown = self._expanded.get(line.position) if not line.folded else None
        if not shown:
            return row
        told = sum(self.calls.tree.sizes[each] for each in self._covered(shown))
        return TraceRow(depth=row.depth, call=row.call, inside=max(0, row.inside - told))

    def _covered(self, lines: list[Shown]) -> Iterator[int]:
        """Return the calls that these lines are about: of a recursion each is in the one before."""
        for line in lines:
            is_chain = len(line.folded) > 1 and self.calls.tree.parents[line.folded[1]] == line.folded[0]
            yield from (line.folded[:1] if is_chain else line.folded or (line.position,))
            if is_chain:
                return

    def _fold(self, line: Shown) -> FoldedCalls:
        calls, members = self.calls, line.folded
        ids = dict.fromkeys(calls.function_ids[each] for each in members[: line.period])
        names = [calls.functions[id].name if id in calls.functions else "?" for id in ids]
        outcomes: list[OutcomeCount] = []
        if line.period == 1 and len(members) <= COUNTED:
            counts = Counter((calls.hows[each], calls.call_at(each).result) for each in members)
            ranked = sorted(counts.items(), key=lambda each: (each[0][0] != RAISED, -each[1]))
            outcomes = [
                OutcomeCount(outcome=OUTCOMES.get(how, "unseen"), value=text, count=times)
                for (how, text), times in ranked[:SHOWN_OUTCOMES]
            ]
        first, last = calls.numbers[members[0]], calls.numbers[members[-1]]
        return FoldedCalls(functions=names, count=len(members), first=first, last=last, outcomes=outcomes)
