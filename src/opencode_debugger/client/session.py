"""One debug session as an object whose calls block."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..agents.conversation import run_now
from ..answers.breakpoints import Breakpoint
from ..answers.inspection import Assigned, Evaluation, Frame, Variable
from ..answers.sessions import SessionDeleted
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
from .async_session import WAIT, AsyncDebugSession, How, Place, ReportedSession


class DebugSession(ReportedSession):
    """A program under the debugger; `with` ends it.

    What makes it run waits for its next stop, and returns the report of it, which is then `report`."""

    def __init__(self, calls: AsyncDebugSession) -> None:
        """Take a session whose asker never suspends."""
        self._calls = calls

    def __enter__(self) -> DebugSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    @property
    def session_id(self) -> str:
        return self._calls.session_id

    @property
    def started(self) -> ProgramRun | ProgramAttached:
        """The answer to the call that started it: its pid, warnings, and breakpoints that are not verified."""
        return self._calls.started

    @property
    def report(self) -> StopReport:
        """Where the program was when it was last asked to do something."""
        return self._calls.report

    # Make it run.

    def step(self, how: How = "over", *, count: int | None = None, wait: float = WAIT, **options: Any) -> Stepped:
        return run_now(self._calls.step(how, count=count, wait=wait, **options))

    def cont(self, *, wait: float = WAIT, **options: Any) -> Continued:
        """Continue to the next stop, or the end."""
        return run_now(self._calls.cont(wait=wait, **options))

    def to(self, place: int | str, *, wait: float = WAIT, **options: Any) -> RanTo:
        """Run to a line of this file, to `FILE:LINE`, or to a line of this file by its text."""
        return run_now(self._calls.to(place, wait=wait, **options))

    def until(self, expression: str, **options: Any) -> SteppedUntil:
        """Step until an expression is true."""
        return run_now(self._calls.until(expression, **options))

    def pause(self, **options: Any) -> StopReport:
        return run_now(self._calls.pause(**options))

    def wait(self, seconds: float = WAIT) -> StopReport:
        """Wait for the next stop if the program runs."""
        return run_now(self._calls.wait(seconds))

    def input(self, text: str, *, eof: bool = False, wait: float = WAIT) -> InputSent:
        """Send a line to the program's stdin, and wait for what comes of it."""
        return run_now(self._calls.input(text, eof=eof, wait=wait))

    def restart(self, *, wait: float = WAIT, **options: Any) -> Restarted:
        """Run the program again from its beginning."""
        return run_now(self._calls.restart(wait=wait, **options))

    # Look at it, and change it.

    @property
    def locals(self) -> dict[str, Variable]:
        """Variables of the current frame, by name."""
        return self.variables()

    @property
    def stack(self) -> list[Frame]:
        """Frames of the stopped thread, the innermost first."""
        return run_now(self._calls.frames())

    @property
    def output(self) -> str:
        """All that the program wrote, as far as the relay has kept it."""
        return self.read_output()

    def variables(self, frame_id: int | None = None) -> dict[str, Variable]:
        return run_now(self._calls.variables(frame_id))

    def read_output(self, category: str | None = None) -> str:
        """Return what the program wrote, of one kind if a category is given: stdout or stderr."""
        return run_now(self._calls.read_output(category))

    def eval(self, expression: str, **options: Any) -> Evaluation:
        """Evaluate an expression, or carry out a statement. What it raises is in the answer's `error`."""
        return run_now(self._calls.eval(expression, **options))

    def set(self, target: str, value: str, **options: Any) -> Assigned:
        """Assign the value of an expression to a name, an attribute or an item."""
        return run_now(self._calls.set(target, value, **options))

    def break_at(self, *places: Place) -> list[Breakpoint]:
        """Set breakpoints; those that are not verified say why."""
        return run_now(self._calls.break_at(*places))

    # All the rest.

    def call(self, operation: str, /, **params: Any) -> Any:
        """Carry out any operation of the API by its name; of this session, if it is about one."""
        return run_now(self._calls.call(operation, **params))

    def end(self) -> SessionDeleted | None:
        """End the session and its program; None if it had ended already. One that was attached to runs on."""
        return run_now(self._calls.end())
