"""Signals, what C++ throws, and panics of Rust."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

import gdb

from . import frames_and_scopes
from .gdb_breakpoints import tell_relay
from .values import text_of

if TYPE_CHECKING:
    from .row_types import Json, Place, ThrownRow

PANIC, PANICS = "panic", ("__rustc::rust_panic", "rust_panic")
"""Where panics begin to unwind, as newer and older versions of rustc name it."""
AGAIN = "RewrapBox"
"""The payload of a panic that goes on after it was caught."""
METHODS = (3, 4, 5)
"""Where a table of methods has those that name its payload: behind its destructor, size and alignment."""
STANDARD = "/lib/rustlib/src/rust/"
"""A folder of the standard library's sources, where they are installed."""
MOST_FRAMES = 50
MOST_CLASSES = 50
WITH_ADDRESS = (4, 7, 8, 11)
"""SIGILL, SIGBUS, SIGFPE, SIGSEGV"""
FROM_THE_KERNEL = 0x80
"""What the processor refuses before it looks for memory."""
REGISTERS = {"x86-64": ("rdi", "rsi"), "aarch64": ("x0", "x1")}
WHAT = "((char *(*)(void *)) (*(void ***) {address})[2])((void *) {address})"
"""A call of std::exception::what, by its place among the virtual functions: its class may not be known here."""

_rules: list[Json] = []
_mark: Any = None
_panic_rules: list[Json] = []
_panic_marks: list[Any] = []
_last: ThrownRow = {}


def signal(place: Place) -> tuple[int | None, str | None]:
    """The signal that stopped the thread, and the address that it is about."""
    frames_and_scopes.select_place(place)
    number = None
    with contextlib.suppress(Exception):  # as far as the system tells it
        info = gdb.parse_and_eval("$_siginfo")
        number = int(info["si_signo"])
        code = int(info["si_code"])
        if number in WITH_ADDRESS and code > 0:
            return number, "" if code == FROM_THE_KERNEL else hex(int(info["_sifields"]["_sigfault"]["si_addr"]))
    return number, None


class Throw(gdb.Breakpoint):  # type: ignore[misc]
    """Stops where C++ throws, if one of the rules wants this class."""

    def stop(self) -> bool:
        if frames_and_scopes.evaluating:
            return False
        try:
            address, info = _call_arguments()
            names = _class_lineage(info)
        except Exception:
            return False  # something that does not look like a throw
        wanting = [rule for rule in _rules if _matches_rule(rule, names)]
        thrown_there: ThrownRow = {"address": address, "type": names[0], "lineage": names}
        return _stops_for(wanting, gdb.newest_frame().older(), thrown_there)


class Panic(gdb.Breakpoint):  # type: ignore[misc]
    """Stops where Rust panics, if one of the rules wants it."""

    def stop(self) -> bool:
        if frames_and_scopes.evaluating:
            return False
        try:
            payload, table = _call_arguments()
            methods = [_symbol_name(_read_number(table + 8 * place, 8), "") for place in METHODS]
        except Exception:
            payload, methods = 0, []
        if any(AGAIN in method for method in methods):
            return False
        return _stops_for(_panic_rules, _panicking_frame(), {"type": PANIC, "payload": payload, "methods": methods})


def _stops_for(rules: list[Json], thrower: Any, about: ThrownRow) -> bool:
    """Say if the conditions of any of these rules are met, in the function that throws; then it is remembered."""
    global _last
    numbers = [rule["number"] for rule in rules if not rule.get("condition") or _is_met(rule, thrower)]
    if numbers:
        _last = {**about, "rules": numbers}
    return bool(numbers)


def _is_met(rule: Json, thrower: Any) -> bool:
    here = gdb.newest_frame()
    try:
        thrower.select()
        return bool(frames_and_scopes.parse_text(rule["condition"]))
    except Exception as error:
        tell_relay("condition_error", number=rule["number"], error=str(error), of_exception=True)
        return True
    finally:
        here.select()


