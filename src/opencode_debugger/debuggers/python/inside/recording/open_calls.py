"""Follows calls from their start to their end, in every thread, task and generator.

A call is one list from its start to its end, found by its frame. Those that have ended are packed some hundred at a
time, so that little is left for the garbage collector to look at. What runs at every call is made of closures, because
names in cells are found faster than attributes.
"""

from __future__ import annotations

import itertools
import marshal
import sys
import time
from _thread import allocate_lock
from inspect import CO_COROUTINE
from types import FrameType, FunctionType, ModuleType
from typing import Any, Callable, Counter, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..frames import ASKED_FILES, RESUMABLE, outward_frames
from ..values import raw
from .call_columns import PackedCalls, pack_columns
from .kept_values import LARGEST_INT, LEAST_INT, MASKED, NOTHING, ValueKeeper
from .line_changes import LINES_PER_CALL
from .recorded_functions import Lanes, RecordedFunction, RecordedFunctions

NUMBER, FUNCTION, PARENT, OFFSET, LANE, START, ARGUMENTS, END_NUMBER, END, HOW, VALUE, EXTRA = range(12)
"""The places in the list of a call."""
ITEMS = 12
OPEN, RETURNED, RAISED, UNSEEN = range(4)
"""How a call has ended."""
CLOSED = ("<closed>",)
DELETED = ("<deleted>",)
MOST_CAUGHT = 5
"""of a call, and the last one"""
ENDINGS = (StopIteration, StopAsyncIteration, GeneratorExit)
"""Exceptions that tell of an end, and of no failure."""
MOST_YIELDS = 3
MOST_LOCALS = 16
LOCALS_PER_PLACE = 100
"""how often the variables are kept where an exception leaves a function"""
MOST_SUSPENDED = 200_000
PIECE = 256
"""calls that are packed at once"""
FULL_PIECE = PIECE * ITEMS

Call = List[Any]


class CallFollowing(NamedTuple):
    """What is to be told of calls. None of these raises anything."""

    begin: Callable[[RecordedFunction, FrameType], None]
    end: Callable[[FrameType, Any], None]
    fail: Callable[[RecordedFunction, FrameType, BaseException, int], None]
    """something was raised at a line, and leaves the function"""
    suspend: Callable[[FrameType, Any], None]
    resume: Callable[[FrameType], None]
    catch: Callable[[FrameType, BaseException, int], None]
    """a handler begins for what was raised at a line: perhaps one that cleans up, or whose `except` does not match"""
    pass_on: Callable[[FrameType, BaseException], None]
    """that handler has not handled it, or raises it again"""
    reach_line: Callable[[RecordedFunction, FrameType, int], bool]
    """returns False when no more lines of this call are wanted"""


class OpenCalls:
    """The calls that have not ended, and what is yet to be written of those that have."""

    def __init__(self, functions: RecordedFunctions, keeper: ValueKeeper, batch_size: int) -> None:
        self.functions = functions
        self.keeper = keeper
        self.lanes = Lanes()
        self.open: Dict[FrameType, Call] = {}
        """Calls that run. Their frames are referred to until just before they end; all ends are seen, but for those of
        functions that rest, see `forget`."""
        self.begun_before: Dict[int, Call] = {}
        """by the id of the frame, calls that ran already when recording began: some may have ended meanwhile"""
        self.suspended: Dict[int, Call] = {}
        """by the id of the frame"""
        self.ended: List[Any] = []
        """the items of calls that have ended, one call after the other: fewer lists for the garbage collector"""
        self.pieces: List[PackedCalls] = []
        self.full_piece = FULL_PIECE
        """how many items are packed next: fewer after a piece that was written early. So pieces end at the same calls
        in every run, and two runs can be compared as they are packed."""
        self.steps: List[bytes] = []
        self.batch_size = batch_size
        self.failures = 0
        """calls that could not be followed"""
        self.numbers = itertools.count(1)
        self.call_counts: Counter[int] = Counter()
        """of functions, by their numbers, since it was last decided who rests"""
        self._packing = allocate_lock()
        self._packed_items = 0
        self._told: Set[int] = set()
        """numbers of calls that were told of in this segment while they were open"""
        self._segment = 0

    def new_rows(self, segment: int) -> List[bytes]:
        """Return calls that are open and not yet in this segment."""
        if segment != self._segment:
            self._segment = segment
            self._told.clear()
        rows: List[bytes] = []
        for calls in (self.begun_before, self.open, self.suspended):
            for call in list(calls.values()):
                if call[NUMBER] not in self._told:
                    self._told.add(call[NUMBER])
                    rows.append(marshal.dumps(call, 2))
        return rows

    def pack_ended(self) -> None:
        """Pack calls that have ended, unless another thread is at it."""
        if not self._packing.acquire(False):
            return
        try:
            items = self.ended[:]
            del self.ended[: len(items)]
            self._packed_items += len(items)
            self.full_piece = FULL_PIECE - self._packed_items % FULL_PIECE
            if items:
                columns = [items[place::ITEMS] for place in range(ITEMS)]
                del items
                self.call_counts.update(columns[FUNCTION])
                self.pieces.append(self._pack(columns))
        finally:
            self._packing.release()

    def _pack(self, columns: Sequence[Sequence[Any]]) -> PackedCalls:
        try:
            return pack_columns(columns)
        except ValueError:  # what is kept of a value is not what it should be: the other calls are
            rows = list(zip(*columns))
            whole = [row for row in rows if _can_be_packed(row)]
            self.failures += len(rows) - len(whole)
            return pack_columns(list(zip(*whole)) or [()] * len(columns))

    def take_pieces(self) -> List[PackedCalls]:
        """Return what has ended since."""
        self.pack_ended()
        found = self.pieces[:]
        del self.pieces[: len(found)]
        return found

    def forget(self, functions: Iterable[RecordedFunction]) -> None:
        """End the open calls of functions that rest: nobody will tell how they end."""
        numbers = {function.number for function in functions}
        kinds: Tuple[Dict[Any, Call], ...] = (self.begun_before, self.open, self.suspended)
        for calls in kinds:
            for key, call in list(calls.items()):
                if call[FUNCTION] in numbers and calls.pop(key, None) is call:
                    call[END_NUMBER:HOW] = [next(self.numbers), time.perf_counter()]
                    call[HOW] = UNSEEN
                    self.ended += call

    def follow(self, on_full: Callable[[], None]) -> CallFollowing:
        """Return what is to be told; `on_full` is called when there is enough to be written."""
        return _make_following(self, on_full)


