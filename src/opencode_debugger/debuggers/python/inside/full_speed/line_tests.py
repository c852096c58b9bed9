"""Decides at the beginning of a line with a breakpoint, up to Python 3.11, where the code itself calls a test.

Most arrivals are decided here and now: the condition is false, the count not reached, the message sent. One that stops
the program is told to pydevd by the event of that line (see code_assembly.py): it finds our decision instead of making
its own. Where pydevd was asked first, because it traces the thread anyway, the test that follows has nothing to decide.
"""

from __future__ import annotations

import ast
import builtins
import sys
import threading
from functools import lru_cache
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, Callable, Dict, FrozenSet, Optional, Sequence, Set, Tuple

from ..breakpoints import function_breakpoints, hit_decisions
from ..frames import is_debugger_thread
from ..original_code import write_code
from ..pydevd_patches import pydevd_parts
from ..rpc.event_sending import send_event
from . import code_assembly
from .condition_functions import ODD_NAMES, ODD_NODES
from .line_spots import NO_RULE, Spot

FILE = "<ocdb test>"
"""The file that tests say they are from: no trace function looks into it."""
_OF_TESTS = "_ocdb_look"
"""A variable that tests have, and nothing else."""
_SIGNS = {compare: sign for sign, compare in hit_decisions.COMPARISONS.items()}
_LONGEST_TEST = 80
"""Bytes of code from the beginning of a test to its call."""
_MOST_KEPT = 1000
"""Conditions that are kept compiled: many lines may have the same."""
_OF_FRAME_ONLY = 2
"""References to the dict of a frame's local variables that nobody else has, while they are counted."""
_getframe = sys._getframe
_ident = threading.get_ident

wake: Any = None
"""Has the next events of a frame told to pydevd; set by rewriting_way.py."""
thread_tracing: Any = None
"""What traces threads for pydevd; set by rewriting_way.py."""
set_tracer: Any = None
"""Python's own `sys.settrace`: pydevd's warns of being used; set by rewriting_way.py."""
stop_here: Any = None
"""Stops where no event can be told; set by rewriting_way.py."""


class Note:
    """What is known of the line at which a thread is."""

    __slots__ = ("frame_id", "is_pydevds", "lasti", "line", "number")

    def __init__(self, frame: Any, line: int, number: Optional[int]) -> None:
        self.frame_id, self.line, self.lasti = id(frame), line, frame.f_lasti
        self.number = number
        """of the breakpoint's rule, where we have decided"""
        self.is_pydevds = number is None
        """pydevd has decided; else we have, and it is to stop"""

    def is_of(self, frame: Any, line: int) -> bool:
        if self.frame_id != id(frame) or self.line != line:
            return False
        return not self.is_pydevds or -2 <= frame.f_lasti - self.lasti <= _LONGEST_TEST


notes: Dict[int, Note] = {}
"""By thread. While there are none, tests decide without looking."""
waiting_threads: Set[int] = set()
"""Threads that stand at a stop: what they run meanwhile, the debugger has asked for."""
paused_tracers: Dict[int, Any] = {}
"""Trace functions of the program's own, by thread, that are told nothing of what is done here."""
_deciding: Set[int] = set()
"""Threads that decide here: what they call meanwhile is none of the program's."""
_has_conditions = False
"""A condition has become a function: what that calls has to be told from the program's own calls."""


def _unseen(decide: Callable[..., bool]) -> Callable[..., bool]:
    """Return a function that runs without being traced or stopped."""

    def decide_unseen(*args: Any) -> bool:
        tracer, ident = sys.gettrace(), _ident()
        if tracer is not None and getattr(tracer, "__self__", None) is not thread_tracing:
            paused_tracers[ident] = tracer
            set_tracer(None)
        try:
            if ident in _deciding or is_quiet(ident):
                return False
            _deciding.add(ident)
            try:
                return decide(*args)
            finally:
                _deciding.discard(ident)
        finally:
            if ident in paused_tracers:
                set_tracer(paused_tracers.pop(ident))

    # A name that tools such as coverage pass over.
    decide_unseen.__code__ = decide_unseen.__code__.replace(co_filename="<ocdb decision>")
    return decide_unseen


