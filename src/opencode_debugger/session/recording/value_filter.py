"""Expressions and conditions on recorded values: a small language of comparisons, which runs no code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
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
    "len": length_of, "abs": lambda value: abs(_number(value)), "str": lambda value: str(_plain(value)),
}

Names = Mapping[str, Recorded]
Evaluate = Callable[[Names], Any]


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
            self._evaluate = self._read(ast.parse(text.strip(), mode="eval").body)
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deeply"
            raise Unreadable(reason) from None

    def value(self, names: Names) -> Recorded:
        """Return its value; raise one of UNANSWERABLE if what it asks for was not kept."""
        found = self._evaluate(names)
        return ("L", len(found), list(found)) if isinstance(found, Choices) else found

    def holds(self, names: Names) -> bool:
        """Tell whether it is true; what cannot be compared is not."""
        return _is_true(self._evaluate, names)

    def _read(self, node: ast.expr) -> Evaluate:
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as value):
                return lambda names: value
            case ast.Name(id=name):
                self.names.add(name)
                return lambda names: names[name]
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                parts = [self._read(item) for item in items]
                return lambda names: Choices(_plain(part(names)) for part in parts)
            case ast.Attribute(value=owner, attr=name):
                whole = self._read(owner)
                return lambda names: part_of(whole(names), name)
            case ast.Subscript(value=owner, slice=ast.Constant(value=int() | str() as key)):
                whole = self._read(owner)
                return lambda names: part_of(whole(names), key)
            case ast.BoolOp(op=op, values=values):
                parts = [self._read(value) for value in values]
                combine = all if isinstance(op, ast.And) else any
                return lambda names: combine(_is_true(part, names) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._read(operand)
                return lambda names: not _plain(inner(names))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._read(operand)
                return lambda names: -_number(inner(names))
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self._read_comparison(left, ops, rights)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                compute, one, other = ARITHMETIC[type(op)], self._read(left), self._read(right)
                return lambda names: compute(_number(one(names)), _number(other(names)))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
                function, inner = FUNCTIONS[name], self._read(argument)
                return lambda names: function(inner(names))
        raise ValueError(
            f"{ast.unparse(node)[:60]!r} is more than names, attributes, items, constants, comparisons, and, or, not, "
            "+ - * / // %, len, abs and str")

    def _read_comparison(self, left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr]) -> Evaluate:
        operands = [self._read(each) for each in (left, *rights)]
        compares = [COMPARISONS[type(op)] for op in ops]

        def compare(names: Names) -> bool:
            values = [_plain(operand(names)) for operand in operands]
            return all(by(one, other) for by, one, other in zip(compares, values, values[1:], strict=False))

        return compare


def _is_true(part: Evaluate, names: Names) -> bool:
    """Tell whether one side of `and` or `or` is true: what cannot be compared on one side leaves the other."""
    try:
        return bool(_plain(part(names)))
    except UNANSWERABLE:
        return False


def _plain(value: Any) -> Any:
    return value if isinstance(value, Choices) else comparable_value(value)


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
