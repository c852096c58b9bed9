"""Frames, scopes, expressions and assignments."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import gdb

from .containers import TooFar
from .values import LARGE, REFERENCES, REFERRING, Reference, count_contents, failed_row, named_member, value_row

if TYPE_CHECKING:
    from ....rows import FrameRow, SourceRow
    from ...native_memory import DapInstruction
    from .row_types import AssignedRow, Member, Place, RowPage, ScopeRow, ValueRow

PRINT = "print "
NO_OPERATOR = re.compile(r"Couldn't find method|no member named|syntax error")
"""What gdb says of a class without an assignment of its own, and of C."""
CALLED = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?:\.|->|::)\s*\w+)|\b([A-Za-z_]\w*)\s*\(""")
"""A name before a bracket; texts and members are passed over."""
INDEX = re.compile(r"\[(\d+)\]")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
EXPANDED = "expands to: "
returned: Any = None
"""What the function gave that was just left."""
evaluating = 0
"""Breakpoints do not stop what an evaluation calls."""


@contextmanager
def evaluation(seconds: float) -> Iterator[None]:
    """Calls of the program's functions end in time, and leave no trace where they do not."""
    global evaluating
    evaluating += 1
    try:
        with ExitStack() as stack:
            for name in ("direct-call-timeout", "indirect-call-timeout"):
                with suppress(Exception):  # a gdb that does not know it: the relay interrupts it instead
                    stack.enter_context(gdb.with_parameter(name, max(1, int(seconds + 0.999))))
            yield
    finally:
        evaluating -= 1


@contextmanager
def only_looks() -> Iterator[None]:
    """While it is open nothing of the program is called or changed, also by operators of a class."""
    with ExitStack() as stack:
        for name in ("may-call-functions", "may-write-memory", "may-write-registers"):
            stack.enter_context(gdb.with_parameter(name, False))
        yield


def install() -> None:
    gdb.events.stop.connect(_on_stopped)
    gdb.events.cont.connect(_on_gone)


def _on_stopped(event: Any) -> None:
    global returned
    details = getattr(event, "details", None) or {}
    if "finish-value" in details:
        returned = details["finish-value"]


def _on_gone(event: Any) -> None:
    global returned
    if not evaluating:
        returned = None


def select_place(place: Place) -> Any:
    thread, level, stop = place
    REFERENCES.at(stop)
    if gdb.selected_thread() is None or gdb.selected_thread().global_num != thread:
        for each in [each for inferior in gdb.inferiors() for each in inferior.threads()]:
            if each.global_num == thread:
                each.switch()
    gdb.execute(f"select-frame {level}", to_string=True)  # from frame to frame in Python takes far longer
    return gdb.selected_frame()


# Scopes.


def _local_symbols(frame: Any, arguments: bool | None = None) -> list[Member]:
    """Arguments, then locals that are visible: inner ones hide outer ones of the same name."""
    try:
        block = frame.block()
    except RuntimeError:
        return []
    found: dict[str, Any] = {}
    while block is not None and not block.is_static and not block.is_global:
        here: dict[str, Any] = {}
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.name not in found:
                here.setdefault(symbol.name, symbol)
        found = {**here, **found}
        if block.function is not None:
            break
        block = block.superblock
    symbols = sorted(found.values(), key=lambda symbol: not symbol.is_argument)
    return [(symbol.print_name, symbol) for symbol in symbols if arguments in (None, bool(symbol.is_argument))]


def _symbol_value(symbol: Any, frame: Any) -> Any:
    return symbol.value(frame) if symbol.needs_frame else symbol.value()


def _global_symbols(frame: Any) -> list[Member]:
    try:
        block = frame.block().static_block
    except RuntimeError:
        return []
    found: dict[str, Any] = {}
    while block is not None:
        for symbol in block:
            if symbol.is_variable and not symbol.is_artificial:
                found.setdefault(symbol.print_name, symbol)
        block = block.superblock
    return sorted(found.items())


def _symbol_members(symbols: list[Member], frame: Any) -> list[Member]:
    return [named_member(name, _symbol_value, symbol, frame) for name, symbol in symbols]


def scopes(place: Place) -> list[ScopeRow]:
    frame = select_place(place)
    registers = []
    for register in frame.architecture().registers():
        with suppress(Exception):
            registers.append((register.name, frame.read_register(register)))
    found = {
        "Locals": _symbol_members(_local_symbols(frame, False), frame),
        "Arguments": _symbol_members(_local_symbols(frame, True), frame),
        "Return": [("(return)", returned)] if returned is not None and place[1] == 0 else [],
        "Globals": _symbol_members(_global_symbols(frame), frame),
        "Registers": registers,
    }
    return [
        {"name": name, "variablesReference": REFERENCES.add(Reference(members=held)), "namedVariables": len(held)}
        for name, held in found.items()
        if held or name == "Locals"
    ]


