"""`make bench ARGS=speed`: how fast programs run under the relay, times plain Python, beside other debuggers."""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from bench.figures import Target
from bench.relay import RelayProcess
from bench.speed import table
from bench.speed.interpreters import PythonUnderTest, find_pythons, install_packages, is_installed, packages_folder
from bench.speed.measure import QUICK, RIVALS, Cell, SpeedBench, SpeedPlan, say
from bench.speed.modes import MODES
from bench.speed.places import EACH

BESIDE = ("3.11", "3.13")
"""Pythons on which the other debuggers are measured too, one of each kind: they take most of the time."""


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--program", nargs="+", choices=EACH, help="only these programs")
    parser.add_argument("--mode", nargs="+", choices=MODES, help="only these modes")
    parser.add_argument("--python", nargs="+", help="only these versions, such as 3.11")
    parser.add_argument("--rival", nargs="*", choices=RIVALS, help="only these debuggers beside the relay")
    parser.add_argument("--clock", choices=("wall", "cpu"), help="cpu: for a machine that does other work as well")
    parser.add_argument("--rounds", type=int, help="how often everything is run")
    parser.add_argument("--size", type=float, help="of the work: 0.1 for what is slow")


def is_complete(options: argparse.Namespace) -> bool:
    """Tell whether nothing was left out, so that the figures may be kept."""
    given = (options.program, options.mode, options.python, options.rival, options.clock, options.rounds, options.size)
    return not options.quick and all(option is None for option in given)


def run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        relay = RelayProcess(Path(folder))
        try:
            relay.wait()
            cells = measure(relay.port, options)
        finally:
            relay.stop()
    met = table.targets(cells)
    text = table.markdown(cells, clock(options), met)
    print(text)
    if options.output is not None:
        keep(options.output, text, cells, met)
    return 1 if options.strict and not all(target.passed for target in met) else 0


def measure(port: int, options: argparse.Namespace) -> list[Cell]:
    bench = SpeedBench(port, plan(options), say)
    programs = [EACH[name] for name in options.program or EACH]
    modes = [MODES[name] for name in options.mode or MODES]
    pythons = find_pythons()
    for python in options.python or pythons:
        beside = RIVALS if python in BESIDE or options.python else {}
        rivals = list(beside if options.rival is None else options.rival)
        packages = packages_folder(python)
        if not is_installed(packages):
            if options.quick:
                programs, rivals = [program for program in programs if not program.package_file], []
            elif rivals or any(program.package_file for program in programs):
                install_packages(packages, pythons[python])
        bench.measure(PythonUnderTest(python, pythons[python], packages), programs, modes, rivals)
    return bench.cells


def plan(options: argparse.Namespace) -> SpeedPlan:
    given = {name: getattr(options, name) for name in ("clock", "rounds", "size") if getattr(options, name) is not None}
    return replace(QUICK if options.quick else SpeedPlan(), **given)


def clock(options: argparse.Namespace) -> str:
    return plan(options).clock


def keep(folder: Path, text: str, cells: list[Cell], met: list[Target]) -> None:
    """Write the figures beside those of the other parts, which stay."""
    page, figures = folder / "results.md", folder / "results.json"
    before = page.read_text(encoding="utf-8").partition(table.HEADING)[0].rstrip() if page.exists() else "# Benchmark"
    page.write_text(f"{before}\n\n{text}\n", encoding="utf-8")
    found = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
    found["speed"] = {"cells": table.to_rows(cells), "targets": [asdict(target) for target in met]}
    figures.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
