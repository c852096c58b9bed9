"""Stops of a program under gdb, also at the ends of a recording and those for which gdb's DAP has no word; its end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import Any

from ....errors import RelayError
from ....operations.advice import advice
from ...process.foreign_process import Watched
from ...process.program_process import ExitStatus
from ..native_conversation import QUIT, said_of
from ..native_memory import OUT_OF_SCOPE
from ..native_program import Motion
from ..native_shutdown import Shutdown
from ..native_stops import NotLetGo, StopMachine
from .gdb_breakpoints import GdbExceptions
from .gdb_recording import BACK, CANNOT, NO_HISTORY, NOT_RECORDED, Playback

SCOPE_ENDED = "stopped"
"""A stop for which gdb's DAP has no better word; a watched variable's is one of these."""
OUTERMOST = "not meaningful in the outermost frame"
GONE = "No such process"
INSIST = 0.5
"""Seconds for a program to listen to SIGINT."""
NOTICE = 0.3
"""Seconds for gdb to tell the end of a program itself."""


class GdbStopMachine(StopMachine):
    _exceptions: GdbExceptions

    def reset(self) -> None:
        super().reset()
        self.playback = Playback()
        self._note: str | None = None
        """what there is to say about a stop: that it is at an end of the recording, say"""

    def reason_of(self, body: dict[str, Any]) -> str:
        ids = body.get("hitBreakpointIds") or []
        is_thrown = self._exceptions.recognise_stop(ids)
        is_untold = body["reason"] == "stopped" and not (ids or self.is_pausing or self.is_starting)
        if is_untold and self.playback.steps:
            return "step"
        return "exception" if is_thrown or is_untold else super().reason_of(body)

    def on_stopped(self, body: dict[str, Any]) -> None:
        if self.playback.is_recording and body["reason"] in NO_HISTORY:
            reason, self._note = self.playback.arrive_at_edge()
            body = {**body, "reason": reason}
        elif body["reason"] == SCOPE_ENDED and self._have_values_gone(body):
            if not self.playback.steps:
                self._program.motion = Motion.HALTED
                self._conversation.spawn(self.go_on_quietly(body["threadId"]))
                return
            self._note = OUT_OF_SCOPE  # which has ended the step, too
            body = {**body, "reason": "step", "hitBreakpointIds": []}
        super().on_stopped(body)

    async def count_hits(self) -> dict[int, int]:
        return await self._table.hits()

    def _have_values_gone(self, body: dict[str, Any]) -> bool:
        """Say if watched variables of a function have gone that has returned: nobody waits for that in silence."""
        gone = [id for id in body.get("hitBreakpointIds") or [] if self._data.give_up(id)]
        return bool(gone) and not (self._awaited or self._program.is_ending or self.is_pausing)

    def tell_stop(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        note, self._note = self._note, None
        self.playback.goes_back = False  # whatever goes on next goes forwards, unless it is told otherwise
        super().tell_stop(reason, thread_id, numbers, **({"note": note} if note else {}), **more)

    def _stay_halted(self, thread_id: int, error: NotLetGo) -> None:
        self._note = error.told
        super()._stay_halted(thread_id, error)

    @property
    def _onward_command(self) -> str:
        return "reverseContinue" if self.playback.goes_back else "continue"

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        try:
            await self._send_either_way(command, arguments)
        except RelayError as error:
            said = said_of(error)
            if said is None or said == "notStopped":
                raise
            if OUTERMOST in said:
                await self._send_either_way("continue", arguments)
            elif not await self._is_gone(said):
                raise NotLetGo(said, advice(CANNOT) if NOT_RECORDED in said else None) from error

    async def _send_either_way(self, command: str, arguments: dict[str, Any]) -> None:
        """Let the program go forwards or backwards."""
        self.playback.set_out(command)
        if not self.playback.goes_back:
            return await super()._send_off(command, arguments)
        await self._conversation.call_inside("turn_back")
        try:
            await super()._send_off(BACK[command], arguments)
        except RelayError:
            with contextlib.suppress(RelayError):
                await self._conversation.call_inside("turn_forward")
            raise

    async def _is_gone(self, said: str) -> bool:
        """Say if it died while gdb let its threads go, one after the other, so that those that were left failed."""
        if GONE not in said:
            return False
        self._program.motion = Motion.HALTED  # its end is told by whoever sees it first
        await asyncio.wait([self._program.ended], timeout=QUIT)
        return self._program.is_over

    async def on_step_refused(self, thread_id: int, said: str) -> None:
        """Hear that a step was refused after it was answered."""
        if not await self._is_gone(said):
            self._stay_halted(thread_id, NotLetGo(said, advice(CANNOT) if NOT_RECORDED in said else None))

    async def pause(self, thread_id: int | None) -> None:
        await super().pause(thread_id)
        self._conversation.spawn(self._insist_on_halt())

    async def _insist_on_halt(self) -> None:
        """Halt it by SIGSTOP: gdb does it by SIGINT, which the program may have blocked."""
        stops = self._stop_count
        await asyncio.sleep(INSIST)
        is_deaf = self.is_pausing and self._program.is_running and self._stop_count == stops
        if is_deaf and not self._program.is_over:
            self._program.send_signal(signal.SIGSTOP)


class GdbShutdown(Shutdown):
    _stops: GdbStopMachine

    def reset(self) -> None:
        super().reset()
        self._was_killed = False
        self._watched: Watched | None = None
        """the program, if it runs on this machine"""

    def watch_program(self, pid: int) -> None:
        if self._watched is None and not self._program.is_core:
            self._watched = Watched(pid, is_kept=self._elder is not None)
            self._conversation.spawn(self._see_end(self._watched))

    async def _see_end(self, watched: Watched) -> None:
        """Tell the end of a program that gdb holds: it would, only when it is to go on."""
        status = await watched.ended
        await asyncio.wait([self._program.ended], timeout=NOTICE)
        if self._watched is watched and not self._program.is_running and not self._program.is_detached:
            self._finish_program(lambda: self._listener.on_exit(status or ExitStatus.of(-signal.SIGKILL)))

    async def close(self) -> None:
        watched, self._watched = self._watched, None
        if watched is not None:
            watched.close()
        await super().close()

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        with contextlib.suppress(RelayError):
            self._listener.on_hits(await self._stops.count_hits())
        if self._was_killed:
            return ExitStatus.of(-signal.SIGKILL)
        for variable, sign in (("$_exitsignal", -1), ("$_exitcode", 1)):
            wanted = {"expression": variable, "context": "watch"}
            found = (await self._conversation.request("evaluate", wanted))["result"]
            if found.isdigit():
                return ExitStatus.of(sign * int(found))
        return None  # gdb says 0 also of a program that it has lost

    async def _kill_program(self) -> None:
        """Have gdb do it: it does not notice that a program died which it holds."""
        if self._program.is_running:
            await super()._kill_program()
        else:
            self._was_killed = True
            with contextlib.suppress(RelayError):
                await self._conversation.request("terminate", timeout=QUIT)

    async def _set_free(self) -> None:
        await self._conversation.run_command("detach")
