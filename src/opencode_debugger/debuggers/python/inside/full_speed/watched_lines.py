"""Watches the lines that have breakpoints (Python 3.12 and newer), and no others.

Every piece of code is looked at once, when it is next entered. If it has a breakpoint, its lines have events; those of
its other lines are switched off as they come.
"""

from __future__ import annotations

import threading
from types import CodeType
from typing import Any, Container, Dict, Optional, Set, Tuple

from ..frames import running_frames
from ..python_versions import NEEDS_START_EVENTS, monitoring
from .line_spots import BreakpointFiles, Spot
from .shared_tool import SharedTool


class WatchedLines:
    def __init__(self, tool: SharedTool) -> None:
        self._tool = tool
        self._files = BreakpointFiles()
        self._watched: Dict[int, CodeType] = {}
        """code that has events of ours, by id"""
        self._loops: Dict[Tuple[int, int], Optional[Spot]] = {}
        """by id of code and offset of a jump back: the breakpoint of a loop on one line"""
        self.spots: Dict[int, Spot] = {}
        """by line: those of all files, one after the other"""
        self.kept_starts: Set[int] = set()
        """ids of code that has to have events at its start"""
        self.lock = threading.RLock()

    def replace_all(self, py_db: Any) -> bool:
        """Watch the lines that have breakpoints now in code that was watched; return False if there are none."""
        before = list(self._watched.values())
        self._forget(py_db)
        has_breakpoints = any(dict.values(py_db.breakpoints))
        for code in before:
            if not (has_breakpoints and self._watch(code, None)):
                self._tool.set_own_local(code, 0)
        return has_breakpoints

    def forget_all(self) -> None:
        self._forget(None)

    def _forget(self, py_db: Any) -> None:
        self._files.forget_all(py_db)
        for kept in (self._watched, self._loops, self.spots, self.kept_starts):
            kept.clear()

    def look_at_running(self) -> None:
        """Look at code that runs already, and will not be entered."""
        with self.lock:
            for frame in running_frames():
                self._watch(frame.f_code, frame)

    def look_at(self, code: CodeType, frame: Any) -> None:
        """Look at code that is being entered."""
        if self._files.in_file_of(code):
            with self.lock:
                self._watch(code, frame)

    def _watch(self, code: CodeType, frame: Any) -> bool:
        """Give code events if it has breakpoints."""
        key = id(code)
        if key in self._watched:
            return True
        lines = self._files.lines_of(code, frame)
        if not lines:
            return False
        is_in_library = self._files.is_in_library(code)
        for line, breakpoint in lines.items():
            self.spots[line] = Spot(code, breakpoint, is_in_library, self.spots.get(line))
        self._watched[key] = code
        if NEEDS_START_EVENTS and _line_of(code, 0, lines) is not None:
            self.kept_starts.add(key)
        self._tool.set_own_local(code, monitoring.events.LINE | monitoring.events.JUMP)
        return True

    def spot_at(self, code: CodeType, line: int) -> Optional[Spot]:
        spot = self.spots.get(line)
        while spot is not None and spot.code is not code:
            spot = spot.next
        return spot

    def spot_of_loop(self, code: CodeType, start: int, target: int) -> Optional[Spot]:
        """Return the breakpoint of a loop on one line, if a jump back is its end: its turns have no other event."""
        key = id(code), start
        if key in self._loops:
            return self._loops.get(key)
        line = _line_of(code, start, self.spots)
        is_loop = line is not None and _line_of(code, target, (line,)) is not None
        with self.lock:
            spot = self._loops[key] = self.spot_at(code, line) if is_loop and line is not None else None
        return spot


def _line_of(code: CodeType, offset: int, lines: Container[int]) -> Optional[int]:
    """Return the line of an instruction, if it is one of these."""
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return line if line in lines else None
    return None
