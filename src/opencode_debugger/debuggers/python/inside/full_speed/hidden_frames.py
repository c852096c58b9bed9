"""Takes the frames of a function off the stack: what it calls looks as if the program called it (Python 3.12).

Python leaves out frames that have not come to their instruction RESUME. Where that is behind the end, none ever does,
and `locals()` has the variables of the caller there, for a fifth less than `f_locals` of a frame that has to be made.
From 3.13 on `f_locals` copies nothing, and `locals()` still does.
"""

from __future__ import annotations

from opcode import opmap
from types import CodeType

from ..python_versions import FRAME_LOCALS, monitoring


def hidden_code(code: CodeType) -> CodeType:
    """Return the code with its RESUME behind the end."""
    changed = bytearray(code.co_code)
    start = changed[::2].index(opmap["RESUME"]) * 2
    changed += changed[start : start + 2]
    changed[start : start + 2] = bytes((opmap["NOP"], 0))
    return code.replace(co_code=bytes(changed))


def _are_hidden() -> bool:
    """Tell whether it is so in this interpreter, and worth it."""
    if monitoring is None or FRAME_LOCALS is not dict:
        return False

    def inner() -> object:
        return locals()

    def outer(seen: object) -> object:
        return inner()

    inner.__code__ = hidden_code(inner.__code__)
    return outer(1) == {"seen": 1, "inner": inner}


CAN_HIDE = _are_hidden()
