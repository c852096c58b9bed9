"""Finds what an expression of names, attributes, items and arithmetic means, without running code of the program."""

from __future__ import annotations

import ast
import builtins
import operator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from . import arrays, raw
from .repr import render
from .texts import clip

MISSING = raw.MISSING
LONGEST = 2000
"""characters of an expression: what is nested deeper than that is no question of what a value is"""
_BITS = 100000
_SIZE = 1000000
"""characters of a text"""
_STEPS = 1000000
"""keys that are compared for one expression, and characters of texts that are searched"""
_PART = 10000
"""items of a part of a list"""
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, type(str.join), type(object.__init__), type(dict.fromkeys))
_BINDING = (classmethod, staticmethod)
_COMPUTED = (property, GetSetDescriptorType, MemberDescriptorType)
_OF_C = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
_NUMBERS = frozenset((bool, int, float, complex))
_STRINGS = frozenset((str, bytes))
_ATOMS = _NUMBERS | _STRINGS | frozenset((type(None), type(...)))
_SAME_ONLY = object.__dict__["__eq__"]
"""of what is equal to nothing but itself"""
_LOOKED_UP = [raw.class_attribute(kind, "__getattribute__") for kind in (object, SimpleNamespace, *raw.DECISIVE)]
"""How types look for attributes that do it as Python itself does; others that are written in C look elsewhere too."""
_SEQUENCES = frozenset((list, tuple, str, bytes, bytearray))
_PLAIN_GETTERS = frozenset((BaseException, int, float))
"""whose attributes in C only hand out what is stored"""
_OPERATIONS: Dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_SIGNS: Dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
_COMPARISONS: Dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

Names = Dict[str, Any]


class Scope:
    """The names that an expression may use, and how many steps may still be made to find out what it means."""

    __slots__ = ("names", "steps")

    def __init__(self, names: Names) -> None:
        self.names = names
        self.steps = _STEPS

    def step(self, count: int = 1) -> None:
        self.steps -= count
        if self.steps < 0:
            raise Beyond("there is too much to look through")


class Beyond(Exception):
    """Finding out would run code, or take too long; says what."""


class Failed(Exception):
    """There is no value; says why in the words of Python's own error."""


def find(node: ast.AST, names: Names) -> Any:
    """The value, or Beyond or Failed."""
    try:
        return _value(node, Scope(names))
    except RecursionError:
        raise Beyond("it is nested too deeply") from None


def follow(node: ast.AST, names: Names) -> Any:
    """The value, or MISSING."""
    try:
        return find(node, names)
    except (Beyond, Failed):
        return MISSING


def _value(node: Any, scope: Scope) -> Any:
    handler = _NODES.get(type(node))
    if handler is None:
        raise Beyond("it is more than names, attributes, items, arithmetic and comparisons")
    return handler(node, scope)


def _name(node: Any, scope: Scope) -> Any:
    found = scope.names.get(node.id, MISSING)
    if found is MISSING:
        found = (raw.instance_dict(builtins) or {}).get(node.id, MISSING)
    if found is MISSING:
        raise Failed("NameError: name '%s' is not defined" % clip(node.id, raw.NAME_LIMIT)[0])
    return found


def _tuple(node: Any, scope: Scope) -> Any:
    return tuple(_value(each, scope) for each in node.elts)


def _either(node: Any, scope: Scope) -> Any:
    value = None
    for each in node.values:
        value = _value(each, scope)
        if _truth(value) is isinstance(node.op, ast.Or):
            break
    return value


def _truth(value: Any) -> bool:
    if raw.is_one_of(value, _ATOMS):
        return bool(value)
    cls = type(value)
    base = raw.builtin_base(cls)
    for name in ("__bool__", "__len__"):
        found = raw.class_attribute(cls, name)
        if found is not MISSING:
            if base is None or found is not raw.class_attribute(base, name):
                raise Beyond("whether a %s is true would have to be run" % raw.type_name(value))
            return bool(found(value))
    return True