def _panicking_frame() -> Any:
    """The frame of the program's own code."""
    here = frame = gdb.newest_frame()
    for _ in range(MOST_FRAMES):
        frame = frame.older()
        if frame is None:
            break
        path = frames_and_scopes.path_of(frame.find_sal())
        if STANDARD not in path and os.path.isfile(path):
            return frame
    return here


def _call_arguments() -> list[int]:
    """Return the arguments of the call: the object, and what describes its class."""
    frame = gdb.newest_frame()
    architecture = frame.architecture().name()
    names = next((found for key, found in REGISTERS.items() if key in architecture), REGISTERS["x86-64"])
    return [int(frame.read_register(name)) & (2**64 - 1) for name in names]


def _class_lineage(info: int) -> list[str]:
    """The class and those that it is derived from, the nearest first: the program itself keeps track of that."""
    found: list[str] = []
    waiting = [info]
    while waiting and len(found) < MOST_CLASSES:
        each = waiting.pop(0)
        found.append(_symbol_name(each, "typeinfo for "))
        waiting += _base_classes(each)
    return found


def _symbol_name(address: int, prefix: str) -> str:
    said = str(gdb.execute(f"info symbol {address}", to_string=True))
    name = re.split(r" in section|@", said)[0].strip()
    return name[len(prefix) :] if name.startswith(prefix) else name


def _base_classes(info: int) -> list[int]:
    """By the layout of type descriptions that all compilers share: one base, or a list of them."""
    word = gdb.lookup_type("char").pointer().sizeof
    kind = _symbol_name(_read_number(info, word), "vtable for __cxxabiv1::")
    if kind.startswith("__si_class_type_info"):
        return [_read_number(info + 2 * word, word)]
    if kind.startswith("__vmi_class_type_info"):
        count = min(MOST_CLASSES, _read_number(info + 2 * word + 4, 4))
        return [_read_number(info + 2 * word + 8 + 2 * word * index, word) for index in range(count)]
    return []


def _read_number(address: int, size: int) -> int:
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, size)), "little")


def _matches_rule(rule: Json, names: list[str]) -> bool:
    wanted = [each.replace(".", "::") for each in rule["exceptions"]]
    return not wanted or any(name == each or name.endswith("::" + each) for name in names for each in wanted)


def set_rules(rules: list[Json], panics: list[Json]) -> tuple[int | None, list[int]]:
    """Set the rules that want to hear of exceptions when they are thrown, and of panics; return the numbers of the
    breakpoints."""
    global _mark, _rules, _panic_rules
    _rules, _panic_rules = rules, panics
    if rules and _mark is None:
        _mark = Throw(function="__cxa_throw")
    elif not rules and _mark is not None:
        _mark.delete()
        _mark = None
    if panics and not _panic_marks:
        _panic_marks.extend(Panic(function=name, qualified=True) for name in PANICS)
    while _panic_marks and not panics:
        _panic_marks.pop().delete()
    return _mark.number if _mark is not None else None, [mark.number for mark in _panic_marks]


def thrown(place: Place) -> ThrownRow:
    """The exception that is being thrown, or the panic. The former is asked for words once, by the first who may."""
    frames_and_scopes.select_place(place)
    if "address" in _last and not _last.get("message"):
        _last["message"] = _message_of(_last["address"], _last["lineage"])
    return _last


def _message_of(address: int, lineage: list[str]) -> str:
    """Return what it says of itself, if it is one of the standard library's kind; else its value."""
    try:
        if "std::exception" in lineage:
            with frames_and_scopes.evaluation(1):
                return str(gdb.parse_and_eval(WHAT.format(address=address)).string(errors="replace"))
        return text_of(gdb.Value(address).cast(gdb.lookup_type(lineage[0]).pointer()).dereference())
    except Exception:
        return ""