class Unseen:
    """While this is open, its thread does something for the debugger: neither we nor pydevd look for a stop in it."""

    def __enter__(self) -> None:
        self._ident = _ident()
        self._info = getattr(threading._active.get(self._ident), "additional_info", None)  # type: ignore[attr-defined]
        self._is_outermost = self._ident not in _deciding
        _deciding.add(self._ident)
        if self._info is not None:
            self._info.is_tracing += 1

    def __exit__(self, *error: Any) -> None:
        if self._info is not None:
            self._info.is_tracing -= 1
        if self._is_outermost:
            _deciding.discard(self._ident)


def take_verdict(frame: Any, line: int, number: int) -> bool:
    """Tell whether this arrival is decided already; pydevd asks this at the event, for the breakpoint of this rule."""
    note = notes.get(_ident())
    if note is None or note.is_pydevds or not note.is_of(frame, line) or number not in (note.number, NO_RULE):
        return False
    note.is_pydevds, note.lasti = True, frame.f_lasti
    return True


def note_decision(frame: Any, line: int) -> None:
    """Note that pydevd has decided at this line, so that the test there does not."""
    if _ident() not in _deciding:
        notes[_ident()] = Note(frame, line, None)


def is_awaited() -> bool:
    """Tell whether an event of this thread is on its way, at which pydevd is to stop."""
    note = notes.get(_ident()) if notes else None
    return note is not None and not note.is_pydevds


def is_deciding() -> bool:
    return _ident() in _deciding


