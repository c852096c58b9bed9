"""Represents any object within bounds: time, size and the harm of a hostile __repr__ are limited."""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from types import WrapperDescriptorType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from ..python_versions import EXCEPTION_GROUP, ORDERED_DICT_SHOWS_DICT
from ..rpc.interrupts import Interrupted, guard
from . import binary_data, numpy_arrays, pandas_tables, raw, routines
from .atom_texts import LEAVES, Leaf, Text, clip, encodable
from .raw import type_name
from .sequence_views import FieldsView, Labelled, SequenceView, record_view

_MESSAGE_LIMIT = 120
_ARGUMENTS_LIMIT = 4000


class ContainerLook(NamedTuple):
    """The words of a builtin container's own repr; %s is the name of its class."""

    opening: str
    closing: str
    empty: str
    cycle: str


LOOKS: Dict[type, ContainerLook] = {
    list: ContainerLook("[", "]", "[]", "[...]"),
    tuple: ContainerLook("(", ")", "()", "(...)"),
    dict: ContainerLook("{", "}", "{}", "{...}"),
    set: ContainerLook("{", "}", "set()", "set(...)"),  # one of a class derived from it looks like a frozenset
    frozenset: ContainerLook("%s({", "})", "%s()", "%s(...)"),
    deque: ContainerLook("%s([", "])", "%s([])", "[...]"),
    OrderedDict: ContainerLook(*(("%s({", "})") if ORDERED_DICT_SHOWS_DICT else ("%s([", "])")), "%s()", "..."),
    defaultdict: ContainerLook("%s(", "})", "%s()", "%s(...)"),
    **dict.fromkeys(raw.DICT_VIEWS, ContainerLook("%s([", "])", "%s([])", "...")),
}


def render_value(obj: Any, limit: int, deadline: Optional[float] = None) -> Text:
    """Return at most `limit` characters, and whether something was left out."""
    cls = type(obj)
    leaf = LEAVES.get(cls) if type(cls) is type else None
    try:
        text, cut = leaf(obj, limit) if leaf is not None else _Writer(limit, deadline).text_of(obj)
    except Exception as error:
        text, cut = address_text(obj, " (cannot be shown: %s)" % type_name(error)), True
    if not text.isascii():
        text = encodable(text)
    if len(text) > limit:
        return clip(text, limit)[0], True
    return text, cut


def render_fields(obj: Any, fields: Labelled, limit: int) -> Text:
    """Return an object as `Class(name=value, …)`, whatever its own repr would tell."""
    text, cut = _Writer(limit, None).text_of(obj, FieldsView(type_name(obj), fields))
    return encodable(text), cut


def address_text(obj: Any, note: str = "") -> str:
    return "<%s object at %#x%s>" % (type_name(obj), id(obj), note)


def describe_error(error: BaseException, limit: int = _MESSAGE_LIMIT) -> str:
    """Return `Type: message`, whatever its __str__ does."""
    message = message_of(error)
    message = "" if message is None else str.__getitem__(message, slice(0, limit + 1))
    return clip(encodable(type_name(error) + (": " if message else "") + message), limit)[0]


def message_of(error: BaseException) -> Optional[str]:
    """Return what str() tells, or where nothing may run, what its arguments tell."""
    with guard() as running:
        if not running.is_quiet:
            return running.attempt(str, error)  # type: ignore[no-any-return]
    args = raw.exception_args(error)
    if not args:
        return ""
    if EXCEPTION_GROUP is not None and raw.is_a(error, EXCEPTION_GROUP) and len(args) == 2:
        count = len(raw.read_attribute(error, "exceptions", ()))
        return "%s (%d sub-exception%s)" % (_argument_text(args[0]), count, "" if count == 1 else "s")
    if raw.is_a(error, OSError) and len(args) > 1:
        number, reason, path = (raw.read_attribute(error, name) for name in ("errno", "strerror", "filename"))
        told = "[Errno %s] %s" % (_argument_text(number), _argument_text(reason))
        return told if path is None else "%s: %s" % (told, render_value(path, _MESSAGE_LIMIT)[0])
    if len(args) > 1 or raw.is_a(error, KeyError):
        return render_value(args[0] if len(args) == 1 else args, _ARGUMENTS_LIMIT)[0]
    return _argument_text(args[0])