def children(place: Place, reference: int, start: int, count: int, limit: int) -> RowPage:
    select_place(place)
    known = REFERENCES.known.get(reference)
    if known is None:
        return {"missing": True}
    total, rows = 0, []
    try:
        total = known.count()
        for name, value in known.page(start, count):
            rows.append(value_row(name, value, limit))
    except TooFar as reached:
        return {"too_far": reached.position, "total": total}
    except Exception as error:  # it leads nowhere: that is where it ends
        rows.append(failed_row(f"[{start + len(rows)}]", error))
        total = start + len(rows)
    return {"total": total, "rows": rows}


def report(place: Place, limit: int, names: int, watched: list[str], seconds: float) -> RowPage:
    """All that a report shows of a frame, in one go."""
    frame = select_place(place)
    symbols = _local_symbols(frame)
    answer: RowPage = {"total": len(symbols), "rows": []}
    for name, symbol in symbols[:names]:
        try:
            answer["rows"].append(value_row(name, _symbol_value(symbol, frame), limit))
        except Exception as error:
            answer["rows"].append(failed_row(name, error))
    if returned is not None and place[1] == 0:
        answer["returned"] = value_row("(return)", returned, limit)
    if watched:
        answer["watches"] = watch(place, watched, limit, seconds)
    return answer


# Expressions.


def parse_text(text: str) -> Any:
    """The value of an expression. gdb crashes when an object is called whose operator has no code, as a lambda's."""
    return gdb.parse_and_eval(CALLED.sub(_by_operator, text))


def _by_operator(found: Any) -> str:
    symbol = gdb.lookup_symbol(found[1])[0] if found[1] else None
    if symbol is None or not (symbol.is_variable or symbol.is_argument):
        return str(found[0])
    kind = symbol.type.strip_typedefs()
    if kind.code in REFERRING:
        kind = kind.target().strip_typedefs()
    return f"{found[1]}.operator()(" if kind.code == gdb.TYPE_CODE_STRUCT else str(found[0])


def evaluate(place: Place, expression: str, limit: int, seconds: float) -> ValueRow:
    select_place(place)
    try:
        with evaluation(seconds):
            value = parse_text(expression)
            if value.type.sizeof <= LARGE:
                value.fetch_lazy()  # so that what cannot be read is an error
            return value_row(expression[:100], value, limit)
    except gdb.error as error:
        return {"error": str(error)}


def look(place: Place, expression: str, limit: int, seconds: float) -> ValueRow:
    """The value of an expression that was found to do no more than look, or what macros make of it."""
    select_place(place)
    said = str(gdb.execute(f"macro expand {expression}", to_string=True))
    expanded = said.partition(EXPANDED)[2].strip()  # nothing where no macros are known
    if expanded and "".join(expanded.split()) != "".join(expression.split()):
        return {"expanded": expanded}
    with _without_macros(expression):
        return evaluate(place, expression, limit, seconds)


@contextmanager
def _without_macros(expression: str) -> Iterator[None]:
    """Words stand for themselves: where gdb evaluates, there may be other macros than where it expands."""
    words = sorted(set(WORD.findall(expression)))
    defined = str(gdb.execute("macro list", to_string=True)).splitlines()
    try:
        for word in words:
            gdb.execute(f"macro define {word} {word}", to_string=True)
        yield
    finally:
        for word in words:
            gdb.execute(f"macro undef {word}", to_string=True)
        for line in defined:  # each is the command that defined it
            gdb.execute(line, to_string=True)


def watch(place: Place, watched: list[str], limit: int, seconds: float) -> list[ValueRow]:
    deadline = time.monotonic() + seconds
    rows: list[ValueRow] = []
    for expression in watched:
        left = deadline - time.monotonic()
        rows.append(evaluate(place, expression, limit, left) if left > 0 else {"error": "not evaluated: no time left"})
    return rows


def command(place: Place, text: str) -> ValueRow:
    select_place(place)
    try:
        return {"value": str(gdb.execute(text, from_tty=False, to_string=True))}
    except gdb.error as error:
        return {"error": str(error)}


def names(place: Place) -> list[str]:
    return [name for name, _ in _local_symbols(select_place(place))]


def complete(place: Place, text: str) -> list[str]:
    """Return what may stand at the end of an expression, each with all that comes before it."""
    select_place(place)
    try:
        said = str(gdb.execute(f"complete {PRINT}{text}", to_string=True))
    except gdb.error:
        return []  # nothing that gdb could go on from
    return [line[len(PRINT) :] for line in said.splitlines() if line.startswith(PRINT)]


# Assignments.


def set_variable(place: Place, reference: int, name: str, value: str, limit: int, seconds: float) -> AssignedRow:
    """Set a member, which is found by its place if that is its name; else among those shown last, or among all."""
    select_place(place)
    known, index = REFERENCES.known.get(reference), INDEX.fullmatch(name)
    if known is None:
        return {"missing": "reference"}
    try:
        if index is not None and known.value is not None and count_contents(known.value)[1]:
            candidates = known.page(int(index[1]), 1)
        else:
            candidates = known.all_members()
        target = next((member for found, member in candidates if found == name), None)
    except TooFar as reached:
        return {"too_far": reached.position, "total": known.count()}
    return {"missing": "name"} if target is None else _assign_value(name, target, value, limit, seconds)