def _make_following(calls: OpenCalls, on_full: Callable[[], None]) -> CallFollowing:
    open_calls, begun_before, suspended = calls.open, calls.begun_before, calls.suspended
    keeper, lanes = calls.keeper, calls.lanes
    keep, mark_object, keep_error, is_secret = keeper.keep, keeper.mark_object, keeper.keep_error, keeper.is_secret
    known = calls.functions.known
    ended, steps, pieces, batch_size = calls.ended, calls.steps, calls.pieces, calls.batch_size
    add_ended, add_step, pack_ended = ended.extend, steps.append, calls.pack_ended
    find_open, take_open = open_calls.get, open_calls.pop
    first_of = itertools.islice
    next_number, dumps, now = calls.numbers.__next__, marshal.dumps, time.perf_counter
    lines_seen: Dict[int, List[Any]] = {}
    """of calls whose lines are recorded, by number: values, last line, lines that are left"""
    kept_locals: Dict[Tuple[int, int], int] = {}
    passed_on: Dict[int, int] = {}
    """by the number of a call, the id of the exception that its last handler has passed on"""

    # What happens at every call is written out: a call of ours costs as much as one of the program's.

    def begin(function: RecordedFunction, frame: Any) -> None:
        try:
            began = now()
            arguments = NOTHING
            count = function.argument_count
            if count:
                if function.has_plain_arguments:  # at its start a function has no other variables before them
                    arguments = []
                    values = frame.f_locals.values()
                    if function.has_closure:
                        values = first_of(values, count)
                    for value in values:
                        kind = type(value)
                        if value is None or (kind is int and LEAST_INT < value < LARGEST_INT):
                            arguments.append(value)
                        elif not arguments and function.has_self:
                            arguments.append(mark_object(value))
                        else:
                            arguments.append(keep(value))
                else:
                    arguments = keep_arguments(function, frame.f_locals, keeper)
            back = frame.f_back
            parent = find_open(back)
            if parent is not None:
                number, offset, lane = parent[0], back.f_lasti, parent[4]
            else:
                place = find_parent(back, function.flags & CO_COROUTINE)
                if place is None:
                    return
                number, offset, lane = place
            open_calls[frame] = [next_number(), function.number, number, offset, lane, began, arguments,
                                 0, 0.0, 0, None, None]  # fmt: skip
        except Exception:
            calls.failures += 1

    def find_parent(back: Any, is_coroutine: int) -> Optional[Tuple[int, int, int]]:
        """Return number, offset and lane for a call that was not made by a recorded one itself.

        None: the debugger made it, for a condition or whoever asked for a value."""
        frame = back
        while frame is not None:
            call = find_running(frame)
            if call is not None:
                lane = lanes.current() if is_coroutine and frame is not back else call[LANE]
                return call[NUMBER], frame.f_lasti, lane
            if frame.f_code.co_filename in ASKED_FILES:
                return None
            frame = frame.f_back
        return 0, -1, lanes.current()

    def take_begun_before(frame: Any) -> Any:
        """Return the call of a frame that ran already when recording began, and take it off."""
        call, function = begun_before.get(id(frame)), known.get(id(frame.f_code))
        if call is None or function is None or call[FUNCTION] != function.number:
            return None  # of a frame at the same place, which has ended
        return begun_before.pop(id(frame), None)

    def take(frame: Any) -> Optional[Call]:
        """Return the call that a frame is of, and take it off; None if it is not recorded."""
        call = take_open(frame, None)
        return take_begun_before(frame) if call is None and begun_before else call

    def end(frame: Any, value: Any) -> None:
        try:
            call = take_open(frame, None)
            if call is None:
                call = take(frame)
                if call is None:
                    return
            if lines_seen and call[0] in lines_seen:
                end_lines(call, frame)
            call[7] = next_number()
            call[8] = now()
            call[10] = value if value is None or value is True or value is False else keep(value)
            call[9] = 1
            add_ended(call)
            if len(ended) >= calls.full_piece:
                add_piece()
        except Exception:
            calls.failures += 1

    def add_piece() -> None:
        pack_ended()
        if len(pieces) * PIECE >= batch_size:
            on_full()

    def fail(function: RecordedFunction, frame: Any, error: BaseException, line: int) -> None:
        try:
            call = take(frame)
            if issubclass(type(error), GeneratorExit) and function.flags & RESUMABLE:
                if call is not None:
                    finish(call, frame, RETURNED, CLOSED)
                return
            if call is None:  # its start was not seen
                function.unseen_failures += 1
                place = find_parent(frame.f_back, function.flags & CO_COROUTINE)
                if place is None:
                    return
                arguments = keep_arguments(function, frame.f_locals, keeper)
                call = [next_number(), function.number, *place, now(), arguments, 0, 0.0, OPEN, None, {"late": 1}]
            passed_on.pop(call[NUMBER], None)
            told = extra_of(call)
            told["line"] = line
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
        call[END_NUMBER:HOW] = [next_number(), now()]
        call[VALUE] = value
        call[HOW] = how
        add_ended(call)
        if len(ended) >= calls.full_piece:
            add_piece()

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
            if frame.f_code.co_flags & CO_COROUTINE:
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
            open_calls[frame] = call
        except Exception:
            calls.failures += 1

    def find_running(frame: Any) -> Optional[Call]:
        """Return the call of a frame that runs now."""
        call = find_open(frame)
        if call is None and begun_before:
            call = take_begun_before(frame)
            if call is not None:
                open_calls[frame] = call
        return call

    def catch(frame: Any, error: BaseException, line: int) -> None:
        try:
            call = find_running(frame)
            if call is not None and not issubclass(type(error), ENDINGS):
                caught = extra_of(call).setdefault("caught", [])
                del caught[MOST_CAUGHT:]
                caught.append([line, keep_error(error)])
                passed_on.pop(call[NUMBER], None)
        except Exception:
            calls.failures += 1

    def pass_on(frame: Any, error: BaseException) -> None:
        try:
            call = find_running(frame)
            caught = call[EXTRA].get("caught") if call is not None and call[EXTRA] else None
            if call is None or not caught or issubclass(type(error), ENDINGS):
                return
            if passed_on.get(call[NUMBER]) == id(error):  # what cleans up after a handler raises it once more
                return
            passed_on[call[NUMBER]] = id(error)
            name = raw.type_name(error)
            for place in range(len(caught) - 1, -1, -1):  # meanwhile others may have been handled
                _, kept_name, _, kept_id = caught[place][1]
                if kept_id == id(error) and kept_name == name:
                    del caught[place]
                    break
            if not caught:
                del call[EXTRA]["caught"]
        except Exception:
            calls.failures += 1

    def reach_line(function: RecordedFunction, frame: Any, line: int) -> bool:
        try:
            running = find_running(frame)
            if running is None or function.changes is None:
                return True
            call = running[NUMBER]
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

    return CallFollowing(begin, end, fail, suspend, resume, catch, pass_on, reach_line)


