"""Knows the functions that are recorded, and the threads and tasks in which they run."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from inspect import CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FrameType, FunctionType
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..breakpoints.function_names import LOCALS
from ..code_lines import line_ranges
from ..original_code import original_of, read_code
from ..python_versions import stored_qualname
from ..threads.asyncio_tasks import task_name
from ..values import raw
from .line_changes import LineChanges
from .recorded_scope import RecordedScope

MOST_FUNCTIONS = 50_000
MOST_LANES = 100_000
OTHER_TASKS = ("task", "other tasks")


class RecordedFunction:
    """A function of the program that is recorded."""

    __slots__ = (
        "argument_count", "arguments", "changes", "code", "flags", "has_closure", "has_plain_arguments", "has_self",
        "masked", "name", "number", "path", "rests", "unseen_failures", "wake_at", "wake_latest"
    )  # fmt: skip

    def __init__(self, number: int, code: CodeType, name: str, is_secret: Callable[[str], bool]) -> None:
        count = code.co_argcount + code.co_kwonlyargcount
        count += sum(bool(code.co_flags & flag) for flag in (CO_VARARGS, CO_VARKEYWORDS))
        self.number = number
        self.code = code
        self.path = code.co_filename if code.co_filename.startswith("<") else os.path.abspath(code.co_filename)
        self.name = name
        self.flags = code.co_flags
        self.arguments = code.co_varnames[:count]
        self.has_self = self.arguments[:1] in (("self",), ("cls",))
        self.masked = tuple(place for place, each in enumerate(self.arguments) if is_secret(each))
        self.argument_count = count
        self.has_plain_arguments = not self.masked and not set(self.arguments) & set(code.co_cellvars)
        """They are kept as they are, and come first among the variables when it starts."""
        self.has_closure = bool(code.co_cellvars or code.co_freevars)
        """It has other variables when it starts."""
        self.changes: Optional[LineChanges] = None
        """How its lines are recorded, if they are."""
        self.rests = 0
        """How often it was called too often to be recorded."""
        self.unseen_failures = 0
        """How many of its calls have raised an exception in this rest, and are recorded for that."""
        self.wake_at = self.wake_latest = 0.0
        """When it is recorded again, by the processor's time and by the clock; the latter is 0 if it is recorded."""

    def as_row(self) -> Tuple[Any, ...]:
        path, code = self.path, self.code
        names, table, has_lines = list(self.arguments), _line_table(code), self.changes is not None
        return (self.number, path, self.name, code.co_firstlineno, names, self.flags, table, has_lines)


class RecordedFunctions:
    """Finds out once for each code object whether it is recorded."""

    def __init__(self, scope: RecordedScope, is_secret: Callable[[str], bool]) -> None:
        self._scope = scope
        self._is_secret = is_secret
        self.known: Dict[int, Optional[RecordedFunction]] = {}
        """By the id of a code object; None for those that are not recorded."""
        self._kept: List[CodeType] = []
        """so that their ids stay their own"""
        self.names: Dict[int, str] = {}
        """qualified names up to Python 3.10, of what is in modules that were seen"""
        self.recorded: List[RecordedFunction] = []

    def find(self, frame: FrameType) -> Optional[RecordedFunction]:
        code = frame.f_code
        try:
            return self.known[id(code)]
        except KeyError:
            return self._look_at(code, frame)

    def _look_at(self, code: CodeType, frame: FrameType) -> Optional[RecordedFunction]:
        name = stored_qualname(code) or self._find_name(code, frame)
        found = None
        if self._scope.is_recorded(code, name) and len(self.recorded) < MOST_FUNCTIONS:
            found = RecordedFunction(len(self.recorded) + 1, code, name, self._is_secret)
            if self._scope.has_lines(code, name):
                found.changes = LineChanges(code)
            self.recorded.append(found)
        if len(self._kept) < 4 * MOST_FUNCTIONS:
            self._kept.append(code)
            self.known[id(code)] = found
        return found

    def _find_name(self, code: CodeType, frame: FrameType) -> str:
        if not code.co_flags & CO_OPTIMIZED:
            _name_inner(code, "", self.names)
            return code.co_name
        known = self.names.get(id(original_of(code)))
        if known is None and code.co_varnames[:1] == ("self",):
            owner = raw.plain_variables(frame.f_locals) or {}
            for base in raw.class_mro(type(owner.get("self"))):
                function: Any = raw.class_dict(base).get(code.co_name)
                if type(function) is FunctionType and original_of(read_code(function)) is original_of(code):
                    return "%s.%s" % (raw.class_name(base), code.co_name)
        return known or code.co_name


def _name_inner(code: CodeType, prefix: str, names: Dict[int, str]) -> None:
    """Note the qualified names of what is defined in some code."""
    for inner in code.co_consts:
        if type(inner) is CodeType:
            name = names[id(original_of(inner))] = prefix + inner.co_name
            _name_inner(inner, name + (".%s." % LOCALS if inner.co_flags & CO_OPTIMIZED else "."), names)


def _line_table(code: CodeType) -> List[Tuple[int, int, int]]:
    """Return the lines of instructions: first offset, offset behind the last, line."""
    return [(start, end, line) for start, end, line in line_ranges(code) if line is not None]


class Lanes:
    """Numbers the threads and asyncio tasks in which calls are made."""

    def __init__(self) -> None:
        self._threads: Dict[Tuple[int, str], int] = {}
        self._tasks: Dict[int, Tuple[Any, int]] = {}
        self._most_tasks = MOST_LANES
        """of which the lanes are remembered before those that are gone are looked for"""
        self.rows: List[Tuple[int, str, str]] = []

    def current(self) -> int:
        """Return the number of the task that runs in this thread, else of the thread."""
        task = _running_task()
        if task is not None:
            return self._task_lane(task)
        return self.of_thread(threading.get_ident())

    def of_thread(self, ident: int) -> int:
        thread = threading._active.get(ident)  # type: ignore[attr-defined]
        name = raw.read_attribute(thread, "_name", "thread %d" % ident)
        key = (ident, name if type(name) is str else "?")
        found = self._threads.get(key)
        if found is None:
            found = self._threads[key] = self._add("thread", key[1])
        return found

    def _task_lane(self, task: Any) -> int:
        known = self._tasks.get(id(task))
        if known is not None and known[0]() is task:
            return known[1]
        if len(self.rows) < MOST_LANES:
            number = self._add("task", task_name(task))
        else:
            number = next((row[0] for row in self.rows[-1:] if row[1:] == OTHER_TASKS), -1)
            number = self._add(*OTHER_TASKS) if number < 0 else number
        self._tasks[id(task)] = (weakref.ref(task), number)
        if len(self._tasks) > self._most_tasks:
            self._tasks = {key: each for key, each in self._tasks.items() if each[0]() is not None}
            self._most_tasks = max(MOST_LANES, 2 * len(self._tasks))
        return number

    def _add(self, kind: str, name: str) -> int:
        self.rows.append((len(self.rows), kind, name))
        return len(self.rows) - 1


def _running_task() -> Any:
    """Return the asyncio task that runs in this thread, if there is one. Nothing is imported for that."""
    module: Any = sys.modules.get("_asyncio")
    if module is None:
        return None
    try:
        loop = module._get_running_loop()
        if loop is None:
            return None
        if hasattr(module, "current_task"):
            return module.current_task(loop)
        return next((task for each, task in list(module._current_tasks.items()) if each is loop), None)
    except Exception:  # a loop of the program's own
        return None