def set_expression(place: Place, expression: str, value: str, limit: int, seconds: float) -> AssignedRow:
    select_place(place)
    try:
        target = parse_text(expression)
    except gdb.error as error:
        return {"error": str(error), "part": "expression"}
    return _assign_value(expression, target, value, limit, seconds)


def _assign_value(name: str, target: Any, value: str, limit: int, seconds: float) -> AssignedRow:
    before = value_row(name, target, limit)
    if not isinstance(target, gdb.Value):
        return {"not_set": "it is a bit of a word, which has no address: set it by an expression"}
    try:
        with evaluation(seconds):
            new = parse_text(value)
    except gdb.error as error:
        return {"error": str(error), "part": "value"}
    try:
        if _assigned_by_class(target, new, seconds):
            target = target.address.dereference()  # what is there now
        elif hasattr(target, "assign"):
            target.assign(new)
        elif target.address is not None:
            gdb.set_convenience_variable("_ocdb", new)
            gdb.execute(f"set var *({target.type} *) {int(target.address)} = $_ocdb", to_string=True)
        else:
            return {"not_set": "this gdb can set only what is in memory"}
    except gdb.error as error:
        return {"not_set": str(error)}
    more: AssignedRow = {"old": before["value"], "old_type": before["type"], "taken": True}
    with suppress(gdb.error):
        more["taken"] = bool(target == new)
    return {**more, **value_row(name, target, limit)}


def _assigned_by_class(target: Any, value: Any, seconds: float) -> bool:
    """Assign as the class itself does it: gdb copies bytes, and two strings with one memory are freed twice."""
    if target.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT or target.address is None:
        return False
    gdb.set_convenience_variable("_ocdb", target.address)
    is_there = value.address is not None
    gdb.set_convenience_variable("_ocdb_value", value.address if is_there else value)
    try:
        with evaluation(seconds):
            parse_text(f"$_ocdb->operator=({'*' if is_there else ''}$_ocdb_value)")
    except gdb.error as error:
        if NO_OPERATOR.search(str(error)):
            return False
        raise
    return True


# Code.


def path_of(place: Any) -> str:
    """Return the file of a place in the program; nothing where that is not known."""
    return str(place.symtab.fullname()) if place.symtab is not None else ""


def sources(path: str) -> bool:
    """Say if the program was made from this file."""
    with suppress(Exception):
        pattern = re.escape(os.path.basename(path)) + "$"
        listed = gdb.execute_mi("-file-list-exec-source-files", "--basename", "--", pattern)
        found = {os.path.realpath(each.get("fullname") or each["file"]) for each in listed["files"]}
        return os.path.realpath(path) in found
    return False


def deeper(thread: int, stop: int, start: int, levels: int) -> list[FrameRow]:
    """Frames of a deep stack as DAP describes them. gdb's own way begins at the newest frame for each page, and takes
    minutes for those of an endless recursion."""
    frame = select_place([thread, start, stop])
    rows: list[FrameRow] = []
    while frame is not None and len(rows) < levels:
        place = frame.find_sal()
        made: FrameRow = {"id": start + len(rows), "name": frame.name() or "", "line": place.line, "column": 0}
        made["instructionPointerReference"] = hex(frame.pc())
        if path := path_of(place):
            made["source"] = {"path": path}
        rows.append(made)
        frame = frame.older()
    return rows


def tops() -> list[FrameRow]:
    """Return where each thread is, by its number."""
    current = gdb.selected_thread()
    rows: list[FrameRow] = []
    for thread in gdb.selected_inferior().threads()[:100]:
        thread.switch()
        frame = gdb.newest_frame()
        place = frame.find_sal()
        path = path_of(place) if os.path.isabs(path_of(place)) else None
        name = frame.name() or hex(frame.pc())
        source: SourceRow | None = {"path": path} if path else None
        line = place.line if path else 0
        rows.append({"id": thread.global_num, "name": name, "line": line, "column": 1, "source": source})
    if current is not None and current.is_valid():
        current.switch()
    return rows


def instructions(address: int, count: int) -> list[DapInstruction]:
    """Describe them as DAP does, as far as there is memory to read; each knows its function."""
    rows: list[DapInstruction] = []
    inferior = gdb.selected_inferior()
    while len(rows) < count:
        try:
            (found,) = inferior.architecture().disassemble(address, count=1)
            data = bytes(inferior.read_memory(address, found["length"])).hex()
        except gdb.MemoryError:
            break
        made: DapInstruction = {"address": hex(address), "instruction": found["asm"], "instructionBytes": data}
        said = str(gdb.execute(f"info symbol {address}", to_string=True))
        symbol = re.split(r" \+ \d+ in section| in section", said)[0].strip()
        made["symbol"] = None if symbol.startswith("No symbol matches") else symbol
        place = gdb.find_pc_line(address)
        path = path_of(place)
        if place.line and os.path.isabs(path):
            made["location"], made["line"] = {"path": path}, place.line
        rows.append(made)
        address += found["length"]
    return rows
