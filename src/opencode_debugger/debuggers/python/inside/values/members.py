"""Finds what can be seen inside a value: its attributes, keys and items, without running properties."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from ..rpc.interrupts import guard
from . import raw, routines
from .atom_texts import clip, encodable
from .bounded_repr import render_value, view_of
from .sequence_views import POSITION, Labelled, field_names, record_view

if TYPE_CHECKING:
    from ....rows import HintRow, ValueRow

Member = Tuple[str, Any]

_CALLABLES = frozenset((FunctionType, BuiltinFunctionType, MethodType))
_BARE_TYPES = raw.ATOMS | raw.CONTAINERS
_NO_MEMBERS: List[Member] = []
_SHAPED_PACKAGES = ("torch", "polars", "xarray", "jax", "jaxlib", "tensorflow", "pyarrow", "scipy", "cupy", "dask")
"""Packages whose values tell a shape and a dtype without being computed."""


class Members:
    """Attributes and columns first, then the items: named ones of mappings, numbered ones of the rest."""

    __slots__ = ("attributes", "base", "items", "obj", "paired", "view")

    def __init__(self, obj: Any, deadline: Optional[float] = None) -> None:
        cls = type(obj)
        self.obj = obj
        self.base = base = raw.builtin_base(cls)
        self.items = raw.container_length(obj, base) if base in raw.CONTAINERS else 0
        self.paired = base in raw.PAIRED
        proxied = record_view(obj) if cls is MappingProxyType else None
        self.view = view_of(obj, deadline) or proxied if base is None else None
        if self.view is not None:
            self.items, self.paired = self.view.items, cls is MappingProxyType
            found = object_attributes(obj, base) if self.view.shows_attributes else _NO_MEMBERS
            self.attributes = [member for member in found if member[0][:1] != "_"]
            return
        self.attributes = _NO_MEMBERS if cls is base and base in _BARE_TYPES else object_attributes(obj, base)

    @property
    def before_items(self) -> int:
        return len(self.attributes) + (self.view.named if self.view is not None else 0)

    @property
    def named_count(self) -> int:
        return self.before_items + (self.items if self.paired else 0)

    @property
    def indexed_count(self) -> int:
        return 0 if self.paired else self.items

    def member_page(self, start: int, stop: int, deadline: Optional[float]) -> List[Member]:
        """Return the members start..stop of all, named ones first."""
        named = self.attributes[start:stop]
        offset = len(self.attributes)
        if self.view is not None and self.view.named:
            columns = self.view.named_page(max(0, start - offset), max(0, min(stop - offset, self.view.named)))
            named = named + _named_members(columns, deadline)
            offset += self.view.named
        first, last = max(0, start - offset), min(stop - offset, self.items)
        if first < last and self.view is not None:
            return named + _named_members(self.view.labelled_page(first, last), deadline, first)
        if first >= last or self.base is None:
            return named
        found = raw.item_window(self.obj, self.base, first, last)
        if self.paired:
            return named + _named_members(found, deadline)
        names = field_names(self.obj) if self.base is tuple and type(self.obj) is not tuple else None
        if names is not None:
            return named + [(attribute_name(name), value) for name, value in zip(names[first:last], found)]
        return named + [(str(first + place), value) for place, value in enumerate(found)]

    def known_length(self) -> Optional[int]:
        base: Any = self.base
        if base in raw.CONTAINERS or (self.view is not None and self.view.has_length):
            return self.items
        return base.__len__(self.obj) if base in raw.TEXTS else None

    def presentation_hint(self) -> Optional[HintRow]:
        if self.base in raw.CONTAINERS or self.view is not None:
            return {"kind": "data"}
        if self.base is type:
            return {"kind": "class"}
        return {"kind": "method"} if raw.is_one_of(self.obj, _CALLABLES) else None

    def value_facts(self, detailed: bool) -> ValueRow:
        """Return what a row says beyond value, type and length."""
        obj, view = self.obj, self.view
        if view is not None:
            facts = view.row_facts(detailed)
            columns = view.column_types() if detailed else None
            if columns is not None:
                facts["columns"] = [{"name": key_name(name, None), "dtype": dtype} for name, dtype in columns]
            return facts
        if routines.is_paused_call(obj):
            state, line = routines.call_progress(obj)
            return {"state": state, "line": line}
        if type(obj) is FunctionType:
            return {"signature": encodable(routines.signature_text(obj, render_value))} if detailed else {}
        return _shape_facts(obj) if self.base is None else {}


def _named_members(found: Labelled, deadline: Optional[float], first: int = 0) -> List[Member]:
    return [
        (str(first + place) if label is POSITION else key_name(label, deadline), value)
        for place, (label, value) in enumerate(found)
    ]


def key_name(key: Any, deadline: Optional[float]) -> str:
    return render_value(key, 100, deadline)[0]


def attribute_name(name: str) -> str:
    is_short = len(name) < raw.NAME_LIMIT and name.isascii()
    return name if is_short else clip(encodable(name), raw.NAME_LIMIT)[0]


def object_attributes(obj: Any, base: Optional[type]) -> List[Member]:
    if routines.is_paused_call(obj):
        waiting = dict(routines.progress_locals(obj))
        return [(attribute_name(name), value) for name, value in waiting.items() if not raw.is_hidden(name)]
    found: List[Member] = [("args", raw.exception_args(obj))] if base is BaseException else []
    namespace: Any = raw.class_dict(obj) if base is type else raw.instance_dict(obj)
    if namespace:
        snapshot = list(namespace.items()) if base is type else raw.dict_pairs(namespace)
        found += [(attribute_name(name), value) for name, value in snapshot if _is_shown(name)]
    found += [(name, value) for name, value in raw.slot_values(obj) if _is_shown(name)]
    return found


def _is_shown(name: Any) -> bool:
    return type(name) is str and not (name[:2] == "__" and name[-2:] == "__" and len(name) > 4)


def is_definition(obj: Any) -> bool:
    """Tell whether it is a module, class or function: what a namespace has besides data."""
    return raw.is_one_of(obj, _CALLABLES) or raw.builtin_base(type(obj)) in (type, ModuleType)


def _shape_facts(obj: Any) -> ValueRow:
    module = raw.class_dict(type(obj)).get("__module__")
    if type(module) is not str or module.partition(".")[0] not in _SHAPED_PACKAGES:
        return {}
    with guard() as running:
        if running.interrupted:
            return {}
        shape = running.attempt(lambda: tuple(int(size) for size in obj.shape[:64]))
        dtype = running.attempt(lambda: str(obj.dtype))
    found: ValueRow = {} if shape is None else {"shape": list(shape)}
    if type(dtype) is str:
        found["dtype"] = clip(encodable(dtype), raw.NAME_LIMIT)[0]
    return found
