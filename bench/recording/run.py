"""`make bench ARGS=recording`: how long questions to a recording take, and how fast programs run while they are
recorded, times plain Python, beside viztracer."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.recording import questions
from bench.relay import RelayProcess
from bench.speed import ways
from bench.speed.interpreters import PythonUnderTest, find_pythons, install_packages, is_installed, packages_folder
from bench.speed.measure import ProgramRuns, SpeedPlan, say
from bench.speed.places import EACH, Program

PYTHONS = ("3.11", "3.12", "3.13")
PROGRAMS = {"texts": 1.3, "tasks": 1.3, "server": 1.3, "package_tests": 1.3, "richards": 3.0, "fib": 6.0}
"""and how many times plain Python they may take on 3.12 and newer"""
RECORDED, COMPLETE, VIZTRACER = "recorded", "complete", "viztracer"
ROUNDS = 3


class Viztracer:
    """`viztracer` with arguments and results, its usual buffer, and no report."""

    def __init__(self, packages: Path, folder: Path) -> None:
        self._packages = packages
        self._folder = folder

    def run(self, run: ways.Run) -> None:
        options = ["--log_func_args", "--log_func_retval", "--quiet", "-o", str(self._folder / "trace.json")]
        command = [run.python, "-m", "viztracer", *options, "--", str(run.script), *run.arguments]
        found = os.pathsep.join((run.environment["PYTHONPATH"], str(self._packages)))
        environment = {**os.environ, **run.environment, "PYTHONPATH": found}
        subprocess.run(command, cwd=run.folder, env=environment, check=True, capture_output=True, timeout=ways.PATIENCE)


def install_viztracer(python: str, version: str) -> Path:
    """Return the folder of packages with it; without, if it cannot be installed."""
    folder = packages_folder(f"{version}-viztracer")
    if not is_installed(folder):
        command = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--root-user-action=ignore"]
        found = subprocess.run([*command, "--target", str(folder), "viztracer"], check=False)
        if found.returncode == 0:
            (folder / ".installed").touch()
    return folder


@dataclass
class RecordedCell:
    """What one program took on one Python in one way, and plainly beside it."""

    program: str
    python: str
    way: str
    best: float = float("inf")
    plain: float = float("inf")
    failure: str = ""

    @property
    def ratio(self) -> float:
        return self.best / self.plain


def run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        relay = RelayProcess(Path(folder))
        try:
            relay.wait()
            asked = questions.ask(relay, options.quick)
            print(asked.markdown(), flush=True)
            cells = list(measure(relay.port, Path(folder), options))
        finally:
            relay.stop()
    print(markdown(cells))
    recorded = [cell for cell in cells if cell.way == RECORDED and cell.python > "3.11"]
    is_slow = any(cell.ratio > PROGRAMS.get(cell.program, float("inf")) for cell in recorded)
    is_slow = is_slow or not all(each.is_quick for each in asked.questions)
    return 1 if options.strict and is_slow else 0


def measure(port: int, folder: Path, options: argparse.Namespace) -> Iterator[RecordedCell]:
    # One repetition: a later one of the same run would have functions that rest in it.
    plan = SpeedPlan(repeats=1, size=options.size or (0.1 if options.quick else 3.0), clock=options.clock or "cpu")
    pythons = find_pythons()
    for version in options.python or [each for each in PYTHONS if each in pythons]:
        python = PythonUnderTest(version, pythons[version], packages_folder(version))
        viztracer = install_viztracer(python.path, version)
        for program in _programs(python, options):
            say(f"{program.name} on Python {version} …")
            runs = ProgramRuns(program, python, folder, plan)
            scope = _own_folders(program, python)
            found: dict[str, ways.Way] = {
                RECORDED: ways.Relay(port, record={"scope": scope}),
                COMPLETE: ways.Relay(port, record={"scope": scope, "complete": True}),
                VIZTRACER: Viztracer(viztracer, folder),
            }
            cells = [RecordedCell(program.name, version, way) for way in found]
            for index in range(options.rounds or (1 if options.quick else ROUNDS)):
                plain = runs.run(ways.Plain(), None, plan.size)
                for cell in cells:
                    if cell.way == VIZTRACER and index > 0:
                        continue  # it takes minutes for tests
                    cell.plain = min(cell.plain, plain)
                    try:
                        cell.best = min(cell.best, runs.run(found[cell.way], None, plan.size))
                    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                        cell.failure = type(error).__name__
            yield from cells


def _programs(python: PythonUnderTest, options: argparse.Namespace) -> list[Program]:
    """Return what is to be run. Packages that it needs are installed; for a quick look those that are there must do."""
    programs = [EACH[name] for name in options.program or PROGRAMS]
    if is_installed(python.packages) or not any(each.package_file for each in programs):
        return programs
    if options.quick:
        return [each for each in programs if not each.package_file]
    install_packages(python.packages, python.path)
    return programs


def _own_folders(program: Program, python: PythonUnderTest) -> list[str]:
    """Return what is recorded where a package is tested: it alone, for pytest is usually among what is installed."""
    package, _, _ = program.package_file.partition("/")
    return [str(python.packages / package), str(program.script.parent)] if package else []


def markdown(cells: list[RecordedCell]) -> str:
    lines = ["## Recorded programs", "", "Times plain Python, in the same run.", ""]
    lines += [
        "| program | Python | recorded | every call | viztracer, with arguments | goal |",
        "|---|---|---|---|---|---|",
    ]
    for python, program in dict.fromkeys((cell.python, cell.program) for cell in cells):
        found = {cell.way: cell for cell in cells if (cell.python, cell.program) == (python, program)}
        shown = [_shown(found[way]) for way in (RECORDED, COMPLETE, VIZTRACER)]
        goal = f"{PROGRAMS.get(program, 0):g}" if python > "3.11" else ""
        lines.append(f"| {program} | {python} | {' | '.join(shown)} | {goal} |")
    return "\n".join(lines)


def _shown(cell: RecordedCell) -> str:
    return "–" if cell.best == float("inf") else f"{cell.ratio:.1f}"
