"""Finds what a plain chain of names means, and what a value offers, without running any code of the program."""

from __future__ import annotations

import ast
import builtins
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Dict, Iterator, Tuple

from . import raw

MISSING = raw.MISSING
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, type(str.join), type(object.__init__), type(dict.fromkeys))
_BINDING = (classmethod, staticmethod)
_COMPUTED = (property, GetSetDescriptorType, MemberDescriptorType)
_ITEMS = (list, tuple, dict, str)


def follow(node: ast.AST, namespace: Dict[str, Any]) -> Any:
    """Names, attributes that are stored, and items by a constant; MISSING where anything would have to run."""
    if isinstance(node, ast.Name):
        found = namespace.get(node.id, MISSING)
        return vars(builtins).get(node.id, MISSING) if found is MISSING else found
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Attribute):
        owner = follow(node.value, namespace)
        return MISSING if owner is MISSING else stored(owner, node.attr)
    if isinstance(node, ast.Subscript):
        return _item(follow(node.value, namespace), node)
    return MISSING


def stored(owner: Any, name: str) -> Any:
    """An attribute, if reading it runs nothing."""
    own = raw.class_dict(owner) if raw.is_a(owner, type) else raw.instance_dict(owner)
    if own is not None and not raw.is_a(owner, type):
        found = dict.get(own, name, MISSING)
        if found is not MISSING:
            return found
    for known, value in raw.slots(owner):
        if known == name:
            return value
    found = raw.class_attribute(owner if raw.is_a(owner, type) else type(owner), name)
    return MISSING if type(found) in _COMPUTED or hasattr(type(found), "__set__") else found


def _item(owner: Any, node: ast.Subscript) -> Any:
    base = None if owner is MISSING else raw.builtin_base(type(owner))
    try:
        key = ast.literal_eval(getattr(node.slice, "value", node.slice) if _is_index(node) else node.slice)
        if base in _ITEMS and type(key) in (int, str, bytes, float, bool, tuple):
            return base.__getitem__(owner, key)
    except Exception:
        pass
    return MISSING


def _is_index(node: ast.Subscript) -> bool:
    """Before Python 3.9 an index has a node of its own around it."""
    return type(node.slice).__name__ == "Index"


def offered(owner: Any) -> Iterator[Tuple[str, Any]]:
    """Names of attributes with what is stored there: the object's own first, then its classes'."""
    is_class = raw.is_a(owner, type)
    own = None if is_class else raw.instance_dict(owner)
    if own is not None:
        yield from ((name, value) for name, value in raw.pairs(own) if type(name) is str)
    yield from raw.slots(owner)
    for base in raw.mro(owner if is_class else type(owner)):
        yield from ((name, value) for name, value in list(raw.class_dict(base).items()) if type(name) is str)
    if is_class:
        for base in raw.mro(type(owner)):
            yield from ((name, value) for name, value in list(raw.class_dict(base).items()) if type(name) is str)


def kind(value: Any) -> str:
    """What an editor would draw beside the name."""
    cls = type(value)
    if cls in _COMPUTED:
        return "property"
    if cls in _FUNCTIONS or cls in _BINDING:
        return "function"
    if raw.is_a(value, type):
        return "class"
    return "module" if raw.is_a(value, ModuleType) else "variable"
