"""Values of the program as rows of an answer: bounded in size, whatever they are."""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Iterator
from typing import Any

from .containers import Walk

gdb: Any = importlib.import_module("gdb")

Json = dict[str, Any]
Member = tuple[str, Any]

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
CUT = ('"...', "'...", ">...")
"""How gdb ends a text of which it shows only the beginning."""
REFERRING = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"


class Reference:
    """What is inside of something, to be asked for later."""

    def __init__(self, value: Any = None, members: list[Member] | None = None) -> None:
        self.value = value
        self.members = members
        self.walk = Walk()


class References:
    """Die when the program goes on: `stop` is the number of the stop they belong to."""

    def __init__(self) -> None:
        self._known: dict[int, Reference] = {}
        self._stop = -1
        self._last = 0

    def at(self, stop: int) -> None:
        if stop != self._stop:
            self._stop = stop
            self._known.clear()

    def add(self, reference: Reference) -> int:
        self._last += 1
        self._known[self._last] = reference
        return self._last

    def get(self, number: int) -> Reference | None:
        return self._known.get(number)


REFERENCES = References()


def text_of(value: Any, limit: int = 2000) -> str:
    return _text_of(*_beginning(_plain(value)), limit)


def _beginning(value: Any) -> tuple[Any, str]:
    """Of an array that is too long to be read as a whole, what can be shown of it."""
    kind = value.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_ARRAY or kind.sizeof <= LARGE or value.address is None:
        return value, ""
    first, _ = kind.range()
    shown = kind.target().array(max(0, min(MOST_ELEMENTS, LARGE // max(1, kind.target().sizeof)) - 1))
    return value[first].address.cast(shown.pointer()).dereference(), "..."


def _text_of(value: Any, more: str, limit: int) -> str:
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


def row(name: str, value: Any, limit: int = 2000) -> Json:
    value = _actual(value if isinstance(value, gdb.Value) else gdb.Value(value))
    made: Json = {"name": name, "value": text_of(value, limit), "type": type_of(value), "reference": 0}
    if made["value"].endswith(CUT):
        made["truncated"] = True
    try:
        named, indexed = counts(value)
        if named or indexed:
            made.update(reference=REFERENCES.add(Reference(value)), named=named, indexed=indexed)
            made["object"] = _object(value)
        if indexed:
            made["length"] = indexed
    except Exception:
        return made  # it cannot be read: what could be said stands
    return made


def type_of(value: Any) -> str:
    return str(value.type).replace(STRING, "std::string")


def failed(name: str, error: BaseException) -> Json:
    return {"name": name, "value": f"<error: {error}>", "type": None, "reference": 0}


def _plain(value: Any) -> Any:
    """The value itself, of a reference what it refers to."""
    if value.type.strip_typedefs().code in REFERRING:
        return value.referenced_value()
    return value


def _object(value: Any) -> Json | None:
    """What is shown, by its place in memory and its type; of a pointer or reference, what it leads to."""
    leads = value.type.strip_typedefs().code in (gdb.TYPE_CODE_PTR, *REFERRING)
    value = _plain(value)
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        address, kind = value, kind.target().strip_typedefs()
    else:
        address = value.address
    if address is None:
        return None
    return {"address": int(address), "type": str(kind.unqualified()), "is_led_to": leads}


def _actual(value: Any) -> Any:
    """Of a pointer or reference to a base class, as the class that the object really is of."""
    kind = value.type.strip_typedefs()
    if kind.code not in (gdb.TYPE_CODE_PTR, *REFERRING) or kind.target().strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
        return value
    try:
        actual = value.dynamic_type
        return value.cast(actual) if actual.strip_typedefs() != kind else value
    except gdb.error:
        return value  # it leads nowhere


def _is_text(kind: Any) -> bool:
    kind = kind.strip_typedefs()
    return kind.code in (gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_INT) and kind.sizeof == 1


def counts(value: Any) -> tuple[int, int]:
    """How many named and how many indexed members it has."""
    value = _plain(value)
    printer = printer_of(value)
    if printer is not None:
        return _printed_counts(value, printer)
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_ARRAY:
        first, last = kind.range()
        return 0, max(0, last - first + 1)
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return len(kind.fields()), 0
    if kind.code == gdb.TYPE_CODE_PTR:
        return (1 if _is_followed(value, kind) else 0), 0
    return 0, 0


def _is_followed(value: Any, kind: Any) -> bool:
    target = kind.target().strip_typedefs()
    if target.code in (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_VOID) or _is_text(target):
        return False
    return not value.is_optimized_out and int(value) != 0


def printer_of(value: Any) -> Any:
    """What shows it. A variable that has no value yet can have any size, and lead anywhere: that is shown as it is in
    memory."""
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
    hint = _hint(printer)
    if count is None:
        count = sum(1 for _ in itertools.islice(printer.children(), MOST_COUNTED)) // (2 if hint == "map" else 1)
    return (0, count) if hint == "array" else (count, 0)


def _hint(printer: Any) -> str | None:
    return printer.display_hint() if hasattr(printer, "display_hint") else None


def _told_size(value: Any, printer: Any) -> int | None:
    """How many elements it says that it has; of a map, pairs."""
    count = printer.num_children() if hasattr(printer, "num_children") else None
    if count is not None:
        return int(count) // (2 if _hint(printer) == "map" else 1)
    found = SIZE.search(str(printer.to_string())) if hasattr(printer, "to_string") else None
    return int(found[1]) if found else _list_size(value)


def _list_size(value: Any) -> int | None:
    """A std::list knows it, and its printer does not say it."""
    try:
        return int(value["_M_impl"]["_M_node"]["_M_size"])
    except gdb.error:
        return None


def members(value: Any, start: int, count: int, walk: Walk | None = None) -> Iterator[Member]:
    """Some of what is inside, each with its name."""
    value = _plain(value)
    printer = printer_of(value)
    kind = value.type.strip_typedefs()
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
        if printer_of(target) is None and target.type.strip_typedefs().code in (
            gdb.TYPE_CODE_STRUCT,
            gdb.TYPE_CODE_UNION,
        ):
            yield from members(target, start, count)
        elif start == 0:
            yield "*", target
    else:
        for field in kind.fields()[start : start + count]:
            yield _field(value, field)


def _field(value: Any, field: Any) -> Member:
    name = field.name or "<anonymous>"
    try:
        return name, value[field]
    except Exception as error:
        return name, f"<error: {error}>"


def child_name(key: Any) -> str:
    """Printers name what they list, except what is in a map: that goes by its key."""
    return f"[{text_of(key, 100)}]" if isinstance(key, gdb.Value) else str(key)
