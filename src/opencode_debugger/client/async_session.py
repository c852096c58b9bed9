"""One debug session as an object with coroutines: each asks for an operation and returns its answer as a struct."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Literal, TypeVar

import msgspec

from ..agents.conversation import only_given
from ..answers.breakpoints import Breakpoint, BreakpointsSet
from ..answers.inspection import Assigned, Evaluation, Frame, FrameVariables, StackTrace, Variable
from ..answers.output import OutputPage
from ..answers.sessions import ExceptionInfo, Location, SessionDeleted, Status
from ..answers.shape import Answer
from ..answers.stop_reports import (
    Continued,
    InputSent,
    ProgramAttached,
    ProgramRun,
    RanTo,
    Restarted,
    Stepped,
    SteppedUntil,
    StopReport,
)
from ..operations.operation import ID
from ..text.render import answer_type
from ..text.view import known
from .http import DebugError, HttpAsker, RelayGone, find_operation

WAIT = 30.0
"""seconds for the next stop"""
PAGE = 1000
GONE = ("SESSION_NOT_FOUND", "SESSION_EXPIRED")
PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+)")
STEPS = {"over": "step_over", "into": "step_into", "out": "step_out"}

How = Literal["over", "into", "out"]
Place = str | dict[str, Any]
"""of a breakpoint: `app.py:42 if x > 3`, `app.py~text of the line`, `function`, or an object as REST takes it"""
AnswerT = TypeVar("AnswerT", bound=Answer)
ReportT = TypeVar("ReportT", bound=StopReport)


class ReportedSession:
    """Where a session is, as its last report says."""

    _report: StopReport

    @property
    def report(self) -> StopReport:
        """Where the program was when it was last asked to do something."""
        return self._report

    @property
    def status(self) -> Status:
        """running, paused, terminated, …"""
        return self.report.status

    @property
    def stop_reason(self) -> str | None:
        """Why it is paused: breakpoint, step, exception, pause or entry."""
        return known(self.report.stop_reason)

    @property
    def location(self) -> Location | None:
        return known(self.report.current_location)

    @property
    def exception(self) -> ExceptionInfo | None:
        """The exception on which it stopped."""
        return known(self.report.exception)

    @property
    def exit_code(self) -> int | None:
        return known(self.report.exit_code)


class AsyncDebugSession(ReportedSession):
    """A program under the debugger; `async with` ends it.

    What makes it run waits for its next stop, and returns the report of it, which is then `report`."""

    def __init__(self, asker: HttpAsker, started: ProgramRun | ProgramAttached) -> None:
        self._asker = asker
        self.session_id = str(started.session_id)
        self.started = started
        """the answer to the call that started it: its pid, warnings, and breakpoints that are not verified"""
        self._report = started

    async def __aenter__(self) -> AsyncDebugSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.end()

    # Make it run.

    async def step(self, how: How = "over", *, count: int | None = None, wait: float = WAIT, **options: Any) -> Stepped:
        return await self._run(Stepped, STEPS[how], count=count, wait=wait, **options)

    async def cont(self, *, wait: float = WAIT, **options: Any) -> Continued:
        """Continue to the next stop, or the end."""
        return await self._run(Continued, "continue", wait=wait, **options)

    async def to(self, place: int | str, *, wait: float = WAIT, **options: Any) -> RanTo:
        """Run to a line of this file, to `FILE:LINE`, or to a line of this file by its text."""
        return await self._run(RanTo, "run_to", **_line_of(place), wait=wait, **options)

    async def until(self, expression: str, **options: Any) -> SteppedUntil:
        """Step until an expression is true."""
        return await self._run(SteppedUntil, "step_until", expression=expression, **options)

    async def pause(self, **options: Any) -> StopReport:
        return await self._run(StopReport, "pause", **options)

    async def wait(self, seconds: float = WAIT) -> StopReport:
        """Wait for the next stop if the program runs."""
        return await self._run(StopReport, "report", wait=seconds)

    async def input(self, text: str, *, eof: bool = False, wait: float = WAIT) -> InputSent:
        """Send a line to the program's stdin, and wait for what comes of it."""
        line = text if text.endswith("\n") else text + "\n"
        return await self._run(InputSent, "stdin", input=line, eof=eof, wait=wait)

    async def restart(self, *, wait: float = WAIT, **options: Any) -> Restarted:
        """Run the program again from its beginning."""
        return await self._run(Restarted, "restart", wait=wait, **options)

    # Look at it, and change it.

    @property
    def locals(self) -> Awaitable[dict[str, Variable]]:
        """Variables of the current frame, by name."""
        return self.variables()

    @property
    def stack(self) -> Awaitable[list[Frame]]:
        """Frames of the stopped thread, the innermost first."""
        return self.frames()

    @property
    def output(self) -> Awaitable[str]:
        """All that the program wrote, as far as the relay has kept it."""
        return self.read_output()

    async def variables(self, frame_id: int | None = None) -> dict[str, Variable]:
        if frame_id is None:
            frame_id = known(self.report.frame_id) or 0
        found: dict[str, Variable] = {}
        start = 0
        while True:
            page = await self._ask(FrameVariables, "frame_variables", frame_id=frame_id, start=start, count=PAGE)
            found |= {row.name: row for row in page.variables}
            start += len(page.variables)
            if not known(page.has_more) or not page.variables:
                return found

    async def frames(self) -> list[Frame]:
        return (await self._ask(StackTrace, "stack_trace", levels=PAGE)).frames

    async def read_output(self, category: str | None = None) -> str:
        """Return what the program wrote, of one kind if a category is given: stdout or stderr."""
        texts: list[str] = []
        cursor = None
        while True:
            page = await self._ask(OutputPage, "output", category=category, cursor=cursor, limit=PAGE)
            texts += [entry.output for entry in page.entries]
            cursor = page.next_cursor
            if not page.has_more:
                return "".join(texts)

    async def eval(self, expression: str, **options: Any) -> Evaluation:
        """Evaluate an expression, or carry out a statement. What it raises is in the answer's `error`."""
        return await self._ask(Evaluation, "evaluate", expression=expression, **options)

    async def set(self, target: str, value: str, **options: Any) -> Assigned:
        """Assign the value of an expression to a name, an attribute or an item."""
        return await self._ask(Assigned, "set_expression", expression=target, value=value, **options)

    async def break_at(self, *places: Place) -> list[Breakpoint]:
        """Set breakpoints; those that are not verified say why."""
        return (await self._ask(BreakpointsSet, "set_breakpoints", breakpoints=list(places))).breakpoints

    # All the rest.

    async def call(self, operation: str, /, **params: Any) -> Any:
        """Carry out any operation of the API by its name; of this session, if it is about one."""
        declared = find_operation(operation)
        if ID in declared.routes[0].path_names:
            params = {ID: self.session_id, **params}
        answer = await self._asker.ask(operation, only_given(**params))
        decoded = msgspec.json.decode(answer, type=answer_type(operation))
        if isinstance(decoded, StopReport) and params.get(ID) == self.session_id:
            self._report = decoded
        return decoded

    async def end(self) -> SessionDeleted | None:
        """End the session and its program; None if it had ended already. One that was attached to runs on."""
        try:
            return await self._ask(SessionDeleted, "delete_session", force=True)
        except DebugError as error:
            if error.code not in GONE:
                raise
            return None
        except RelayGone:
            return None  # it may have been asked to end, and its sessions have an end of their own
        finally:
            self._asker.close()

    async def _run(self, kind: type[ReportT], operation: str, **params: Any) -> ReportT:
        self._report = report = await self._ask(kind, operation, **params)
        return report

    async def _ask(self, kind: type[AnswerT], operation: str, **params: Any) -> AnswerT:
        answer = await self._asker.ask(operation, {ID: self.session_id, **only_given(**params)})
        return msgspec.json.decode(answer, type=kind)


def _line_of(place: int | str) -> dict[str, Any]:
    if isinstance(place, int):
        return {"line": place}
    found = PLACE.fullmatch(place)
    return {"file": found["file"], "line": int(found["line"])} if found else {"text": place}
