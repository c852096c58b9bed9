"""Keeps of a value what tells about it later, in few plain objects, without running anything of the program.

No __repr__, property or __len__ of a class of the program's own is called, and no object of the program is referred to,
so that none lives longer than it would. A kept value is:

    None | bool | int | float | str           itself
    (text,)                                   a text to be shown as it is
    ("L" | "T" | "S" | "F", length, items)    list, tuple, set, frozenset: the first items
    ("D", length, [key, value, ...])          a dict
    ("C", first characters, length)           a long string
    ("O", class name, id, [name, value, ...]) an object and its first attributes
    ("X", class name, [arguments], id)        an exception
"""

from __future__ import annotations

import re
from itertools import islice
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from ..values import raw
from ..values.atom_texts import clip

TEXT_LIMIT = 60
"""characters of a string"""
ITEM_LIMIT = 3
FIELD_LIMIT = 4
MOST_PARTS = 2 * FIELD_LIMIT
NAME_LIMIT = 10_000
"""names of which it is remembered whether they look secret"""
CLASS_LIMIT = 5_000
"""classes of which it is remembered how their objects are kept"""
LEAST_INT, LARGEST_INT = -(1 << 62), 1 << 62
NOTHING: List[Any] = []
"""what was kept of the parts of a value of which no parts are kept; nobody changes it"""
MASKED = ("\u2039masked\u203a",)
READABLE = ("date", "datetime", "time", "timedelta", "Decimal")
"""classes of C whose repr is short and calls nothing of the program, but for time zones of its own"""
HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8

Keep = Callable[[Any, int], Any]


class SecretNames(Dict[str, bool]):
    """Tells names that look like those of secrets, by the patterns of the relay; each is looked at once."""

    def __init__(self, pattern: str, word_breaks: str) -> None:
        super().__init__()
        self._search = re.compile(pattern, re.IGNORECASE).search
        self._breaks = re.compile(word_breaks)

    def __missing__(self, name: str) -> bool:
        if len(self) > NAME_LIMIT:
            self.clear()
        found = self[name] = self._search(self._breaks.sub("_", name[-200:])) is not None
        return found