class BreakpointTest:
    """The test in front of a line of one piece of code. Its function stays; what it does is the breakpoint's."""

    def __init__(self, code: CodeType, line: int, breakpoint: Any, is_in_library: bool) -> None:
        self.code, self.line = code, line
        self._is_in_library = is_in_library
        """The debugger may use it, too, which is not to be counted."""
        self.names: Tuple[str, ...] = ()
        """Local variables that it is given."""
        self._tried_names: Tuple[str, ...] = ()
        self.scope: Dict[str, Any] = {
            "__builtins__": builtins.__dict__,  # else up to 3.9 each call makes a dict of its own
            "_ocdb_notes": notes,
            _OF_TESTS: self.look,
            "_ocdb_getframe": _getframe,
            "_ocdb_Exception": Exception,
            "_ocdb_failed": self.stop_on_failure,
            "_ocdb_reached": self.count_and_decide,
            "_ocdb_stop": self.stop,
            "_ocdb_bind": self.bind_condition,
            "_ocdb_globals": None,
        }
        self.function = FunctionType(_ASKING, self.scope)
        self.after_error = FunctionType(_AFTER_ERROR, {**self.scope, _OF_TESTS: self.look_after_error})
        self.spot: Optional[Spot] = None
        self._made_for: Any = ()
        """The breakpoint and the rule that the function is for."""
        self.set_breakpoint(breakpoint)

    def as_line_test(self) -> code_assembly.LineTest:
        self._tried_names = self._wanted_names()
        return code_assembly.LineTest(self._tried_names, self._bind_names, self.after_error)

    def is_best(self) -> bool:
        """Tell whether it is given the variables that it would like, as far as that can be."""
        return self._wanted_names() in (self.names, self._tried_names)

    def set_breakpoint(self, breakpoint: Any) -> None:
        """Test for this breakpoint from now on; for none, the test passes."""
        if breakpoint is not None and self._made_for == (breakpoint, self._rule()):
            return
        self.spot = None if breakpoint is None else Spot(self.code, breakpoint, self._is_in_library, None)
        self._made_for = (breakpoint, self._rule())
        write_code(self.function, self._make_code())

    def _rule(self) -> Optional[hit_decisions.HitRule]:
        return None if self.spot is None else hit_decisions.rules.get(self.spot.number)

    def _bind_names(self, names: Sequence[str]) -> FunctionType:
        self.names = tuple(names)
        write_code(self.function, self._make_code())
        return self.function

    # What the function does.

    def _wanted_names(self) -> Tuple[str, ...]:
        """Return the local variables of the condition, if it can be a function of them."""
        rule = self._rule()
        used = None if rule is None or rule.condition is None else _names_in(rule.condition_text or "")
        if not used or not self.code.co_flags & CO_OPTIMIZED:
            return ()
        return tuple(name for name in self.code.co_varnames if name in used)

    def _make_code(self) -> CodeType:
        if self.spot is None:
            return _PASSING
        rule = self._rule()
        if rule is None:
            return _ASKING
        self.scope["_ocdb_rule"], self.scope["_ocdb_next"] = rule, rule.next_number
        if rule.condition is not None:
            return self._condition_code(rule.condition_text or "") or _ASKING
        if rule.compare is not None and rule.log is None and not self._is_in_library:
            return _counting_code(_SIGNS[rule.compare], rule.number, self.names)
        return _ASKING

    def _condition_code(self, text: str) -> Optional[CodeType]:
        used = _names_in(text)
        outer = {*self.code.co_cellvars, *self.code.co_freevars}
        if used is None or used & outer or self._wanted_names() != self.names:
            return None
        is_function = bool(self.code.co_flags & CO_OPTIMIZED)
        if not is_function and self.code.co_name != "<module>":
            return None
        global _has_conditions
        _has_conditions = True
        self.scope["_ocdb_globals"] = None
        if used <= set(self.names):
            return _compile(_OF_LOCALS, self.names, text)
        self.scope["_ocdb_code"] = _compile(_VALUE, self.names, text)
        called = "_ocdb_condition(%s)" % ", ".join(self.names)
        return _compile(_OF_FUNCTION if is_function else _OF_MODULE, self.names, called)

    def bind_condition(self, frame: Any) -> bool:
        """Make the condition a function with the globals of this frame."""
        names = frame.f_globals
        if type(names) is not dict or not (self.code.co_flags & CO_OPTIMIZED or frame.f_locals is names):
            write_code(self.function, _ASKING)  # code that is executed with variables of another kind
            return False
        self.scope["_ocdb_condition"] = FunctionType(self.scope["_ocdb_code"], names)
        self.scope["_ocdb_globals"] = names
        return True

    # What it decides.

    @_unseen
    def look(self, frame: Any) -> bool:
        """Decide one arrival, unless that has been done."""
        note = notes.pop(_ident(), None)
        if note is None or not note.is_of(frame, self.line):
            return self._decide(frame)
        if not note.is_pydevds and self.spot is not None:  # its event was not told
            if note.number != self.spot.number:  # nor ever will be: that breakpoint is gone, and so may its frame be
                return self._decide(frame)
            stop_here(frame, self.spot.breakpoint, [self.spot.breakpoint.breakpoint_id])
        return False

    def look_after_error(self, frame: Any) -> bool:
        """Decide where an exception leads into the line; none begins if it came from there."""
        if not code_assembly.begins_after_error(frame, self.line):
            notes.pop(_ident(), None)
            return False
        return self.look(frame)

    def _decide(self, frame: Any) -> bool:
        spot = self.spot
        if spot is None:
            return False
        ids = spot.ids_to_stop(frame if spot.index < 0 else _frame_at_start(frame))
        if ids and spot.index >= 0:
            function_breakpoints.note_hit(ids[0])
        if not ids and spot.index < 0 and self.code.co_flags & CO_OPTIMIZED:
            _drop_values(frame)
        return bool(ids) and self._tell(frame)

    @_unseen
    def stop_on_failure(self, frame: Any, error: Exception) -> bool:
        if self.spot is None:
            return False
        hit_decisions.report_failure(self.spot.number, error, send_event)
        return self._tell(frame)

    @_unseen
    def count_and_decide(self, frame: Any) -> bool:
        spot, rule = self.spot, self._rule()
        if spot is None:
            return False
        if rule is None:
            return spot.number not in hit_decisions.gone_numbers and self._tell(frame)
        return hit_decisions.count_hit(rule, spot.number, frame, send_event) and self._tell(frame)

    @_unseen
    def stop(self, frame: Any) -> bool:
        return self._tell(frame)

    def _tell(self, frame: Any) -> bool:
        """Have the event of this line told, at which pydevd stops."""
        notes[_ident()] = Note(frame, self.line, NO_RULE if self.spot is None else self.spot.number)
        wake(frame)
        return True


def is_quiet(ident: int) -> bool:
    """Tell whether a thread runs something for the debugger, which does not stop: an evaluation, or a condition."""
    if ident in waiting_threads or ident in _deciding:
        return True
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if py_db is None or not py_db.ready_to_run:  # the program's first thread works for the runner until it is let go
        return True
    if any(each.ident == ident for each in list(py_db.created_pydb_daemon_threads)):
        return True
    thread = threading._active.get(ident)  # type: ignore[attr-defined]
    if is_debugger_thread(thread):
        return True
    info = getattr(thread, "additional_info", None)
    if info is not None and info.is_tracing:
        return True
    return _has_conditions and _is_in_condition(_getframe(1))


