"""Masks values of names that look like secrets."""

from __future__ import annotations

import re
from typing import Any

MASK = "‹masked›"

_WORDS = (
    "password|passwd|passphrase|secrets?|token|apikey|(?:api|private|session|access|secret|signing|encryption)[_-]?key"
    "|credentials?|auth|authorization|cookies?"
)
WORD_BREAKS = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
"""where words begin in camelCase"""
_BREAKS = re.compile(WORD_BREAKS)
_EMPTY = frozenset({"", "''", '""', "b''", 'b""'})
SECRET_NAMES = rf"(?:^|[^a-z])(?:{_WORDS})(?:$|[^a-z])"
"""fits names of secrets, whatever the case, with an underscore put in at each of WORD_BREAKS"""
_SECRET = re.compile(SECRET_NAMES, re.IGNORECASE)
_STEMS = ("pass", "secret", "token", "key", "credential", "auth", "cookie", "bearer ", "basic ")
"""Most values have none of these in them, and are not looked at further, which would take longer."""
_TEXT_TYPES = re.compile(r"\b(?:str|bytes|bytearray|string|char|String)\b")
_MOST_NAME = 80
_INSIDE = re.compile(
    rf"""(?P<name>(?<![\w-])[\w-]{{0,{_MOST_NAME}}}?(?:{_WORDS})[\w-]{{0,{_MOST_NAME}}}\\?['"]?\ ?[:=]\ ?)"""
    r"""(?P<value>b?\\'.*?(?:\\'|$)|b?\\".*?(?:\\"|$)|b?'(?:[^'\\]|\\.)*(?:'|$)|b?"(?:[^"\\]|\\.)*(?:"|$))""",
    re.IGNORECASE,
)
"""`'password': 'x'`, `password='x'`, `"api_key": "x"`, also within a string, where quotes are escaped"""
_BEARER = re.compile(r"\b((?:bearer|basic) )[\w.~+/=-]{8,}", re.IGNORECASE)
_ADDRESS = re.compile(r"(://[^\s:/@'\"]{0,100}:)[^\s/@'\"]{1,200}(?=@)")

_VALUES = ("value", "old", "new", "result")
"""fields of answers with the text of a value, whose name is beside them if it has one"""


def looks_secret(name: str) -> bool:
    """Tell whether one of the words of a name says that its value is a secret: `db_password`, `apiKey`, `'token'`."""
    return _SECRET.search(_BREAKS.sub("_", name[-200:])) is not None


def mask_value(name: str, value: str, kind: str | None = None) -> str:
    """Mask a text of a secret name, and secrets inside of any value; numbers, None and such are no secrets."""
    is_text = "'" in value or '"' in value or _TEXT_TYPES.search(kind or "") is not None
    if is_text and value not in _EMPTY and looks_secret(name):
        return MASK
    return mask_inside(value)


def mask_inside(value: str) -> str:
    """Mask what looks like a secret within the text of a value, such as that of a dict or dataclass."""
    if "://" in value:
        value = _ADDRESS.sub(rf"\1{MASK}", value)
    lower = value.lower()
    if not any(stem in lower for stem in _STEMS):
        return value
    value = _INSIDE.sub(_masked, value)
    return _BEARER.sub(rf"\1{MASK}", value)


def mask_answer(answer: Any) -> Any:
    """Mask in an answer, decoded from JSON, what its text would mask."""
    if isinstance(answer, list):
        return [mask_answer(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    return {key: _mask_field(answer, key, value) for key, value in answer.items()}


def _mask_field(row: dict[str, Any], key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return mask_answer(value)
    if key in _VALUES:
        return mask_value(str(row.get("name", "")), value, row.get("type"))
    return MASK if value and looks_secret(key) else value


def _masked(found: re.Match[str]) -> str:
    is_shown = found["value"] in _EMPTY or not looks_secret(found["name"])
    return found[0] if is_shown else found["name"] + MASK
