"""Decides conditions, hit counts and log messages of breakpoints where the program runs.

debugpy evaluates `__import__('_ocdb').hit(N)` as the breakpoint's condition; everything else happens here.
"""

from __future__ import annotations

import itertools
import operator
from types import CodeType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

from ..rpc.event_sending import Send
from ..values.atom_texts import clip, encodable

CONVERSIONS: Dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
COMPARISONS: Dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, number: hits % number == 0,
}


class HitRule:
    """The condition, hit condition and log message of one breakpoint."""

    def __init__(self, condition: Optional[str], hit_condition: Optional[str], log: Any, hits: int) -> None:
        self.definition = (condition, hit_condition, log)
        self.condition_text = condition
        self.condition = compile(condition, "<condition>", "eval") if condition else None
        self.log = _compile_log(log) if log else None
        sign = next((each for each in COMPARISONS if hit_condition and hit_condition.startswith(each)), "")
        self.compare = COMPARISONS.get(sign)
        self.number = int(hit_condition[len(sign) :]) if hit_condition and sign else 0
        self.count_from(itertools.count(hits + 1))

    def count_from(self, numbers: Iterator[int]) -> None:
        self.numbers = numbers
        self.next_number = numbers.__next__
        """Counts in one step, so that no thread's hit is lost."""

    @property
    def hits(self) -> int:
        """How many there were: the counter shows its next number, which no thread can have overtaken."""
        return int(repr(self.numbers)[len("count(") : -1]) - 1


rules: Dict[int, HitRule] = {}
gone_numbers: Set[int] = set()
"""Numbers of removed breakpoints, at which a thread may just be arriving."""
LONGEST_MESSAGE = 10000
"""characters of a log message"""


def define_rule(number: int, condition: Optional[str], hit_condition: Optional[str], log: Any, hits: int) -> None:
    """Define a breakpoint's rule; defined again under the same number, it goes on counting."""
    known = rules.get(number)
    gone_numbers.discard(number)
    if known is None or known.hits < hits:
        rules[number] = HitRule(condition, hit_condition, log, hits)
    elif known.definition != (condition, hit_condition, log):
        rule = HitRule(condition, hit_condition, log, known.hits)
        rule.count_from(known.numbers)  # threads may still arrive by the known one: none of their hits is lost
        rules[number] = rule


def forget_rule(number: int) -> None:
    gone_numbers.add(number)
    rules.pop(number, None)


def forget_rules() -> None:
    """Forget those of an earlier session, which had numbers of its own."""
    for number in list(rules):
        forget_rule(number)
    gone_numbers.clear()


def hit_counts() -> Dict[int, int]:
    return {number: rule.hits for number, rule in rules.items()}


def decide_hit(number: int, scope: Any, send: Send) -> bool:
    """Tell whether the program stops here. `scope` is the frame that debugpy evaluates the condition in."""
    rule = rules.get(number)
    if rule is None:
        return number not in gone_numbers
    if rule.condition is not None:
        try:
            if not evaluate_in_scope(rule.condition, scope):
                return False
        except Exception as error:
            report_failure(number, error, send)
            return True
    return count_hit(rule, number, scope, send)


def report_failure(number: int, error: Exception, send: Send) -> None:
    """Tell the relay of a condition that failed: the program stops there."""
    send("condition_error", {"number": number, "error": error_text(error)})


def count_hit(rule: HitRule, number: int, scope: Any, send: Send) -> bool:
    """Count an arrival at which the condition holds, send the log message, and tell whether the program stops."""
    hits = rule.next_number()
    if rule.compare is not None and not rule.compare(hits, rule.number):
        return False
    return finish_hit(rule, number, hits, scope, send)


def finish_hit(rule: HitRule, number: int, hits: int, scope: Any, send: Send) -> bool:
    """Send the log message of a hit that counts, or tell that the program stops if there is none."""
    if rule.log is None:
        return True
    send("log", {"number": number, "text": log_message(rule.log, scope), "hits": hits})
    return False


def _compile_log(parts: List[Any]) -> List[Any]:
    """Return texts as they are, and expressions as (code, conversion, parts of the format)."""
    return [
        part if isinstance(part, str) else (compile("(%s)" % part[0], "<log>", "eval"), part[1], _compile_log(part[2]))
        for part in parts
    ]


def evaluate_in_scope(code: CodeType, scope: Any, more: Optional[Dict[str, Any]] = None) -> object:
    names = {**scope.f_locals, **more} if more else scope.f_locals
    if CodeType in map(type, code.co_consts):
        # A generator or lambda in the expression sees only globals: so everything is one.
        return eval(code, {**scope.f_globals, **names})
    return eval(code, scope.f_globals, names)


def log_message(parts: List[Any], scope: Any) -> str:
    text = "".join([part if type(part) is str else _log_part(part, scope) for part in parts])
    return text if len(text) <= LONGEST_MESSAGE and text.isascii() else encodable(clip(text, LONGEST_MESSAGE)[0])


def _log_part(part: Any, scope: Any) -> str:
    """Return the text of an expression; one that fails leaves the rest of the message whole."""
    code, conversion, format_parts = part
    try:
        shown = evaluate_in_scope(code, scope)
        shown = CONVERSIONS[conversion](shown) if conversion else shown
        return format(shown, log_message(format_parts, scope) if format_parts else "")
    except Exception as error:
        return "<%s>" % error_text(error)


def error_text(error: Exception) -> str:
    try:
        return "%s: %s" % (type(error).__name__, error)
    except Exception:
        return type(error).__name__
