"""Scopes, variables and their children as JSON-able dicts, behind references that die with their reply."""

from __future__ import annotations

import json
import re
from itertools import islice
from types import FrameType
from typing import Any, Dict, List, Optional, Tuple

from . import arrays, binary, fitting, raw, sources
from .handles import GLOBALS, HANDLES, LOCALS, VALUE, Handle, Reply, start_references_at
from .interrupts import guard
from .members import Member, Members, attribute_name, facts, is_definition, key_name, known_length, presentation_hint
from .raw import type_name
from .repr import render
from .scope import variables
from .texts import clip, encodable

__all__ = ["Reply", "children", "locals_report", "scopes", "start_references_at", "variable"]

Json = Dict[str, Any]

PAGE = 100
MAX_PAGE = 1000
MAX_BUDGET = 1_000_000
NAMES_SEARCHED = 1_000_000
"""keys of a mapping that are held against a name"""
INLINE_BYTES = 256
"""that a row shows as base64; the others are read page by page"""
TEXT_PAGE = 3000
"""characters of a long string where no count is asked for"""
REPORT_VALUE_LIMIT = 240
_NAME = re.compile(r"[^\W\d]\w*")
_SMALL = 40
_OPTIMIZED = 0x1
_SMALL_TYPES = frozenset((type(None), bool, int, float, complex))


class Terms:
    """How much a row says."""

    __slots__ = ("bytes", "detailed", "summary")

    def __init__(self, detailed: bool = False, summary: bool = False, bytes: int = 0) -> None:
        self.detailed = detailed
        self.summary = summary
        self.bytes = bytes


SHORT = Terms()
"""in a stop report"""
DETAILED = Terms(detailed=True, bytes=INLINE_BYTES)
SUMMARY = Terms(summary=True)
"""types and sizes, and no code of the program runs for it"""
RESULT_BYTES = 12000
RESULT = Terms(detailed=True, bytes=RESULT_BYTES)
"""of an evaluation"""


def scopes(frame: FrameType, reply: Reply) -> List[Json]:
    with guard():
        found = []
        for kind, obj in ((LOCALS, frame), (GLOBALS, frame.f_globals)):
            handle = HANDLES.add(kind, obj, None, kind)
            found.append(
                {
                    "name": kind.capitalize(),
                    "presentation_hint": kind,
                    "variables_reference": reply.keep(handle),
                    "named_variables": len(_names_in(handle)),
                    "indexed_variables": 0,
                    "expensive": False,
                }
            )
        return found


def variable(
    name: str,
    obj: Any,
    reply: Reply,
    limit: int,
    deadline: Optional[float] = None,
    parent: Optional[Handle] = None,
    terms: Terms = SHORT,
) -> Json:
    """One row; `parent` is the handle it was found under, which is how a circle is noticed."""
    ancestor = _ancestor(obj, parent)
    text: Optional[str]
    if terms.summary:
        text, cut = None, False
    elif ancestor is not None:
        text, cut = clip("<circular: %s>" % ancestor.name, limit)
    else:
        text, cut = render(_element(obj, parent), limit, deadline)
    return _row(name, obj, text, cut, reply, parent, ancestor, terms, deadline)


def _element(obj: Any, parent: Optional[Handle]) -> Any:
    """An array's element is written as a plain number: its row says the type."""
    if parent is None or type(obj) is str or parent.kind is not VALUE:
        return obj
    try:
        return arrays.scalar(obj)
    except Exception:
        return obj


def children(
    reference: int,
    start: int = 0,
    count: Optional[int] = None,
    filter: Optional[str] = None,
    limit_total: int = 20000,
    deadline: Optional[float] = None,
    reply: Optional[Reply] = None,
    name: Optional[str] = None,
    budget: Optional[int] = None,
    terms: Terms = DETAILED,
) -> Json:
    """A page of what is under a reference; it ends early, with has_more, where its characters are used up.

    `limit_total` bounds the values together, `budget` the whole answer as JSON.
    """
    handle = HANDLES.get(reference)
    if handle is None:
        return {"missing": True}
    reply = reply if reply is not None else Reply()
    start = max(0, start or 0)
    answer: Json = {"variables_reference": reference, "variables": [], "total": 0, "has_more": False}
    with guard():
        base = binary.base_of(handle.obj) if handle.kind is VALUE and filter != "named" else None
        if base is not None:
            answer.update(binary.page(handle.obj, base, start, count, fitting.room(budget or limit_total)))
            return answer
        if handle.kind is VALUE and type(handle.obj) is str:
            answer.update(_text_page(handle.obj, start, count, fitting.room(budget or limit_total)))
            return answer
        count = min(count if count and count > 0 else PAGE, MAX_PAGE, fitting.most_rows(budget or MAX_BUDGET))
        try:
            found = _page(handle, start, count, filter, name, deadline)
        except Exception:
            found = _Page([], 0, 0)
        owner = handle if handle.kind is VALUE else None
        room = min(limit_total, fitting.room(budget, len(found.members)) if budget else limit_total)
        rows = _rows(found.members, reply, room, room, deadline, owner, terms)
        for place, row in enumerate(rows, start - found.before):
            if place >= 0 and found.before >= 0:
                row["index"] = place
        answer["variables"] = fitting.fitted(rows, budget) if budget else rows
        answer["total"] = found.total
        answer["has_more"] = bool(rows) and start + len(answer["variables"]) < found.total
        if found.incomplete:
            answer["incomplete"] = True
        return answer


