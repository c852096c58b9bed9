"""Finds who waits for whom: blocked threads and tasks, what each waits for, who has it, and circles that never end.

A lock does not say who holds it, but the source does: whoever is inside a `with lock:` block, or past a
`lock.acquire()` without a `lock.release()` since, holds what that expression means in his frame. Expressions are looked
up, not evaluated: nothing of the program runs.
"""

from __future__ import annotations

import _thread
import ast
import re
import sys
import threading
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from ..evaluation import quiet_lookup
from ..frames import is_debugger_file, module_name, outward_frames
from ..rpc.call_scope import names_in_frame
from ..source import source_text
from ..values import raw
from ..values.atom_texts import clip, encodable
from ..values.bounded_repr import render_value
from ..values.members import is_definition
from ..values.variable_rows import frame_locals
from . import asyncio_tasks, blocked_threads, thread_list

if TYPE_CHECKING:
    from ....rows import DeadlockRow, HolderRow, LockRow, WaiterRow

MOST_LOCALS, VALUE_LIMIT, TEXT_LIMIT = 8, 80, 100
"""locals that are shown of a frame, and characters of a value and of an expression"""
LONGEST_FILE = 20000
"""lines of a file that is searched for blocks and calls"""
WAITING_MODULES = frozenset(
    (
        "threading", "queue", "concurrent.futures._base", "subprocess", "multiprocessing.connection",
        "multiprocessing.popen_fork", "multiprocessing.popen_spawn_posix", "multiprocessing.process",
        "multiprocessing.queues", "multiprocessing.synchronize", "asyncio.locks", "asyncio.queues",
    )
)  # fmt: skip
"""Modules whose frames are a wait for the object that they are methods of."""
TAKING_METHODS = frozenset(("acquire", "__enter__", "__aenter__"))
NEVER_WAITING = frozenset(("run", "_bootstrap", "_bootstrap_inner"))
LOCK_METHODS = frozenset(
    ("acquire", "release", "wait", "wait_for", "get", "put", "join", "result", "recv", "communicate")
)
"""Methods that wait, or end a wait."""
OWNER_PATTERN = re.compile(r" owner=(\d+) ")
_RLOCK: Any = _thread.RLock


class Wait(NamedTuple):
    subject: Any
    text: str
    takes: bool = True
    """it wants to have the object, as a lock; else it waits for something to happen to it"""
    depth: int = 0
    """of the frame whose line waits"""
    header: int = 0
    """the number of locks that a `with` of several has by now"""


class Party:
    """A thread or a task."""

    def __init__(self, is_task: bool, subject: Any, number: int, name: str, frames: List[FrameType]) -> None:
        self.is_task = is_task
        self.subject = subject
        self.number = number
        self.name = name
        self.frames = frames
        """the innermost first"""
        self.waits: Optional[Wait] = None
        self.held_by: List[Tuple[Party, Optional[int]]] = []
        """The parties that have it, and since which line; 0 if that is not known, None if their end is waited for."""

    @property
    def shown_name(self) -> str:
        return "%s %d '%s'" % ("task" if self.is_task else "thread", self.number, self.name)

    def as_row(self, since_line: Optional[int] = None) -> HolderRow:
        row: HolderRow = {"name": self.name}
        row["task_id" if self.is_task else "thread_id"] = self.number
        if since_line:
            row["since_line"] = since_line
        return row


def explain_waits(stops: Any, py_db: Any) -> LockRow:
    parties = [*_thread_parties(stops, py_db), *_task_parties()]
    waiting = [party for party in parties if party.waits is not None]
    for party in waiting:
        party.held_by = list(_find_holders(party, parties))
    return {
        "waiting": [_waiting_row(py_db, party) for party in waiting],
        "deadlocks": [_circle_row(circle) for circle in _find_circles(waiting)],
    }


def _thread_parties(stops: Any, py_db: Any) -> Iterator[Party]:
    """Yield all threads, with what they wait for.

    Only those that are blocked wait: others may be at a `with` that they are about to pass, or halted there."""
    found = thread_list.program_threads()
    resting = {id(thread) for thread in blocked_threads.threads_at_rest(found)}
    halted = py_db.threads_suspended_single_notification._suspended_thread_id_to_thread
    running = sys._current_frames()
    for thread in found:
        thread_id = thread_list.thread_id_of(stops, thread)
        frames = list(outward_frames(running.get(raw.read_attribute(thread, "_ident"))))
        party = Party(False, thread, thread_list.to_dap(thread_id), thread_list.thread_name(thread), frames)
        if id(thread) in resting and thread_id not in halted and frames:
            party.waits = _wait_in(frames)
        yield party


def _task_parties() -> Iterator[Party]:
    for task, number, name, frames in asyncio_tasks.pending_tasks():
        party = Party(True, task, number, name, frames)
        awaited = raw.read_attribute(task, "_fut_waiter")
        if awaited is not None:
            party.waits = _wait_in(frames) or Wait(awaited, asyncio_tasks.waits_for(task), takes=False)
        yield party


