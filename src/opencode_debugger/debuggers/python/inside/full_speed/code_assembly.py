"""Puts a test in front of chosen lines: the bytecode of Python 3.8 to 3.11, whose formats do not change any more.

In front of a line comes `again: if test(locals...): goto again`, wherever the interpreter would tell a trace function
that the line begins, and nowhere else. A test that answers True has switched tracing on: then the jump back is that
event, told once more. Jumps, exception tables, line numbers and columns keep their meaning, so that tracing the new
code gives the same events as tracing the old.
"""

from __future__ import annotations

import opcode
import sys
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ..code_lines import line_ranges, lines_by_unit
from ..python_versions import VERSION
from . import code_tables

Test = Callable[..., bool]
IS_SUPPORTED = (3, 8) <= VERSION <= (3, 11)
TELLS_STARTS = VERSION < (3, 10)
"""A line begins where its instructions do, or where a jump leads back; later, where it is another line than before."""
TELLS_OF_FAILED = VERSION == (3, 9)
"""A line begins once more where its own exception is handled in it, but for one that ends a loop."""
HAS_TABLES = VERSION >= (3, 11)
"""Code has a table of what handles its exceptions; before, instructions set that up."""
JUMP_UNIT = 2 if VERSION >= (3, 10) else 1
"""Bytes that a jump counts as one."""

_OPS = opcode.opmap
_NAMES = opcode.opname
_CACHES: Sequence[int] = getattr(opcode, "_inline_cache_entries", (0,) * 256)
_ABSOLUTE, _RELATIVE = frozenset(opcode.hasjabs), frozenset(opcode.hasjrel)
_ENDS = frozenset(
    _OPS[name]
    for name in (
        *("RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_ABSOLUTE"),
        *("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"),
    )
    if name in _OPS
)
"""Operations after which the next instruction is not what runs next."""
_BACKWARD = frozenset(number for number, name in enumerate(_NAMES) if "BACKWARD" in name)
_SETUPS = frozenset(number for number, name in enumerate(_NAMES) if name.startswith("SETUP_"))
_CALL_FINALLY = _OPS.get("CALL_FINALLY", -1)
_PUSH_ERROR = _OPS.get("PUSH_EXC_INFO", -1)
_RERAISE = _OPS.get("RERAISE", -1)
_SEND = _OPS.get("SEND", -1)
_AGAIN = _OPS["POP_JUMP_BACKWARD_IF_TRUE" if HAS_TABLES else "POP_JUMP_IF_TRUE"]
_STACK_NEEDED = 3
"""Places on the stack that a test needs beside its arguments."""


class CannotRewrite(Exception):
    """The code is not as the compiler makes it, or has something that is not known here."""


class LineTest(NamedTuple):
    """What is called in front of a line."""

    wanted: Tuple[str, ...]
    """Local variables that it would like to be given."""
    bind: Callable[[Sequence[str]], Test]
    """Makes the test, told which of the wanted variables are bound for sure: all of them are arguments, or none."""
    after_error: Test
    """Is called where an exception leads into the line: no new line begins if it came from the same."""


class Instruction:
    """One operation with its argument; operations that only widen the argument are part of it."""

    __slots__ = ("arg", "at", "line", "offset", "op", "place", "skips", "target", "tests", "width")

    def __init__(self, op: int, arg: int, line: Optional[int], at: int = -1, place: Any = None) -> None:
        self.op, self.arg, self.line, self.at = op, arg, line, at
        self.place = place or (line, line, None, None)
        self.target: Optional[Instruction] = None
        self.tests: List[Instruction] = []
        """The instructions that were put in front of it."""
        self.skips = False
        """What comes before it goes past the tests: for that no line begins here."""
        self.offset = 0
        self.width = self.needed_width()

    def needed_width(self) -> int:
        arg = self.arg
        return 1 + (arg > 0xFF) + (arg > 0xFFFF) + (arg > 0xFFFFFF) + _CACHES[self.op]


class Protected(NamedTuple):
    """A row of the exception table: up to `end`, an exception leads to `target`."""

    start: Instruction
    end: Optional[Instruction]
    target: Instruction
    depth: int
    keeps_place: int