def _can_be_packed(row: Sequence[Any]) -> bool:
    try:
        pack_columns(list(zip(row)))
    except ValueError:
        return False
    return True


def is_definition(value: Any) -> bool:
    kind = type(value)
    return kind is ModuleType or kind is FunctionType or kind is type


def keep_arguments(function: RecordedFunction, variables: Any, keeper: ValueKeeper) -> List[Any]:
    names, keep = function.arguments, keeper.keep
    # Of a call that began before, arguments may be deleted.
    arguments = [keep(variables[name]) if name in variables else DELETED for name in names]
    if function.has_self and names[0] in variables:
        arguments[0] = keeper.mark_object(variables[names[0]])
    for place in function.masked:
        arguments[place] = MASKED
    return arguments


def take_running(calls: OpenCalls) -> List[RecordedFunction]:
    """Take calls that run already for begun, the outermost first; return their functions."""
    found: List[RecordedFunction] = []
    for ident, top in list(sys._current_frames().items()):
        number, lane = 0, calls.lanes.of_thread(ident)
        for frame in reversed(list(outward_frames(top))):
            function = calls.functions.find(frame)
            if function is None:
                continue
            found.append(function)
            arguments = keep_arguments(function, frame.f_locals, calls.keeper)
            call: Call = [next(calls.numbers), function.number, number, -1, lane, time.perf_counter(), arguments,
                          0, 0.0, OPEN, None, {"late": 1}]  # fmt: skip
            calls.begun_before[id(frame)] = call
            number = call[NUMBER]
    return found
