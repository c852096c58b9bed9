"""Sets breakpoints on functions by name: they are found when their code is loaded, and stop on the first line inside.

debugpy's own know only bare names, stop on the `def` line, and before 3.12 not at all in generators and coroutines.
Here the code of every module is looked through just before it runs (an audit hook sees it), and code that was loaded
before is found by its functions. What is found becomes a breakpoint on a line; whether a frame on that line has just
entered the function is decided when it gets there.
"""

from __future__ import annotations

import gc
import sys
import threading
from functools import lru_cache, partial
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from ..frames import is_debugger_file, is_foreign_file, is_left_out, is_program_code, running_frames
from ..original_code import original_of, read_code
from ..pydevd_patches import pydevd_parts
from ..pydevd_patches.pydevd_parts import known_paths
from ..rpc.event_sending import send_event
from ..values.raw import MISSING
from . import hit_decisions
from .function_names import Name, code_tree, file_of, first_line, function_code, qualified_name, same_method

if TYPE_CHECKING:
    from ....rows import FunctionRow, PlaceRow

FIRST_ID = 1000000000
"""Ids of function breakpoints begin here, those of combinations of breakpoints on one line at twice that."""
ENTERED = "__ocdb_entered__"
"""Marks a frame of a function that begins with a loop."""
PLACES_TOLD = 20

Place = Tuple[str, int]
"""file as pydevd knows it, and line"""
EntryCheck = Callable[[FrameType], bool]


class FunctionBreakpoint:
    """One function that the program is to stop in, and the places where it was found."""

    def __init__(self, number: int, function: str, file: Optional[str]) -> None:
        self.number = number
        self.name = Name(function)
        self.file = file
        self.canonical_file: Optional[str] = None
        if file is not None:
            self.canonical_file = pydevd_parts.file_utils.canonical_normalized_path(file)
        self.places: Dict[Place, str] = {}
        """those where it stops, with the file as the program names it"""
        self.is_filtered = False
        """It was found only in files that are left out of debugging."""
        self.obstacle: Optional[str] = None
        """The kind of thing that has that name instead of a function of Python: a class, or anything else."""

    def as_row(self) -> FunctionRow:
        found: List[PlaceRow] = [{"path": path, "line": line} for (_, line), path in self.places.items()]
        told, filtered, obstacle = found[:PLACES_TOLD], self.is_filtered, self.obstacle
        return {"number": self.number, "places": told, "total": len(found), "filtered": filtered, "obstacle": obstacle}

    def find_exported_code(self) -> Optional[CodeType]:
        """Return the code of the function that a module has under that name by now; note if it is something else."""
        found = MISSING if self.places else self.name.find_exported()
        if found is MISSING or issubclass(type(found), ModuleType):  # a function of its name may replace the module
            return None
        code = function_code(found, self.name.last)
        self.obstacle = None if code is not None else "class" if issubclass(type(found), type) else "native"
        return code


class FunctionEntry(NamedTuple):
    """A function at a place, and how to tell that its frame has just been entered."""

    wanted: FunctionBreakpoint
    code: Any
    offset: int
    loops: bool
    """A loop may lead back to where it began."""
    check: Optional[EntryCheck]
    """Asks a call what only that can tell: its module, or the class that it is called on."""

    def is_entered(self, frame: Any) -> bool:
        code = frame.f_code
        if code is not self.code and _code_key(code) != _code_key(self.code):
            return False
        if frame.f_lasti > self.offset or (self.check is not None and not self.check(frame)):
            return False
        if self.loops:
            if ENTERED in frame.f_locals:
                return False
            frame.f_locals[ENTERED] = True
        return True


def _code_key(code: CodeType) -> Tuple[str, int, str]:
    return code.co_name, code.co_firstlineno, code.co_filename


_breakpoints: Dict[int, FunctionBreakpoint] = {}
_entries: Dict[Place, List[FunctionEntry]] = {}
_unapplied: Set[str] = set()
"""Files with entries that pydevd has not been told of yet."""
_places_by_index: List[Place] = []
"""Conditions name a place by its number here."""
_busy_threads = threading.local()
prepare_executed: Optional[Callable[[Any], None]] = None
"""Is called with code that is about to run, after functions were found in it; set by full_speed/rewriting_way.py."""
_hit_ids: Dict[int, int] = {}
"""The id under which a thread stops, by thread."""
_combinations: Dict[Tuple[int, ...], int] = {}


