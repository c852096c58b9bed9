"""Moments of a recorded run: each call, line and end has a number, in the order in which they happened."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ...errors import RelayError, invalid_parameter
from ..recording.recorded_calls import LAST_LINE, LINES, RAISED, RETURNED, Call, RecordedCalls
from ..recording.recorded_errors import innermost_of
from ..recording.recorded_run import find_call
from ..recording.recorded_values import Recorded, pairs_of
from ..recording.value_origin import GIVEN, SET, Seen, changes_in_order

CALLED, AT_LINE, RETURNS, RAISES = "call", "line", "return", "exception"
ENDS = {RETURNED: RETURNS, RAISED: RAISES}
END = "end"
SPELLED = re.compile(r"#?(\d{1,18})(?::(\d{1,9}|end))?")
FORMS = (
    "Write #12 for a call or any other moment by its number, #12:40 for the first time that call 12 comes to line 40, "
    "#12:end for its end"
)


class Moment(NamedTuple):
    number: int
    call: Call
    event: str
    """what happens then: call, line, return or exception"""
    line: int

    @property
    def is_end(self) -> bool:
        return self.event in (RETURNS, RAISES)


class Change(NamedTuple):
    """A moment at which what has a name is about to get another value, or has got it with a call."""

    moment: Moment
    seen: Seen


@dataclass(frozen=True)
class Moments:
    """Finds moments in the index of a recording."""

    calls: RecordedCalls

    def named(self, text: str) -> Moment:
        """Return the moment that a client names."""
        spelled = SPELLED.fullmatch(text.strip())
        if spelled is None:
            raise invalid_parameter("moment", text, f"{text[:100]!r} names no moment", FORMS)
        number, place = int(spelled[1]), spelled[2]
        found = self._named_in(find_call(self.calls, number), place) if place else self.at(number)
        if found is None:
            at = f" at {place}" if place else ""
            message = f"The recording has no moment #{number}{at}: it was not recorded, or has fallen out"
            raise RelayError("CALL_NOT_FOUND", message, call=number)
        return found

    def _named_in(self, call: Call, place: str) -> Moment | None:
        if place == END:
            return self._end_of(call)
        steps = [step for step in self.calls.steps_of(call.number) if step.kind in LINES and step.line == int(place)]
        return Moment(steps[0].number, call, AT_LINE, steps[0].line) if steps else None

    def at(self, number: int) -> Moment | None:
        """Return the moment with a number; of a call whose lines are recorded, its first line."""
        calls = self.calls
        if (position := calls.positions.get(number)) is not None:
            return self._begin_of(calls.call_at(position))
        if number and number in calls.lasts:
            return self._end_of(calls.call_at(calls.lasts.index(number)))
        if number and number in calls.step_numbers:
            step = calls.step_at(calls.step_numbers.index(number))
            call = calls.find_call(step.call)
            return Moment(number, call, AT_LINE, step.line) if call else None
        return None

    def _begin_of(self, call: Call) -> Moment:
        first = next((step for step in self.calls.steps_of(call.number) if step.kind in LINES), None)
        if first is not None:
            return Moment(first.number, call, AT_LINE, first.line)
        return Moment(call.number, call, CALLED, call.function.line)

    def _end_of(self, call: Call) -> Moment | None:
        if call.how not in ENDS:
            return None
        last = next((step.line for step in self.calls.steps_of(call.number) if step.kind == LAST_LINE), None)
        raised = call.extra.get("line") if call.how == RAISED else None
        return Moment(call.last, call, ENDS[call.how], raised or last or call.function.line)

    # From the present, and from one moment to another.

    def latest(self) -> Moment | None:
        """Return the last moment; if an exception ended the run, the one at which it left the call that raised it."""
        calls = self.calls
        found = self.at(max(max(column, default=0) for column in (calls.numbers, calls.lasts, calls.step_numbers)))
        if found is not None and found.event == RAISES:
            return self._end_of(innermost_of(calls, calls.positions[found.call.number]))
        return found

    def first(self) -> Moment | None:
        return self.at(min(self.calls.numbers, default=0))

    def latest_in(self, path: str, function: str, line: int) -> Moment | None:
        """Return the moment before the present of a program that stands at a line of a function."""
        calls = self.calls
        for call in self._open_calls():
            if os.path.realpath(call.function.path) == path and _short(call.function.name) == _short(function):
                number = max(self._in_frame(call) if self._has_lines(call) else self._in_lane(call.lane), default=0)
                found = self.at(number)
                if found is not None and found.call.number == call.number and (found.event, found.line) == (
                        AT_LINE, line):
                    return self.before(found)  # that line is the present
                return found
        return None if not len(calls) else self.latest()

    def _open_calls(self) -> Iterator[Call]:
        """Return the calls that have not ended, the last one first."""
        calls = self.calls
        running = [position for position, last in enumerate(calls.lasts) if not last]
        return calls.calls_at(sorted(running, key=calls.numbers.__getitem__, reverse=True))

    def before(self, moment: Moment) -> Moment | None:
        """Return the line before in the same function, if its lines are recorded; else what happened before."""
        is_first = moment.number == self._begin_of(moment.call).number
        frame = self.calls.find_call(moment.call.caller) if is_first else moment.call
        return self._nearest(self._around(frame, moment), moment.number, is_forward=False)

    def after(self, moment: Moment, is_into: bool = False) -> Moment | None:
        """Return the line after in the same function, if its lines are recorded; else what happened next."""
        frame = self.calls.find_call(moment.call.caller) if moment.is_end else moment.call
        numbers = self._in_lane(moment.call.lane) if is_into else self._around(frame, moment)
        return self._nearest(numbers, moment.number, is_forward=True)

    def end_after(self, moment: Moment) -> Moment | None:
        """Return the end of the call; from there, that of its caller."""
        call = self.calls.find_call(moment.call.caller) if moment.is_end else moment.call
        return self._end_of(call) if call else None

    def _around(self, frame: Call | None, moment: Moment) -> Iterator[int]:
        has_lines = frame is not None and self._has_lines(frame)
        return self._in_frame(frame) if frame is not None and has_lines else self._in_lane(moment.call.lane)

    def _has_lines(self, call: Call) -> bool:
        return call.number in self.calls.steps_by_call

    def _in_frame(self, call: Call) -> Iterator[int]:
        """Return the moments of a call, and of those that led to it."""
        calls, at = self.calls, self.calls.positions.get(call.number)
        for position in [] if at is None else [at, *calls.tree.ancestors(at)]:
            steps = calls.steps_by_call.get(calls.numbers[position], ())
            yield from (calls.step_numbers[each] for each in steps if calls.step_numbers[each])
            if not steps:
                yield calls.numbers[position]
            if calls.hows[position] in ENDS:
                yield calls.lasts[position]

    def _in_lane(self, lane: int) -> Iterator[int]:
        """Return all moments of a thread or task, in any order."""
        calls = self.calls
        stepped, positions, lanes = calls.steps_by_call, calls.positions, calls.lane_ids
        for number, last, how, each in zip(calls.numbers, calls.lasts, calls.hows, lanes, strict=True):
            if each == lane:
                if number not in stepped:
                    yield number
                if how in ENDS:
                    yield last
        of_lane = {call for call in stepped if call in positions and lanes[positions[call]] == lane}
        for number, call in zip(calls.step_numbers, calls.step_calls, strict=True):
            if number and call in of_lane:
                yield number

    def _nearest(self, numbers: Iterable[int], number: int, is_forward: bool) -> Moment | None:
        if is_forward:
            found = min((each for each in numbers if each > number), default=None)
        else:
            found = max((each for each in numbers if each < number), default=None)
        return None if found is None else self.at(found)

    # Where something happens.

    def first_hit(
        self, places: Iterable[CodePlace], number: int, is_forward: bool, stops: Callable[[Moment], bool]
    ) -> Moment | None:
        """Return the nearest moment at one of the places at which it is to stop."""
        found = {each for place in places for each in self._numbers_at(place)}
        beyond = sorted((each for each in found if each != number and (each > number) == is_forward),
            reverse=not is_forward)
        moments = (self.at(each) for each in beyond)
        return next((each for each in moments if each and each.number != number and stops(each)), None)

    def _numbers_at(self, place: CodePlace) -> Iterator[int]:
        calls = self.calls
        wanted = {each.id for each in calls.functions.values() if place.covers(each.path, each.name, each.lines)}
        for number, function in zip(calls.numbers, calls.function_ids, strict=True):
            if function not in wanted:
                continue
            if number not in calls.steps_by_call:
                yield number
            elif place.line is None:
                yield self._begin_of(calls.call_at(calls.positions[number])).number
            else:
                steps = (calls.step_at(each) for each in calls.steps_by_call[number])
                yield from (step.number for step in steps if step.kind in LINES and step.line == place.line)

    def last_change(self, name: str, number: int, within: int | None) -> Change | None:
        """Return where what has a name was changed last before a moment: in one call if that knows it, else in any."""
        seen = changes_in_order(self.calls, name)
        own = [each for each in seen if each[2] == within]
        for each in map(Seen._make, chain(reversed(own), reversed(seen))):
            if each.moment > number or not (each.how in (GIVEN, SET) or "." in name):
                continue
            moment = self._changing(each)
            if moment is not None and moment.number < number:
                return Change(moment, each)
        return None

    def _changing(self, seen: Seen) -> Moment | None:
        """Return the moment of the line that makes a change, or of the call that brings a value."""
        if seen.how != SET:
            return self.at(seen.moment) or self.at(seen.call)
        steps = [step for step in self.calls.steps_of(seen.call) if step.kind in LINES and step.number < seen.moment]
        call = self.calls.find_call(seen.call)
        return Moment(steps[-1].number, call, AT_LINE, steps[-1].line) if steps and call else None

    # What was true then.

    def values_at(self, call: Call, number: int) -> dict[str, Recorded]:
        """Return the variables of a call at a moment, as far as they were recorded."""
        values: dict[str, Recorded] = dict(call.named_arguments)
        for step in self.calls.steps_of(call.number):
            if step.number <= number:
                for name, value in pairs_of(step.changes):
                    _give_value(values, str(name), value)
        if call.how == RAISED and number >= call.last:
            values.update(call.locals)
        return values

    def seconds_until(self, number: int) -> float:
        """Return the time that is known to have come by a moment: that of the last call that began or ended."""
        calls = self.calls
        began = max((at for each, at in zip(calls.numbers, calls.starts, strict=True) if each <= number), default=0.0)
        ended = (at for each, at in zip(calls.lasts, calls.ends, strict=True) if 0 < each <= number)
        return max(began, max(ended, default=0.0))


@dataclass(frozen=True)
class CodePlace:
    """Where a breakpoint stops: at a line of a file, or where a function is called."""

    paths: frozenset[str]
    """real ones; empty: in any file"""
    line: int | None
    function: str | None

    def covers(self, path: str, name: str, lines: tuple[tuple[int, int, int], ...]) -> bool:
        if self.paths and os.path.realpath(path) not in self.paths:
            return False
        if self.function is not None:
            return name == self.function or name.endswith(f".{self.function}")
        return any(line == self.line for _, _, line in lines)


def _short(name: str) -> str:
    """Return the name of a function without that of its class."""
    return name.rpartition(".")[2]


def _give_value(values: dict[str, Recorded], name: str, value: Recorded) -> None:
    """Give a variable a value, or an attribute of the object that it is."""
    owner, dot, attribute = name.partition(".")
    whole = values.get(owner)
    if not dot:
        values[name] = value
    elif isinstance(whole, tuple) and len(whole) > 3:
        fields = {**dict(pairs_of(whole[3])), attribute: value}
        values[owner] = (*whole[:3], [part for pair in fields.items() for part in pair])
    else:
        values[name] = value
