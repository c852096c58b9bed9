"""The program's asyncio tasks: what they do, what they wait for, where they were made.

Nothing here imports asyncio: a program that does not use it is left alone. In one that does, the set in which asyncio
registers its tasks is told to note where each was made.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import sys
import threading
import weakref
from traceback import FrameSummary
from types import FrameType, MethodDescriptorType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import of_pydevd, raw
from .returned import is_debugger_file
from .texts import clip, encodable

MODULE = "asyncio.tasks"
REGISTERS = ("_all_tasks", "_scheduled_tasks")
"""where asyncio keeps its tasks, up to 3.11 and from 3.12 on"""
PENDING = "PENDING"
DEEPEST = 50
TEXT = 200
TRIES = 100


Place = Tuple[str, int, str]
"""path, line and function"""


class Made(weakref.ref):  # type: ignore[type-arg]
    """A task that we know: its number, and where it was made if we saw that."""

    __slots__ = ("key", "number", "place")

    def __new__(cls, task: Any, place: Optional[Place]) -> Made:
        return super().__new__(cls, task, _forget)

    def __init__(self, task: Any, place: Optional[Place]) -> None:
        super().__init__(task, _forget)  # type: ignore[call-arg]
        self.key = id(task)
        self.number = next(_numbers)
        self.place = place


def _forget(made: Any) -> None:
    _made.pop(made.key, None)


_numbers = itertools.count(1)
_made: Dict[int, Made] = {}


def install() -> None:
    _hide(OnImport.find_spec, _execute, _note, _maker, _is_asyncio, _forget, Made.__new__, Made.__init__)
    if MODULE in sys.modules:
        _watch(sys.modules[MODULE])
    else:
        sys.meta_path.insert(0, OnImport())


def _hide(*functions: Any) -> None:
    """They run on the program's threads, but steps do not go into pydevd's own files."""
    from _pydevd_bundle import pydevd_utils

    for function in functions:
        function.__code__ = function.__code__.replace(co_filename=pydevd_utils.__file__)


class OnImport:
    """Waits for asyncio to be imported, then is gone."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != MODULE or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader: Any = spec and spec.loader
        if hasattr(loader, "exec_module"):
            loader.exec_module = functools.partial(_execute, loader)
        return spec


def _execute(loader: Any, module: Any) -> None:
    del loader.exec_module
    loader.exec_module(module)
    _watch(module)


def _watch(module: Any) -> None:
    for name in REGISTERS:
        register = getattr(module, name, None)
        original = getattr(register, "add", None)
        if register is None or original is None or "add" in vars(register):
            continue

        def add(task: Any, original: Any = original) -> None:
            original(task)
            _note(task)

        _hide(add)
        register.add = add


def _note(task: Any) -> None:
    known = _made.get(id(task))
    if known is None or known() is not task:
        _made[id(task)] = Made(task, _maker())


def _maker() -> Optional[Place]:
    """The innermost frame that is neither ours nor asyncio's."""
    frame: Any = sys._getframe(3)
    while frame is not None:
        if not _is_asyncio(dict.get(frame.f_globals, "__name__")):
            return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
    return None


def _module(frame: Any) -> Any:
    """Its name; code may be executed in a dict of a class of its own, which is not asked."""
    return (raw.plain_variables(frame.f_globals) or {}).get("__name__")


def _is_asyncio(module: Any) -> bool:
    return type(module) is str and (module == "asyncio" or module.startswith("asyncio."))


def listed(start: int, count: int) -> Dict[str, Any]:
    """Unfinished tasks first, each kind in the order in which they were made, as far as that is known."""
    asyncio, module = raw.module("asyncio"), raw.module(MODULE)
    if asyncio is None or module is None:
        return {"tasks": [], "total": 0}
    found = [task for task in _all(asyncio, module) if not _is_ours(task)]
    for task in found:
        if id(task) not in _made:
            _made[id(task)] = Made(task, None)
    found.sort(key=lambda task: (_is_done(task), _made[id(task)].number))
    shown = found[start : start + count]
    return {"tasks": [_described(asyncio, task) for task in shown], "total": len(found)}


def pending() -> Iterator[Tuple[Any, int, str, List[Any]]]:
    """Those that are not finished and do not run now: number, name, and frames, the innermost first."""
    asyncio, module = raw.module("asyncio"), raw.module(MODULE)
    if asyncio is None or module is None:
        return
    listed(0, 0)  # numbers those that are new
    found = [(_made[id(task)].number, task) for task in _all(asyncio, module) if id(task) in _made]
    for number, task in sorted(found, key=lambda each: each[0]):
        if not _is_ours(task) and not _is_done(task) and not _is_current(asyncio, task):
            frames = _frames(raw.read(task, "_coro"))
            if frames:
                yield task, number, _name(task), frames