# Finding waits.


def _wait_in(frames: List[FrameType]) -> Optional[Wait]:
    """Return the outermost object of those whose methods wait for each other, or the lock that the line takes."""
    subject, waiter, takes = raw.MISSING, 0, False
    for frame in frames:
        if module_name(frame) not in WAITING_MODULES or frame.f_code.co_name in NEVER_WAITING:
            break
        own = (raw.plain_variables(frame.f_locals) or {}).get("self", raw.MISSING)
        subject = own if own is not raw.MISSING else subject
        takes = frame.f_code.co_name in TAKING_METHODS
        waiter += 1
        if raw.is_a(subject, threading.Thread):
            break
    if subject is raw.MISSING:
        return _taken_at(frames[0]) if frames else None
    pid = raw.read_attribute(subject, "pid")
    title = raw.type_name(subject) + (" (process %d)" % pid if type(pid) is int else "")
    return Wait(subject, _named_by(frames[waiter : waiter + 1], subject) or title, takes, waiter)


def _named_by(callers: List[FrameType], subject: Any) -> Optional[str]:
    """Return the object's name on the line that waits for it."""
    for frame in callers:
        found, names = _function_of(frame), names_in_frame(frame)
        heads = [(block.first, max(block.first, block.begins - 1), block.taken) for block in found.blocks]
        lines = [(first, last, node) for first, last, taken in heads for node in taken]
        lines += [(line, line, node) for line, _, node in found.calls]
        for first, last, node in lines:
            if first <= frame.f_lineno <= last and quiet_lookup.try_find(node, names) is subject:
                return _expression_text(subject, node)
    return None


def _taken_at(frame: FrameType) -> Optional[Wait]:
    """Return the wait for a lock that the line takes, by a `with` or by `acquire`."""
    names, function = names_in_frame(frame), _function_of(frame)
    here, blocks = frame.f_lineno, function.blocks
    heads = [block.taken for block in blocks if block.first <= here < block.begins]
    heads += [[node] for line, name, node in function.calls if line == here and name == "acquire"]
    heads += [block.taken for block in blocks if block.first == here == block.begins]  # with its body on the same line
    taken = [(index, node) for head in heads for index, node in enumerate(head)]
    for index, node in taken:
        found = quiet_lookup.try_find(node, names)
        if _is_taken(found):
            return Wait(found, _expression_text(found, node), header=index)
    return None


def _expression_text(found: Any, node: Any) -> str:
    return encodable("%s %s" % (raw.type_name(found), clip(_spelled_out(node), TEXT_LIMIT)[0]))


def _spelled_out(node: Any) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (_spelled_out(node.value), node.attr)
    return "%s[…]" % _spelled_out(node.value) if isinstance(node, ast.Subscript) else "…"


def _is_taken(found: Any) -> bool:
    """Tell whether it is a lock that is locked, or something that is made of one."""
    lock = _lock_in(found)
    if type(lock) is _thread.LockType:
        return lock.locked()
    if type(lock) is _RLOCK:
        return _rlock_text(lock).startswith("<locked")
    return found is not raw.MISSING and raw.type_name(found) in ("Semaphore", "BoundedSemaphore", "Lock", "RLock")


def _lock_in(found: Any) -> object:
    return raw.read_attribute(found, "_lock", found) if raw.is_a(found, threading.Condition) else found


def _rlock_text(lock: Any) -> str:
    """Return the repr of a lock: the only place where it says whose it is."""
    return str(_RLOCK.__repr__(lock))


# Finding holders.


def _find_holders(party: Party, parties: List[Party]) -> Iterator[Tuple[Party, Optional[int]]]:
    assert party.waits is not None
    wanted = party.waits.subject
    gathered = raw.read_attribute(wanted, "_children")
    ended = [wanted, *(gathered if type(gathered) is list else ())]  # whose end is waited for
    for other in parties:
        if any(other.subject is each for each in ended):
            yield other, None
        elif party.waits.takes:
            line = _holds_since(other, _lock_in(wanted))
            if line is not None:
                yield other, line


def _holds_since(party: Party, lock: object) -> Optional[int]:
    """Return the line since which the party holds the lock, 0 if that is not known; None if it does not hold it."""
    for depth, frame in enumerate(party.frames):
        if is_debugger_file(frame.f_code.co_filename):
            continue
        held = list(_held_locks(frame, party.waits if party.waits and depth <= party.waits.depth else None))
        names = names_in_frame(frame) if held else {}
        for line, node in held:
            if _lock_in(quiet_lookup.try_find(node, names)) is lock:
                return line
    if type(lock) is _RLOCK and not party.is_task:
        owner = OWNER_PATTERN.search(_rlock_text(lock))
        if owner and int(owner.group(1)) == raw.read_attribute(party.subject, "_ident"):
            return 0
    return None