def locals_report(
    frame: FrameType, reply: Reply, budget: int, max_names: int, deadline: Optional[float] = None
) -> Json:
    """The frame's locals within `budget` characters of values: what the line at hand uses comes first, modules, classes
    and functions come last."""
    with guard():
        found = frame_locals(frame)
        used = set(_NAME.findall(sources.line_of(frame, frame.f_lineno)))
        data = [member for member in found if not is_definition(member[1])]
        data.sort(key=lambda member: member[0] not in used)
        if len(data) < len(found):
            data += [member for member in found if is_definition(member[1])]
        rows = _rows(data[: max(0, max_names)], reply, budget, REPORT_VALUE_LIMIT, deadline, None)
        return {"variables": rows, "omitted": len(found) - len(rows)}


def frame_locals(frame: FrameType) -> List[Member]:
    """Visible locals in the order of definition."""
    namespace = frame.f_locals
    code = frame.f_code
    found = _visible(namespace)
    if not code.co_flags & _OPTIMIZED:
        return found
    order = {name: place for place, name in enumerate(code.co_varnames + code.co_cellvars + code.co_freevars)}
    found.sort(key=lambda member: order.get(member[0], len(order)))
    return found


def _visible(namespace: Any) -> List[Member]:
    return [(attribute_name(name), value) for name, value in variables(namespace).items() if not raw.is_hidden(name)]


def _names_in(handle: Handle) -> List[Member]:
    return frame_locals(handle.obj) if handle.kind is LOCALS else _visible(handle.obj)


class _Page:
    """Members, how many there are in all, and how many come before those that have an index."""

    __slots__ = ("before", "incomplete", "members", "total")

    def __init__(self, members: List[Member], total: int, before: int, incomplete: bool = False) -> None:
        self.members = members
        self.total = total
        self.before = before
        """-1 if none has one"""
        self.incomplete = incomplete


def _page(
    handle: Handle, start: int, count: int, filter: Optional[str], name: Optional[str], deadline: Optional[float]
) -> _Page:
    stop = start + count
    if name:
        return _matching(handle, start, stop, filter, name.lower(), deadline)
    if handle.kind is not VALUE:
        found = [] if filter == "indexed" else _names_in(handle)
        return _Page(found[start:stop], len(found), -1)
    members = Members(handle.obj, deadline)
    named, total = members.named, members.named + members.indexed
    if filter == "indexed":
        return _Page(members.page(named + start, named + stop, deadline), members.indexed, 0)
    if filter == "named":
        return _Page(members.page(start, min(stop, named), deadline), named, -1)
    return _Page(members.page(start, stop, deadline), total, named if members.indexed else -1)


def _matching(
    handle: Handle, start: int, stop: int, filter: Optional[str], name: str, deadline: Optional[float]
) -> _Page:
    """Variables, attributes, and string keys of mappings whose name contains the text."""
    if filter == "indexed":
        return _Page([], 0, -1)
    if handle.kind is not VALUE:
        found = [member for member in _names_in(handle) if name in member[0].lower()]
        return _Page(found[start:stop], len(found), -1)
    members = Members(handle.obj, deadline)
    found = [member for member in members.attributes if name in member[0].lower()]
    keyed: List[Tuple[Any, Any]] = []
    if members.paired and members.base is not None:
        searched = islice(raw.iterate(handle.obj, members.base), NAMES_SEARCHED)
        keyed = [pair for pair in searched if type(pair[0]) is str and name in pair[0].lower()]
    first, last = max(0, start - len(found)), max(0, stop - len(found))
    page = found[start:stop] + [(key_name(key, deadline), value) for key, value in keyed[first:last]]
    return _Page(page, len(found) + len(keyed), -1, members.paired and members.items > NAMES_SEARCHED)


