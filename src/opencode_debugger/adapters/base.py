"""What every debugger looks like to a session, and what a session looks like to a debugger."""

from __future__ import annotations

from asyncio import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import RelayError
from .processes import ExitStatus
from .stdin import Stdin


@dataclass
class LaunchSpec:
    """A program to start, already checked and with absolute paths."""

    kind: str
    """file, module or code of Python; program, which is native; command, which is neither"""
    target: str
    args: list[str]
    cwd: str
    env: dict[str, str]
    interpreter: str
    interpreter_args: list[str]
    interpreter_reason: str = ""
    """why it is that one, for the client"""
    project: str | None = None
    """the folder in and above which environments of the project are looked for"""
    stop_on_entry: bool = False
    just_my_code: bool = False
    stop_scope: str = "all"
    """all: a stop halts every thread; thread: only the one that stops"""
    debug_subprocesses: bool = False
    stdin_inputs: list[str] = field(default_factory=list)
    """lines of its input, known before it starts"""
    stdin_eof: bool = False
    """whether its input ends with them"""
    added: dict[str, str] = field(default_factory=dict)
    """variables that follow from the rest, such as those of an activated venv"""
    removed: tuple[str, ...] = ()
    """variables of the relay's own that the program does not get"""
    adapter: str = "debugpy"
    server: str | None = None
    """gdbserver or lldb-server: the program is run by it, and the debugger reaches it from there"""
    core: str | None = None
    """the memory of a program that has crashed, to be looked at instead of running it"""
    debugger_path: str | None = None
    """the debugger itself, of those that speak the EZ protocol"""
    line_buffered: bool = True
    """a native program writes each line at once, as on a terminal"""
    recordable: bool = False
    """a native program's C library uses only instructions that gdb can record"""
    tunnel_only: bool = False
    """its debugger is left to whoever comes through the tunnel"""
    command: list[str] = field(default_factory=list)
    """of a command: how it is started, without its arguments"""
    without_effect: list[str] = field(default_factory=list)
    """of a command: what was asked for that means nothing to it or to the programs that it starts"""

    @property
    def stdin(self) -> bytes:
        return "".join(line if line.endswith("\n") else line + "\n" for line in self.stdin_inputs).encode()


@dataclass
class AttachSpec:
    """A program that runs already: a process of this machine, or where its debugger listens."""

    pid: int | None
    host: str
    port: int | None
    connect_timeout: float
    just_my_code: bool = False
    stop_scope: str = "all"
    gdb_path: str | None = None
    server: str | None = None
    """gdbserver or lldb-server: what listens at the port"""
    program: str | None = None
    """the file that runs there, for its symbols"""


BY_FUNCTION = ""
"""In the place of a path: breakpoints on functions, which may be in any file."""


@dataclass
class DebuggerBreakpoint:
    """A breakpoint as a debugger needs it; `number` is the session's own."""

    number: int
    path: str
    """of a function: the only file in which it counts, or nothing"""
    line: int
    condition: str | None = None
    hit_condition: str | None = None
    log: list[Any] | None = None
    """texts, and expressions as [expression, conversion, parts of the format]"""
    hits: int = 0
    function: str | None = None

    @property
    def is_plain(self) -> bool:
        return not (self.condition or self.hit_condition or self.log or self.function)


@dataclass(frozen=True)
class DataBreakpoint:
    """Stops when a value changes or is looked at; `number` is the session's own."""

    number: int
    expression: str
    access: str = "write"
    """write, read or readWrite"""
    condition: str | None = None
    hit_condition: str | None = None


Groups = dict[str, list[DebuggerBreakpoint]]
"""breakpoints by file, those on functions under BY_FUNCTION"""


@dataclass(frozen=True)
class ExceptionRule:
    """On which exceptions to stop; `number` is the session's own."""

    number: int
    filters: tuple[str, ...]
    """raised, uncaught, user_unhandled, test_failure"""
    exceptions: tuple[str, ...] = ()
    """names of classes, which mean their subclasses too; none: all of them"""
    condition: str | None = None


@dataclass(frozen=True)
class Bound:
    """What the debugger made of a breakpoint."""

    verified: bool
    line: int | None = None
    message: str | None = None
    places: tuple[dict[str, Any], ...] = ()
    """of a function: path and line of each place where it stops"""
    bad_condition: str | None = None
    """why its condition cannot be evaluated there: it stops each time"""


