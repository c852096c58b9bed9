"""Lists the program's asyncio tasks: what they do, what they wait for, where they were made.

Nothing here imports asyncio: a program that does not use it is left alone. In one that does, asyncio keeps its tasks in
a set of weak references, and each reference becomes the note of where its task was made.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import sys
import threading
import weakref
from importlib.machinery import ModuleSpec
from itertools import chain
from traceback import FrameSummary
from types import CodeType, FrameType, FunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

from ..code_lines import lines_by_unit
from ..frames import is_debugger_file, module_name, outward_frames
from ..pydevd_patches import pydevd_parts
from ..python_versions import TASK_REGISTERS, TASKS_ARE_IN_C
from ..values import raw
from ..values.atom_texts import clip, encodable
from .thread_list import to_dap

if TYPE_CHECKING:
    from ....rows import FrameRow, PlaceRow, TaskPage, TaskRow, TaskStack

TASKS_MODULE = "asyncio.tasks"
PENDING = "PENDING"
DEEPEST_CHAIN = 50
TEXT_LIMIT = 200
MOST_TRIES = 100
MOST_CLASSES = 1000
"""of which is remembered how their names are read"""


class TaskNote(weakref.ref):  # type: ignore[type-arg]
    """A task that we know: its number, and the instruction that made it if we saw that."""

    __slots__ = ("code", "number", "offset")
    code: Optional[CodeType]
    number: int
    offset: int


class AsyncioFiles(Dict[str, bool]):
    """Tells by the name of a file whether it is one of asyncio's."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __missing__(self, name: str) -> bool:
        found = self[name] = name.startswith(self._folder)
        return found


_numbers = itertools.count(1)
_name_readers: Dict[int, Tuple[type, Optional[Callable[[Any], Any]]]] = {}
"""by the id of a class of tasks: it may hash oddly"""
_notes: Dict[int, TaskNote] = {}
"""Notes that were found in the registers when tasks were last asked for, by the ids of their tasks."""
_late_notes: Dict[int, TaskNote] = {}
"""Those of tasks whose making we did not see."""


def _note_late(task: Any) -> TaskNote:
    note = _late_notes[id(task)] = TaskNote(task, functools.partial(_late_notes.pop, id(task)))
    note.number, note.code = next(_numbers), None
    return note


def _known_number(task: Any) -> int:
    """Return the number that a task has from when it was listed before it was registered, or a new one."""
    note = _late_notes.pop(id(task), None)
    return note.number if note is not None and note() is task else next(_numbers)


def _find_note(task: Any) -> Optional[TaskNote]:
    for notes in _notes, _late_notes:
        note = notes.get(id(task))
        if note is not None and note() is task:
            return note
    return None


def _note_of(task: Any) -> TaskNote:
    return _find_note(task) or _note_late(task)


def install() -> None:
    pydevd_parts.hide_functions(_known_number, AsyncioFinder.find_spec, AsyncioFiles.__missing__, _execute_and_watch)
    if TASKS_MODULE in sys.modules:
        _watch_registers(sys.modules[TASKS_MODULE])
    else:
        sys.meta_path.insert(0, AsyncioFinder())


