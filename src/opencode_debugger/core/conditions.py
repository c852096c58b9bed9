"""Hit conditions and log messages of breakpoints: what they may say, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import RelayError

HIT_LIMIT = 10**9
HIT_FORMS = f"Use N, ==N, >N, >=N, <N, <=N or %N (every Nth hit), with N from 1 to {HIT_LIMIT}"
LOG_FORMS = "Write expressions as {name}, {name!r} or {name:format}, and a brace itself as {{ or }}"

_HIT = re.compile(r"\s*(==|>=|<=|>|<|%|)\s*([0-9]+)\s*")
_STRING = re.compile(
    r"(?s)'''(?:\\.|(?!''').)*'''|\"\"\"(?:\\.|(?!\"\"\").)*\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\""
)
_OPENING, _CLOSING = "([{", ")]}"
_NESTING = 2


class ExpressionError(Protocol):
    @property
    def message(self) -> str: ...
    @property
    def offset(self) -> int | None: ...


Checker = Callable[[str], ExpressionError | None]


@dataclass(frozen=True)
class LogPart:
    """An expression in a log message, as in an f-string."""

    expression: str
    conversion: str = ""
    format: tuple[str | LogPart, ...] = ()


def parse_hit_condition(text: str) -> str:
    """The condition as an operator and a number without blanks."""
    match = _HIT.fullmatch(text)
    if match is None:
        raise _bad_hit(text, "is not understood")
    operator, digits = match[1] or "==", match[2].lstrip("0")
    if not digits:
        raise _bad_hit(text, "can never be met: hits are counted from 1")
    if len(digits) > len(str(HIT_LIMIT)) or int(digits) > HIT_LIMIT:
        raise _bad_hit(text, "has too large a number")
    return operator + digits


def parse_log_message(text: str, check: Checker | None = None) -> list[str | LogPart]:
    """The message as literal texts and expressions, each of which `check` finds well-formed."""
    return _Scanner(text, check).parts()


def log_parts(text: str) -> list[Any]:
    """The message as plain data: texts, and expressions as [expression, conversion, parts of the format]."""
    return _plain(parse_log_message(text))


def _plain(parts: Sequence[str | LogPart]) -> list[Any]:
    return [p if isinstance(p, str) else [p.expression, p.conversion, _plain(p.format)] for p in parts]


def _bad_hit(text: str, why: str) -> RelayError:
    return RelayError(
        "BREAKPOINT_INVALID_CONDITION",
        f"Hit condition '{text[:100]}' {why}",
        hit_condition=text[:100],
        suggestion=HIT_FORMS,
    )


class _Scanner:
    """Reads a log message from left to right, by the rules of f-strings."""

    def __init__(self, text: str, check: Checker | None) -> None:
        self._text = text
        self._check = check
        self._at = 0

    def parts(self) -> list[str | LogPart]:
        return self._fields(depth=0)

    def _fields(self, depth: int) -> list[str | LogPart]:
        found: list[str | LogPart] = []
        literal = ""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in "{}" and depth == 0 and self._text.startswith(char * 2, self._at):
                literal += char
                self._at += 2
            elif char == "{":
                shown, part = self._field(depth)
                literal += shown
                found += [literal, part] if literal else [part]
                literal = ""
            elif char == "}" and depth:
                break
            elif char == "}":
                raise self._error("single '}' is not allowed", self._at)
            else:
                literal += char
                self._at += 1
        return [*found, literal] if literal else found

    def _field(self, depth: int) -> tuple[str, LogPart]:
        start = self._at
        if depth == _NESTING:
            raise self._error("expressions are nested too deeply", start)
        self._at += 1
        source = self._expression(start)
        shown = source if _shows_itself(source) else ""
        expression = source.rstrip()[:-1] if shown else source
        self._checked(expression, start + 1)
        conversion = self._conversion()
        spec: list[str | LogPart] = []
        if self._text.startswith(":", self._at):
            self._at += 1
            spec = self._fields(depth + 1)
        elif shown and not conversion:
            conversion = "r"
        if not self._text.startswith("}", self._at):
            raise self._error("'{' was never closed", start)
        self._at += 1
        return shown, LogPart(expression.strip(), conversion, tuple(spec))

    def _expression(self, start: int) -> str:
        """Up to the `!`, `:` or `}` that ends it: those in strings, brackets and `!=` do not."""
        begin, depth = self._at, 0
        while self._at < len(self._text):
            char = self._text[self._at]
            if depth == 0 and (char in ":}" or (char == "!" and not self._text.startswith("!=", self._at))):
                return self._text[begin : self._at]
            if char in "'\"":
                self._at = self._string_end()
                continue
            if char == "#":
                raise self._error("an expression cannot include '#'", self._at)
            depth += (char in _OPENING) - (char in _CLOSING)
            if depth < 0:
                raise self._error(f"unmatched '{char}'", self._at)
            self._at += 2 if self._text.startswith("!=", self._at) else 1
        raise self._error("'{' was never closed", start)

    def _string_end(self) -> int:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise self._error("unterminated string literal", self._at)
        return match.end()

    def _conversion(self) -> str:
        if not self._text.startswith("!", self._at):
            return ""
        conversion = self._text[self._at + 1 : self._at + 2]
        if conversion not in ("r", "s", "a"):
            raise self._error(f"invalid conversion '!{conversion}': expected '!r', '!s' or '!a'", self._at)
        self._at += 2
        if self._text[self._at : self._at + 1] not in (":", "}", ""):
            raise self._error("expected ':' or '}' after the conversion", self._at)
        return conversion

    def _checked(self, expression: str, start: int) -> None:
        if not expression.strip():
            raise self._error("an expression is empty", start)
        # In brackets an expression may span lines, as it may in an f-string.
        wrapped = "\n" in expression
        error = self._check(f"({expression})" if wrapped else expression) if self._check else None
        if error is not None:
            at = start + max(0, (error.offset or 1) - 1 - wrapped)
            what = f"expression '{expression.strip()[:100]}'"
            raise self._error(error.message.removeprefix("SyntaxError: "), at, what)

    def _error(self, why: str, at: int, what: str = "is malformed") -> RelayError:
        return RelayError(
            "BREAKPOINT_INVALID_CONDITION",
            f"Log message {what}: SyntaxError: {why}",
            log_message=self._text[:200],
            offset=at + 1,
            suggestion=LOG_FORMS,
        )


def _shows_itself(source: str) -> bool:
    """`{x=}` shows the expression's text as well."""
    return re.search(r"[^=!<>:]=\s*$", source) is not None
