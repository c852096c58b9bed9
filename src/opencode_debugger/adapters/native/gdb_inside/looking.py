"""Frames, scopes, expressions and assignments."""

from __future__ import annotations

import importlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .containers import TooFar
from .values import (
    LARGE,
    REFERENCES,
    REFERRING,
    Json,
    Member,
    Reference,
    child_name,
    counts,
    failed,
    members,
    printer_of,
    row,
)

gdb: Any = importlib.import_module("gdb")

Place = list[int]
"""thread, level on its stack, and number of the stop"""

PRINT = "print "
NO_OPERATOR = re.compile(r"Couldn't find method|no member named|syntax error")
"""What gdb says of a class without an assignment of its own, and of C."""
CALLED = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?:\.|->|::)\s*\w+)|\b([A-Za-z_]\w*)\s*\(""")
"""A name before a bracket; texts and members are passed over."""
INDEX = re.compile(r"\[(\d+)\]")
LISTED = 1000
"""members that are looked through at once"""
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
EXPANDED = "expands to: "
returned: Any = None
"""What the function gave that was just left."""
evaluating = 0
"""Breakpoints do not stop what an evaluation calls."""


class Evaluating:
    """Calls of the program's functions end in time, and leave no trace where they do not."""

    def __init__(self, seconds: float) -> None:
        self._seconds = max(1, int(seconds + 0.999))
        self._stack = ExitStack()

    def __enter__(self) -> None:
        global evaluating
        evaluating += 1
        for name in ("direct-call-timeout", "indirect-call-timeout"):
            try:
                self._stack.enter_context(gdb.with_parameter(name, self._seconds))
            except Exception:
                continue  # a gdb that does not know it: the relay interrupts it instead

    def __exit__(self, *_: Any) -> None:
        global evaluating
        self._stack.close()
        evaluating -= 1


def only_looks() -> ExitStack:
    """While it is open nothing of the program is called or changed, also by operators of a class."""
    with ExitStack() as stack:
        for name in ("may-call-functions", "may-write-memory", "may-write-registers"):
            stack.enter_context(gdb.with_parameter(name, False))
        return stack.pop_all()


def install() -> None:
    gdb.events.stop.connect(_stopped)
    gdb.events.cont.connect(_gone)


def _stopped(event: Any) -> None:
    global returned
    details = getattr(event, "details", None) or {}
    if "finish-value" in details:
        returned = details["finish-value"]


def _gone(event: Any) -> None:
    global returned
    if not evaluating:
        returned = None


def select(place: Place) -> Any:
    thread, level, stop = place
    REFERENCES.at(stop)
    if gdb.selected_thread() is None or gdb.selected_thread().global_num != thread:
        for inferior in gdb.inferiors():
            for each in inferior.threads():
                if each.global_num == thread:
                    each.switch()
    gdb.execute(f"select-frame {level}", to_string=True)  # from frame to frame in Python takes far longer
    return gdb.selected_frame()


# Scopes.


def _symbols(frame: Any) -> Iterator[Any]:
    """Arguments and locals that are visible: inner ones hide outer ones of the same name."""
    try:
        block = frame.block()
    except RuntimeError:
        return
    found: list[Any] = []
    seen = set()
    while block is not None and not block.is_static and not block.is_global:
        here = []
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.name not in seen:
                seen.add(symbol.name)
                here.append(symbol)
        found = here + found
        if block.function is not None:
            break
        block = block.superblock
    yield from found


def _value(symbol: Any, frame: Any) -> Any:
    return symbol.value(frame) if symbol.needs_frame else symbol.value()


def _locals(frame: Any, arguments: bool | None = None) -> list[tuple[str, Any]]:
    symbols = [symbol for symbol in _symbols(frame) if arguments in (None, bool(symbol.is_argument))]
    symbols.sort(key=lambda symbol: not symbol.is_argument)
    return [(symbol.print_name, symbol) for symbol in symbols]


def _rows(symbols: list[tuple[str, Any]], frame: Any, limit: int) -> list[Json]:
    rows = []
    for name, symbol in symbols:
        try:
            rows.append(row(name, _value(symbol, frame), limit))
        except Exception as error:
            rows.append(failed(name, error))
    return rows


def _globals(frame: Any) -> list[tuple[str, Any]]:
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


def _registers(frame: Any) -> list[Member]:
    found = []
    for register in frame.architecture().registers():
        try:
            found.append((register.name, frame.read_register(register)))
        except Exception:
            continue
    return found


def _held(symbols: list[tuple[str, Any]], frame: Any) -> list[Member]:
    found = []
    for name, symbol in symbols:
        try:
            found.append((name, _value(symbol, frame)))
        except Exception as error:
            found.append((name, f"<error: {error}>"))
    return found


def scopes(place: Place) -> Json:
    frame = select(place)
    found = [("Locals", _held(_locals(frame, False), frame)), ("Arguments", _held(_locals(frame, True), frame))]
    if returned is not None and place[1] == 0:
        found.append(("Return", [("(return)", returned)]))
    found += [("Globals", _held(_globals(frame), frame)), ("Registers", _registers(frame))]
    return {
        "scopes": [
            {"name": name, "variablesReference": REFERENCES.add(Reference(members=held)), "namedVariables": len(held)}
            for name, held in found
            if held or name == "Locals"
        ]
    }


def _page(reference: Reference, start: int, count: int) -> Iterator[Member]:
    if reference.members is not None:
        return iter(reference.members[start : start + count])
    return members(reference.value, start, count, reference.walk)


def children(place: Place, reference: int, start: int, count: int, limit: int) -> Json:
    select(place)
    known = REFERENCES.get(reference)
    if known is None:
        return {"missing": True}
    total, rows = 0, []
    try:
        total = _total(known)
        for name, value in _page(known, start, count):
            rows.append(row(name, value, limit))
    except TooFar as reached:
        return {"too_far": reached.position, "total": total}
    except Exception as error:  # it leads nowhere: that is where it ends
        rows.append(failed(f"[{start + len(rows)}]", error))
        total = start + len(rows)
    return {"total": total, "rows": rows}


def _total(reference: Reference) -> int:
    return len(reference.members) if reference.members is not None else sum(_counted(reference.value))


def _counted(value: Any) -> tuple[int, int]:
    """Of a pointer to a structure, what that has."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR and printer_of(value) is None:
        target = value.dereference()
        if target.type.strip_typedefs().code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return counts(target) if printer_of(target) is None else (1, 0)
    return counts(value)


def report(place: Place, limit: int, names: int, watched: list[str], seconds: float) -> Json:
    """All that a report shows of a frame, in one go."""
    frame = select(place)
    symbols = _locals(frame)
    answer: Json = {"total": len(symbols), "rows": _rows(symbols[:names], frame, limit)}
    if returned is not None and place[1] == 0:
        answer["returned"] = row("(return)", returned, limit)
    if watched:
        answer["watches"] = watch(place, watched, limit, seconds)
    return answer


# Expressions.


def parse(text: str) -> Any:
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


def evaluate(place: Place, expression: str, limit: int, seconds: float) -> Json:
    select(place)
    try:
        with Evaluating(seconds):
            value = parse(expression)
            if value.type.sizeof <= LARGE:
                value.fetch_lazy()  # so that what cannot be read is an error
            return row(expression[:100], value, limit)
    except gdb.error as error:
        return {"error": str(error)}


def look(place: Place, expression: str, limit: int, seconds: float) -> Json:
    """The value of an expression that was found to do no more than look, or what macros make of it."""
    select(place)
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


def watch(place: Place, watched: list[str], limit: int, seconds: float) -> list[Json]:
    deadline = time.monotonic() + seconds
    rows = []
    for expression in watched:
        left = deadline - time.monotonic()
        rows.append(evaluate(place, expression, limit, left) if left > 0 else {"error": "not evaluated: no time left"})
    return rows


def command(place: Place, text: str) -> Json:
    select(place)
    try:
        return {"text": str(gdb.execute(text, from_tty=False, to_string=True))}
    except gdb.error as error:
        return {"error": str(error)}


def names(place: Place) -> list[str]:
    return [name for name, _ in _locals(select(place))]


def complete(place: Place, text: str) -> list[str]:
    """What may stand at the end of an expression, each with all that comes before it."""
    select(place)
    try:
        said = str(gdb.execute(f"complete {PRINT}{text}", to_string=True))
    except gdb.error:
        return []  # nothing that gdb could go on from
    return [line[len(PRINT) :] for line in said.splitlines() if line.startswith(PRINT)]


# Assignments.


def set_variable(place: Place, reference: int, name: str, value: str, limit: int, seconds: float) -> Json:
    select(place)
    known = REFERENCES.get(reference)
    if known is None:
        return {"missing": "reference"}
    try:
        target = _member(known, name)
    except TooFar as reached:
        return {"too_far": reached.position, "total": _total(known)}
    return {"missing": "name"} if target is None else _assign(name, target, value, limit, seconds)


def _member(reference: Reference, name: str) -> Any:
    """Where its name is its place, from there; else among those that were shown last, or among all."""
    place = INDEX.fullmatch(name)
    if place is not None and reference.value is not None and counts(reference.value)[1]:
        return next((value for found, value in _page(reference, int(place[1]), 1) if found == name), None)
    shown = ((child_name(key), value) for key, value in reference.walk.shown)
    found = next((value for each, value in shown if each == name), None)
    if found is not None:
        return found
    for start in range(0, _total(reference), LISTED):
        for each, value in _page(reference, start, LISTED):
            if each == name:
                return value
    return None


def set_expression(place: Place, expression: str, value: str, limit: int, seconds: float) -> Json:
    select(place)
    try:
        target = parse(expression)
    except gdb.error as error:
        return {"error": str(error), "part": "expression"}
    return _assign(expression, target, value, limit, seconds)


def _assign(name: str, target: Any, value: str, limit: int, seconds: float) -> Json:
    before = row(name, target, limit)
    if not isinstance(target, gdb.Value):
        return {"not_set": "it is a bit of a word, which has no address: set it by an expression"}
    try:
        with Evaluating(seconds):
            new = parse(value)
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
    made = row(name, target, limit)
    made.update(old=before["value"], old_type=before["type"], taken=_is_taken(target, new))
    return made


def _assigned_by_class(target: Any, value: Any, seconds: float) -> bool:
    """As the class itself does it: gdb copies bytes, and two strings with one memory are freed twice."""
    if target.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT or target.address is None:
        return False
    gdb.set_convenience_variable("_ocdb", target.address)
    is_there = value.address is not None
    gdb.set_convenience_variable("_ocdb_value", value.address if is_there else value)
    try:
        with Evaluating(seconds):
            parse(f"$_ocdb->operator=({'*' if is_there else ''}$_ocdb_value)")
    except gdb.error as error:
        if NO_OPERATOR.search(str(error)):
            return False
        raise
    return True


def _is_taken(target: Any, new: Any) -> bool:
    try:
        return bool(target == new)
    except gdb.error:
        return True


# Code.


def sources(path: str) -> Json:
    """Whether the program was made from this file."""
    try:
        pattern = re.escape(os.path.basename(path)) + "$"
        listed = gdb.execute_mi("-file-list-exec-source-files", "--basename", "--", pattern)
        found = {os.path.realpath(each.get("fullname") or each["file"]) for each in listed["files"]}
    except Exception:
        return {"known": False}
    return {"known": os.path.realpath(path) in found}


def code_lines(path: str) -> set[int]:
    """Those lines of a file that became code."""
    try:
        return {int(each["line"]) for each in gdb.execute_mi("-symbol-list-lines", path)["lines"]} - {0}
    except Exception:
        return set()


def deeper(thread: int, stop: int, start: int, levels: int) -> list[Json]:
    """Frames of a deep stack as DAP describes them. gdb's own way begins at the newest frame for each page, and takes
    minutes for those of an endless recursion."""
    frame = select([thread, start, stop])
    rows: list[Json] = []
    while frame is not None and len(rows) < levels:
        place = frame.find_sal()
        path = place.symtab.fullname() if place.symtab is not None else None
        made = {"id": start + len(rows), "name": frame.name() or "", "line": place.line, "column": 0}
        made["instructionPointerReference"] = hex(frame.pc())
        rows.append({**made, "source": {"path": path}} if path else made)
        frame = frame.older()
    return rows


def tops() -> Json:
    """Where each thread is."""
    current = gdb.selected_thread()
    rows = []
    for thread in gdb.selected_inferior().threads()[:100]:
        thread.switch()
        frame = gdb.newest_frame()
        place = frame.find_sal()
        path = place.symtab.fullname() if place.symtab is not None else ""
        path = path if os.path.isabs(path) else None
        name = frame.name() or hex(frame.pc())
        rows.append({"thread": thread.global_num, "name": name, "path": path, "line": place.line if path else 0})
    if current is not None and current.is_valid():
        current.switch()
    return {"tops": rows}
