"""Makes rows of scopes, variables and their children, behind references that die with their reply.

A budget is how many characters the JSON text of an answer may have; it is never exceeded.
"""

from __future__ import annotations

import contextlib
import json
import re
from inspect import CO_OPTIMIZED
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Tuple

from ..rpc.call_scope import frame_variables
from ..rpc.handles import GLOBALS, HANDLES, LOCALS, VALUE, Handle, Reply
from ..rpc.interrupts import guard
from ..source import source_text
from . import binary_data, numpy_arrays, raw
from .atom_texts import clip, encodable
from .bounded_repr import render_value
from .members import Member, Members, attribute_name, is_definition, key_name

if TYPE_CHECKING:
    from ....rows import ScopeRow, StopRow, ValueRow, VariablePage, VariableRow

PAGE = 100
MAX_PAGE = 1000
NAMES_SEARCHED = 1_000_000
"""keys of a mapping that are compared with a name"""
INLINE_BYTES = 256
"""bytes that a row shows as base64; the others are read page by page"""
ENVELOPE_SIZE = 200
"""characters around the rows, what the relay adds to them included"""
_ROW_SIZE = 150
"""characters of an ordinary row besides its value"""
_SHORT_NAME = 30
_VALUE_FACTS = ("memory_bytes", "index_type", "state", "line", "dtype", "shape")
_DISPENSABLE = ("base64", "encoding", "columns", "signature", "presentation_hint", *_VALUE_FACTS)
NO_MEMBERS: ValueRow = {"variables_reference": 0, "named_variables": 0, "indexed_variables": 0}
_NAME = re.compile(r"[^\W\d]\w*")
_SMALL_LIMIT = 40
_SMALL_TYPES = frozenset((type(None), bool, int, float, complex))


class RowDetail(NamedTuple):
    """How much a row says."""

    detailed: bool = False
    summary: bool = False
    bytes: int = 0


SHORT = RowDetail()
"""For a stop report."""
DETAILED = RowDetail(detailed=True, bytes=INLINE_BYTES)
SUMMARY = RowDetail(summary=True)
"""Types and sizes only: no code of the program runs for it."""
RESULT = RowDetail(detailed=True, bytes=12000)
"""For the result of an evaluation."""


class PageWish(NamedTuple):
    """Which members are wanted, and how long their page may be."""

    start: int = 0
    count: Optional[int] = None  # type: ignore[assignment]  # a tuple has a method of that name
    filter: Optional[str] = None
    name: Optional[str] = None
    budget: Optional[int] = None
    """characters of the whole answer as JSON"""
    limit_total: int = 20000
    """characters of the values together"""


