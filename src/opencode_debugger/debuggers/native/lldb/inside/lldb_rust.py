"""Runs inside lldb, on its own Python: values of Rust.

The code that comes with rustc believes every length that it finds. Here a variable that has no value yet is shown as
it is in memory, and no more is read than somebody looks at.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

lldb: Any = importlib.import_module("lldb")

LONGEST_TEXT = 20_000
"""bytes of a text that are shown"""
MOST_BYTES = 1 << 40
"""that anything has in memory"""
MOST_BUCKETS = 1 << 24
CHUNK = 4096
SHOWN, DEEPEST = 10, 4
"""Fields that are shown in one line, and how many levels of them."""
_depth = 0
"""how many values are being shown, each inside of the one before"""
VARIANTS, DISCRIMINANT = "$variants$", "$discr$"
NAMES = {
    "Vec": r"^alloc::vec::Vec<.+>$",
    "Deque": r"^alloc::collections::vec_deque::VecDeque<.+>$",
    "Slice": r"^(&(mut )?\[.+\]|alloc::boxed::Box<\[.+)$",
    "HashTable": r"^std::collections::hash::(map::HashMap|set::HashSet)<.+>$",
    "Counted": r"^alloc::(rc::Rc|sync::Arc)<.+>$",
}
TEXTS = r"^(alloc::string::String|&(mut )?str|alloc::boxed::Box<str.*>)$"
TUPLES = r"^\(.*\)$"
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"})


def _raw_value(value: Any) -> Any:
    """Return what is in memory; of a reference, what it leads to."""
    value = value.GetNonSyntheticValue()
    return value.Dereference().GetNonSyntheticValue() if value.GetType().IsPointerType() else value


def _find_member(value: Any, *path: str) -> Any:
    for name in path:
        value = value.GetChildMemberWithName(name).GetNonSyntheticValue()
    return value


def _field_number(value: Any, *path: str) -> int:
    """Return the number in a field, or in what wraps it."""
    found = _find_member(value, *path)
    while found.IsValid() and found.GetNumChildren() and not found.GetType().IsPointerType():
        found = found.GetChildAtIndex(0).GetNonSyntheticValue()
    return int(found.GetValueAsUnsigned(0))


def _read_bytes(process: Any, address: int, size: int) -> bytes:
    """None of it, if not all can be read."""
    error = lldb.SBError()
    data = process.ReadMemory(address, size, error) if address and size else b""
    return data if error.Success() and data is not None and len(data) == size else b""


def _vec_buffer(vec: Any) -> tuple[int, int]:
    """Return where the elements are, and how many have room there; older versions of the library have no `inner`."""
    buffer = _find_member(vec, "buf")
    inner = _find_member(buffer, "inner")
    found = inner if inner.IsValid() else buffer
    return _field_number(found, "ptr"), _field_number(found, "cap")


class Shown:
    """Children of a value: those that it has in the eyes of its language, else those that it has in memory."""

    def __init__(self, value: Any, _: Any) -> None:
        self._value = value
        self._size: int | None = None

    def update(self) -> bool:
        self._raw = _raw_value(self._value)
        self._process = self._raw.GetProcess()
        is_there = self._raw.IsValid() and self._raw.GetError().Success()
        self._size = self._element_count() if is_there else None
        return False

    def _element_count(self) -> int | None:
        """How many elements it has; none if that cannot be."""
        raise NotImplementedError

    def _element_address(self, index: int) -> int:
        raise NotImplementedError

    _element: Any = None
    """their type"""

    def has_children(self) -> bool:
        return self.num_children() > 0

    def num_children(self) -> int:
        return int(self._raw.GetNumChildren()) if self._size is None else self._size

    def get_child_index(self, name: str) -> int:
        if self._size is None:
            return int(self._raw.GetIndexOfChildWithName(name))
        found = re.fullmatch(r"\[([0-9]+)\]", name)
        return int(found[1]) if found else -1

    def get_child_at_index(self, index: int) -> Any:
        if self._size is None:
            return self._raw.GetChildAtIndex(index)
        address = self._element_address(index) if 0 <= index < self._size else 0
        return self._raw.CreateValueFromAddress(f"[{index}]", address, self._element) if address else None

    def summary(self) -> str:
        """Empty where nothing can be said: of a None, lldb would show the word."""
        return "" if self._size is None else f"size={self._size}"

    def _is_array(self, address: int, count: int, capacity: int) -> bool:
        """Say if there can be that many elements from there on."""
        width = int(self._element.GetByteSize())
        if not width or not count:
            return count <= MOST_BYTES
        if count > capacity or capacity * width > MOST_BYTES:
            return False
        return all(_read_bytes(self._process, end, 1) for end in (address, address + count * width - 1))


class Vec(Shown):
    def _element_count(self) -> int | None:
        self._element = self._raw.GetType().GetTemplateArgumentType(0)
        self._first, self._capacity = _vec_buffer(self._raw)
        length = _field_number(self._raw, "len")
        return length if self._is_array(self._first, length, self._capacity) else None

    def _element_address(self, index: int) -> int:
        return self._first + index * int(self._element.GetByteSize())


class Deque(Vec):
    def _element_count(self) -> int | None:
        self._head = _field_number(self._raw, "head")
        size = super()._element_count()
        return size if size is not None and self._head <= self._capacity else None

    def _is_array(self, address: int, count: int, capacity: int) -> bool:
        return count <= capacity and super()._is_array(address, capacity if count else 0, capacity)

    def _element_address(self, index: int) -> int:
        return super()._element_address((self._head + index) % max(1, self._capacity))


class Slice(Vec):
    def _element_count(self) -> int | None:
        first = _find_member(self._raw, "data_ptr")
        self._element, self._first = first.GetType().GetPointeeType(), int(first.GetValueAsUnsigned(0))
        length = _field_number(self._raw, "length")
        return length if self._is_array(self._first, length, length) else None


class HashTable(Shown):
    def _element_count(self) -> int | None:
        outer = _find_member(self._raw, "base")
        is_map = _find_member(outer, "table").IsValid()
        table = _find_member(outer if is_map else _find_member(outer, "map"), "table")
        self._element = (table if is_map else self._raw).GetType().GetTemplateArgumentType(0)  # of a set, its keys
        inner = _find_member(table, "table")
        self._control, self._buckets = _field_number(inner, "ctrl"), _field_number(inner, "bucket_mask") + 1
        size = _field_number(inner, "items")
        is_table = not self._buckets & (self._buckets - 1) and size <= self._buckets <= MOST_BUCKETS
        self._found: list[int] = []
        self._rest = self._full_slots()
        return size if is_table and _read_bytes(self._process, self._control, 1) else None

    def _full_slots(self) -> Iterator[int]:
        """The addresses of elements: they are before the control bytes, in the opposite order."""
        width = int(self._element.GetByteSize())
        for start in range(0, self._buckets, CHUNK):
            states = _read_bytes(self._process, self._control + start, min(CHUNK, self._buckets - start))
            for place, state in enumerate(states, start + 1):
                if not state & 0x80:  # which is set where a bucket has nothing in it
                    yield self._control - place * width

    def _element_address(self, index: int) -> int:
        while len(self._found) <= index:
            address = next(self._rest, 0)
            if not address:
                return 0
            self._found.append(address)
        return self._found[index]


class Counted(Shown):
    """What an Rc or Arc leads to."""

    def _element_count(self) -> int | None:
        pointer = _find_member(self._raw, "ptr", "pointer")
        if not pointer.GetType().IsPointerType():
            return None  # of a trait's object nobody knows the type
        self._box = pointer.Dereference().GetNonSyntheticValue()
        name = "value" if _find_member(self._box, "value").IsValid() else "data"
        self._inner = self._box.GetChildMemberWithName(name)
        is_there = self._inner.IsValid() and _read_bytes(self._process, int(pointer.GetValueAsUnsigned(0)), 1)
        return 1 if is_there else None

    def get_child_index(self, name: str) -> int:
        return super().get_child_index(name) if self._size is None else 0 if name == "value" else -1

    def get_child_at_index(self, index: int) -> Any:
        if self._size is None:
            return super().get_child_at_index(index)
        return self._inner.Clone("value") if index == 0 else None

    def summary(self) -> str:
        if self._size is None:
            return ""
        weak = max(0, _field_number(self._box, "weak") - 1)  # all that are strong count as one
        return f"(strong={_field_number(self._box, 'strong')}, weak={weak}) {_text_of(self._inner)}"


class Enum(Shown):
    """The fields of the variant that it is."""

    def _element_count(self) -> int | None:
        found = _enum_variant(self._raw)
        if found is None:
            return None
        self._variant = _find_member(found, "value")
        return int(self._variant.GetNumChildren())

    def get_child_index(self, name: str) -> int:
        return int((self._raw if self._size is None else self._variant).GetIndexOfChildWithName(name))

    def get_child_at_index(self, index: int) -> Any:
        return (self._raw if self._size is None else self._variant).GetChildAtIndex(index)

    def summary(self) -> str:
        if self._size is None:
            return ""
        return _variant_name(self._variant.GetType().GetName()) + _fields_of(self._variant)


def _enum_variant(value: Any) -> Any:
    """lldb names a variant by its discriminant; the one that has none is meant by all other values."""
    other = None
    variants = _find_member(value, VARIANTS)
    for index in range(variants.GetNumChildren()):
        variant = variants.GetChildAtIndex(index).GetNonSyntheticValue()
        told = variant.GetChildMemberWithName(DISCRIMINANT)
        if not told.IsValid():
            other = variant
            continue
        discriminant, named = int(told.GetValueAsUnsigned(0)), int(variant.GetName().rpartition("$")[2])
        is_address = 1 << 32 <= discriminant < 1 << 63
        kept = (1 << min(32, 8 * int(told.GetType().GetByteSize()))) - 1  # what a name has of a large one
        if not is_address and discriminant & kept == named & kept:
            return variant
    return other


def _variant_name(type_name: str) -> str:
    """The last word of a path, without its parameters."""
    depth, end = 0, len(type_name)
    if type_name.endswith(">"):
        while end and (depth or end == len(type_name)):
            end -= 1
            depth += {">": 1, "<": -1}.get(type_name[end], 0)
    return type_name[:end].rpartition("::")[2].strip()


def _fields_of(value: Any) -> str:
    count = int(value.GetNumChildren())
    if not count:
        return ""
    fields = [value.GetChildAtIndex(index) for index in range(min(count, SHOWN))]
    is_tuple = str(fields[0].GetName()).startswith("__")
    texts = [_text_of(field) if is_tuple else f"{field.GetName()}: {_text_of(field)}" for field in fields]
    shown = ", ".join(texts) + (", ..." if count > SHOWN else "")
    return f"({shown})" if is_tuple else f" {{{shown}}}"


def _text_of(value: Any) -> str:
    """In one line. What a value leads to may lead back to it."""
    global _depth
    if _depth >= DEEPEST:
        return "..."
    _depth += 1
    try:
        text = value.GetSummary() or value.GetValue() or _fields_of(value.GetNonSyntheticValue()).strip()
        return str(text or ("()" if value.GetType().GetName() == "()" else "{}"))
    finally:
        _depth -= 1


def show_text(value: Any, _: Any) -> str:
    raw = _raw_value(value)
    if raw.GetType().GetName() == "alloc::string::String":
        raw = _find_member(raw, "vec")
        length, (address, capacity) = _field_number(raw, "len"), _vec_buffer(raw)
        if length > capacity:
            return ""
    else:
        address, length = _field_number(raw, "data_ptr"), _field_number(raw, "length")
    data = _read_bytes(raw.GetProcess(), address, min(length, LONGEST_TEXT))
    if length and not data:
        return ""
    is_cut = length > LONGEST_TEXT
    text = data.decode("utf-8", "ignore" if is_cut else "replace")
    return f'"{text.translate(ESCAPES)}"' + ("..." if is_cut else "")


def show_tuple(value: Any, _: Any) -> str:
    return _fields_of(_raw_value(value))


def is_enum(kind: Any, _: Any) -> bool:
    kind = kind.GetPointeeType() if kind.IsPointerType() else kind
    return bool(kind.GetNumberOfFields() == 1 and kind.GetFieldAtIndex(0).GetName() == VARIANTS)


def _summary_of(kind: type[Shown]) -> Any:
    def summary(value: Any, _: Any) -> str:
        shown = kind(value.GetNonSyntheticValue(), None)
        shown.update()
        return shown.summary()

    return summary


show_vec, show_deque, show_slice = _summary_of(Vec), _summary_of(Deque), _summary_of(Slice)
show_hashtable, show_counted, show_enum = _summary_of(HashTable), _summary_of(Counted), _summary_of(Enum)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    def add(what: str, which: str) -> None:
        debugger.HandleCommand(f"type {what} -w default {which}")

    recognized = {name: f"-x {_quoted_text(pattern)}" for name, pattern in NAMES.items()}
    recognized["Enum"] = f"--recognizer-function {__name__}.is_enum"
    for name, which in recognized.items():
        add(f"synthetic add --python-class {__name__}.{name}", which)
        add(f"summary add --expand --python-function {__name__}.show_{name.lower()}", which)
    add(f"summary add --python-function {__name__}.show_text", f"-x {_quoted_text(TEXTS)}")
    add(f"summary add --expand --python-function {__name__}.show_tuple", f"-x {_quoted_text(TUPLES)}")


def _quoted_text(pattern: str) -> str:
    return '"' + pattern.replace("\\", "\\\\") + '"'
