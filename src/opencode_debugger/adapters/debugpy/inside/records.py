"""Values that are fields or a mapping in a wrapping of their own, and whose repr would write all of it."""

from __future__ import annotations

import collections
import dataclasses
import gc
import reprlib
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any, Iterator, List, Optional, Tuple

from . import raw
from .lenses import Labelled, Lens
from .raw import class_dict

_MAKERS = frozenset((dataclasses.__file__, reprlib.__file__))
_NAMED_TUPLES = collections.namedtuple.__code__.co_filename
_COUNTER_REPR = class_dict(collections.Counter)["__repr__"]


def lens(obj: Any) -> Optional[Lens]:
    """For their texts; what is inside is found as in any other object, but for a mapping proxy."""
    cls = type(obj)
    if cls is MappingProxyType:
        found = gc.get_referents(obj)
        return ProxyLens(found[0]) if len(found) == 1 and raw.is_a(found[0], dict) else None
    slot = raw.class_attribute(cls, "__repr__")
    if slot is _COUNTER_REPR:
        return MappingLens("%s({" % raw.type_name(obj), "})", obj) if dict.__len__(obj) else None
    if slot is SimpleNamespace.__repr__:
        name = "namespace" if cls is SimpleNamespace else raw.type_name(obj)
        return FieldsLens(name, [pair for pair in raw.pairs(raw.instance_dict(obj)) if type(pair[0]) is str])
    if type(slot) is not FunctionType:
        return None
    if slot.__code__.co_filename == _NAMED_TUPLES and raw.is_a(obj, tuple):
        names = field_names(obj)
        return FieldsLens(raw.type_name(obj), list(zip(names, tuple.__iter__(obj)))) if names else None
    fields = _dataclass_fields(cls, slot)
    return None if fields is None else FieldsLens(raw.type_name(obj), list(_values(obj, fields)))


def field_names(obj: Any) -> Optional[Tuple[str, ...]]:
    """Of a named tuple."""
    names = raw.class_attribute(type(obj), "_fields")
    if type(names) is not tuple or len(names) != tuple.__len__(obj):
        return None
    return names if all(type(name) is str for name in names) else None


def _dataclass_fields(cls: type, slot: FunctionType) -> Optional[List[str]]:
    """What the repr shows that the decorator has made; None if the class wrote its own."""
    made = getattr(slot, "__wrapped__", None)
    if slot.__code__.co_filename not in _MAKERS or type(made) is not FunctionType:
        return None
    owner = next(base for base in raw.mro(cls) if raw.class_dict(base).get("__repr__") is slot)
    fields = raw.class_dict(owner).get("__dataclass_fields__")
    if made.__code__.co_filename != "<string>" or type(fields) is not dict:
        return None
    kind: Any = dataclasses._FIELD  # type: ignore[attr-defined]
    known = [field for field in fields.values() if type(field) is dataclasses.Field]
    return [field.name for field in known if field.repr is True and field._field_type is kind]  # type: ignore[attr-defined]


def _values(obj: Any, names: List[str]) -> Iterator[Tuple[str, Any]]:
    namespace = raw.instance_dict(obj) or {}
    slots = dict(raw.slots(obj))
    for name in names:
        if type(name) is str and (name in namespace or name in slots):
            yield name, namespace[name] if name in namespace else slots[name]


class MappingLens(Lens):
    __slots__ = ("mapping",)

    def __init__(self, opening: str, closing: str, mapping: Any) -> None:
        self.mapping = mapping
        super().__init__(opening, closing, dict.__len__(mapping), True)

    def texts(self) -> Iterator[Any]:
        return iter(dict.items(self.mapping))

    def page(self, start: int, stop: int) -> Labelled:
        return raw.window(self.mapping, dict, start, stop)


class ProxyLens(MappingLens):
    def __init__(self, mapping: Any) -> None:
        super().__init__("mappingproxy({", "})", mapping)


class FieldsLens(Lens):
    __slots__ = ("fields",)
    separator = "="

    def __init__(self, name: str, fields: Labelled) -> None:
        self.fields = fields
        super().__init__(name + "(", ")", len(fields), True)

    def texts(self) -> Iterator[Any]:
        return iter(self.fields)
