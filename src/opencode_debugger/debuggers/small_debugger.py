"""Parts of a debugger that begins small: it runs a file and stops in it; what else there is to ask is refused clearly.

A subclass of each has what the debugger can do: see docs/debuggers.md."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Never

from ..errors import RelayError
from ..files import read_source
from . import optional_features
from . import rows as row_types
from .optional_features import BUSY, NoMemory, NoRecording, NoTasksAndLocks
from .process.standard_input import Stdin
from .shapes import Asked, AttachSpec, ExceptionRule, Frames, Groups, LaunchSpec, StackPage
from .value_rows import page_of, within

Cannot = Callable[[str, str], RelayError]
"""makes the error for what a debugger cannot do, with advice on what to do instead"""

MAIN_THREAD = 1
FIRST_SCOPE = 1_000_000
"""References of scopes begin here: each is that of a frame, by its id."""
UNCAUGHT = ("uncaught",)
SHOW_VARIABLES = "Look at variables with {frame_variables frame_id=0}"
RESTART = "Change the program's source and run it again with {restart}"


REFUSED: dict[str, tuple[str, str]] = {
    **optional_features.ABSENT,
    "pause": ("pause a program", "Set a breakpoint where it is to stop"),
    "set_out": ("take more than one step at a time", "Step once, or set a breakpoint and continue"),
    "visit": ("run to a line", "Set a breakpoint there and continue"),
    "look": ("show the stack of a running thread", "Wait until it stops"),
    "evaluate": ("evaluate expressions", SHOW_VARIABLES),
    "set_variable": ("set variables", RESTART),
    "set_expression": ("set variables", RESTART),
    "complete": ("complete names", SHOW_VARIABLES),
    "hover": ("look up names", SHOW_VARIABLES),
}
"""Methods of parts that a subclass may have, with what a debugger cannot do that has them not, and advice."""


class SmallPart:
    def __init__(self, cannot: Cannot) -> None:
        self._cannot = cannot

    def __getattr__(self, name: str) -> Never:
        if name not in REFUSED:
            raise AttributeError(name)
        raise self._cannot(*REFUSED[name])


class SmallControl(SmallPart):
    async def speak_for_blocked(self, thread_id: int | None) -> None:
        """Do nothing: no thread is blocked."""

    async def journey(self, token: int, end: bool = False) -> row_types.JourneyRow:
        return {}

    async def leave(self, path: str, line: int) -> None:
        """Do nothing: no line was visited."""


class SmallBreakpoints(SmallPart):
    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        if any(rule.filters != UNCAUGHT for rule in rules):
            raise self._cannot("stop on exceptions", "Set a breakpoint on the line that fails")

    async def hits(self) -> dict[int, int]:
        return {}


class SmallInspection(SmallPart):
    """Shows the stack of a program with one thread, and the variables of its frames; it evaluates nothing.

    A subclass tells `is_halted`, `frames` (each with an id of its own) and `rows`."""

    def is_halted(self) -> bool:
        raise NotImplementedError

    def frames(self) -> Frames:
        raise NotImplementedError

    def rows(self, frame: int) -> list[row_types.VariableRow]:
        raise NotImplementedError

    async def threads(self) -> list[row_types.ThreadRow]:
        halted = self.is_halted()
        top = next(iter(self.frames()), None) if halted else None
        return [{"id": MAIN_THREAD, "name": "main", "halted": halted, "marked": halted, "top": top}]

    async def own_threads(self) -> list[int]:
        return []

    def ask_stack(self, thread_id: int) -> Asked:
        asked: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        asked.set_result(self.frames())
        return asked

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        return self.frames()

    async def stack_page(self, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
        return StackPage(frames[start : start + levels], len(frames), True)

    async def scopes(self, frame: int) -> list[row_types.ScopeRow]:
        count, reference = len(self.rows(frame)), FIRST_SCOPE + frame
        more: row_types.ScopeRow = {"named_variables": count, "indexed_variables": 0, "expensive": False}
        return [{"name": "Locals", "presentation_hint": "locals", "variables_reference": reference, **more}]

    async def children(self, frame: int, reference: int, page: row_types.PageWish) -> row_types.VariablePage:
        if reference - FIRST_SCOPE not in [each["id"] for each in self.frames()]:
            return {"missing": True}
        return {"variables_reference": reference, **await self.locals(reference - FIRST_SCOPE, page)}

    async def locals(self, frame: int, page: row_types.PageWish) -> row_types.VariablePage:
        return page_of(self.rows(frame), page)

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> row_types.StopRow:
        rows = self.rows(frame)
        shown = within(rows[:names], budget)
        answer: row_types.StopRow = {"variables": shown, "omitted": len(rows) - len(shown), "left": None}
        answer |= {"returned": [], "return_value": []}
        if more.get("watched"):
            answer["watches"] = await self.watch(frame, more["watched"], budget)
        return answer

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[row_types.WatchRow]:
        return [{"error": "the debugger evaluates no expressions"} for _ in expressions]

    async def exception(self, frame: int) -> row_types.ExceptionRow | None:
        return None

    async def explain_exception(self, frame: int) -> row_types.ExceptionRow | None:
        return None

    def check_expression(self, text: str) -> None:
        """Accept any: it has no expressions."""

    def has_side_effects(self, text: str) -> bool:
        return True


class FilesOnly:
    """Sources of debuggers that have nothing but the files, and do not say which version of one was loaded."""

    async def frame_source(self, frame: int) -> row_types.SourceText:
        return {"lines": None}

    async def file_source(self, path: str) -> row_types.SourceText:
        return {"lines": None}

    async def loaded(self, paths: list[str]) -> dict[str, list[Any]]:
        return {}


class SmallSources(FilesOnly):
    async def modules(self, offset: int, limit: int, filter: str | None) -> row_types.ModulePage:
        return {"modules": [], "total": 0, "has_more": False}

    async def has_module(self, path: str) -> bool:
        return False


class SmallDebugger:
    """The life of a program that is launched; a subclass has launch and terminate, and makes the parts."""

    is_undebugged = False
    busy = BUSY

    def __init__(self, name: str) -> None:
        self.name = name
        self.pid: int | None = None
        self.warnings: list[str] = []
        self.sources = SmallSources()
        self.tasks_and_locks = NoTasksAndLocks(self.refusal)
        self.memory = NoMemory(self.refusal)
        self.recording = NoRecording(self.refusal)

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset()

    def refusal(self, capability: str) -> RelayError:
        return optional_features.refusal(self.name, capability)

    def cannot(self, what: str, instead: str) -> RelayError:
        return optional_features.cannot(self.name, what, instead)

    # Files in its language.

    async def examine(self, path: str) -> row_types.FileRow:
        """List the lines that may have code: all that are not blank."""
        lines = read_source(path).splitlines()
        code = [number for number, line in enumerate(lines, 1) if line.strip()]
        return {"max_line": len(lines), "error": None, "code_lines": code, "definitions": {}, "is_certain": False}

    async def find_function(self, path: str, name: str) -> list[int]:
        return []

    # The life of a program.

    async def check_interpreter(self, path: str) -> None:
        """Accept any: programs of this debugger have none."""

    def use_interpreter(self, path: str) -> None: ...

    async def check_launch(self, spec: LaunchSpec) -> None:
        optional_features.refuse_options(spec, f"this debugger ({self.name})")

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        raise NotImplementedError

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        raise self.cannot("attach to programs that run already", "Launch the program with {launch}")

    async def join(self, *_: Any) -> None:
        raise self.cannot("debug the children of a program", "Launch without debug_subprocesses")

    def describe_target(self) -> row_types.ProgramRow:
        return {}

    @property
    def stdin(self) -> Stdin | None:
        return None

    @property
    def program_pid(self) -> int | None:
        return self.pid

    def held_by_another(self) -> str | None:
        return None

    def drain(self) -> None:
        """Do nothing: all that the program wrote has been told."""

    def settle(self) -> None:
        """Do nothing: children are not debugged."""

    async def detach(self) -> None:
        raise self.cannot("let go of a program", "End it with {terminate}")

    async def terminate(self, grace: float) -> None:
        raise NotImplementedError

    async def end(self, grace: float) -> None:
        await self.terminate(grace)
