"""Values as debuggers write them, such as `[1, 2]` and `{name: "Bob"}`: their parts and their meaning.

Expressions are reckoned from them for debuggers that evaluate none, as far as the variables are enough."""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

LONGEST = 100_000
"""Characters of a value that is taken apart."""
OPENING, CLOSING = "[{(", "]})"
NUMBER = re.compile(r"-?\d+")
REAL = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+[eE][-+]?\d+")
WORDS = {"true": True, "false": False, "True": True, "False": False}
NOTHING = frozenset({"nil", "null", "None"})
Plain = bool | int | float | str | None
"""a value as Python has it"""
FALSE = frozenset({"false", "False", "0", "0.0", "nil", "null", "None", "NULL", "0x0", '""', "''", "", "[]", "{}"})
ONLY = "there are only names of variables, their parts, literals, comparisons, && || ! and + - * / %"
STRING = re.compile(r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')')
SPELLINGS = ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "), (r"\btrue\b", "True"), (r"\bfalse\b", "False"))
NONE = re.compile(rf"\b(?:{'|'.join(NOTHING)})\b")
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
KINDS = {bool: "bool", int: "int", float: "float", str: "string"}


class Value(NamedTuple):
    text: str
    type: str | None = None


@dataclass(frozen=True)
class Part:
    name: str
    value: Value
    is_named: bool = False
    is_key: bool = False
    """a key of a map, and no name"""

    @property
    def access(self) -> str:
        """The text behind the value that means this part of it."""
        return self.name if not self.is_named else f"[{self.name}]" if self.is_key else f".{self.name}"


def split_parts(text: str) -> list[Part] | None:
    """Take a value apart; return None for one that is not made of others."""
    text = text.strip()
    if not 2 <= len(text) <= LONGEST or text[0] not in OPENING or text[-1] != CLOSING[OPENING.index(text[0])]:
        return None
    items = _split_outside(text[1:-1], ",")
    return None if items is None else [_make_part(index, item) for index, item in enumerate(items)]


def with_sorted_keys(text: str) -> str:
    """Sort the keys and fields of a value: some debuggers write those of a map in another order each time."""
    found = split_parts(text)
    if not found:
        return text
    ranked = found
    if all(part.is_named for part in found):  # numbers by their size, others by their letters
        ranked = sorted(found, key=lambda part: (int(part.name), "") if NUMBER.fullmatch(part.name) else (0, part.name))
    values = [with_sorted_keys(part.value.text) for part in ranked]
    if ranked == found and values == [part.value.text for part in found]:
        return text
    written = [f"{part.name}: {value}" if part.is_named else value for part, value in zip(ranked, values, strict=True)]
    text = text.strip()
    return f"{text[0]}{', '.join(written)}{text[-1]}"


def _make_part(index: int, item: str) -> Part:
    pair = _split_outside(item, ":")
    if pair is None or len(pair) != 2 or not pair[0].strip():
        return Part(f"[{index}]", guess_type(item))
    name = pair[0].strip()
    return Part(name, guess_type(pair[1]), True, not re.fullmatch(r"[A-Za-z_]\w*", name))


def _split_outside(text: str, sign: str) -> list[str] | None:
    """Split at each sign that is in no string and in no brackets; return None if those do not match."""
    found, start, depth, quote, skip = [], 0, [""], "", False
    for index, char in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in OPENING:
            depth.append(CLOSING[OPENING.index(char)])
        elif char in CLOSING:
            if depth.pop() != char or not depth:
                return None
        elif char == sign and len(depth) == 1:
            found.append(text[start:index])
            start = index + 1
    if quote or len(depth) != 1:
        return None
    return [*found, text[start:]] if text.strip() else []


def guess_type(text: str) -> Value:
    """Guess the type of a part: no debugger says it."""
    text = text.strip()
    kinds = {"bool": text in WORDS, "int": NUMBER.fullmatch(text), "float": REAL.fullmatch(text)}
    kinds["string"] = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return Value(text, next((kind for kind, is_right in kinds.items() if is_right), None))


def python_value(value: Value) -> Plain | Value:
    """Return a value as Python has it; itself, if it is nothing that can be reckoned with."""
    text = value.text.strip()
    match guess_type(text).type:
        case "bool":
            return WORDS[text]
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "string":
            try:
                return str(json.loads(f'"{text[1:-1]}"' if text[0] == "'" else text))
            except ValueError:
                return text[1:-1]
    if text in NOTHING:
        return None
    return value.text if (value.type or "").lower() in ("char", "string", "str") else value