def waits_for(task: Any) -> str:
    return _waits_for(raw.module("asyncio"), task, raw.read(task, "_coro"))


def _all(asyncio: Any, module: Any) -> List[Any]:
    tasks: Dict[int, Any] = {}
    for name in (*REGISTERS, "_eager_tasks"):
        for task in _copied(getattr(module, name, ())):
            tasks[id(task)] = task
    for made in list(_made.values()):
        task = made()
        if task is not None:
            tasks[id(task)] = task
    if sys.version_info >= (3, 14):  # its C tasks are in a list that only asyncio itself can read
        for loop in {id(loop): loop for loop in map(_loop, tasks.values()) if loop is not None}.values():
            for task in asyncio.all_tasks(loop):
                tasks[id(task)] = task
    return list(tasks.values())


def _copied(tasks: Any) -> List[Any]:
    """The program's threads go on changing them."""
    for _ in range(TRIES):
        try:
            return list(tasks)
        except RuntimeError:
            continue
    return []


def _loop(task: Any) -> Any:
    return raw.read(task, "_loop")


def _thread_of(task: Any) -> Any:
    loop = _loop(task)
    ident = raw.read(loop, "_thread_id")
    if type(ident) is not int:
        ident = _thread_running(loop)
    return threading._active.get(ident) if ident is not None else None  # type: ignore[attr-defined]


def _thread_running(loop: Any) -> Optional[int]:
    """For loops that do not tell, such as uvloop's: asyncio's own functions at the bottom of its thread know it."""
    for ident, top in sys._current_frames().items() if loop is not None else ():
        frame: Any = top
        while frame is not None:
            if _is_asyncio(_module(frame)):
                values = raw.plain_variables(frame.f_locals) or {}
                if values.get("loop") is loop or raw.read(values.get("self"), "_loop") is loop:
                    return ident
            frame = frame.f_back
    return None


def _is_ours(task: Any) -> bool:
    """Of an evaluation that awaits something."""
    return bool(raw.read(_thread_of(task), "is_pydev_daemon_thread"))


def _described(asyncio: Any, task: Any) -> Dict[str, Any]:
    made = _made.get(id(task))
    thread = _thread_of(task)
    is_current = _is_current(asyncio, task)
    coroutine = raw.read(task, "_coro")
    chain = [spot(frame) for frame in _current_frames(task, coroutine, thread)]
    return {
        "id": made.number if made else 0,
        "name": _name(task),
        "state": _state(task, is_current),
        "coroutine": _text(raw.read(coroutine, "__qualname__", raw.type_name(coroutine))),
        "awaiting": [place(*frame) for frame in chain],
        "waits_for": None if _is_done(task) or is_current else _waits_for(asyncio, task, coroutine),
        "created": _created(task, made),
        "thread_id": _dap_id(thread),
        "is_current": is_current,
    }


def _is_current(asyncio: Any, task: Any) -> bool:
    """By identity: a program's own loop may have any __hash__."""
    current = raw.read(raw.module(MODULE), "_current_tasks")
    if type(current) is dict:
        return any(each is task for each in list(current.values()))
    try:
        return asyncio.current_task(_loop(task)) is task
    except Exception:
        return False


def _name(task: Any) -> str:
    for base in raw.mro(type(task)):
        found = raw.class_dict(base).get("get_name")
        if type(found) is MethodDescriptorType:  # tasks in C have no other way
            return _text(found(task))
    return _text(raw.read(task, "_name"))


def _text(value: Any) -> str:
    return encodable(clip(value, TEXT)[0]) if type(value) is str else ""


def _is_done(task: Any) -> bool:
    return _stage(task) != PENDING


def _stage(task: Any) -> str:
    """A class of the program may be registered as a task, and have anything there."""
    state = raw.read(task, "_state", PENDING)
    return state if type(state) is str else PENDING


def _state(task: Any, is_current: bool) -> str:
    state = _stage(task)
    if state == "CANCELLED":
        return "cancelled"
    if state != PENDING:
        # Not by exception(): that would count as having looked at it, and asyncio would not tell of it any more.
        return "finished" if raw.read(task, "_exception") is None else "failed"
    return "running" if is_current else "pending"


KINDS = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))


def _inside(awaited: Any) -> Tuple[Any, Any]:
    """The frame of something that is awaited, and what that awaits in turn."""
    for frame_name, next_name in KINDS:
        frame = raw.read(awaited, frame_name)
        if type(frame) is FrameType:
            return frame, raw.read(awaited, next_name)
    return None, None


