"""How values of many parts are looked at that are no builtin containers: what every such way has in common."""

from __future__ import annotations

from types import BuiltinFunctionType, GetSetDescriptorType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Dict, Iterator, List, Tuple

from . import raw

Json = Dict[str, Any]
Labelled = List[Tuple[Any, Any]]

POSITION = object()
"""the label of an item that has none: its position"""

_OF_C = (GetSetDescriptorType, MethodDescriptorType, WrapperDescriptorType, BuiltinFunctionType)


class Lens:
    """One value, its size and its parts; nothing is copied but the parts that are asked for."""

    __slots__ = ("closing", "items", "named", "opening", "paired")

    length = True
    """whether the number of items is what Python's len() says"""
    separator = ": "
    """between label and value in a text, where labels are written"""
    shows_attributes = False
    """whether the object's attributes are members too"""

    def __init__(self, opening: str, closing: str, items: int, paired: bool = False, named: int = 0) -> None:
        self.opening = opening
        self.closing = closing
        self.items = items
        self.paired = paired
        self.named = named

    def texts(self) -> Iterator[Any]:
        """What a text shows, in order: values, or pairs of label and value."""
        raise NotImplementedError

    def named_page(self, start: int, stop: int) -> Labelled:
        """Members before the items, by label."""
        return []

    def page(self, start: int, stop: int) -> Labelled:
        """Items by label, or by POSITION."""
        raise NotImplementedError

    def facts(self, detailed: bool) -> Json:
        """What else a row says of it, such as `shape`."""
        return {}


def of_c(cls: Any, name: str) -> Any:
    """An attribute that a class written in C defines itself; nothing written in Python can pretend to be that."""
    if type(cls) is not type:
        return None
    found = raw.class_dict(cls).get(name)
    return found if type(found) in _OF_C and getattr(found, "__objclass__", None) is cls else None


def loaded(module: str, name: str) -> Any:
    """A name of a module that the program has imported; it is never imported for this."""
    namespace = raw.module_dict(module)
    return None if namespace is None else namespace.get(name)