def _argument_text(value: Any) -> str:
    return value if type(value) is str else render_value(value, _ARGUMENTS_LIMIT)[0]


_BASE_OF_SLOT: Dict[Any, type] = {raw.class_attribute(base, "__repr__"): base for base in (*LOOKS, *LEAVES)}
_MAXLEN = deque.__dict__["maxlen"].__get__
_DEFAULT_FACTORY = defaultdict.__dict__["default_factory"].__get__

# An open container: what closes it, how many items it has, how many are written, the one around it.
Level = Tuple[str, int, int, Any]


def _left_out(done: int, size: int) -> str:
    return "%s... (%d item%s)" % (", " if done else "", size, "" if size == 1 else "s")


def _closing_tail(level: Optional[Level], until: Optional[Level] = None) -> str:
    """Return the text that closes all open containers, with the count of items where some are left out."""
    text = ""
    while level is not until and level is not None:
        closing, size, done, level = level
        if done < size:
            text += _left_out(done, size)
        text += closing
    return text


def _is_last(level: Optional[Level]) -> bool:
    return level is None or (level[2] >= level[1] and _is_last(level[3]))


class _Full(Exception):
    pass


@dataclass(eq=False)
class _Writer:
    """Writes until the limit, then goes back to the last item after which the tail fits."""

    left: int
    deadline: Optional[float]
    parts: List[str] = field(default_factory=list)
    points: List[Tuple[int, int, Level]] = field(default_factory=list)
    open: Set[int] = field(default_factory=set)
    cut: bool = False

    def text_of(self, obj: Any, view: Optional[SequenceView] = None) -> Text:
        try:
            if view is None:
                self.write_value(obj, None)
            else:
                self.write_view(obj, view, None)
        except _Full:
            if not self.go_back(0, 0, None):
                return "...", True
        return "".join(self.parts), self.cut

    def go_back(self, first: int, reserved: int, outer: Optional[Level]) -> bool:
        """Close what was opened since the point `first`, so that `reserved` characters stay free."""
        for count, left, level in reversed(self.points[first:]):
            tail = _closing_tail(level, outer)
            if len(tail) <= left - reserved:
                self.parts[count:] = [tail]
                self.left = left - len(tail)
                self.cut = True
                return True
        return False

    def put_text(self, text: str) -> None:
        self.left -= len(text)
        if self.left < 0:
            raise _Full
        self.parts.append(text)

    def write_value(self, obj: Any, level: Optional[Level]) -> None:
        cls = type(obj)
        base = cls if type(cls) is type and (cls in LEAVES or cls in LOOKS) else None
        if base is None:
            slot = raw.class_attribute(cls, "__repr__")
            base = _BASE_OF_SLOT.get(slot) if type(slot) is WrapperDescriptorType else None
        if base in LEAVES:
            self.write_leaf(obj, LEAVES[base], level)
        elif base is not None:
            self.write_container(obj, base, level)
        else:
            view = view_of(obj, self.deadline) or record_view(obj)
            if view is None:
                self.write_leaf(_other_text(obj, self.left + 1, self.deadline), clip, level)
            else:
                self.write_view(obj, view, level)

    def write_view(self, obj: Any, view: SequenceView, level: Optional[Level]) -> None:
        if not self.write_again(id(obj), view.opening + "..." + view.closing):
            inner = (view.closing, view.items, 0, level)
            separator = view.separator if view.paired else None
            self.write_open(id(obj), view.opening, view.shown_items(), separator, inner)

    def write_leaf(self, obj: Any, leaf: Leaf, level: Optional[Level]) -> None:
        text, cut = leaf(obj, self.left)
        if cut:
            self.cut = True
            if level is not None:
                room = (self.left - len(_closing_tail(level))) // (1 if _is_last(level) else 2)
                if room < 12:
                    raise _Full
                text = leaf(obj, room)[0]
        self.left -= len(text)
        self.parts.append(text)

    def write_container(self, obj: Any, base: type, outer: Optional[Level]) -> None:
        name, key = type_name(obj), id(obj)
        look = LOOKS[frozenset if base is set and type(obj) is not set else base]
        if self.write_again(key, look.cycle.replace("%s", name)):
            return
        size = raw.container_length(obj, base)
        opening = look.opening.replace("%s", name)
        closing = look.closing
        if base is defaultdict:
            self.put_text(opening)
            self.write_value(_DEFAULT_FACTORY(obj), outer)
            opening = ", {"
        elif base is deque and _MAXLEN(obj) is not None:
            closing = "], maxlen=%d)" % _MAXLEN(obj)
        elif not size:
            self.put_text(look.empty.replace("%s", name))
            return
        elif base is tuple and size == 1:
            closing = ",)"
        paired = base in raw.PAIRED and (base is not OrderedDict or ORDERED_DICT_SHOWS_DICT)
        items, separator = raw.iterate_items(obj, base), ": " if paired else None
        self.write_open(key, opening, items, separator, (closing, size, 0, outer))

    def write_again(self, key: int, text: str) -> bool:
        """Write the text in place of a container that is open already, or too deep inside others."""
        if key not in self.open and len(self.open) < 20:
            return False
        self.cut = self.cut or key not in self.open
        self.put_text(text)
        return True

    def write_open(self, key: int, opening: str, items: Iterator[Any], separator: Optional[str], level: Level) -> None:
        """Write a container; where there is a separator, its items are pairs."""
        start, point, outer = self.left, len(self.points), level[3]
        self.open.add(key)
        try:
            self.put_text(opening)
            self.write_items(items, separator, level)
            self.put_text(level[0])
        except _Full:
            # A big first item leaves room for its neighbours; deeper down that would cost too much time.
            if len(self.open) > 3 or _is_last(outer):
                raise
            reserved = start - (start - len(_closing_tail(outer))) // 2
            if not self.go_back(point, reserved, outer):
                raise
        finally:
            self.open.discard(key)

    def write_items(self, items: Iterator[Any], separator: Optional[str], level: Level) -> None:
        parts, points = self.parts, self.points
        closing, size, done, outer = level
        try:
            for item in items:
                points.append((len(parts), self.left, (closing, size, done, outer)))
                if done:
                    self.left -= 2
                    parts.append(", ")
                done += 1
                cls = type(item)
                leaf = LEAVES.get(cls) if type(cls) is type else None
                if leaf is not None:  # the common case, without the calls below
                    text, cut = leaf(item, self.left)
                    if not cut:
                        self.left -= len(text)
                        parts.append(text)
                        continue
                within = (closing, size, done, outer)
                if separator is not None:
                    if separator == "=":
                        self.put_text(item[0])
                    else:
                        self.write_value(item[0], within)
                    self.put_text(separator)
                    item = item[1]
                self.write_value(item, within)
        except RuntimeError:  # another thread changed it
            self.cut = True
            self.put_text(", ..." if done else "...")
            return
        if done < size:  # a row of a table has more cells than it brings along
            self.cut = True
            self.put_text(_left_out(done, size))


