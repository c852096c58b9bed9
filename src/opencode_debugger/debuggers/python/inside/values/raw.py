"""Looks at objects through the builtin types only: nothing here runs code of the program."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections import OrderedDict, defaultdict, deque
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType, TracebackType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from ..python_versions import FRAME_LOCALS
from ..rpc.interrupts import is_quiet

NAME_LIMIT = 200

class_mro: Callable[[type], Tuple[type, ...]] = type.__dict__["__mro__"].__get__
_EXCEPTION = BaseException.__dict__
exception_args: Callable[[BaseException], Tuple[Any, ...]] = _EXCEPTION["args"].__get__
exception_traceback: Callable[[BaseException], Optional[TracebackType]] = _EXCEPTION["__traceback__"].__get__
_TYPE_NAME = type.__dict__["__name__"].__get__
_TYPE_DICT: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__

_DICTS: Tuple[Dict[Any, Any], ...] = ({}, OrderedDict())
DICT_VIEWS = tuple(type(view) for empty in _DICTS for view in (empty.keys(), empty.values(), empty.items()))
_ORDERED_VIEWS = DICT_VIEWS[3:]
PAIRED = frozenset((dict, OrderedDict, defaultdict))
CONTAINERS = frozenset((list, tuple, set, frozenset, deque, range)) | PAIRED | frozenset(DICT_VIEWS)
TEXTS = frozenset((str, bytes, bytearray))
ATOMS = TEXTS | frozenset((type(None), bool, int, float, complex))
DECISIVE_TYPES = CONTAINERS | ATOMS | frozenset((type, BaseException, ModuleType))
_SLICED = frozenset((list, tuple, range))
MISSING = object()


def type_name(obj: object) -> str:
    return class_name(type(obj))


def class_name(cls: type) -> str:
    return str.__getitem__(_TYPE_NAME(cls), slice(0, NAME_LIMIT))


def class_dict(cls: type) -> Mapping[str, Any]:
    return _with_text_keys(_TYPE_DICT(cls))


def _with_text_keys(namespace: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out keys that are no plain texts, if nothing may run.

    Such a key may have the hash of a name, and would be asked whether it is that.
    """
    if not is_quiet() or all(type(key) is str for key in list(namespace)):
        return namespace
    return {key: value for key, value in list(namespace.items()) if type(key) is str}


def is_plainly_named(cls: type) -> bool:
    """Tell whether C code that looks a name up in a class, as its repr does, asks no key of the program for it."""
    return not is_quiet() or all(type(key) is str for key in list(_TYPE_DICT(cls)))


