"""The wheel of a session: whoever has taken it drives alone until it is given back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ...answers.sessions import WheelHolder, WheelTurned
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.asking_client import AskingClient, asking_client, clean_name
from ...operations.door_words import MCP
from ...operations.event_kinds import EventKind
from ...operations.operation import Operation
from ...timestamps import timestamp
from ..log.event_log import EventLog

HELD_OFF = (
    "Only look for now: {report}, {stack_trace} and {frame_variables frame_id=0} still work. {report wait=60} waits "
    "for the stops that {holder} makes; or ask {holder} to give the wheel back, and try again then"
)
SOMEBODY = "somebody"
GIVEN_BACK, TAKEN_OVER, FALLEN_SILENT = "it was given back", "it was taken over", "there was no sign of life"


@dataclass
class HeldWheel:
    secret: str
    """known to the holder alone, so that nobody passes by calling himself the same"""
    holder: str
    door: str
    since: float
    seen: float
    """when the holder last gave a sign, on the monotonic clock"""


@dataclass(eq=False)
class Wheel:
    _session_id: str
    _log: EventLog
    _idle_seconds: float
    """without a sign of the holder, after which the wheel is free again"""
    _elder: Wheel | None
    """of a child: that of the session of the process that started it, which holds for both"""
    _held: HeldWheel | None = None
    _looking: asyncio.TimerHandle | None = None

    def describe_holder(self) -> WheelHolder | None:
        """Tell who has the wheel: that of the session, or of a process above it."""
        held = next((wheel._held for wheel in self._lineage() if wheel._held is not None), None)
        if held is None:
            return None
        return WheelHolder(holder=held.holder, door=held.door, since=timestamp(held.since))

    def note_sign(self, client: AskingClient) -> None:
        """Note that a client asks for something: if it is the holder, it is still there."""
        for wheel in self._lineage():
            if wheel._held is not None and wheel._is_holder(client):
                wheel._held.seen = time.monotonic()

    def require_free(self, operation: Operation) -> None:
        """Refuse what changes or moves the program, unless the wheel is free or the client's own."""
        if not operation.needs_wheel:
            return
        self.require_holder(asking_client.get(), operation)

    def require_holder(self, client: AskingClient, operation: Operation | None = None) -> None:
        """Refuse a client if somebody else has the wheel here, or of a process above."""
        for wheel in self._lineage():
            if wheel._held is not None and not wheel._is_holder(client):
                raise wheel._refusal(operation)

    def turn(self, action: str, name: str | None = None, force: bool = False) -> WheelTurned:
        """Take the wheel or give it back; with force from whoever has it, which is for people."""
        client, held = asking_client.get(), self._held
        if self._elder is not None:
            self._elder.require_holder(client)
        is_mine = held is None or self._is_holder(client)
        if not is_mine and (not force or client.door == MCP):
            raise self._refusal(None)
        if action == "give_back":
            self._let_go(GIVEN_BACK if is_mine else TAKEN_OVER)
        elif held is None or not is_mine:
            self._let_go(TAKEN_OVER)
            self._take(clean_name(name or "") or client.name or SOMEBODY, client.door)
        secret = self._held.secret if self._held is not None else None
        return WheelTurned(session_id=self._session_id, wheel=self.describe_holder(), wheel_id=secret)

    def _take(self, holder: str, door: str) -> None:
        import secrets  # here, because it brings OpenSSL, which most runners never need

        self._held = HeldWheel(secrets.token_urlsafe(24), holder, door, time.time(), time.monotonic())
        self._look_later(self._idle_seconds)
        self._log.add(EventKind.WHEEL, {"action": "take", "holder": holder})

    def _let_go(self, why: str) -> None:
        held, self._held = self._held, None
        if self._looking is not None:
            self._looking.cancel()
        if held is not None:
            self._log.add(EventKind.WHEEL, {"action": "give_back", "holder": held.holder, "why": why})

    def _look_later(self, seconds: float) -> None:
        self._looking = asyncio.get_running_loop().call_later(seconds, self._look_for_sign)

    def _look_for_sign(self) -> None:
        """A closed browser must not hold a session for ever."""
        if self._held is None:
            return
        left = self._held.seen + self._idle_seconds - time.monotonic()
        if left > 0:
            self._look_later(left)
        else:
            self._let_go(FALLEN_SILENT)

    def _is_holder(self, client: AskingClient) -> bool:
        import hmac

        return self._held is not None and hmac.compare_digest(self._held.secret.encode(), client.wheel.encode())

    def _lineage(self) -> Iterator[Wheel]:
        wheel: Wheel | None = self
        while wheel is not None:
            yield wheel
            wheel = wheel._elder

    def _refusal(self, operation: Operation | None) -> RelayError:
        assert self._held is not None
        held, what = self._held, f"Cannot {operation.said}: " if operation else ""
        since = timestamp(held.since)
        message = f"{what}{held.holder} has the wheel of this session since {since}"
        suggestion = advice(HELD_OFF, holder=held.holder)
        return RelayError("WHEEL_TAKEN", message, holder=held.holder, since=since, suggestion=suggestion)
