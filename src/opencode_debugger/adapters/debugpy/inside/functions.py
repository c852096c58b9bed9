"""Breakpoints on functions, by name: found when their code is loaded, set on the first line inside.

debugpy's own know only bare names, stop on the `def` line, and before 3.12 not at all in generators and coroutines.
Here the code of every module is looked through just before it runs (an audit hook sees it), and code that was loaded
before is found by its functions. What is found becomes a breakpoint on a line; whether a frame on that line has just
entered the function is decided when it gets there.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from functools import lru_cache, partial
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from . import breakpoints
from .names import MISSING, Name, code_tree, file_of, first_line, function_code, qualified, same_method
from .returned import is_debugger_file

FIRST_ID = 1000000000
"""Ids of function breakpoints begin here, those of combinations of breakpoints on one line at twice that."""
FOLDER = os.path.dirname(__file__) if "__file__" in globals() else "<ocdb"
"""Our own code: in a program that was attached to, it is not in files."""
ENTERED = "__ocdb_entered__"
"""Marks a frame of a function that begins with a loop."""
PLACES_TOLD = 20

Place = Tuple[str, int]
"""file as pydevd knows it, and line"""


class Wanted:
    """One function breakpoint."""

    def __init__(self, number: int, function: str, file: Optional[str]) -> None:
        self.number = number
        self.name = Name(function)
        self.file = file
        self.canonical_file = None if file is None else _canonical(file)
        self.places: Dict[Place, str] = {}
        """where it stops; the file as the program names it"""
        self.is_filtered = False
        """found only in files that are left out of debugging"""
        self.obstacle: Optional[str] = None
        """what has that name instead of a function of Python: a class, or anything else"""

    def describe(self) -> Dict[str, Any]:
        found = [{"path": path, "line": line} for (_, line), path in self.places.items()]
        return {
            "number": self.number,
            "places": found[:PLACES_TOLD],
            "total": len(found),
            "filtered": self.is_filtered,
            "obstacle": self.obstacle,
        }

    def look_up(self) -> Any:
        """The code of what a module has under that name by now; if that is something else, it is noted."""
        found = MISSING if self.places else self.name.exported()
        if found is MISSING or issubclass(type(found), ModuleType):  # which a function of its name may replace
            return None
        code = function_code(found, self.name.last)
        self.obstacle = None if code is not None else "class" if issubclass(type(found), type) else "native"
        return code


class Entry(NamedTuple):
    """A function at a place: what its frame looks like when it has just been entered."""

    wanted: Wanted
    code: Any
    offset: int
    loops: bool
    """it may come back to where it began"""
    check: Optional[Callable[[Any], bool]]
    """what only a call can tell: its module, or the class that it is called on"""

    def is_entered(self, frame: Any) -> bool:
        code = frame.f_code
        if code is not self.code and _key(code) != _key(self.code):
            return False
        if frame.f_lasti > self.offset or (self.check is not None and not self.check(frame)):
            return False
        if self.loops:
            if ENTERED in frame.f_locals:
                return False
            frame.f_locals[ENTERED] = True
        return True


def _key(code: Any) -> Any:
    return code.co_name, code.co_firstlineno, code.co_filename


_wanted: Dict[int, Wanted] = {}
_entries: Dict[Place, List[Entry]] = {}
_unapplied: Set[str] = set()
"""files with entries of which pydevd does not know yet"""
_by_index: List[Place] = []
"""Conditions name a place by its number here."""
_send: Any = None
_busy = threading.local()
_listens = False
_hit: Dict[int, int] = {}
"""by thread: the id under which it stops"""
_together: Dict[Tuple[int, ...], int] = {}


def install(send: Callable[[str, Dict[str, Any]], None]) -> None:
    """Patches pydevd's classes: when it sets the line breakpoints of a file, ours are put back over them, and lines
    stay what the relay, which has checked them, says."""
    global _send
    _send = send
    import pydevd
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    consolidate = pydevd.PyDB.consolidate_breakpoints
    remove_all = PyDevdAPI.remove_all_breakpoints
    disconnect = PyDevdAPI.request_disconnect
    add = PyDevdAPI.add_breakpoint

    def add_breakpoint(self: Any, *args: Any, **kwargs: Any) -> Any:
        """It would move lines to those with code in the file of now; what runs may be an earlier version of it."""
        return add(self, *args, **({**kwargs, "adjust_line": False} if "adjust_line" in kwargs else kwargs))

    def consolidate_breakpoints(self: Any, file: str, by_id: Any, by_file: Any) -> None:
        consolidate(self, file, by_id, by_file)
        if by_file is self.breakpoints and any(place[0] == file for place in list(_entries)):
            by_file[file] = _overlaid(self, file, by_file[file])

    def remove_all_breakpoints(self: Any, py_db: Any, received_filename: str) -> None:
        remove_all(self, py_db, received_filename)
        for file in {place[0] for place in list(_entries)}:
            if file not in py_db.breakpoints:
                py_db.breakpoints[file] = _overlaid(py_db, file, {})
        if _entries:
            py_db.on_breakpoints_changed()

    def request_disconnect(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Nobody is there any more who would let the program go on."""
        clear()
        return disconnect(self, *args, **kwargs)

    PyDevdAPI.add_breakpoint = add_breakpoint
    PyDevdAPI.request_disconnect = request_disconnect
    pydevd.PyDB.consolidate_breakpoints = consolidate_breakpoints
    PyDevdAPI.remove_all_breakpoints = remove_all_breakpoints