Look = Callable[[str], Value | None]


class Problem(Exception):
    """Says why an expression has no value."""


class Beyond(Problem):
    """Says that an expression takes more than variables."""


class Malformed(Problem):
    pass


def evaluate_text(text: str, look: Look) -> Value:
    """Evaluate an expression; `look` gives the variable of a name."""
    try:
        return _evaluate_node(ast.parse(_as_python(text[:10_000]).strip(), mode="eval").body, look)
    except (SyntaxError, ValueError) as error:
        raise Malformed(f"{text[:100]!r} is no expression: {getattr(error, 'msg', error)}") from None
    except RecursionError:
        raise Beyond("the expression is nested too deeply") from None


def _as_python(text: str) -> str:
    """Write an expression as Python has it: alike enough, but for a few words."""
    pieces = STRING.split(text)
    for index in range(0, len(pieces), 2):
        for word, other in SPELLINGS:
            pieces[index] = re.sub(word, other, pieces[index])
        pieces[index] = NONE.sub("None", pieces[index])
    return "".join(pieces)


def _evaluate_node(node: ast.expr, look: Look) -> Value:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as constant):
            return _make_value(constant)
        case ast.Name(id=name):
            if (found := look(name)) is None:
                raise Problem(f"'{name}' is not among the variables that the debugger shows here")
            return found
        case ast.Attribute(value=whole, attr=name):
            return _find_part(_evaluate_node(whole, look), name, ast.unparse(node))
        case ast.Subscript(value=whole, slice=key):
            return _find_part(_evaluate_node(whole, look), _plain_value(key, look), ast.unparse(node))
        case ast.BoolOp(op=op, values=values):
            truths = (bool(_plain_value(each, look)) for each in values)
            return _make_value(all(truths) if isinstance(op, ast.And) else any(truths))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _make_value(not _plain_value(operand, look))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _calculate_value(ast.Sub(), 0, _plain_value(operand, look), None)
        case ast.BinOp(left=left, op=op, right=right):
            first = _evaluate_node(left, look)
            return _calculate_value(op, python_value(first), _plain_value(right, look), first.type)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            return _compare_values(op, _evaluate_node(left, look), _evaluate_node(right, look))
    raise Beyond(ONLY)


def _make_value(value: Plain, type: str | None = None) -> Value:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)
    return Value("nil" if value is None else text, type or KINDS.get(value.__class__))


def _plain_value(node: ast.expr, look: Look) -> Plain | Value:
    return python_value(_evaluate_node(node, look))


def _find_part(whole: Value, key: object, text: str) -> Value:
    for index, part in enumerate(split_parts(whole.text) or []):
        if (part.is_named and part.name.strip("\"'") == str(key)) or (not part.is_named and index == key):
            return part.value
    raise Problem(f"there is no {text[:100]} in {whole.text[:100]}")


def _compare_values(op: ast.cmpop, left: Value, right: Value) -> Value:
    first, second = python_value(left), python_value(right)
    if isinstance(first, Value) or isinstance(second, Value):
        first, second = left.text.strip(), right.text.strip()
    try:
        return _make_value(bool(COMPARISONS[type(op)](first, second)))
    except TypeError:
        raise Problem(f"{left.text[:50]} and {right.text[:50]} cannot be compared") from None


def _calculate_value(op: ast.operator, left: Any, right: Any, type_name: str | None) -> Value:
    texts = isinstance(left, str) and isinstance(right, str) and isinstance(op, ast.Add)
    if not (texts or {left.__class__, right.__class__} <= {int, float}) or type(op) not in OPERATORS:
        raise Beyond(ONLY)
    result = OPERATORS[type(op)](left, right)
    return _make_value(result, type_name if result.__class__ is left.__class__ else None)


def _divide(left: float, right: float) -> float:
    """Divide; of two whole numbers, leave out what is behind the point: it is not rounded."""
    if right == 0:
        raise Problem("division by zero")
    if not (isinstance(left, int) and isinstance(right, int)):
        return left / right
    cut = abs(left) // abs(right)
    return cut if (left < 0) == (right < 0) else -cut


OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Plain]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.Mod: lambda left, right: left - right * int(_divide(left, right)),
}
