"""Values as debuggers write them: `[1, 2]`, `{1, 2}`, `{name: "Bob"}`. What is in them, and what they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

LONGEST = 100_000
"""Characters of a value that is taken apart."""
OPENING, CLOSING = "[{(", "]})"
NUMBER = re.compile(r"-?\d+")
REAL = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+[eE][-+]?\d+")
WORDS: dict[str, Any] = {"true": True, "false": False, "True": True, "False": False}
NOTHING = frozenset({"nil", "null", "None"})
FALSE = frozenset({"false", "False", "0", "0.0", "nil", "null", "None", "NULL", "0x0", '""', "''", "", "[]", "{}"})


@dataclass(frozen=True)
class Value:
    text: str
    type: str | None = None


@dataclass(frozen=True)
class Part:
    """What is in a value: under a name, or in a place."""

    name: str
    value: Value
    is_named: bool = False
    is_key: bool = False
    """a key of a map, and no name"""

    @property
    def access(self) -> str:
        """What is written behind the value to mean this part of it."""
        return self.name if not self.is_named else f"[{self.name}]" if self.is_key else f".{self.name}"


def parts(text: str) -> list[Part] | None:
    """Nothing of a value that is not made of others."""
    text = text.strip()
    if not 2 <= len(text) <= LONGEST or text[0] not in OPENING or text[-1] != CLOSING[OPENING.index(text[0])]:
        return None
    items = _split(text[1:-1], ",")
    if items is None:
        return None
    return [_part(index, item) for index, item in enumerate(items)]


def in_order(text: str) -> str:
    """A value with its keys and fields sorted: some debuggers write those of a map in another order each time."""
    found = parts(text)
    if not found:
        return text
    ranked = sorted(found, key=_rank) if all(part.is_named for part in found) else found
    values = [in_order(part.value.text) for part in ranked]
    if ranked == found and values == [part.value.text for part in found]:
        return text
    written = [f"{part.name}: {value}" if part.is_named else value for part, value in zip(ranked, values, strict=True)]
    text = text.strip()
    return f"{text[0]}{', '.join(written)}{text[-1]}"


def _rank(part: Part) -> tuple[int, str]:
    """Numbers by their size, others by their letters."""
    return (int(part.name), "") if NUMBER.fullmatch(part.name) else (0, part.name)


def _part(index: int, item: str) -> Part:
    pair = _split(item, ":")
    if pair is None or len(pair) != 2 or not pair[0].strip():
        return Part(f"[{index}]", guessed(item))
    name = pair[0].strip()
    return Part(name, guessed(pair[1]), True, not re.fullmatch(r"[A-Za-z_]\w*", name))


def _split(text: str, sign: str) -> list[str] | None:
    """At each sign that is in no string and in no brackets; none if those do not match."""
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


def guessed(text: str) -> Value:
    """Of a part nobody says of what type it is."""
    text = text.strip()
    if text in WORDS:
        return Value(text, "bool")
    for kind, form in (("int", NUMBER), ("float", REAL)):
        if form.fullmatch(text):
            return Value(text, kind)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return Value(text, "string")
    return Value(text)


def meant(value: Value) -> Any:
    """As Python has it; itself, if it is nothing that can be reckoned with."""
    text = value.text.strip()
    if text in WORDS:
        return WORDS[text]
    if text in NOTHING:
        return None
    if NUMBER.fullmatch(text):
        return int(text)
    if REAL.fullmatch(text):
        return float(text)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return _unquoted(text)
    if (value.type or "").lower() in ("char", "string", "str"):
        return value.text
    return value


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text[1:-1]}"' if text[0] == "'" else text))
    except ValueError:
        return text[1:-1]


def written(value: Any) -> str:
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def is_true(text: str) -> bool:
    return text.strip() not in FALSE
