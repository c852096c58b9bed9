"""lldb, by way of lldb-dap; and programs that its lldb-server runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from typing import Any

from ...errors import RelayError
from ..base import AttachSpec, Go, LaunchSpec, StopEvent
from ..processes import ExitStatus
from ..watched import Watched
from . import elf, lldb_program
from .adapter import NativeAdapter
from .lldb_machine import WATCHPOINT
from .lldb_marks import LldbMarks
from .lldb_throws import DESCRIPTION, LldbThrows
from .process import ERRORS, INPUT, OUTPUT, Helper
from .talking import GRACE

SETTINGS = (
    "settings set target.inherit-env false",
    "settings set target.process.stop-on-exec false",
)
NO_LOOKUP = "settings set symbols.enable-external-lookup false"
"""Debug information of system libraries takes a quarter of a second at each start, and shows no source here."""
PASSED = "process handle --pass true --stop false --notify false SIGTERM SIGURG SIGIO SIGVTALRM SIGPROF SIGWINCH"
"""Signals at which gdb does not stop either."""
CONNECTED = (
    "script import time; [time.sleep(0.005) for _ in range(1000) "
    "if lldb.debugger.GetSelectedTarget().process.state != lldb.eStateConnected]",
    "platform shell true",
)
"""Until lldb has noticed that it is connected, it refuses to launch; the second is for an lldb without Python."""
COMMANDS = {
    ("continue", "line"): "thread continue",
    ("next", "line"): "thread step-over --run-mode this-thread",
    ("stepIn", "line"): "thread step-in --run-mode this-thread",
    ("stepOut", "line"): "thread step-out --run-mode this-thread",
    ("next", "instruction"): "thread step-inst-over",
    ("stepIn", "instruction"): "thread step-inst",
    ("stepOut", "instruction"): "thread step-out --run-mode this-thread",
}
"""How one thread goes on while the others stay, or by one instruction."""
ALL_THREADS = "script [thread.Resume() for thread in lldb.debugger.GetSelectedTarget().process]"
PORT = re.compile(r"(\d+)\0")
LAST_PACKET = re.compile(r"read packet: \$([WX])([0-9a-f]{2})[;#]")
SERVER_DIED = "the debug server (lldb-server) ended unexpectedly"
NO_CONNECTION = -1
"""The exit code that is told of a program whose debug server has died."""


class LldbAdapter(LldbThrows, NativeAdapter):
    kind = "lldb"
    more = NativeAdapter.more | {"instruction_steps", "exception_classes"}
    _marks: LldbMarks

    def _reset(self) -> None:
        super()._reset()
        self._described: dict[int, str] = {}
        """why each thread halted, in lldb's words"""
        self._together: list[dict[str, Any]] = []
        """stops of other threads, at the same moment as the one that is being told"""
        self._stepping: int | None = None
        """the thread that a step was asked of"""
        self._others_wait = False
        """a thread was let go alone, after which lldb holds the others until told otherwise"""
        self._inner_server: Watched | None = None
        """the lldb-server that lldb-dap has started for itself"""

    def _make_marks(self) -> LldbMarks:
        return LldbMarks(self._request, self._listener.on_rebound, self._line)

    def _find(self) -> tuple[list[str], dict[str, str]]:
        # Its Python must not look for modules where ours are, and the user's .lldbinit could change anything.
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENCODE_", "LLDB_"))
        }
        return [lldb_program.find(self._path), "--repl-mode", "command"], {**environment, "HOME": "/nonexistent"}

    # Starting.

    async def check_launch(self, spec: LaunchSpec) -> None:
        await super().check_launch(spec)
        if spec.server is not None:
            lldb_program.find_server(self._path)

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str]) -> tuple[str, dict[str, Any]]:
        assert self._helper is not None
        return "launch", self._launching(spec, environment, self._helper)

    def _launching(
        self, spec: LaunchSpec, environment: dict[str, str], holder: Helper, *before: str
    ) -> dict[str, Any]:
        """lldb opens the program's streams itself, by way of a process that has them."""
        self._is_starting = True
        streams = {"input": INPUT, "output": OUTPUT, "error": ERRORS}
        opening = [f"settings set target.{name}-path /proc/{holder.pid}/fd/{fd}" for name, fd in streams.items()]
        return {
            **self._common(spec.target),
            "args": spec.args,
            "cwd": spec.cwd,
            "env": [f"{name}={value}" for name, value in environment.items()],
            "preRunCommands": [*opening, PASSED, *before],
        }

    def _common(self, program: str | None) -> dict[str, Any]:
        found = elf.read(program) if program else None
        lookup = [NO_LOOKUP] if found is None or ".debug_info" in found.sections else []
        named = {"program": program} if program else {}
        return named | {
            "initCommands": [*SETTINGS, *lookup],
            "preRunCommands": [PASSED],
            "stopOnEntry": True,
            "enableAutoVariableSummaries": True,
        }

    async def _serve(self, spec: LaunchSpec, environment: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """The server starts the program when it is told to, since only so it can be given streams."""
        server = [lldb_program.find_server(self._path), "gdbserver", "--pipe", "3", "127.0.0.1:0"]
        _, own = self._find()
        said = await self._start_server(["/bin/sh", "-c", 'exec "$@" 3>&2', "sh", *server], own, "/", PORT)
        connect = f"process connect --plugin gdb-remote connect://127.0.0.1:{said[1]}"
        assert self._server is not None
        return "launch", self._launching(spec, environment, self._server, connect, *CONNECTED)

    def _core_request(self, spec: LaunchSpec) -> tuple[str, dict[str, Any]]:
        return "attach", {**self._common(spec.target), "coreFile": spec.core}

    def _attach_request(self, spec: AttachSpec) -> tuple[str, dict[str, Any]]:
        common = self._common(spec.program)
        if spec.pid is not None:
            return "attach", {**common, "pid": spec.pid}
        return "attach", {**common, "gdb-remote-port": spec.port, "gdb-remote-hostname": spec.host}

    def _on_process(self, body: dict[str, Any]) -> None:
        super()._on_process(body)
        if self._server is None and not self._is_core and self._inner_server is None and self.pid is not None:
            server = _parent_or_tracer(self.pid)
            if server is not None:
                self._inner_server = Watched(server, is_kept=False)
                self._inner_server.ended.add_done_callback(lambda _: self._server_ended())

    # Stops.

    def _reason(self, body: dict[str, Any]) -> str:
        """A signal and a C++ exception are exceptions; SIGSTOP is how lldb halts a program."""
        description = str(body.get("description") or "")
        if body["reason"] == "exception" and description.startswith("signal SIGSTOP"):
            is_ours = self._is_pausing or self._is_starting
            return "pause" if is_ours else "exception"
        if WATCHPOINT.match(description):
            return "data breakpoint"
        return super()._reason(body)

    def _on_stopped(self, body: dict[str, Any]) -> None:
        self._described[body["threadId"]] = str(body.get("description") or "")
        if body.get("preserveFocusHint"):
            return  # of another thread: `_look_closer` asks which of these are new
        if body["reason"] == "step" and self._stepping is None and not self._is_starting:
            # The end of a step of another thread that something else had cut short.
            self._is_running = False
            self._spawn(self._go_on_quietly(body["threadId"]))
            return
        ids = body.get("hitBreakpointIds") or []
        is_quiet = self._asides or self._halting is not None or self._is_ending or self._is_core
        self._thrown = None
        if not is_quiet and body.get("description") == DESCRIPTION:
            self._is_running = False
            self._spawn(self._on_throw(body))
            return
        if is_quiet or not (self._has_threads() or (ids and not self._marks.is_alone)):
            self._marks.count(ids)
            super()._on_stopped(body)
            return
        self._is_running = False
        self._spawn(self._look_closer(body))

    async def _on_throw(self, body: dict[str, Any]) -> None:
        is_wanted = True
        with contextlib.suppress(RelayError):
            is_wanted = await self._look_at_throw(body["threadId"])
        if self._is_over or self._is_running:
            return
        if is_wanted:
            super()._on_stopped(body)
        else:
            await self._go_on_quietly(body["threadId"])

    def _has_threads(self) -> bool:
        if self.pid is None:
            return False
        try:
            return len(os.listdir(f"/proc/{self.pid}/task")) > 1
        except OSError:
            return self._is_attached  # on another machine, perhaps

    async def _look_closer(self, body: dict[str, Any]) -> None:
        """Which breakpoints were hit, and by which threads."""
        thread_id = body["threadId"]
        with contextlib.suppress(RelayError):
            fresh = await self._marks.fresh()
            halted = await self._marks.halted() if fresh else {}
            own = _taken(halted.pop(thread_id, []), fresh)
            if body.get("hitBreakpointIds"):
                body["hitBreakpointIds"] = own or body["hitBreakpointIds"]
            others = {thread: _taken(ids, fresh) for thread, ids in halted.items()}
            self._together = [
                {"reason": "breakpoint", "threadId": thread, "hitBreakpointIds": ids}
                for thread, ids in others.items()
                if ids
            ]
        if not self._is_over and not self._is_running:
            super()._on_stopped(body)

    def _tell(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        if self._stepping == thread_id and reason != "step":
            self._require_talk().send("evaluate", {"expression": "thread plan discard 1", "context": "repl"})
        self._stepping = None
        super()._tell(reason, thread_id, numbers, **more)
        together, self._together = self._together, []
        for body in together:
            self._spawn(self._tell_also(body))

    async def _tell_also(self, body: dict[str, Any]) -> None:
        """A stop of another thread: what it is about was hit, whatever else happened."""
        stopping = []
        with contextlib.suppress(RelayError):
            for number in self._marks.reached(body["hitBreakpointIds"]):
                if number > 0 and await self._wants_stop(number, body["threadId"]):
                    stopping.append(number)
        if stopping and not self._is_running and not self._is_over:
            self._stops += 1
            self._listener.on_stopped(
                StopEvent("breakpoint", body["threadId"], hit_numbers=stopping, number=self._stops, after=self._serial)
            )

    async def _go(self, command: str, thread_id: int, go: Go | None, granularity: str = "line") -> None:
        self._stepping = None if command == "continue" else thread_id
        self._together = []
        await super()._go(command, thread_id, go, granularity)

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        """lldb-dap lets all threads go, by lines; the rest, only lldb's own commands do."""
        if self._others_wait:
            self._others_wait = False
            await self._line(ALL_THREADS)
        alone, granularity = arguments["singleThread"], arguments.get("granularity", "line")
        if not alone and (granularity == "line" or command not in ("next", "stepIn")):
            await super()._send_off(command, arguments)
            return
        self._others_wait = command == "continue"
        index = await self._marks.index_of(arguments["threadId"])
        said = await self._line(f"{COMMANDS[command, granularity]} {index}")
        if "error:" in said:
            raise RelayError("DEBUGPY_ERROR", f"lldb refused {command}: {said.strip()}")

    async def _go_on_quietly(self, thread_id: int) -> None:
        if self._together and not self._is_ending:
            other = self._together.pop(0)
            await self._judge("breakpoint", other["threadId"], self._marks.reached(other["hitBreakpointIds"]))
            return
        if self._stepping == thread_id and not self._is_ending and await self._has_stepped():
            await self._travel(thread_id)
            return
        await super()._go_on_quietly(thread_id)

    async def _has_stepped(self) -> bool:
        """Whether a step was over when it came to a breakpoint, which is all that lldb says then."""
        plans = await self._line("thread plan list")
        return "Element 1:" not in plans.partition("Active plan stack:")[2].partition("plan stack:")[0]

    # The end.

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        """lldb-dap tells the same of exit(11) and SIGSEGV; what came from the debug server is different."""
        packets = LAST_PACKET.findall(await self._line("process plugin packet history"))
        if packets and packets[-1][0] == "X":
            return ExitStatus.of(-int(packets[-1][1], 16))
        return await super()._exit_status(code)

    async def _without_server(self) -> None:
        """There is one behind lldb-dap, too, when nobody has asked for it."""
        await asyncio.wait([self._ended], timeout=0.5)
        self._finish(lambda: self._listener.on_lost(SERVER_DIED))

    async def _on_exited(self, code: int | None) -> None:
        if code == NO_CONNECTION and not self._is_detached:
            self._finish(lambda: self._listener.on_lost(SERVER_DIED))
            return
        await super()._on_exited(code)

    async def _interrupt(self, seq: int, sent: Any) -> None:
        """Expressions have a time limit of their own here, and lldb-dap does not know `cancel`."""
        await asyncio.wait([sent], timeout=GRACE)

    async def _close(self) -> None:
        """Not by its own choice: lldb-dap crashes when it ends, which takes longer and leaves a core file."""
        inner, self._inner_server = self._inner_server, None
        if inner is not None:
            inner.close()
        if self._helper is not None:
            await self._helper.end()
        await super()._close()


def _taken(ids: list[int], fresh: dict[int, int]) -> list[int]:
    """Those of the ids that have a hit which nobody has taken yet."""
    found = [id for id in ids if fresh.get(id, 0) > 0]
    for id in found:
        fresh[id] -= 1
    return found


def _parent_or_tracer(pid: int) -> int | None:
    """The process that debugs this one."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("TracerPid:"):
                return int(line.split()[1]) or None
    return None

