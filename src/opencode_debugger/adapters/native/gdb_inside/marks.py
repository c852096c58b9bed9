"""Breakpoints: conditions, hit counts and log messages are decided here, so that a step is not cut short by them."""

from __future__ import annotations

import contextlib
import importlib
import operator
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from . import looking
from .values import Json, text_of

gdb: Any = importlib.import_module("gdb")
_server: Any = importlib.import_module("gdb.dap.server")

AN_ADDRESS = "*"
"""What an address begins with where a function could be named."""
NO_CODE_THERE = "The program has no code at this address"
BETWEEN = "This address is in the middle of an instruction: the one before begins at {address}"
FUNCTIONS = "functions"
"""the group of breakpoints on functions"""
MAPPED = re.compile(r"^\s*(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+([-rwxsp]+)", re.MULTILINE)
COUNTED = ("condition", "hit_condition", "log", "function")
CALLS = 5
"""Seconds for what a condition or a log message calls."""
LONGEST = 10000
"""characters of a log message"""
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, number: hits % number == 0,
}


def tell(kind: str, **body: Any) -> None:
    _server.send_event("ocdb", dict(body, kind=kind))


class Mark(gdb.Breakpoint):  # type: ignore[misc]
    """One of the relay's breakpoints."""

    wish: Json
    condition: str | None
    enabled: bool
    hits = 0
    known: tuple[bool, int, str | None] = (True, 0, None)
    """whether it has a place, how many, and what is wrong with its address"""
    problem: str | None = None
    """why an address cannot have it: it is switched off until that has code"""

    def notice(self) -> bool:
        """Whether it has another place than before."""
        before, self.known = self.known, (self.pending, len(self.locations), self.problem)
        if self.locations and self.condition is None:  # earlier, gdb would not wait for a library that has its place
            self.condition = f"${Deciding.name}({self.number})"
        return self.known != before

    def check_address(self) -> None:
        """A breakpoint where no instruction begins would spoil what is there, or keep the program from going on."""
        if (self.wish.get("function") or "").startswith(AN_ADDRESS):
            self.problem = _problem_of(int(self.wish["function"][1:], 16))
            if self.enabled != (self.problem is None):
                self.enabled = self.problem is None

    def decide(self) -> bool:
        """Whether the program stops here."""
        if looking.evaluating:
            return False
        try:
            with looking.Evaluating(CALLS):  # breakpoints in what a condition calls do not stop
                stops = self._stops()
        except Exception as error:
            self.hits += 1
            tell("condition_error", number=self.wish["number"], error=str(error))
            stops = True
        if stops:
            tell("hit", number=self.wish["number"])  # gdb names all that are there, those that did not stop too
        return stops

    def _stops(self) -> bool:
        condition = self.wish.get("condition")
        if condition and not looking.parse(condition):
            return False
        self.hits += 1
        if not _is_wanted(self.wish.get("hit_condition"), self.hits):
            return False
        log = self.wish.get("log")
        if log is None:
            return True
        text = "".join(part if isinstance(part, str) else _shown(part) for part in log)
        tell("log", number=self.wish["number"], text=text[:LONGEST], hits=self.hits)
        return False


class Deciding(gdb.Function):  # type: ignore[misc]
    """What gdb asks as the condition of a breakpoint: were it its `stop` method, threads would stay halted for good
    after a call of the program's functions."""

    name = "ocdb_stops"

    def __init__(self) -> None:
        super().__init__(self.name)

    def invoke(self, number: Any) -> bool:
        marks = (mark for group in _groups.values() for mark in group if mark.is_valid())
        return any(mark.decide() for mark in marks if mark.number == int(number))


def _is_wanted(hit_condition: str | None, hits: int) -> bool:
    for sign, compare in COMPARISONS.items():
        if hit_condition and hit_condition.startswith(sign):
            return compare(hits, int(hit_condition[len(sign) :]))
    return True


def _shown(part: Any) -> str:
    """An expression that fails leaves the rest of the message whole."""
    expression, _, spec_parts = part
    spec = "".join(each for each in spec_parts if isinstance(each, str))
    try:
        value = looking.parse(expression)
        text = text_of(value, LONGEST)
        return format(_number(value), spec) if spec else text
    except Exception as error:
        return f"<{error}>"