def install() -> None:
    """Patch pydevd's classes so that our breakpoints stay when it sets those of a file."""
    import pydevd
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    consolidate = pydevd.PyDB.consolidate_breakpoints
    remove_all = PyDevdAPI.remove_all_breakpoints
    disconnect = PyDevdAPI.request_disconnect
    add = PyDevdAPI.add_breakpoint

    def add_breakpoint(self: Any, *args: Any, **kwargs: Any) -> object:
        """Keep lines, which the relay has checked: pydevd would take the file of now, but an earlier one may run."""
        return add(self, *args, **({**kwargs, "adjust_line": False} if "adjust_line" in kwargs else kwargs))

    def consolidate_breakpoints(self: Any, file: str, by_id: Any, by_file: Any) -> None:
        consolidate(self, file, by_id, by_file)
        if by_file is self.breakpoints and any(place[0] == file for place in list(_entries)):
            by_file[file] = _with_entries(self, file, by_file[file])

    def remove_all_breakpoints(self: Any, py_db: Any, received_filename: str) -> None:
        remove_all(self, py_db, received_filename)
        for file in {place[0] for place in list(_entries)}:
            if file not in py_db.breakpoints:
                py_db.breakpoints[file] = _with_entries(py_db, file, {})
        if _entries:
            py_db.on_breakpoints_changed()

    def request_disconnect(self: Any, *args: Any, **kwargs: Any) -> object:
        """Remove ours: the relay that would let the program go on is leaving."""
        clear_all()
        return disconnect(self, *args, **kwargs)

    PyDevdAPI.add_breakpoint = add_breakpoint
    PyDevdAPI.request_disconnect = request_disconnect
    pydevd.PyDB.consolidate_breakpoints = consolidate_breakpoints
    PyDevdAPI.remove_all_breakpoints = remove_all_breakpoints


def clear_all() -> None:
    _breakpoints.clear()
    _entries.clear()
    _unapplied.clear()


