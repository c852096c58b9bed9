"""Makes a callback of line events for the breakpoint at which the program arrives most often.

Its condition or its hit count is part of the callback, so that an arrival which does not stop the program costs one
call. The callback is in use only while nothing is out of the ordinary, so that it has nothing else to ask.
"""

from __future__ import annotations

import ast
from textwrap import indent
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, Callable, Dict, List, Optional

from ..breakpoints.hit_decisions import HitRule
from .condition_functions import compile_function, reading_text, usable_expression
from .hidden_frames import CAN_HIDE, hidden_code
from .line_spots import Spot

ENOUGH_ARRIVALS = 500
_CALLBACK = """\
def on_line(_ocdb_code, _ocdb_line):
    if _ocdb_line != %d or _ocdb_code is not _ocdb_own_code%s:
        return _ocdb_rare.arrive(_ocdb_code, _ocdb_line, _ocdb_getframe(1))
%s"""
_MAKER = """\
def make(%s):
%s
    return on_line
"""
"""For a callback whose globals are the program's. A call fetches every variable of the function around it that it may
use, so what is seldom used is behind one of them. Globals are fetched faster."""
_LOCALS = "_ocdb_locals()" if CAN_HIDE else "_ocdb_getframe(1).f_locals"
_GLOBALS = "_ocdb_globals()" if CAN_HIDE else "_ocdb_getframe(1).f_globals"
"""The program's; `_ocdb_getframe(1)` is its frame either way, because the callback is counted though it is not seen."""
_OTHER_GLOBALS = " or %s is not _ocdb_rare.scope" % _GLOBALS
_READING = """\
_ocdb_names = %s
try:
    %s
except _ocdb_rare.KeyError:
    return _ocdb_rare.arrive(_ocdb_code, _ocdb_line, _ocdb_getframe(1))
"""
_TESTING = """\
try:
    if not _ocdb_condition:
        return None
except _ocdb_rare.Exception as _ocdb_error:
    return _ocdb_rare.fail(_ocdb_getframe(1), _ocdb_error)
return _ocdb_rare.count(_ocdb_getframe(1))
"""
_READING_AND_TESTING = """\
try:
    if not _ocdb_condition:
        return None
except _ocdb_rare.Exception:
    return _ocdb_rare.arrive(_ocdb_code, _ocdb_line, _ocdb_getframe(1))
return _ocdb_rare.count(_ocdb_getframe(1))
"""
_COUNTING = """\
if not _ocdb_compare(_ocdb_next(), %d):
    return None
return _ocdb_rare.stop(_ocdb_getframe(1))
"""


def make_callback(
    spot: Spot, rule: HitRule, line: int, frame: Any, calls: Dict[str, Callable[..., object]]
) -> Optional[Callable[[CodeType, int], object]]:
    """Return the callback; None if there is nothing that could be part of a function.

    Where the program does not simply go on, it calls `arrive` to decide in the common way, `fail` when the condition
    has failed, `count` when it is met, and `stop`."""
    other_globals = ""
    expressions: Dict[str, ast.expr] = {}
    if rule.condition is None:
        if rule.compare is None:
            return None
        body = _COUNTING % rule.number
    else:
        found = usable_expression(rule.condition_text or "", spot.code, frame.f_globals, frame.f_locals)
        if found is None:
            return None
        expression, own = found
        names = [node.id for node in ast.walk(expression) if isinstance(node, ast.Name)]
        other_globals = "" if set(names) <= set(own) else _OTHER_GLOBALS
        expressions["_ocdb_condition"] = expression
        body = _test_text(expression, [name for name in names if name in own], expressions)
    source = _CALLBACK % (line, other_globals, indent(body, " " * 4))
    rare = SimpleNamespace(scope=frame.f_globals, Exception=Exception, KeyError=KeyError, **calls)
    needed: Dict[str, Any] = {"_ocdb_own_code": spot.code, "_ocdb_rare": rare, "_ocdb_getframe": calls["getframe"]}
    needed.update(_ocdb_locals=locals, _ocdb_globals=globals)
    needed.update(_ocdb_next=rule.next_number, _ocdb_compare=rule.compare)
    if other_globals or not CAN_HIDE:
        source = _MAKER % (", ".join(needed), indent(source, " " * 4))
        made: FunctionType = compile_function(source, expressions, frame.f_globals, None)(**needed)
    else:  # it needs none of the program's, and what it calls sees none of its own
        made = compile_function(source, expressions, needed, None)
    if CAN_HIDE:
        made.__code__ = hidden_code(made.__code__)
    return made


def _test_text(expression: ast.expr, read: List[str], expressions: Dict[str, ast.expr]) -> str:
    """Return statements that leave the callback if the condition is not met; `read` are local variables in it."""
    if not read:
        return _TESTING
    if len(read) > 1 or any(isinstance(node, ast.Call) for node in ast.walk(expression)):
        return _READING % (_LOCALS, reading_text(read)) + _TESTING
    # The variable is read where it is used: to keep it would cost more. It may have no value yet: what fails is decided
    # once more in the common way, which does no harm to an expression that calls nothing.
    expressions[read[0]] = ast.parse("%s[%r]" % (_LOCALS, read[0]), mode="eval").body
    return _READING_AND_TESTING