def class_attribute(cls: type, name: str) -> object:
    """Return what the type's own lookup finds, unbound; MISSING if nothing."""
    names_of = class_dict if is_quiet() else _TYPE_DICT
    for base in class_mro(cls):
        found = names_of(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def is_a(obj: object, base: type) -> bool:
    # Not `in`, which would ask a metaclass's __eq__; not any(), which is slower.
    for candidate in class_mro(type(obj)):  # noqa: SIM110
        if candidate is base:
            return True
    return False


def is_one_of(obj: object, kinds: Any) -> bool:
    """Tell whether it is of one of these types itself. Another metaclass may have any __hash__ and __eq__."""
    cls = type(obj)
    return type(cls) is type and cls in kinds


def builtin_base(cls: type) -> Optional[type]:
    """Return the builtin type that decides how the instances of `cls` are looked at, if there is one."""
    # Only classes whose metaclass is `type` are hashed: another one may have any __hash__.
    if type(cls) is type and cls in DECISIVE_TYPES:  # the common case, without a generator
        return cls
    return next((base for base in class_mro(cls) if type(base) is type and base in DECISIVE_TYPES), None)


def container_length(obj: Any, base: type) -> int:
    try:
        return base.__len__(obj)  # type: ignore[attr-defined, no-any-return]
    except OverflowError:  # a range may be longer than that
        return sys.maxsize


def iterate_items(obj: Any, base: type) -> Iterator[Any]:
    """Return items, or (key, value) pairs of the PAIRED types."""
    if base in PAIRED:
        return iter(_ordered_items(obj) if base is OrderedDict else dict.items(obj))
    if base in _ORDERED_VIEWS:
        owner, place = gc.get_referents(obj)[0], _ORDERED_VIEWS.index(base)
        return iter(_ordered_items(owner)) if place == 2 else (pair[place] for pair in _ordered_items(owner))
    return base.__iter__(obj)  # type: ignore[attr-defined, no-any-return]


def _ordered_items(obj: Any) -> Iterable[Tuple[Any, Any]]:
    """Return the pairs of an OrderedDict without running code, if nothing may run.

    It hashes its keys as it goes; where one may have a hash of its own, they come in the order of insertion.
    """
    if is_quiet() and any(type(key) is not str and not is_one_of(key, ATOMS) for key in dict.keys(obj)):
        return dict.items(obj)
    return OrderedDict.items(obj)


def item_window(obj: Any, base: Any, start: int, stop: int) -> List[Any]:
    """Return items start..stop without a copy of the rest; fewer if another thread changes it meanwhile."""
    if base in _SLICED:
        return list(base.__getitem__(obj, slice(start, stop)))
    for _ in range(3):
        found: List[Any] = []
        with contextlib.suppress(RuntimeError):
            found.extend(islice(iterate_items(obj, base), start, stop))
            break
    return found


def instance_dict(obj: object) -> Optional[Dict[Any, Any]]:
    """Return the real `__dict__`, whatever the class pretends."""
    return _plain_dict(_read_in_c(obj, "__dict__", None))


def _read_in_c(obj: object, name: str, default: object) -> object:
    """Return an attribute that C code reads, the default if it cannot; MISSING if the object has no such attribute.

    One that stands under another's name may ask whatever it likes.
    """
    for base in class_mro(type(obj)):
        found: Any = class_dict(base).get(name)
        kind = type(found)
        if (kind is GetSetDescriptorType or kind is MemberDescriptorType) and found.__name__ == name:
            try:
                return found.__get__(obj)
            except Exception:
                return default
    return MISSING


def _plain_dict(namespace: Any) -> Optional[Dict[Any, Any]]:
    """Return a dict that is nothing but that: a subclass may do anything when it is asked."""
    if type(namespace) is dict:
        return _with_text_keys(namespace)  # type: ignore[return-value]
    if not is_a(namespace, dict):
        return None
    return {name: value for name, value in dict_pairs(namespace) if type(name) is str}


def plain_variables(namespace: Any) -> Optional[Dict[Any, Any]]:
    """Return the variables of a frame; None if it is a class body with a mapping of its own for them."""
    return dict(_with_text_keys(namespace)) if type(namespace) is FRAME_LOCALS else _plain_dict(namespace)


def read_attribute(obj: Any, name: str, default: Any = None) -> Any:
    """Return an attribute as C code or the object's own dict has it: nothing that is written in Python is asked."""
    found = _read_in_c(obj, name, default)
    if found is not MISSING:
        return found
    own = instance_dict(obj)
    if own is not None:
        return own.get(name, default)
    # Some types in C, futures among them, do not hand out their dict. Its keys are asked for the name.
    if not is_quiet() and type(obj).__dictoffset__ and class_attribute(type(obj), name) is MISSING:
        with contextlib.suppress(AttributeError):
            return object.__getattribute__(obj, name)
    return default


def loaded_module(name: str) -> Any:
    """Return a module that the program has loaded, or None."""
    return (_plain_dict(sys.modules) or {}).get(name)


def module_dict(name: str) -> Optional[Dict[Any, Any]]:
    """Return what a loaded module defines; None if it is not loaded."""
    found = loaded_module(name)
    return instance_dict(found) if type(found) is ModuleType else None


def slot_values(obj: object) -> List[Tuple[str, Any]]:
    found: List[Tuple[str, Any]] = []
    for base in reversed(class_mro(type(obj))):
        members = class_dict(base)
        if "__slots__" not in members:
            continue
        for name, member in list(members.items()):
            if type(member) is MemberDescriptorType and type(name) is str:
                with contextlib.suppress(AttributeError):
                    found.append((name, member.__get__(obj)))
    return found


def dict_pairs(namespace: Any) -> List[Tuple[Any, Any]]:
    """Return a snapshot of a dict's items, dict subclasses included."""
    if type(namespace) is dict:
        return list(_with_text_keys(namespace).copy().items())  # type: ignore[attr-defined]
    return item_window(namespace, dict, 0, dict.__len__(namespace))  # copying a subclass asks its keys()


def is_hidden(name: Any) -> bool:
    """Tell dunder names and names that no source can spell, such as compiler temporaries."""
    if type(name) is not str or not name.isidentifier():
        return True
    return name[:2] == "__" and ((name[-2:] == "__" and len(name) > 4) or name == "__pydevd_ret_val_dict")
