"""Conditions, hit counts and log messages of breakpoints, decided where the program runs.

debugpy evaluates `__import__('_ocdb').hit(N)` as the breakpoint's condition; everything else happens here.
"""

from __future__ import annotations

import itertools
import operator
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Set

from .texts import clip, encodable

CONVERSIONS: Dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
COMPARISONS: Dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, number: hits % number == 0,
}


class Rule:
    """What one breakpoint wants beyond its line."""

    def __init__(self, condition: Optional[str], hit_condition: Optional[str], log: Any, hits: int) -> None:
        self.condition = compile(condition, "<condition>", "eval") if condition else None
        self.log = _compiled(log) if log else None
        self.compare, self.number = _parse(hit_condition)
        self.hits = hits
        self._counter = itertools.count(hits + 1)

    def count(self) -> int:
        self.hits = next(self._counter)  # one step, so that no thread's hit is lost
        return self.hits


def _parse(hit_condition: Optional[str]) -> Any:
    for sign, compare in COMPARISONS.items():
        if hit_condition and hit_condition.startswith(sign):
            return compare, int(hit_condition[len(sign) :])
    return None, 0


rules: Dict[int, Rule] = {}
gone: Set[int] = set()
"""numbers of breakpoints that are no more, at which a thread may just be arriving"""
LONGEST = 10000
"""characters of a log message"""


def define(number: int, condition: Optional[str], hit_condition: Optional[str], log: Any, hits: int) -> None:
    """Again with the same number, it goes on counting."""
    known = rules.get(number)
    gone.discard(number)
    rules[number] = Rule(condition, hit_condition, log, max(hits, known.hits) if known else hits)


def forget(number: int) -> None:
    gone.add(number)
    rules.pop(number, None)


def counts() -> Dict[int, int]:
    return {number: rule.hits for number, rule in rules.items()}


def hit(number: int, scope: Any, send: Callable[[str, Dict[str, Any]], None]) -> bool:
    """Whether the program stops here. `scope` is the frame that debugpy evaluates the condition in."""
    rule = rules.get(number)
    if rule is None:
        return number not in gone
    if rule.condition is not None:
        try:
            if not value(rule.condition, scope):
                return False
        except Exception as error:
            send("condition_error", {"number": number, "error": describe(error)})
            return True
    hits = rule.count()
    if rule.compare is not None and not rule.compare(hits, rule.number):
        return False
    if rule.log is None:
        return True
    send("log", {"number": number, "text": message(rule.log, scope), "hits": hits})
    return False


def _compiled(parts: List[Any]) -> List[Any]:
    """Texts as they are; expressions as (code, conversion, parts of the format)."""
    return [
        part if isinstance(part, str) else (compile("(%s)" % part[0], "<log>", "eval"), part[1], _compiled(part[2]))
        for part in parts
    ]


def value(code: CodeType, scope: Any, more: Optional[Dict[str, Any]] = None) -> Any:
    names = {**scope.f_locals, **more} if more else scope.f_locals
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        # A generator or lambda in the expression sees only globals: so everything is one.
        return eval(code, {**scope.f_globals, **names})
    return eval(code, scope.f_globals, names)


def message(parts: List[Any], scope: Any) -> str:
    text = "".join(part if isinstance(part, str) else _shown(part, scope) for part in parts)
    return encodable(clip(text, LONGEST)[0])


def _shown(part: Any, scope: Any) -> str:
    """An expression that fails leaves the rest of the message whole."""
    code, conversion, format_parts = part
    try:
        shown = value(code, scope)
        shown = CONVERSIONS[conversion](shown) if conversion else shown
        return format(shown, message(format_parts, scope))
    except Exception as error:
        return "<%s>" % describe(error)


def describe(error: Exception) -> str:
    try:
        return "%s: %s" % (type(error).__name__, error)
    except Exception:
        return type(error).__name__