def put_tests(code: CodeType, tests: Mapping[int, LineTest]) -> CodeType:
    """Return the code with these tests in front of these lines; the code itself if none of the lines begins in it."""
    if not IS_SUPPORTED:
        raise CannotRewrite("this Python has another bytecode")
    listing, at_offset = _decode(code)
    table = _read_table(code, at_offset)
    arrivals = _find_arrivals(listing, table, tests)
    if not arrivals:
        return code
    wanted = {name for arrival in arrivals for name in tests[arrival.line].wanted}
    calls = _Calls(code, tests, arrivals, _find_bound(code, listing, table, wanted))
    for arrival in arrivals:
        _put_test(arrival, calls)
    return _encode(code, listing, table, calls)


def start_of_test(code: CodeType, at: int) -> int:
    """Return where the test without arguments begins whose call is at this place of the code."""
    data = code.co_code
    if HAS_TABLES:
        while data[at] == _OPS["CACHE"]:  # a call of Python stands at the end of its caches
            at -= 2
        at -= 2 * (1 + _CACHES[_OPS["PRECALL"]])
    at -= 2
    while data[at - 2] == opcode.EXTENDED_ARG:
        at -= 2
    return at - 2 if HAS_TABLES else at


def begins_after_error(frame: Any, line: int) -> bool:
    """Tell whether the exception that is being handled led into this line of the frame from another one."""
    kind, _, trace = sys.exc_info()
    if trace is None or (TELLS_OF_FAILED and kind is not StopAsyncIteration):
        return True
    return trace.tb_frame is not frame or trace.tb_lineno != line


def lines_of(code: CodeType) -> Set[int]:
    """Return the lines that code has instructions of."""
    return {line for _, _, line in line_ranges(code) if line is not None}


def find_beginnings(code: CodeType) -> FrozenSet[int]:
    """Return the bytes at which lines begin, up to 3.9: where another one is, and where something leads back."""
    try:
        listing, _ = _decode(code)
    except CannotRewrite:
        return frozenset(range(0, len(code.co_code), 2))
    targets = (each.target.at for each in listing if each.target is not None and _leads_back(each, each.target))
    returns = (each.at for before, each in zip(listing, listing[1:]) if before.op == _CALL_FINALLY)
    return frozenset((*(start for start, _, _ in line_ranges(code)), *targets, *returns))


def _leads_back(jump: Instruction, target: Instruction) -> bool:
    return target.at <= jump.at or jump.op in _SETUPS


# Reading.