def view_of(obj: Any, deadline: Optional[float]) -> Optional[SequenceView]:
    """Return a view of an array or a table; one that cannot be looked at is an object like any other."""
    try:
        if type(obj) is numpy_arrays.ArrayView:
            return obj  # a part of an array
        return numpy_arrays.array_view(obj) or pandas_tables.table_view(obj, deadline)
    except Exception:
        return None


def _other_text(obj: Any, limit: int, deadline: Optional[float]) -> str:
    """Return the object's own repr if it behaves, else what it is and why its repr is missing."""
    if type(obj) is memoryview:
        return binary_data.view_text(obj)
    if routines.is_paused_call(obj):
        return routines.progress_text(obj)
    if raw.class_attribute(type(obj), "__repr__") is object.__repr__:
        return object.__repr__(obj) if raw.is_plainly_named(type(obj)) else address_text(obj)
    with guard() as running:
        if running.interrupted or (deadline is not None and time.monotonic() >= deadline):
            return address_text(obj)
        text, error = running.call(repr, obj)
        try:
            if error is None:
                return str.__getitem__(text, slice(0, max(0, limit)))
            if type(error) is Interrupted or running.interrupted:
                return address_text(obj, " (repr timed out)")
            return address_text(obj, " (repr raised %s)" % describe_error(error))
        finally:
            error = None
