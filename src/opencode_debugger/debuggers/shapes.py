"""The data that a session and its debugger exchange: what to start, where to stop, and what became of it."""

from __future__ import annotations

from asyncio import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

if TYPE_CHECKING:
    from .rows import FrameRow


@dataclass(frozen=True)
class RecordingWish:
    """What of a Python program to record."""

    calls: bool = True
    """every call of its own code; else only of the functions whose lines are recorded"""
    lines: tuple[str, ...] = ()
    """functions whose lines are recorded as well, by the end of module and qualified name"""
    scope: tuple[str, ...] = ()
    """folders whose code is recorded; empty for all that is neither installed nor of Python itself"""
    limit_mb: int = 64
    complete: bool = False
    """record functions, too, that are called so often that this takes most of the time"""


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
    record: RecordingWish | None = None
    """what of a Python program to record from its first line on"""
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
    record: RecordingWish | None = None
    """what of a Python program to record from then on"""


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


class DataHit(TypedDict, total=False):
    number: int
    """of the data breakpoint"""
    old: str | None
    """as text, if it was changed"""
    new: str | None
    said: str
    """in the words of a debugger that does not tell them apart"""


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
    data_hit: DataHit | None = None
    note: str | None = None
    """what else the debugger says about it"""
    is_blocked: bool = False
    """the thread is inside a call that has not returned: it halts when it does, which is another stop"""
    stack: Asked | None = None
    """the answer to the question for its stack, if the debugger gave it together with the stop"""


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
Frames: TypeAlias = list["FrameRow"]
"""as DAP describes them, the innermost first"""


@dataclass(frozen=True)
class SyntaxErrorInfo:
    message: str
    offset: int | None
    """counted from 1 in the whole text"""


@dataclass(frozen=True)
class StackPage:
    frames: Frames
    total: int
    """how many the stack has, as far as is known"""
    is_counted: bool
    """it has no more than these"""
