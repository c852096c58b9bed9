"""What debugpy, and our code beside it, say by themselves over one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ...dap.messages import Event
from ..base import UNTOLD, Listener, StopEvent
from .marks import Marks, found
from .probe import Probe
from .protocol import FIELD


class Hearing:
    def __init__(self, listener: Listener, marks: Marks, probe: Probe) -> None:
        self._listener = listener
        self._marks = marks
        self._probe = probe
        self.initialized: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.journeys: dict[int, dict[str, Any]] = {}
        """how those ended that the end of the program cut short"""
        self.exit_code: int | None = None
        """as a child says it, or somebody else's adapter; a program of ours tells its end by its exit"""
        self.replaced_by: str | None = None

    def hear(self, event: Event) -> None:
        body = event.body or {}
        handler: Callable[[dict[str, Any]], None] | None = {
            "stopped": self._on_stopped,
            "initialized": self._on_initialized,
            "thread": lambda body: self._listener.on_thread(body["reason"], body["threadId"]),
            "module": lambda body: self._listener.on_module(body["reason"], body["module"]),
            "exited": self._on_exited,
            "ocdb": self._on_inside,
        }.get(event.event)
        if handler is not None:
            handler(body)
        elif event.event not in UNTOLD and not event.event.startswith("debugpy"):
            self._listener.on_event(event.event, body)

    def why_it_left(self) -> str:
        if self.replaced_by is not None:
            return f"the process replaced itself (exec) by: {self.replaced_by}"
        return "the program closed the connection to its debugger and runs on without it"

    def _on_initialized(self, body: dict[str, Any]) -> None:
        if not self.initialized.done():
            self.initialized.set_result(None)

    def _on_exited(self, body: dict[str, Any]) -> None:
        self.exit_code = body.get("exitCode")

    def _on_stopped(self, body: dict[str, Any]) -> None:
        reason, hit_numbers = self._marks.stopped(body["reason"], body.get("hitBreakpointIds") or [])
        self._listener.on_stopped(
            StopEvent(
                reason=reason,
                thread_id=body["threadId"],
                all_threads_stopped=body.get("allThreadsStopped", True),
                hit_numbers=hit_numbers,
                **(body.get(FIELD) or {}),
            )
        )

    def _on_inside(self, body: dict[str, Any]) -> None:
        match body["kind"]:
            case "log":
                self._listener.on_hits({body["number"]: body["hits"]})
                self._listener.on_log(body["number"], body["text"])
            case "hits":
                self._listener.on_hits({int(number): hits for number, hits in body["hits"].items()})
            case "answer":
                self._probe.answered(body["token"], body["text"])
            case "visited":
                self._marks.visited(body["number"])
            case "journeys":
                self.journeys = {int(token): how for token, how in body["journeys"].items()}
            case "condition_error":
                self._listener.on_condition_error(body["number"], body["error"], body.get("of_exception", False))
            case "spawned":
                self._listener.on_spawned(body)
            case "replacing":
                self.replaced_by = body["command"]
            case "exiting":
                self.exit_code = body["code"]
            case "function":
                self._listener.on_rebound(body["number"], found(body))
            case "together":
                self._marks.on_one_line(body["id"], body["ids"])