def define_functions(functions: List[Dict[str, Any]]) -> List[FunctionRow]:
    """Stop in these functions from now on, and in no others; return where each of them is."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    specs = {item["number"]: (item["function"], item["file"]) for item in functions}
    for number, wanted in list(_breakpoints.items()):
        if specs.get(number) == (wanted.name.text, wanted.file):
            continue
        del _breakpoints[number]
        for place, entries in list(_entries.items()):
            _unapplied.add(place[0])
            _entries[place] = [entry for entry in entries if entry.wanted.number != number]
            if not _entries[place]:
                del _entries[place]
    new = [FunctionBreakpoint(number, *spec) for number, spec in specs.items() if number not in _breakpoints]
    _breakpoints.update((wanted.number, wanted) for wanted in new)
    if new:
        _listen_for_code()
        _search_loaded_code(py_db, new)
    _apply_breakpoints(py_db)
    return [_breakpoints[number].as_row() for number in specs]


# Finding.


@lru_cache(maxsize=None)
def _listen_for_code() -> None:
    """Hear of all code before it runs. A hook cannot be taken away: without function breakpoints it does nothing."""
    sys.addaudithook(_on_audit_event)


def _on_audit_event(event: str, args: Any) -> None:
    if not _breakpoints or event not in ("exec", "function.__new__") or getattr(_busy_threads, "now", False):
        return
    _busy_threads.now = True
    try:
        _search_new_code(event, args[0])
        if event == "exec" and prepare_executed is not None:
            prepare_executed(args[0])
    except Exception:
        pass  # whatever it is, the program's own code runs on
    finally:
        _busy_threads.now = False


def _search_new_code(event: str, code: Any) -> None:
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if py_db is None or py_db.pydb_disposed or not hasattr(code, "co_consts"):
        return
    wanted = list(_breakpoints.values())
    found: Set[FunctionBreakpoint] = set()
    root = None if event == "exec" else qualified_name(code)
    for inner, qualname in code_tree(code, root, {each.name.last for each in wanted}):
        found.update(_match_code(py_db, inner, qualname, None, wanted))
    found.update(_search_exports(py_db, wanted))
    _apply_breakpoints(py_db)
    for each in sorted(found, key=lambda each: each.number):
        send_event("function", each.as_row())


def _search_loaded_code(py_db: Any, wanted: List[FunctionBreakpoint]) -> None:
    """Look through what is loaded already: functions, and modules that are just being executed."""
    names = {each.name.last for each in wanted}
    for function in [item for item in gc.get_objects() if type(item) is FunctionType]:
        code = read_code(function)
        module = function.__globals__.get("__name__")
        for inner, qualname in code_tree(code, qualified_name(code, function), names):
            _match_code(py_db, inner, qualname, module, wanted)
    for frame in running_frames():
        if frame.f_code.co_name == "<module>":
            for inner, qualname in code_tree(frame.f_code, None, names):
                _match_code(py_db, inner, qualname, frame.f_globals.get("__name__"), wanted)
    for each in wanted:
        for code in each.name.inherited_code():
            if _is_in_file(each, code):
                _add_entry(py_db, each, code, partial(same_method, each.name), is_found=True)
    _search_exports(py_db, wanted)


def _search_exports(py_db: Any, wanted: List[FunctionBreakpoint]) -> List[FunctionBreakpoint]:
    """Look up what modules have under these names, and return those of which there is news.

    What a module has imported from others is known only when it has been executed."""
    news = []
    for each in wanted:
        before = each.obstacle
        code = each.find_exported_code()
        is_new = code is not None and _is_in_file(each, code) and _add_entry(py_db, each, code, None)
        if is_new or each.obstacle != before:
            news.append(each)
    return news


def _match_code(
    py_db: Any, code: Any, qualname: str, module: Optional[str], wanted: List[FunctionBreakpoint]
) -> List[FunctionBreakpoint]:
    """Return the breakpoints that certainly mean this code. Where only a call can tell, the call is asked."""
    found = []
    for each in wanted:
        name = each.name
        if name.last != code.co_name or not _is_in_file(each, code) or is_foreign_file(code.co_filename):
            continue
        is_own = each.file is not None or is_program_code(py_db, code)
        loaded = [] if module else list(sys.modules.items())
        modules = {module} if module else {key for key, each in loaded if file_of(each) == code.co_filename}
        how = name.match(qualname, modules, code.co_filename, is_own)
        if how == "yes" and _add_entry(py_db, each, code, None):
            found.append(each)
        elif how == "module":
            _add_entry(py_db, each, code, partial(_is_in_module, name, qualname, is_own))
        elif how == "export" and (name.is_in_package(modules) or not is_left_out(py_db, code)):
            _add_entry(py_db, each, code, name.is_exported)
        elif how == "class":
            _add_entry(py_db, each, code, partial(same_method, name))
    return found


def _is_in_module(name: Name, qualname: str, is_own: bool, frame: FrameType) -> bool:
    return name.is_in_module(frame.f_globals.get("__name__"), qualname, is_own) or name.is_exported(frame)


def _is_in_file(wanted: FunctionBreakpoint, code: Any) -> bool:
    return wanted.canonical_file is None or known_paths(code)[1] == wanted.canonical_file


def _add_entry(
    py_db: Any, wanted: FunctionBreakpoint, code: CodeType, check: Optional[EntryCheck], is_found: bool = False
) -> bool:
    """Note that the function is there; return True if that is news."""
    start = first_line(original_of(code))
    if start is None:
        return False
    line, offset, loops = start
    shown, file = known_paths(code)[:2]
    place = (file, line)
    if is_left_out(py_db, code):
        wanted.is_filtered = True
        return False
    known = _entries.setdefault(place, [])
    known[:] = [entry for entry in known if entry.wanted is not wanted or _code_key(entry.code) != _code_key(code)]
    known.append(FunctionEntry(wanted, code, offset, loops, check))
    _unapplied.add(file)
    if (check is not None and not is_found) or place in wanted.places:
        return False
    wanted.places[place] = shown
    return True


# Stopping.


def _apply_breakpoints(py_db: Any) -> None:
    """Tell pydevd. What the relay set on lines of these files stays as it is."""
    files = list(_unapplied)
    _unapplied.difference_update(files)
    for file in files:
        by_id = py_db.file_to_id_to_line_breakpoint.get(file, {})
        by_line = {known.line: known for known in by_id.values()}
        py_db.breakpoints[file] = _with_entries(py_db, file, by_line)
    if files:
        py_db._clear_caches()
        py_db.on_breakpoints_changed()


def _with_entries(py_db: Any, file: str, by_line: Dict[int, Any]) -> Dict[int, Any]:
    merged = dict(by_line)
    for place in list(_entries):
        if place[0] == file:
            merged[place[1]] = _combined_breakpoint(py_db, place, by_line.get(place[1]))
    return merged


def _combined_breakpoint(py_db: Any, place: Place, below: Any) -> object:
    if place not in _places_by_index:
        _places_by_index.append(place)
    condition = "__import__('_ocdb').hit_function(%d)" % _places_by_index.index(place)
    policy = "ALL" if py_db.multi_threads_single_notification else "NONE"
    made: Any = _combined_class()(0, place[1], condition, "None", None, policy)
    made.below = below
    return made


@lru_cache(maxsize=None)
def _combined_class() -> type:
    from _pydevd_bundle.pydevd_breakpoints import LineBreakpoint

    class Combined(LineBreakpoint):  # type: ignore[misc]
        """All breakpoints of one line. Its id says which of them stopped: pydevd asks for it after the condition."""

        @property
        def breakpoint_id(self) -> int:
            return _hit_ids.get(threading.get_ident(), 0)

        @breakpoint_id.setter
        def breakpoint_id(self, value: int) -> None:
            pass

    return Combined


def decide_hit(index: int, scope: Any) -> bool:
    """Tell whether the program stops there. `scope` is the frame in which pydevd evaluates the condition."""
    asking = scope.f_back.f_locals
    ids = entered_ids(index, asking["new_frame"], asking["pybreakpoint"])
    if ids:
        note_hit(hit_id(ids))
    return bool(ids)


def note_hit(breakpoint_id: int) -> None:
    """Note the id under which this thread is about to stop."""
    _hit_ids[threading.get_ident()] = breakpoint_id


def entered_ids(index: int, frame: Any, made: Any) -> List[int]:
    """Return the ids of the breakpoints that stop the program on this line: that of the line, and of functions."""
    ids: List[int] = []
    below = made.below
    if below is not None and (not below.condition or eval(below.condition, frame.f_globals, frame.f_locals)):
        ids.append(below.breakpoint_id)
    place = _places_by_index[index]
    for entry in _entries.get(place, ()):
        if entry.is_entered(frame) and _is_called_by_program(frame):
            if place not in entry.wanted.places:  # this call has shown it to be the function
                entry.wanted.places[place] = known_paths(entry.code)[0]
                send_event("function", entry.wanted.as_row())
            if hit_decisions.decide_hit(entry.wanted.number, frame, send_event):
                ids.append(FIRST_ID + entry.wanted.number)
    return ids


def hit_id(ids: List[int]) -> int:
    """Return one id for all the breakpoints that stop the program at once."""
    if len(ids) == 1:
        return ids[0]
    if tuple(ids) not in _combinations:
        _combinations[tuple(ids)] = 2 * FIRST_ID + len(_combinations)
        send_event("together", {"id": _combinations[tuple(ids)], "ids": ids})
    return _combinations[tuple(ids)]


def _is_called_by_program(frame: Any) -> bool:
    """Tell whether the program made the call.

    The debugger uses the standard library too, on threads of the program and before its first line."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    called, caller = frame, frame.f_back
    while caller is not None and not is_program_code(py_db, called.f_code):
        file = caller.f_code.co_filename
        if is_debugger_file(file):  # the debugger also runs the program, and its threads
            return bool(called.f_code.co_name == "<module>" or file.endswith("pydev_monkey.py"))
        called, caller = caller, caller.f_back
    return True

