"""Finds the value of an expression of names, attributes, items and arithmetic without running code of the program."""

from __future__ import annotations

import ast
import builtins
import operator
import types
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from ..python_versions import subscript_index
from ..values import numpy_arrays, raw
from ..values.atom_texts import clip
from ..values.bounded_repr import render_value

MISSING = raw.MISSING
LONGEST_EXPRESSION = 2000
"""characters of an expression; a longer one hardly asks for a value"""
_MOST_BITS = 100000
_LONGEST_TEXT = 1000000
_LONGEST_SLICE = 10000
"""items of a part of a list"""
_C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)
_BUILTIN_METHODS = (*_C_METHODS, types.ClassMethodDescriptorType)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, *_C_METHODS, classmethod, staticmethod)
_COMPUTED = (property, types.GetSetDescriptorType, types.MemberDescriptorType)
_NUMBERS = frozenset((bool, int, float, complex))
_STRINGS = frozenset((str, bytes))
_ATOMS = _NUMBERS | _STRINGS | frozenset((type(None), type(...)))
_IDENTITY_EQ = object.__dict__["__eq__"]
"""The comparison of objects that are equal to nothing but themselves."""
_PLAIN_LOOKUPS = [
    raw.class_attribute(kind, "__getattribute__") for kind in (object, types.SimpleNamespace, *raw.DECISIVE_TYPES)
]
"""Lookups of types that find attributes as Python itself does; other types in C look elsewhere too."""
_SEQUENCES = frozenset((list, tuple, str, bytes, bytearray))
_PLAIN_GETTERS = frozenset((BaseException, int, float))
"""Types whose attributes in C only hand out what is stored."""
_OPERATIONS: Dict[type, Callable[..., Any]] = {
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
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(eq=False)
class Scope:
    """The names that an expression may use, and how many steps are left to find out what it means."""

    names: Dict[str, Any]
    steps: int = 1000000
    """keys that are compared for one expression, and characters of texts that are searched"""

    def count_steps(self, count: int = 1) -> None:
        self.steps -= count
        if self.steps < 0:
            raise BeyondLookup("there is too much to look through")


class BeyondLookup(Exception):
    """Says why finding out would run code, or take too long."""


class LookupFailed(Exception):
    """Says why there is no value, in the words of Python's own error."""


def find_value(node: ast.AST, names: Dict[str, Any]) -> object:
    """Return the value, or raise BeyondLookup or LookupFailed."""
    try:
        return _value_of(node, Scope(names))
    except RecursionError:
        raise BeyondLookup("it is nested too deeply") from None


def try_find(node: ast.AST, names: Dict[str, Any]) -> Any:
    """Return the value, or MISSING."""
    try:
        return find_value(node, names)
    except (BeyondLookup, LookupFailed):
        return MISSING


def _value_of(node: Any, scope: Scope) -> object:
    handler = _NODE_VALUES.get(type(node))
    if handler is None:
        raise BeyondLookup("it is more than names, attributes, items, arithmetic and comparisons")
    return handler(node, scope)


def _name_value(node: Any, scope: Scope) -> object:
    for names in (scope.names, raw.instance_dict(builtins) or {}):
        if node.id in names:
            return names[node.id]
    raise LookupFailed("NameError: name '%s' is not defined" % clip(node.id, raw.NAME_LIMIT)[0])


def _boolean_value(node: Any, scope: Scope) -> object:
    value = None
    for each in node.values:
        value = _value_of(each, scope)
        if _truth_of(value) is isinstance(node.op, ast.Or):
            break
    return value


def _truth_of(value: Any) -> bool:
    if raw.is_one_of(value, _ATOMS):
        return bool(value)
    cls = type(value)
    base = raw.builtin_base(cls)
    for name in ("__bool__", "__len__"):
        found = raw.class_attribute(cls, name)
        if found is not MISSING:
            if base is None or found is not raw.class_attribute(base, name):
                raise BeyondLookup("whether a %s is true would have to be run" % raw.type_name(value))
            return bool(found(value))  # type: ignore[operator]
    return True


def _unary_value(node: Any, scope: Scope) -> object:
    value = _value_of(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return not _truth_of(value)
    _check_kinds("arithmetic with", _NUMBERS, value)
    return _apply_operation(_OPERATIONS[type(node.op)], value)


def _check_kinds(doing: str, kinds: Any, *values: object) -> None:
    """Refuse values of other types, whose own methods would run."""
    for value in values:
        if not raw.is_one_of(value, kinds):
            raise BeyondLookup("%s a %s would have to be run" % (doing, raw.type_name(value)))


def _binary_value(node: Any, scope: Scope) -> object:
    left, right = _value_of(node.left, scope), _value_of(node.right, scope)
    operation = _OPERATIONS.get(type(node.op))
    _check_kinds("arithmetic with", () if operation is None else _ATOMS, left, right)
    if raw.is_one_of(left, _STRINGS) and operation is operator.mod:
        raise BeyondLookup("formatting would have to be run")
    if not _is_small(left, operation, right):
        raise BeyondLookup("the result would be too large")
    return _apply_operation(operation, left, right)


def _is_small(left: Any, operation: Any, right: Any) -> bool:
    """Tell in advance whether the result is small: ten to the power of a billion takes all memory there is."""
    sizes = [len(value) for value in (left, right) if raw.is_one_of(value, _STRINGS)]
    if sizes:
        times = [value for value in (left, right) if raw.is_one_of(value, (int, bool))]
        return bool(sum(sizes) * (max(0, times[0]) if times and operation is operator.mul else 1) <= _LONGEST_TEXT)
    if not raw.is_one_of(left, (int, bool)) or not raw.is_one_of(right, (int, bool)):
        return max(_bit_length(left), _bit_length(right)) <= _MOST_BITS
    if operation is operator.lshift:
        return _bit_length(left) <= _MOST_BITS and int(right) <= _MOST_BITS
    if operation is operator.pow:
        return _bit_length(left) * max(1, int(right)) <= _MOST_BITS
    return _bit_length(left) + _bit_length(right) <= _MOST_BITS


def _bit_length(value: Any) -> int:
    return int.bit_length(value) if type(value) is int else 1


def _apply_operation(operation: Any, *values: Any) -> object:
    """Compute with values of Python's own types only, whose errors are Python's own as well."""
    try:
        return operation(*values)
    except Exception as error:
        raise LookupFailed("%s: %s" % (type(error).__name__, error)) from None


def _comparison_value(node: Any, scope: Scope) -> object:
    left = _value_of(node.left, scope)
    result: Any = True
    for op, operand in zip(node.ops, node.comparators):
        right = _value_of(operand, scope)
        if isinstance(op, (ast.Is, ast.IsNot)):
            result = (left is right) is isinstance(op, ast.Is)
        elif isinstance(op, (ast.In, ast.NotIn)):
            result = _contains_value(right, left, scope) is isinstance(op, ast.In)
        else:
            _check_kinds("comparing", _ATOMS, left, right)
            result = bool(_apply_operation(_OPERATIONS[type(op)], left, right))
        if not result:
            break
        left = right
    return result


def _contains_value(owner: Any, wanted: Any, scope: Scope) -> bool:
    if raw.is_one_of(owner, _STRINGS) and raw.is_one_of(wanted, _STRINGS):
        scope.count_steps(len(owner))
        return bool(_apply_operation(operator.contains, owner, wanted))
    base = raw.builtin_base(type(owner))
    if base not in raw.PAIRED or not _is_inherited(owner, base, "__contains__"):
        raise BeyondLookup("looking for something in a %s would have to be run" % raw.type_name(owner))
    return _find_entry(owner, wanted, scope) is not MISSING


def _attribute_value(node: Any, scope: Scope) -> object:
    owner: Any = _value_of(node.value, scope)
    name, cls = node.attr, type(owner)
    looks_up = raw.class_attribute(cls, "__getattribute__")
    if not any(looks_up is known for known in _PLAIN_LOOKUPS):
        raise BeyondLookup("the attributes of a %s would have to be computed" % raw.type_name(owner))
    of_class = raw.class_attribute(cls, name)
    if of_class is not MISSING and _has_method(of_class, "__set__", "__delete__"):
        return _descriptor_value(of_class, owner, name)
    is_class, own = raw.is_a(owner, type), raw.instance_dict(owner)
    if is_class:
        found = raw.class_attribute(owner, name)
        found = found if found is MISSING else _bound_attribute(found, MISSING, owner, name)
    else:
        found = MISSING if own is None else _find_entry(own, name, scope)
    if found is MISSING and of_class is not MISSING:
        return _bound_attribute(of_class, owner, cls, name)
    if found is not MISSING:
        return found
    is_computed_by_module = raw.is_a(owner, types.ModuleType) and "__getattr__" in (own or {})
    if raw.class_attribute(cls, "__getattr__") is not MISSING or is_computed_by_module:
        raise BeyondLookup("`%s` would have to be computed" % name)
    kind = "type object '%s'" if is_class else "'%s' object"
    shown = raw.class_name(owner if is_class else cls)
    raise LookupFailed("AttributeError: %s has no attribute '%s'" % (kind % shown, clip(name, raw.NAME_LIMIT)[0]))


def _has_method(obj: Any, *names: str) -> bool:
    return any(raw.class_attribute(type(obj), name) is not MISSING for name in names)


def _descriptor_value(found: Any, owner: Any, name: str) -> object:
    """Return an attribute that its class hands out, if it does so in C and simply."""
    if name == "__class__":
        return type(owner)
    if name == "__dict__" and not raw.is_a(owner, type):
        return raw.instance_dict(owner)
    is_plain = type(found) is types.MemberDescriptorType
    if type(found) is types.GetSetDescriptorType and type(found.__objclass__) is type:
        is_plain = found.__objclass__ in _PLAIN_GETTERS and name[:2] != "__"
    if is_plain:
        return _apply_operation(found.__get__, owner)
    raise BeyondLookup("`%s` would have to be computed" % name)


def _bound_attribute(found: Any, owner: Any, cls: type, name: str) -> object:
    """Return what a class has for its instances, or for itself if the owner is MISSING: methods are bound to them."""
    is_alone = owner is MISSING
    if type(found) is staticmethod:
        return found.__func__
    if type(found) is classmethod and type(found.__func__) is types.FunctionType:
        return types.MethodType(found.__func__, cls)
    if type(found) is types.FunctionType:
        return found if is_alone else types.MethodType(found, owner)
    if raw.is_one_of(found, _BUILTIN_METHODS):
        return _apply_operation(found.__get__, None if is_alone else owner, cls)
    if not _has_method(found, "__get__") or (is_alone and raw.is_one_of(found, _COMPUTED)):
        return found
    raise BeyondLookup("`%s` would have to be computed" % name)


def _item_value(node: Any, scope: Scope) -> object:
    owner = _value_of(node.value, scope)
    index = subscript_index(node)
    if isinstance(index, ast.Slice):
        ends = [_value_of(end, scope) if end is not None else None for end in (index.lower, index.upper, index.step)]
        return _slice_value(owner, ends)
    key = _value_of(index, scope)
    base: Any = raw.builtin_base(type(owner))
    is_position = raw.is_one_of(key, (int, bool))
    if base in raw.PAIRED and _is_inherited(owner, base, "__getitem__"):
        found = _find_entry(owner, key, scope)
        if found is not MISSING:
            return found
        if raw.class_attribute(type(owner), "__missing__") is not MISSING:
            raise BeyondLookup("there is no such key yet, and it would have to be made")
        shown = render_value(key, raw.NAME_LIMIT)[0] if _is_plain_key(key) else raw.type_name(key)
        raise LookupFailed("KeyError: %s" % shown)
    if base in _SEQUENCES and is_position and _is_inherited(owner, base, "__getitem__"):
        return _apply_operation(base.__getitem__, owner, key)
    if base is None and (is_position or (type(key) is tuple and all(type(each) is int for each in key))):
        found = _apply_operation(numpy_arrays.array_item, owner, key)
        if found is not MISSING:
            return found
    raise BeyondLookup("an item of a %s would have to be computed" % raw.type_name(owner))


def _slice_value(owner: Any, ends: Any) -> object:
    base: Any = raw.builtin_base(type(owner))
    if base not in _SEQUENCES or not _is_inherited(owner, base, "__getitem__"):
        raise BeyondLookup("a part of a %s would have to be computed" % raw.type_name(owner))
    if any(end is not None and type(end) is not int for end in ends):
        raise BeyondLookup("where the part begins and ends would have to be computed")
    wanted = slice(*ends)
    bounds: Any = _apply_operation(wanted.indices, raw.container_length(owner, base))
    if len(range(*bounds)) > (_LONGEST_SLICE if base in (list, tuple) else _LONGEST_TEXT):
        raise BeyondLookup("the result would be too large")
    return _apply_operation(base.__getitem__, owner, wanted)


def _is_inherited(owner: Any, base: Optional[type], name: str) -> bool:
    """Tell whether the builtin type's own method is the one that Python would use."""
    return base is not None and raw.class_attribute(type(owner), name) is raw.class_attribute(base, name)


def _find_entry(owner: Any, key: Any, scope: Scope) -> object:
    """Return the value of a mapping's key by comparing the keys ourselves.

    A key of the program has an __eq__, and may share its hash.
    """
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
        raise BeyondLookup("whether a key is the same as another would have to be run")
    raise BeyondLookup("its keys are being changed")


def _is_same(first: Any, second: Any, scope: Scope) -> Optional[bool]:
    """Tell whether two keys are equal; None if only code could tell, of the program or of an unknown type."""
    scope.count_steps()
    if first is second:
        return True
    if type(first) is tuple and type(second) is tuple:
        if len(first) != len(second):
            return False
        parts = [_is_same(*pair, scope) for pair in zip(first, second)]
        return False if False in parts else None if None in parts else True
    if raw.is_one_of(first, _ATOMS) and raw.is_one_of(second, _ATOMS):
        # Texts and bytes are never the same; comparing them may give a warning.
        is_text = raw.is_one_of(first, _STRINGS) and raw.is_one_of(second, _STRINGS)
        return bool(first == second) if not is_text or type(first) is type(second) else False
    return False if _is_like_no_other(first) and _is_like_no_other(second) else None


def _is_like_no_other(value: Any) -> bool:
    """Tell whether it is equal to nothing of another type, and is not asked about that."""
    is_plain = type(value) is tuple or raw.is_one_of(value, _ATOMS)
    return is_plain or raw.class_attribute(type(value), "__eq__") is _IDENTITY_EQ


def _is_plain_key(key: Any) -> bool:
    return raw.is_one_of(key, _ATOMS) or (type(key) is tuple and all(map(_is_plain_key, key)))


_NODE_VALUES: Dict[type, Callable[[Any, Scope], Any]] = {
    ast.Constant: lambda node, scope: node.value,
    ast.Name: _name_value,
    ast.Attribute: _attribute_value,
    ast.Subscript: _item_value,
    ast.Tuple: lambda node, scope: tuple(_value_of(each, scope) for each in node.elts),
    ast.UnaryOp: _unary_value,
    ast.BinOp: _binary_value,
    ast.BoolOp: _boolean_value,
    ast.Compare: _comparison_value,
}


def offered_attributes(owner: Any) -> Iterator[Tuple[Any, Any]]:
    """Yield the names of attributes with what is stored there: the object's own first, then its classes'."""
    is_class = raw.is_a(owner, type)
    if not is_class:
        yield from raw.dict_pairs(raw.instance_dict(owner) or {})
    yield from raw.slot_values(owner)
    for base in (*(raw.class_mro(owner) if is_class else ()), *raw.class_mro(type(owner))):
        yield from list(raw.class_dict(base).items())


def kind_of_value(value: Any) -> str:
    """Return what an editor would draw beside the name."""
    if raw.is_one_of(value, _COMPUTED):
        return "property"
    if raw.is_one_of(value, _FUNCTIONS):
        return "function"
    if raw.is_a(value, type):
        return "class"
    return "module" if type(type(value)) is type and raw.is_a(value, types.ModuleType) else "variable"


def walk_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a tree's nodes as ast.walk does, without importing anything.

    ast.walk does each time, and that calls `builtins.__import__`, which the program may have replaced.
    """
    found = [tree]
    for node in found:
        found.extend(ast.iter_child_nodes(node))
        yield node
