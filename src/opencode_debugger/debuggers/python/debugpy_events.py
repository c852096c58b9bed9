"""Events of debugpy, and of our code beside it, over one connection."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...dap.messages import Event, Response
from ..shapes import UNTOLD, Asked, StopEvent
from .breakpoint_ids import BreakpointIds, bound_function
from .debugpy_protocol import FIELD
from .inside_calls import InsideCalls

if TYPE_CHECKING:
    from ..protocols import Listener
    from ..rows import JourneyRow


@dataclass(eq=False)
class DebugpyEvents:
    _listener: Listener
    _ids: BreakpointIds
    _inside: InsideCalls
    initialized: asyncio.Future[None] = field(default_factory=asyncio.Future)
    journeys: dict[int, JourneyRow] = field(default_factory=dict)
    """how those ended that the end of the program cut short"""
    exit_code: int | None = None
    """as a child says it, or somebody else's adapter; a program of ours tells its end by its exit"""
    replaced_by: str | None = None

    def handle(self, event: Event) -> None:
        body = event.body or {}
        match event.event:
            case "stopped":
                reason, hit = self._ids.explain_stop(body["reason"], body.get("hitBreakpointIds") or [])
                together, more = body.get("allThreadsStopped", True), body.get(FIELD) or {}
                if (frames := more.pop("frames", None)) is not None:
                    more["stack"] = _answered({"stackFrames": frames})
                self._listener.on_stopped(StopEvent(reason, body["threadId"], together, hit, **more))
            case "initialized":
                if not self.initialized.done():
                    self.initialized.set_result(None)
            case "thread":
                self._listener.on_thread(body["reason"], body["threadId"])
            case "module":
                self._listener.on_module(body["reason"], body["module"])
            case "exited":
                self.exit_code = body.get("exitCode")
            case "ocdb":
                self._on_inside(body)
            case name if name not in UNTOLD and not name.startswith("debugpy"):
                self._listener.on_event(name, body)

    def why_it_left(self) -> str:
        if self.replaced_by is not None:
            return f"the process replaced itself (exec) by: {self.replaced_by}"
        return "the program closed the connection to its debugger and runs on without it"

    def _on_inside(self, body: dict[str, Any]) -> None:
        match body["kind"]:
            case "log":
                self._listener.on_hits({body["number"]: body["hits"]})
                self._listener.on_log(body["number"], body["text"])
            case "hits":
                self._listener.on_hits({int(number): hits for number, hits in body["hits"].items()})
            case "answer":
                self._inside.take_answer(body["token"], body["text"])
            case "visited":
                once = self._ids.one_time_stop
                if once is not None and once.number == body["number"]:
                    once.is_reached = True
            case "journeys":
                self.journeys = {int(token): how for token, how in body["journeys"].items()}
            case "condition_error":
                self._listener.on_condition_error(body["number"], body["error"], body.get("of_exception", False))
            case "slow":
                self._listener.on_slow_code(body["code"])
            case "spawned":
                self._listener.on_spawned(body)
            case "replacing":
                self.replaced_by = body["command"]
            case "exiting":
                self.exit_code = body["code"]
            case "function":
                self._listener.on_rebound(body["number"], bound_function(body))
            case "together":
                self._ids.together[body["id"]] = body["ids"]


def _answered(body: dict[str, Any]) -> Asked:
    """Return what a request for this would have become that has been answered."""
    asked = asyncio.get_running_loop().create_future()
    asked.set_result(Response(0, body=body))
    return asked
