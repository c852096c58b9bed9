"""A stop of the program: where and why, as it was when the debugger reported it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.sessions import ExceptionCause, ExceptionInfo, GroupMember, Location
from ...answers.shape import UNSET
from ...debuggers.process.program_process import ExitStatus
from ...debuggers.shapes import Frames, StopEvent

if TYPE_CHECKING:
    from ...debuggers.rows import ExceptionRow, FrameRow

DESCRIPTIONS = {
    "breakpoint": "Paused on breakpoint",
    "step": "Paused after step",
    "exception": "Paused on exception",
    "pause": "Paused on request",
    "entry": "Paused at program entry",
    "data_breakpoint": "Paused on a change of data",
    "run_to": "Paused at the line it was run to",
}

TRACEBACK = 4000
"""Characters of a traceback that the log keeps; the session itself has it whole."""


@dataclass
class Stop:
    event: StopEvent
    frames: Frames
    hit_ids: list[str]
    exception: ExceptionRow | None = None
    left_function: str | None = None
    """the function that was stepped out of"""
    note: str | None = None
    """further facts in words, such as a condition that raised"""
    is_told: bool = False
    """whether a client has seen it: one that nobody was told of is not left by a continue"""
    is_logged: bool = False
    focus_frame: int = 0
    """the frame that is looked at unless another is named"""
    stepped_from: int | None = None
    """the line that a step into left without entering anything"""

    @property
    def thread_id(self) -> int:
        return self.event.thread_id

    @property
    def reason(self) -> str:
        return self.event.reason

    @property
    def location(self) -> Location | None:
        """Return the place of the frame in focus."""
        return frame_location(self.frames[self.focus_frame]) if self.frames else None

    def note_step_into(self, before: Stop | None) -> None:
        """Note the line that was left if a step into is still in the same frame: whatever that line calls was not
        entered."""
        if before is None or self.reason != "step" or len(before.frames) != len(self.frames) or not self.frames:
            return
        old, new = before.location, self.location
        if old is None or new is None or before.thread_id != self.thread_id:
            return
        if (old.path, old.function) == (new.path, new.function):
            self.stepped_from = old.line

    def to_exception(self) -> ExceptionInfo | None:
        told = self.exception
        if told is None:
            return None
        causes = msgspec.convert(told["chain"], list[ExceptionCause]) if told.get("chain") else UNSET
        members = msgspec.convert(told["exceptions"], list[GroupMember]) if told.get("exceptions") else UNSET
        more: dict[str, Any] = {"traceback": told["traceback"], "location": self.location}
        more["notes"] = told.get("notes") or UNSET
        return ExceptionInfo(type=told["type"], message=told["message"], chain=causes, exceptions=members, **more)

    def to_event(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "reason": self.reason,
            "description": DESCRIPTIONS.get(self.reason, f"Paused on {self.reason}"),
            "thread_id": self.thread_id,
            "preserve_focus_hint": False,
            "text": self.note,
            "all_threads_stopped": self.event.all_threads_stopped,
            "hit_breakpoint_ids": self.hit_ids,
            "location": msgspec.to_builtins(self.location),
        }
        exception = self.exception
        if exception is not None:
            name, message, trace = exception["type"], exception["message"], (exception["traceback"] or "")[-TRACEBACK:]
            details = {"type_name": name, "full_type_name": exception["full_type"], "message": message}
            raised = {"exception_id": name, "description": message, "break_mode": exception["break_mode"]}
            body["exception_info"] = {**raised, "details": {**details, "stack_trace": trace}}
            body["text"] = f"{name}: {message}"
        return body


UNPLANNED = frozenset({"exception", "pause"})
"""Reasons of stops whose place nobody has chosen: a step or breakpoint in a library is meant to be there."""


def own_frame(frames: Frames) -> int:
    """Return the index of the top frame of the program's own code, or the top if there is none."""
    return next((index for index, frame in enumerate(frames) if frame.get("presentationHint") != "subtle"), 0)


def frame_path(frame: FrameRow) -> str | None:
    return (frame.get("source") or {}).get("path")


def frame_location(frame: FrameRow) -> Location:
    return Location(path=frame_path(frame), line=frame["line"], column=frame["column"], function=frame["name"])


DETACHED = "detached"
DELIBERATE = frozenset({DETACHED, "terminated", "restarted", "deleted", "timeout", "exited"})
"""Reasons of an end that are no errors, even where nobody knows the exit code."""


@dataclass(frozen=True)
class End:
    """The end of the program, with its exit status if that is known."""

    status: ExitStatus | None
    reason: str
    """exited, killed, terminated, restarted, timeout, detached or lost"""

    def to_event(self) -> dict[str, Any]:
        code = self.status.code if self.status else None
        body: dict[str, Any] = {"exit_code": code, "restart": self.reason == "restarted"}
        if self.reason not in ("exited", "killed"):
            body["reason"] = self.reason
        if self.status is not None and self.status.signal:
            body["signal"] = self.status.signal
            body["error"] = f"Process was killed by {self.status.signal}"
        elif self.status is not None and self.status.code:
            body["error"] = f"Process exited with code {self.status.code}"
        elif self.status is None and self.reason not in DELIBERATE:
            body["error"] = self.reason
        return body


Outcome = Stop | End
