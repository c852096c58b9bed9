"""Breakpoints: conditions, hit counts and log messages are decided here, so that a step is not cut short by them."""

from __future__ import annotations

import contextlib
import operator
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import gdb
import gdb.dap.breakpoint
from gdb.dap.server import send_event

from . import frames_and_scopes
from .values import text_of

if TYPE_CHECKING:
    from ...native_breakpoints import PlacedBreakpoint
    from .row_types import Json

AN_ADDRESS = "*"
"""What an address begins with where a function could be named."""
NO_CODE_THERE = "The program has no code at this address"
BETWEEN = "This address is in the middle of an instruction: the one before begins at {address}"
MAPPED = re.compile(r"^\s*(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+([-rwxsp]+)", re.MULTILINE)
DECIDING = "ocdb_stops"
COUNTED = ("condition", "hit_condition", "log", "function")
CALLS = 5
"""Seconds for what a condition or a log message calls."""
LONGEST = 10000
"""characters of a log message"""
WHOLE_NUMBERS = (
    gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR,
)  # fmt: skip
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, number: hits % number == 0,
}


def tell_relay(kind: str, **body: Any) -> None:
    send_event("ocdb", dict(body, kind=kind))


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

    def notice_change(self) -> bool:
        """Say if it has another place than before."""
        before, self.known = self.known, (self.pending, len(self.locations), self.problem)
        if self.locations and self.condition is None:  # earlier, gdb would not wait for a library that has its place
            self.condition = f"${DECIDING}({self.number})"
        return self.known != before

    def check_address(self) -> None:
        """A breakpoint where no instruction begins would spoil what is there, or keep the program from going on."""
        if (self.wish.get("function") or "").startswith(AN_ADDRESS):
            self.problem = _problem_of(int(self.wish["function"][1:], 16))
            if self.enabled != (self.problem is None):
                self.enabled = self.problem is None

    def decide_stop(self) -> bool:
        """Say if the program stops here."""
        if frames_and_scopes.evaluating:
            return False
        try:
            with frames_and_scopes.evaluation(CALLS):  # breakpoints in what a condition calls do not stop
                stops = self._wants_stop()
        except Exception as error:
            self.hits += 1
            tell_relay("condition_error", number=self.wish["number"], error=str(error))
            stops = True
        if stops:
            tell_relay("hit", number=self.wish["number"])  # gdb names all that are there, those that did not stop too
        return stops

    def _wants_stop(self) -> bool:
        condition = self.wish.get("condition")
        if condition and not frames_and_scopes.parse_text(condition):
            return False
        self.hits += 1
        if not _is_wanted(self.wish.get("hit_condition"), self.hits):
            return False
        log = self.wish.get("log")
        if log is None:
            return True
        text = "".join(part if isinstance(part, str) else _shown_part(part) for part in log)
        tell_relay("log", number=self.wish["number"], text=text[:LONGEST], hits=self.hits)
        return False


class Deciding(gdb.Function):  # type: ignore[misc]
    """Decides about the relay's breakpoints, as their condition: were it their `stop` method, threads would stay halted
    for good after a call of the program's functions."""

    def invoke(self, number: Any) -> bool:
        return any(mark.decide_stop() for mark in _valid_marks() if mark.number == int(number))


def _is_wanted(hit_condition: str | None, hits: int) -> bool:
    for sign, compare in COMPARISONS.items():
        if hit_condition and hit_condition.startswith(sign):
            return compare(hits, int(hit_condition[len(sign) :]))
    return True


def _shown_part(part: Any) -> str:
    """An expression that fails leaves the rest of the message whole."""
    expression, _, spec_parts = part
    spec = "".join(each for each in spec_parts if isinstance(each, str))
    try:
        value = frames_and_scopes.parse_text(expression)
        code = value.type.strip_typedefs().code
        if not spec:
            return text_of(value, LONGEST)
        if code == gdb.TYPE_CODE_FLT:
            return format(float(value), spec)
        return format(int(value) if code in WHOLE_NUMBERS else text_of(value), spec)
    except Exception as error:
        return f"<{error}>"


_groups: dict[str, list[Mark]] = {}
"""by file, and those on functions together"""


def _valid_marks() -> Iterator[Mark]:
    return (mark for group in _groups.values() for mark in group if mark.is_valid())


def place_group(group: str, wanted: list[Json]) -> list[PlacedBreakpoint]:
    """All that a group is to have. Those that stay where they were are kept, with their counts."""
    before = {_wish_key(mark.wish): mark for mark in _groups.get(group, ()) if mark.is_valid()}
    now: list[Mark] = []
    answers: list[PlacedBreakpoint] = []
    for wish in wanted:
        known = before.pop(_wish_key(wish), None)
        try:
            mark = known or _make_mark(wish)
        except gdb.error as error:
            answers.append({"verified": False, "message": str(error)})
            continue
        mark.hits = max(wish.get("hits", 0), mark.hits)
        mark.wish = wish
        now.append(mark)
        answers.append({**describe_mark(mark), "condition_problem": _condition_problem(wish)})
    for mark in before.values():
        mark.delete()
    _groups[group] = now
    return answers


def install() -> None:
    def on_loaded(event: Any) -> None:
        """More of the program is in memory: an address may have code now."""
        for mark in _groups.get("functions", ()):
            if mark.is_valid() and mark.problem:
                mark.check_address()

    Deciding(DECIDING)
    gdb.events.new_objfile.connect(on_loaded)
    tell_change = getattr(gdb.dap.breakpoint, "_bp_modified", None)  # as gdb itself does
    if tell_change is None:
        return

    def on_modified(mark: Any) -> None:
        """Tell that a breakpoint has another place: that is news; that it was reached once more is not."""
        if not isinstance(mark, Mark):
            tell_change(mark)
        elif mark.notice_change():
            send_event("breakpoint", {"reason": "changed", "breakpoint": describe_mark(mark)})

    gdb.events.breakpoint_modified.disconnect(tell_change)
    gdb.events.breakpoint_modified.connect(on_modified)


