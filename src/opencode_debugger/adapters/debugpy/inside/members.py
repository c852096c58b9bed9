"""What can be seen inside a value: its attributes, keys and items, without running properties."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Dict, List, Optional, Tuple

from . import raw, records, routines
from .interrupts import guard
from .lenses import POSITION, Json, Labelled, Lens
from .repr import lens_of, render
from .texts import clip, encodable

Member = Tuple[str, Any]

_KEY_LIMIT = 100
_CALLABLES = frozenset((FunctionType, BuiltinFunctionType, MethodType))
_BARE = raw.ATOMS | raw.CONTAINERS
_NO_MEMBERS: List[Member] = []


class Members:
    """Attributes and columns first, then the items: named ones of mappings, numbered ones of the rest."""

    __slots__ = ("attributes", "base", "items", "lens", "obj", "paired")

    def __init__(self, obj: Any, deadline: Optional[float] = None) -> None:
        cls = type(obj)
        self.obj = obj
        self.base = base = raw.builtin_base(cls)
        self.lens: Optional[Lens] = None
        self.items = raw.length(obj, base) if base in raw.CONTAINERS else 0
        self.paired = base in raw.PAIRED
        if base is None:
            self.lens = lens_of(obj, deadline) or (records.lens(obj) if cls is MappingProxyType else None)
        if self.lens is not None:
            self.items, self.paired = self.lens.items, cls is MappingProxyType
            found = attributes(obj, base) if self.lens.shows_attributes else _NO_MEMBERS
            self.attributes = [member for member in found if member[0][:1] != "_"]
            return
        self.attributes = _NO_MEMBERS if cls is base and base in _BARE else attributes(obj, base)

    @property
    def before(self) -> int:
        """How many there are before the items."""
        return len(self.attributes) + (self.lens.named if self.lens is not None else 0)

    @property
    def named(self) -> int:
        return self.before + (self.items if self.paired else 0)

    @property
    def indexed(self) -> int:
        return 0 if self.paired else self.items

    def page(self, start: int, stop: int, deadline: Optional[float]) -> List[Member]:
        """Members start..stop of all, named ones first."""
        named = self.attributes[start:stop]
        offset = len(self.attributes)
        if self.lens is not None and self.lens.named:
            columns = self.lens.named_page(max(0, start - offset), max(0, min(stop - offset, self.lens.named)))
            named = named + _labelled(columns, deadline)
            offset += self.lens.named
        first, last = max(0, start - offset), min(stop - offset, self.items)
        if first >= last:
            return list(named)
        if self.lens is not None:
            return named + _labelled(self.lens.page(first, last), deadline, first)
        if self.base is None:
            return list(named)
        found = raw.window(self.obj, self.base, first, last)
        if self.paired:
            return named + _labelled(found, deadline)
        names = records.field_names(self.obj) if self.base is tuple and type(self.obj) is not tuple else None
        if names is not None:
            return named + [(attribute_name(name), value) for name, value in zip(names[first:last], found)]
        return named + [(str(first + place), value) for place, value in enumerate(found)]


def _labelled(found: Labelled, deadline: Optional[float], first: int = 0) -> List[Member]:
    return [
        (str(first + place) if label is POSITION else key_name(label, deadline), value)
        for place, (label, value) in enumerate(found)
    ]


def key_name(key: Any, deadline: Optional[float]) -> str:
    return render(key, _KEY_LIMIT, deadline)[0]


def attribute_name(name: str) -> str:
    if len(name) < raw.NAME_LIMIT and name.isascii():
        return name
    return clip(encodable(name), raw.NAME_LIMIT)[0]


def attributes(obj: Any, base: Optional[type]) -> List[Member]:
    found: List[Member] = []
    if base is BaseException:
        found.append(("args", raw.exception_args(obj)))
    if routines.is_paused_call(obj):
        waiting = dict(routines.progress_locals(obj))
        return [(attribute_name(name), value) for name, value in waiting.items() if not raw.is_hidden(name)]
    namespace: Any = raw.class_dict(obj) if base is type else raw.instance_dict(obj)
    if namespace:
        snapshot = list(namespace.items()) if base is type else raw.pairs(namespace)
        found += [(attribute_name(name), value) for name, value in snapshot if _shown(name)]
    found += [(name, value) for name, value in raw.slots(obj) if _shown(name)]
    return found


def _shown(name: Any) -> bool:
    return type(name) is str and not (name[:2] == "__" and name[-2:] == "__" and len(name) > 4)


def known_length(obj: Any, members: Members) -> Optional[int]:
    base: Any = members.base
    if base in raw.CONTAINERS or (members.lens is not None and members.lens.length):
        return members.items
    return base.__len__(obj) if base in raw.TEXTS else None


def presentation_hint(obj: Any, members: Members) -> Optional[Dict[str, str]]:
    cls, base = type(obj), members.base
    if base in raw.CONTAINERS or members.lens is not None:
        return {"kind": "data"}
    if base is type:
        return {"kind": "class"}
    if type(cls) is type and cls in _CALLABLES:
        return {"kind": "method"}
    return None


def is_definition(obj: Any) -> bool:
    """Modules, classes and functions: what a namespace has besides data."""
    cls = type(obj)
    if type(cls) is type and cls in raw.ATOMS:
        return False
    return (type(cls) is type and cls in _CALLABLES) or raw.builtin_base(cls) in (type, ModuleType)


def facts(obj: Any, members: Members, detailed: bool) -> Json:
    """What a row says beyond value, type and length."""
    if members.lens is not None:
        found = members.lens.facts(detailed)
        if "columns" in found:
            found["columns"] = [{"name": key_name(name, None), "dtype": dtype} for name, dtype in found["columns"]]
        return found
    if routines.is_paused_call(obj):
        state, line = routines.progress(obj)
        return {"state": state, "line": line}
    if type(obj) is FunctionType and detailed:
        return {"signature": encodable(routines.signature(obj, render))}
    if members.base is None and type(obj) is not FunctionType:
        return _shape(obj)
    return {}


_SHAPED = frozenset(("torch", "polars", "xarray", "jax", "jaxlib", "tensorflow", "pyarrow", "scipy", "cupy", "dask"))
"""Packages whose values tell a shape and a dtype without being computed."""
_DIMENSIONS = 64


def _shape(obj: Any) -> Json:
    module = raw.class_dict(type(obj)).get("__module__")
    if type(module) is not str or module.partition(".")[0] not in _SHAPED:
        return {}
    with guard() as running:
        if running.interrupted:
            return {}
        shape = running.attempt(lambda: tuple(int(size) for size in obj.shape[:_DIMENSIONS]))
        dtype = running.attempt(lambda: str(obj.dtype))
    found: Json = {} if shape is None else {"shape": list(shape)}
    if type(dtype) is str:
        found["dtype"] = clip(encodable(dtype), raw.NAME_LIMIT)[0]
    return found
