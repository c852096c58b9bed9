"""Recordings of what a program under gdb does, and the way back in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....answers.machine import Recording
from ....errors import RelayError
from ....operations.advice import advice
from ...shapes import Go, RecordingWish
from ..native_conversation import NativeConversation, said_of
from ..native_program import FROM_CORE, NativeProgram

if TYPE_CHECKING:
    from .gdb_stops import GdbStopMachine

BACK = {"stepBack": "next", "reverseContinue": "continue"}
"""Requests that do it when the direction has been turned: gdb's DAP has no word for it."""
NO_HISTORY = ("no-history", "stopped")
NOT_RECORDED = "failed to record execution log"
CANNOT = (
    "gdb cannot record what comes next: the end of the program, or an instruction that it does not know ({disassemble} "
    'shows it). {record} with {{"enabled": false}} lets it go on; after a launch with "recordable": true the C library '
    "avoids such instructions"
)
RECORDED = "The program is recorded from here on, and runs much slower"

TUNABLES = "GLIBC_TUNABLES"
HWCAPS = "glibc.cpu.hwcaps"
UNKNOWN = ("AVX512F", "AVX512VL", "AVX512BW", "AVX2", "AVX", "XSAVE", "XSAVEC")
"""Instructions of processors that gdb cannot record, as the C library calls them: it chooses the newest by itself."""


class Playback:
    """The place of the program in its recording, and the direction in which it goes."""

    def __init__(self) -> None:
        self.is_recording = self.goes_back = self.steps = False
        self.replays = False
        """it has gone back, and is somewhere in the recording"""

    def set_out(self, command: str) -> None:
        """Take note of how the program is let go."""
        self.goes_back = command in BACK
        self.steps = command not in ("continue", "reverseContinue")
        self.replays = self.replays or self.goes_back

    def arrive_at_edge(self) -> tuple[str, str]:
        """Return what a stop at an end of the recording is to a session, and what there is to say about it."""
        if self.goes_back:
            return "step", "This is where the recording began: there is nothing before it"
        if self.replays:
            self.replays = False
            return "step", "This is where the recording ends: from here on the program runs on and is recorded"
        return "pause", advice(CANNOT)


@dataclass(frozen=True)
class GdbRecording:
    _program: NativeProgram
    _conversation: NativeConversation
    _stops: GdbStopMachine
    needs_pause = True

    async def record(self, enabled: bool, wish: RecordingWish) -> Recording:
        if wish != RecordingWish():
            message = "gdb records every instruction: calls, lines, scope and the like are for Python programs"
            raise RelayError("NOT_SUPPORTED", message, suggestion=advice('{record} with {{"enabled": true}} alone'))
        if self._program.is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE)
        playback = self._stops.playback
        if enabled == playback.is_recording:
            return Recording(recording=enabled)
        try:
            await self._conversation.run_command("record full" if enabled else "record stop")
        except RelayError as error:
            raise RelayError("NOT_SUPPORTED", f"gdb cannot record here: {said_of(error) or error.message}") from error
        playback.is_recording, playback.replays = enabled, False
        return Recording(recording=enabled, message=RECORDED if enabled else None)

    async def describe(self) -> Recording:
        return Recording(recording=self._stops.playback.is_recording)

    async def flush(self) -> None:
        """Do nothing: gdb has its recordings in memory."""

    def folders(self) -> list[str]:
        return []

    async def reverse(self, kind: str, thread_id: int, go: Go | None = None) -> None:
        if not self._stops.playback.is_recording:
            message = "There is nothing to go back in: the program is not being recorded"
            suggestion = advice("{record}, let the program run on, then go back")
            raise RelayError("INVALID_SESSION_STATE", message, suggestion=suggestion)
        await self._stops.let_go(kind, thread_id, go)


def recordable_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return variables that keep the C library from such instructions, besides what the program is given there."""
    given = dict(each.partition("=")[::2] for each in environment.get(TUNABLES, "").split(":") if each)
    wanted = [given[HWCAPS]] if given.get(HWCAPS) else []
    given[HWCAPS] = ",".join([*wanted, *(f"-{name}" for name in UNKNOWN)])
    return {TUNABLES: ":".join(f"{name}={value}" for name, value in given.items())}
