"""Finds what `self.__name` is really called, as the compiler does inside a class."""

from __future__ import annotations

import ast
from typing import Any, Dict, Optional

from . import raw
from .trees import nodes


def resolve(tree: ast.AST, namespace: Dict[str, Any], guess: bool) -> bool:
    """Renames private attributes in place; True if one was renamed.

    The owner is followed through plain names and instance attributes. With `guess` the classes of
    `self` are taken for owners that cannot be followed.
    """
    renamed = False
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            owner = _follow(node.value, namespace)
            if owner is raw.MISSING and guess:
                owner = namespace.get("self", raw.MISSING)
            real = None if owner is raw.MISSING else _real_name(owner, node.attr)
            if real is not None:
                node.attr, renamed = real, True
    return renamed


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _follow(node: ast.AST, namespace: Dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return namespace.get(node.id, raw.MISSING)
    if not isinstance(node, ast.Attribute):
        return raw.MISSING
    owner = _follow(node.value, namespace)
    if owner is raw.MISSING:
        return owner
    name = node.attr
    if _is_private(name):
        name = _real_name(owner, name) or name
    return (raw.instance_dict(owner) or {}).get(name, raw.MISSING)


def _real_name(owner: Any, name: str) -> Optional[str]:
    if _has(owner, name):
        return None
    cls = owner if raw.is_a(owner, type) else type(owner)
    for base in raw.mro(cls):
        mangled = "_%s%s" % (raw.class_name(base).lstrip("_"), name)
        if _has(owner, mangled):
            return mangled
    return None


def _has(owner: Any, name: str) -> bool:
    if raw.is_a(owner, type):
        return raw.class_attribute(owner, name) is not raw.MISSING
    own = raw.instance_dict(owner)
    if own is not None and dict.__contains__(own, name):
        return True
    return raw.class_attribute(type(owner), name) is not raw.MISSING