class ValueKeeper:
    """Decides once for each class how its objects are kept."""

    def __init__(self, is_secret: Callable[[str], bool]) -> None:
        self.is_secret = is_secret
        self._ways: Dict[int, Keep] = {}
        """by the id of a class: classes of the program's may hash oddly"""
        self._marks: Dict[int, Optional[str]] = {}
        """names of classes by their ids; None for classes of classes"""
        self._classes: List[type] = []
        """that are known, kept so that their ids stay their own"""
        self.keep = self._make_keep()
        for kind, way in self._builtin_ways():
            self._ways[id(kind)] = way

    def _make_keep(self) -> Callable[..., Any]:
        """Return what keeps a value. It runs for every value: names in cells are found faster than attributes."""
        find_known, find_way = self._ways.get, self._find_way

        def keep(value: Any, depth: int = 1) -> Any:
            kind = type(value)
            if kind is int:
                return value if LEAST_INT < value < LARGEST_INT else ("<int with %d bits>" % value.bit_length(),)
            if kind is str:
                return value if len(value) <= TEXT_LIMIT else ("C", value[:TEXT_LIMIT], len(value))
            if value is None or kind is bool or kind is float:
                return value
            try:
                return (find_known(id(kind)) or find_way(kind))(value, depth)
            except Exception as error:  # another thread changes it, or it is not what its class says
                return ("<%s: %s>" % (raw.class_name(kind), type(error).__name__),)

        return keep

    def mark_object(self, value: Any) -> Tuple[str, str, int, List[Any]]:
        """Keep only which object it is, of a class its name."""
        kind = type(value)
        try:
            name = self._marks[id(kind)]
        except KeyError:
            is_class = any(base is type for base in raw.class_mro(kind))
            name = None if is_class else raw.class_name(kind)
            if len(self._marks) < CLASS_LIMIT:
                self._classes.append(kind)
                self._marks[id(kind)] = name
        return ("O", raw.class_name(value) if name is None else name, id(value), NOTHING)

    def keep_named(self, name: str, value: Any, depth: int = 1) -> Any:
        return MASKED if self.is_secret(name) else self.keep(value, depth)

    def keep_error(self, error: BaseException) -> Tuple[str, str, List[Any], int]:
        arguments = [self.keep(each, 0) for each in raw.exception_args(error)[:2]]
        return ("X", raw.type_name(error), arguments, id(error))

    def _builtin_ways(self) -> List[Tuple[type, Keep]]:
        return [
            (list, self._plain_sequence_way("L")),
            (tuple, self._plain_sequence_way("T")),
            (set, self._set_way("S", set)),
            (frozenset, self._set_way("F", frozenset)),
            (dict, self._keep_dict),
            (bytes, _keep_bytes),
            (type, lambda value, depth: ("<class %s>" % raw.class_name(value),)),
            (ModuleType, lambda value, depth: ("<module %s>" % raw.read_attribute(value, "__name__", ""),)),
            (FunctionType, _keep_function),
            (BuiltinFunctionType, _keep_function),
            (MethodType, lambda value, depth: _keep_function(value.__func__, depth)),
        ]

    def _find_way(self, kind: type) -> Keep:
        way = self._choose_way(kind)
        if len(self._ways) < CLASS_LIMIT:
            self._classes.append(kind)
            self._ways[id(kind)] = way
        return way

    def _choose_way(self, kind: type) -> Keep:
        name = raw.class_name(kind)
        bases = raw.class_mro(kind)
        for base in bases[1:]:
            if base is BaseException:
                return lambda value, depth: self.keep_error(value)
            if base is type:
                return lambda value, depth: ("<class %s>" % raw.class_name(value),)
            if base is int or base is float or base is str:
                return _derived_way(name, base, is_enum=any(raw.class_name(each) == "Enum" for each in bases))
            if base is list or base is tuple:
                return self._sequence_way("L" if base is list else "T", base)
            if base is dict:
                return self._keep_dict
            if base is set or base is frozenset:
                return self._set_way("S" if base is set else "F", base)
        if name in READABLE and _is_of_c(kind):
            return _keep_repr
        if raw.class_name(kind) == "ndarray":
            return lambda value, depth: ("<ndarray %s>" % clip(str(raw.read_attribute(value, "shape", "")), 40)[0],)
        read_dict = _dict_reader(bases)
        if any(raw.class_name(base) == "Enum" for base in bases) and read_dict is not None:
            return lambda value, depth: ("%s.%s" % (name, clip(str(read_dict(value).get("_name_")), 60)[0]),)
        return self._slots_way(name, bases) if read_dict is None else self._object_way(name, read_dict)

    # Ways.

    def _plain_sequence_way(self, sign: str) -> Keep:
        keep = self.keep

        def keep_sequence(value: Any, depth: int) -> Any:
            if depth <= 0 or not value:
                return (sign, len(value), NOTHING)
            items: List[Any] = []
            for item in value:
                items.append(item if item is None or type(item) is float else keep(item, depth - 1))
                if len(items) == ITEM_LIMIT:
                    break
            return (sign, len(value), items)

        return keep_sequence

    def _sequence_way(self, sign: str, base: Any) -> Keep:
        """Keep objects of a class that is derived from `base`, whatever it says of itself."""
        length, item = base.__len__, base.__getitem__
        first = slice(0, ITEM_LIMIT)

        def keep_sequence(value: Any, depth: int) -> Any:
            items = [self.keep(each, depth - 1) for each in item(value, first)] if depth > 0 else NOTHING
            return (sign, length(value), items)

        return keep_sequence

    def _set_way(self, sign: str, base: Any) -> Keep:
        def keep_set(value: Any, depth: int) -> Any:
            items = [self.keep(each, 0) for each in islice(base.__iter__(value), ITEM_LIMIT)] if depth > 0 else NOTHING
            return (sign, base.__len__(value), items)

        return keep_set

    def _keep_dict(self, value: Any, depth: int) -> Any:
        parts: List[Any] = []
        if depth > 0:
            for key, item in islice(dict.items(value), ITEM_LIMIT):
                parts.append(self.keep(key, 0))
                parts.append(MASKED if type(key) is str and self.is_secret(key) else self.keep(item, depth - 1))
        return ("D", dict.__len__(value), parts)

    def _object_way(self, name: str, read_dict: Callable[[Any], Any]) -> Keep:
        keep, is_secret = self.keep, self.is_secret

        def keep_object(value: Any, depth: int) -> Any:
            fields = read_dict(value) if depth > 0 else None
            if type(fields) is not dict:
                return ("O", name, id(value), NOTHING)
            parts: List[Any] = []
            for field, item in fields.items():
                if type(field) is str:
                    parts.append(field)
                    if is_secret(field):
                        parts.append(MASKED)
                    elif item is None or (type(item) is int and LEAST_INT < item < LARGEST_INT):
                        parts.append(item)
                    else:
                        parts.append(keep(item, 0))
                    if len(parts) == MOST_PARTS:
                        break
            return ("O", name, id(value), parts)

        return keep_object

    def _slots_way(self, name: str, bases: Tuple[type, ...]) -> Keep:
        readers = list(_slot_readers(bases))

        def keep_slots(value: Any, depth: int) -> Any:
            parts: List[Any] = []
            for field, read in readers if depth > 0 else ():
                try:
                    item = read(value)
                except AttributeError:  # it is not set
                    continue
                parts += (field, self.keep_named(field, item, 0))
                if len(parts) == MOST_PARTS:
                    break
            return ("O", name, id(value), parts)

        return keep_slots


