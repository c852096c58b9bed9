"""Knows which names a line can change, so that only those are looked at after it has run."""

from __future__ import annotations

import dis
from types import CodeType, FrameType
from typing import Any, Dict, List, Optional, Tuple

from ..values import raw
from .kept_values import ValueKeeper

LINES_PER_CALL = 2_000
NOT_SET = ("<not set>",)

Place = Tuple[str, str, Optional[str]]
"""what is shown as a name, the variable, and the attribute of its value if it is one"""


class LineChanges:
    """What the lines of a function can change, as its bytecode tells."""

    def __init__(self, code: CodeType) -> None:
        touched: Dict[int, Dict[str, None]] = {}
        line, owner = code.co_firstlineno, None
        for instruction in dis.get_instructions(code):
            line = _line_of(instruction, line)
            names, owner = _names_in(instruction, owner)
            for name in names:
                touched.setdefault(line, {})[name] = None
        everything = {name: None for names in touched.values() for name in names}
        self._by_line = {each: [_split(name) for name in names] for each, names in touched.items()}
        self._all = [_split(name) for name in everything]

    def changed(self, frame: FrameType, seen: Dict[str, Any], line: Optional[int], keeper: ValueKeeper) -> List[Any]:
        """Return names and their values now, of those that a line has changed; None stands for any line."""
        found: List[Any] = []
        variables: Any = frame.f_locals
        for name, variable, attribute in self._all if line is None else self._by_line.get(line, ()):
            try:
                value = variables[variable]
            except KeyError:
                continue
            if attribute is not None:
                fields = raw.instance_dict(value)
                if fields is None or attribute not in fields:
                    continue
                value = fields[attribute]
            kept = keeper.keep_named(attribute or name, value)
            last = seen.get(name, NOT_SET)
            if type(kept) is not type(last) or kept != last:
                seen[name] = kept
                found += (name, kept)
        return found


def _line_of(instruction: Any, line: int) -> int:
    """Return the line of an instruction; the one before if it does not say."""
    positions = getattr(instruction, "positions", None)
    found = positions.lineno if positions is not None else instruction.starts_line
    return line if found is None or found is True or found is False else found


def _names_in(instruction: Any, owner: Optional[str]) -> Tuple[List[str], Optional[str]]:
    """Return what an instruction may change, or may have changed below it, and the variable that it loads."""
    operation, value = instruction.opname, instruction.argval
    if "_FAST" in operation or operation.endswith("_DEREF"):
        names = [each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str)]
        names = [each for each in names if each.isidentifier()]
        return names, names[-1] if names and "LOAD" in operation else None
    if operation in ("STORE_ATTR", "LOAD_ATTR", "LOAD_METHOD") and owner is not None:
        return ["%s.%s" % (owner, value)], None
    return [], owner if operation in ("COPY", "CACHE") else None


def _split(name: str) -> Place:
    variable, _, attribute = name.partition(".")
    return name, variable, attribute or None
