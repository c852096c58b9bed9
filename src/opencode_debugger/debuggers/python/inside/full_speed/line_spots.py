"""Finds the lines of code that have breakpoints, and decides whether the program stops at one of them."""

from __future__ import annotations

import re
import threading
from types import CodeType
from typing import Any, Dict, List, NamedTuple, Optional

from ..breakpoints import function_breakpoints, hit_decisions
from ..code_lines import line_ranges
from ..frames import is_debugger_file, is_left_out, is_program_code
from ..pydevd_patches import pydevd_parts
from ..rpc.event_sending import send_event
from .condition_functions import Test, make_test

_HIT = re.compile(r"__import__\('_ocdb'\)\.hit\((\d+)\)$")
_FUNCTION_HIT = re.compile(r"__import__\('_ocdb'\)\.hit_function\((\d+)\)$")
NO_RULE = -1
"""The number of a breakpoint that does not depend on a rule."""
LineBreakpoints = Dict[int, Any]
"""pydevd's breakpoints of a file, by line"""


class PreparedTest(NamedTuple):
    """The test of a rule's condition for frames with these globals: one object, because many threads arrive at once."""

    rule: hit_decisions.HitRule
    scope: Any
    test: Test


class Spot:
    """A breakpoint on a line of one piece of code."""

    __slots__ = ("arrivals", "breakpoint", "code", "index", "is_in_library", "next", "number", "prepared")

    def __init__(self, code: CodeType, breakpoint: Any, is_in_library: bool, next: Optional[Spot]) -> None:
        self.arrivals = 0
        self.code = code
        self.breakpoint = breakpoint
        self.is_in_library = is_in_library
        self.next = next
        """of those on the same line of other code"""
        self.number = rule_number(breakpoint)
        self.index = _number_in(_FUNCTION_HIT, breakpoint)
        """of the place at which functions begin, or -1"""
        self.prepared: Optional[PreparedTest] = None

    def ids_to_stop(self, frame: Any) -> List[int]:
        """Return the ids of the breakpoints that stop the program here, after counting this arrival."""
        if self.number < 0:
            return self._ids_of_others(frame)
        rule = hit_decisions.rules.get(self.number)
        if rule is None:
            is_hit = self.number not in hit_decisions.gone_numbers
        elif rule.condition is None:
            is_hit = hit_decisions.count_hit(rule, self.number, frame, send_event)
        else:
            prepared = self.prepared
            if prepared is None or prepared.rule is not rule or prepared.scope is not frame.f_globals:
                prepared = PreparedTest(rule, frame.f_globals, make_test(rule, self.code, frame))
                self.prepared = prepared
            try:
                if not prepared.test(frame):
                    return _NONE
            except Exception as error:
                hit_decisions.report_failure(self.number, error, send_event)
                return [self.breakpoint.breakpoint_id]
            is_hit = hit_decisions.count_hit(rule, self.number, frame, send_event)
        return [self.breakpoint.breakpoint_id] if is_hit else _NONE

    def _ids_of_others(self, frame: Any) -> List[int]:
        breakpoint = self.breakpoint
        if self.index >= 0:
            ids = function_breakpoints.entered_ids(self.index, frame, breakpoint)
            return [function_breakpoints.hit_id(ids)] if ids else _NONE
        if breakpoint.has_condition:  # such as that of a visit
            py_db = pydevd_parts.pydevd.get_global_debugger()
            info = py_db.set_additional_thread_info(threading.current_thread())
            if not py_db.handle_breakpoint_condition(info, breakpoint, frame):
                return _NONE
        return [breakpoint.breakpoint_id]


_NONE: List[int] = []


def rule_number(breakpoint: Any) -> int:
    return _number_in(_HIT, breakpoint)


def _number_in(pattern: Any, breakpoint: Any) -> int:
    found = pattern.match(breakpoint.condition or "")
    return int(found.group(1)) if found else NO_RULE


class BreakpointFiles:
    """The breakpoints of pydevd, by the names that code has for its file."""

    def __init__(self) -> None:
        self._by_name: Dict[str, Optional[LineBreakpoints]] = {}
        self._py_db: Any = None

    def forget_all(self, py_db: Any) -> None:
        self._py_db = py_db
        self._by_name = {}

    def in_file_of(self, code: CodeType) -> Optional[LineBreakpoints]:
        try:
            return self._by_name[code.co_filename]
        except KeyError:
            pass
        by_name, py_db = self._by_name, self._py_db
        by_file = {} if py_db is None else py_db.breakpoints
        if not by_file or is_debugger_file(code.co_filename):
            found = None
        else:
            found = dict.get(by_file, pydevd_parts.known_paths(code)[1])
        by_name[code.co_filename] = found or None
        return found or None

    def lines_of(self, code: CodeType, frame: Any = None) -> LineBreakpoints:
        """Return the breakpoints on lines of this code, unless the program does not stop in it at all."""
        known = self.in_file_of(code)
        if not known:
            return {}
        lines = {line for _, _, line in line_ranges(code) if line in known}
        if not lines or is_left_out(self._py_db, code, frame):
            return {}
        return {line: known[line] for line in lines}

    def is_in_library(self, code: CodeType) -> bool:
        return not is_program_code(self._py_db, code)
