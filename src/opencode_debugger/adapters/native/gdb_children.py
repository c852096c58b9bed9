"""Processes that a program under gdb starts: each that is debugged gets a gdb of its own.

At the fork the child is held, gdb lets it go, and another gdb attaches to it. So it has its own stops, breakpoints and
threads, which within one gdb it would share with its parent.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ...errors import RelayError
from ..base import ExceptionRule, Groups, LaunchSpec
from ..debugpy.target import has_ptrace_capability, ptrace_scope
from .adapter import NativeAdapter, program_of
from .children import Hold, NativeArrival, tell_spawned

MOST = 32
"""Children that are debugged at once: each takes a gdb."""
TOO_MANY = f"{MOST} children are debugged already, which is the most at once"

ATTACHED = "children of a program that was attached to are not debugged"


class GdbChildren(NativeAdapter):
    async def check_launch(self, spec: LaunchSpec) -> None:
        await super().check_launch(spec)
        if spec.debug_subprocesses and (scope := ptrace_scope()) and not has_ptrace_capability():
            message = f"Children cannot be debugged: the system forbids it (kernel.yama.ptrace_scope is {scope})"
            advice = "sudo sysctl kernel.yama.ptrace_scope=0, or launch without debug_subprocesses"
            raise RelayError("NOT_SUPPORTED", message, parameter="debug_subprocesses", suggestion=advice)

    @property
    def marker(self) -> str:
        """Of everything that the session of the program starts."""
        return self._session_id

    def _forked(self, told: dict[str, Any]) -> None:
        pid, ppid, why_not = told["pid"], told["ppid"], told.get("why_not")
        elder = self._elder or self
        if "address" in told:
            sharer = ppid if told["shares"] else None
            hold = Hold(pid, told["address"], bytes.fromhex(told["code"]), sharer)
            if len(elder._young) < MOST and not elder._is_ending:
                self._listener.on_child(NativeArrival(hold, ppid, elder))
                return
            hold.undo()
            why_not = TOO_MANY
        if self._is_attached:
            why_not = ATTACHED
        self._spawn(tell_spawned(self._listener.on_spawned, pid, ppid, why_not))

    async def join(
        self,
        arrival: NativeArrival,
        pid: int,
        breakpoints: Groups,
        stop_on: list[ExceptionRule],
        just_my_code: bool,
        stop_scope: str,
        environment: dict[str, str],
    ) -> None:
        """A child that is held. If this fails it has to be let go. It has its environment already."""
        await self._forget_last_program()
        self._elder, self._session_id, self.pid = arrival.elder, arrival.elder.marker, pid
        self._debugs_children = True
        self._elder._young.add(self)
        self._halting = asyncio.get_running_loop().create_future()
        try:
            await self._converse(None)
            await self._recognise(program_of(pid))
            await self._prepare(program_of(pid))
            await self._configure("attach", {"pid": pid}, breakpoints, stop_on, "ATTACH_FAILED")
            either: list[asyncio.Future[Any]] = [self._halting, self._ended]
            await asyncio.wait(either, timeout=self._launch_timeout, return_when=asyncio.FIRST_COMPLETED)
            if not self._halting.done() or arrival.hold is None:
                raise RelayError("ATTACH_FAILED", "gdb did not halt it")
            self._halting = None
            place = {"address": arrival.hold.address, "code": arrival.hold.code.hex()}
            await self._request("ocdb", {"method": "release", "arguments": place})
            arrival.hold, self._is_joined = None, True
            await self._go_on_quietly(1)
        except BaseException:
            self._is_detached = True
            await self._close()
            self._leave_family()
            raise