class AsyncioFinder:
    """Waits for asyncio to be imported, then is gone."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name != TASKS_MODULE or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader: Any = spec and spec.loader
        if hasattr(loader, "exec_module"):
            loader.exec_module = functools.partial(_execute_and_watch, loader)
        return spec


def _execute_and_watch(loader: Any, module: Any) -> None:
    del loader.exec_module
    loader.exec_module(module)
    _watch_registers(module)


def _watch_registers(module: Any) -> None:
    tasks = vars(module)
    own = (each for each in tasks.values() if type(each) is FunctionType and each.__globals__ is tasks)
    folder = next((os.path.dirname(each.__code__.co_filename) for each in own), "")
    for name in TASK_REGISTERS if folder else ():
        register = getattr(module, name, None)
        if type(register) is weakref.WeakSet and "add" not in vars(register):
            vars(register)["add"] = _noting_add(register, tasks, folder)


def _noting_add(register: Any, tasks: Dict[str, Any], folder: str) -> Callable[[Any], None]:
    """Return what takes the place of `register.add`: it does the same, but for the class of the reference.

    Programs make hundreds of thousands of tasks a second: so a task has no reference but that of the set, and is noted
    with an instruction, whose line is found later: of the innermost frame that is neither ours nor asyncio's. Most of
    asyncio's frames are known by their variables: what is asked for code, or for an id, is told to audit hooks."""
    is_asyncio = AsyncioFiles(folder + os.sep)
    event_loops = getattr(sys.modules.get("asyncio.base_events"), "__dict__", tasks)
    references, remove, getframe = register.data, register._remove, sys._getframe
    removed_meanwhile = getattr(register, "_pending_removals", ())

    def add(task: Any) -> None:
        if removed_meanwhile:
            register._commit_removals()
        note = TaskNote(task, remove)
        note.number, note.code = _known_number(task) if _late_notes else next(_numbers), None
        frame: Any = getframe(1)
        while frame is not None:
            variables = frame.f_globals
            if variables is not tasks and variables is not event_loops:
                code = frame.f_code
                if not is_asyncio[code.co_filename]:
                    note.code, note.offset = code, frame.f_lasti
                    break
            frame = frame.f_back
        references.add(note)

    pydevd_parts.hide_functions(add)
    return add


def _is_asyncio(module: Any) -> bool:
    return type(module) is str and (module == "asyncio" or module.startswith("asyncio."))


def list_tasks(start: int, count: int) -> TaskPage:
    found = _program_tasks()
    return {"tasks": [_task_row(task) for task in found[start : start + count]], "total": len(found)}


def pending_tasks() -> Iterator[Tuple[Any, int, str, List[FrameType]]]:
    """Yield tasks that are not finished and do not run now: number, name, and frames, the innermost first."""
    for task in _program_tasks():
        if not _is_done(task) and not _is_current(task):
            frames = _awaiting_frames(raw.read_attribute(task, "_coro"))
            if frames:
                yield task, _note_of(task).number, task_name(task), frames


def _program_tasks() -> List[Any]:
    """Return unfinished tasks first, each kind in the order in which they were made, as far as that is known."""
    asyncio, module = raw.loaded_module("asyncio"), raw.loaded_module(TASKS_MODULE)
    if asyncio is None or module is None:
        return []
    # Those of our own threads are of evaluations that await something.
    threads = ((task, _thread_of(task)) for task in _find_all(asyncio, module))
    found = [task for task, thread in threads if not raw.read_attribute(thread, "is_pydev_daemon_thread")]
    return sorted(found, key=lambda task: (_is_done(task), _note_of(task).number))


def _find_all(asyncio: Any, module: Any) -> List[Any]:
    global _notes
    registers = [getattr(module, name, ()) for name in (*TASK_REGISTERS, "_eager_tasks")]
    known = [note() for note in list(_late_notes.values())]
    tasks = {id(task): task for task in chain(known, *map(_copied, registers)) if task is not None}
    references = [_copied(getattr(register, "data", ())) for register in registers]
    notes = ((note(), note) for note in chain(*references) if type(note) is TaskNote)
    _notes = {id(task): note for task, note in notes if task is not None}
    if TASKS_ARE_IN_C:
        for loop in {id(loop): loop for loop in map(_loop_of, tasks.values()) if loop is not None}.values():
            tasks.update((id(task), task) for task in asyncio.all_tasks(loop))
    return list(tasks.values())


def _copied(register: Any) -> List[Any]:
    """Copy what the program's threads go on changing."""
    for _ in range(MOST_TRIES):
        try:
            return list(register)
        except RuntimeError:
            continue
    return []


def _loop_of(task: Any) -> object:
    return raw.read_attribute(task, "_loop")


def _thread_of(task: Any) -> Optional[threading.Thread]:
    loop = _loop_of(task)
    ident = raw.read_attribute(loop, "_thread_id")
    if type(ident) is not int:
        ident = _thread_running(loop)
    return threading._active.get(ident) if ident is not None else None  # type: ignore[attr-defined]


