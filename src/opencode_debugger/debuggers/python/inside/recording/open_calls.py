"""Follows calls from their start to their end, in every thread, task and generator.

A call is one list while it is open, and marshalled when it ends, so that nothing is left for the garbage collector to
look at. What runs at every call is made of closures, because names in cells are found faster than attributes.
"""

from __future__ import annotations

import itertools
import marshal
import sys
import time
from _thread import get_ident
from types import FrameType, FunctionType, ModuleType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ..frames import outward_frames
from ..values import raw
from .kept_values import MASKED, ValueKeeper, mark_object
from .line_changes import LINES_PER_CALL
from .recorded_functions import Lanes, RecordedFunction, RecordedFunctions

NUMBER, FUNCTION, PARENT, OFFSET, LANE, START, ARGUMENTS, END_NUMBER, END, HOW, VALUE, EXTRA, SEGMENT, FRAME = range(14)
"""The places in the list of a call; the last two are not written."""
OPEN, RETURNED, RAISED, UNSEEN = range(4)
"""How a call has ended."""
GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200
RESUMABLE = GENERATOR | COROUTINE | ASYNC_GENERATOR
CLOSED = ("<closed>",)
DELETED = ("<deleted>",)
MOST_CAUGHT = 5
MOST_YIELDS = 3
MOST_LOCALS = 16
LOCALS_PER_PLACE = 100
"""how often the variables are kept where an exception leaves a function"""
MOST_SUSPENDED = 200_000

Call = List[Any]


class CallFollowing(NamedTuple):
    """What is to be told of calls. None of these raises anything."""

    begin: Callable[[RecordedFunction, FrameType], None]
    end: Callable[[FrameType, Any], None]
    fail: Callable[[RecordedFunction, FrameType, BaseException], None]
    suspend: Callable[[FrameType, Any], None]
    resume: Callable[[FrameType], None]
    catch: Callable[[FrameType, BaseException], None]
    reach_line: Callable[[RecordedFunction, FrameType, int], bool]
    """returns False when no more lines of this call are wanted"""


class OpenCalls:
    """The calls that have not ended, and what is yet to be written of those that have."""

    def __init__(self, functions: RecordedFunctions, keeper: ValueKeeper, batch_size: int) -> None:
        self.functions = functions
        self.keeper = keeper
        self.lanes = Lanes()
        self.stacks: Dict[int, List[Call]] = {}
        self.suspended: Dict[int, Call] = {}
        self.ended: List[bytes] = []
        self.steps: List[bytes] = []
        self.batch_size = batch_size
        self.may_miss_ends = False
        """Calls may end unseen: each is looked for, and not taken for the innermost one."""
        self.failures = 0
        """calls that could not be followed"""
        self.numbers = itertools.count(1)

    def new_rows(self, segment: int) -> List[bytes]:
        """Return calls that are open and not yet in this segment."""
        rows: List[bytes] = []
        for calls in [list(stack) for stack in list(self.stacks.values())] + [list(self.suspended.values())]:
            for call in calls:
                if len(call) > SEGMENT and call[SEGMENT] != segment:
                    call[SEGMENT] = segment
                    rows.append(marshal.dumps(call[:SEGMENT], 2))
        return rows

    def follow(self, on_full: Callable[[], None]) -> CallFollowing:
        """Return what is to be told; `on_full` is called when there is enough to be written."""
        return _make_following(self, on_full)


