"""Bounded representation of any object: time, size and the harm of a hostile __repr__ are limited."""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict, deque
from types import WrapperDescriptorType
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from . import arrays, binary, raw, records, routines, tables
from .interrupts import Interrupted, guard
from .lenses import Lens
from .looks import LOOKS, LOOKS_OF_SUBCLASSES, ODICT_AS_PAIRS
from .raw import type_name
from .texts import LEAVES, Leaf, Plain, Text, clip, encodable

__all__ = ["describe_error", "render", "type_name"]

MAX_DEPTH = 20
_MIN_CUT = 12
_MESSAGE_LIMIT = 120
_ARGUMENTS_LIMIT = 4000
_SHARED_DEPTH = 2


def render(obj: Any, limit: int, deadline: Optional[float] = None) -> Text:
    """At most `limit` characters, and whether something was left out."""
    try:
        text, cut = _render(obj, limit, deadline)
    except Exception as error:
        text, cut = "<%s object at %#x (cannot be shown: %s)>" % (type_name(obj), id(obj), type_name(error)), True
    if not text.isascii():
        text = encodable(text)
    if len(text) > limit:
        return clip(text, limit)[0], True
    return text, cut


def address(obj: Any, note: str = "") -> str:
    return "<%s object at %#x%s>" % (type_name(obj), id(obj), note)


def describe_error(error: BaseException, limit: int = _MESSAGE_LIMIT) -> str:
    """`Type: message`, whatever its __str__ does."""
    message = message_of(error)
    message = "" if message is None else str.__getitem__(message, slice(0, limit + 1))
    return clip(encodable(type_name(error) + (": " if message else "") + message), limit)[0]


def message_of(error: BaseException) -> Optional[str]:
    """As str() tells it; where nothing may run, as its arguments do."""
    with guard() as running:
        if not running.is_quiet:
            message: Optional[str] = running.attempt(str, error)
            return message
    args = raw.exception_args(error)
    if not args:
        return ""
    if raw.is_a(error, OSError) and len(args) > 1:
        told = "[Errno %s] %s" % tuple(_shown(raw.read(error, name)) for name in ("errno", "strerror"))
        path = raw.read(error, "filename")
        return told if path is None else "%s: %s" % (told, render(path, _MESSAGE_LIMIT)[0])
    if len(args) > 1 or raw.is_a(error, KeyError):
        return render(args[0] if len(args) == 1 else args, _ARGUMENTS_LIMIT)[0]
    return _shown(args[0])


def _shown(value: Any) -> str:
    return value if type(value) is str else render(value, _ARGUMENTS_LIMIT)[0]


def _render(obj: Any, limit: int, deadline: Optional[float]) -> Text:
    cls = type(obj)
    leaf = LEAVES.get(cls) if type(cls) is type else None
    if leaf is not None:
        return leaf(obj, limit)
    return _Writer(limit, deadline).text_of(obj)


_BASE_OF_SLOT: Dict[Any, type] = {
    raw.class_attribute(base, "__repr__"): base for base in (*LOOKS, *LEAVES) if base is not Plain
}
_MAXLEN = deque.__dict__["maxlen"].__get__
_DEFAULT_FACTORY = defaultdict.__dict__["default_factory"].__get__

# An open container: what closes it, how many items it has, how many are written, the one around it.
Level = Tuple[str, int, int, Any]


def _left_out(done: int, size: int) -> str:
    return "%s... (%d item%s)" % (", " if done else "", size, "" if size == 1 else "s")


def _tail(level: Optional[Level], until: Optional[Level] = None) -> str:
    """What closes all open containers, with the count of items where some are left out."""
    text = ""
    while level is not until and level is not None:
        closing, size, done, level = level
        if done < size:
            text += _left_out(done, size)
        text += closing
    return text


def _is_last(level: Optional[Level]) -> bool:
    while level is not None:
        if level[2] < level[1]:
            return False
        level = level[3]
    return True


class _Full(Exception):
    pass


