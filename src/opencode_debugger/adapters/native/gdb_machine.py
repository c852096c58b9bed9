"""Below the source with gdb: machine code, watched values, and going back in a recording."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from ...errors import RelayError
from ..base import DataBreakpoint, Go
from .adapter import NativeAdapter
from .looking import Frame
from .machine import HEX, OUT_OF_SCOPE, Watched, no_code
from .stopping import FROM_CORE
from .talking import said_of

WATCH = {"write": "watch", "read": "rwatch", "readWrite": "awatch"}
WATCHPOINT = re.compile(r"(Hardware (?:read |access \(read/write\) )?)?[Ww]atchpoint (\d+)")
SLOW = "The processor cannot watch it: the program is watched step by step and runs much slower"
BACK = {"stepBack": "next", "reverseContinue": "continue"}
"""How that is done when the direction has been turned: gdb's DAP has no word for it."""
SCOPE_ENDED = "stopped"
"""How gdb's DAP calls a stop that it has no word for; a watched variable's is one of these."""
NO_HISTORY = ("no-history", "stopped")
BEGAN = "This is where the recording began: there is nothing before it"
ENDS = "This is where the recording ends: from here on the program runs on and is recorded"
NOT_RECORDED = "failed to record execution log"
CANNOT = (
    "gdb cannot record what comes next: the end of the program, or an instruction that it does not know "
    '(GET /sessions/{id}/disassembly shows it). POST /sessions/{id}/record with {"enabled": false} lets it go on; '
    'after a launch with "recordable": true the C library avoids such instructions'
)
RECORDED = "The program is recorded from here on, and runs much slower"


class GdbMachine(NativeAdapter):
    more = NativeAdapter.more | {"instruction_steps"}

    def _reset(self) -> None:
        super()._reset()
        self._is_recording = self._goes_back = self._steps = False
        self._replays = False
        """it has gone back, and is somewhere in the recording"""
        self._edge: str | None = None
        """what there is to say about a stop at an end of the recording"""

    async def _command_line(self, text: str) -> str:
        raise NotImplementedError

    async def _inside_gdb(self, place: Frame, method: str, timeout: float = 0, **arguments: Any) -> Any:
        raise NotImplementedError

    async def _instructions(self, address: str, offset: int, count: int) -> list[dict[str, Any]]:
        """DAP's own only goes forward, and names files as the compiler did."""
        if offset < 0:
            with contextlib.suppress(RelayError):
                found = HEX.search(await self._command_line(f"x/{offset}i {address}"))
                address, offset = found[0] if found else address, 0
        skipped = max(0, offset)
        wanted = {"address": int(address, 16), "count": skipped + count}
        rows = list(await self._request("ocdb", {"method": "instructions", "arguments": wanted}))
        if not rows:
            raise no_code(address)
        return rows[skipped:]

    async def _begin_watching(self, frame: int, wanted: DataBreakpoint) -> tuple[Any, str | None]:
        command = f"{WATCH[wanted.access]} {wanted.expression}"
        if wanted.condition:
            command += f" if {wanted.condition}"
        answer = await self._inside_gdb(self._frame(frame), "watch_data", command=command)
        made = WATCHPOINT.search(answer.get("said", ""))
        if made is None:
            raise RelayError("EVALUATE_ERROR", answer.get("error") or answer["said"].strip() or "gdb did not say why")
        return int(made[2]), None if made[1] else SLOW

    async def _unwatch(self, watched: Watched) -> None:
        await self._command_line(f"delete {watched.id}")

    async def record(self, enabled: bool) -> dict[str, Any]:
        if self._is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE)
        if enabled == self._is_recording:
            return {"recording": enabled}
        try:
            await self._command_line("record full" if enabled else "record stop")
        except RelayError as error:
            raise RelayError("NOT_SUPPORTED", f"gdb cannot record here: {said_of(error) or error.message}") from error
        self._is_recording, self._replays = enabled, False
        return {"recording": enabled, "message": RECORDED if enabled else None}

    async def reverse(self, kind: str, thread_id: int, go: Go | None = None) -> None:
        if not self._is_recording:
            raise RelayError(
                "INVALID_SESSION_STATE",
                "There is nothing to go back in: the program is not being recorded",
                suggestion="POST /sessions/{id}/record, let the program run on, then go back",
            )
        await self._go(kind, thread_id, go)

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        self._goes_back = command in BACK
        self._steps = command not in ("continue", "reverseContinue")
        self._replays = self._replays or self._goes_back
        if not self._goes_back:
            await super()._send_off(command, arguments)
            return
        await self._request("ocdb", {"method": "turn_back"})
        try:
            await super()._send_off(BACK[command], arguments)
        except RelayError:
            with contextlib.suppress(RelayError):
                await self._request("ocdb", {"method": "turn_forward"})
            raise

    @property
    def _onward(self) -> str:
        return "reverseContinue" if self._goes_back else "continue"

    def _at_edge(self) -> tuple[str, str]:
        """What a stop at an end of the recording is to a session, and what there is to say about it."""
        if self._goes_back:
            return "step", BEGAN
        if self._replays:
            self._replays = False
            return "step", ENDS
        return "pause", CANNOT

    def _on_stopped(self, body: dict[str, Any]) -> None:
        if self._is_recording and body["reason"] in NO_HISTORY:
            reason, self._edge = self._at_edge()
            body = {**body, "reason": reason}
        elif body["reason"] == SCOPE_ENDED and self._are_gone(body):
            if not self._steps:
                self._is_running = False
                self._spawn(self._go_on_quietly(body["threadId"]))
                return
            self._edge = OUT_OF_SCOPE  # which has ended the step, too
            body = {**body, "reason": "step", "hitBreakpointIds": []}
        super()._on_stopped(body)

    def _are_gone(self, body: dict[str, Any]) -> bool:
        """Watched variables of a function that has returned, which nobody waits for in silence."""
        gone = [id for id in body.get("hitBreakpointIds") or [] if self._data_gone(id)]
        return bool(gone) and not (self._halting or self._is_ending or self._is_pausing)

    def _tell(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        note, self._edge, self._goes_back = self._edge, None, False
        super()._tell(reason, thread_id, numbers, **({"note": note} if note else {}), **more)
