"""Looks at objects through the builtin types only: nothing here runs code of the program."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict, defaultdict, deque
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .interrupts import is_quiet

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
_ORDERED_VIEWS = DICT_VIEWS[3:]
PAIRED = frozenset((dict, OrderedDict, defaultdict))
CONTAINERS = frozenset((list, tuple, set, frozenset, deque, range)) | PAIRED | frozenset(DICT_VIEWS)
TEXTS = frozenset((str, bytes, bytearray))
ATOMS = TEXTS | frozenset((type(None), bool, int, float, complex))
DECISIVE = CONTAINERS | ATOMS | frozenset((type, BaseException, ModuleType))
_SLICED = frozenset((list, tuple, range))
MISSING = object()
_FRAME_LOCALS = type((lambda: sys._getframe().f_locals)())
"""of the variables of a function: from Python 3.13 on no dict"""


def type_name(obj: object) -> str:
    return class_name(type(obj))


def class_name(cls: type) -> str:
    return str.__getitem__(_TYPE_NAME(cls), slice(0, NAME_LIMIT))


def mro(cls: type) -> Tuple[type, ...]:
    return _TYPE_MRO(cls)  # type: ignore[no-any-return]


def class_dict(cls: type) -> Any:
    return _named(_TYPE_DICT(cls))


def _named(namespace: Any) -> Any:
    """If nothing may run, without the keys that are no plain texts: one that has the hash of a name is asked for it."""
    if not is_quiet() or all(type(key) is str for key in list(namespace)):
        return namespace
    return {key: value for key, value in list(namespace.items()) if type(key) is str}


def is_plainly_named(cls: type) -> bool:
    """Whether C code that looks a name up in a class, as its repr does, asks no key of the program for it."""
    return not is_quiet() or all(type(key) is str for key in list(_TYPE_DICT(cls)))


def class_attribute(cls: type, name: str) -> Any:
    """What the type's own lookup finds, unbound; MISSING if nothing."""
    names_of = class_dict if is_quiet() else _TYPE_DICT
    for base in _TYPE_MRO(cls):
        found = names_of(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def is_a(obj: object, base: type) -> bool:
    # Not `in`, which would ask a metaclass's __eq__; not any(), which is slower.
    for candidate in _TYPE_MRO(type(obj)):  # noqa: SIM110
        if candidate is base:
            return True
    return False


def is_one_of(obj: object, kinds: Any) -> bool:
    """Whether it is of one of these types itself. Another metaclass may have any __hash__ and __eq__."""
    cls = type(obj)
    return type(cls) is type and cls in kinds


def builtin_base(cls: type) -> Optional[type]:
    """The builtin type that decides how the instances of `cls` are looked at, if there is one."""
    # Only classes whose metaclass is `type` are hashed: another one may have any __hash__.
    if type(cls) is type and cls in DECISIVE:
        return cls
    for base in _TYPE_MRO(cls):
        if type(base) is type and base in DECISIVE:
            return base
    return None


def length(obj: Any, base: type) -> int:
    try:
        return base.__len__(obj)  # type: ignore[attr-defined, no-any-return]
    except OverflowError:  # of a range
        return sys.maxsize


def iterate(obj: Any, base: type) -> Iterator[Any]:
    """Items, or (key, value) pairs of the PAIRED types."""
    if base in PAIRED:
        return iter(_ordered(obj) if base is OrderedDict else dict.items(obj))
    if base in _ORDERED_VIEWS:
        owner, place = gc.get_referents(obj)[0], _ORDERED_VIEWS.index(base)
        return iter(_ordered(owner)) if place == 2 else (pair[place] for pair in _ordered(owner))
    return base.__iter__(obj)  # type: ignore[attr-defined, no-any-return]


def _ordered(obj: Any) -> Any:
    """An OrderedDict hashes its keys as it goes; where one may have a hash of its own, in the order of insertion."""
    if is_quiet() and any(type(key) is not str and not is_one_of(key, ATOMS) for key in dict.keys(obj)):
        return dict.items(obj)
    return OrderedDict.items(obj)


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
        found = class_dict(base).get("__dict__")
        if _hands_out(found, "__dict__"):
            try:
                namespace = found.__get__(obj)
            except Exception:
                return None
            return _plain(namespace)
    return None


def _hands_out(found: Any, name: str) -> bool:
    """Whether C code reads this attribute. One that stands under another's name may ask whatever it likes."""
    kind = type(found)
    return (kind is GetSetDescriptorType or kind is MemberDescriptorType) and found.__name__ == name


def _plain(namespace: Any) -> Optional[Dict[Any, Any]]:
    """A dict that is nothing but that: a subclass may do anything when it is asked."""
    if type(namespace) is dict:
        return _named(namespace)  # type: ignore[no-any-return]
    if not is_a(namespace, dict):
        return None
    return {name: value for name, value in pairs(namespace) if type(name) is str}


def plain_variables(namespace: Any) -> Optional[Dict[Any, Any]]:
    """The variables of a frame; None if it is a class body with a mapping of its own for them."""
    return dict(_named(namespace)) if type(namespace) is _FRAME_LOCALS else _plain(namespace)


def read(obj: Any, name: str, default: Any = None) -> Any:
    """An attribute as C code or the object's own dict has it: nothing that is written in Python has a say."""
    for base in _TYPE_MRO(type(obj)):
        found = class_dict(base).get(name)
        if _hands_out(found, name):
            try:
                return found.__get__(obj)
            except Exception:
                return default
    own = instance_dict(obj)
    if own is None:
        return _behind(obj, name, default)
    return own.get(name, default)


def _behind(obj: Any, name: str, default: Any) -> Any:
    """Some types in C, futures among them, have a dict that they do not hand out. Its keys are asked for the name."""
    if is_quiet() or not type(obj).__dictoffset__ or class_attribute(type(obj), name) is not MISSING:
        return default
    try:
        return object.__getattribute__(obj, name)
    except AttributeError:
        return default


def module(name: str) -> Any:
    """A module that the program has loaded, or None."""
    return (_plain(sys.modules) or {}).get(name)


def module_dict(name: str) -> Optional[Dict[Any, Any]]:
    """What a loaded module defines; None if it is not loaded."""
    found = module(name)
    return instance_dict(found) if type(found) is ModuleType else None


def slots(obj: object) -> List[Tuple[str, Any]]:
    found: List[Tuple[str, Any]] = []
    for base in reversed(_TYPE_MRO(type(obj))):
        members = class_dict(base)
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
    if type(namespace) is dict:
        return list(_named(namespace).copy().items())
    return window(namespace, dict, 0, dict.__len__(namespace))  # copying a subclass asks its keys()


def is_hidden(name: Any) -> bool:
    """Dunder names and names that no source can spell, such as compiler temporaries."""
    if type(name) is not str or not name.isidentifier():
        return True
    return name[:2] == "__" and ((name[-2:] == "__" and len(name) > 4) or name == "__pydevd_ret_val_dict")
