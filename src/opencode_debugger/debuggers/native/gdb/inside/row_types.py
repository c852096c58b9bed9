"""The rows with which the code inside gdb answers. Only type checkers import this."""

from __future__ import annotations

from typing import Any, TypedDict

Json = dict[str, Any]
"""what the relay sends: a breakpoint or a rule that it wants"""
Place = list[int]
"""thread, level on its stack, and number of the stop"""
Member = tuple[str, Any]
"""the name of something, and its value"""


class ObjectRow(TypedDict):
    """A value's place in memory; of a pointer or reference, that of what it leads to."""

    address: int
    type: str
    is_led_to: bool


class ValueRow(TypedDict, total=False):
    """A value, or what a command says; or why there is none."""

    name: str
    value: str
    type: str | None
    reference: int
    named: int
    indexed: int
    length: int
    truncated: bool
    object: ObjectRow | None
    error: str
    expanded: str
    """what macros make of the expression, which was not evaluated because of them"""


class AssignedRow(ValueRow, total=False):
    """A variable as it reads now, or why nothing was assigned."""

    old: str
    old_type: str | None
    taken: bool
    part: str
    """value or expression: which of the two failed"""
    missing: str
    """reference or name: which of the two there is not"""
    not_set: str
    too_far: int
    total: int


class RowPage(TypedDict, total=False):
    missing: bool
    too_far: int
    """how far gdb came in the time that it has, which is not where the page begins"""
    total: int
    rows: list[ValueRow]
    returned: ValueRow
    watches: list[ValueRow]


class ScopeRow(TypedDict):
    name: str
    variablesReference: int
    namedVariables: int


class ThrownRow(TypedDict, total=False):
    """An exception that is being thrown, or a panic."""

    type: str
    rules: list[int]
    message: str
    address: int
    lineage: list[str]
    payload: int
    methods: list[str]


class HoldRow(TypedDict, total=False):
    """The place where a child jumps on the spot and what was there before, or why it runs on."""

    address: int
    code: str
    why_not: str