def _number(value: Any) -> Any:
    """As Python formats it."""
    code = value.type.strip_typedefs().code
    if code == gdb.TYPE_CODE_FLT:
        return float(value)
    if code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR):
        return int(value)
    return text_of(value)


_groups: dict[str, list[Mark]] = {}
"""by file, and those on functions together"""


def place(group: str, wanted: list[Json]) -> Json:
    """All that a group is to have. Those that stay where they were are kept, with their counts."""
    before: dict[tuple[Any, ...], Mark] = {_key(mark.wish): mark for mark in _groups.get(group, ()) if mark.is_valid()}
    now: list[Mark] = []
    answers = []
    for wish in wanted:
        known = before.pop(_key(wish), None)
        try:
            mark = known or _made(wish)
        except gdb.error as error:
            answers.append({"verified": False, "message": str(error)})
            continue
        mark.hits = max(wish.get("hits", 0), mark.hits)
        mark.wish = wish
        now.append(mark)
        answers.append(dict(described(mark), condition_problem=_problem(wish)))
    for mark in before.values():
        mark.delete()
    _groups[group] = now
    return {"breakpoints": answers}


def _modified(mark: Any) -> None:
    """Of what gdb changes about a breakpoint, its place is news; that it was reached once more is not."""
    if not isinstance(mark, Mark):
        _told(mark)
    elif mark.notice():
        _server.send_event("breakpoint", {"reason": "changed", "breakpoint": described(mark)})


_told: Any = None
"""how gdb itself tells of changes"""


def install() -> None:
    global _told
    Deciding()
    gdb.events.new_objfile.connect(_loaded)
    _told = getattr(importlib.import_module("gdb.dap.breakpoint"), "_bp_modified", None)
    if _told is not None:
        gdb.events.breakpoint_modified.disconnect(_told)
        gdb.events.breakpoint_modified.connect(_modified)


def _key(wish: Json) -> tuple[Any, ...]:
    return (wish["number"], wish.get("path"), wish.get("line"), wish.get("function"))


def _location(wish: Json) -> Json:
    function = wish.get("function")
    if function and function.startswith(AN_ADDRESS):
        return {"spec": function}
    if function:
        return {"function": function, **({"source": wish["path"]} if wish.get("path") else {})}
    return {"source": wish["path"], "line": wish["line"]}


def _made(wish: Json) -> Mark:
    mark = Mark(**_location(wish))
    if mark.pending and wish.get("function"):
        for name in _meant(wish["function"]):
            mark.delete()
            mark = Mark(**_location({**wish, "function": name}))
            if not mark.pending:
                break
    mark.wish = wish
    mark.check_address()
    mark.notice()
    return mark


def _meant(name: str) -> Iterator[str]:
    """What gdb calls a function that it does not find: a method with its `const`, one of C without its parameters, one
    of Rust with its modules."""
    if name.endswith(")"):
        yield f"{name} const"
    word = re.match(r"\w[\w:]*", name)
    if word is None:
        return
    if name[word.end() :].startswith("("):
        named = {each for each in _functions(f"^{word[0]}") if each.partition("(")[0] == word[0]}
        if named == {word[0]}:
            yield word[0]
    known = _functions(f"::{word[0]}")
    full = re.compile(f"(.*::{re.escape(name)})(<.*>)?")
    names = {found[1] for found in map(full.fullmatch, known) if found}
    if len(names) == 1:
        yield names.pop()


def _functions(pattern: str) -> set[str]:
    try:
        listed = gdb.execute_mi("-symbol-info-functions", "--name", pattern)
    except Exception:
        return set()  # a gdb that cannot be asked
    return {symbol["name"] for file in listed["symbols"].get("debug", ()) for symbol in file["symbols"]}


