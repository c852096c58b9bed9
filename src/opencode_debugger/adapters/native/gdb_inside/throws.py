"""Signals, and what C++ throws."""

from __future__ import annotations

import importlib
import re
from typing import Any

from . import looking
from .values import Json, text_of

gdb: Any = importlib.import_module("gdb")

THROW = "__cxa_throw"
WITH_ADDRESS = (4, 7, 8, 11)
"""SIGILL, SIGBUS, SIGFPE, SIGSEGV"""
REGISTERS = {"x86-64": ("rdi", "rsi"), "aarch64": ("x0", "x1")}
PREFIX = "typeinfo for "
WHAT = "((char *(*)(void *)) (*(void ***) {address})[2])((void *) {address})"
"""A call of std::exception::what, by its place among the virtual functions: its class may not be known here."""

_rules: list[Json] = []
_mark: Any = None
_last: Json | None = None


def signal(place: looking.Place) -> Json:
    """The signal that stopped the thread, and the address that it is about."""
    looking.select(place)
    answer: Json = {"number": None, "address": None}
    try:
        info = gdb.parse_and_eval("$_siginfo")
        answer["number"] = int(info["si_signo"])
        if answer["number"] in WITH_ADDRESS:
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
        address, name = _arguments()
        names = _lineage(name)
        numbers = [rule["number"] for rule in _rules if _matches(rule, names)]
        if not numbers:
            return False
        _last = {"address": address, "type": name, "rules": numbers}
        return True


def _arguments() -> tuple[int, str]:
    """Of the call: the object, and the name of its class."""
    frame = gdb.newest_frame()
    architecture = frame.architecture().name()
    names = next((found for key, found in REGISTERS.items() if key in architecture), REGISTERS["x86-64"])
    address, info = (int(frame.read_register(name)) & (2**64 - 1) for name in names)
    return address, _class_of(info)


def _class_of(info: int) -> str:
    said = str(gdb.execute(f"info symbol {info}", to_string=True))
    name = re.split(r" in section|@", said)[0].strip()
    return name[len(PREFIX) :] if name.startswith(PREFIX) else name


def _lineage(name: str) -> list[str]:
    """The class and those that it is derived from, as far as they are known."""
    found: list[str] = []
    waiting = [name]
    while waiting and len(found) < 50:
        each = waiting.pop(0)
        found.append(each)
        try:
            fields = gdb.lookup_type(each).strip_typedefs().fields()
        except Exception:
            continue
        waiting += [str(field.type) for field in fields if field.is_base_class]
    return found


def _matches(rule: Json, names: list[str]) -> bool:
    wanted = rule["exceptions"]
    return not wanted or any(name == each or name.endswith("::" + each) for name in names for each in wanted)


def define(rules: list[Json]) -> Json:
    """Those that want to hear of exceptions when they are thrown."""
    global _mark, _rules
    _rules = rules
    if rules and _mark is None:
        _mark = Throw(function=THROW)
    elif not rules and _mark is not None:
        _mark.delete()
        _mark = None
    return {"id": _mark.number if _mark is not None else None}


def thrown(place: looking.Place) -> Json:
    """The exception that is being thrown, in words."""
    looking.select(place)
    if _last is None:
        return {}
    return dict(_last, message=_what(_last["address"], _last["type"]))


def _what(address: int, name: str) -> str:
    """What it says of itself, if it is one of the standard library's kind; else its value."""
    try:
        if any(each.startswith("std::") for each in _lineage(name)):
            with looking.Evaluating(1):
                said = gdb.parse_and_eval(WHAT.format(address=address))
                return str(said.string(errors="replace"))
        return text_of(gdb.Value(address).cast(gdb.lookup_type(name).pointer()).dereference())
    except Exception:
        return ""