def _slot_readers(bases: Tuple[type, ...]) -> Iterator[Tuple[str, Callable[[Any], Any]]]:
    """Return the slots of objects, with what reads each in C."""
    for base in reversed(bases):
        members = raw.class_dict(base)
        for name, member in list(members.items()) if "__slots__" in members else ():
            if type(member) is MemberDescriptorType and type(name) is str:
                yield name, member.__get__


def _dict_reader(bases: Tuple[type, ...]) -> Optional[Callable[[Any], Any]]:
    """Return what reads the `__dict__` of objects in C; None if they have none, or one of their own making."""
    for base in bases:
        found: Any = raw.class_dict(base).get("__dict__")
        if found is not None:
            return found.__get__ if type(found) is GetSetDescriptorType else None
    return None


def _derived_way(name: str, base: Any, is_enum: bool) -> Keep:
    """Keep what is derived from a number or a string as that, with the name of its class."""

    def keep_derived(value: Any, depth: int) -> Any:
        if is_enum:
            return ("%s.%s" % (name, clip(str(raw.read_attribute(value, "_name_")), TEXT_LIMIT)[0]),)
        if base is str:
            text = str.__repr__(str.__getitem__(value, slice(0, TEXT_LIMIT)))
        else:
            text = clip(base.__repr__(value), TEXT_LIMIT)[0]
        return ("%s(%s)" % (name, text),)

    return keep_derived


def _is_of_c(kind: type) -> bool:
    """Tell whether a class is one that no Python program can make."""
    flags = type.__dict__["__flags__"].__get__(kind)
    return not flags & HEAP_TYPE or bool(flags & IMMUTABLE_TYPE)


def _keep_repr(value: Any, depth: int) -> Any:
    zone = getattr(value, "tzinfo", None)
    if zone is None or _is_of_c(type(zone)):
        return (repr(value),)
    return ("<%s with %s>" % (raw.type_name(value), raw.type_name(zone)),)


def _keep_bytes(value: bytes, depth: int) -> Any:
    text = repr(value[:TEXT_LIMIT])
    return (text if len(value) <= TEXT_LIMIT else "%s... %d bytes" % (text, len(value)),)


def _keep_function(value: Any, depth: int) -> Any:
    name = raw.read_attribute(value, "__qualname__", None) or raw.read_attribute(value, "__name__", "?")
    return ("<function %s>" % (clip(name, TEXT_LIMIT)[0] if type(name) is str else "?"),)