def _problem_of(address: int) -> str | None:
    """Why no breakpoint can be at an address."""
    try:
        listed = str(gdb.execute("info proc mappings", to_string=True))
        mapped = [(int(each[1], 16), int(each[2], 16), each[3]) for each in MAPPED.finditer(listed)]
    except gdb.error:
        mapped = []
    if mapped and not any(start <= address < end and "x" in flags for start, end, flags in mapped):
        return NO_CODE_THERE
    try:
        gdb.selected_inferior().read_memory(address, 1)
        block = gdb.block_for_pc(address)
        while block is not None and block.function is None:
            block = block.superblock
        if block is None or not block.start < address:
            return None
        begins = [each["addr"] for each in gdb.selected_inferior().architecture().disassemble(block.start, address)]
    except gdb.error:
        return NO_CODE_THERE
    return None if address in begins else BETWEEN.format(address=hex(begins[-1]))


def _loaded(event: Any) -> None:
    """More of the program is in memory: an address may have code now."""
    for mark in _groups.get(FUNCTIONS, ()):
        if mark.is_valid() and mark.problem:
            mark.check_address()


def _problem(wish: Json) -> str | None:
    """Why a condition can never be evaluated there."""
    condition = wish.get("condition")
    if not condition:
        return None
    try:
        with _probe(wish) as probe:
            if not probe.pending:
                probe.condition = condition
    except gdb.error as error:
        return str(error)
    return None


@contextlib.contextmanager
def _probe(wish: Json) -> Iterator[Any]:
    """Tells where a breakpoint would be, and is gone."""
    probe = gdb.Breakpoint(internal=True, **_location(wish))
    try:
        yield probe
    finally:
        probe.delete()


def described(mark: Any) -> Json:
    """As DAP describes breakpoints, with every place that it has."""
    answer: Json = {"id": mark.number, "verified": not mark.pending and not mark.problem}
    if mark.problem:
        answer["message"] = mark.problem
        return answer
    places = []
    for location in mark.locations or ():
        if location.source:
            places.append({"path": location.fullname or location.source[0], "line": _stops_at(location)})
    wanted = mark.wish.get("line")
    if places:
        first = next((each for each in places if each["line"] == wanted), places[0])
        answer.update(source={"path": first["path"]}, line=first["line"], places=places)
        others = sorted({each["line"] for each in places} - {wanted})
        if wanted and others and first["line"] == wanted:
            answer["note"] = f"The code is optimized: it may stop at line {', '.join(map(str, others))} as well"
    elif not mark.pending and wanted:
        answer["line"] = wanted
    if mark.pending and wanted:
        answer.update(_why_pending(mark.wish["path"], wanted))
    return answer


def _stops_at(location: Any) -> int:
    """The line that the program will be told to be at: an optimized one has one instruction for several lines."""
    wanted = int(location.source[1])
    block = gdb.block_for_pc(location.address)
    while block is not None and block.function is None:
        block = block.superblock
    if block is not None and block.start == location.address and _is_inlined(block):
        return wanted  # told as the line of the call
    found = gdb.find_pc_line(location.address)
    is_same = found.symtab is not None and found.symtab.fullname() == location.fullname
    return int(found.line) if is_same and found.line else wanted


def _is_inlined(block: Any) -> bool:
    outer = block.superblock
    return outer is not None and not (outer.is_static or outer.is_global)


def _why_pending(path: str, line: int) -> Json:
    if not looking.sources(path)["known"]:
        name = os.path.basename(path)
        return {"message": f"The program has no debug information for {name} (yet). Breakpoint pending."}
    for later in sorted(each for each in looking.code_lines(path) if each > line):
        with _probe({"path": path, "line": later}) as probe:
            if probe.locations:
                return {"nearest": _stops_at(probe.locations[0])}
    return {"message": "No executable code at this line or after it"}


def enable_all() -> None:
    """gdb disables those that have no place in the program that this one has become; it may become another."""
    for mark in (mark for group in _groups.values() for mark in group if mark.is_valid()):
        if not mark.enabled:
            mark.enabled = True


def hits() -> Json:
    """Of those that are counted only here."""
    found = [mark for group in _groups.values() for mark in group if mark.wish["number"] > 0]
    return {str(mark.wish["number"]): mark.hits for mark in found if any(mark.wish.get(name) for name in COUNTED)}
