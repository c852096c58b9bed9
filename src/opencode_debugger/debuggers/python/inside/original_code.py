"""Knows which code of the program was made of which: tests for breakpoints are put into code up to Python 3.11."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Callable, Dict, Tuple

CODE_OF_FUNCTION: Any = FunctionType.__dict__["__code__"]
"""Python's own descriptor: the program may be shown another one (see full_speed/visible_code.py)."""
read_code: Callable[[Any], CodeType] = CODE_OF_FUNCTION.__get__
"""Returns the code that a function really has, as its frames do."""
write_code: Callable[[Any, CodeType], None] = CODE_OF_FUNCTION.__set__
_originals: Dict[int, Tuple[CodeType, CodeType]] = {}
"""By id of the new code, which is kept as long: the new, and what it was made of."""


def note_original(new: CodeType, original: CodeType) -> None:
    _originals[id(new)] = (new, original)


def original_of(code: CodeType) -> CodeType:
    """Return the code as the compiler made it."""
    known = _originals.get(id(code))
    return code if known is None else known[1]
