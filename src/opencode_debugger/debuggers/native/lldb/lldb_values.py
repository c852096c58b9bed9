"""Values as lldb-dap tells them, in texts with types, addresses and sizes, and those that are to be assigned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from ...rows import AssignmentRow, VariableRow
from ..dap_inspection import Evaluation, Frame, Object

ADDRESSED = re.compile(r"^0x[0-9a-f]+ (?=.)")
ADDRESS_ONLY = re.compile(r"0x[0-9a-f]+")
ADDRESS_FIRST = re.compile(r"0x[0-9a-f]+\b")
LEADING = re.compile(r"(.*?) ?(?:\*|&&?)(?: ?const)?")
"""The type of a pointer or reference, with that of what it leads to."""
QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|class) ")
SIZE = re.compile(r"size=\d+")
COUNTED = re.compile(r"^[^(]*?\[(\d+)\]|size=(\d+)$")
"""The number of elements of an array, by its type, and of a container, by what lldb tells of it."""
HURRIED = re.compile(r"(?:0x[0-9a-f]+ )?\{(?:.{0,31}, )?\.\.\.\}")
"""The value of a structure that lldb-dap has cut after ten milliseconds; by length it cuts only longer ones."""
LONGEST_TEXT = 20_000
"""characters of a text that lldb shows; of longer ones it shows the beginning"""


@dataclass
class Assignment:
    """A value that is to be assigned, and what was there before."""

    place: Frame
    name: str
    target: str
    """the expression for it"""
    value: str
    old: str | None
    old_type: str | None
    limit: int
    timeout: float

    def as_answer(self, made: VariableRow) -> AssignmentRow:
        return cast(AssignmentRow, {**made, "old": self.old, "old_type": self.old_type, "taken": True})


def led_to(kind: str, value: str) -> Object | None:
    leads, address = LEADING.fullmatch(kind), ADDRESS_FIRST.match(value)
    if leads is None or address is None:
        return None
    return Object(int(address[0], 16), QUALIFIERS.sub("", leads[1]), is_led_to=True)


def is_closed(kind: str | None, value: str | None) -> bool:
    """Say if it takes a look inside to tell what it is."""
    is_referred_to = (kind or "").endswith("&") and ADDRESS_ONLY.fullmatch(value or "")
    return bool(is_referred_to or SIZE.fullmatch(value or ""))


def has_name(shown: str) -> bool:
    return shown.partition(" @ ")[0] != "<null>"  # which lldb-dap gives to parameters without one


def is_cut(text: str) -> bool:
    """Say if only the beginning of a text is shown: of a std::string lldb does not tell."""
    return text.endswith('"...') or len(text) > LONGEST_TEXT


def not_assigned(failed: Evaluation, part: str) -> AssignmentRow:
    return cast(AssignmentRow, {**failed.as_answer(), "part": part})
