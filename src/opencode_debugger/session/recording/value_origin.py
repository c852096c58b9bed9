"""Where a recorded value was seen first, and by whom what has a name was changed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from ...answers.recordings import Sighting, ValueChange
from ...answers.shape import UNSET
from .call_rows import call_row
from .recorded_calls import LAST_LINE, LINE, RAISED, RECEIVERS, RETURNED, RecordedCalls
from .recorded_values import MOST_CHARACTERS, OBJECT, Recorded, holds_value, pairs_of, same_value, value_text

GIVEN, RETURNED_BY, SET, LOCAL = "given to", "returned by", "set in", "local of"
NEVER_SEEN = object()

class Seen(NamedTuple):
    """A value in a call, in short."""

    moment: int
    how: str
    call: int
    """number"""
    name: str | None
    value: Recorded
    line: int | None
    """that set it"""
    was: Recorded = NEVER_SEEN
    """what it was before"""


@dataclass
class Site:
    """A place in the code at which something was seen."""

    first: Seen
    last: Seen
    count: int = 0


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


def sites_of(calls: RecordedCalls, found: Iterable[Seen]) -> list[Site]:
    """Return where something was seen, by the place in the code, in the order in which it was seen there first."""
    sites: dict[tuple[object, ...], Site] = {}
    for seen in found:
        position = calls.positions.get(seen.call)
        if position is None:
            continue  # the call has fallen out
        name = seen.name.rpartition(".")[2] if seen.name else None
        key = (calls.function_ids[position], seen.how, name, seen.line, seen.was is NEVER_SEEN)
        site = sites.setdefault(key, Site(seen, seen))
        site.count += 1
        site.first = min(site.first, seen, key=_moment)
        site.last = max(site.last, seen, key=_moment)
    return sorted(sites.values(), key=lambda site: site.first.moment)


def _moment(seen: Seen) -> int:
    return seen.moment


def sightings_of_value(calls: RecordedCalls, wanted: Recorded) -> list[Site]:
    """Return the places where a value was kept."""
    return sites_of(calls, chain(_in_calls(calls, wanted), _in_lines(calls, wanted)))


def _in_lines(calls: RecordedCalls, wanted: Recorded) -> Iterator[Seen]:
    for step, line in _changed_lines(calls):
        for name, value in pairs_of(step.changes):
            if line is not None and holds_value(value, wanted):
                yield Seen(step.number, SET, step.call, str(name), value, line)


def _in_calls(calls: RecordedCalls, wanted: Recorded) -> Iterator[Seen]:
    for _, row in calls.rows_of(set(calls.functions)):
        number, function, arguments, last, how, value, extra = row[0], row[1], row[6], row[7], row[9], row[10], row[11]
        for place, argument in enumerate(arguments):
            if holds_value(argument, wanted):
                names = calls.functions[function].arguments
                yield Seen(number, GIVEN, number, names[place] if place < len(names) else None, argument, None)
        if how == RETURNED and holds_value(value, wanted):
            yield Seen(last, RETURNED_BY, number, None, value, None)
        elif how == RAISED and extra:
            for name, local in pairs_of(extra.get("locals", ())):
                if holds_value(local, wanted):
                    yield Seen(last, LOCAL, number, name, local, extra.get("line"))


def changes_of_name(calls: RecordedCalls, name: str) -> list[Site]:
    """Return where what has a name was given, or came to have another value; of an attribute, for each object."""
    return sites_of(calls, changes_in_order(calls, name))


def changes_in_order(calls: RecordedCalls, name: str) -> list[Seen]:
    """Return each of them, in the order in which they happened."""
    owner, dot, attribute = name.rpartition(".")
    found = sorted(_named(calls, owner, attribute, bool(dot)), key=_moment)
    return list(_only_changes(found)) if dot else found


def _only_changes(found: list[Seen]) -> Iterator[Seen]:
    """Return where each object was seen first, and where its attribute was another one than before."""
    last: dict[str | None, Recorded] = {}
    for seen in found:
        was = last.get(seen.name, NEVER_SEEN)
        if was is NEVER_SEEN or seen.how == SET or not same_value(was, seen.value):
            yield seen._replace(was=was)
        last[seen.name] = seen.value


def _named(calls: RecordedCalls, owner: str, attribute: str, is_attribute: bool) -> Iterator[Seen]:
    whole = f"{owner}.{attribute}" if owner else attribute
    for step, line in _changed_lines(calls):
        for changed, value in pairs_of(step.changes):
            if changed == whole or (is_attribute and not owner and str(changed).endswith(f".{attribute}")):
                yield Seen(step.number, SET if line is not None else GIVEN, step.call, changed, value, line)
    for _, row in calls.rows_of(set(calls.functions)):
        yield from _named_in_row(calls, row, owner, attribute, is_attribute)


def _named_in_row(
    calls: RecordedCalls, row: list[Any], owner: str, attribute: str, is_attribute: bool
) -> Iterator[Seen]:
    number, names, extra = row[0], calls.functions[row[1]].arguments, row[11] or {}
    places: list[tuple[int, str, str | None, Recorded, int | None]] = [
        (number, GIVEN, name, value, None) for name, value in zip(names, row[6], strict=False)
    ]
    places += [(row[7], LOCAL, name, value, extra.get("line")) for name, value in pairs_of(extra.get("locals", ()))]
    if row[9] == RETURNED:
        places.append((row[7], RETURNED_BY, None, row[10], None))
    for moment, how, name, value, line in places:
        if not is_attribute:
            if name == attribute:
                yield Seen(moment, how, number, name, value, line)
        elif not owner or name == owner or owner in RECEIVERS:
            for label, part in _attributes(value, attribute):
                yield Seen(moment, how, number, label, part, line)


def _attributes(value: Recorded, attribute: str) -> Iterator[tuple[str, Recorded]]:
    """Return an attribute of an object, and of objects in a list or dict, with a label that tells them apart."""
    if not isinstance(value, tuple) or len(value) < 3:
        return
    if value[0] == OBJECT and len(value) > 3:
        for name, part in pairs_of(value[3]):
            if name == attribute:
                yield f"{value[1]} {value[2]:x}.{attribute}", part
    elif isinstance(value[2], list):
        for item in value[2]:
            yield from _attributes(item, attribute)


def _changed_lines(calls: RecordedCalls) -> Iterator[tuple[Any, int | None]]:
    """Return each step with the line that made its changes: the one before in the same call."""
    before: dict[int, int] = {}
    for step in calls.all_steps():
        if step.kind in (LINE, LAST_LINE):
            yield step, before.get(step.call)
            before[step.call] = step.line


def sighting_row(calls: RecordedCalls, site: Site) -> Sighting:
    seen = site.first
    call = calls.call_at(calls.positions[seen.call])
    is_one = site.count == 1
    return Sighting(
        how=seen.how, name=seen.name, value=_short_text(seen.value), call=call_row(calls, call), count=site.count,
        was=UNSET if seen.was is NEVER_SEEN else _short_text(seen.was),
        line=seen.line or (calls.call_line(call) if seen.how == GIVEN else None),
        last_value=UNSET if is_one else _short_text(site.last.value), last_call=UNSET if is_one else site.last.call,
    )


def change_row(calls: RecordedCalls, seen: Seen) -> ValueChange:
    position = calls.positions[seen.call]
    function = calls.functions[calls.function_ids[position]]
    return ValueChange(
        moment=seen.moment, how=seen.how, name=seen.name, value=_short_text(seen.value), call=seen.call,
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
