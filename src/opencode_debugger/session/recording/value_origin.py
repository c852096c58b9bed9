"""Where a recorded value was seen first, and by whom what has a name was changed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from ...answers.recordings import Sighting, ValueChange
from ...answers.shape import UNSET
from .call_rows import call_row
from .call_tree import NOWHERE
from .packed_column import packed_bytes
from .recorded_calls import LAST_LINE, LINE, RAISED, RECEIVERS, RETURNED, ChunkRange, RecordedCalls
from .recorded_values import MOST_CHARACTERS, OBJECT, Recorded, holds_value, pairs_of, value_text

GIVEN, RETURNED_BY, SET, LOCAL = "given to", "returned by", "set in", "local of"
NEVER_SEEN = object()


ObjectAttribute = tuple[str, int, str]
"""an attribute of one object, in a recording that does not tell what the program calls it: class, id, attribute"""


class Seen(NamedTuple):
    """A value in a call, in short. Where there may be millions, bare tuples stand for it."""

    moment: int
    how: str
    call: int
    """number"""
    name: str | ObjectAttribute | None
    value: Recorded
    line: int | None
    """that set it"""
    was: Recorded = NEVER_SEEN
    """what it was before"""

    @property
    def name_text(self) -> str | None:
        return f"{self.name[0]} {self.name[1]:x}.{self.name[2]}" if isinstance(self.name, tuple) else self.name


RawSeen = tuple[int, str, int, Any, Recorded, int | None, Recorded]
"""the items of Seen"""


@dataclass
class Site:
    """A place in the code at which something was seen."""

    first: RawSeen
    last: RawSeen
    count: int = 1


@dataclass
class Wanted:
    """What is asked for: a value, or what has a name."""

    text: str
    value: Recorded = None
    name: str = ""
    """empty if a value is meant"""

    @classmethod
    def read(cls, text: str) -> Wanted:
        """Take a literal for a value, an identifier or a path of attributes for a name."""
        if all(part.isidentifier() for part in text.removeprefix(".").split(".")):
            if text in ("None", "True", "False"):
                return cls(text, value=ast.literal_eval(text))
            return cls(text, name=text)
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return cls(text, value=text)  # a text without quotes
        return cls(text, value=value if isinstance(value, (int, float, str)) else (text,))


@dataclass(eq=False)
class SiteTable:
    """Where something was seen, by the place in the code."""

    _calls: RecordedCalls
    _sites: dict[tuple[object, ...], Site] = field(default_factory=dict)

    def add(self, function: int, name: str | None, seen: RawSeen) -> None:
        """Add what was seen in a call of a function; `name` is that of the variable or attribute alone."""
        moment, how, _, _, _, line, was = seen
        key = (function, how, name, line, was is NEVER_SEEN)
        site = self._sites.get(key)
        if site is None:
            self._sites[key] = Site(seen, seen)
            return
        site.count += 1
        if moment < site.first[0]:
            site.first = seen
        elif moment > site.last[0]:
            site.last = seen

    def add_all(self, found: Iterable[RawSeen], name: str | None = None) -> None:
        """Add what was seen in calls, of which some may have fallen out: all by one name, or each by its own."""
        seen_in_order, functions = list(found), self._calls.function_ids
        positions = self._calls.positions.all_of([seen[2] for seen in seen_in_order])
        for seen, position in zip(seen_in_order, positions, strict=True):
            if position != NOWHERE:
                self.add(functions[position], name or str(seen[3]).rpartition(".")[2], seen)

    def sites(self) -> list[Site]:
        """Return the places in the order in which it was seen there first."""
        return sorted(self._sites.values(), key=lambda site: site.first[0])


def sightings_of_value(calls: RecordedCalls, wanted: Recorded) -> list[Site]:
    """Return the places where a value was kept."""
    table = SiteTable(calls)
    for function, seen in _in_calls(calls, wanted):
        table.add(function, seen[3], seen)
    table.add_all(_in_lines(calls, wanted))
    return table.sites()


def _in_lines(calls: RecordedCalls, wanted: Recorded) -> Iterator[Seen]:
    for step, line in _changed_lines(calls):
        for name, value in pairs_of(step.changes):
            if line is not None and holds_value(value, wanted):
                yield Seen(step.number, SET, step.call, str(name), value, line)


def _in_calls(calls: RecordedCalls, wanted: Recorded) -> Iterator[tuple[int, RawSeen]]:
    """Return where a value was given to a function, returned, or a variable when an exception left one."""
    needle = packed_bytes(wanted)
    for span in calls.chunk_ranges():
        if calls.arguments.may_have(span.chunk, needle):
            for position, place, value in _arguments_like(calls, span, wanted):
                if type(value) is not tuple or holds_value(value, wanted):
                    names = calls.functions[calls.function_ids[position]].arguments
                    number, name = calls.numbers[position], names[place] if place < len(names) else None
                    yield calls.function_ids[position], (number, GIVEN, number, name, value, None, NEVER_SEEN)
        if calls.values.may_have(span.chunk, needle):
            for position, value in _results_like(calls, span, wanted):
                if type(value) is not tuple or holds_value(value, wanted):
                    last, number = calls.lasts[position], calls.numbers[position]
                    yield calls.function_ids[position], (last, RETURNED_BY, number, None, value, None, NEVER_SEEN)
        if calls.extras.may_have(span.chunk, needle):
            for function, seen in _locals_where_raised(calls, span):
                if holds_value(seen[4], wanted):
                    yield function, seen


def _arguments_like(calls: RecordedCalls, span: ChunkRange, wanted: Recorded) -> Iterator[tuple[int, int, Recorded]]:
    """Return arguments of the calls of a chunk that are a value, or may have it in them: position, place, argument."""
    kind, is_known = type(wanted), calls.functions.keys() >= set(calls.function_ids[span.first : span.end])
    for position, arguments in enumerate(calls.arguments.at(span.chunk), span.first):
        for place, value in enumerate(arguments):
            found = type(value)
            if ((found is tuple and value and value[-1]) or (found is kind and value == wanted)) and (
                    is_known or calls.function_ids[position] in calls.functions):
                yield position, place, value


def _results_like(calls: RecordedCalls, span: ChunkRange, wanted: Recorded) -> Iterator[tuple[int, Recorded]]:
    """Return results of the calls of a chunk that are a value, or may have it in them."""
    kind, hows, functions = type(wanted), calls.hows, calls.function_ids
    for position, value in enumerate(calls.values.at(span.chunk), span.first):
        found = type(value)
        if ((found is tuple and value and value[-1]) or (found is kind and value == wanted)) and (
                hows[position] == RETURNED and functions[position] in calls.functions):
            yield position, value


def _locals_where_raised(calls: RecordedCalls, span: ChunkRange) -> Iterator[tuple[int, RawSeen]]:
    for place, extra in calls.extras.at(span.chunk).items():
        position = span.first + place
        function = calls.function_ids[position]
        if calls.hows[position] == RAISED and "locals" in extra and function in calls.functions:
            last, number, line = calls.lasts[position], calls.numbers[position], extra.get("line")
            for name, value in pairs_of(extra["locals"]):
                yield function, (last, LOCAL, number, name, value, line, NEVER_SEEN)


def changes_of_name(calls: RecordedCalls, name: str) -> list[Site]:
    """Return where what has a name was given, or came to have another value; of an attribute, for each object."""
    table = SiteTable(calls)
    owner, dot, attribute = name.rpartition(".")
    if dot:
        table.add_all(_changes_of_attribute(calls, owner, attribute), attribute)
        return table.sites()
    for function, seen in _named_in_calls(calls, name):
        table.add(function, name, seen)
    table.add_all(_named_in_lines(calls, name), name)
    return table.sites()


def changes_in_order(calls: RecordedCalls, name: str) -> list[RawSeen]:
    """Return each of them, in the order in which they happened."""
    owner, dot, attribute = name.rpartition(".")
    if dot:
        return list(_changes_of_attribute(calls, owner, attribute))
    return sorted([*_named_in_lines(calls, name), *(seen for _, seen in _named_in_calls(calls, name))], key=_moment)


_moment = itemgetter(0)


def _named_in_calls(calls: RecordedCalls, name: str) -> Iterator[tuple[int, RawSeen]]:
    """Return where a function was given an argument of a name, or had such a variable when an exception left it."""
    places = {id: each.arguments.index(name) for id, each in calls.functions.items() if name in each.arguments}
    for span in calls.chunk_ranges(set(places)):
        part = slice(span.first, span.end)
        rows = zip(calls.numbers[part], calls.function_ids[part], calls.arguments.at(span.chunk), strict=True)
        for number, function, arguments in rows:
            if function in places and places[function] < len(arguments):
                yield function, (number, GIVEN, number, name, arguments[places[function]], None, NEVER_SEEN)
    needle = packed_bytes(name)
    for span in calls.chunk_ranges():
        if calls.extras.may_have(span.chunk, needle):
            yield from (found for found in _locals_where_raised(calls, span) if found[1][3] == name)


def _named_in_lines(calls: RecordedCalls, name: str, ending: str = "") -> Iterator[Seen]:
    """Return what lines did to what has a name, or a path with an ending."""
    for step, line in _changed_lines(calls):
        for changed, value in pairs_of(step.changes):
            if changed == name or (ending and str(changed).endswith(ending)):
                yield Seen(step.number, SET if line is not None else GIVEN, step.call, changed, value, line)


# Attributes: each object that has one, and where it was another one than before.


def _changes_of_attribute(calls: RecordedCalls, owner: str, attribute: str) -> Iterator[RawSeen]:
    """Return where each object was seen first, and where its attribute was another one than before."""
    in_lines = (_named_in_lines(calls, f"{owner}.{attribute}") if owner
                else _named_in_lines(calls, attribute, f".{attribute}"))
    found: list[RawSeen] = sorted(chain(in_lines, _with_attribute(calls, owner, attribute)), key=_moment)
    last: dict[Any, Recorded] = {}
    for seen in found:
        name, value = seen[3], seen[4]
        was = last.get(name, NEVER_SEEN)
        if type(was) is not type(value) or was != value or seen[1] == SET:
            yield (*seen[:6], was)
        last[name] = value


def _with_attribute(calls: RecordedCalls, owner: str, attribute: str) -> Iterator[RawSeen]:
    """Return every object with an attribute where it was given, returned, or a variable of a function that failed."""
    needle, is_any = packed_bytes(attribute), not owner or owner in RECEIVERS
    named = {id: [is_any or name == owner for name in each.arguments] for id, each in calls.functions.items()}
    numbers, functions = calls.numbers, calls.function_ids
    for span in calls.chunk_ranges():
        if calls.arguments.may_have(span.chunk, needle):
            for position, place, value in _arguments_like(calls, span, NEVER_SEEN):
                asked = named[functions[position]]
                if place < len(asked) and asked[place]:
                    number = numbers[position]
                    for name, part in _attributes(value, attribute):
                        yield number, GIVEN, number, name, part, None, NEVER_SEEN
        if calls.extras.may_have(span.chunk, needle):
            for _, seen in _locals_where_raised(calls, span):
                if is_any or seen[3] == owner:
                    yield from ((*seen[:3], name, part, *seen[5:]) for name, part in _attributes(seen[4], attribute))
        if is_any and calls.values.may_have(span.chunk, needle):
            for position, value in _results_like(calls, span, NEVER_SEEN):
                for name, part in _attributes(value, attribute):
                    yield calls.lasts[position], RETURNED_BY, numbers[position], name, part, None, NEVER_SEEN


def _attributes(value: Recorded, attribute: str) -> list[tuple[ObjectAttribute, Recorded]]:
    """Return an attribute of an object, and of objects in a list or dict, each with the object."""
    if not isinstance(value, tuple) or len(value) < 3:
        return []
    if value[0] == OBJECT and len(value) > 3:
        fields = value[3]
        if attribute not in fields or attribute not in (names := fields[::2]):
            return []
        return [((value[1], value[2], attribute), fields[2 * names.index(attribute) + 1])]
    inner = value[2]
    return [each for item in inner for each in _attributes(item, attribute)] if isinstance(inner, (list, tuple)) else []


def _changed_lines(calls: RecordedCalls) -> Iterator[tuple[Any, int | None]]:
    """Return each step with the line that made its changes: the one before in the same call."""
    before: dict[int, int] = {}
    for step in calls.all_steps():
        if step.kind in (LINE, LAST_LINE):
            yield step, before.get(step.call)
            before[step.call] = step.line


def sighting_row(calls: RecordedCalls, site: Site) -> Sighting:
    seen, last = Seen(*site.first), Seen(*site.last)
    call = calls.call_at(calls.positions[seen.call])
    is_one = site.count == 1
    return Sighting(
        how=seen.how, name=seen.name_text, value=_short_text(seen.value),
        call=call_row(calls, call), count=site.count, was=UNSET if seen.was is NEVER_SEEN else _short_text(seen.was),
        line=seen.line or (calls.call_line(call) if seen.how == GIVEN else None),
        last_value=UNSET if is_one else _short_text(last.value), last_call=UNSET if is_one else last.call,
    )


def change_row(calls: RecordedCalls, seen: Seen) -> ValueChange:
    position = calls.positions[seen.call]
    function = calls.functions[calls.function_ids[position]]
    return ValueChange(
        moment=seen.moment, how=seen.how, name=seen.name_text, value=_short_text(seen.value), call=seen.call,
        was=UNSET if seen.was is NEVER_SEEN else _short_text(seen.was), function=function.name, path=function.path,
        line=seen.line or function.line,
    )


def _short_text(value: Recorded) -> str:
    return value_text(value)[:MOST_CHARACTERS]


def way_to(calls: RecordedCalls, number: int) -> list[str]:
    """Return a call and those that led to it, from the inside out."""
    position = calls.positions[number]
    above = [position, *calls.tree.ancestors(position)]
    return [f"{each.function.name} #{each.number}" for each in calls.calls_at(above)]
