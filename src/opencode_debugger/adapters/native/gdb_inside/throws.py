"""Signals, what C++ throws, and panics of Rust."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

from . import looking
from .marks import tell
from .values import Json, text_of

gdb: Any = importlib.import_module("gdb")

THROW = "__cxa_throw"
PANIC, PANICS = "panic", ("__rustc::rust_panic", "rust_panic")
"""Where panics begin to unwind, as newer and older versions of rustc name it."""
AGAIN = "RewrapBox"
"""The payload of a panic that goes on after it was caught."""
METHODS = (3, 4, 5)
"""Where a table of methods has those that name its payload: behind its destructor, size and alignment."""
STANDARD = "/lib/rustlib/src/rust/"
"""A folder of the standard library's sources, where they are installed."""
MOST_FRAMES = 50
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
_last: Json | None = None


def signal(place: looking.Place) -> Json:
    """The signal that stopped the thread, and the address that it is about."""
    looking.select(place)
    answer: Json = {"number": None, "address": None}
    try:
        info = gdb.parse_and_eval("$_siginfo")
        answer["number"] = int(info["si_signo"])
        code = int(info["si_code"])
        if answer["number"] not in WITH_ADDRESS or code <= 0:
            return answer
        if code == FROM_THE_KERNEL:
            answer["address"] = ""
        else:
            answer["address"] = hex(int(info["_sifields"]["_sigfault"]["si_addr"]))
    except Exception:
        return answer
    return answer


class Throw(gdb.Breakpoint):  # type: ignore[misc]
    """Where C++ throws: stops if one of the rules wants this class."""

    def stop(self) -> bool:
        global _last
        if looking.evaluating:
            return False
        try:
            address, info = _arguments()
            names = _lineage(info)
        except Exception:
            return False  # something that does not look like a throw
        thrower = gdb.newest_frame().older()
        numbers = [rule["number"] for rule in _rules if _matches(rule, names) and _is_met(rule, thrower)]
        if not numbers:
            return False
        _last = {"address": address, "type": names[0], "lineage": names, "rules": numbers}
        return True


class Panic(gdb.Breakpoint):  # type: ignore[misc]
    """Where Rust panics: stops if one of the rules wants it."""

    def stop(self) -> bool:
        global _last
        if looking.evaluating:
            return False
        payload, methods = _payload()
        if any(AGAIN in method for method in methods):
            return False
        numbers = [rule["number"] for rule in _panic_rules if _is_met(rule, _panicking())]
        if not numbers:
            return False
        _last = {"type": PANIC, "payload": payload, "methods": methods, "rules": numbers}
        return True


def _payload() -> tuple[int, list[str]]:
    """What the panic is about, and the names of its methods."""
    try:
        payload, table = _arguments()
        return payload, [_symbol(_number(table + 8 * place, 8), "") for place in METHODS]
    except Exception:
        return 0, []


def _panicking() -> Any:
    """The frame of the program's own code."""
    here = frame = gdb.newest_frame()
    for _ in range(MOST_FRAMES):
        frame = frame.older()
        if frame is None:
            break
        symtab = frame.find_sal().symtab
        path = symtab.fullname() if symtab is not None else ""
        if STANDARD not in path and os.path.isfile(path):
            return frame
    return here


def _arguments() -> list[int]:
    """Of the call: the object, and what describes its class."""
    frame = gdb.newest_frame()
    architecture = frame.architecture().name()
    names = next((found for key, found in REGISTERS.items() if key in architecture), REGISTERS["x86-64"])
    return [int(frame.read_register(name)) & (2**64 - 1) for name in names]


def _lineage(info: int) -> list[str]:
    """The class and those that it is derived from, the nearest first: the program itself keeps track of that."""
    found: list[str] = []
    waiting = [info]
    while waiting and len(found) < 50:
        each = waiting.pop(0)
        found.append(_symbol(each, "typeinfo for "))
        waiting += _bases(each)
    return found


def _symbol(address: int, prefix: str) -> str:
    said = str(gdb.execute(f"info symbol {address}", to_string=True))
    name = re.split(r" in section|@", said)[0].strip()
    return name[len(prefix) :] if name.startswith(prefix) else name


def _bases(info: int) -> list[int]:
    """By the layout of type descriptions that all compilers share: one base, or a list of them."""
    word = gdb.lookup_type("char").pointer().sizeof
    kind = _symbol(_number(info, word), "vtable for __cxxabiv1::")
    if kind.startswith("__si_class_type_info"):
        return [_number(info + 2 * word, word)]
    if kind.startswith("__vmi_class_type_info"):
        count = min(50, _number(info + 2 * word + 4, 4))
        return [_number(info + 2 * word + 8 + 2 * word * index, word) for index in range(count)]
    return []


def _number(address: int, size: int) -> int:
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, size)), "little")


def _matches(rule: Json, names: list[str]) -> bool:
    wanted = [each.replace(".", "::") for each in rule["exceptions"]]
    return not wanted or any(name == each or name.endswith("::" + each) for name in names for each in wanted)


def _is_met(rule: Json, thrower: Any) -> bool:
    """Its condition, in the function that throws."""
    if not rule.get("condition"):
        return True
    here = gdb.newest_frame()
    try:
        thrower.select()
        return bool(looking.parse(rule["condition"]))
    except Exception as error:
        tell("condition_error", number=rule["number"], error=str(error), of_exception=True)
        return True
    finally:
        here.select()


def define(rules: list[Json], panics: list[Json]) -> Json:
    """Those that want to hear of exceptions when they are thrown, and of panics."""
    global _mark, _rules, _panic_rules
    _rules, _panic_rules = rules, panics
    if rules and _mark is None:
        _mark = Throw(function=THROW)
    elif not rules and _mark is not None:
        _mark.delete()
        _mark = None
    if panics and not _panic_marks:
        _panic_marks.extend(Panic(function=name, qualified=True) for name in PANICS)
    while _panic_marks and not panics:
        _panic_marks.pop().delete()
    return {"id": _mark.number if _mark is not None else None, "panics": [mark.number for mark in _panic_marks]}


def thrown(place: looking.Place) -> Json:
    """The exception that is being thrown, or the panic. The former is asked for words once, by the first who may."""
    looking.select(place)
    if _last is None:
        return {}
    if "address" in _last and not _last.get("message"):
        _last["message"] = _what(_last["address"], _last["lineage"])
    return dict(_last)


def _what(address: int, lineage: list[str]) -> str:
    """What it says of itself, if it is one of the standard library's kind; else its value."""
    try:
        if "std::exception" in lineage:
            with looking.Evaluating(1):
                said = gdb.parse_and_eval(WHAT.format(address=address))
                return str(said.string(errors="replace"))
        return text_of(gdb.Value(address).cast(gdb.lookup_type(lineage[0]).pointer()).dereference())
    except Exception:
        return ""
