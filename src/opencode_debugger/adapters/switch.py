"""The debugger of a session: which one it is shows when a program is launched or attached to."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from ..files import read_source
from .base import Adapter, Debugger
from .debugpy.lines import unreadable
from .ez.source import is_ez

NATIVE_SOURCES = frozenset(
    {
        ".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".c++", ".h++", ".inl", ".ipp", ".tpp", ".m", ".mm",
        ".s", ".asm", ".rs", ".zig", ".d", ".go", ".nim", ".v", ".odin", ".f", ".f90", ".f95", ".f03", ".f08", ".for",
        ".pas", ".pp", ".adb", ".ads", ".cu", ".cl", ".swift", ".vala",
    }
)  # fmt: skip
"""How the names of files end that are compiled to machine code."""


def is_native_source(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in NATIVE_SOURCES


def is_python_source(path: str) -> bool:
    """What is neither of another language, as far as its name tells."""
    return not is_native_source(path) and not is_ez(path)


def native_lines(path: str) -> dict[str, Any]:
    """The lines that may have code: which of them do, only the compiled program can tell."""
    try:
        lines = read_source(path).splitlines()
    except (OSError, ValueError) as error:
        return unreadable(getattr(error, "strerror", None) or str(error))
    found, in_comment = [], False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not in_comment and text and not text.startswith((b"//", b"/*")):
            found.append(number)
        opened = text.startswith(b"/*") or in_comment
        in_comment = opened and b"*/" not in text
    return {"max_line": len(lines), "error": None, "code_lines": found, "definitions": {}, "is_certain": False}


class Switch:
    """Stands for whichever adapter is in use: everything else that is asked of it is asked of that one."""

    def __init__(self, make: Callable[[str], Debugger], first: str) -> None:
        self._make = make
        self._made = {first: make(first)}
        self.current = self._made[first]

    def use(self, name: str) -> None:
        self.current = self.made_for(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current, name)

    @property
    def as_adapter(self) -> Adapter:
        return cast(Adapter, self)

    # What files say is asked of whoever knows their language, before a program is there too.

    async def examine(self, path: str) -> dict[str, Any]:
        if is_native_source(path):
            return native_lines(path)
        return await self._teller(path).examine(path)

    async def find_function(self, path: str, name: str) -> list[int]:
        return [] if is_native_source(path) else await self._teller(path).find_function(path, name)

    def _teller(self, path: str) -> Adapter:
        """Who speaks the EZ protocol may have any language, but those of others are better known to them."""
        is_theirs = is_ez(path) or (self.current.name == "ez" and not path.endswith((".py", ".pyw")))
        return cast(Adapter, self.made_for("ez" if is_theirs else "debugpy"))

    def made_for(self, name: str) -> Debugger:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]
