"""Standing in the past of a recorded Python program: where the session stands, and how it moves there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.sessions import PastMoment
from ...answers.shape import UNSET, Maybe, extended
from ...answers.source_code import Source
from ...answers.stop_reports import Continued, Stepped, StopReport
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.event_kinds import EventKind
from ...operations.operation import Operation
from ...operations.states import ONLY_PAUSED, STANDING, State
from ..execution.execution import Execution
from ..execution.stop_report import check_fields
from ..execution.stops import frame_path, own_frame
from ..inspection.source_and_modules import SourceAndModules
from ..lifecycle.debuggee import Debuggee
from ..recording.recorded_calls import RecordedCalls
from ..recording.recorded_run import RecordedRun
from ..recording.recorded_values import value_text
from ..recording.value_filter import RecordedExpression, Unreadable
from ..recording.value_origin import SET
from ..state import wrong_state
from . import past_inspection as looking
from .moments import CodePlace, Moment, Moments
from .past_report import PastReporter
from .past_stop import PastStop, make_stop

if TYPE_CHECKING:
    from ..breakpoints.breakpoint_table import Breakpoint
    from ..execution.program_run import Run
    from ..inspection.watch_table import Watches

NOWHERE_BEFORE = "Nothing before this was recorded"
AT_PRESENT = "This is the present again: nothing after that was recorded. What comes now makes the program itself run."
AFTER_END = "This is the present again: the program has ended."
IN_PAST = "{return_to_now} goes back to the present"
NOTHING_AFTER = "Nothing after this was recorded: the session stands where it stood"
NO_PRESENT = "There is no present: this session has a recording and no program. It stands at no moment of it any more."
NO_PROGRAM = (
    "It answers questions and is gone back in: {trace} shows its calls, {goto_moment moment=#1} goes to one; {launch} "
    "runs a program here"
)
OTHER_MOMENTS = "{trace} shows which calls there are, {goto_moment moment=#1} goes to one"
NO_END = 1 << 62
"""a number that no moment has: that of the present"""

Find = Callable[[Moments, Moment | None], "Found | None"]


@dataclass(frozen=True)
class Found:
    """A moment to go to, and why."""

    moment: Moment
    reason: str = "step"
    hit_ids: tuple[str, ...] = ()
    note: str = ""


@dataclass(eq=False)
class GoingBack:
    _debuggee: Debuggee
    _execution: Execution
    _recorded_run: RecordedRun
    _code: SourceAndModules
    _reporter: PastReporter
    _watches: Watches
    _stop: PastStop | None = None
    _run: Run | None = None
    """the run of the program at whose stop or end the past was entered: with another one that is over"""
    moves: int = field(default=0)
    """counts how often the session came to another moment"""

    @property
    def stop(self) -> PastStop | None:
        """Return the moment at which the session stands; None: it stands in the present."""
        return self._stop if self._run is self._debuggee.run else None

    def describe(self) -> Maybe[PastMoment]:
        return UNSET if self.stop is None else self.stop.describe()

    @property
    def is_possible(self) -> bool:
        """Tell whether there is a recording to go back in."""
        adapter = self._debuggee.adapter
        return adapter is not None and bool(adapter.recording.folders())

    def method_in_past(self, operation: Operation) -> Callable[..., Any] | None:
        """Return what carries an operation out while the session stands in the past, if it is about the moment."""
        found = None if self.stop is None else self._methods().get(operation.name)
        if found is None and self._has_no_program:
            self._require_no_program(operation)
        elif found is None and self.stop is not None and operation.states == ONLY_PAUSED:
            message = f"Cannot {operation.said}: the session stands in the past, at #{self.stop.moment.number}"
            raise RelayError("INVALID_SESSION_STATE", message, current_state=str(self._debuggee.state),
                suggestion=advice(IN_PAST))
        return found

    @property
    def _has_no_program(self) -> bool:
        """Tell whether the session has nothing but recordings that were opened: then it has a past and no present."""
        return self._debuggee.state is State.CREATED and self._recorded_run.has_recordings

    def _require_no_program(self, operation: Operation) -> None:
        """Refuse what only a program can do."""
        goes_back = operation.states == STANDING
        if operation.states is not None and State.CREATED not in operation.states and not goes_back:
            message = f"Cannot {operation.said}: the session has an opened recording, and no program"
            raise RelayError("INVALID_SESSION_STATE", message, current_state=str(State.CREATED),
                suggestion=advice(NO_PROGRAM))

    def _require_standing(self, operation: str) -> None:
        """Refuse to go back in a program that moves."""
        if not self._has_no_program:
            self._debuggee.require_state(operation)

    def _methods(self) -> dict[str, Callable[..., Any]]:
        return {
            "continue": self._go_on, "step_over": partial(self._step, Moments.after),
            "step_into": partial(self._step, _after_into), "step_out": partial(self._step, Moments.end_after),
            "report": self._report_here, "stack_trace": self._stack_trace, "threads": self._threads,
            "scopes": partial(self._look, looking.scopes), "variables": partial(self._look, looking.variables),
            "children": partial(self._look, looking.children), "evaluate": partial(self._look, looking.evaluate),
            "frame_variables": partial(self._look, looking.frame_variables), "source": self._source,
            "list_watches": self._list_watches,
        }

    # Going.

    async def step_back(self, thread_id: int | None = None, **wish: Any) -> StopReport:
        """Go to the line before in the same function if its lines are recorded, else to what happened before."""
        if not self._goes_by_recording("step_back"):
            return await self._execution.step_back(thread_id, **wish)

        def find(moments: Moments, here: Moment | None) -> Found | None:
            moment = moments.before(here) if here else self._last_before_now(moments)
            return Found(moment) if moment else None

        return await self._go_back(find, **wish)

    async def reverse_continue(
        self, thread_id: int | None = None, name: str | None = None, **wish: Any
    ) -> StopReport:
        """Go back to the last hit of a breakpoint, or change of what has a name."""
        if not self._goes_by_recording("reverse_continue"):
            if name is not None:
                suggestion = advice("Set a data breakpoint on it, {set_data_breakpoint}, and go back without a name")
                message = "Only recordings of Python programs can be searched for a name"
                raise RelayError("NOT_SUPPORTED", message, suggestion=suggestion)
            return await self._execution.reverse_continue(thread_id, **wish)
        return await self._go_back(self._find_hit if name is None else partial(_find_change, name), **wish)

    async def goto_moment(self, moment: str, recording: str | None = None, **wish: Any) -> StopReport:
        """Go to a call, a line of it, or any other moment by its number."""
        self._require_standing("goto_moment")
        return await self._go_back(
            lambda moments, _: Found(moments.named(moment), "goto"), recording=recording, **wish)

    async def return_to_now(self, **wish: Any) -> StopReport:
        """Return to the present: where the program really is, or how it ended."""
        check_fields(wish.get("fields"))
        was_past, self._stop = self.stop is not None, None
        if was_past and self._debuggee.stop is not None:
            self._debuggee.log.add(EventKind.STOPPED, self._debuggee.stop.to_event(), self._debuggee.change_count)
        self.moves += was_past
        report = await self._execution.report_now(
            **{name: wish[name] for name in ("fields", "budget") if name in wish})
        return msgspec.structs.replace(report, message=NO_PRESENT) if self._has_no_program else report

    def _goes_by_recording(self, operation: str) -> bool:
        """Tell whether a recording was written to go back in; else the debugger itself goes back, or refuses."""
        self._require_standing(operation)
        if self._has_no_program:
            return True
        state, adapter = self._debuggee.state, self._debuggee.require_adapter()
        if not self.is_possible and "reverse" in adapter.capabilities and state is not State.PAUSED:
            raise wrong_state(operation, state, ONLY_PAUSED)
        return self.is_possible

    async def _go_back(
        self, find: Find, fields: list[str] | None = None, budget: int | None = None, recording: str | None = None,
        **_: Any,
    ) -> StopReport:
        check_fields(fields)
        found = await self._look_up(find, recording)
        if found is None:
            message = f"{NOWHERE_BEFORE}: the session stands where it stood"
            raise RelayError("CALL_NOT_FOUND", message, suggestion=advice(OTHER_MOMENTS))
        self._stand_at(found)
        return self._reporter.report(found, fields, budget)

    async def _look_up(self, find: Find, recording: str | None = None) -> PastStop | None:
        """Return the stop at the moment that is found in the recording in which the session stands."""
        here = self.stop

        def answer(calls: RecordedCalls) -> PastStop | None:
            found = find(Moments(calls), here.moment if here else None)
            if found is None:
                return None
            stop = make_stop(calls, found.moment)
            note = " ".join(filter(None, (found.note, stop.note))) or None
            return replace(stop, reason=found.reason, hit_ids=list(found.hit_ids), note=note)

        return await self._recorded_run.ask(recording or (here.recording if here else None), answer)

    def _stand_at(self, stop: PastStop) -> None:
        self._stop, self._run = stop, self._debuggee.run
        self.moves += 1
        self._debuggee.touch()
        event = {**stop.to_stop().to_event(), "past": msgspec.to_builtins(stop.describe())}
        self._debuggee.log.add(EventKind.STOPPED, event, self._debuggee.change_count)

    def _last_before_now(self, moments: Moments) -> Moment | None:
        """Return the last moment of the function in which the program is paused, or of the whole run."""
        present = self._debuggee.stop
        if self._debuggee.state is not State.PAUSED or present is None or not present.frames:
            return moments.latest()
        frame = present.frames[own_frame(present.frames)]
        return moments.latest_in(frame_path(frame) or "", frame["name"], frame["line"])

    # Forward again.

    async def _step(
        self, further: Callable[[Moments, Moment], Moment | None], count: int | None = None, target: Any = None,
        fields: list[str] | None = None, budget: int | None = None, **_: Any,
    ) -> Stepped:
        if target is not None:
            raise RelayError("NOT_SUPPORTED", "In the past a step takes no target", suggestion=advice(
                "{goto_moment moment=?} goes to a call, {step_into} to the next one"))

        def find(moments: Moments, here: Moment | None) -> Found | None:
            for _ in range(count or 1):
                here = further(moments, here) if here else None
            return Found(here) if here else None

        more = {} if count is None else {"steps": count}
        return extended(await self._go_forward(find, fields, budget), Stepped, **more)

    async def _go_on(self, fields: list[str] | None = None, budget: int | None = None, **_: Any) -> Continued:
        find = partial(self._find_hit, is_forward=True)
        return extended(await self._go_forward(find, fields, budget), Continued, continued=True)

    async def _go_forward(self, find: Find, fields: list[str] | None, budget: int | None) -> StopReport:
        check_fields(fields)
        found = await self._look_up(find)
        if found is not None:
            self._stand_at(found)
            return self._reporter.report(found, fields, budget)
        if self._has_no_program:
            raise RelayError("CALL_NOT_FOUND", NOTHING_AFTER, suggestion=advice(OTHER_MOMENTS))
        report = await self.return_to_now(fields=fields, budget=budget)
        message = AT_PRESENT if self._debuggee.state is State.PAUSED else AFTER_END
        return msgspec.structs.replace(report, message=message)

    def _find_hit(self, moments: Moments, here: Moment | None, is_forward: bool = False) -> Found | None:
        """Find the nearest hit of a breakpoint; going back without one leads to the beginning of the recording."""
        enabled = [each for each in self._debuggee.breakpoints.all() if each.enabled and not each.log_message]
        by_place = [(code_place(each), each) for each in enabled]
        number = here.number if here else NO_END

        def hits(moment: Moment) -> list[tuple[Breakpoint, str]]:
            function = moment.call.function
            there = [(place, each) for place, each in by_place
                if place.covers(function.path, function.name, function.lines)]
            reached = [(each, _why_hit(moments, moment, place)) for place, each in there
                if place.line in (None, moment.line) or moment.call.number not in moments.calls.steps_by_call]
            return [(each, " ".join(filter(None, (why, note)))) for each, why in reached
                if (note := _condition_note(moments, moment, each)) is not None]

        found = moments.first_hit([place for place, _ in by_place], number, is_forward, lambda each: bool(hits(each)))
        if found is not None:
            ids, notes = zip(*((each.id, note) for each, note in hits(found)), strict=True)
            return Found(found, "breakpoint", ids, " ".join(filter(None, notes)))
        first = None if is_forward else moments.first()
        if first is None or first.number >= number:
            return None
        return Found(first, "entry", note="Here the recording begins: no breakpoint was hit before.")

    # Looking.

    def _report_here(
        self, fields: list[str] | None = None, budget: int | None = None, **_: Any
    ) -> StopReport:
        return self._reporter.report(self._require_stop(), fields, budget)

    def _look(self, method: Callable[..., Any], thread_id: int | None = None, **given: Any) -> Any:
        stop = self._require_stop()
        looking.require_thread(stop, thread_id)
        for name in ("context", "task_id", "timeout"):
            given.pop(name, None)
        if method in (looking.variables, looking.children):
            given.pop("frame_id", None)
        return method(stop, **given)

    def _stack_trace(
        self, thread_id: int | None = None, start_frame: int = 0, levels: int = 20, **_: Any
    ) -> Any:
        stop = self._require_stop()
        looking.require_thread(stop, thread_id)
        return looking.stack_trace(self._debuggee, stop, start_frame, levels)

    def _threads(self) -> Any:
        return looking.threads(self._require_stop())

    async def _source(
        self, path: str | None = None, frame_id: int | None = None, thread_id: int | None = None,
        start_line: int | None = None, end_line: int | None = None,
    ) -> Source:
        if path is not None:
            return await self._code.source(path=path, start_line=start_line, end_line=end_line)
        stop = self._require_stop()
        frame = stop.rows[looking.require_frame(stop, frame_id)]
        recorded = stop.recorded_source(frame_path(frame))
        return self._code.frame_page(frame, frame_id or 0, start_line, end_line, recorded)

    def _list_watches(self, frame_id: int | None = None, thread_id: int | None = None) -> Any:
        stop = self._require_stop()
        return self._watches.list_with(lambda each: looking.watch_row(stop, each))

    def _require_stop(self) -> PastStop:
        stop = self.stop
        if stop is None:  # another client has left the past meanwhile
            raise RelayError("FRAME_NOT_FOUND", "The session has left the past")
        return stop


def _after_into(moments: Moments, moment: Moment) -> Moment | None:
    return moments.after(moment, is_into=True)


def code_place(each: Breakpoint) -> CodePlace:
    paths = frozenset(path for path in each.real_paths if path)
    return CodePlace(paths, None, each.function) if each.function else CodePlace(paths, each.line, None)


def _why_hit(moments: Moments, moment: Moment, place: CodePlace) -> str:
    """Say so if it is not known that the line was reached."""
    if place.line is None or moment.call.number in moments.calls.steps_by_call:
        return ""
    return f"Whether line {place.line} was reached was not recorded: this is the call of its function."


def _condition_note(moments: Moments, moment: Moment, each: Breakpoint) -> str | None:
    """Return what is to be said of a breakpoint's condition that lets it stop here; None if it does not stop."""
    if not each.condition:
        return ""
    values = moments.values_at(moment.call, moment.number)
    try:
        condition = RecordedExpression(each.condition)
    except Unreadable:
        return f"The condition of {each.id} cannot be decided by recorded values."
    if condition.names - values.keys():
        return f"The condition of {each.id} cannot be decided: not all that it asks for was recorded."
    return "" if condition.holds(values) else None


def _find_change(name: str, moments: Moments, here: Moment | None) -> Found | None:
    """Find where what has a name was given or changed last."""
    change = moments.last_change(name, here.number if here else NO_END, here.call.number if here else None)
    if change is None:
        return None
    text = value_text(change.seen.value)[:200]
    if change.seen.how == SET:
        note = f"This line sets {change.seen.name_text} to {text}."
    else:
        seen, function = change.seen, change.moment.call.function.name
        note = f"Seen here: {seen.name_text or name} is {text}, {seen.how} {function}."
    return Found(change.moment, "data_breakpoint", note=note)