@dataclass
class StopEvent:
    reason: str
    thread_id: int
    all_threads_stopped: bool = True
    hit_numbers: list[int] = field(default_factory=list)
    number: int = 0
    """in the order in which the program reported its stops"""
    after: int = 0
    """serial of the last Go that came before it"""
    data_hit: dict[str, Any] | None = None
    """number of the data breakpoint, and as text the old and the new value if it was changed"""
    note: str | None = None
    """what else the debugger says about it"""
    is_blocked: bool = False
    """the thread is inside a call that has not returned: it halts when it does, which is another stop"""


@dataclass(frozen=True)
class Go:
    """How threads are let go: what the session knew when it did."""

    known: int
    """number of the last stop it has seen: threads that stopped later stay where they are"""
    serial: int = 0
    alone: bool = False
    """only the thread that is named"""
    keep: tuple[int, ...] = ()
    """threads that stay halted, at stops that were not looked at yet"""


UNTOLD = frozenset({"capabilities", "continued", "output", "breakpoint", "loadedSource", "telemetry"})
"""Events of debuggers that a session does not pass on: it says such things itself, or nobody needs them."""

Asked = Future[Any]
"""a request that is on its way"""
Frames = list[dict[str, Any]]
"""as DAP describes them, the innermost first"""


@dataclass(frozen=True)
class StackPage:
    frames: Frames
    total: int
    """how many the stack has, as far as is known"""
    is_counted: bool
    """it has no more than these"""


class Arrival(Protocol):
    """A child of the program whose debugger has called: it waits to be welcomed or let go."""

    known: dict[str, Any]
    """what is known of it before it has said anything"""

    async def introduce(self) -> dict[str, Any]:
        """What it is: pid, ppid, and what it runs."""

    def let_go(self) -> None:
        """It runs on without a debugger."""


class Listener(Protocol):
    """The session, as its debugger sees it."""

    def on_stopped(self, event: StopEvent) -> None: ...
    def on_output(self, category: str, data: bytes) -> None: ...
    def on_thread(self, reason: str, thread_id: int) -> None: ...
    def on_module(self, reason: str, module: dict[str, Any]) -> None: ...
    def on_event(self, name: str, body: dict[str, Any]) -> None: ...
    def on_log(self, number: int, text: str) -> None: ...
    def on_bound(self, number: int, bound: Bound) -> None: ...
    def on_rebound(self, number: int, bound: Bound) -> None:
        """Told as an event: what became of a breakpoint when a library or a function was loaded."""

    def on_hits(self, hits: dict[int, int]) -> None: ...
    def on_data_gone(self, number: int, why: str) -> None: ...
    def on_spawned(self, notice: dict[str, Any]) -> None: ...
    def on_child(self, arrival: Arrival) -> None: ...
    def on_exec(self, program: dict[str, Any]) -> None:
        """The same process runs another program now."""

    def is_expecting(self) -> bool: ...
    def on_process(self, pid: int) -> None: ...
    def on_condition_error(self, number: int, error: str, of_exception: bool) -> None: ...
    def on_exit(self, status: ExitStatus | None) -> None: ...
    def on_lost(self, reason: str) -> None: ...