def _make_following(calls: OpenCalls, on_full: Callable[[], None]) -> CallFollowing:
    stacks, suspended, keeper, lanes = calls.stacks, calls.suspended, calls.keeper, calls.lanes
    keep, keep_error, is_secret = keeper.keep, keeper.keep_error, keeper.is_secret
    known = calls.functions.known
    ended, steps, batch_size = calls.ended, calls.steps, calls.batch_size
    add_ended, add_step = ended.append, steps.append
    next_number, dumps, now = calls.numbers.__next__, marshal.dumps, time.perf_counter
    lines_seen: Dict[int, List[Any]] = {}
    """of calls whose lines are recorded, by number: values, last line, lines that are left"""
    kept_locals: Dict[Tuple[int, int], int] = {}

    # What happens at every call is written out: a call of ours costs as much as one of the program's.

    def begin(function: RecordedFunction, frame: Any) -> None:
        try:
            began = now()
            arguments = []
            if function.has_plain_arguments:
                variables = frame.f_locals
                for name in function.arguments:
                    value = variables[name]
                    arguments.append(value if value is None or value is True or value is False else keep(value))
            elif function.arguments:
                arguments = keep_arguments(function, frame.f_locals, keep)
            back = frame.f_back
            ident = get_ident()
            stack = stacks.get(ident)
            if stack is None:
                stack = stacks[ident] = []
            if stack and stack[-1][13] == id(back) and not calls.may_miss_ends:
                parent = stack[-1]
                number, offset, lane = parent[0], back.f_lasti, parent[4]
            else:
                number, offset, lane = find_parent(stack, back, function.flags & COROUTINE)
            stack.append([next_number(), function.number, number, offset, lane, began, arguments,
                          0, 0.0, OPEN, None, None, -1, id(frame)])  # fmt: skip
            function.window += 1
        except Exception:
            calls.failures += 1

    def find_parent(stack: List[Call], back: Any, is_coroutine: int) -> Tuple[int, int, int]:
        """Return number, offset and lane for a call that was not made by the innermost recorded one itself."""
        callers: Dict[int, Any] = {}
        frame = back
        while stack:
            innermost = stack[-1]
            found: Any = callers.get(innermost[FRAME])
            while found is None and frame is not None:
                callers[id(frame)] = frame
                if id(frame) == innermost[FRAME]:
                    found = frame
                frame = frame.f_back
            function = known.get(id(found.f_code)) if found is not None else None
            if function is not None and function.number == innermost[FUNCTION]:
                lane = lanes.current() if is_coroutine and found is not back else innermost[LANE]
                return innermost[NUMBER], found.f_lasti, lane
            finish_unseen(stack.pop())
        return 0, -1, lanes.current()

    def finish_unseen(call: Call) -> None:
        call[END_NUMBER:] = (next_number(), now(), UNSEEN, None, call[EXTRA])
        add_ended(dumps(call, 2))

    def take(frame: Any) -> Optional[Call]:
        """Return the call that a frame is of, and take it off; None if it is not recorded."""
        stack = stacks.get(get_ident())
        if not stack:
            return None
        wanted = id(frame)
        if stack[-1][FRAME] == wanted and not calls.may_miss_ends:
            return stack.pop()
        function = known.get(id(frame.f_code))
        for place in range(len(stack) - 1, -1, -1):
            if stack[place][FRAME] == wanted and function is not None and stack[place][FUNCTION] == function.number:
                while len(stack) > place + 1:
                    finish_unseen(stack.pop())
                return stack.pop()
        return None

    def end(frame: Any, value: Any) -> None:
        try:
            stack = stacks.get(get_ident())
            if stack and stack[-1][13] == id(frame) and not calls.may_miss_ends:
                call: Optional[Call] = stack.pop()
            else:
                call = take(frame)
            if call is None:
                return
            if lines_seen and call[NUMBER] in lines_seen:
                end_lines(call, frame)
            kept = value if value is None or value is True or value is False else keep(value)
            call[END_NUMBER:] = (next_number(), now(), RETURNED, kept, call[EXTRA])
            add_ended(dumps(call, 2))
            if len(ended) >= batch_size:
                on_full()
        except Exception:
            calls.failures += 1

    def fail(function: RecordedFunction, frame: Any, error: BaseException) -> None:
        try:
            call = take(frame)
            if isinstance(error, GeneratorExit) and function.flags & RESUMABLE:
                if call is not None:
                    finish(call, frame, RETURNED, CLOSED)
                return
            if call is None:  # its start was not seen
                back = frame.f_back
                stack = stacks.setdefault(get_ident(), [])
                place = find_parent(stack, back, function.flags & COROUTINE)
                arguments = keep_arguments(function, frame.f_locals, keep)
                call = [next_number(), function.number, *place, now(), arguments, 0, 0.0, OPEN, None, {"late": 1}]
            told = extra_of(call)
            told["line"] = frame.f_lineno
            key = (function.number, frame.f_lasti)
            count = kept_locals[key] = kept_locals.get(key, 0) + 1
            if count <= LOCALS_PER_PLACE:
                told["locals"] = keep_locals(frame)
            finish(call, frame, RAISED, keep_error(error))
        except Exception:
            calls.failures += 1

    def finish(call: Call, frame: Any, how: int, value: Any) -> None:
        if call[NUMBER] in lines_seen:
            end_lines(call, frame)
        call[END_NUMBER:] = (next_number(), now(), how, value, call[EXTRA])
        add_ended(dumps(call, 2))
        if len(ended) >= batch_size:
            on_full()

    def keep_locals(frame: Any) -> List[Any]:
        found: List[Any] = []
        for name, value in itertools.islice(frame.f_locals.items(), MOST_LOCALS):
            if type(name) is str and name != "self" and not raw.is_hidden(name) and not is_definition(value):
                found += (name, MASKED if is_secret(name) else keep(value))
        return found

    def extra_of(call: Call) -> Dict[str, Any]:
        if call[EXTRA] is None:
            call[EXTRA] = {}
        return call[EXTRA]  # type: ignore[no-any-return]

    def suspend(frame: Any, value: Any) -> None:
        try:
            call = take(frame)
            if call is None:
                return
            if len(suspended) >= MOST_SUSPENDED:  # generators that were dropped without a word
                suspended.clear()
            suspended[id(frame)] = call
            told = extra_of(call)
            if frame.f_code.co_flags & COROUTINE:
                told["since"] = now()
            else:
                yields = told.setdefault("yields", [0])
                yields[0] += 1
                if len(yields) <= MOST_YIELDS:
                    yields.append(keep(value))
        except Exception:
            calls.failures += 1

    def resume(frame: Any) -> None:
        try:
            call = suspended.pop(id(frame), None)
            function = known.get(id(frame.f_code))
            if call is None or function is None or call[FUNCTION] != function.number:
                return
            since = call[EXTRA].pop("since", None)
            if since is not None:
                waits = call[EXTRA].setdefault("waits", [0, 0.0, -1, 0.0])
                waited = now() - since
                waits[0] += 1
                waits[1] += waited
                if waited > waits[3]:
                    waits[2:] = [frame.f_lasti, waited]
            stack = stacks.get(get_ident())
            if stack is None:
                stack = stacks[get_ident()] = []
            stack.append(call)
        except Exception:
            calls.failures += 1

    def catch(frame: Any, error: BaseException) -> None:
        try:
            stack = stacks.get(get_ident())
            if stack and stack[-1][FRAME] == id(frame) and not isinstance(error, (StopIteration, GeneratorExit)):
                caught = extra_of(stack[-1]).setdefault("caught", [])
                if len(caught) < MOST_CAUGHT:
                    caught.append([frame.f_lineno, keep_error(error)])
        except Exception:
            calls.failures += 1

    def reach_line(function: RecordedFunction, frame: Any, line: int) -> bool:
        try:
            stack = stacks.get(get_ident())
            if not stack or stack[-1][FRAME] != id(frame) or function.changes is None:
                return True
            call = stack[-1][NUMBER]
            state = lines_seen.get(call)
            if state is None:
                state = lines_seen[call] = [{}, None, LINES_PER_CALL]
            if state[2] <= 0:
                return False
            changes = function.changes.changed(frame, state[0], state[1], keeper)
            state[1] = line
            left = state[2] = state[2] - 1
            is_last = left == 0
            add_step(dumps(("O" if is_last else "L", next_number(), call, line, [] if is_last else changes), 2))
            if len(steps) >= batch_size:
                on_full()
            return bool(left > 0)
        except Exception:
            calls.failures += 1
            return True

    def end_lines(call: Call, frame: Any) -> None:
        values, line, _ = lines_seen.pop(call[NUMBER])
        function = known.get(id(frame.f_code))
        if function is not None and function.changes is not None:
            changes = function.changes.changed(frame, values, None, keeper)
            add_step(dumps(("E", next_number(), call[NUMBER], line or 0, changes), 2))

    return CallFollowing(begin, end, fail, suspend, resume, catch, reach_line)