def _rows(
    page: List[Member],
    reply: Reply,
    budget: int,
    most: int,
    deadline: Optional[float],
    owner: Optional[Handle],
    terms: Terms = SHORT,
) -> List[Json]:
    """As many rows as the budget affords, at least one; small values in full, the rest shares what is left."""
    if terms.summary:
        return [variable(name, obj, reply, 0, deadline, owner, terms) for name, obj in page]
    small: List[Optional[str]] = []
    needed = 0
    for _, obj in page:
        text = _small_text(obj)
        needed += _SMALL if text is None else len(text)
        if small and needed > budget:
            break
        small.append(text)
    big = small.count(None)
    left = budget - sum(len(text) for text in small if text is not None)
    rows = []
    for (name, obj), text in zip(page, small):
        if text is not None:
            cut = len(text) > budget
            rows.append(_row(name, obj, text[: max(0, budget)], cut, reply, owner, None, terms, deadline))
            continue
        row = variable(name, obj, reply, min(most, max(0, left) // big), deadline, owner, terms)
        big -= 1
        left -= len(row["value"])
        rows.append(row)
    return rows


def _small_text(obj: Any) -> Optional[str]:
    cls = type(obj)
    if type(cls) is not type or not (cls in _SMALL_TYPES or (cls is str and len(obj) < _SMALL)):
        return None
    text, cut = render(obj, _SMALL)
    return None if cut else text


def _ancestor(obj: Any, parent: Optional[Handle]) -> Optional[Handle]:
    while parent is not None:
        if parent.obj is obj:
            return parent
        parent = parent.parent
    return None


def _row(
    name: str,
    obj: Any,
    text: Optional[str],
    cut: bool,
    reply: Reply,
    parent: Optional[Handle],
    ancestor: Optional[Handle],
    terms: Terms,
    deadline: Optional[float],
) -> Json:
    cls = type(obj)
    row: Json = {
        "name": name,
        "value": text,
        "type": type_name(obj),
        "variables_reference": 0,
        "named_variables": 0,
        "indexed_variables": 0,
    }
    if text is None:
        del row["value"]
    if cut:
        row["truncated"] = True
    if type(cls) is type and cls in raw.ATOMS and cls not in binary.BINARY:  # most locals: worth a short cut
        if cls in raw.TEXTS:
            row["length"] = len(obj)
        if cls is str and cut:
            row["variables_reference"] = reply.keep(HANDLES.add(name, obj, parent))
            row["expandable"] = True
        return row
    try:
        _add_members(row, obj, reply, parent, ancestor, terms, deadline)
    except Exception:
        return row  # it changed while we looked: the row stands without them
    return row


def _text_page(text: str, start: int, count: Optional[int], room: int) -> Json:
    """A part of a long string, as long as it fits."""
    part = text[start : start + min(count or TEXT_PAGE, binary.MAX_PAGE)]
    while len(part) > 1 and len(json.dumps(part)) > room:
        part = part[: len(part) // 2]
    more = bool(part) and start + len(part) < len(text)
    return {"text": encodable(part), "length": len(text), "total": len(text), "has_more": more}


def _add_members(
    row: Json,
    obj: Any,
    reply: Reply,
    parent: Optional[Handle],
    ancestor: Optional[Handle],
    terms: Terms,
    deadline: Optional[float],
) -> None:
    members = Members(obj, deadline)
    base = binary.base_of(obj)
    length = known_length(obj, members) if base is None else binary.size(obj, base)
    hint = presentation_hint(obj, members)
    is_long = base is not None and length is not None and length > INLINE_BYTES
    if members.before or members.items or is_long:
        row["variables_reference"] = reply.keep(ancestor or HANDLES.add(row["name"], obj, parent))
        row["named_variables"] = members.named
        row["indexed_variables"] = members.indexed
        row["expandable"] = True
    if length is not None:
        row["length"] = length
    if base is not None and terms.bytes:
        row["base64"] = binary.encoded(binary.window(obj, base, 0, terms.bytes))
        row["encoding"] = "base64"
        if length is not None and length > terms.bytes:
            row["truncated"] = True
    if ancestor is not None:
        row["circular"] = True
    if hint is not None:
        row["presentation_hint"] = hint
    row.update(facts(obj, members, terms.detailed))
