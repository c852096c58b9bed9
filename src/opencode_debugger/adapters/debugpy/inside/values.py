"""Scopes, variables and their children as JSON-able dicts, behind references that die with their reply."""

from __future__ import annotations

from types import FrameType
from typing import Any, Dict, List, Optional, Tuple

from . import raw
from .handles import GLOBALS, HANDLES, LOCALS, VALUE, Handle, Reply, start_references_at
from .interrupts import guard
from .members import Member, Members, attribute_name, is_definition, known_length, presentation_hint
from .raw import type_name
from .repr import render
from .texts import clip

__all__ = ["Reply", "children", "locals_report", "scopes", "start_references_at", "variable"]

Json = Dict[str, Any]

MAX_PAGE = 1000
REPORT_VALUE_LIMIT = 240
_SMALL = 40
_OPTIMIZED = 0x1
_SMALL_TYPES = frozenset((type(None), bool, int, float, complex))


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
) -> Json:
    """One row; `parent` is the handle it was found under, which is how a circle is noticed."""
    ancestor = _ancestor(obj, parent)
    if ancestor is not None:
        text, cut = clip("<circular: %s>" % ancestor.name, limit)
    else:
        text, cut = render(obj, limit, deadline)
    return _row(name, obj, text, cut, reply, parent, ancestor)


def children(
    reference: int,
    start: int = 0,
    count: Optional[int] = None,
    filter: Optional[str] = None,
    limit_total: int = 20000,
    deadline: Optional[float] = None,
    reply: Optional[Reply] = None,
) -> Json:
    """A page of what is under a reference; it ends early, with has_more, where limit_total is used up."""
    handle = HANDLES.get(reference)
    if handle is None:
        return {"missing": True}
    start = max(0, start or 0)
    count = min(count if count and count > 0 else MAX_PAGE, max(1, limit_total))
    with guard():
        try:
            page, total = _page(handle, start, count, filter, deadline)
        except Exception:
            page, total = [], 0
        owner = handle if handle.kind is VALUE else None
        rows = _rows(page, reply if reply is not None else Reply(), limit_total, limit_total, deadline, owner)
        more = bool(rows) and start + len(rows) < total
        return {"variables_reference": reference, "variables": rows, "total": total, "has_more": more}


def locals_report(
    frame: FrameType, reply: Reply, budget: int, max_names: int, deadline: Optional[float] = None
) -> Json:
    """The frame's locals within `budget` characters of values; modules, classes and functions come last."""
    with guard():
        found = frame_locals(frame)
        data = [member for member in found if not is_definition(member[1])]
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
    if raw.is_a(namespace, dict):
        snapshot = raw.pairs(namespace)
    else:
        with guard() as running:
            snapshot = list((running.attempt(dict, namespace) or {}).items())
    return [(attribute_name(name), value) for name, value in snapshot if not raw.is_hidden(name)]


def _names_in(handle: Handle) -> List[Member]:
    return frame_locals(handle.obj) if handle.kind is LOCALS else _visible(handle.obj)


def _page(
    handle: Handle, start: int, count: int, filter: Optional[str], deadline: Optional[float]
) -> Tuple[List[Member], int]:
    stop = start + count
    if handle.kind is not VALUE:
        found = [] if filter == "indexed" else _names_in(handle)
        return found[start:stop], len(found)
    members = Members(handle.obj)
    named, total = members.named, members.named + members.indexed
    if filter == "indexed":
        return members.page(named + start, named + stop, deadline), members.indexed
    if filter == "named":
        return members.page(start, min(stop, named), deadline), named
    return members.page(start, stop, deadline), total


def _rows(
    page: List[Member], reply: Reply, budget: int, most: int, deadline: Optional[float], owner: Optional[Handle]
) -> List[Json]:
    """As many rows as the budget affords, at least one; small values in full, the rest shares what is left."""
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
            rows.append(_row(name, obj, text[: max(0, budget)], len(text) > budget, reply, owner, None))
            continue
        row = variable(name, obj, reply, min(most, max(0, left) // big), deadline, owner)
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
    name: str, obj: Any, text: str, cut: bool, reply: Reply, parent: Optional[Handle], ancestor: Optional[Handle]
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
    if cut:
        row["truncated"] = True
    if type(cls) is type and cls in raw.ATOMS:  # most locals: worth a short cut
        if cls in raw.TEXTS:
            row["length"] = len(obj)
        return row
    try:
        _add_members(row, obj, reply, parent, ancestor)
    except Exception:
        return row  # it changed while we looked: the row stands without them
    return row


def _add_members(row: Json, obj: Any, reply: Reply, parent: Optional[Handle], ancestor: Optional[Handle]) -> None:
    members = Members(obj)
    length = known_length(obj, members)
    hint = presentation_hint(obj, members)
    if members.attributes or members.items:
        row["variables_reference"] = reply.keep(ancestor or HANDLES.add(row["name"], obj, parent))
        row["named_variables"] = members.named
        row["indexed_variables"] = members.indexed
    if length is not None:
        row["length"] = length
    if ancestor is not None:
        row["circular"] = True
    if hint is not None:
        row["presentation_hint"] = hint
