"""Tells the client what happens to the program, as it happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...errors import RelayError
from ...ez.protocol import State
from ...session.breakpoints.breakpoint_table import number_of
from ...session.log.event_log import Entry, Positions
from ...session.session import Session
from ...wording import counted
from . import ez_shapes

if TYPE_CHECKING:
    from .stdio_door import StdioDoor

LOOK = 0.1
"""Seconds between looks whether a program that says nothing waits for its input."""
MERGED = 32 * 1024
"""Characters of output in one event, where more comes than is taken."""
SURE = 60
"""Characters of a value that are shown however many others there are."""

Place = tuple[str, str]
"""file and function"""


@dataclass(eq=False)
class EventTeller:
    _door: StdioDoor
    _session: Session
    _seen: SeenVariables = field(default_factory=lambda: SeenVariables())
    has_told_end: bool = False
    _has_source: bool = False
    """whether the last stop was in a file"""
    _left: int = 0
    """functions without source that this step has left again"""

    async def follow_session(self) -> None:
        """Tell what happens until the program has ended, and that is told."""
        positions: Positions = (0, 0)
        while not self.has_told_end:
            is_asked = self._door.state is State.RUNNING
            if is_asked:
                self._session.input.prompt()  # if it waits, that is among the news
            page = await self._session.debuggee.log.read_merged(positions, 200, LOOK if is_asked else 60.0)
            positions = page.after
            if page.dropped:
                dropped = counted(page.dropped, "line was", "lines were")
                await self._door.tell_event("error", message=f"{dropped} not read in time")
            for kind, body in read_entries((entry for _, entry in page.found), together=page.has_more):
                async with self._door.telling:
                    if kind == "output":
                        await self._door.tell_output(*body)
                    else:
                        await self._tell_entry(kind, msgspec.to_builtins(body))

    async def _tell_entry(self, kind: str, body: dict[str, Any]) -> None:
        if kind == "stopped":
            await self._tell_stopped(body)
        elif kind == "terminated":
            await self._tell_ended(body)
        elif kind == "breakpoint" and body["reason"] == "condition_error":
            bp = body["breakpoint"]
            place = {"path": (bp["source"] or {}).get("path"), "line": bp["line"]}
            message = ez_shapes.breakpoint_details(bp, f"its condition raised {body['error']}")
            await self._door.tell_event("error", message=message, location=ez_shapes.ez_location(place))
        elif kind == "breakpoint" and body["reason"] == "changed":
            await self._door.tell_useless()
        elif kind == "data_breakpoint" and body["reason"] == "removed":
            gone = body["data_breakpoint"]
            number = number_of(gone["id"])
            await self._door.tell_event("dataBreakpointCleared", id=number, expression=gone["expression"])
        elif kind == "input_requested" and self._door.is_extended:
            await self._door.tell_event("inputRequested", prompt=body["prompt"])
        elif kind == "input_requested":  # the client knows no event for it
            message = "The program waits for its standard input: the command `input` sends it"
            await self._door.tell_event("error", message=message)

    async def _tell_stopped(self, body: dict[str, Any]) -> None:
        door = self._door
        if body["reason"] == "exception" and not await self._tell_failure(body):
            return
        has_source = bool((body["location"] or {}).get("path"))
        if body["reason"] == "step" and not has_source and await self._leaves_shown_code():
            return
        self._has_source, self._left = has_source, 0
        door.hold_commands()  # what is said about a stop comes before anything that is asked about it
        door.state = State.STOPPED
        was_step, door.is_stepping = door.is_stepping, False
        await door.tell_useless()
        reason = ez_shapes.REASONS.get(body["reason"], "breakpoint")
        hit = {id.partition("_")[0]: number_of(id) for id in reversed(body["hit_breakpoint_ids"])}
        told = {"breakpointId": hit.get("bp") if reason == "breakpoint" else None}
        if door.is_extended:
            told |= {"threadId": body["thread_id"], "dataBreakpointId": hit.get("dbp"), "text": body["text"]}
        known = {name: value for name, value in told.items() if value is not None}
        await door.tell_event("stopped", reason=reason, location=ez_shapes.ez_location(body["location"]), **known)
        await self._tell_values(body["location"], was_step and body["reason"] in ("step", "breakpoint"))
        door.release_commands()

    async def _leaves_shown_code(self) -> bool:
        """Go on with a step that has come from code that can be shown into code that cannot; say whether it was one."""
        if not self._has_source or not self._door.is_stepping or self._left >= 20:
            return False
        self._left += 1
        with contextlib.suppress(RelayError):
            await self._session.execution.begin_step("step_out")
            return True
        return False

    async def _tell_failure(self, body: dict[str, Any]) -> bool:
        """Tell of an exception that ends the program; say whether the client wants to look before that."""
        door = self._door
        is_fatal = body["exception_info"]["break_mode"] == "unhandled"
        if is_fatal:
            await door.tell_event("error", message=body["text"], location=ez_shapes.ez_location(body["location"]))
        if door.is_extended and (not is_fatal or door.stops_on_uncaught):
            return True
        with contextlib.suppress(RelayError):  # what came in between is told as that
            await self._session.execution.resume_program()
        return False

    async def _tell_values(self, place: dict[str, Any] | None, is_step: bool) -> None:
        """Tell which variables have changed since the client last saw them, and what is watched."""
        stop = self._session.debuggee.stop
        if stop is None or not place:
            return
        try:
            rows = (await self._door.call("frame_variables", count=ez_shapes.ROWS))["variables"]
            watches = (await self._door.call("list_watches"))["watches"]
        except RelayError:
            return  # it cannot be looked at; whoever asks is told why
        where = place["path"] or "", place["function"] or ""
        changed = self._seen.changed_names(stop.thread_id, len(stop.frames), where, rows)
        for row in ez_shapes.ez_variables(rows, place["function"]) if is_step else ():
            if row["name"] in changed:
                await self._door.tell_event("variableUpdate", **row, frameIndex=0)
        if watches:
            await self._door.tell_event("watches", watches=[ez_shapes.ez_watch(row) for row in watches])

    async def _tell_ended(self, body: dict[str, Any]) -> None:
        door = self._door
        self.has_told_end = True
        door.state, door.is_stepping = State.ENDED, False
        if not door.is_ending:
            code = body["exit_code"]
            await door.tell_useless(has_ended=True)
            if code is None:
                message = f"The debugger was lost: {body.get('error') or body.get('reason')}"
                await door.tell_event("error", message=message)
            await door.tell_event("exited", exitCode=-1 if code is None else code)
        door.release_commands()
        door.program_ended()


Happened = tuple[str, Any]
"""its kind, and what there is to say; of output its category and text"""


def read_entries(entries: Iterable[Entry], together: bool) -> list[Happened]:
    """List what happened; `together`: neighbouring lines of output in one piece, since there are many."""
    found: list[Happened] = []
    for entry in entries:
        last: Happened = found[-1] if together and found else ("", ())
        kind, body = last
        if kind == entry.type == "output" and body[0] == entry.body[0] and len(body[1]) < MERGED:
            found[-1] = kind, (body[0], body[1] + entry.body[1])
        else:
            found.append((entry.type, entry.body))
    return found


class ShownScope(NamedTuple):
    """The text that stands for a value: of one that was cut to fit, only what does not depend on how much did."""

    whole: int | None
    beginning: int

    @classmethod
    def of(cls, row: dict[str, Any]) -> ShownScope:
        value = str(row["value"])
        parts = row.get("named_variables"), row.get("indexed_variables")
        return cls(None if row.get("truncated") else hash(value), hash((value[:SURE], *parts)))

    def is_like(self, other: ShownScope) -> bool:
        is_cut = self.whole is None or other.whole is None
        return self.beginning == other.beginning if is_cut else self.whole == other.whole


@dataclass(eq=False)
class SeenVariables:
    """Remembers the variables of each frame as a client last saw them: what has changed since is news."""

    _threads: dict[int, dict[int, tuple[Place, dict[str, ShownScope]]]] = field(default_factory=dict)
    """by thread, then by depth of the frame"""

    def changed_names(self, thread_id: int, depth: int, place: Place, rows: Iterable[dict[str, Any]]) -> set[str]:
        """Names of the variables that have changed: all in a function that was entered, none in one never seen."""
        frames = self._threads.pop(thread_id, {})
        is_known = depth in frames or depth > max(frames, default=depth)
        there, before = frames.get(depth, (place, {}))
        now = {row["name"]: ShownScope.of(row) for row in rows}
        while len(self._threads) >= 100:
            del self._threads[next(iter(self._threads))]
        self._threads[thread_id] = {at: frame for at, frame in frames.items() if at < depth} | {depth: (place, now)}
        if not is_known or there != place:
            return set(now) if is_known else set()
        return {name for name, value in now.items() if name not in before or not value.is_like(before[name])}