def _thread_running(loop: object) -> Optional[int]:
    """Find the thread of a loop that does not tell, such as uvloop's.

    asyncio's own functions at the bottom of the thread know their loop."""
    for ident, top in sys._current_frames().items() if loop is not None else ():
        for frame in outward_frames(top):
            if _is_asyncio(module_name(frame)):
                values = raw.plain_variables(frame.f_locals) or {}
                if values.get("loop") is loop or _loop_of(values.get("self")) is loop:
                    return ident
    return None


def _task_row(task: Any) -> TaskRow:
    note = _note_of(task)
    thread = _thread_of(task)
    is_current = _is_current(task)
    coroutine = raw.read_attribute(task, "_coro")
    row: TaskRow = {"id": note.number, "name": task_name(task), "state": _shown_state(task, is_current)}
    row["coroutine"] = _bounded_text(raw.read_attribute(coroutine, "__qualname__", raw.type_name(coroutine)))
    row["awaiting"] = [frame_place(frame) for frame in _current_frames(task, coroutine, thread)]
    row["waits_for"] = None if _is_done(task) or is_current else waits_for(task)
    row["created"] = _creation_place(task, note)
    row["thread_id"], row["is_current"] = _dap_id(thread), is_current
    return row


def _is_current(task: Any) -> bool:
    """Compare by identity: a program's own loop may have any __hash__."""
    current = raw.read_attribute(raw.loaded_module(TASKS_MODULE), "_current_tasks")
    if type(current) is dict:
        return any(each is task for each in list(current.values()))
    try:
        return raw.loaded_module("asyncio").current_task(_loop_of(task)) is task
    except Exception:
        return False


def task_name(task: Any) -> str:
    kind = type(task)
    known = _name_readers.get(id(kind))
    if known is None:
        if len(_name_readers) >= MOST_CLASSES:
            _name_readers.clear()
        known = _name_readers[id(kind)] = (kind, _find_name_reader(kind))
    read = known[1]
    return _bounded_text(raw.read_attribute(task, "_name") if read is None else read(task))


def _find_name_reader(kind: type) -> Optional[Callable[[Any], Any]]:
    """Return what reads the names of tasks of a class in C, which have no other way."""
    found = (raw.class_dict(base).get("get_name") for base in raw.class_mro(kind))
    return next((each for each in found if type(each) is MethodDescriptorType), None)


def _bounded_text(value: Any) -> str:
    return encodable(clip(value, TEXT_LIMIT)[0]) if type(value) is str else ""


def _is_done(task: Any) -> bool:
    return _stored_state(task) != PENDING


def _stored_state(task: Any) -> str:
    """Return the state that a task has. A class of the program may be registered as a task, and have anything there."""
    state = raw.read_attribute(task, "_state", PENDING)
    return state if type(state) is str else PENDING


def _shown_state(task: Any, is_current: bool) -> str:
    state = _stored_state(task)
    if state == "CANCELLED":
        return "cancelled"
    if state != PENDING:
        # Not by exception(): that would count as having looked at it, and asyncio would not tell of it any more.
        return "finished" if raw.read_attribute(task, "_exception") is None else "failed"
    return "running" if is_current else "pending"


def _frame_and_awaited(awaited: Any) -> Tuple[Optional[FrameType], Any]:
    """Return the frame of something that is awaited, and what that awaits in turn."""
    for frame_name, next_name in ("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"):
        frame = raw.read_attribute(awaited, frame_name)
        if type(frame) is FrameType:
            return frame, raw.read_attribute(awaited, next_name)
    return None, None


def task_stack(number: int) -> TaskStack:
    """Return the frames of a task as DAP describes them; None if there is no such task any more."""
    task = next((task for task in _program_tasks() if _note_of(task).number == number), None)
    if task is None:
        return {"frames": None}
    thread = _thread_of(task)
    frames = _current_frames(task, raw.read_attribute(task, "_coro"), thread)
    return {"thread_id": _dap_id(thread), "frames": [_frame_row(frame) for frame in frames]}


