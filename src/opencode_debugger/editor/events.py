"""What happens to the program, told to one client: output from its beginning, the rest from now on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

from ..core.session import Session
from ..core.state import State
from ..wording import counted
from . import shapes
from .breakpoints import Shared
from .places import Places
from .wire import Wire

PAGE = 1000
NEWS = 60.0
OWN = frozenset({"continued", "breakpoint"})
"""What a client is not told of when its own request caused it: the answer says it."""


class Events:
    def __init__(self, session: Session, shared: Shared, places: Places, wire: Wire, owner: object) -> None:
        self._session = session
        self._log = session.debuggee.log
        self._shared = shared
        self._places = places
        self._wire = wire
        self._owner = owner
        self._telling = asyncio.Lock()
        self._caused: deque[tuple[int, int]] = deque()

    @asynccontextmanager
    async def after_answer(self) -> AsyncIterator[None]:
        """What a request brings about is told when the request has been answered."""
        async with self._telling:
            before = self._log.last
            try:
                yield
            finally:
                if self._log.last > before:
                    self._caused.append((before, self._log.last))

    async def follow(self) -> None:
        """Until the program has ended, and that is told."""
        async with self._telling:
            self._begun = self._log.last
            await self._tell_state()
        cursor = None
        is_over = False
        while not is_over:
            page = await self._log.read_events(cursor, PAGE, NEWS)
            cursor = page["next_cursor"]
            if page["dropped"]:
                text = f"[{counted(page['dropped'], 'entry was', 'entries were')} left out: not read in time]\n"
                await self._wire.tell("output", {"category": "important", "output": text})
            for event in together(page["events"]):
                async with self._telling:
                    is_over = await self._tell(event) or is_over

    async def _tell_state(self) -> None:
        debuggee = self._session.debuggee
        stops = list(debuggee.stops.values()) if debuggee.stop_scope == "thread" else []
        current = debuggee.stop
        if debuggee.state is State.PAUSED and current is not None:
            for stop in [*(stop for stop in stops if stop is not current), current]:
                await self._wire.tell("stopped", shapes.stop_of(stop.to_event()))

    def _is_own(self, event: dict[str, Any]) -> bool:
        seq = event["seq"]
        while self._caused and self._caused[0][1] < seq:
            self._caused.popleft()
        is_ours = bool(self._caused) and self._caused[0][0] < seq
        if not is_ours or event["type"] not in OWN:
            return False
        if event["type"] == "continued":
            return True
        reason, number = event["body"]["reason"], shapes.number_of(event["body"]["breakpoint"]["id"])
        return reason == "removed" or (reason == "new" and self._shared.is_owner(self._owner, number))

    async def _tell(self, event: dict[str, Any]) -> bool:
        """Whether that was the last."""
        kind, body = event["type"], event["body"]
        if kind == "output":
            await self._wire.tell("output", {"category": body["category"], "output": body["output"]})
        elif event["seq"] <= self._begun or self._is_own(event):
            return False
        elif kind == "terminated":
            return await self._tell_end(body)
        elif kind in TOLD:
            if kind == "breakpoint":
                body = {**body, "breakpoint": self._shared.seen_by(self._owner, body["breakpoint"])}
            name, shown = TOLD[kind](body, self._places)
            await self._wire.tell(name, shown)
        return False

    async def _tell_end(self, body: dict[str, Any]) -> bool:
        """The end of a program that is started again is not the end of the session."""
        if body.get("restart"):
            await self._wire.tell("continued", {"threadId": 0, "allThreadsContinued": True})
            return False
        if body["exit_code"] is not None:
            await self._wire.tell("exited", {"exitCode": body["exit_code"]})
        await self._wire.tell("terminated")
        return True


def together(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Output that came in one go as one: an editor that joins late would be busy with the single lines for long."""
    for category, group in groupby(events, lambda event: event["type"] == "output" and event["body"]["category"]):
        if category:
            last = (pieces := list(group))[-1]
            text = "".join([event["body"]["output"] for event in pieces])
            yield {**last, "body": {"category": category, "output": text}}
        else:
            yield from group


Told = tuple[str, dict[str, Any]]


def _continued(body: dict[str, Any], places: Places) -> Told:
    return "continued", {"threadId": body["thread_id"], "allThreadsContinued": body["all_threads_continued"]}


def _thread(body: dict[str, Any], places: Places) -> Told:
    return "thread", {"reason": body["reason"], "threadId": body["thread_id"]}


def _breakpoint(body: dict[str, Any], places: Places) -> Told:
    reason = body["reason"] if body["reason"] in ("new", "removed") else "changed"
    return "breakpoint", {"reason": reason, "breakpoint": shapes.breakpoint_of(body["breakpoint"], places)}


def _module(body: dict[str, Any], places: Places) -> Told:
    return "module", {"reason": body["reason"], "module": shapes.module_of(body["module"], places)}


def _restarted(body: dict[str, Any], places: Places) -> Told:
    return "process", {"name": str(body["pid"]), "systemProcessId": body["pid"], "startMethod": "launch"}


def _spawned(body: dict[str, Any], places: Places) -> Told:
    return "output", {"category": "console", "output": f"{body['message']} (process {body['pid']})\n"}


TOLD = {
    "stopped": lambda body, places: ("stopped", shapes.stop_of(body)),
    "continued": _continued,
    "thread": _thread,
    "breakpoint": _breakpoint,
    "module": _module,
    "restarted": _restarted,
    "subprocess_spawned": _spawned,
}
"""Events of the log by type, and what DAP calls them."""
