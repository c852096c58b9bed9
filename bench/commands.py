"""`ocdb` as an agent or a person types it: each command a process of its own, with the relay running already."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from bench.measure import Plan, Samples, clock
from bench.relay import PATIENCE, RelayProcess
from bench.target import BREAK, EXPRESSION, PROGRAM

START = "run to the first stop"
COMMANDS = {"next": ["next"], "print": ["print", EXPRESSION], "stack": ["stack"]}
WAY = "ocdb"


def measure(relay: RelayProcess, folder: Path, plan: Plan) -> Samples:
    samples: Samples = {row: defaultdict(list) for row in (START, *COMMANDS)}
    for number in range(plan.launches + 1):
        start = ["run", "-b", f"{PROGRAM}:{BREAK}", "--python", sys.executable, PROGRAM]
        took = clock(lambda start=start: _run(relay, folder, start))  # type: ignore[misc]
        if number:  # the first one finds nothing in the caches
            samples[START][WAY].append(took)
        for row, words in COMMANDS.items():
            taken = [clock(lambda words=words: _run(relay, folder, words)) for _ in range(plan.rounds)]  # type: ignore[misc]
            samples[row][WAY] += taken
        _run(relay, folder, ["end"])
    return samples


def _run(relay: RelayProcess, folder: Path, words: list[str]) -> None:
    command = [str(Path(sys.executable).with_name("ocdb")), *words]
    environment = {**os.environ, **relay.client_environment}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr or done.stdout}")
