"""Of what messages are made: fields with their types, and how a value is held against them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SHOWN = 60
"""Characters of a wrong value that an error repeats."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    """string, integer, boolean, or the name of a record; with [] behind it, a list of those"""
    means: str
    required: bool = True
    extension: bool = False
    """not in the document: a client that does not use extensions never sees it"""
    unless: str = ""
    """another field that takes its place"""
    values: tuple[str, ...] = ()
    more_values: tuple[str, ...] = ()
    """those that are extensions"""
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a value, and where."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path} {self.what}"


TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}
Records = Mapping[str, tuple[Field, ...]]


class Shapes:
    """Holds values against fields; `extensions` says whether what is not in the document is expected too."""

    def __init__(self, records: Records, extensions: bool = True) -> None:
        self._records = records
        self._extensions = extensions

    def check(self, given: Mapping[str, Any], fields: Iterable[Field], path: str) -> Problem | None:
        """The first problem. Fields that nobody knows are left alone: they are for somebody else."""
        for field in fields:
            where = f"{path}.{field.name}" if path else field.name
            value = given.get(field.name)
            if value is None:
                if field.required and not (field.unless and given.get(field.unless) is not None):
                    return Problem(where, f"is missing: {said(field)} is expected")
            elif field.extension and not self._extensions:
                return Problem(where, "is an extension that nobody asked for")
            elif (problem := self._value(value, field, where)) is not None:
                return problem
        return None

    def _value(self, value: Any, field: Field, where: str) -> Problem | None:
        if not field.type.endswith("[]"):
            return self._one(value, field.type, field, where)
        if not isinstance(value, list):
            return _wrong(value, where, said(field))
        for index, item in enumerate(value):
            if (problem := self._one(item, field.type[:-2], field, f"{where}[{index}]")) is not None:
                return problem
        return None

    def _one(self, value: Any, kind: str, field: Field, where: str) -> Problem | None:
        if kind in self._records:
            if not isinstance(value, dict):
                return _wrong(value, where, "an object")
            return self.check(value, self._records[kind], where)
        if not _is(value, kind):
            return _wrong(value, where, a(kind))
        if field.least is not None and value < field.least:
            return _wrong(value, where, f"{a(kind)} from {field.least} on")
        allowed = field.values + (field.more_values if self._extensions else ())
        if field.values and value not in allowed:
            return _wrong(value, where, "one of " + ", ".join(allowed))
        return None


def _is(value: Any, kind: str) -> bool:
    """True and false are no integers here."""
    return type(value) is TYPES[kind]


def _wrong(value: Any, where: str, wanted: str) -> Problem:
    return Problem(where, f"is {shown(value)}: {wanted} is expected")


def shown(value: Any) -> str:
    """A value in an error: what it is, not all of it."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value[:SHOWN] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def said(field: Field) -> str:
    if field.type.endswith("[]"):
        return f"a list of {field.type[:-2]}s"
    return a(field.type)


def a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
