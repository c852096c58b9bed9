"""Gives the program code with tests in front of lines that have breakpoints, and its own code back.

Functions are given the new code, and so is what makes functions: the code inside of code. Modules get theirs when they
are loaded. What already runs keeps its code; `has_outdated` tells of frames that have a breakpoint without a test.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import weakref
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType
from typing import Any, Dict, Iterable, Iterator, List, Set, Tuple

from ..frames import running_frames
from ..original_code import note_original, read_code, write_code
from . import code_assembly, slow_code
from .code_assembly import CannotRewrite
from .line_spots import BreakpointFiles, LineBreakpoints
from .line_tests import BreakpointTest

_FIRST_ITEM = tuple.__basicsize__
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_RESUMABLE = (GeneratorType, CoroutineType, AsyncGeneratorType)
_CODE_OF = {GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code"}
_MOST_COPIES = 10
"""Functions that the program may make of the same code before it stays without tests."""
_FEW = 8
_FRAME_OF = {GeneratorType: "gi_frame", CoroutineType: "cr_frame", AsyncGeneratorType: "ag_frame"}


class Rewritten:
    """Code that was made of other code, with its tests by line."""

    def __init__(self, original: CodeType, lines: LineBreakpoints, is_in_library: bool) -> None:
        self.original = original
        self.tests = {line: BreakpointTest(original, line, known, is_in_library) for line, known in lines.items()}
        self.code = code_assembly.put_tests(
            original, {line: test.as_line_test() for line, test in self.tests.items()}
        )

    def is_best(self) -> bool:
        """Tell whether other code could not be faster."""
        return all(test.is_best() for test in self.tests.values())

    def set_breakpoints(self, lines: LineBreakpoints) -> None:
        for line, test in self.tests.items():
            test.set_breakpoint(lines.get(line))


class CodeReplacement:
    """The code of the program that has breakpoints."""

    def __init__(self, files: BreakpointFiles) -> None:
        self.files = files
        self.lock = threading.RLock()
        self.outdated_frames: Set[int] = set()
        """Ids of frames under way that have a breakpoint without a test."""
        self.outdated_generators: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._made: Dict[int, Rewritten] = {}
        """By id of the new code, of all that was ever made: a frame may still run it."""
        self._current: Dict[int, Rewritten] = {}
        """By id of the original."""
        self._executed: Dict[int, CodeType] = {}
        """Code that the program is about to execute itself, as it is."""
        self._wanted: Dict[int, Tuple[CodeType, LineBreakpoints]] = {}
        """By id of code: its lines that have breakpoints now."""
        self._impossible: Dict[int, CodeType] = {}
        """Code that cannot have tests, by id."""
        self._unprepared: Dict[int, CodeType] = {}
        """Code of which the program has made a function itself; it gets tests when it is first called."""
        self._copies: Dict[int, int] = {}
        """How often that was, by id of the code."""
        self._shown: Dict[int, Tuple[CodeType, CodeType]] = {}
        """By id of code: what the program sees instead."""
        self._compiled: Dict[int, Tuple[CodeType, CodeType]] = {}
        """By id of code with replaced code inside: the same as the compiler made it."""
        self._places: List[Tuple[CodeType, int, CodeType]] = []
        """Where code inside of code was replaced: the outer, the number of the constant, and what was there."""

    @property
    def has_outdated(self) -> bool:
        return bool(
            self.outdated_frames
            or self._impossible
            or self._executed
            or self._unprepared
            or len(self.outdated_generators)
        )

    def has_test(self, code: CodeType, line: int) -> bool:
        made = self._made.get(id(code))
        return made is not None and line in made.tests

    def is_outdated(self, code: CodeType) -> bool:
        """Tell whether code has a breakpoint without a test."""
        if not self.files.in_file_of(code):
            return False
        made = self._made.get(id(code))
        original = code if made is None else made.original
        lines = self.wanted_lines(original)
        return any(made is None or line not in made.tests for line in lines)

    def wanted_lines(self, code: CodeType) -> LineBreakpoints:
        known = self._wanted.get(id(code))
        if known is None:
            known = self._wanted[id(code)] = (code, self.files.lines_of(code))
        return known[1]

    def watch(self, code: CodeType) -> None:
        """Have code that is about to run traced."""
        self._executed[id(code)] = code

    def is_known(self, frame: Any) -> bool:
        return id(frame) in self.outdated_frames or id(frame.f_code) in self._executed

    def forget_frame(self, frame: Any) -> None:
        self.outdated_frames.discard(id(frame))
        self._executed.pop(id(frame.f_code), None)

    # Giving.

    def apply(self, is_program_loaded: bool) -> None:
        """Give all code tests for the breakpoints that there are now."""
        with self.lock:
            self._forget_breakpoints()
            for made in list(self._made.values()):
                made.set_breakpoints(self.wanted_lines(made.original))
            if not is_program_loaded and not self._current and not self._places:
                return
            functions, generators = self._find_users()
            frames = [frame for frame in running_frames() if self._concerns(frame.f_code)]
            for function in functions:
                self._renew_function(function)
            self._renew_places()
            for code in {id(code): code for code in self._roots(functions, generators, frames)}.values():
                self._renew_inside(code)
            for frame in frames:
                if self.is_outdated(frame.f_code):
                    self.outdated_frames.add(id(frame))
            for generator in generators:
                is_under_way = getattr(generator, _FRAME_OF[type(generator)]) is not None
                if is_under_way and self.is_outdated(getattr(generator, _CODE_OF[type(generator)])):
                    self.outdated_generators.add(generator)

    def _roots(self, functions: Iterable[Any], generators: Iterable[Any], frames: Iterable[Any]) -> Iterator[CodeType]:
        for function in functions:
            yield read_code(function)
        for generator in generators:
            yield getattr(generator, _CODE_OF[type(generator)])
        for frame in frames:
            yield frame.f_code

    def prepare(self, code: CodeType) -> CodeType:
        """Return what is to run instead of code that has not begun yet, with all that is inside of it renewed."""
        if not self.files.in_file_of(code):
            return code
        with self.lock:
            self._renew_inside(code)
            return self._renewed(code)

    def prepare_inside(self, code: CodeType) -> bool:
        """Renew what is inside of code that is about to run as it is; tell whether it has breakpoints of its own."""
        if not self.files.in_file_of(code):
            return False
        with self.lock:
            self._renew_inside(code)
            return self.is_outdated(code)

    def expect_function(self, code: CodeType) -> bool:
        """Tell whether code of which the program is about to make a function has breakpoints but no tests yet."""
        if not self.files.in_file_of(code):
            return False
        with self.lock:
            self._renew_inside(code)
            if not self.is_outdated(code):
                return False
            copies = self._copies[id(code)] = self._copies.get(id(code), 0) + 1
            if copies <= _MOST_COPIES:
                self._unprepared[id(code)] = code
            elif id(code) not in self._impossible:
                self._impossible[id(code)] = code
                why = "Its lines are traced: the program makes more and more functions of its code"
                slow_code.note_slow(code.co_filename, code.co_name, why)
            return True

    def renew_functions_of(self, frame: Any) -> None:
        """Give functions that the program has made of this frame's code its tests; the frame runs on without."""
        code = frame.f_code
        if self._unprepared.pop(id(code), None) is not None:
            with self.lock:
                self.outdated_frames.add(id(frame))
                for item in gc.get_referrers(code):
                    if type(item) is FunctionType:
                        self._renew_function(item)

    def _renewed(self, code: CodeType) -> CodeType:
        """Return the code that is to be used instead of this one."""
        made = self._made.get(id(code))
        original = code if made is None else made.original
        lines = self.wanted_lines(original)
        current = self._current.get(id(original))
        if current is not None and current.tests.keys() == lines.keys() and current.is_best():
            return current.code
        if not lines:
            self._current.pop(id(original), None)
            return original
        try:
            new = Rewritten(original, lines, self.files.is_in_library(original))
        except (CannotRewrite, ValueError, IndexError, KeyError, AssertionError) as error:
            self._impossible[id(original)] = original
            why = "Its lines are traced: its code cannot be changed (%s)" % error
            slow_code.note_slow(original.co_filename, original.co_name, why)
            return original
        self._made[id(new.code)] = self._current[id(original)] = new
        note_original(new.code, original)
        return new.code

    def _renew_function(self, function: Any) -> None:
        code = read_code(function)
        if id(code) in self._made or self.files.in_file_of(code):
            new = self._renewed(code)
            if new is not code:
                write_code(function, new)

    def _renew_inside(self, code: CodeType) -> None:
        """Renew all code inside of code, which makes functions of it."""
        if id(code) not in self._made and not self.files.in_file_of(code):
            return
        for number, inner in enumerate(code.co_consts):
            if type(inner) is CodeType:
                self._renew_inside(inner)
                new = self._renewed(inner)
                if new is not inner:
                    original = self._made[id(inner)].original if id(inner) in self._made else inner
                    self._places.append((code, number, original))
                    _set_constant(code, number, new)
                    self._renew_inside(new)

    def _renew_places(self) -> None:
        places, self._places = self._places, []
        for outer, number, original in places:
            new = self._renewed(original)
            if outer.co_consts[number] is not new:
                _set_constant(outer, number, new)
            if new is not original:
                self._places.append((outer, number, original))

    # Showing.

    def as_compiled(self, code: CodeType) -> CodeType:
        """Return code as the compiler made it, with all that is inside of it."""
        known = self._shown.get(id(code))
        if known is not None:
            return known[1]
        made = self._made.get(id(code))
        if made is None and not self.files.in_file_of(code):
            return code
        original = code if made is None else made.original
        inside = [self.as_compiled(each) if type(each) is CodeType else each for each in original.co_consts]
        shown = original
        if any(new is not old for new, old in zip(inside, original.co_consts)):
            copy = original.replace(co_consts=tuple(inside))
            shown = self._compiled.setdefault(id(original), (original, copy))[1]
        self._shown[id(code)] = (code, shown)
        return shown

    # Giving back.

    def undo(self) -> None:
        """Give the program its own code back. What runs on ends with tests that do nothing."""
        with self.lock:
            for made in self._made.values():
                made.set_breakpoints({})
            for function in self._functions_with_tests():
                write_code(function, self._made[id(read_code(function))].original)
            for outer, number, original in self._places:
                _set_constant(outer, number, original)
            self._places = []
            self._current.clear()
            self._forget_breakpoints()

    def _forget_breakpoints(self) -> None:
        self._wanted = {}
        self._shown = {}
        self._impossible.clear()
        self._executed.clear()
        self._unprepared.clear()
        self._copies.clear()
        self.outdated_frames.clear()
        self.outdated_generators = weakref.WeakSet()

    def _find_users(self) -> Tuple[List[Any], List[Any]]:
        """Return all functions, and all generators and coroutines, whose code has tests or may have some."""
        functions, generators = [], []
        for item in gc.get_objects():
            kind = type(item)
            if kind is FunctionType:
                if self._concerns(read_code(item)):
                    functions.append(item)
            elif kind in _RESUMABLE and self._concerns(getattr(item, _CODE_OF[kind])):
                generators.append(item)
        return functions, generators

    def _concerns(self, code: CodeType) -> bool:
        return self.files.in_file_of(code) is not None or id(code) in self._made

    def _functions_with_tests(self) -> List[Any]:
        codes = [made.code for made in self._current.values()]
        # To ask for a few is faster, and does not write to what a forked child shares with its parent.
        found = gc.get_referrers(*codes) if len(codes) <= _FEW else self._find_users()[0]
        return [item for item in found if type(item) is FunctionType and id(read_code(item)) in self._made]


def are_loaded(files: Iterable[str], is_main_to_begin: bool) -> bool:
    """Tell whether a module of one of these files may be there already."""
    names = {os.path.basename(file) for file in files}
    modules = [module for name, module in list(sys.modules.items()) if name != "__main__" or not is_main_to_begin]
    found = [getattr(module, "__dict__", {}).get("__file__") for module in modules]
    return any(isinstance(file, str) and os.path.basename(file) in names for file in found)


def _set_constant(code: CodeType, number: int, value: CodeType) -> None:
    """Change a constant of code in place: nothing else lets one change what running code makes functions of."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    address = id(code.co_consts) + _FIRST_ITEM + number * _POINTER
    ctypes.c_void_p.from_address(address).value = id(value)
