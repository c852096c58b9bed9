"""Expressions for debuggers that evaluate none: what the variables that they show are enough for."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from .texts import NOTHING, Value, meant, parts, written

ONLY = "there are only names of variables, their parts, literals, comparisons, && || ! and + - * / %"
STRING = re.compile(r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')')
WORDS = ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "), (r"\btrue\b", "True"), (r"\bfalse\b", "False"))
NONE = re.compile(rf"\b(?:{'|'.join(NOTHING)})\b")
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
KINDS = {bool: "bool", int: "int", float: "float", str: "string"}
LONGEST = 10_000

Look = Callable[[str], Value | None]


class Problem(Exception):
    """Why an expression has no value."""


class Beyond(Problem):
    """It takes more than variables."""


class Malformed(Problem):
    pass


def reckoned(text: str, look: Look) -> Value:
    """`look` gives the variable of a name."""
    try:
        tree = ast.parse(_as_python(text[:LONGEST]).strip(), mode="eval").body
        return _value(tree, look)
    except (SyntaxError, ValueError) as error:
        raise Malformed(f"{text[:100]!r} is no expression: {getattr(error, 'msg', error)}") from None
    except RecursionError:
        raise Beyond("the expression is nested too deeply") from None


def _as_python(text: str) -> str:
    """Alike enough, but for a few words."""
    pieces = STRING.split(text)
    for index in range(0, len(pieces), 2):
        for word, other in WORDS:
            pieces[index] = re.sub(word, other, pieces[index])
        pieces[index] = NONE.sub("None", pieces[index])
    return "".join(pieces)


def _value(node: ast.expr, look: Look) -> Value:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as constant):
            return _made(constant)
        case ast.Name(id=name):
            return _named(name, look)
        case ast.Attribute(value=whole, attr=name):
            return _part(_value(whole, look), name, ast.unparse(node))
        case ast.Subscript(value=whole, slice=key):
            return _part(_value(whole, look), meant(_value(key, look)), ast.unparse(node))
        case ast.BoolOp(op=op, values=values):
            return _made(_both(isinstance(op, ast.And), values, look))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _made(not _plain(operand, look))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _counted(ast.Sub(), 0, _plain(operand, look), None)
        case ast.BinOp(left=left, op=op, right=right):
            first = _value(left, look)
            return _counted(op, meant(first), _plain(right, look), first.type)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            return _compared(op, _value(left, look), _value(right, look))
    raise Beyond(ONLY)


def _made(value: Any, type: str | None = None) -> Value:
    return Value(written(value), type or KINDS.get(value.__class__))


def _named(name: str, look: Look) -> Value:
    found = look(name)
    if found is None:
        raise Problem(f"'{name}' is not among the variables that the debugger shows here")
    return found


def _plain(node: ast.expr, look: Look) -> Any:
    return meant(_value(node, look))


def _part(whole: Value, key: Any, text: str) -> Value:
    for index, part in enumerate(parts(whole.text) or []):
        if (part.is_named and part.name.strip("\"'") == str(key)) or (not part.is_named and index == key):
            return part.value
    raise Problem(f"there is no {text[:100]} in {whole.text[:100]}")


def _both(is_and: bool, values: list[ast.expr], look: Look) -> bool:
    for each in values:
        if bool(_plain(each, look)) != is_and:
            return not is_and
    return is_and


def _compared(op: ast.cmpop, left: Value, right: Value) -> Value:
    first, second = meant(left), meant(right)
    if isinstance(first, Value) or isinstance(second, Value):
        first, second = left.text.strip(), right.text.strip()
    try:
        return _made(bool(COMPARISONS[type(op)](first, second)))
    except TypeError:
        raise Problem(f"{left.text[:50]} and {right.text[:50]} cannot be compared") from None


def _counted(op: ast.operator, left: Any, right: Any, type: str | None) -> Value:
    texts = isinstance(left, str) and isinstance(right, str) and isinstance(op, ast.Add)
    if not texts and not (_is_number(left) and _is_number(right)):
        raise Beyond(ONLY)
    result = _result(op, left, right)
    return _made(result, type if result.__class__ is left.__class__ else None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _result(op: ast.operator, left: Any, right: Any) -> Any:
    whole = isinstance(left, int) and isinstance(right, int)
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() | ast.Mod() if right == 0:
            raise Problem("division by zero")
        case ast.Div():
            return _cut(left, right) if whole else left / right
        case ast.Mod():
            return left - right * (_cut(left, right) if whole else int(left / right))
    raise Beyond(ONLY)


def _cut(left: int, right: int) -> int:
    """What is behind the point is left out, not rounded."""
    cut = abs(left) // abs(right)
    return cut if (left < 0) == (right < 0) else -cut
