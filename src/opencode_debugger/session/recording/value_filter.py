"""Expressions and conditions on recorded values: a small language of comparisons, which runs no code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from ...errors import invalid_parameter
from .recorded_values import Recorded, comparable_value, length_of, part_of

LONGEST = 1000
"""characters of a condition"""
LARGEST = 10**30
"""that arithmetic goes on with"""
EXAMPLE = "For instance: amount > 100 and result is None"

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.eq, ast.IsNot: operator.ne, ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "len": length_of, "abs": lambda value: abs(_number(value)), "str": lambda value: str(comparable_value(value)),
}

Names = Mapping[str, Recorded]
Source = Any
"""what values are found in: names, or whatever else the expression was bound to"""
Evaluate = Callable[[Source], Any]
Find = Callable[[str], Evaluate]
"""Returns how the value of a name is found."""


class Choices(list[Any]):
    """A list that is written in a condition."""


class TooLarge(ValueError):
    """Arithmetic goes no further with this."""


UNANSWERABLE = (KeyError, StopIteration, TypeError, ValueError, ZeroDivisionError, OverflowError)
"""what a condition may raise that says nothing about these values"""


class Unreadable(ValueError):
    """An expression that is not of this language, told in words."""


class RecordedExpression:
    """An expression that was read, and finds its value among recorded ones."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        """the names whose values it asks for"""
        try:
            if len(text) > LONGEST:
                raise ValueError(f"it is longer than {LONGEST} characters")
            self._node = ast.parse(text.strip(), mode="eval").body
            self._evaluate = self._read(self._node, self._find_by_name)
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deeply"
            raise Unreadable(reason) from None

    def _find_by_name(self, name: str) -> Evaluate:
        self.names.add(name)
        return itemgetter(name)

    def value(self, names: Names) -> Recorded:
        """Return its value; raise one of UNANSWERABLE if what it asks for was not kept."""
        found = self._evaluate(names)
        return ("L", len(found), list(found)) if isinstance(found, Choices) else found

    def holds(self, names: Names) -> bool:
        """Tell whether it is true; what cannot be compared is not."""
        return _is_true(self._evaluate, names)

    def bound_to(self, find: Find) -> Callable[[Source], bool]:
        """Return what tells whether it is true of a source of another kind, in which names are found otherwise."""
        return partial(_is_true, self._read(self._node, find))

    def _read(self, node: ast.expr, find: Find) -> Evaluate:
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as value):
                return lambda source: value
            case ast.Name(id=name):
                return find(name)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                parts = [self._read(item, find) for item in items]
                return lambda source: Choices([comparable_value(part(source)) for part in parts])
            case ast.Attribute(value=owner, attr=name):
                whole = self._read(owner, find)
                return lambda source: part_of(whole(source), name)
            case ast.Subscript(value=owner, slice=ast.Constant(value=int() | str() as key)):
                whole = self._read(owner, find)
                return lambda source: part_of(whole(source), key)
            case ast.BoolOp(op=op, values=values):
                return _combine([self._read(value, find) for value in values], isinstance(op, ast.And))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._read(operand, find)
                return lambda source: not comparable_value(inner(source))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._read(operand, find)
                return lambda source: -_number(inner(source))
            case ast.Compare(left=left, ops=ops, comparators=rights):
                operands = [self._read(each, find) for each in (left, *rights)]
                return _compare(operands, [COMPARISONS[type(op)] for op in ops], rights[-1])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                compute, one, other = ARITHMETIC[type(op)], self._read(left, find), self._read(right, find)
                return lambda source: compute(_number(one(source)), _number(other(source)))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
                function, inner = FUNCTIONS[name], self._read(argument, find)
                return lambda source: function(inner(source))
        raise ValueError(
            f"{ast.unparse(node)[:60]!r} is more than names, attributes, items, constants, comparisons, and, or, not, "
            "+ - * / // %, len, abs and str")


def _compare(operands: list[Evaluate], compares: list[Callable[[Any, Any], Any]], last: ast.expr) -> Evaluate:
    if len(compares) == 1 and isinstance(last, ast.Constant):  # as most conditions are, of which many calls are asked
        by, find, constant = compares[0], operands[0], last.value

        def compare_with_constant(source: Source) -> Any:
            value = find(source)
            return by(comparable_value(value) if isinstance(value, tuple) else value, constant)

        return compare_with_constant

    def compare(source: Source) -> bool:
        values = [comparable_value(operand(source)) for operand in operands]
        return all(by(one, other) for by, one, other in zip(compares, values, values[1:], strict=False))

    return compare


def _combine(parts: list[Evaluate], needs_all: bool) -> Evaluate:
    """Return what tells whether all parts are true, or any."""

    def combine(source: Source) -> bool:
        for part in parts:
            if _is_true(part, source) is not needs_all:
                return not needs_all
        return needs_all

    return combine


def _is_true(part: Evaluate, source: Source) -> bool:
    """Tell whether one side of `and` or `or` is true: what cannot be compared on one side leaves the other."""
    try:
        return bool(comparable_value(part(source)))
    except UNANSWERABLE:
        return False


def _number(value: Any) -> Any:
    """Return a number that arithmetic may go on with: none is so large that it takes long."""
    if not isinstance(value, (int, float)) or abs(value) > LARGEST:
        raise TooLarge
    return value


def read_condition(text: str) -> RecordedExpression:
    """Read the condition of a question."""
    try:
        return RecordedExpression(text)
    except Unreadable as error:
        raise invalid_parameter("where", text, f"The condition cannot be read: {error}", EXAMPLE) from None
