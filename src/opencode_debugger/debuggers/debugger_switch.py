"""The debugger of a session: which one it is shows when a program is launched or attached to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ..files import read_source
from .python.interpreters.breakable_lines import unreadable
from .registry import DEFAULT, Programs, find_record, record_of_source

if TYPE_CHECKING:
    from .protocols import Adapter, Debugger
    from .rows import FileRow


def is_native_source(path: str) -> bool:
    record = record_of_source(path)
    return record is not None and record.programs is Programs.NATIVE


def is_python_source(path: str) -> bool:
    """Say whether a file is of no other language, as far as its name tells."""
    record = record_of_source(path)
    return record is None or record.programs is Programs.PYTHON


def native_lines(path: str) -> FileRow:
    """List the lines that may have code: which of them do, only the compiled program can tell."""
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
        return cast("Adapter", self)

    # What files say is asked of the debugger that knows their language, before a program is there too.

    async def examine(self, path: str) -> FileRow:
        if is_native_source(path):
            return native_lines(path)
        return await self._expert_on(path).examine(path)

    async def find_function(self, path: str, name: str) -> list[int]:
        return [] if is_native_source(path) else await self._expert_on(path).find_function(path, name)

    def _expert_on(self, path: str) -> Adapter:
        """Return the debugger that knows the language of a file.

        Files of no language that is known belong to a debugger that takes any file, if that is in use."""
        record = record_of_source(path)
        if record is None:
            used = next((name for name, made in self._made.items() if made is self.current), DEFAULT)
            record = find_record(used if find_record(used).programs is Programs.FILES else DEFAULT)
        return cast("Adapter", self.made_for(record.name))

    def made_for(self, name: str) -> Debugger:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]