def _held_locks(frame: FrameType, waits: Optional[Wait]) -> Iterator[Tuple[int, Any]]:
    """Yield what a frame has taken and not given back, by the lines before its own; `waits` if it waits there."""
    here, found = frame.f_lineno, _function_of(frame)
    for block in found.blocks:
        is_taking = block.first <= here < block.begins or (waits is not None and here == block.first)
        if is_taking or block.begins <= here <= block.ends:
            for node in block.taken[: waits.header if waits is not None else 0] if is_taking else block.taken:
                yield block.first, node
    for line, name, node in found.calls:
        if name == "acquire" and line < here:
            given_back = {ast.dump(other) for at, name, other in found.calls if name == "release" and line < at < here}
            if ast.dump(node) not in given_back:
                yield line, node


# Reading what functions take and give back.


class WithBlock(NamedTuple):
    """A `with` statement: its lines, and what it takes."""

    first: int
    begins: int
    ends: int
    taken: List[ast.expr]


class FunctionLocks:
    def __init__(self) -> None:
        self.blocks: List[WithBlock] = []
        self.calls: List[Tuple[int, str, Any]] = []
        """line, method, and the object that it is called on"""


def _function_of(frame: FrameType) -> FunctionLocks:
    code = frame.f_code
    first = 0 if code.co_name == "<module>" else code.co_firstlineno
    return _functions_in(code.co_filename, frame.f_globals).get(first) or FunctionLocks()


_parsed_files: Dict[str, Tuple[int, Dict[int, FunctionLocks]]] = {}


def _functions_in(path: str, namespace: Any) -> Dict[int, FunctionLocks]:
    """Return a file's functions by their first line, that of a decorator if there is one; 0 is the module."""
    lines = source_text.text_lines(path, namespace)
    known = _parsed_files.get(path)
    if known is None or known[0] != len(lines):
        found: Dict[int, FunctionLocks] = {}
        if len(lines) <= LONGEST_FILE:
            try:
                _collect_functions(ast.parse("".join(lines)), 0, found)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                found = {}
        known = _parsed_files[path] = len(lines), found
    return known[1]


def _collect_functions(node: Any, function: int, found: Dict[int, FunctionLocks]) -> None:
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = min([child.lineno, *(each.lineno for each in child.decorator_list)])
        elif isinstance(child, (ast.With, ast.AsyncWith)):
            taken = [item.context_expr for item in child.items]
            block = WithBlock(child.lineno, child.body[0].lineno, child.end_lineno or child.lineno, taken)
            found.setdefault(function, FunctionLocks()).blocks.append(block)
        elif isinstance(child, ast.Call) and getattr(child.func, "attr", "") in LOCK_METHODS:
            method: Any = child.func
            found.setdefault(function, FunctionLocks()).calls.append((child.lineno, method.attr, method.value))
        _collect_functions(child, inside, found)


# Describing.


def _waiting_row(py_db: Any, party: Party) -> WaiterRow:
    own = next((frame for frame in party.frames if py_db.in_project_scope(frame)), party.frames[0])
    variables = (member for member in frame_locals(own) if not is_definition(member[1]))
    return {
        **party.as_row(),
        "waits_for": _waited_for(party),
        "held_by": [other.as_row(line) for other, line in party.held_by],
        "location": asyncio_tasks.frame_place(own),
        "locals": {name: render_value(value, VALUE_LIMIT)[0] for name, value in islice(variables, MOST_LOCALS)},
    }


def _waited_for(party: Party) -> str:
    assert party.waits is not None
    for other, _ in party.held_by:
        if other.subject is party.waits.subject:
            return other.shown_name
    return party.waits.text


def _find_circles(waiting: List[Party]) -> List[List[Party]]:
    """Return each circle once, beginning with the member that comes first."""
    found: List[List[Party]] = []
    done: Set[Party] = set()
    for begin in waiting:
        path: List[Party] = []
        party: Optional[Party] = begin
        while party is not None and party not in done and party not in path:
            path.append(party)
            party = next((other for other, _ in party.held_by if other.waits is not None), None)
        if party is not None and party in path:
            found.append(path[path.index(party) :])
        done.update(path)
    return found


def _circle_row(members: List[Party]) -> DeadlockRow:
    links = []
    for member, holder in zip(members, members[1:] + members[:1]):
        line = next(since for other, since in member.held_by if other is holder)
        since = " since line %d" % line if line else ""
        what = "%s, which %s has%s" % (_waited_for(member), holder.shown_name, since)
        what = what if line is not None else "%s to end" % holder.shown_name
        links.append("%s waits for %s" % (member.shown_name, what))
    return {"members": [member.as_row() for member in members], "text": "; ".join(links)}
