"""Looks at objects through the builtin types only: nothing here runs code of the program."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

NAME_LIMIT = 200

_TYPE_NAME = type.__dict__["__name__"].__get__
_TYPE_MRO = type.__dict__["__mro__"].__get__
_TYPE_DICT = type.__dict__["__dict__"].__get__
_EXCEPTION_ARGS = BaseException.__dict__["args"].__get__
_EXCEPTION_TRACEBACK = BaseException.__dict__["__traceback__"].__get__

DICT_VIEWS: Tuple[type, ...] = tuple(
    type(view)
    for empty in ({}, OrderedDict())  # type: ignore[var-annotated]
    for view in (empty.keys(), empty.values(), empty.items())
)
PAIRED = frozenset((dict, OrderedDict, defaultdict))
CONTAINERS = frozenset((list, tuple, set, frozenset, deque, range)) | PAIRED | frozenset(DICT_VIEWS)
TEXTS = frozenset((str, bytes, bytearray))
ATOMS = TEXTS | frozenset((type(None), bool, int, float, complex))
_DECISIVE = CONTAINERS | ATOMS | frozenset((type, BaseException, ModuleType))
_SLICED = frozenset((list, tuple, range))
MISSING = object()


def type_name(obj: object) -> str:
    return class_name(type(obj))


def class_name(cls: type) -> str:
    return str.__getitem__(_TYPE_NAME(cls), slice(0, NAME_LIMIT))


def mro(cls: type) -> Tuple[type, ...]:
    return _TYPE_MRO(cls)  # type: ignore[no-any-return]


def class_dict(cls: type) -> Any:
    return _TYPE_DICT(cls)


def class_attribute(cls: type, name: str) -> Any:
    """What the type's own lookup finds, unbound; MISSING if nothing."""
    for base in _TYPE_MRO(cls):
        found = _TYPE_DICT(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def is_a(obj: object, base: type) -> bool:
    # Not `in`, which would ask a metaclass's __eq__; not any(), which is slower.
    for candidate in _TYPE_MRO(type(obj)):  # noqa: SIM110
        if candidate is base:
            return True
    return False


def builtin_base(cls: type) -> Optional[type]:
    """The builtin type that decides how the instances of `cls` are looked at, if there is one."""
    # Only classes whose metaclass is `type` are hashed: another one may have any __hash__.
    if type(cls) is type and cls in _DECISIVE:
        return cls
    for base in _TYPE_MRO(cls):
        if type(base) is type and base in _DECISIVE:
            return base
    return None


def length(obj: Any, base: type) -> int:
    if base is not range:
        return base.__len__(obj)  # type: ignore[attr-defined, no-any-return]
    steps: int = (obj.stop - obj.start + obj.step - (1 if obj.step > 0 else -1)) // obj.step
    return max(0, min(steps, sys.maxsize))


def iterate(obj: Any, base: type) -> Iterator[Any]:
    """Items, or (key, value) pairs of the PAIRED types."""
    if base in PAIRED:
        return iter(OrderedDict.items(obj) if base is OrderedDict else dict.items(obj))
    return base.__iter__(obj)  # type: ignore[attr-defined, no-any-return]


def window(obj: Any, base: Any, start: int, stop: int) -> List[Any]:
    """Items start..stop without a copy of the rest; fewer if another thread changes it meanwhile."""
    if base in _SLICED:
        return list(base.__getitem__(obj, slice(start, stop)))
    found: List[Any] = []
    for _ in range(3):
        found = []
        try:
            found.extend(islice(iterate(obj, base), start, stop))
            break
        except RuntimeError:
            continue
    return found


def instance_dict(obj: object) -> Optional[Dict[Any, Any]]:
    """The real `__dict__`, whatever the class pretends."""
    for base in _TYPE_MRO(type(obj)):
        found = _TYPE_DICT(base).get("__dict__")
        if type(found) is GetSetDescriptorType or type(found) is MemberDescriptorType:
            try:
                namespace = found.__get__(obj)
            except Exception:
                return None
            return namespace if is_a(namespace, dict) else None
    return None


def module_dict(name: str) -> Optional[Dict[Any, Any]]:
    """What a loaded module defines; None if it is not loaded."""
    module = sys.modules.get(name)
    return instance_dict(module) if type(module) is ModuleType else None


def slots(obj: object) -> List[Tuple[str, Any]]:
    found: List[Tuple[str, Any]] = []
    for base in reversed(_TYPE_MRO(type(obj))):
        members = _TYPE_DICT(base)
        if "__slots__" not in members:
            continue
        for name, member in list(members.items()):
            if type(member) is MemberDescriptorType and type(name) is str:
                try:
                    found.append((name, member.__get__(obj)))
                except AttributeError:
                    continue
    return found


def exception_args(obj: BaseException) -> Any:
    return _EXCEPTION_ARGS(obj)


def exception_traceback(obj: BaseException) -> Any:
    return _EXCEPTION_TRACEBACK(obj)


def pairs(namespace: Any) -> List[Tuple[Any, Any]]:
    """A snapshot of a dict's items, dict subclasses included."""
    items: Iterable[Tuple[Any, Any]] = dict.copy(namespace).items()
    return list(items)


def is_hidden(name: Any) -> bool:
    """Dunder names and names that no source can spell, such as compiler temporaries."""
    if type(name) is not str or not name.isidentifier():
        return True
    return name[:2] == "__" and ((name[-2:] == "__" and len(name) > 4) or name == "__pydevd_ret_val_dict")
