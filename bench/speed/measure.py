"""Which programs are run how often, in which order, and what that took."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.speed import ways
from bench.speed.interpreters import PythonUnderTest
from bench.speed.modes import MODES, Mode, hot
from bench.speed.places import PROGRAMS, Program

RELAY = "relay"
RIVALS: dict[str, ways.Way] = {"stock": ways.STOCK, "vscode": ways.VS_CODE, "pdb": ways.Pdb()}
COUNT = "import timing, {module} as program; print(timing.counted(lambda: program.work({size}), {path!r}, {line}))"


@dataclass(frozen=True)
class SpeedPlan:
    """How often and how long a program runs in each way."""

    rounds: int = 3
    repeats: int = 5
    seconds: float = 3.0
    """after which a program does not repeat its work any more"""
    size: float = 1.0
    rival_size: float = 0.1
    """of the work for debuggers that need seconds for what takes a hundredth of one"""
    clock: str = "wall"
    """`cpu` counts what the process computed, for machines that do other work as well"""


QUICK = SpeedPlan(rounds=1, repeats=1, size=0.05, rival_size=0.05, clock="cpu")


@dataclass
class Cell:
    """What one program took in one mode and way on one Python, and plainly beside it."""

    program: str
    mode: str
    way: str
    python: str
    size: float
    best: float = float("inf")
    plain: float = float("inf")
    hits: int = 0
    """of the log point"""
    failure: str = ""

    @property
    def ratio(self) -> float:
        return self.best / self.plain

    @property
    def microseconds_per_hit(self) -> float:
        return (self.best - self.plain) * 1e6 / max(1, self.hits)


@dataclass
class SpeedBench:
    """Runs programs of one Python after the other, each in turns in every way; rivals, which take long, once."""

    port: int
    plan: SpeedPlan
    say: Callable[[str], None]
    cells: list[Cell] = field(default_factory=list)

    def measure(
        self, python: PythonUnderTest, programs: Iterable[Program], modes: list[Mode], rivals: Iterable[str]
    ) -> None:
        by_way = {RELAY: ways.Relay(self.port), **{name: RIVALS[name] for name in rivals}}
        with tempfile.TemporaryDirectory(prefix="speed-") as folder:
            for program in programs:
                self.say(f"{program.name} on Python {python.version} …")
                runner = ProgramRuns(program, python, Path(folder), self.plan)
                cells = [
                    Cell(program.name, mode.name, way, python.version, self._size(mode, way))
                    for mode in modes
                    for way in by_way
                ]
                own = [cell for cell in cells if cell.way == RELAY]
                for place in range(self.plan.rounds):
                    self._round(runner, own if place else cells, by_way)
                self.cells += cells

    def _size(self, mode: Mode, way: str) -> float:
        return mode.size * (self.plan.size if way == RELAY else self.plan.rival_size)

    def _round(self, runner: ProgramRuns, cells: list[Cell], by_way: dict[str, ways.Way]) -> None:
        """Run the program plainly and in every way: a busy moment of the machine meets all of them."""
        plain: dict[float, float] = defaultdict(lambda: float("inf"))
        for size in sorted({cell.size for cell in cells}):
            plain[size] = runner.run(ways.Plain(), None, size)
        for cell in cells:
            if cell.failure:
                continue
            cell.plain = min(cell.plain, plain[cell.size])
            mode = MODES[cell.mode]
            try:
                taken = runner.run(by_way[cell.way], mode, cell.size)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                cell.failure = f"{type(error).__name__}: {error}"
                continue
            cell.best = min(cell.best, taken)
            if cell.mode == "log" and not cell.hits:
                cell.hits = runner.count_hits(cell.size)


@dataclass(frozen=True)
class ProgramRuns:
    """One program on one Python."""

    program: Program
    python: PythonUnderTest
    folder: Path
    plan: SpeedPlan

    def run(self, way: ways.Way, mode: Mode | None, size: float) -> float:
        """Return the seconds of its fastest repetition."""
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        arguments = [str(result), str(size), str(self.plan.repeats), str(self.plan.seconds)]
        wanted = mode.breakpoint(self.program, self.python.packages) if mode is not None else None
        script = self.program.script
        way.run(ways.Run(self.python.path, script, arguments, self._environment, self.folder, wanted))
        if not result.exists():
            raise RuntimeError("the program ended without a result")
        return float(min(json.loads(result.read_text())[self.plan.clock]))

    def count_hits(self, size: float) -> int:
        """Return how often the hot line is reached in one repetition."""
        place = hot(self.program, self.python.packages)
        code = COUNT.format(module=self.program.name, size=size, path=str(place.path), line=place.line)
        found = subprocess.run(
            [self.python.path, "-c", code], cwd=PROGRAMS, env=self._environment, check=True, capture_output=True
        )
        return int(found.stdout.split()[-1])

    @property
    def _environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.python.packages), "PYTHONDONTWRITEBYTECODE": "1"}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
