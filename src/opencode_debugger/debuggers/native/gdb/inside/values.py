"""Values of the program as rows of an answer: bounded in size, whatever they are."""

from __future__ import annotations

import contextlib
import itertools
import operator
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import gdb

from .containers import Walk

if TYPE_CHECKING:
    from .row_types import Json, Member, ObjectRow, ValueRow

MOST_ELEMENTS = 200
DEPTH = 4
LARGE = 60000
"""bytes of an array, from which on gdb does not read it as a whole"""
MOST_COUNTED = 10000
"""children of a pretty-printed value that are counted one by one"""
MOST_BELIEVED = 1 << 40
"""elements of a container: more than any memory has room for"""
SIZE = re.compile(r"(?:(?:of length|with|of size) |\(size=)(\d+)(?: element|,|$| |\))")
"""How the printers of C++'s and Rust's containers say how many they hold."""
LISTED = 1000
"""members that are looked through at once"""
CUT = ('"...', "'...", ">...")
"""How gdb ends a text of which it shows only the beginning."""
REFERRING = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
WITH_FIELDS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"


class Reference:
    """The contents of something, to be asked for later."""

    def __init__(self, value: Any = None, members: list[Member] | None = None) -> None:
        self.value = value
        self.members = members
        self.walk = Walk()

    def count(self) -> int:
        """Count what it has; of a pointer to a structure, what that has."""
        if self.members is not None:
            return len(self.members)
        if _kind_of(self.value).code == gdb.TYPE_CODE_PTR and printer_of(self.value) is None:
            target = self.value.dereference()
            if _kind_of(target).code in WITH_FIELDS:
                return sum(count_contents(target)) if printer_of(target) is None else 1
        return sum(count_contents(self.value))

    def page(self, start: int, count: int) -> Iterator[Member]:
        if self.members is not None:
            return iter(self.members[start : start + count])
        return members(self.value, start, count, self.walk)

    def all_members(self) -> Iterator[Member]:
        """Go through those that were shown last, then through all."""
        for key, value in self.walk.shown:
            yield child_name(key), value
        for start in range(0, self.count(), LISTED):
            yield from self.page(start, LISTED)


class References:
    """Die when the program goes on: `stop` is the number of the stop they belong to."""

    def __init__(self) -> None:
        self.known: dict[int, Reference] = {}
        self._stop = -1
        self._numbers = itertools.count(1)

    def at(self, stop: int) -> None:
        if stop != self._stop:
            self._stop = stop
            self.known.clear()

    def add(self, reference: Reference) -> int:
        number = next(self._numbers)
        self.known[number] = reference
        return number


REFERENCES = References()


