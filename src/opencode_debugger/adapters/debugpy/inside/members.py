"""What can be seen inside a value: its attributes, keys and items, without running properties."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Dict, List, Optional, Tuple

from . import raw
from .repr import render
from .texts import clip, encodable

Member = Tuple[str, Any]

_KEY_LIMIT = 100
_CALLABLES = frozenset((FunctionType, BuiltinFunctionType, MethodType))
_BARE = raw.ATOMS | raw.CONTAINERS
_NO_MEMBERS: List[Member] = []


class Members:
    """Attributes first, then the items: named ones of mappings, numbered ones of the rest."""

    __slots__ = ("attributes", "base", "items", "obj", "paired")

    def __init__(self, obj: Any) -> None:
        cls = type(obj)
        self.obj = obj
        self.base = base = raw.builtin_base(cls)
        self.items = raw.length(obj, base) if base in raw.CONTAINERS else 0
        self.paired = base in raw.PAIRED
        self.attributes = _NO_MEMBERS if cls is base and base in _BARE else attributes(obj, base)

    @property
    def named(self) -> int:
        return len(self.attributes) + (self.items if self.paired else 0)

    @property
    def indexed(self) -> int:
        return 0 if self.paired else self.items

    def page(self, start: int, stop: int, deadline: Optional[float]) -> List[Member]:
        """Members start..stop of all, named ones first."""
        named = self.attributes[start:stop]
        offset = len(self.attributes)
        first, last = max(0, start - offset), min(stop - offset, self.items)
        if self.base is None or first >= last:
            return list(named)
        found = raw.window(self.obj, self.base, first, last)
        if self.paired:
            return named + [(key_name(key, deadline), value) for key, value in found]
        return named + [(str(first + place), value) for place, value in enumerate(found)]


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
    if base in raw.CONTAINERS:
        return members.items
    return base.__len__(obj) if base in raw.TEXTS else None


def presentation_hint(obj: Any, members: Members) -> Optional[Dict[str, str]]:
    cls, base = type(obj), members.base
    if base in raw.CONTAINERS:
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