def clear() -> None:
    _wanted.clear()
    _entries.clear()
    _unapplied.clear()


def define(functions: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """From now on these and no others; answers where each of them is."""
    import pydevd

    py_db = pydevd.get_global_debugger()
    specs = {item["number"]: (item["function"], item["file"]) for item in functions}
    for number, wanted in list(_wanted.items()):
        if specs.get(number) != (wanted.name.text, wanted.file):
            _forget(number)
    new = [Wanted(number, *spec) for number, spec in specs.items() if number not in _wanted]
    _wanted.update((wanted.number, wanted) for wanted in new)
    if new:
        _listen()
        _look_around(py_db, new)
    _apply(py_db)
    return [_wanted[number].describe() for number in specs]


def _forget(number: int) -> None:
    del _wanted[number]
    for place, entries in list(_entries.items()):
        _unapplied.add(place[0])
        _entries[place] = [entry for entry in entries if entry.wanted.number != number]
        if not _entries[place]:
            del _entries[place]


# Finding.


def _listen() -> None:
    """Hears of all code before it runs. A hook cannot be taken away: without function breakpoints it does nothing."""
    global _listens
    if not _listens:
        _listens = True
        sys.addaudithook(_heard)


def _heard(event: str, args: Any) -> None:
    if not _wanted or event not in ("exec", "function.__new__") or getattr(_busy, "now", False):
        return
    _busy.now = True
    try:
        _loaded(event, args[0])
    except Exception:
        pass  # whatever it is, the program's own code runs on
    finally:
        _busy.now = False


def _loaded(event: str, code: Any) -> None:
    import pydevd

    py_db = pydevd.get_global_debugger()
    if py_db is None or py_db.pydb_disposed or not hasattr(code, "co_consts"):
        return
    names = {wanted.name.last for wanted in _wanted.values()}
    found: Dict[int, Wanted] = {}
    root = None if event == "exec" else qualified(code)
    for inner, qualname in code_tree(code, root, names):
        found.update((each.number, each) for each in _consider(py_db, inner, qualname, None, list(_wanted.values())))
    found.update((each.number, each) for each in _look_up(py_db, list(_wanted.values())))
    _apply(py_db)
    for number in sorted(found):
        _send("function", found[number].describe())


def _look_around(py_db: Any, wanted: List[Wanted]) -> None:
    """What is loaded already: the code of functions, and of modules that are just being executed."""
    names = {each.name.last for each in wanted}
    for function in [item for item in gc.get_objects() if type(item) is FunctionType]:
        code = function.__code__
        module = function.__globals__.get("__name__")
        for inner, qualname in code_tree(code, qualified(code, function), names):
            _consider(py_db, inner, qualname, module, wanted)
    for frame in list(sys._current_frames().values()):
        at: Any = frame
        while at is not None:
            if at.f_code.co_name == "<module>":
                for inner, qualname in code_tree(at.f_code, None, names):
                    _consider(py_db, inner, qualname, at.f_globals.get("__name__"), wanted)
            at = at.f_back
    for each in wanted:
        for code in each.name.inherited():
            if _is_in_file(each, code):
                _add(py_db, each, code, partial(same_method, each.name), is_found=True)
    _look_up(py_db, wanted)


def _look_up(py_db: Any, wanted: List[Wanted]) -> List[Wanted]:
    """Those of which there is news: what modules have imported from others is known when they have been executed."""
    news = []
    for each in wanted:
        before = each.obstacle
        code = each.look_up()
        is_new = code is not None and _is_in_file(each, code) and _add(py_db, each, code, None)
        if is_new or each.obstacle != before:
            news.append(each)
    return news


def _consider(py_db: Any, code: Any, qualname: str, module: Optional[str], wanted: List[Wanted]) -> List[Wanted]:
    """Those that mean this code, or may mean it: a call will tell."""
    found = []
    for each in wanted:
        name = each.name
        if name.last != code.co_name or not _is_in_file(each, code) or _is_debugger(code):
            continue
        is_own = each.file is not None or _is_own(py_db, code)
        modules = {module} if module else _modules_of(code.co_filename)
        how = name.match(qualname, modules, code.co_filename, is_own)
        if how == "yes" and _add(py_db, each, code, None):
            found.append(each)
        elif how == "module":
            _add(py_db, each, code, partial(_is_in_module, name, qualname, is_own))
        elif how == "export" and (name.is_in_package(modules) or not _is_filtered(py_db, code, _paths(code)[0])):
            _add(py_db, each, code, partial(_is_exported, name))
        elif how == "class":
            _add(py_db, each, code, partial(same_method, name))
    return found


def _is_in_module(name: Name, qualname: str, is_own: bool, frame: Any) -> bool:
    module = frame.f_globals.get("__name__")
    return name.is_in_module(module, qualname, is_own) or name.is_exported(frame.f_code)


def _is_exported(name: Name, frame: Any) -> bool:
    return name.is_exported(frame.f_code)


def _is_own(py_db: Any, code: Any) -> bool:
    frame = SimpleNamespace(f_code=code, f_back=None, f_globals={}, f_locals={})
    return bool(py_db.in_project_scope(frame))


def _is_debugger(code: Any) -> bool:
    import debugpy

    own = (FOLDER, os.path.dirname(debugpy.__file__))
    return bool(code.co_filename.startswith(own) or code.co_filename.endswith("debugpy_launcher.py"))


def _is_in_file(wanted: Wanted, code: Any) -> bool:
    return wanted.canonical_file is None or _paths(code)[1] == wanted.canonical_file


def _paths(code: Any) -> Any:
    """As the program names it, and as pydevd knows it."""
    from pydevd_file_utils import get_abs_path_real_path_and_base_from_file

    return get_abs_path_real_path_and_base_from_file(code.co_filename)


def _canonical(path: str) -> str:
    from pydevd_file_utils import canonical_normalized_path

    return str(canonical_normalized_path(path))


def _modules_of(filename: str) -> Set[str]:
    found = set()
    for name, module in list(sys.modules.items()):
        if file_of(module) == filename:
            found.add(name)
    return found


def _add(py_db: Any, wanted: Wanted, code: Any, check: Optional[Callable[[Any], bool]], is_found: bool = False) -> bool:
    """Whether it is news that it is there."""
    start = first_line(code)
    if start is None:
        return False
    line, offset, loops = start
    shown, file = _paths(code)[:2]
    place = (file, line)
    if _is_filtered(py_db, code, shown):
        wanted.is_filtered = True
        return False
    known = _entries.setdefault(place, [])
    known[:] = [entry for entry in known if entry.wanted is not wanted or _key(entry.code) != _key(code)]
    known.append(Entry(wanted, code, offset, loops, check))
    _unapplied.add(file)
    if (check is not None and not is_found) or place in wanted.places:
        return False
    wanted.places[place] = shown
    return True


def _is_filtered(py_db: Any, code: Any, path: str) -> bool:
    frame = SimpleNamespace(f_code=code, f_back=None, f_globals={}, f_locals={})
    if py_db.get_file_type(frame, _paths(code)) is not None:  # such as threading: it stops itself there
        return True
    return bool(py_db.is_files_filter_enabled and py_db.apply_files_filter(frame, path, False))


# Stopping.


def _apply(py_db: Any) -> None:
    """Tells pydevd. What the relay set on lines of these files stays as it is."""
    files = list(_unapplied)
    _unapplied.difference_update(files)
    for file in files:
        by_id = py_db.file_to_id_to_line_breakpoint.get(file, {})
        by_line = {known.line: known for known in by_id.values()}
        py_db.breakpoints[file] = _overlaid(py_db, file, by_line)
    if files:
        py_db._clear_caches()
        py_db.on_breakpoints_changed()


def _overlaid(py_db: Any, file: str, by_line: Dict[int, Any]) -> Dict[int, Any]:
    merged = dict(by_line)
    for place in list(_entries):
        if place[0] == file:
            merged[place[1]] = _breakpoint(py_db, place, by_line.get(place[1]))
    return merged


def _breakpoint(py_db: Any, place: Place, below: Any) -> Any:
    if place not in _by_index:
        _by_index.append(place)
    condition = "__import__('_ocdb').hit_function(%d)" % _by_index.index(place)
    policy = "ALL" if py_db.multi_threads_single_notification else "NONE"
    made = _combined()(0, place[1], condition, "None", None, policy)
    made.below = below
    return made


@lru_cache(maxsize=None)
def _combined() -> Any:
    from _pydevd_bundle.pydevd_breakpoints import LineBreakpoint

    class Combined(LineBreakpoint):  # type: ignore[misc]
        """All that may stop on a line. Its id says for whom it did: pydevd asks for it after the condition."""

        @property
        def breakpoint_id(self) -> int:
            return _hit.get(threading.get_ident(), 0)

        @breakpoint_id.setter
        def breakpoint_id(self, value: int) -> None:
            pass

    return Combined


def hit(index: int, scope: Any) -> bool:
    """Whether the program stops there. `scope` is the frame in which pydevd evaluates the condition."""
    asking = scope.f_back.f_locals
    frame, made = asking["new_frame"], asking["pybreakpoint"]
    ids: List[int] = []
    below = made.below
    if below is not None and (not below.condition or eval(below.condition, scope.f_globals, scope.f_locals)):
        ids.append(below.breakpoint_id)
    place = _by_index[index]
    for entry in _entries.get(place, ()):
        if entry.is_entered(frame) and _is_called_by_program(frame):
            _confirm(entry, place)
            if breakpoints.hit(entry.wanted.number, scope, _send):
                ids.append(FIRST_ID + entry.wanted.number)
    if ids:
        _hit[threading.get_ident()] = ids[0] if len(ids) == 1 else _combination(tuple(ids))
    return bool(ids)


def _is_called_by_program(frame: Any) -> bool:
    """The debugger uses the standard library too, on threads of the program and before its first line."""
    import pydevd

    py_db = pydevd.get_global_debugger()
    called, caller = frame, frame.f_back
    while caller is not None and not _is_own(py_db, called.f_code):
        file = caller.f_code.co_filename
        if is_debugger_file(file):  # which also runs the program, and its threads
            return bool(called.f_code.co_name == "<module>" or file.endswith("pydev_monkey.py"))
        called, caller = caller, caller.f_back
    return True


def _confirm(entry: Entry, place: Place) -> None:
    """A call has told that it is the one."""
    if place not in entry.wanted.places:
        entry.wanted.places[place] = _paths(entry.code)[0]
        _send("function", entry.wanted.describe())


def _combination(ids: Tuple[int, ...]) -> int:
    if ids not in _together:
        _together[ids] = 2 * FIRST_ID + len(_together)
        _send("together", {"id": _together[ids], "ids": list(ids)})
    return _together[ids]
