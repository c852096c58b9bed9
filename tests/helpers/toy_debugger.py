"""A debugger of a toy language, as a package brings one that is installed beside the relay.

The language has `let NAME NUMBER`, `add NAME NAME`, `print NAME`, `call SUB`, and subs from `sub NAME` to `return`;
what is behind # is a comment. Its programs run in the session's own process, line by line."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencode_debugger.debuggers.process.program_process import ExitStatus
from opencode_debugger.debuggers.protocols import Debugger, Listener
from opencode_debugger.debuggers.registry import DebuggerRecord, DebuggerSetup, Programs
from opencode_debugger.debuggers.shapes import (
    Bound,
    DebuggerBreakpoint,
    ExceptionRule,
    Frames,
    Go,
    Groups,
    LaunchSpec,
    StopEvent,
)
from opencode_debugger.debuggers.small_debugger import (
    MAIN_THREAD,
    SmallBreakpoints,
    SmallControl,
    SmallDebugger,
    SmallInspection,
)
from opencode_debugger.debuggers.value_rows import Row, row

NAME = "toy"


@dataclass
class Call:
    name: str
    line: int


@dataclass
class ToyProgram:
    """A program and where it is; `line` of the last call is the one that runs next."""

    path: str = ""
    lines: list[list[str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str) -> ToyProgram:
        lines = [line.partition("#")[0].split() for line in Path(path).read_text().splitlines()]
        program = cls(path, lines, [Call("main", 1)])
        program.skip_blank()
        return program

    def skip_blank(self) -> None:
        while self.calls and self.calls[-1].line <= len(self.lines) and not self.lines[self.calls[-1].line - 1]:
            self.calls[-1].line += 1
        if self.calls and self.calls[-1].line > len(self.lines):
            self.calls.clear()

    def run_line(self) -> str:
        """Run one line, and return what it prints."""
        word, *names = self.lines[self.calls[-1].line - 1]
        self.calls[-1].line += 1
        printed = ""
        if word == "let":
            self.values[names[0]] = int(names[1])
        elif word == "add":
            self.values[names[0]] += self.values[names[1]]
        elif word == "print":
            printed = f"{self.values[names[0]]}\n"
        elif word == "call":
            self.calls.append(Call(names[0], self.lines.index(["sub", names[0]]) + 2))
        elif word == "return":
            self.calls.pop()
        elif word == "end":
            self.calls.clear()
        self.skip_blank()
        return printed


class ToyBreakpoints(SmallBreakpoints):
    def __init__(self, debugger: ToyDebugger) -> None:
        super().__init__(debugger.cannot)
        self._files: dict[str, list[DebuggerBreakpoint]] = {}

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._files[os.path.realpath(path)] = [bp for bp in breakpoints if bp.is_plain]
        refused = Bound(False, None, f"{NAME} knows lines only")
        return [Bound(True, bp.line) if bp.is_plain else refused for bp in breakpoints]

    def numbers_at(self, path: str, line: int) -> list[int]:
        return [bp.number for bp in self._files.get(os.path.realpath(path), []) if bp.line == line]


class ToyControl(SmallControl):
    """Runs the program until it is to stop; there is nothing else to wait for."""

    def __init__(self, debugger: ToyDebugger, breakpoints: ToyBreakpoints, listener: Listener) -> None:
        super().__init__(debugger.cannot)
        self._breakpoints = breakpoints
        self._listener = listener
        self.program = ToyProgram()
        self.is_halted = False
        self._stops = 0

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        self.run_until("", len(self.program.calls), go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        self.run_until(kind, len(self.program.calls), go)

    def run_until(self, kind: str, depth: int, go: Go | None = None, is_start: bool = False) -> None:
        self.is_halted = False
        asyncio.get_running_loop().call_soon(self._run, kind, depth, go, is_start)

    def _run(self, kind: str, depth: int, go: Go | None, is_start: bool) -> None:
        program = self.program
        while program.calls:
            if not is_start:
                self._listener.on_output("stdout", program.run_line().encode())
            is_start = False
            numbers = self._breakpoints.numbers_at(program.path, program.calls[-1].line) if program.calls else []
            now = len(program.calls)
            has_stepped = now and kind and (kind == "stepIn" or now < depth or (kind == "next" and now == depth))
            if numbers or has_stepped:
                self._stop("breakpoint" if numbers else "step", numbers, go)
                return
        self._listener.on_exit(ExitStatus.of(0))

    def _stop(self, reason: str, numbers: list[int], go: Go | None) -> None:
        self.is_halted = True
        self._stops += 1
        serial = go.serial if go else 0
        self._listener.on_stopped(
            StopEvent(reason, MAIN_THREAD, hit_numbers=numbers, number=self._stops, after=serial)
        )


class ToyInspection(SmallInspection):
    def __init__(self, debugger: ToyDebugger, control: ToyControl) -> None:
        super().__init__(debugger.cannot)
        self._control = control

    def is_halted(self) -> bool:
        return self._control.is_halted

    def frames(self) -> Frames:
        program = self._control.program
        calls = [*program.calls[-1:], *(Call(each.name, each.line - 1) for each in reversed(program.calls[:-1]))]
        return [
            {"id": index, "name": call.name, "line": call.line, "column": 1, "source": {"path": program.path}}
            for index, call in enumerate(calls, 1)
        ]

    def rows(self, frame: int) -> list[Row]:
        return [row(name, str(value), "number") for name, value in self._control.program.values.items()]


class ToyDebugger(SmallDebugger):
    def __init__(self, setup: DebuggerSetup) -> None:
        super().__init__(NAME)
        self._listener = setup.listener
        self.breakpoints = ToyBreakpoints(self)
        self.control = ToyControl(self, self.breakpoints, setup.listener)
        self.inspection = ToyInspection(self, self.control)

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        self.control.program = ToyProgram.read(spec.target)
        for path, group in breakpoints.items():
            for bp, bound in zip(group, await self.breakpoints.set_breakpoints(path, group), strict=True):
                self._listener.on_bound(bp.number, bound)
        self.control.run_until("stepIn" if spec.stop_on_entry else "", 1, is_start=True)

    async def terminate(self, grace: float) -> None:
        if self.control.program.calls:
            self.control.program.calls.clear()
            self._listener.on_lost("terminated")


def make_toy(setup: DebuggerSetup) -> Debugger:
    return ToyDebugger(setup)


RECORD = DebuggerRecord(
    NAME, Programs.FILES, make_toy, languages=("toy",), suffixes=frozenset({".toy"}), package="toy-debugger"
)


def install(folder: Path, **records: Any) -> None:
    """Put this module into a folder as pip does with a package; other entry points may be named besides."""
    about = folder / "toy_debugger-2.0.dist-info"
    about.mkdir(parents=True)
    folder.joinpath("toy_debugger.py").write_text(Path(__file__).read_text())
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: toy-debugger\nVersion: 2.0\n")
    named = {NAME: "toy_debugger:RECORD", **records}
    lines = ["[opencode_debugger.debuggers]", *(f"{name} = {where}" for name, where in named.items())]
    about.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n")
