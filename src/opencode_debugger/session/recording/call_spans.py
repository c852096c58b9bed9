"""Calls over time, as a flame chart shows them: by thread or task and depth, what is too short merged."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...answers.recordings import CallSpan, ThreadSpans
from .recorded_calls import RAISED, RecordedCalls

MOST_THREADS = 50
MOST_SPANS = 20_000
"""in one answer: where there are more, longer ones are merged, too"""


@dataclass(slots=True)
class Span:
    """A call from its beginning to its end, or several of one depth that follow each other."""

    position: int
    """of the first"""
    depth: int
    start: float
    end: float
    has_raised: bool
    count: int = 1


@dataclass
class Lane:
    """The calls of one thread or task, each below the ones in which it began."""

    shortest: float
    """seconds: calls that end within them are one span"""
    deepest: int
    spans: list[Span] = field(default_factory=list)
    depth: int = 0
    _ends: list[float] = field(default_factory=list)
    """of the calls that it is in, the outermost first"""
    _last: list[Span] = field(default_factory=list)
    """the last one of each depth"""

    def add(self, position: int, start: float, end: float, has_raised: bool) -> None:
        """Add the call that began next."""
        ends = self._ends
        while ends and ends[-1] <= start:
            ends.pop()
        depth = len(ends)
        if ends:  # a generator may go on after the call that began it
            end = min(end, ends[-1])
        ends.append(end)
        self.depth = max(self.depth, depth + 1)
        if depth >= self.deepest:
            return
        last = self._last[depth] if depth < len(self._last) else None
        if last is not None and end - last.start <= self.shortest:
            last.end, last.count, last.has_raised = end, last.count + 1, last.has_raised or has_raised
            return
        span = Span(position, depth, start, end, has_raised)
        self._last[depth : depth + 1] = [span]
        self.spans.append(span)


@dataclass(frozen=True)
class SpanChart:
    """What of a recording is drawn: the time from `start` to `end`, in parts that are told apart."""

    calls: RecordedCalls
    start: float
    end: float
    parts: int
    deepest: int
    thread: str | None = None

    def threads(self) -> tuple[list[ThreadSpans], int, float]:
        """Return the rows of each thread and task, how many of these there are, and the seconds of a part."""
        ends = self.calls.ends_so_far()
        found = self._positions(ends)
        ids = sorted({self.calls.lane_ids[each] for each in found})
        wanted = [id for id in ids if self.thread is None or self.thread in self.calls.lane_name(id)]
        shown, part = set(wanted[:MOST_THREADS]), (self.end - self.start) / self.parts
        while True:
            lanes = self._lanes(found, ends, shown, part)
            if sum(len(lane.spans) for lane in lanes.values()) <= MOST_SPANS:
                return [self._thread_row(id, lanes[id]) for id in sorted(lanes)], len(wanted), part
            part *= 2

    def _positions(self, ends: list[float]) -> list[int]:
        """Return the calls that are open at some time between start and end, in the order in which they began."""
        starts = self.calls.starts
        return [each for each in self.calls.order if ends[each] >= self.start and starts[each] <= self.end]

    def _lanes(self, positions: list[int], ends: list[float], ids: set[int], part: float) -> dict[int, Lane]:
        calls = self.calls
        lanes = {id: Lane(part, self.deepest) for id in ids}
        for position in positions:
            lane = lanes.get(calls.lane_ids[position])
            if lane is not None:
                lane.add(position, calls.starts[position], ends[position], calls.hows[position] == RAISED)
        return lanes

    def _thread_row(self, id: int, lane: Lane) -> ThreadSpans:
        return ThreadSpans(
            thread=self.calls.lane_name(id), depth=lane.depth, spans=[self._span_row(each) for each in lane.spans])

    def _span_row(self, span: Span) -> CallSpan:
        calls, function = self.calls, self.calls.functions.get(self.calls.function_ids[span.position])
        return CallSpan(
            call=calls.numbers[span.position], function=function.name if function else "?", depth=span.depth,
            start_ms=round((span.start - calls.began) * 1000, 4), duration_ms=round((span.end - span.start) * 1000, 4),
            count=span.count, raised=span.has_raised,
        )