def stack(number: int) -> Dict[str, Any]:
    """The frames of a task as DAP describes them; None if there is no such task any more."""
    listed(0, 0)  # numbers those that are new
    task = next((made() for made in list(_made.values()) if made.number == number), None)
    if task is None:
        return {"frames": None}
    thread = _thread_of(task)
    frames = _current_frames(task, raw.read(task, "_coro"), thread)
    return {"thread_id": _dap_id(thread), "frames": [_told(frame) for frame in frames]}


def _told(frame: Any) -> Dict[str, Any]:
    where = place(*spot(frame))
    is_own = of_pydevd.pydevd.get_global_debugger().in_project_scope(frame)
    return {
        "id": of_pydevd.BaseSchema._translate_id_to_dap(id(frame)),
        "name": where["function"],
        "source": {"path": where["path"]},
        "line": where["line"],
        "column": 1,
        **({} if is_own else {"presentationHint": "subtle"}),
    }


def _current_frames(task: Any, coroutine: Any, thread: Any) -> List[Any]:
    is_current = thread is not None and _is_current(raw.module("asyncio"), task)
    return _running(coroutine, thread) if is_current else _frames(coroutine)


def _frames(coroutine: Any) -> List[Any]:
    """Of coroutines that await each other, the innermost first."""
    found: List[Any] = []
    while coroutine is not None and len(found) < DEEPEST:
        frame, coroutine = _inside(coroutine)
        if frame is None:
            break
        found.insert(0, frame)
    return found


def spot(frame: Any) -> Place:
    return frame.f_code.co_filename, frame.f_lineno or frame.f_code.co_firstlineno, frame.f_code.co_name


def _running(coroutine: Any, thread: Any) -> List[Any]:
    """What runs right now is in its thread's stack, above the coroutine."""
    py_db = of_pydevd.pydevd.get_global_debugger()
    outermost, _ = _inside(coroutine)
    frame = sys._current_frames().get(raw.read(thread, "_ident"))
    found: List[Any] = []
    while frame is not None and len(found) < DEEPEST:
        if py_db.get_file_type(frame) == py_db.PYDEV_FILE or is_debugger_file(frame.f_code.co_filename):
            found.clear()  # what is above belongs to the debugger, which halts the thread there
        else:
            found.append(frame)
        if frame is outermost:
            return found
        frame = frame.f_back
    return _frames(coroutine)  # it has gone on meanwhile


def place(path: str, line: int, function: str) -> Dict[str, Any]:
    shown = path if path.startswith("<") else os.path.abspath(path)
    return {"path": encodable(shown), "line": line, "function": encodable(function)}


def _waits_for(asyncio: Any, task: Any, coroutine: Any) -> str:
    waiter = raw.read(task, "_fut_waiter")
    if waiter is None:
        return "its turn"
    if raw.is_a(waiter, asyncio.Task):
        made = _made.get(id(waiter))
        return "task %d '%s'" % (made.number if made else 0, _name(waiter))
    children = raw.read(waiter, "_children")
    if type(children) is list:
        return "%d of %d gathered tasks" % (sum(not _is_done(child) for child in children), len(children))
    frames = _frames(coroutine)
    return _known_wait(frames[0]) if frames and _is_asyncio(_module(frames[0])) else "a future"


def _known_wait(frame: Any) -> str:
    """By the function of asyncio that waits."""
    name, values = frame.f_code.co_name, raw.plain_variables(frame.f_locals) or {}
    if name == "sleep" and raw.is_one_of(values.get("delay"), (int, float)):
        return "sleep(%s)" % clip(repr(values["delay"]), 30)[0]
    owner = raw.type_name(values["self"]) + "." if "self" in values else ""
    return "%s%s" % (owner, name)


def _created(task: Any, made: Optional[Made]) -> Optional[Dict[str, Any]]:
    if made is not None and made.place is not None:
        return place(*made.place)
    stack = raw.read(task, "_source_traceback")  # in asyncio's debug mode
    for entry in list.__reversed__(stack) if raw.is_a(stack, list) else ():
        if type(entry) is FrameSummary and os.path.basename(os.path.dirname(entry.filename)) != "asyncio":
            return place(entry.filename, entry.lineno or 0, entry.name)
    return None


def _dap_id(thread: Any) -> Optional[int]:
    if thread is None:
        return None
    known = raw.read(thread, "__pydevd_id__") or of_pydevd.get_thread_id(thread)
    number: int = of_pydevd.BaseSchema._translate_id_to_dap(known)
    return number