def _sign(node: Any, scope: Scope) -> Any:
    value = _value(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return not _truth(value)
    if not raw.is_one_of(value, _NUMBERS):
        raise Beyond("arithmetic with a %s would have to be run" % raw.type_name(value))
    return _reckoned(_SIGNS[type(node.op)], value)


def _arithmetic(node: Any, scope: Scope) -> Any:
    left, right = _value(node.left, scope), _value(node.right, scope)
    operation = _OPERATIONS.get(type(node.op))
    for value in (left, right):
        if operation is None or not raw.is_one_of(value, _ATOMS):
            raise Beyond("arithmetic with a %s would have to be run" % raw.type_name(value))
    if raw.is_one_of(left, _STRINGS) and operation is operator.mod:
        raise Beyond("formatting would have to be run")
    if not _is_small(left, operation, right):
        raise Beyond("the result would be too large")
    return _reckoned(operation, left, right)


def _is_small(left: Any, operation: Any, right: Any) -> bool:
    """Told before it is worked out: ten to the power of a billion takes all memory there is."""
    sizes = [len(value) for value in (left, right) if raw.is_one_of(value, _STRINGS)]
    if sizes:
        times = [value for value in (left, right) if raw.is_one_of(value, (int, bool))]
        return bool(sum(sizes) * (max(0, times[0]) if times and operation is operator.mul else 1) <= _SIZE)
    if not raw.is_one_of(left, (int, bool)) or not raw.is_one_of(right, (int, bool)):
        return max(_bits(left), _bits(right)) <= _BITS
    if operation is operator.lshift:
        return _bits(left) <= _BITS and int(right) <= _BITS
    if operation is operator.pow:
        return _bits(left) * max(1, int(right)) <= _BITS
    return _bits(left) + _bits(right) <= _BITS


def _bits(value: Any) -> int:
    return int.bit_length(value) if type(value) is int else 1


def _reckoned(operation: Any, *values: Any) -> Any:
    """With values of Python's own types only, whose errors are Python's own as well."""
    try:
        return operation(*values)
    except Exception as error:
        raise Failed("%s: %s" % (type(error).__name__, error)) from None


def _comparison(node: Any, scope: Scope) -> Any:
    left = _value(node.left, scope)
    result: Any = True
    for op, operand in zip(node.ops, node.comparators):
        right = _value(operand, scope)
        result = _compared(op, left, right, scope)
        if not result:
            break
        left = right
    return result


def _compared(op: ast.cmpop, left: Any, right: Any, scope: Scope) -> bool:
    if isinstance(op, (ast.Is, ast.IsNot)):
        return (left is right) is isinstance(op, ast.Is)
    if isinstance(op, (ast.In, ast.NotIn)):
        return _contains(right, left, scope) is isinstance(op, ast.In)
    for value in (left, right):
        if not raw.is_one_of(value, _ATOMS):
            raise Beyond("comparing a %s would have to be run" % raw.type_name(value))
    return bool(_reckoned(_COMPARISONS[type(op)], left, right))


def _contains(owner: Any, wanted: Any, scope: Scope) -> bool:
    if raw.is_one_of(owner, _STRINGS) and raw.is_one_of(wanted, _STRINGS):
        scope.step(len(owner))
        return bool(_reckoned(operator.contains, owner, wanted))
    base = raw.builtin_base(type(owner))
    if base not in raw.PAIRED or not _is_inherited(owner, base, "__contains__"):
        raise Beyond("looking for something in a %s would have to be run" % raw.type_name(owner))
    return _entry(owner, wanted, scope) is not MISSING


# Attributes.


def _attribute(node: Any, scope: Scope) -> Any:
    owner, name = _value(node.value, scope), node.attr
    cls = type(owner)
    looks_up = raw.class_attribute(cls, "__getattribute__")
    if not any(looks_up is known for known in _LOOKED_UP):
        raise Beyond("the attributes of a %s would have to be computed" % raw.type_name(owner))
    of_class = raw.class_attribute(cls, name)
    if of_class is not MISSING and _has(of_class, "__set__", "__delete__"):
        return _described(of_class, owner, name)
    found = _own(owner, name, scope)
    if found is MISSING and of_class is not MISSING:
        return _bound(of_class, owner, name)
    if found is not MISSING:
        return found
    if raw.class_attribute(cls, "__getattr__") is not MISSING or _is_computed_by_module(owner):
        raise Beyond("`%s` would have to be computed" % name)
    kind = "type object '%s'" if raw.is_a(owner, type) else "'%s' object"
    shown = raw.class_name(owner if raw.is_a(owner, type) else cls)
    raise Failed("AttributeError: %s has no attribute '%s'" % (kind % shown, clip(name, raw.NAME_LIMIT)[0]))


def _has(obj: Any, *names: str) -> bool:
    return any(raw.class_attribute(type(obj), name) is not MISSING for name in names)


def _own(owner: Any, name: str, scope: Scope) -> Any:
    """What is stored in the object itself; of a class, what it or a base defines."""
    if not raw.is_a(owner, type):
        own = raw.instance_dict(owner)
        return MISSING if own is None else _entry(own, name, scope)
    found = raw.class_attribute(owner, name)
    if type(found) is staticmethod:
        return found.__func__
    if type(found) is classmethod:
        return _of_class(found, owner, name)
    if found is MISSING or raw.is_one_of(found, (FunctionType, *_COMPUTED)) or not _has(found, "__get__"):
        return found
    if raw.is_one_of(found, _OF_C):
        return _reckoned(found.__get__, None, owner)
    raise Beyond("`%s` would have to be computed" % name)


def _described(found: Any, owner: Any, name: str) -> Any:
    """An attribute that its class hands out, if it does so in C and without more ado."""
    if name == "__class__":
        return type(owner)
    if name == "__dict__" and not raw.is_a(owner, type):
        return raw.instance_dict(owner)
    if type(found) is MemberDescriptorType or (type(found) is GetSetDescriptorType and _is_plain(found, name)):
        return _reckoned(found.__get__, owner)
    raise Beyond("`%s` would have to be computed" % name)


def _is_plain(found: Any, name: str) -> bool:
    owner = found.__objclass__
    return type(owner) is type and owner in _PLAIN_GETTERS and name[:2] != "__"


def _bound(found: Any, owner: Any, name: str) -> Any:
    """What a class has for its instances: methods are bound to them."""
    if type(found) is FunctionType:
        return MethodType(found, owner)
    if type(found) is staticmethod:
        return found.__func__
    if type(found) is classmethod:
        return _of_class(found, type(owner), name)
    if raw.is_one_of(found, _OF_C):
        return _reckoned(found.__get__, owner, type(owner))
    if _has(found, "__get__"):
        raise Beyond("`%s` would have to be computed" % name)
    return found


def _of_class(found: Any, cls: type, name: str) -> Any:
    if type(found.__func__) is not FunctionType:
        raise Beyond("`%s` would have to be computed" % name)
    return MethodType(found.__func__, cls)


def _is_computed_by_module(owner: Any) -> bool:
    return raw.is_a(owner, ModuleType) and "__getattr__" in (raw.instance_dict(owner) or {})


# Items.


def _item(node: Any, scope: Scope) -> Any:
    owner = _value(node.value, scope)
    # Before Python 3.9 an index has a node of its own around it.
    index = node.slice.value if type(node.slice).__name__ == "Index" else node.slice
    if isinstance(index, ast.Slice):
        ends = [_value(end, scope) if end is not None else None for end in (index.lower, index.upper, index.step)]
        return _part(owner, ends)
    key = _value(index, scope)
    base: Any = raw.builtin_base(type(owner))
    is_position = raw.is_one_of(key, (int, bool))
    if base in raw.PAIRED and _is_inherited(owner, base, "__getitem__"):
        return _keyed(owner, key, scope)
    if base in _SEQUENCES and is_position and _is_inherited(owner, base, "__getitem__"):
        return _reckoned(base.__getitem__, owner, key)
    if base is None and (is_position or (type(key) is tuple and all(type(each) is int for each in key))):
        found = _reckoned(arrays.item, owner, key)
        if found is not MISSING:
            return found
    raise Beyond("an item of a %s would have to be computed" % raw.type_name(owner))


def _keyed(owner: Any, key: Any, scope: Scope) -> Any:
    found = _entry(owner, key, scope)
    if found is MISSING and raw.class_attribute(type(owner), "__missing__") is not MISSING:
        raise Beyond("there is no such key yet, and it would have to be made")
    if found is MISSING:
        raise Failed("KeyError: %s" % (render(key, raw.NAME_LIMIT)[0] if _is_plain_key(key) else raw.type_name(key)))
    return found


def _part(owner: Any, ends: Any) -> Any:
    base: Any = raw.builtin_base(type(owner))
    if base not in _SEQUENCES or not _is_inherited(owner, base, "__getitem__"):
        raise Beyond("a part of a %s would have to be computed" % raw.type_name(owner))
    if any(end is not None and type(end) is not int for end in ends):
        raise Beyond("where the part begins and ends would have to be computed")
    wanted = slice(*ends)
    size = len(range(*_reckoned(wanted.indices, raw.length(owner, base))))
    if size > (_PART if base in (list, tuple) else _SIZE):
        raise Beyond("the result would be too large")
    return _reckoned(base.__getitem__, owner, wanted)


def _is_inherited(owner: Any, base: Optional[type], name: str) -> bool:
    """Whether the builtin type's own method is the one that Python would use."""
    return base is not None and raw.class_attribute(type(owner), name) is raw.class_attribute(base, name)


def _entry(owner: Any, key: Any, scope: Scope) -> Any:
    """Of a mapping, by comparing its keys ourselves: a key of the program has an __eq__, and may share its hash."""
    for _ in range(3):
        is_certain = True
        try:
            for known, value in dict.items(owner):
                is_same = _is_same(known, key, scope)
                if is_same:
                    return value
                is_certain = is_certain and is_same is not None
        except RecursionError:
            raise
        except RuntimeError:  # another thread changed it
            continue
        if is_certain:
            return MISSING
        raise Beyond("whether a key is the same as another would have to be run")
    raise Beyond("its keys are being changed")


def _is_same(first: Any, second: Any, scope: Scope) -> Optional[bool]:
    """None if only code could tell, of the program or of a type that we do not know."""
    scope.step()
    if first is second:
        return True
    if type(first) is tuple and type(second) is tuple:
        if len(first) != len(second):
            return False
        parts = [_is_same(*pair, scope) for pair in zip(first, second)]
        return False if False in parts else None if None in parts else True
    if raw.is_one_of(first, _ATOMS) and raw.is_one_of(second, _ATOMS):
        # Texts and bytes are never the same, of which Python may be told to warn.
        is_text = raw.is_one_of(first, _STRINGS) and raw.is_one_of(second, _STRINGS)
        return bool(first == second) if not is_text or type(first) is type(second) else False
    return False if _is_like_no_other(first) and _is_like_no_other(second) else None


def _is_like_no_other(value: Any) -> bool:
    """Whether it is equal to nothing of another type, and is not asked about that."""
    if type(value) is tuple or raw.is_one_of(value, _ATOMS):
        return True
    return raw.class_attribute(type(value), "__eq__") is _SAME_ONLY


def _is_plain_key(key: Any) -> bool:
    return raw.is_one_of(key, _ATOMS) or (type(key) is tuple and all(map(_is_plain_key, key)))


_NODES: Dict[type, Callable[[Any, Scope], Any]] = {
    ast.Constant: lambda node, scope: node.value,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _item,
    ast.Tuple: _tuple,
    ast.UnaryOp: _sign,
    ast.BinOp: _arithmetic,
    ast.BoolOp: _either,
    ast.Compare: _comparison,
}


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
    if type(cls) is not type:
        return "class" if raw.is_a(value, type) else "variable"
    if cls in _COMPUTED:
        return "property"
    if cls in _FUNCTIONS or cls in _BINDING:
        return "function"
    if raw.is_a(value, type):
        return "class"
    return "module" if raw.is_a(value, ModuleType) else "variable"