def is_definition(value: Any) -> bool:
    kind = type(value)
    return kind is ModuleType or kind is FunctionType or kind is type


def keep_arguments(function: RecordedFunction, variables: Any, keep: Callable[[Any], Any]) -> List[Any]:
    names = function.arguments
    try:
        if function.has_self:
            arguments: List[Any] = [mark_object(variables[names[0]])]
            for name in names[1:]:
                arguments.append(keep(variables[name]))
        else:
            arguments = [keep(variables[name]) for name in names]
    except KeyError:  # of a call that began before, arguments may be deleted
        arguments = [keep(variables[name]) if name in variables else DELETED for name in names]
    for place in function.masked:
        arguments[place] = MASKED
    return arguments


def take_running(calls: OpenCalls) -> List[RecordedFunction]:
    """Take calls that run already for begun, the outermost first; return their functions."""
    found: List[RecordedFunction] = []
    for ident, top in list(sys._current_frames().items()):
        stack = calls.stacks.setdefault(ident, [])
        for frame in reversed(list(outward_frames(top))):
            function = calls.functions.find(frame)
            if function is None:
                continue
            found.append(function)
            calls.may_miss_ends = True  # the thread runs on while we look
            number, lane = (stack[-1][NUMBER], stack[-1][LANE]) if stack else (0, calls.lanes.of_thread(ident))
            arguments = keep_arguments(function, frame.f_locals, calls.keeper.keep)
            stack.append([next(calls.numbers), function.number, number, -1, lane, time.perf_counter(), arguments,
                          0, 0.0, OPEN, None, {"late": 1}, -1, id(frame)])  # fmt: skip
    return found
