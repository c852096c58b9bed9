"""Hit conditions and log messages of breakpoints: what they may say, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...errors import RelayError

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
    """Return the condition as an operator and a number without blanks."""
    match = _HIT.fullmatch(text)
    if match is None:
        raise _bad_hit_condition(text, "is not understood")
    operator, digits = match[1] or "==", match[2].lstrip("0")
    if not digits:
        raise _bad_hit_condition(text, "can never be met: hits are counted from 1")
    if len(digits) > len(str(HIT_LIMIT)) or int(digits) > HIT_LIMIT:
        raise _bad_hit_condition(text, "has too large a number")
    return operator + digits


def parse_log_message(text: str, check: Checker | None = None) -> list[str | LogPart]:
    """Return the message as literal texts and expressions, each of which `check` finds well-formed."""
    return _Scanner(text, check).read_fields(depth=0)


def log_parts(text: str) -> list[Any]:
    """Return the message as plain data: texts, and expressions as [expression, conversion, parts of the format]."""
    return _plain_parts(parse_log_message(text))


def _plain_parts(parts: Sequence[str | LogPart]) -> list[Any]:
    return [p if isinstance(p, str) else [p.expression, p.conversion, _plain_parts(p.format)] for p in parts]


def bad_condition(condition: str, message: str, **details: Any) -> RelayError:
    details = {"condition": condition[:1000], "error_message": message, **details}
    return RelayError("BREAKPOINT_INVALID_CONDITION", f"Condition {condition[:200]!r}: {message}", **details)


def _bad_hit_condition(text: str, why: str) -> RelayError:
    message, shown = f"Hit condition '{text[:100]}' {why}", text[:100]
    return RelayError("BREAKPOINT_INVALID_CONDITION", message, hit_condition=shown, suggestion=HIT_FORMS)


@dataclass
class _Scanner:
    """Reads a log message from left to right, by the rules of f-strings."""

    _text: str
    _check: Checker | None
    _at: int = 0

    def read_fields(self, depth: int) -> list[str | LogPart]:
        found: list[str | LogPart] = []
        literal = ""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in "{}" and depth == 0 and self._text.startswith(char * 2, self._at):
                literal += char
                self._at += 2
            elif char == "{":
                shown, part = self._read_field(depth)
                literal += shown
                found += [literal, part] if literal else [part]
                literal = ""
            elif char == "}" and depth:
                break
            elif char == "}":
                raise self._syntax_error("single '}' is not allowed", self._at)
            else:
                literal += char
                self._at += 1
        return [*found, literal] if literal else found

    def _read_field(self, depth: int) -> tuple[str, LogPart]:
        start = self._at
        if depth == _NESTING:
            raise self._syntax_error("expressions are nested too deeply", start)
        self._at += 1
        source = self._read_expression(start)
        shown = source if re.search(r"[^=!<>:]=\s*$", source) else ""  # `{x=}` shows the expression's text as well
        expression = source.rstrip()[:-1] if shown else source
        self._check_expression(expression, start + 1)
        conversion = self._read_conversion()
        spec: list[str | LogPart] = []
        if self._text.startswith(":", self._at):
            self._at += 1
            spec = self.read_fields(depth + 1)
        elif shown and not conversion:
            conversion = "r"
        if not self._text.startswith("}", self._at):
            raise self._syntax_error("'{' was never closed", start)
        self._at += 1
        return shown, LogPart(expression.strip(), conversion, tuple(spec))

    def _read_expression(self, start: int) -> str:
        """Read up to the `!`, `:` or `}` that ends it: those in strings, brackets and `!=` do not."""
        begin, depth = self._at, 0
        while self._at < len(self._text):
            char = self._text[self._at]
            if depth == 0 and (char in ":}" or (char == "!" and not self._text.startswith("!=", self._at))):
                return self._text[begin : self._at]
            if char in "'\"":
                string = _STRING.match(self._text, self._at)
                if string is None:
                    raise self._syntax_error("unterminated string literal", self._at)
                self._at = string.end()
                continue
            if char == "#":
                raise self._syntax_error("an expression cannot include '#'", self._at)
            depth += (char in _OPENING) - (char in _CLOSING)
            if depth < 0:
                raise self._syntax_error(f"unmatched '{char}'", self._at)
            self._at += 2 if self._text.startswith("!=", self._at) else 1
        raise self._syntax_error("'{' was never closed", start)

    def _read_conversion(self) -> str:
        if not self._text.startswith("!", self._at):
            return ""
        conversion = self._text[self._at + 1 : self._at + 2]
        if conversion not in ("r", "s", "a"):
            raise self._syntax_error(f"invalid conversion '!{conversion}': expected '!r', '!s' or '!a'", self._at)
        self._at += 2
        if self._text[self._at : self._at + 1] not in (":", "}", ""):
            raise self._syntax_error("expected ':' or '}' after the conversion", self._at)
        return conversion

    def _check_expression(self, expression: str, start: int) -> None:
        if not expression.strip():
            raise self._syntax_error("an expression is empty", start)
        # In brackets an expression may span lines, as it may in an f-string.
        wrapped = "\n" in expression
        error = self._check(f"({expression})" if wrapped else expression) if self._check else None
        if error is not None:
            at = start + max(0, (error.offset or 1) - 1 - wrapped)
            what = f"expression '{expression.strip()[:100]}'"
            raise self._syntax_error(error.message.removeprefix("SyntaxError: "), at, what)

    def _syntax_error(self, why: str, at: int, what: str = "is malformed") -> RelayError:
        message, text = f"Log message {what}: SyntaxError: {why}", self._text[:200]
        code = "BREAKPOINT_INVALID_CONDITION"
        return RelayError(code, message, log_message=text, offset=at + 1, suggestion=LOG_FORMS)
