"""What every debugger looks like to a session, and what a session looks like to a debugger."""

from __future__ import annotations

from asyncio import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from .processes import ExitStatus


@dataclass
class LaunchSpec:
    """A program to start, already checked and with absolute paths."""

    kind: str
    """file, module or code"""
    target: str
    args: list[str]
    cwd: str
    env: dict[str, str]
    interpreter: str
    interpreter_args: list[str]
    stop_on_entry: bool = False
    just_my_code: bool = False


@dataclass
class AttachSpec:
    host: str
    port: int
    connect_timeout: float
    just_my_code: bool = False


@dataclass
class DebuggerBreakpoint:
    """A breakpoint as a debugger needs it; `number` is the session's own."""

    number: int
    path: str
    line: int
    condition: str | None = None
    hit_condition: str | None = None
    log: list[Any] | None = None
    """texts, and expressions as [expression, conversion, parts of the format]"""
    hits: int = 0

    @property
    def is_plain(self) -> bool:
        return not (self.condition or self.hit_condition or self.log)


Groups = dict[str, list[DebuggerBreakpoint]]
"""breakpoints by file"""


@dataclass(frozen=True)
class Bound:
    """What the debugger made of a breakpoint."""

    verified: bool
    line: int | None = None
    message: str | None = None


@dataclass
class StopEvent:
    reason: str
    thread_id: int
    all_threads_stopped: bool = True
    hit_numbers: list[int] = field(default_factory=list)


Asked = Future[Any]
"""a request that is on its way"""
Frames = list[dict[str, Any]]
"""as DAP describes them, the innermost first"""


class Listener(Protocol):
    """The session, as its debugger sees it."""

    def on_stopped(self, event: StopEvent) -> None: ...
    def on_output(self, category: str, data: bytes) -> None: ...
    def on_thread(self, reason: str, thread_id: int) -> None: ...
    def on_module(self, reason: str, module: dict[str, Any]) -> None: ...
    def on_log(self, number: int, text: str) -> None: ...
    def on_bound(self, number: int, bound: Bound) -> None: ...
    def on_hits(self, hits: dict[int, int]) -> None: ...
    def on_condition_error(self, number: int, error: str) -> None: ...
    def on_exit(self, status: ExitStatus) -> None: ...
    def on_lost(self, reason: str) -> None: ...


class Adapter(Protocol):
    """One debugger of one program. Every method that asks the debugger something raises RelayError when it fails."""

    pid: int | None

    async def check_launch(self, spec: LaunchSpec) -> None: ...
    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[str]) -> None: ...
    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[str]) -> None: ...
    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]: ...
    async def hits(self) -> dict[int, int]: ...

    async def resume(self, thread_id: int) -> None: ...
    async def step(self, kind: str, thread_id: int) -> None: ...
    async def pause(self, thread_id: int | None) -> None: ...
    async def step_targets(self, frame: int) -> dict[str, Any]: ...
    async def natives(self, frame: int, line: int) -> list[str]: ...
    async def set_out(
        self, frame: int, most: int = 1, until: str | None = None, target: str | int | None = None
    ) -> dict[str, Any]:
        """The next step of the frame's thread goes on by itself; `token` says which journey that is."""
        ...

    async def journey(self, token: int, end: bool = False) -> dict[str, Any]: ...
    async def visit(self, path: str, line: int) -> None:
        """Makes the next run stop at a line, whatever breakpoints are there."""
        ...

    async def leave(self, path: str, line: int) -> None: ...

    def drain(self) -> None: ...

    async def threads(self) -> list[dict[str, Any]]: ...
    def ask_stack(self, thread_id: int) -> Asked: ...
    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames: ...
    async def scopes(self, frame: int) -> list[dict[str, Any]]: ...
    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]: ...
    async def locals(self, frame: int, page: dict[str, Any]) -> dict[str, Any]: ...
    async def report(self, frame: int, budget: int, names: int) -> dict[str, Any]: ...
    async def evaluate(
        self, frame: int, expression: str, context: str, limit: int, timeout: float
    ) -> dict[str, Any]: ...
    async def exception(self, frame: int) -> dict[str, Any] | None: ...

    async def examine(self, path: str) -> dict[str, Any]: ...
    def check_expression(self, text: str) -> Any: ...

    async def end(self, grace: float) -> None: ...
