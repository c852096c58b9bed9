"""The debugger as an IDE has it: the EZ protocol on stdin and stdout, from starting the process on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import STEP, Plan, Samples, clock
from bench.native import SOURCE, compiled, line_of
from bench.processes import end, family
from bench.target import BREAK, PROGRAM

FIRST_EVENT = "start to first event"
FIRST_STOP = "start to first stop"
VARIABLES = "step, then its variables"


class Ide:
    """Starts the debugger and asks at once, as IDEs do."""

    def __init__(self, program: str, source: str, line: int) -> None:
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "opencode_debugger", "debugserver", program],
            env={**os.environ, "OPENCODE_DEBUG_DEFAULT_PYTHON_PATH": sys.executable},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._send("initialize", file=program)
        self._send("setBreakpoint", file=source, line=line)
        self._send("start")
        self._source, self._line = source, line

    def _send(self, command: str, **params: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(
            msgspec.json.encode({"type": "command", "command": command, "params": params}) + b"\n"
        )
        self._process.stdin.flush()

    def _until(self, name: str) -> None:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            event = msgspec.json.decode(line)
            assert event["event"] != "error", event
            if event["event"] == name:
                return
        raise RuntimeError(f"it ended before {name}")

    def first_event(self) -> float:
        self._until("initialized")
        return (time.perf_counter() - self._started) * 1000

    def first_stop(self) -> float:
        self._until("stopped")
        return (time.perf_counter() - self._started) * 1000

    def clear(self) -> None:
        self._send("clearBreakpoint", file=self._source, line=self._line)
        self._until("breakpointCleared")

    def step(self) -> None:
        self._send("stepOver")
        self._until("stopped")

    def step_variables(self) -> None:
        self.step()
        self._send("getVariables", frameIndex=0)
        self._until("variables")

    def close(self) -> None:
        others = family(self._process.pid)
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        end(self._process, others, patience=5)
        self._process.stdout.close()


def measure(folder: Path, plan: Plan) -> Samples:
    programs = {"python": (PROGRAM, PROGRAM, BREAK), "native": (str(compiled(folder)), str(SOURCE), line_of("here"))}
    samples: Samples = defaultdict(lambda: defaultdict(list))
    for way, program in programs.items():
        for number in range(plan.launches + 1):
            ide = Ide(*program)
            try:
                first, stop = ide.first_event(), ide.first_stop()
                if number:  # the first one finds nothing in the caches
                    samples[FIRST_EVENT][way].append(first)
                    samples[FIRST_STOP][way].append(stop)
                if number == plan.launches:
                    _steps(ide, way, plan, samples)
            finally:
                ide.close()
    return samples


def _steps(ide: Ide, way: str, plan: Plan, samples: Samples) -> None:
    ide.clear()
    for _ in range(plan.warm_up):
        ide.step_variables()
    for _ in range(plan.rounds):
        for row, work in ((STEP, ide.step), (VARIABLES, ide.step_variables)):
            samples[row][way] += [clock(work) for _ in range(plan.samples["relay"])]