def _frame_row(frame: FrameType) -> FrameRow:
    where = frame_place(frame)
    row: FrameRow = {"id": to_dap(id(frame)), "name": where["function"], "line": where["line"], "column": 1}
    row["source"] = {"path": where["path"]}
    if not pydevd_parts.pydevd.get_global_debugger().in_project_scope(frame):
        row["presentationHint"] = "subtle"
    return row


def _current_frames(task: Any, coroutine: Any, thread: Any) -> List[FrameType]:
    is_current = thread is not None and _is_current(task)
    return _running_frames(coroutine, thread) if is_current else _awaiting_frames(coroutine)


def _awaiting_frames(coroutine: Any) -> List[FrameType]:
    """Return the frames of coroutines that await each other, the innermost first."""
    found: List[FrameType] = []
    while coroutine is not None and len(found) < DEEPEST_CHAIN:
        frame, coroutine = _frame_and_awaited(coroutine)
        if frame is None:
            break
        found.insert(0, frame)
    return found


def frame_place(frame: FrameType) -> PlaceRow:
    code = frame.f_code
    return _place_row(code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_name)


def _running_frames(coroutine: Any, thread: Any) -> List[FrameType]:
    """Return the frames of a task that runs right now: they are in its thread's stack, above the coroutine."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    outermost, _ = _frame_and_awaited(coroutine)
    found: List[FrameType] = []
    for frame in outward_frames(sys._current_frames().get(raw.read_attribute(thread, "_ident"))):
        if len(found) == DEEPEST_CHAIN:
            break
        if py_db.get_file_type(frame) == py_db.PYDEV_FILE or is_debugger_file(frame.f_code.co_filename):
            found.clear()  # what is above belongs to the debugger, which halts the thread there
        else:
            found.append(frame)
        if frame is outermost:
            return found
    return _awaiting_frames(coroutine)  # it has gone on meanwhile


def _place_row(path: str, line: int, function: str) -> PlaceRow:
    shown = path if path.startswith("<") else os.path.abspath(path)
    return {"path": encodable(shown), "line": line, "function": encodable(function)}


def waits_for(task: Any) -> str:
    waiter = raw.read_attribute(task, "_fut_waiter")
    if waiter is None:
        return "its turn"
    if raw.is_a(waiter, raw.loaded_module("asyncio").Task):
        note = _find_note(waiter)
        return "task %d '%s'" % (note.number if note else 0, task_name(waiter))
    children = raw.read_attribute(waiter, "_children")
    if type(children) is list:
        return "%d of %d gathered tasks" % (sum(not _is_done(child) for child in children), len(children))
    frames = _awaiting_frames(raw.read_attribute(task, "_coro"))
    if not frames or not _is_asyncio(module_name(frames[0])):
        return "a future"
    name, values = frames[0].f_code.co_name, raw.plain_variables(frames[0].f_locals) or {}
    if name == "sleep" and raw.is_one_of(values.get("delay"), (int, float)):
        return "sleep(%s)" % clip(repr(values["delay"]), 30)[0]
    owner = raw.type_name(values["self"]) + "." if "self" in values else ""
    return "%s%s" % (owner, name)


def _creation_place(task: Any, note: TaskNote) -> Optional[PlaceRow]:
    code = note.code
    if code is not None:
        line = lines_by_unit(code)[note.offset // 2] or code.co_firstlineno
        return _place_row(code.co_filename, line, code.co_name)
    stack = raw.read_attribute(task, "_source_traceback")  # in asyncio's debug mode
    for entry in list.__reversed__(stack) if raw.is_a(stack, list) else ():
        if type(entry) is FrameSummary and os.path.basename(os.path.dirname(entry.filename)) != "asyncio":
            return _place_row(entry.filename, entry.lineno or 0, entry.name)
    return None


def _dap_id(thread: Any) -> Optional[int]:
    if thread is None:
        return None
    return to_dap(raw.read_attribute(thread, "__pydevd_id__") or pydevd_parts.get_thread_id(thread))
