"""What happens to the program, told to the client as it happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..core.events import Entry, Positions
from ..core.session import Session
from ..errors import RelayError
from ..ez.protocol import State
from ..wording import counted
from . import shapes
from .seen import Seen

if TYPE_CHECKING:
    from .door import Door

PAGE = 200
NEWS = 60.0
LOOK = 0.1
"""Seconds between looks whether a program that says nothing waits for its input."""
MERGED = 32 * 1024
"""Characters of output in one event, where more comes than is taken."""
MOST_LEFT = 20
"""Functions without source that one step leaves again."""
WAITS_FOR_INPUT = "The program waits for its standard input: the command `input` sends it"
"""What a client hears that knows no event for it."""
UNCAUGHT = "unhandled"
STEPS = ("step", "breakpoint")
"""Reasons of a stop at which a step can end."""


class Telling:
    def __init__(self, door: Door, session: Session) -> None:
        self._door = door
        self._session = session
        self._seen = Seen()
        self.has_told_end = False
        self._has_source = False
        """whether the last stop was in a file"""
        self._left = 0

    async def follow(self) -> None:
        """Until the program has ended, and that is told."""
        positions: Positions = (0, 0)
        while not self.has_told_end:
            is_asked = self._door.state is State.RUNNING
            if is_asked:
                self._session.input.prompt()  # if it waits, that is among the news
            page = await self._session.debuggee.log.read_on(positions, PAGE, LOOK if is_asked else NEWS)
            positions = page.after
            if page.dropped:
                await self._door.tell(
                    "error", message=f"{counted(page.dropped, 'line was', 'lines were')} not read in time"
                )
            entries = [entry for _, entry in page.found]
            for kind, body in happened(entries, together=page.has_more):
                async with self._door.telling:
                    await self._tell(kind, body)

    async def _tell(self, kind: str, body: Any) -> None:
        if kind == "output":
            category, text = body
            await self._door.tell_output(category, text)
        elif kind == "stopped":
            await self._stopped(body)
        elif kind == "terminated":
            await self._ended(body)
        elif kind == "breakpoint":
            await self._breakpoint(body)
        elif kind == "data_breakpoint" and body["reason"] == "removed":
            gone = body["data_breakpoint"]
            await self._door.tell("dataBreakpointCleared", id=shapes.number(gone["id"]), expression=gone["expression"])
        elif kind == "input_requested" and self._door.is_extended:
            await self._door.tell("inputRequested", prompt=body["prompt"])
        elif kind == "input_requested":
            await self._door.tell("error", message=WAITS_FOR_INPUT)

    # Stops.

    async def _stopped(self, body: dict[str, Any]) -> None:
        door = self._door
        if body["reason"] == "exception" and not await self._failed(body):
            return
        if body["reason"] == "step" and not (body["location"] or {}).get("path") and await self._leaves():
            return
        self._has_source, self._left = bool((body["location"] or {}).get("path")), 0
        door.hold()  # what is said about a stop comes before anything that is asked about it
        door.state = State.STOPPED
        was_step, door.is_stepping = door.is_stepping, False
        await door.tell_useless()
        await door.tell("stopped", **self._stop(body))
        await self._values(body["location"], was_step and body["reason"] in STEPS)
        door.release()

    async def _leaves(self) -> bool:
        """A step from code that can be shown into code that cannot goes on, out of that again."""
        if not self._has_source or not self._door.is_stepping or self._left >= MOST_LEFT:
            return False
        self._left += 1
        try:
            await self._session.execution.set_off("step_out")
        except RelayError:
            return False
        return True

    async def _failed(self, body: dict[str, Any]) -> bool:
        """Tells of an exception that ends the program; whether the client wants to look before that."""
        door = self._door
        is_fatal = body["exception_info"]["break_mode"] == UNCAUGHT
        if is_fatal:
            await door.tell("error", message=body["text"], location=shapes.location(body["location"]))
        if door.is_extended and (not is_fatal or door.stops_on_uncaught):
            return True
        with contextlib.suppress(RelayError):  # what came in between is told as that
            await self._session.execution.go_on()
        return False

    def _stop(self, body: dict[str, Any]) -> dict[str, Any]:
        reason = shapes.REASONS.get(body["reason"], "breakpoint")
        told: dict[str, Any] = {"reason": reason, "location": shapes.location(body["location"])}
        hit = {id.partition("_")[0]: shapes.number(id) for id in reversed(body["hit_breakpoint_ids"])}
        if reason == "breakpoint" and "bp" in hit:
            told["breakpointId"] = hit["bp"]
        if self._door.is_extended:
            told |= {"threadId": body["thread_id"], "dataBreakpointId": hit.get("dbp"), "text": body["text"]}
        return {name: value for name, value in told.items() if value is not None}

    async def _values(self, place: dict[str, Any] | None, is_step: bool) -> None:
        """What has changed since the client last saw it, and what is watched."""
        stop = self._session.debuggee.stop
        if stop is None or not place:
            return
        try:
            rows = (await self._door.call("frame_variables", count=shapes.ROWS))["variables"]
            watches = (await self._door.call("list_watches"))["watches"]
        except RelayError:
            return  # it cannot be looked at; whoever asks is told why
        where = place["path"] or "", place["function"] or ""
        changed = self._seen.look(stop.thread_id, len(stop.frames), where, rows)
        for row in shapes.variables(rows, place["function"]) if is_step else ():
            if row["name"] in changed:
                await self._door.tell("variableUpdate", **row, frameIndex=0)
        if watches:
            await self._door.tell("watches", watches=[shapes.watch(row) for row in watches])

    # The rest.

    async def _ended(self, body: dict[str, Any]) -> None:
        door = self._door
        self.has_told_end = True
        door.state, door.is_stepping = State.ENDED, False
        if not door.is_ending:
            code = body["exit_code"]
            await door.tell_useless(has_ended=True)
            if code is None:
                await door.tell("error", message=f"The debugger was lost: {body.get('error') or body.get('reason')}")
            await door.tell("exited", exitCode=-1 if code is None else code)
        door.release()
        door.program_ended()

    async def _breakpoint(self, body: dict[str, Any]) -> None:
        breakpoint, reason = body["breakpoint"], body["reason"]
        if reason == "condition_error":
            why = f"its condition raised {body['error']}"
            place = {"path": (breakpoint["source"] or {}).get("path"), "line": breakpoint["line"]}
            message, location = shapes.about(breakpoint, why), shapes.location(place)
            await self._door.tell("error", message=message, location=location)
        elif reason == "changed":
            await self._door.tell_useless()


Happened = tuple[str, Any]
"""its kind, and what there is to say; of output its category and text"""


def happened(entries: Iterable[Entry], together: bool) -> list[Happened]:
    """`together`: neighbouring lines of output in one piece, since there are many."""
    found: list[Happened] = []
    for entry in entries:
        if together and found and _goes_on(found[-1], entry):
            category, text = found[-1][1]
            found[-1] = entry.type, (category, text + entry.body[1])
        else:
            found.append((entry.type, entry.body))
    return found


def _goes_on(last: Happened, entry: Entry) -> bool:
    kind, body = last
    return kind == entry.type == "output" and body[0] == entry.body[0] and len(body[1]) < MERGED