def _beginning_of(value: Any) -> tuple[Any, str]:
    """Return what can be shown of an array that is too long to be read as a whole."""
    kind = _kind_of(value)
    if kind.code != gdb.TYPE_CODE_ARRAY or kind.sizeof <= LARGE or value.address is None:
        return value, ""
    first, _ = kind.range()
    shown = kind.target().array(max(0, min(MOST_ELEMENTS, LARGE // max(1, kind.target().sizeof)) - 1))
    return value[first].address.cast(shown.pointer()).dereference(), "..."


def text_of(value: Any, limit: int = 2000) -> str:
    value, more = _beginning_of(_plain_value(value))
    elements = max(4, min(MOST_ELEMENTS, limit // 2))
    options: Json = {"max_elements": elements, "max_depth": DEPTH, "symbols": True, "styling": False}
    texts: Json = {**options, "max_characters": max(MOST_ELEMENTS, limit)}
    for attempt in (texts, options, {"max_elements": elements, "max_depth": DEPTH}, {}):
        try:
            text = str(value.format_string(**attempt))
            return text[:-1] + more + "}" if more and text.endswith("}") else text + more
        except TypeError:
            continue
        except Exception as error:
            return f"<error: {error}>"
    return str(value)


def value_row(name: str, value: Any, limit: int = 2000) -> ValueRow:
    value = _actual_value(value if isinstance(value, gdb.Value) else gdb.Value(value))
    type_name = str(value.type).replace(STRING, "std::string")
    made: ValueRow = {"name": name, "value": text_of(value, limit), "type": type_name, "reference": 0}
    if made["value"].endswith(CUT):
        made["truncated"] = True
    with contextlib.suppress(Exception):  # where it cannot be read, what could be said stands
        named, indexed = count_contents(value)
        if named or indexed:
            made["reference"], made["named"], made["indexed"] = REFERENCES.add(Reference(value)), named, indexed
            made["object"] = _object_of(value)
        if indexed:
            made["length"] = indexed
    return made


def failed_row(name: str, error: BaseException) -> ValueRow:
    return {"name": name, "value": f"<error: {error}>", "type": None, "reference": 0}


def _kind_of(value: Any) -> Any:
    return value.type.strip_typedefs()


def _plain_value(value: Any) -> Any:
    """The value itself, of a reference what it refers to."""
    return value.referenced_value() if _kind_of(value).code in REFERRING else value


def _object_of(value: Any) -> ObjectRow | None:
    leads = _kind_of(value).code in (gdb.TYPE_CODE_PTR, *REFERRING)
    value = _plain_value(value)
    kind = _kind_of(value)
    address = value.address
    if kind.code == gdb.TYPE_CODE_PTR:
        address, kind = value, kind.target().strip_typedefs()
    if address is None:
        return None
    return {"address": int(address), "type": str(kind.unqualified()), "is_led_to": leads}


def _actual_value(value: Any) -> Any:
    """Return a pointer or reference to a base class as one to the class that the object really is of."""
    kind = _kind_of(value)
    if kind.code not in (gdb.TYPE_CODE_PTR, *REFERRING) or kind.target().strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
        return value
    try:
        actual = value.dynamic_type
        return value.cast(actual) if actual.strip_typedefs() != kind else value
    except gdb.error:
        return value  # it leads nowhere


def count_contents(value: Any) -> tuple[int, int]:
    """How many named and how many indexed members it has."""
    value = _plain_value(value)
    printer = printer_of(value)
    if printer is not None:
        return _printed_counts(value, printer)
    kind = _kind_of(value)
    if kind.code == gdb.TYPE_CODE_ARRAY:
        first, last = kind.range()
        return 0, max(0, last - first + 1)
    if kind.code in WITH_FIELDS:
        return len(kind.fields()), 0
    if kind.code != gdb.TYPE_CODE_PTR:
        return 0, 0
    target = kind.target().strip_typedefs()
    is_text = target.code in (gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_INT) and target.sizeof == 1
    is_followed = not is_text and target.code not in (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_VOID)
    return int(is_followed and not value.is_optimized_out and int(value) != 0), 0


def printer_of(value: Any) -> Any:
    """Return what shows it. A variable that has no value yet can have any size, and lead anywhere: that is shown as it
    is in memory."""
    printer = gdb.default_visualizer(value)
    if not hasattr(printer, "children"):
        return printer
    try:
        size = _told_size(value, printer)
        _, first = next(iter(printer.children()), ("", None)) if size != 0 else ("", None)
        if isinstance(first, gdb.Value) and first.type.sizeof <= LARGE:
            first.fetch_lazy()
    except Exception:
        return None
    return printer if size is None or size <= MOST_BELIEVED else None


def _printed_counts(value: Any, printer: Any) -> tuple[int, int]:
    if not hasattr(printer, "children"):
        return 0, 0
    count = _told_size(value, printer)
    hint = _display_hint(printer)
    if count is None:
        count = sum(1 for _ in itertools.islice(printer.children(), MOST_COUNTED)) // (2 if hint == "map" else 1)
    return (0, count) if hint == "array" else (count, 0)


def _display_hint(printer: Any) -> str | None:
    return printer.display_hint() if hasattr(printer, "display_hint") else None


def _told_size(value: Any, printer: Any) -> int | None:
    """How many elements it says that it has; of a map, pairs."""
    count = printer.num_children() if hasattr(printer, "num_children") else None
    if count is not None:
        return int(count) // (2 if _display_hint(printer) == "map" else 1)
    found = SIZE.search(str(printer.to_string())) if hasattr(printer, "to_string") else None
    if found:
        return int(found[1])
    with contextlib.suppress(gdb.error):  # a std::list knows it, and its printer does not say it
        return int(value["_M_impl"]["_M_node"]["_M_size"])
    return None


def members(value: Any, start: int, count: int, walk: Walk | None = None) -> Iterator[Member]:
    """Some of what is inside, each with its name."""
    value = _plain_value(value)
    printer = printer_of(value)
    kind = _kind_of(value)
    if printer is not None:
        size = _told_size(value, printer)
        if size is not None and start >= size:
            return  # at once: there may be much to walk through before
        for key, item in (walk or Walk()).page(value, printer, start, count, sum(_printed_counts(value, printer))):
            yield child_name(key), item
    elif kind.code == gdb.TYPE_CODE_ARRAY:
        first, last = kind.range()
        for index in range(first + start, min(last + 1, first + start + count)):
            yield f"[{index}]", value[index]
    elif kind.code == gdb.TYPE_CODE_PTR:
        target = value.dereference()
        if printer_of(target) is None and _kind_of(target).code in WITH_FIELDS:
            yield from members(target, start, count)
        elif start == 0:
            yield "*", target
    else:
        for field in kind.fields()[start : start + count]:
            yield named_member(field.name or "<anonymous>", operator.getitem, value, field)


def named_member(name: str, read: Callable[[Any, Any], Any], *what: Any) -> Member:
    """Return what is read under its name, or in its place why that fails."""
    try:
        return name, read(*what)
    except Exception as error:
        return name, f"<error: {error}>"


def child_name(key: Any) -> str:
    """Printers name what they list, except what is in a map: that goes by its key."""
    return f"[{text_of(key, 100)}]" if isinstance(key, gdb.Value) else str(key)
