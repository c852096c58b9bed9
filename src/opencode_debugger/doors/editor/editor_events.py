"""Tells one client what happens to the program: output from its beginning, the rest from now on."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec

from ...operations.states import State
from ...session.breakpoints.breakpoint_table import number_of
from ...session.log.event_log import PAGE_CHARACTERS, Positions
from ...session.session import Session
from ...wording import counted
from . import dap_shapes
from .client_places import ClientPlaces
from .dap_wire import EditorWire
from .editor_breakpoints import SharedBreakpoints

PAGE = 1000
NEWS = 60.0
OWN = frozenset({"continued", "breakpoint"})
"""What a client is not told of when its own request caused it: the answer says it."""


@dataclass
class EditorEvents:
    session: Session
    shared: SharedBreakpoints
    places: ClientPlaces
    wire: EditorWire
    owner: object

    def __post_init__(self) -> None:
        self._log = self.session.debuggee.log
        self._telling = asyncio.Lock()
        self._caused: deque[tuple[int, int]] = deque()

    @asynccontextmanager
    async def after_answer(self) -> AsyncIterator[None]:
        """Hold back what a request brings about until the request has been answered."""
        async with self._telling:
            before = self._log.last
            try:
                yield
            finally:
                if self._log.last > before:
                    self._caused.append((before, self._log.last))

    async def follow_session(self) -> None:
        """Tell what happens until the program has ended, and that is told."""
        async with self._telling:
            self._begun = self._log.last
            debuggee = self.session.debuggee
            stops = list(debuggee.stops.values()) if debuggee.stop_scope == "thread" else []
            current = debuggee.stop
            if debuggee.state is State.PAUSED and current is not None:
                for stop in [*(stop for stop in stops if stop is not current), current]:
                    await self.wire.send_event("stopped", dap_shapes.stop_of(msgspec.to_builtins(stop.to_event())))
        positions: Positions = (0, 0)
        is_over = False
        while not is_over:
            page = await self._log.read_merged(positions, PAGE, NEWS, PAGE_CHARACTERS)
            positions = page.after
            if page.dropped:
                text = f"[{counted(page.dropped, 'entry was', 'entries were')} left out: not read in time]\n"
                await self.wire.send_event("output", {"category": "important", "output": text})
            for event in joined_output([msgspec.structs.asdict(entry.to_event()) for _, entry in page.found]):
                async with self._telling:
                    is_over = await self._tell_entry(event) or is_over

    def _is_own(self, event: dict[str, Any]) -> bool:
        seq = event["seq"]
        while self._caused and self._caused[0][1] < seq:
            self._caused.popleft()
        is_ours = bool(self._caused) and self._caused[0][0] < seq
        if not is_ours or event["type"] not in OWN:
            return False
        if event["type"] == "continued":
            return True
        reason, number = event["body"]["reason"], number_of(event["body"]["breakpoint"]["id"])
        return reason == "removed" or (reason == "new" and self.shared.is_owner(self.owner, number))

    async def _tell_entry(self, event: dict[str, Any]) -> bool:
        """Tell one entry of the log; return whether it was the last."""
        kind, body = event["type"], event["body"]
        if kind == "output":
            await self.wire.send_event("output", {"category": body["category"], "output": body["output"]})
        elif event["seq"] <= self._begun or self._is_own(event):
            return False
        elif kind == "terminated":
            return await self._tell_end(body)
        elif kind in TOLD:
            if kind == "breakpoint":
                body = {**body, "breakpoint": self.shared.seen_by(self.owner, body["breakpoint"])}
            name, shown = TOLD[kind](body, self.places)
            await self.wire.send_event(name, shown)
        return False

    async def _tell_end(self, body: dict[str, Any]) -> bool:
        """The end of a program that is started again is not the end of the session."""
        if body.get("restart"):
            await self.wire.send_event("continued", {"threadId": 0, "allThreadsContinued": True})
            return False
        if body["exit_code"] is not None:
            await self.wire.send_event("exited", {"exitCode": body["exit_code"]})
        await self.wire.send_event("terminated")
        return True


def joined_output(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Output that came in one go as one: an editor that joins late would be busy with the single lines for long."""
    for category, group in groupby(events, lambda event: event["type"] == "output" and event["body"]["category"]):
        if category:
            last = (pieces := list(group))[-1]
            text = "".join([event["body"]["output"] for event in pieces])
            yield {**last, "body": {"category": category, "output": text}}
        else:
            yield from group


TOLD: dict[str, Callable[[dict[str, Any], ClientPlaces], tuple[str, object]]] = {
    "stopped": lambda body, places: ("stopped", dap_shapes.stop_of(body)),
    "continued": lambda body, places: (
        "continued", {"threadId": body["thread_id"], "allThreadsContinued": body["all_threads_continued"]}),
    "thread": lambda body, places: ("thread", {"reason": body["reason"], "threadId": body["thread_id"]}),
    "breakpoint": lambda body, places: ("breakpoint", {
        "reason": body["reason"] if body["reason"] in ("new", "removed") else "changed",
        "breakpoint": dap_shapes.breakpoint_of(body["breakpoint"], places)}),
    "module": lambda body, places: (
        "module", {"reason": body["reason"], "module": dap_shapes.module_of(body["module"], places)}),
    "restarted": lambda body, places: (
        "process", {"name": str(body["pid"]), "systemProcessId": body["pid"], "startMethod": "launch"}),
    "subprocess_spawned": lambda body, places: (
        "output", {"category": "console", "output": f"{body['message']} (process {body['pid']})\n"}),
}
"""Events of the log by type, and what DAP calls them."""
