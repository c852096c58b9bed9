"""Defines views: how values of many parts are looked at that are no builtin containers.

Those of records are here: values that are fields or a mapping in a wrapping of their own, whose repr writes all of it.
"""

from __future__ import annotations

import collections
import dataclasses
import gc
import reprlib
import types
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

from . import raw

if TYPE_CHECKING:
    from ....rows import ValueRow

Labelled = List[Tuple[Any, Any]]

POSITION = object()
"""the label of an item that has none: its position"""

_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType)
_REPR_MAKERS = frozenset((dataclasses.__file__, reprlib.__file__))
_NAMED_TUPLES = collections.namedtuple.__code__.co_filename
_COUNTER_REPR = raw.class_dict(collections.Counter)["__repr__"]


@dataclasses.dataclass(eq=False)
class SequenceView:
    """One value, its size and its parts; nothing is copied but the parts that are asked for."""

    opening: str
    closing: str
    items: int
    paired: bool = False
    named: int = 0

    has_length = True
    """True if the number of items is what Python's len() says."""
    separator = ": "
    """Stands between label and value in a text, where labels are written."""
    shows_attributes = False
    """True if the object's attributes are members too."""

    def shown_items(self) -> Iterator[Any]:
        """Yield what a text shows, in order: values, or pairs of label and value."""
        raise NotImplementedError

    def named_page(self, start: int, stop: int) -> Labelled:
        """Return members before the items, by label."""
        return []

    def labelled_page(self, start: int, stop: int) -> Labelled:
        """Return items by label, or by POSITION."""
        raise NotImplementedError

    def row_facts(self, detailed: bool) -> ValueRow:
        """Return what else a row says of it, such as `shape`."""
        return {}

    def column_types(self) -> Optional[Labelled]:
        """Return the columns of a table with their dtypes."""
        return None


def builtin_attribute(cls: Any, name: str) -> Any:
    """Return an attribute that a class written in C defines itself; nothing written in Python can pass for it."""
    if type(cls) is not type:
        return None
    found = raw.class_dict(cls).get(name)
    is_in_c = type(found) in (types.GetSetDescriptorType, *_METHODS)
    return found if is_in_c and getattr(found, "__objclass__", None) is cls else None


def loaded_name(module: str, name: str) -> Any:
    """Return a name of a module that the program has imported; it is never imported for this."""
    namespace = raw.module_dict(module)
    return None if namespace is None else namespace.get(name)


def record_view(obj: Any) -> Optional[SequenceView]:
    """Return a view for their texts; what is inside is found as in any other object, but for a mapping proxy."""
    cls = type(obj)
    if cls is MappingProxyType:
        found = gc.get_referents(obj)
        return MappingView("mappingproxy", found[0]) if len(found) == 1 and raw.is_a(found[0], dict) else None
    slot = raw.class_attribute(cls, "__repr__")
    if slot is _COUNTER_REPR:
        return MappingView(raw.type_name(obj), obj) if dict.__len__(obj) else None
    if slot is SimpleNamespace.__repr__:
        name = "namespace" if cls is SimpleNamespace else raw.type_name(obj)
        return FieldsView(name, [pair for pair in raw.dict_pairs(raw.instance_dict(obj)) if type(pair[0]) is str])
    if type(slot) is not FunctionType:
        return None
    if slot.__code__.co_filename == _NAMED_TUPLES and raw.is_a(obj, tuple):
        names = field_names(obj)
        return FieldsView(raw.type_name(obj), list(zip(names, tuple.__iter__(obj)))) if names else None
    fields = _dataclass_fields(cls, slot)
    if fields is None:
        return None
    stored = {**dict(raw.slot_values(obj)), **(raw.instance_dict(obj) or {})}
    shown = [(name, stored[name]) for name in fields if type(name) is str and name in stored]
    return FieldsView(raw.type_name(obj), shown)


def field_names(obj: Any) -> Optional[Tuple[str, ...]]:
    names = raw.class_attribute(type(obj), "_fields")
    if type(names) is not tuple or len(names) != tuple.__len__(obj):
        return None
    return names if all(type(name) is str for name in names) else None


def _dataclass_fields(cls: type, slot: FunctionType) -> Optional[List[str]]:
    """Return the fields that the decorator's repr shows; None if the class wrote its own."""
    made = getattr(slot, "__wrapped__", None)
    if slot.__code__.co_filename not in _REPR_MAKERS or type(made) is not FunctionType:
        return None
    owner = next(base for base in raw.class_mro(cls) if raw.class_dict(base).get("__repr__") is slot)
    fields = raw.class_dict(owner).get("__dataclass_fields__")
    if made.__code__.co_filename != "<string>" or type(fields) is not dict:
        return None
    kind: Any = dataclasses._FIELD  # type: ignore[attr-defined]
    known = [field for field in fields.values() if type(field) is dataclasses.Field]
    return [field.name for field in known if field.repr is True and field._field_type is kind]  # type: ignore[attr-defined]


class MappingView(SequenceView):
    def __init__(self, name: str, mapping: Any) -> None:
        self.mapping = mapping
        super().__init__(name + "({", "})", dict.__len__(mapping), True)

    def shown_items(self) -> Iterator[Any]:
        return iter(dict.items(self.mapping))

    def labelled_page(self, start: int, stop: int) -> Labelled:
        return raw.item_window(self.mapping, dict, start, stop)


class FieldsView(SequenceView):
    separator = "="

    def __init__(self, name: str, fields: Labelled) -> None:
        self.fields = fields
        super().__init__(name + "(", ")", len(fields), True)

    def shown_items(self) -> Iterator[Any]:
        return iter(self.fields)
