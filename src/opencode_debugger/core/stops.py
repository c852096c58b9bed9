"""A stop of the program: where and why, as it was when the debugger reported it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..adapters.base import StopEvent
from ..adapters.processes import ExitStatus

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
    frames: list[dict[str, Any]]
    hit_ids: list[str]
    exception: dict[str, Any] | None = None
    """type, full_type, message, traceback, break_mode; chain, if something led to it; exceptions, of a group;
    is_in_library, of one that native code of a library tells of"""
    left: str | None = None
    """the function that was stepped out of"""
    note: str | None = None
    """what else there is to say about it, such as a condition that raised"""
    is_told: bool = False
    """whether a client has seen it: one that nobody was told of is not left by a continue"""
    is_logged: bool = False
    focus: int = 0
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
    def location(self) -> dict[str, Any] | None:
        """Of the frame in focus."""
        return location(self.frames[self.focus]) if self.frames else None

    def note_step_into(self, before: Stop | None) -> None:
        """Still in the same frame after a step into: whatever that line calls was not entered."""
        if before is None or self.reason != "step" or len(before.frames) != len(self.frames) or not self.frames:
            return
        old, new = before.location or {}, self.location or {}
        if before.thread_id == self.thread_id and all(old[key] == new[key] for key in ("path", "function")):
            self.stepped_from = old["line"]

    def to_exception(self) -> dict[str, Any] | None:
        if self.exception is None:
            return None
        shown = {name: self.exception[name] for name in ("type", "message", "traceback")}
        more = {name: self.exception[name] for name in ("chain", "exceptions") if self.exception.get(name)}
        return {**shown, **more, "location": self.location}

    def to_event(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "reason": self.reason,
            "description": DESCRIPTIONS.get(self.reason, f"Paused on {self.reason}"),
            "thread_id": self.thread_id,
            "preserve_focus_hint": False,
            "text": self.note,
            "all_threads_stopped": self.event.all_threads_stopped,
            "hit_breakpoint_ids": self.hit_ids,
            "location": self.location,
        }
        exception = self.exception
        if exception is not None:
            body["text"] = f"{exception['type']}: {exception['message']}"
            body["exception_info"] = {
                "exception_id": exception["type"],
                "description": exception["message"],
                "break_mode": exception["break_mode"],
                "details": {
                    "type_name": exception["type"],
                    "full_type_name": exception["full_type"],
                    "message": exception["message"],
                    "stack_trace": (exception["traceback"] or "")[-TRACEBACK:],
                },
            }
        return body


UNPLANNED = frozenset({"exception", "pause"})
"""Reasons of stops whose place nobody has chosen: a step or breakpoint in a library is meant to be there."""


def own_frame(frames: list[dict[str, Any]]) -> int:
    """The top frame of the program's own code, or the top if there is none."""
    own = (index for index, frame in enumerate(frames) if frame.get("presentationHint") != "subtle")
    return next(own, 0)


def location(frame: dict[str, Any]) -> dict[str, Any]:
    return {
        "path": (frame.get("source") or {}).get("path"),
        "line": frame["line"],
        "column": frame["column"],
        "function": frame["name"],
    }


DETACHED = "detached"
DELIBERATE = frozenset({DETACHED, "terminated", "restarted", "deleted", "timeout", "exited"})
"""Reasons of an end that are no errors, even where nobody knows the exit code."""


@dataclass(frozen=True)
class End:
    """How the program ended."""

    status: ExitStatus | None
    reason: str
    """exited, killed, terminated, restarted, timeout, detached or lost"""

    def summary(self) -> dict[str, Any]:
        status = self.status
        return {
            "exit_code": status.code if status else None,
            "signal": status.signal if status else None,
            "reason": self.reason,
        }

    def to_event(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "exit_code": self.status.code if self.status else None,
            "restart": self.reason == "restarted",
        }
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


def how_it_ended(end: End | None) -> dict[str, Any]:
    return end.summary() if end else {"exit_code": None, "signal": None, "reason": None}


Outcome = Stop | End