class Debugger(Protocol):
    """One debugger of one program. Every method that asks the debugger something raises RelayError when it fails."""

    name: str
    pid: int | None
    warnings: list[str]
    """what whoever debugs the program should know about it"""
    busy: str
    """why a pause may take its time"""
    is_undebugged: bool
    """whether no debugger of ours is at the program: what needs one is refused"""

    def refusal(self, capability: str) -> RelayError: ...

    @property
    def capabilities(self) -> frozenset[str]:
        """What it offers of what not every debugger does: see `offered.METHODS`."""

    def describe_target(self) -> dict[str, Any]: ...
    @property
    def stdin(self) -> Stdin | None: ...

    async def check_interpreter(self, path: str) -> None: ...
    def use_interpreter(self, path: str) -> None: ...
    async def check_launch(self, spec: LaunchSpec) -> None: ...
    async def join(
        self,
        arrival: Any,
        pid: int,
        breakpoints: Groups,
        stop_on: list[ExceptionRule],
        just_my_code: bool,
        stop_scope: str,
        environment: dict[str, str],
    ) -> None: ...
    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None: ...
    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None: ...
    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]: ...
    async def set_exceptions(self, rules: list[ExceptionRule]) -> None: ...
    async def hits(self) -> dict[int, int]: ...
    async def loaded(self, paths: list[str]) -> dict[str, Any]: ...

    async def resume(self, thread_id: int, go: Go | None = None) -> None: ...
    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None: ...
    async def pause(self, thread_id: int | None) -> None: ...

    async def speak_for_blocked(self, thread_id: int | None) -> None:
        """Now and then while a pause is not answered: threads that are blocked in a call are told as stopped there."""

    @property
    def program_pid(self) -> int | None: ...
    def held_by_another(self) -> str | None:
        """Says so if another debugger has halted the program, which this one needs to run."""
    async def own_threads(self) -> list[int]: ...
    async def step_targets(self, frame: int) -> dict[str, Any]: ...
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

    async def threads(self) -> list[dict[str, Any]]:
        """id, name, halted (it waits for us), marked (it halts at its next line) and top (frame)"""
        ...

    async def look(self, thread_id: int) -> Frames:
        """The stack of a thread that may be running: frames without ids."""
        ...

    async def tasks(self, start: int, count: int) -> dict[str, Any]: ...
    async def task_stack(self, task_id: int) -> tuple[int | None, Frames]:
        """The thread of its event loop, and its frames, the innermost first."""
        ...

    async def locks(self) -> dict[str, Any]: ...
    def ask_stack(self, thread_id: int) -> Asked: ...
    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames: ...
    async def stack_page(self, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
        """Some frames of a stack, of which `frames` has all or, if it is very deep, the beginning."""
        ...

    async def scopes(self, frame: int) -> list[dict[str, Any]]: ...
    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]: ...
    async def locals(self, frame: int, page: dict[str, Any]) -> dict[str, Any]: ...
    async def report(self, frame: int, budget: int, names: int, **more: Any) -> dict[str, Any]: ...
    async def evaluate(
        self, frame: int, expression: str, context: str, limit: int, timeout: float
    ) -> dict[str, Any]: ...
    async def exception(self, frame: int) -> dict[str, Any] | None: ...
    async def explain_exception(self, frame: int) -> dict[str, Any] | None: ...
    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[dict[str, Any]]: ...
    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]: ...
    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]: ...
    async def complete(self, frame: int, text: str, column: int | None) -> dict[str, Any]: ...
    async def hover(self, frame: int, limit: int, timeout: float, **what: Any) -> dict[str, Any]: ...
    async def frame_source(self, frame: int) -> dict[str, Any]: ...
    async def file_source(self, path: str) -> dict[str, Any]: ...
    async def modules(self, offset: int, limit: int, filter: str | None) -> dict[str, Any]: ...
    async def has_module(self, path: str) -> bool: ...

    async def read_memory(self, address: str, offset: int, count: int) -> dict[str, Any]:
        """`address` (hexadecimal), `data` (bytes, as far as they can be read) and `unreadable` (how many cannot)"""
        ...

    async def address_of(self, frame: int, expression: str) -> str:
        """Where a pointer or an array points to; of anything else, where it is."""
        ...

    async def instruction(self, frame: int) -> str:
        """The address at which a frame is."""
        ...

    async def write_memory(self, address: str, offset: int, data: bytes | bytearray) -> dict[str, Any]: ...
    async def disassemble(self, address: str, offset: int, count: int) -> list[dict[str, Any]]:
        """Instructions: address, bytes, text and, where known, symbol, path and line; `offset` counts them too."""
        ...

    async def set_data_breakpoints(self, frame: int | None, wanted: list[DataBreakpoint]) -> list[Bound]:
        """All that there are to be; new ones are expressions of that frame."""
        ...

    async def record(self, enabled: bool) -> dict[str, Any]: ...
    async def reverse(self, kind: str, thread_id: int, go: Go | None = None) -> None:
        """Backwards, as far as it was recorded: stepBack or reverseContinue."""
        ...

    def check_expression(self, text: str) -> Any: ...
    def has_side_effects(self, text: str) -> bool: ...

    def settle(self) -> None: ...
    async def detach(self) -> None: ...
    async def terminate(self, grace: float) -> None: ...
    async def end(self, grace: float) -> None: ...


class Adapter(Debugger, Protocol):
    """A debugger that knows a language, too: what files in it say, before there is a program."""

    async def examine(self, path: str) -> dict[str, Any]: ...
    async def find_function(self, path: str, name: str) -> list[int]: ...
