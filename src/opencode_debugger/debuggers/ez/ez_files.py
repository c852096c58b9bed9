"""Files in the EZ language, as far as their text tells: which lines may have code, where functions and loops are."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache

from ...files import read_source

SUFFIX = ".ez"
COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)|//[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL)
"""A string, which is kept, or a comment."""
STRING = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`""")
FUNCTION = re.compile(r"\s*(?:private\s+)?do\s+(\w+)\s*\(")
TYPE = re.compile(r"(?:^|\s)(?:struct|enum)\s*$")
LOOP = re.compile(r"\s*(?:for|for_each|as_long_as|while|loop)\b")
BLOCK = re.compile(r"\s*(?:$|(?:if|or|otherwise|when|is|default|ensure)\b)")
"""Words before a brace that opens a block; before others it is a value: `temp p = Person{`."""
READS = re.compile(
    r"(?<![\w.])(?:(?:std|io)\.)?(?:input|read_(?:int|float|string|char|bool|line|input|stdin))\s*\("
    r"|\b(?:stdin|scanf|getline|readline|gets|cin)\b"
)
"""How a program reads its standard input: in EZ, and in some other languages whose debuggers may speak the protocol."""
IMPORT = re.compile(r"^\s*import\b(.*)$", re.MULTILINE)
PATH = re.compile(r'"([^"\n]+)"')
MOST_FILES = 200
"""Files that are looked at for what a program imports."""
NO_CODE = re.compile(r"\s*(?:(?:import|using|module)\b.*|(?:otherwise|default)\s*|[#@].*)?", re.DOTALL)
"""Statements that are there before anything runs, and words that run nothing themselves."""


@dataclass
class Block:
    kind: str
    """function, loop, block; type and value, and ( and [, have no statements in them"""
    name: str = ""
    head: int = 0
    """the line on which it begins"""
    first: int | None = None
    """the first line with code in it"""


def is_ez(path: str) -> bool:
    return path.lower().endswith(SUFFIX)


def read_text(path: str) -> str:
    try:
        return read_source(path).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _blank_out(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def without_comments(text: str) -> str:
    return COMMENT.sub(lambda match: match[1] or _blank_out(match[0]), text)


@lru_cache(maxsize=16)
def outline(text: str) -> Outline:
    """Find the lines with code, the functions and the loops of a program in EZ."""
    return Outline().read(STRING.sub(lambda match: '"' + _blank_out(match[0][1:]), without_comments(text)))


@dataclass
class Outline:
    code: list[int] = field(default_factory=list)
    """lines on which a statement begins"""
    functions: list[Block] = field(default_factory=list)
    loops: list[Block] = field(default_factory=list)
    _open: list[Block] = field(default_factory=list)
    _begun: str = ""
    """what has been read of a statement"""
    _line: int = 0
    """on which that began"""

    def read(self, text: str) -> Outline:
        for number, line in enumerate(text.splitlines(), 1):
            for char in line:
                self._take_char(char, number)
            if self._is_between_statements:
                self._end_statement()
        return self

    @property
    def _is_between_statements(self) -> bool:
        return not self._open or self._open[-1].kind in ("function", "loop", "block")

    def _take_char(self, char: str, number: int) -> None:
        if char in ")]}":
            if self._is_between_statements:
                self._end_statement()
            if self._open:
                self._open.pop()
        if char not in "{}" and not (self._open and self._open[-1].kind in ("type", "value")):
            if not self._begun.strip():
                self._line = number
            self._begun += char
        if char in "([{":
            self._open.append(self._open_block(number) if char == "{" else Block(char))

    def _open_block(self, number: int) -> Block:
        """Return the block that a brace opens, by what stands before it."""
        before, head = self._begun, self._line or number
        if not self._is_between_statements:
            return Block("value")
        if match := FUNCTION.match(before):
            self._begun = ""
            self.functions.append(Block("function", match[1], head))
            return self.functions[-1]
        if TYPE.search(before):
            self._begun = ""
            return Block("type")
        if LOOP.match(before):
            self._end_statement()
            self.loops.append(Block("loop", "", head))
            return self.loops[-1]
        if BLOCK.match(before):
            self._end_statement()
            return Block("block")
        return Block("value")

    def _end_statement(self) -> None:
        statement, self._begun = self._begun, ""
        if NO_CODE.fullmatch(statement) or FUNCTION.match(statement):
            return
        if self.code[-1:] != [self._line]:
            self.code.append(self._line)
        for block in self._open:
            if block.first is None:
                block.first = self._line


def code_lines(path: str) -> list[int]:
    """Return the lines with code; of other languages all that are not blank: only their debugger knows them."""
    text = read_text(path)
    if is_ez(path):
        return outline(text).code
    return [number for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def reads_at(path: str, line: int) -> bool:
    text = "".join(without_comments(read_text(path)).splitlines()[line - 1 : line])
    return READS.search(text) is not None


def may_read(path: str) -> bool:
    """Say whether a program, or a file that it imports, reads standard input anywhere."""
    known = [os.path.realpath(path)]
    for each in known:
        text = without_comments(read_text(each))
        if READS.search(text):
            return True
        if is_ez(each):
            known += [found for found in _imported_files(each, text) if found not in known and len(known) < MOST_FILES]
    return False


def _imported_files(path: str, text: str) -> list[str]:
    """List the files of imported modules: each is a file, named with or without its suffix, or a folder of files."""
    found: list[str] = []
    for name in (match[1] for line in IMPORT.finditer(text) for match in PATH.finditer(line[1])):
        target = os.path.realpath(os.path.join(os.path.dirname(path), name))
        if os.path.isdir(target):
            found += (os.path.join(target, each) for each in sorted(os.listdir(target)) if is_ez(each))
        else:
            found.append(target if is_ez(target) else target + SUFFIX)
    return found


def likely_lines(path: str) -> tuple[list[int], list[int]]:
    """Return lines on which a running program soon stops, one of each loop and of each function; and all others.

    What runs for long goes round in a loop, or calls itself."""
    found = outline(read_text(path)) if is_ez(path) else Outline()
    likely = dict.fromkeys(block.first for block in [*found.loops, *found.functions] if block.first is not None)
    return list(likely), [line for line in code_lines(path) if line not in likely]


def find_function(path: str, name: str) -> list[int]:
    """Return the first line of code in each function of that name."""
    found = (block.first for block in outline(read_text(path)).functions if block.name == name)
    return [line for line in found if line is not None]


def function_at(path: str, line: int) -> str | None:
    return next((block.name for block in reversed(outline(read_text(path)).functions) if block.head <= line), None)
