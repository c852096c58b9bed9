"""Who waits for whom: blocked threads and tasks, what each waits for, who has it, and the circles that never end.

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
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from . import blocked, lookup, raw, sources, tasks, threads
from .members import is_definition
from .repr import render
from .returned import is_debugger_file
from .scope import names_of
from .texts import clip, encodable
from .values import frame_locals

LOCALS, VALUE, TEXT = 8, 80, 100
"""locals that are shown of a frame, and characters of a value and of an expression"""
LARGEST = 20000
"""lines of a file that is searched for blocks and calls"""
WAITING = frozenset(
    (
        "threading",
        "queue",
        "concurrent.futures._base",
        "subprocess",
        "multiprocessing.connection",
        "multiprocessing.popen_fork",
        "multiprocessing.popen_spawn_posix",
        "multiprocessing.process",
        "multiprocessing.queues",
        "multiprocessing.synchronize",
        "asyncio.locks",
        "asyncio.queues",
    )
)
"""Modules whose frames are a wait for the object that they are methods of."""
TAKING = frozenset(("acquire", "__enter__", "__aenter__"))
NO_WAITS = frozenset(("run", "_bootstrap", "_bootstrap_inner"))
METHODS = frozenset(("acquire", "release", "wait", "wait_for", "get", "put", "join", "result", "recv", "communicate"))
"""that wait, or end a wait"""
OWNER = re.compile(r" owner=(\d+) ")
_RLOCK: Any = _thread.RLock


class Party:
    """A thread or a task."""

    def __init__(self, kind: str, subject: Any, number: int, name: str, frames: List[Any]) -> None:
        self.kind = kind
        self.subject = subject
        self.number = number
        self.name = name
        self.frames = frames
        """the innermost first"""
        self.waits: Optional[Wait] = None
        self.held_by: List[Tuple[Party, Optional[int]]] = []
        """and since which line; 0 if that is not known, None if it is the end of it that is waited for"""

    @property
    def text(self) -> str:
        return "%s %d '%s'" % (self.kind, self.number, self.name)

    def told(self) -> Dict[str, Any]:
        return {self.kind + "_id": self.number, "name": self.name}


class Wait:
    def __init__(self, subject: Any, text: str, takes: bool = True, depth: int = 0, header: int = 0) -> None:
        self.subject = subject
        self.text = text
        self.takes = takes
        """whether it wants to have it, as a lock, or waits for something to happen to it"""
        self.depth = depth
        """of the frame whose line that is"""
        self.header = header
        """of a `with` that takes several: how many it has by now"""


def explained(stops: Any, py_db: Any) -> Dict[str, Any]:
    parties = [*_threads(stops, py_db), *_tasks()]
    waiting = [party for party in parties if party.waits is not None]
    for party in waiting:
        party.held_by = list(_holders(party, parties))
    return {
        "waiting": [_described(py_db, party) for party in waiting],
        "deadlocks": [_circle(circle) for circle in _circles(waiting)],
    }


def _threads(stops: Any, py_db: Any) -> Iterator[Party]:
    """Only those that are blocked wait: others may be at a `with` that they are about to pass, or halted there."""
    found = threads.of_the_program()
    resting = {id(thread) for thread in blocked.at_rest(found)}
    halted = py_db.threads_suspended_single_notification._suspended_thread_id_to_thread
    running = sys._current_frames()
    for thread in found:
        thread_id = threads.id_of(stops, thread)
        frames = list(_outward(running.get(raw.read(thread, "_ident"))))
        party = Party("thread", thread, threads.to_dap(thread_id), threads.name(thread), frames)
        if id(thread) in resting and thread_id not in halted and frames:
            party.waits = _wait_in(frames)
        yield party


def _outward(frame: Any) -> Iterator[Any]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _tasks() -> Iterator[Party]:
    for task, number, name, frames in tasks.pending():
        party = Party("task", task, number, name, frames)
        awaited = raw.read(task, "_fut_waiter")
        if awaited is not None:
            party.waits = _wait_in(frames) or Wait(awaited, tasks.waits_for(task), takes=False)
        yield party


# What somebody waits for.


def _wait_in(frames: List[Any]) -> Optional[Wait]:
    """The outermost object of those whose methods wait for each other, or the lock that the line at hand takes."""
    subject, waiter, takes = raw.MISSING, 0, False
    for frame in frames:
        if _module(frame) not in WAITING or frame.f_code.co_name in NO_WAITS:
            break
        own = (raw.plain_variables(frame.f_locals) or {}).get("self", raw.MISSING)
        subject = own if own is not raw.MISSING else subject
        takes = frame.f_code.co_name in TAKING
        waiter += 1
        if raw.is_a(subject, threading.Thread):
            break
    if subject is not raw.MISSING:
        return Wait(subject, _named_by(frames[waiter : waiter + 1], subject) or _title(subject), takes, waiter)
    return _taken_at(frames[0]) if frames else None


def _named_by(callers: List[Any], subject: Any) -> Optional[str]:
    """As the line calls it that waits."""
    for frame in callers:
        found, names = _of_frame(frame), names_of(frame)
        lines = [(block.first, block.begins, node) for block in found.blocks for node in block.taken]
        lines += [(line, line + 1, node) for line, _, node in found.calls]
        for first, end, node in lines:
            if first <= frame.f_lineno < end and lookup.follow(node, names) is subject:
                return _expression(subject, node)
    return None


def _module(frame: Any) -> Any:
    return (raw.plain_variables(frame.f_globals) or {}).get("__name__")


def _title(subject: Any) -> str:
    pid = raw.read(subject, "pid")
    return "%s (process %d)" % (raw.type_name(subject), pid) if type(pid) is int else raw.type_name(subject)


def _taken_at(frame: Any) -> Optional[Wait]:
    names = names_of(frame)
    for block in _of_frame(frame).blocks:
        if block.first <= frame.f_lineno < block.begins:
            for index, node in enumerate(block.taken):
                found = lookup.follow(node, names)
                if _is_taken(found):
                    return Wait(found, _expression(found, node), header=index)
    for line, name, node in _of_frame(frame).calls:
        if line == frame.f_lineno and name == "acquire":
            found = lookup.follow(node, names)
            if _is_taken(found):
                return Wait(found, _expression(found, node))
    return None


def _expression(found: Any, node: Any) -> str:
    return encodable("%s %s" % (raw.type_name(found), clip(_spelled(node), TEXT)[0]))


def _spelled(node: Any) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (_spelled(node.value), node.attr)
    return "%s[…]" % _spelled(node.value) if isinstance(node, ast.Subscript) else "…"


def _is_taken(found: Any) -> bool:
    """A lock that is locked, or something that is made of one."""
    lock = _lock_in(found)
    if type(lock) is _thread.LockType:
        return lock.locked()
    if type(lock) is _RLOCK:
        return _rlock_text(lock).startswith("<locked")
    return found is not raw.MISSING and raw.type_name(found) in ("Semaphore", "BoundedSemaphore", "Lock", "RLock")


def _lock_in(found: Any) -> Any:
    return raw.read(found, "_lock", found) if raw.is_a(found, threading.Condition) else found


def _rlock_text(lock: Any) -> str:
    """The only place where it says whose it is."""
    text: str = _RLOCK.__repr__(lock)
    return text


# Who has it.


def _holders(party: Party, parties: List[Party]) -> Iterator[Tuple[Party, Optional[int]]]:
    assert party.waits is not None
    wanted = party.waits.subject
    for other in parties:
        if other.subject is wanted or _is_gathered(other.subject, wanted):  # it is waited for to end
            yield other, None
        elif party.waits.takes:
            line = _holds_since(other, _lock_in(wanted))
            if line is not None:
                yield other, line


def _is_gathered(task: Any, awaited: Any) -> bool:
    children = raw.read(awaited, "_children")
    return type(children) is list and any(child is task for child in children)


def _holds_since(party: Party, lock: Any) -> Optional[int]:
    """The line, or 0 if it is not known; None if it does not hold it."""
    for depth, frame in enumerate(party.frames):
        if is_debugger_file(frame.f_code.co_filename):
            continue
        held = list(_held(frame, party.waits if party.waits and depth <= party.waits.depth else None))
        names = names_of(frame) if held else {}
        for line, node in held:
            if _lock_in(lookup.follow(node, names)) is lock:
                return line
    if type(lock) is _RLOCK and party.kind == "thread":
        owner = OWNER.search(_rlock_text(lock))
        if owner and int(owner.group(1)) == raw.read(party.subject, "_ident"):
            return 0
    return None


def _held(frame: Any, waits: Optional[Wait]) -> Iterator[Tuple[int, Any]]:
    """What a frame has taken and not given back, by what stands before its line; `waits` if it waits there."""
    here, found = frame.f_lineno, _of_frame(frame)
    for block in found.blocks:
        is_taking = block.first <= here < block.begins or (waits is not None and here == block.first)
        if is_taking or block.begins <= here <= block.ends:
            for node in block.taken[: waits.header if waits is not None else 0] if is_taking else block.taken:
                yield block.first, node
    for line, name, node in found.calls:
        if name == "acquire" and line < here and not _is_given_back(found, node, line, here):
            yield line, node


def _is_given_back(found: Function, taken: Any, after: int, before: int) -> bool:
    text = ast.dump(taken)
    return any(
        name == "release" and after < line < before and ast.dump(node) == text for line, name, node in found.calls
    )


# What a function takes and gives back.


class Block:
    """A `with` statement."""

    def __init__(self, node: Any) -> None:
        self.first = node.lineno
        self.begins = node.body[0].lineno
        self.ends = node.end_lineno
        self.taken = [item.context_expr for item in node.items]


class Function:
    def __init__(self) -> None:
        self.blocks: List[Block] = []
        self.calls: List[Tuple[int, str, Any]] = []
        """line, method, and of what"""


def _of_frame(frame: Any) -> Function:
    code = frame.f_code
    first = 0 if code.co_name == "<module>" else code.co_firstlineno
    return _functions(code.co_filename, frame.f_globals).get(first) or Function()


_read: Dict[str, Tuple[int, Dict[int, Function]]] = {}


def _functions(path: str, namespace: Any) -> Dict[int, Function]:
    """By their first line, that of a decorator if there is one; 0 for the module."""
    lines = sources.text_lines(path, namespace)
    known = _read.get(path)
    if known is None or known[0] != len(lines):
        found: Dict[int, Function] = {}
        if len(lines) <= LARGEST:
            try:
                _collect(ast.parse("".join(lines)), 0, found)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                found = {}
        known = _read[path] = len(lines), found
    return known[1]


def _collect(node: Any, function: int, found: Dict[int, Function]) -> None:
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = min([child.lineno, *(each.lineno for each in child.decorator_list)])
        elif isinstance(child, (ast.With, ast.AsyncWith)):
            found.setdefault(function, Function()).blocks.append(Block(child))
        elif isinstance(child, ast.Call) and getattr(child.func, "attr", "") in METHODS:
            method: Any = child.func
            found.setdefault(function, Function()).calls.append((child.lineno, method.attr, method.value))
        _collect(child, inside, found)


# What is said of it.


def _described(py_db: Any, party: Party) -> Dict[str, Any]:
    assert party.waits is not None
    own = next((frame for frame in party.frames if py_db.in_project_scope(frame)), party.frames[0])
    return {
        **party.told(),
        "waits_for": _waited_for(party),
        "held_by": [{**other.told(), **({"since_line": line} if line else {})} for other, line in party.held_by],
        "location": tasks.place(*tasks.spot(own)),
        "locals": {name: render(value, VALUE)[0] for name, value in islice(_data(own), LOCALS)},
    }


def _data(frame: Any) -> Iterator[Tuple[str, Any]]:
    """Its locals without modules, classes and functions."""
    return (member for member in frame_locals(frame) if not is_definition(member[1]))


def _waited_for(party: Party) -> str:
    assert party.waits is not None
    for other, _ in party.held_by:
        if other.subject is party.waits.subject:
            return other.text
    return party.waits.text


def _circles(waiting: List[Party]) -> List[List[Party]]:
    """Each once, beginning with the member that comes first."""
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


def _circle(members: List[Party]) -> Dict[str, Any]:
    return {
        "members": [member.told() for member in members],
        "text": "; ".join(_link(member, after) for member, after in zip(members, members[1:] + members[:1])),
    }


def _link(member: Party, holder: Party) -> str:
    line = next(since for other, since in member.held_by if other is holder)
    if line is None:
        return "%s waits for %s to end" % (member.text, holder.text)
    since = " since line %d" % line if line else ""
    return "%s waits for %s, which %s has%s" % (member.text, _waited_for(member), holder.text, since)