def _is_in_condition(frame: Any) -> bool:
    """Tell whether a condition called the code that a test asks for: the second test on the stack is its own.

    A test is known by its variables, because to ask each frame for its code would call the audit hook as often."""
    tests = 0
    while frame is not None:
        names = frame.f_globals
        tests += type(names) is dict and _OF_TESTS in names
        frame = frame.f_back
    return tests > 1


def _drop_values(frame: Any) -> None:
    """Forget the values of local variables that a frame keeps once it was asked for them: they would live too long."""
    if sys.getrefcount(frame.f_locals) == _OF_FRAME_ONLY:
        frame.f_locals.clear()


def _frame_at_start(frame: Any) -> Any:
    """Return as much of the frame as is looked at to find out whether it has just been entered."""
    start = code_assembly.start_of_test(frame.f_code, frame.f_lasti)
    local_names, names = frame.f_locals, frame.f_globals
    return SimpleNamespace(
        f_code=frame.f_code, f_lasti=start, f_locals=local_names, f_globals=names, f_back=frame.f_back
    )


# The functions that code calls.


@lru_cache(maxsize=_MOST_KEPT)
def _names_in(text: str) -> Optional[FrozenSet[str]]:
    """Return the variables of a condition; None if it means something else inside a function."""
    try:
        nodes = list(ast.walk(_parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    used = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
    return None if used & ODD_NAMES or any(isinstance(node, ODD_NODES) for node in nodes) else used


def _parse(text: str) -> ast.expr:
    return ast.parse(text.strip(), FILE, "eval").body


@lru_cache(maxsize=_MOST_KEPT)
def _compile(source: str, names: Tuple[str, ...], text: str = "") -> CodeType:
    """Return the code of a function with these arguments, in which the text takes the place of CONDITION."""
    condition = _parse(text) if text else None
    tree = ast.parse(source % ", ".join(names) if "%s" in source else source)
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.Name) and value.id == "CONDITION":
                setattr(node, field, condition)
    ast.fix_missing_locations(tree)
    module = compile(tree, FILE, "exec", dont_inherit=True)
    made = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    return made.replace(co_filename=FILE)


def _counting_code(sign: str, number: int, names: Tuple[str, ...]) -> CodeType:
    test = "_ocdb_hits %% %d == 0" % number if sign == "%" else "_ocdb_hits %s %d" % (sign, number)
    return _compile(_COUNTING, names, test)


_PASSING = _compile("def test(*values):\n    return False", ())
_ASKING = _compile("def test(*values):\n    return _ocdb_look(_ocdb_getframe(1))", ())
_AFTER_ERROR = _compile("def test():\n    return _ocdb_look(_ocdb_getframe(1))", ())
_VALUE = "def value(%s):\n    return CONDITION"
_COUNTING = """
def test(%s):
    if _ocdb_notes:
        return _ocdb_look(_ocdb_getframe(1))
    _ocdb_hits = _ocdb_next()
    if CONDITION:
        return _ocdb_stop(_ocdb_getframe(1))
    return False
"""
_OF_LOCALS = """
def test(%s):
    if _ocdb_notes:
        return _ocdb_look(_ocdb_getframe(1))
    try:
        if not CONDITION:
            return False
    except _ocdb_Exception as _ocdb_error:
        return _ocdb_failed(_ocdb_getframe(1), _ocdb_error)
    return _ocdb_reached(_ocdb_getframe(1))
"""
_OF_FUNCTION = """
def test(%s):
    if _ocdb_notes:
        return _ocdb_look(_ocdb_getframe(1))
    _ocdb_frame = _ocdb_getframe(1)
    if _ocdb_frame.f_globals is not _ocdb_globals and not _ocdb_bind(_ocdb_frame):
        return _ocdb_look(_ocdb_frame)
    try:
        if not CONDITION:
            return False
    except _ocdb_Exception as _ocdb_error:
        return _ocdb_failed(_ocdb_frame, _ocdb_error)
    return _ocdb_reached(_ocdb_frame)
"""
_OF_MODULE = _OF_FUNCTION.replace(
    "is not _ocdb_globals and", "is not _ocdb_globals or _ocdb_frame.f_locals is not _ocdb_globals) and"
).replace("if _ocdb_frame.f_globals", "if (_ocdb_frame.f_globals")