def _wish_key(wish: Json) -> tuple[int, str | None, int | None, str | None]:
    return (wish["number"], wish.get("path"), wish.get("line"), wish.get("function"))


def _wish_location(wish: Json) -> dict[str, str | int]:
    function = wish.get("function")
    if not function:
        return {"source": wish["path"], "line": wish["line"]}
    if function.startswith(AN_ADDRESS):
        return {"spec": function}
    return {"function": function, "source": wish["path"]} if wish.get("path") else {"function": function}


def _make_mark(wish: Json) -> Mark:
    mark = Mark(**_wish_location(wish))
    if mark.pending and wish.get("function"):
        for name in _other_names(wish["function"]):
            mark.delete()
            mark = Mark(**_wish_location({**wish, "function": name}))
            if not mark.pending:
                break
    mark.wish = wish
    mark.check_address()
    mark.notice_change()
    return mark


def _other_names(name: str) -> Iterator[str]:
    """Find names that gdb has for a function that it does not find: of a method with its `const`, one of C without its
    parameters, one of Rust with its modules."""
    if name.endswith(")"):
        yield f"{name} const"
    word = re.match(r"\w[\w:]*", name)
    if word is None:
        return
    if name[word.end() :].startswith("("):
        named = {each for each in _find_functions(f"^{word[0]}") if each.partition("(")[0] == word[0]}
        if named == {word[0]}:
            yield word[0]
    known = _find_functions(f"::{word[0]}")
    full = re.compile(f"(.*::{re.escape(name)})(<.*>)?")
    names = {found[1] for found in map(full.fullmatch, known) if found}
    if len(names) == 1:
        yield names.pop()


def _find_functions(pattern: str) -> set[str]:
    try:
        listed = gdb.execute_mi("-symbol-info-functions", "--name", pattern)
    except Exception:
        return set()  # a gdb that cannot be asked
    return {symbol["name"] for file in listed["symbols"].get("debug", ()) for symbol in file["symbols"]}


def _function_block(address: int) -> Any:
    block = gdb.block_for_pc(address)
    while block is not None and block.function is None:
        block = block.superblock
    return block


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
        block = _function_block(address)
        if block is None or not block.start < address:
            return None
        begins = [each["addr"] for each in gdb.selected_inferior().architecture().disassemble(block.start, address)]
    except gdb.error:
        return NO_CODE_THERE
    return None if address in begins else BETWEEN.format(address=hex(begins[-1]))


def _condition_problem(wish: Json) -> str | None:
    """Why a condition can never be evaluated there."""
    try:
        if wish.get("condition"):
            with _probe_place(wish) as probe:
                if not probe.pending:
                    probe.condition = wish["condition"]
    except gdb.error as error:
        return str(error)
    return None


@contextlib.contextmanager
def _probe_place(wish: Json) -> Iterator[Any]:
    """Tells where a breakpoint would be, and is gone."""
    probe = gdb.Breakpoint(internal=True, **_wish_location(wish))
    try:
        yield probe
    finally:
        probe.delete()


def describe_mark(mark: Any) -> PlacedBreakpoint:
    """Describe a breakpoint as DAP does, with every place that it has."""
    if mark.problem:
        return {"id": mark.number, "verified": False, "message": mark.problem}
    answer: PlacedBreakpoint = {"id": mark.number, "verified": not mark.pending}
    places: list[Json] = [
        {"path": location.fullname or location.source[0], "line": _stops_at(location)}
        for location in mark.locations or ()
        if location.source
    ]
    wanted = mark.wish.get("line")
    if places:
        first = next((each for each in places if each["line"] == wanted), places[0])
        answer.update({"source": {"path": first["path"]}, "line": first["line"], "places": places})
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
    block = _function_block(location.address)
    outer = block.superblock if block is not None and block.start == location.address else None
    if outer is not None and not (outer.is_static or outer.is_global):
        return wanted  # it is inlined there: told as the line of the call
    found = gdb.find_pc_line(location.address)
    is_same = found.symtab is not None and found.symtab.fullname() == location.fullname
    return int(found.line) if is_same and found.line else wanted


def _why_pending(path: str, line: int) -> PlacedBreakpoint:
    if not frames_and_scopes.sources(path):
        name = os.path.basename(path)
        return {"message": f"The program has no debug information for {name} (yet). Breakpoint pending."}
    lines: set[int] = set()
    with contextlib.suppress(Exception):
        lines = {int(each["line"]) for each in gdb.execute_mi("-symbol-list-lines", path)["lines"]}
    for later in sorted(each for each in lines if each > line):
        with _probe_place({"path": path, "line": later}) as probe:
            if probe.locations:
                return {"nearest": _stops_at(probe.locations[0])}
    return {"message": "No executable code at this line or after it"}


def enable_all() -> None:
    """gdb disables those that have no place in the program that this one has become; it may become another."""
    for mark in _valid_marks():
        if not mark.enabled:
            mark.enabled = True


def hits() -> dict[str, int]:
    """Return the hits of breakpoints that are counted only here."""
    found = [mark for group in _groups.values() for mark in group if mark.wish["number"] > 0]
    return {str(mark.wish["number"]): mark.hits for mark in found if any(mark.wish.get(name) for name in COUNTED)}