class RowMaker(NamedTuple):
    """Makes the rows of one answer."""

    reply: Reply
    deadline: Optional[float] = None
    terms: RowDetail = SHORT
    parent: Optional[Handle] = None
    """the handle that the values were found under, which is how a circle is noticed"""

    def make_row(self, name: str, obj: Any, limit: int) -> VariableRow:
        ancestor = self.parent
        while ancestor is not None and ancestor.obj is not obj:
            ancestor = ancestor.parent
        if self.terms.summary:
            return self._row_with(name, obj, None, False, ancestor)
        if ancestor is not None:
            return self._row_with(name, obj, *clip("<circular: %s>" % ancestor.name, limit), ancestor)
        return self._row_with(name, obj, *render_value(self._plain_element(obj), limit, self.deadline))

    def make_rows(self, page: List[Member], budget: int, most: int) -> List[VariableRow]:
        """Make as many rows as the budget affords, at least one; small values in full, the rest shares what is left."""
        if self.terms.summary:
            return [self.make_row(name, obj, 0) for name, obj in page]
        small: List[Optional[str]] = []
        needed = 0
        for _, obj in page:
            text = _small_text(obj)
            needed += _SMALL_LIMIT if text is None else len(text)
            if small and needed > budget:
                break
            small.append(text)
        big = small.count(None)
        left = budget - sum(len(text) for text in small if text is not None)
        rows = []
        for (name, obj), text in zip(page, small):
            if text is not None:
                rows.append(self._row_with(name, obj, text[: max(0, budget)], len(text) > budget))
                continue
            rows.append(self.make_row(name, obj, min(most, max(0, left) // big)))
            big -= 1
            left -= len(rows[-1]["value"])
        return rows

    def _plain_element(self, obj: Any) -> object:
        """Return an array's element as a plain number: its row says the type."""
        if self.parent is not None and type(obj) is not str and self.parent.kind is VALUE:
            with contextlib.suppress(Exception):
                return numpy_arrays.plain_scalar(obj)
        return obj

    def _row_with(
        self, name: str, obj: Any, text: Optional[str], cut: bool, ancestor: Optional[Handle] = None
    ) -> VariableRow:
        cls = type(obj)
        row: VariableRow = {"name": name, "type": raw.type_name(obj), **NO_MEMBERS}  # type: ignore[typeddict-item]
        if text is not None:
            row["value"] = text
        if cut:
            row["truncated"] = True
        if raw.is_one_of(obj, raw.ATOMS) and cls not in binary_data.BINARY_TYPES:  # most locals: worth a short cut
            if cls is str:
                row["length"] = len(obj)
                if cut:
                    self._add_reference(row, HANDLES.add_object(name, obj, self.parent))
            return row
        with contextlib.suppress(Exception):  # it changed while we looked: the row stands without them
            self._add_members(row, obj, ancestor)
        return row

    def _add_reference(self, row: VariableRow, handle: Handle) -> None:
        row["variables_reference"] = self.reply.keep_handle(handle)
        row["expandable"] = True

    def _add_members(self, row: VariableRow, obj: Any, ancestor: Optional[Handle]) -> None:
        members = Members(obj, self.deadline)
        base = binary_data.base_of(obj)
        length = members.known_length() if base is None else binary_data.byte_size(obj, base)
        hint = members.presentation_hint()
        is_long = base is not None and length is not None and length > INLINE_BYTES
        if members.before_items or members.items or is_long:
            self._add_reference(row, ancestor or HANDLES.add_object(row["name"], obj, self.parent))
            row["named_variables"] = members.named_count
            row["indexed_variables"] = members.indexed_count
        if length is not None:
            row["length"] = length
        if base is not None and self.terms.bytes:
            row["base64"] = binary_data.base64_text(binary_data.byte_window(obj, base, 0, self.terms.bytes))
            row["encoding"] = "base64"
            if length is not None and length > self.terms.bytes:
                row["truncated"] = True
        if ancestor is not None:
            row["circular"] = True
        if hint is not None:
            row["presentation_hint"] = hint
        row.update(members.value_facts(self.terms.detailed))  # type: ignore[typeddict-item]


def _small_text(obj: Any) -> Optional[str]:
    if not raw.is_one_of(obj, _SMALL_TYPES) and (type(obj) is not str or len(obj) >= _SMALL_LIMIT):
        return None
    text, cut = render_value(obj, _SMALL_LIMIT)
    return None if cut else text


def variable_row(
    name: str, obj: Any, reply: Reply, limit: int, deadline: Optional[float] = None, terms: RowDetail = SHORT
) -> VariableRow:
    return RowMaker(reply, deadline, terms).make_row(name, obj, limit)


def scope_rows(frame: FrameType, reply: Reply) -> List[ScopeRow]:
    found: List[ScopeRow] = []
    with guard():
        for kind, obj in ((LOCALS, frame), (GLOBALS, frame.f_globals)):
            handle = HANDLES.add_object(kind, obj, None, kind)
            row: ScopeRow = {"name": kind.capitalize(), "presentation_hint": kind, "expensive": False}
            row["variables_reference"] = reply.keep_handle(handle)
            row["named_variables"], row["indexed_variables"] = len(_names_in(handle)), 0
            found.append(row)
    return found


def locals_report(
    frame: FrameType,
    reply: Reply,
    budget: int,
    most: int,
    deadline: Optional[float] = None,
    line: Optional[int] = None,
) -> StopRow:
    """Return the frame's locals within `budget` characters of values.

    Names that the line at hand uses come first, modules, classes and functions last. `line` is that of a traceback.
    """
    with guard():
        found = frame_locals(frame)
        used = set(_NAME.findall(source_text.line_text(frame, line or frame.f_lineno)))
        ordered = sorted(found, key=lambda member: 2 if is_definition(member[1]) else member[0] not in used)
        rows = RowMaker(reply, deadline).make_rows(ordered[: max(0, most)], budget, 240)
        return {"variables": rows, "omitted": len(found) - len(rows)}


def frame_locals(frame: FrameType) -> List[Member]:
    """Return visible locals in the order of definition."""
    found, code = _visible_names(frame.f_locals), frame.f_code
    if code.co_flags & CO_OPTIMIZED:
        order = {name: place for place, name in enumerate(code.co_varnames + code.co_cellvars + code.co_freevars)}
        found.sort(key=lambda member: order.get(member[0], len(order)))
    return found


def _visible_names(namespace: Any) -> List[Member]:
    variables = frame_variables(namespace).items()
    return [(attribute_name(name), value) for name, value in variables if not raw.is_hidden(name)]


def _names_in(handle: Handle) -> List[Member]:
    return frame_locals(handle.obj) if handle.kind is LOCALS else _visible_names(handle.obj)


def children_page(
    reference: int, reply: Reply, deadline: Optional[float] = None, terms: RowDetail = DETAILED, **wish: Any
) -> VariablePage:
    """Return a page of what is under a reference, as a PageWish says.

    It ends early, with has_more, where its characters are used up.
    """
    handle = HANDLES.get(reference)
    if handle is None:
        return {"missing": True}
    page = PageWish(**{**wish, "start": max(0, wish.get("start") or 0)})
    is_value = handle.kind is VALUE
    with guard():
        answer = _part_of_data(handle.obj, page) if is_value else None
        if answer is None:
            answer = _page_of_rows(handle, page, RowMaker(reply, deadline, terms, handle if is_value else None))
        answer["variables_reference"] = reference
        return answer


def _part_of_data(obj: Any, page: PageWish) -> Optional[VariablePage]:
    """Return a part of bytes, or of a long string, as long as it fits; None for values with members."""
    room, start = max(0, (page.budget or page.limit_total) - ENVELOPE_SIZE), page.start
    base = binary_data.base_of(obj) if page.filter != "named" else None
    if base is not None:
        return binary_data.byte_page(obj, base, start, page.count, room)
    if type(obj) is not str:
        return None
    part = obj[start : start + min(page.count or 3000, binary_data.MAX_PAGE)]
    while len(part) > 1 and len(json.dumps(part)) > room:
        part = part[: len(part) // 2]
    total = len(obj)
    more = bool(part) and start + len(part) < total
    return {"variables": [], "text": encodable(part), "length": total, "total": total, "has_more": more}


def _page_of_rows(handle: Handle, page: PageWish, maker: RowMaker) -> VariablePage:
    budget, most = page.budget, page.count if page.count and page.count > 0 else PAGE
    affordable = max(1, (budget - ENVELOPE_SIZE) // (_ROW_SIZE + _SMALL_LIMIT)) if budget else MAX_PAGE
    stop = page.start + min(most, MAX_PAGE, affordable)
    found = _FoundMembers([], 0, 0)
    with contextlib.suppress(Exception):
        found = _find_members(handle, page, stop, maker.deadline)
    room = page.limit_total
    if budget:
        room = min(room, max(0, budget - ENVELOPE_SIZE - _ROW_SIZE * len(found.members)))
    rows = maker.make_rows(found.members, room, room)
    for place, row in enumerate(rows, page.start - found.before):
        if place >= 0 and found.before >= 0:
            row["index"] = place
    shown = _fitting_rows(rows, budget) if budget else rows
    more = bool(rows) and page.start + len(shown) < found.total
    answer: VariablePage = {"variables": shown, "total": found.total, "has_more": more}
    if found.incomplete:
        answer["incomplete"] = True
    return answer


def _fitting_rows(rows: List[VariableRow], budget: int) -> List[VariableRow]:
    """Return the rows that fit; the first always does, shortened if it must be."""
    left = budget - ENVELOPE_SIZE
    for place, row in enumerate(rows):
        needed = _json_size(row) + 1
        if needed > left:
            return rows[:place] or [_shortened_row(row, left - 1)]
        left -= needed
    return rows


def _json_size(row: VariableRow) -> int:
    return len(json.dumps(row, ensure_ascii=False, separators=(",", ":")))


def _shortened_row(found: VariableRow, room: int) -> VariableRow:
    row: Any = {**found, "truncated": True}
    for name in _DISPENSABLE:
        if _json_size(row) <= room:
            return row  # type: ignore[no-any-return]
        row.pop(name, None)
    for name, least in (("value", 0), ("name", _SHORT_NAME), ("type", _SHORT_NAME), ("name", 0), ("type", 0)):
        while _json_size(row) > room and len(row.get(name, "")) > least:
            row[name] = clip(row[name], max(least, len(row[name]) // 2))[0]
    return row  # type: ignore[no-any-return]


class _FoundMembers(NamedTuple):
    members: List[Member]
    total: int
    before: int = -1
    """how many come before those that have an index; -1 if none has one"""
    incomplete: bool = False


def _find_members(handle: Handle, page: PageWish, stop: int, deadline: Optional[float]) -> _FoundMembers:
    start, filter = page.start, page.filter
    if page.name:
        return _find_matching(handle, page, stop, page.name.lower(), deadline)
    if handle.kind is not VALUE:
        found = [] if filter == "indexed" else _names_in(handle)
        return _FoundMembers(found[start:stop], len(found))
    members = Members(handle.obj, deadline)
    named, indexed = members.named_count, members.indexed_count
    if filter == "indexed":
        return _FoundMembers(members.member_page(named + start, named + stop, deadline), indexed, 0)
    if filter == "named":
        return _FoundMembers(members.member_page(start, min(stop, named), deadline), named)
    return _FoundMembers(members.member_page(start, stop, deadline), named + indexed, named if indexed else -1)


def _find_matching(handle: Handle, page: PageWish, stop: int, name: str, deadline: Optional[float]) -> _FoundMembers:
    """Find variables, attributes, and string keys of mappings whose name contains the text."""
    if page.filter == "indexed":
        return _FoundMembers([], 0)
    members = Members(handle.obj, deadline) if handle.kind is VALUE else None
    named = _names_in(handle) if members is None else members.attributes
    found = [member for member in named if name in member[0].lower()]
    keyed: List[Tuple[Any, Any]] = []
    if members is not None and members.paired and members.base is not None:
        searched = islice(raw.iterate_items(handle.obj, members.base), NAMES_SEARCHED)
        keyed = [pair for pair in searched if type(pair[0]) is str and name in pair[0].lower()]
    first, last = max(0, page.start - len(found)), max(0, stop - len(found))
    shown = found[page.start : stop] + [(key_name(key, deadline), value) for key, value in keyed[first:last]]
    is_cut = members is not None and members.paired and members.items > NAMES_SEARCHED
    return _FoundMembers(shown, len(found) + len(keyed), -1, is_cut)