def _decode(code: CodeType) -> Tuple[List[Instruction], Dict[int, Instruction]]:
    data = code.co_code
    lines = lines_by_unit(code)
    places = list(code.co_positions()) if HAS_TABLES else None
    listing: List[Instruction] = []
    at_offset: Dict[int, Instruction] = {}
    jumps: List[Tuple[Instruction, int]] = []
    at = start = extended = 0
    while at < len(data):
        op, arg = data[at], data[at + 1] | extended
        if op == opcode.EXTENDED_ARG:
            extended, at = arg << 8, at + 2
            continue
        made = Instruction(op, arg, lines[start // 2], start, None if places is None else places[start // 2])
        at_offset[start] = at_offset[at] = made
        listing.append(made)
        if op in _ABSOLUTE:
            jumps.append((made, arg * JUMP_UNIT))
        elif op in _RELATIVE:
            jumps.append((made, at + 2 + (-arg if op in _BACKWARD else arg) * JUMP_UNIT))
        at += 2 + 2 * _CACHES[op]
        start, extended = at, 0
    for jump, offset in jumps:
        if offset not in at_offset:
            raise CannotRewrite("a jump leads to no instruction")
        jump.target = at_offset[offset]
    return listing, at_offset


def _read_table(code: CodeType, at_offset: Mapping[int, Instruction]) -> List[Protected]:
    if not HAS_TABLES:
        return []
    rows = code_tables.read_exception_table(code.co_exceptiontable)
    return [
        Protected(at_offset[start], at_offset.get(end), at_offset[target], depth, keeps_place)
        for start, end, target, depth, keeps_place in rows
    ]


# Where lines begin.


class _Arrival(NamedTuple):
    """An instruction that begins a line, with what leads there."""

    at: Instruction
    line: int
    by_error: bool
    """Only an exception leads there."""
    skips: bool
    """Nothing begins for what comes from there."""
    jumps: List[Instruction]
    """The jumps for which it begins."""


def _find_arrivals(
    listing: List[Instruction], table: List[Protected], tests: Mapping[int, LineTest]
) -> List[_Arrival]:
    first = _first_traced(listing)
    jumps_to: Dict[int, List[Instruction]] = {}
    for each in listing:
        if each.target is not None and each.op not in _SETUPS:
            jumps_to.setdefault(id(each.target), []).append(each)
    handlers = _find_handlers(listing, table, tests)
    found: List[_Arrival] = []
    for index in range(first, len(listing)):
        each = listing[index]
        before = listing[index - 1] if index > 0 else None
        if before is not None and before.op == _PUSH_ERROR and id(before) in handlers:
            # The line begins where the exception is noted, after which it can be asked for.
            assert before.line is not None
            found.append(_Arrival(each, before.line, handlers[id(before)] == _ASK, False, []))
        if each.line is None or each.line not in tests or each.op == _PUSH_ERROR:
            continue
        starts_run = before is None or before.line != each.line
        follows = before is not None and before.op not in _ENDS
        falls = index == first or (before is not None and follows and _begins(before, each, starts_run))
        if before is not None and before.op == _CALL_FINALLY:
            falls = True  # what that calls comes later, and jumps back to here
        jumps = [jump for jump in jumps_to.get(id(each), ()) if _begins(jump, each, starts_run)]
        how = handlers.get(id(each))
        falls = falls or how == _ALWAYS
        if how == _ASK and (follows or id(each) in jumps_to):
            raise CannotRewrite("what handles an exception is also reached without one")
        if falls or jumps or how == _ASK:
            found.append(_Arrival(each, each.line, how == _ASK, follows and not falls, jumps))
    return found


_ALWAYS, _ASK = "always", "ask"


def _find_handlers(
    listing: List[Instruction], table: List[Protected], tests: Mapping[int, LineTest]
) -> Dict[int, str]:
    """Return the instructions that an exception leads to and where, because of it, a line begins; or may begin."""
    if HAS_TABLES:
        sources: Dict[int, List[Instruction]] = {}
        index_of = {id(each): index for index, each in enumerate(listing)}
        for row in table:
            if row.target.line in tests:
                end = len(listing) if row.end is None else index_of[id(row.end)]
                sources.setdefault(id(row.target), []).extend(listing[index_of[id(row.start)] : end])
        ways = {id(row.target): _way_to_handler(row.target, sources.get(id(row.target), ())) for row in table}
        return {key: way for key, way in ways.items() if way and key in sources}
    targets = {id(each.target) for each in listing if each.op in _SETUPS}
    handlers = [(before, each) for before, each in zip(listing, listing[1:]) if id(each) in targets]
    handlers = [(before, each) for before, each in handlers if each.line in tests]
    if TELLS_STARTS:
        # 3.9 also tells of one that goes on in the middle of a line.
        starting = {id(each): _ALWAYS for before, each in handlers if before.line != each.line}
        return {**{id(each): _ASK for _, each in handlers}, **starting} if TELLS_OF_FAILED else starting
    return {id(each): _ASK for _, each in handlers}


def _way_to_handler(target: Instruction, sources: Iterable[Instruction]) -> str:
    """Tell whether a line begins where exceptions of these instructions lead to; `ask` if the exception decides.

    An instruction that raises again may go back in time: it then counts as the one that raised first."""
    raised_again = [each for each in sources if each.op == _RERAISE]
    lines = {each.line for each in sources if each.op != _RERAISE or not each.arg}
    if not any(each.arg for each in raised_again):
        if lines == {target.line}:
            return ""
        if target.line not in lines:
            return _ALWAYS
    if target.op == _PUSH_ERROR or any(each.arg for each in raised_again):
        return _ASK
    return ""  # the end of a `finally` that failed half way: its last line does not run


def _first_traced(listing: List[Instruction]) -> int:
    """Return the index at which the first line can begin: what comes before only makes the frame ready."""
    if HAS_TABLES:
        return next(index for index, each in enumerate(listing) if each.op == _OPS["RESUME"]) + 1
    return 0


def _begins(before: Instruction, each: Instruction, starts_run: bool) -> bool:
    """Tell whether the interpreter tells of a new line when `each` runs right after `before`."""
    if each.at < before.at:
        return each.op != _SEND
    return starts_run if TELLS_STARTS else before.line != each.line


# Writing.


class _Calls:
    """The tests as constants of the code, with the variables that each of them is given."""

    def __init__(
        self, code: CodeType, tests: Mapping[int, LineTest], arrivals: List[_Arrival], bound: Mapping[int, int]
    ) -> None:
        self.tests, self.consts = tests, list(code.co_consts)
        self.most_arguments = 0
        self._given: Dict[int, Tuple[int, List[int]]] = {}
        self._after_error: Dict[int, int] = {}
        places: Dict[int, List[Instruction]] = {}
        for arrival in arrivals:
            if not arrival.by_error:
                places.setdefault(arrival.line, []).append(arrival.at)
        for line, instructions in places.items():
            known = -1
            for each in instructions:
                known &= bound.get(id(each), 0)
            slots = [code.co_varnames.index(name) for name in tests[line].wanted if name in code.co_varnames]
            names = [code.co_varnames[slot] for slot in slots if known >> slot & 1]
            if len(names) < len(tests[line].wanted):
                names = []
            self._given[line] = self._add(tests[line].bind(names)), slots if names else []
            self.most_arguments = max(self.most_arguments, len(names))

    def _add(self, test: Test) -> int:
        self.consts.append(test)
        return len(self.consts) - 1

    def make_test(self, line: int, by_error: bool) -> List[Instruction]:
        if not by_error:
            const, slots = self._given[line]
        else:
            if line not in self._after_error:
                self._after_error[line] = self._add(self.tests[line].after_error)
            const, slots = self._after_error[line], []
        loads = [("LOAD_FAST", slot) for slot in slots]
        if HAS_TABLES:
            parts = [("PUSH_NULL", 0), ("LOAD_CONST", const), *loads, ("PRECALL", len(slots)), ("CALL", len(slots))]
        else:
            parts = [("LOAD_CONST", const), *loads, ("CALL_FUNCTION", len(slots))]
        made = [Instruction(_OPS[name], arg, line) for name, arg in parts]
        again = Instruction(_AGAIN, 0, line)
        again.target = made[0]
        return [*made, again]


def _put_test(arrival: _Arrival, calls: _Calls) -> None:
    test = calls.make_test(arrival.line, arrival.by_error)
    arrival.at.tests += test
    arrival.at.skips = arrival.skips
    for jump in arrival.jumps:
        jump.target = test[0]


def _find_bound(
    code: CodeType, listing: List[Instruction], table: List[Protected], wanted: Set[str]
) -> Dict[int, int]:
    """Return for each instruction the local variables, as bits by their number, that are bound for sure before it."""
    never = {code.co_varnames[each.arg] for each in listing if each.op == _OPS["DELETE_FAST"]} | set(code.co_cellvars)
    slots = {slot for slot, name in enumerate(code.co_varnames) if name in wanted and name not in never}
    if not slots:
        return {}
    arguments = code.co_argcount + code.co_kwonlyargcount
    arguments += sum(bool(code.co_flags & flag) for flag in (CO_VARARGS, CO_VARKEYWORDS))
    at_start = sum(1 << slot for slot in slots if slot < arguments)
    index_of = {id(each): index for index, each in enumerate(listing)}
    state = [-1] * len(listing)
    entries = [0, *(index_of[id(row.target)] for row in table)]
    entries += [index_of[id(each.target)] for each in listing if each.op in _SETUPS or each.op == _CALL_FINALLY]
    for entry in entries:
        state[entry] = at_start
    pending, seen = entries, set(entries)
    while pending:
        index = pending.pop()
        each, now = listing[index], state[index]
        if each.op == _OPS["STORE_FAST"] and each.arg in slots:
            now |= 1 << each.arg
        following = [] if each.op in _ENDS else [index + 1]
        if each.target is not None and each.op not in _SETUPS:
            following.append(index_of[id(each.target)])
        for other in following:
            joined = state[other] & now
            if other not in seen or joined != state[other]:
                seen.add(other)
                state[other] = joined
                pending.append(other)
    return {id(each): state[index] if index in seen else 0 for index, each in enumerate(listing)}


def _landing(each: Instruction) -> Instruction:
    return each.tests[0] if each.tests else each


def _flatten(listing: List[Instruction]) -> List[Instruction]:
    flat: List[Instruction] = []
    for before, each in zip([listing[0], *listing], listing):
        if each.skips:
            past = Instruction(_OPS["JUMP_FORWARD"], 0, before.line)
            past.target = each
            flat.append(past)
        flat += each.tests
        flat.append(each)
    return flat


def _encode(code: CodeType, listing: List[Instruction], table: List[Protected], calls: _Calls) -> CodeType:
    for each in listing:
        if each.op in _SETUPS and each.target is not None:
            each.target = _landing(each.target)
    flat = _flatten(listing)
    total = _settle_offsets(flat)
    data = bytearray()
    for each in flat:
        for shift in range(8 * (each.width - _CACHES[each.op] - 1), 0, -8):
            data += bytes((opcode.EXTENDED_ARG, each.arg >> shift & 0xFF))
        data += bytes((each.op, each.arg & 0xFF))
        data += bytes(2 * _CACHES[each.op])
    more: Dict[str, Any] = {}
    if HAS_TABLES:
        rows = [
            (_landing(row.start).offset, total if row.end is None else _landing(row.end).offset, *_target_of(row))
            for row in table
        ]
        more["co_exceptiontable"] = code_tables.write_exception_table(rows)
        places = [(each.place, each.width) for each in flat]
        more["co_linetable"] = code_tables.write_positions(code.co_firstlineno, places)
    else:
        runs = _line_runs(flat)
        more[code_tables.LINES_FIELD] = code_tables.write_lines(code.co_firstlineno, runs, total * 2)
    stack = code.co_stacksize + _STACK_NEEDED + calls.most_arguments
    return code.replace(co_code=bytes(data), co_consts=tuple(calls.consts), co_stacksize=stack, **more)


def _target_of(row: Protected) -> Tuple[int, int, int]:
    return _landing(row.target).offset, row.depth, row.keeps_place


def _settle_offsets(flat: List[Instruction]) -> int:
    """Give each instruction its place, counted in units, and each jump its argument; return the length of all."""
    jumps = [each for each in flat if each.target is not None]
    while True:
        offset = 0
        for each in flat:
            each.offset = offset
            offset += each.width
        is_settled = True
        for jump in jumps:
            assert jump.target is not None
            jump.arg = _jump_argument(jump, jump.target)
            width = jump.needed_width()
            if width > jump.width:  # it never shrinks again, so that this ends
                jump.width, is_settled = width, False
        if is_settled:
            return offset


def _jump_argument(jump: Instruction, target: Instruction) -> int:
    after = jump.offset + jump.width
    if jump.op in _ABSOLUTE:
        distance = target.offset
    elif jump.op in _BACKWARD:
        distance = after - target.offset
    else:
        distance = target.offset - after
    if distance < 0:
        raise CannotRewrite("a jump has lost its direction")
    return distance * 2 // JUMP_UNIT


def _line_runs(flat: List[Instruction]) -> Iterable[Tuple[int, Optional[int]]]:
    """Yield where in bytes each run of instructions of one line begins."""
    last: Any = "none yet"
    for each in flat:
        if each.line != last:
            yield each.offset * 2, each.line
            last = each.line