class _Writer:
    """Writes until the limit, then goes back to the last item after which the tail fits."""

    __slots__ = ("cut", "deadline", "left", "open", "parts", "points")

    def __init__(self, limit: int, deadline: Optional[float]) -> None:
        self.parts: List[str] = []
        self.left = limit
        self.points: List[Tuple[int, int, Level]] = []
        self.open: Set[int] = set()
        self.cut = False
        self.deadline = deadline

    def text_of(self, obj: Any) -> Text:
        try:
            self.write(obj, None)
        except _Full:
            if not self.go_back(0, 0, None):
                return "...", True
        return "".join(self.parts), self.cut

    def go_back(self, first: int, reserved: int, outer: Optional[Level]) -> bool:
        """Closes what was opened since the point `first`, so that `reserved` characters stay free."""
        for count, left, level in reversed(self.points[first:]):
            tail = _tail(level, outer)
            if len(tail) <= left - reserved:
                self.parts[count:] = [tail]
                self.left = left - len(tail)
                self.cut = True
                return True
        return False

    def put(self, text: str) -> None:
        self.left -= len(text)
        if self.left < 0:
            raise _Full
        self.parts.append(text)

    def write(self, obj: Any, level: Optional[Level]) -> None:
        cls = type(obj)
        leaf: Optional[Leaf] = None
        base: Optional[type] = None
        if type(cls) is type:
            leaf = LEAVES.get(cls)
            base = cls if leaf is None and cls in LOOKS else None
        if leaf is None and base is None:
            slot = raw.class_attribute(cls, "__repr__")
            if type(slot) is WrapperDescriptorType:
                base = _BASE_OF_SLOT.get(slot)
                leaf = LEAVES.get(base) if base is not None else None
        if leaf is not None:
            self.write_leaf(obj, leaf, level)
        elif base is not None:
            self.write_container(obj, base, level)
        else:
            lens = lens_of(obj, self.deadline) or records.lens(obj)
            if lens is not None:
                self.write_parts(obj, lens, level)
            else:
                text = _own_text(obj) or foreign(obj, self.left + 1, self.deadline)
                self.write_leaf(text, clip, level)

    def write_leaf(self, obj: Any, leaf: Leaf, level: Optional[Level]) -> None:
        text, cut = leaf(obj, self.left)
        if cut:
            self.cut = True
            if level is not None:
                room = (self.left - len(_tail(level))) // (1 if _is_last(level) else 2)
                if room < _MIN_CUT:
                    raise _Full
                text = leaf(obj, room)[0]
        self.left -= len(text)
        self.parts.append(text)

    def write_container(self, obj: Any, base: type, outer: Optional[Level]) -> None:
        exact, key = type(obj) is base, id(obj)
        look = LOOKS[base] if exact else LOOKS_OF_SUBCLASSES.get(base, LOOKS[base])
        name = "" if exact else type_name(obj)
        if key in self.open or len(self.open) >= MAX_DEPTH:
            self.cut = self.cut or key not in self.open
            self.put(look.cycle.replace("%s", name))
            return
        size = raw.length(obj, base)
        opening = look.opening.replace("%s", name)
        closing = look.closing
        if base is defaultdict:
            self.put(opening)
            self.write(_DEFAULT_FACTORY(obj), outer)
            opening = ", {"
        elif base is deque and _MAXLEN(obj) is not None:
            closing = "], maxlen=%d)" % _MAXLEN(obj)
        elif not size:
            self.put(look.empty.replace("%s", name))
            return
        elif base is tuple and size == 1:
            closing = ",)"
        paired = base in raw.PAIRED and (base is not OrderedDict or ODICT_AS_PAIRS)
        self.write_open(key, opening, raw.iterate(obj, base), paired, (closing, size, 0, outer))

    def write_parts(self, obj: Any, lens: Lens, outer: Optional[Level]) -> None:
        if id(obj) in self.open or len(self.open) >= MAX_DEPTH:
            self.cut = self.cut or id(obj) not in self.open
            self.put(lens.opening + "..." + lens.closing)
        else:
            level = (lens.closing, lens.items, 0, outer)
            self.write_open(id(obj), lens.opening, lens.texts(), lens.paired, level, lens.separator)

    def write_open(
        self, key: int, opening: str, items: Iterator[Any], paired: bool, level: Level, separator: str = ": "
    ) -> None:
        closing, size, _, outer = level
        start, point = self.left, len(self.points)
        self.open.add(key)
        try:
            self.put(opening)
            self.write_items(items, paired, separator, closing, size, outer)
            self.put(closing)
        except _Full:
            # A big first item leaves room for its neighbours; deeper down that would cost too much time.
            if len(self.open) > _SHARED_DEPTH + 1 or _is_last(outer):
                raise
            reserved = start - (start - len(_tail(outer))) // 2
            if not self.go_back(point, reserved, outer):
                raise
        finally:
            self.open.discard(key)

    def write_items(
        self, items: Iterator[Any], paired: bool, separator: str, closing: str, size: int, outer: Optional[Level]
    ) -> None:
        parts, points, done = self.parts, self.points, 0
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
                if paired:
                    if separator == "=":
                        self.put(item[0])
                    else:
                        self.write(item[0], within)
                    self.put(separator)
                    item = item[1]
                self.write(item, within)
        except RuntimeError:  # another thread changed it
            self.cut = True
            self.put(", ..." if done else "...")
            return
        if done < size:  # a row of a table has more cells than it brings along
            self.cut = True
            self.put(_left_out(done, size))


def lens_of(obj: Any, deadline: Optional[float]) -> Optional[Lens]:
    """How to look at an array or a table; one that cannot be looked at is an object like any other."""
    try:
        if type(obj) is arrays.ArrayLens:
            return obj  # a part of one
        return arrays.lens(obj) or tables.lens(obj, deadline)
    except Exception:
        return None


def _own_text(obj: Any) -> Optional[str]:
    if type(obj) is memoryview:
        return binary.view_text(obj)
    return routines.progress_text(obj) if routines.is_paused_call(obj) else None


def foreign(obj: Any, limit: int, deadline: Optional[float]) -> str:
    """The object's own repr if it behaves, else what it is and why its repr is missing."""
    shown: str
    if raw.class_attribute(type(obj), "__repr__") is object.__repr__:
        shown = object.__repr__(obj) if raw.is_plainly_named(type(obj)) else address(obj)
        return shown
    with guard() as running:
        if running.interrupted or (deadline is not None and time.monotonic() >= deadline):
            return address(obj)
        text, error = running.call(repr, obj)
        try:
            if error is None:
                shown = str.__getitem__(text, slice(0, max(0, limit)))
                return shown
            if type(error) is Interrupted or running.interrupted:
                return address(obj, " (repr timed out)")
            return address(obj, " (repr raised %s)" % describe_error(error))
        finally:
            error = None
