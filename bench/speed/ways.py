"""How a program is run: plainly, under the relay, and under the debuggers that it is compared with."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.processes import end
from bench.raw import StockAdapter, Wire
from bench.relay import Client
from bench.speed.modes import Breakpoint

PATIENCE = 300.0
POLL = 0.02


@dataclass(frozen=True)
class Run:
    """One program to be run once: `arguments` are those of the program."""

    python: str
    script: Path
    arguments: list[str]
    environment: dict[str, str]
    folder: Path
    breakpoint: Breakpoint | None

    @property
    def command(self) -> list[str]:
        return [self.python, str(self.script), *self.arguments]

    @property
    def result(self) -> Path:
        return Path(self.arguments[0])


class Way(Protocol):
    def run(self, run: Run) -> None:
        """Return when the program has ended; its result is in its file."""


class Plain:
    """The program alone."""

    def run(self, run: Run) -> None:
        subprocess.run(run.command, **_surroundings(run), check=True, timeout=PATIENCE)


class Pdb:
    """`python -m pdb`, told on its stdin."""

    def run(self, run: Run) -> None:
        command = [run.python, "-m", "pdb", str(run.script), *run.arguments]
        told = "\n".join([*self._commands(run.breakpoint), "continue", "quit", ""])
        options = {**_surroundings(run), "stdin": subprocess.PIPE}
        process = subprocess.Popen(command, **options, start_new_session=True)
        try:
            process.communicate(told.encode(), PATIENCE)
        finally:
            end(process, [])

    def _commands(self, wanted: Breakpoint | None) -> list[str]:
        if wanted is None:
            return []
        place = f"break {wanted.path}:{wanted.line}"
        commands = [f"{place}, {wanted.condition}" if wanted.condition else place]
        if wanted.hits:
            commands.append(f"ignore 1 {wanted.hits}")
        if wanted.logged:
            commands += ["commands 1", "silent", f"p {wanted.logged.strip('{}')}", "continue"]
        return commands


class Stock:
    """`debugpy.adapter` of the program's own interpreter, as editors start it."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def run(self, run: Run) -> None:
        adapter = StockAdapter(run.python, run.environment, PATIENCE)
        wire = adapter.wire
        try:
            launch: dict[str, Any] = {"program": str(run.script), "args": run.arguments, "cwd": str(run.folder)}
            launch |= {"python": run.python, "console": "internalConsole", "env": run.environment, **self._options}
            launched = wire.send("launch", launch)
            wire.event("initialized")
            self._set_breakpoint(wire, run.breakpoint)
            wire.request("setExceptionBreakpoints", {"filters": ["uncaught"]})
            wire.request("configurationDone")
            wire.answer(launched)
            wire.event("terminated")
        finally:
            adapter.close()

    def _set_breakpoint(self, wire: Wire, wanted: Breakpoint | None) -> None:
        if wanted is None:
            return
        if wanted.function:
            wire.request("setFunctionBreakpoints", {"breakpoints": [{"name": wanted.function}]})
            return
        asked: dict[str, Any] = {"line": wanted.line}
        asked |= {"condition": wanted.condition} if wanted.condition else {}
        asked |= {"hitCondition": str(wanted.hits)} if wanted.hits else {}
        asked |= {"logMessage": wanted.logged} if wanted.logged else {}
        wire.request("setBreakpoints", {"source": {"path": str(wanted.path)}, "breakpoints": [asked]})


STOCK = Stock({"justMyCode": False})
VS_CODE = Stock({"justMyCode": True, "showReturnValue": True, "subProcess": True})
"""What the Python extension of VS Code sends if launch.json says nothing else."""


class Relay:
    """`POST /run` of a relay, with whatever else the launch is to have."""

    def __init__(self, port: int, **launch: Any) -> None:
        self._port = port
        self._launch = launch

    def run(self, run: Run) -> None:
        client = Client(self._port)
        asked = {"script": str(run.script), "args": run.arguments, "env": run.environment, "cwd": str(run.folder)}
        asked |= self._launch
        found = client.call(
            "POST", "/run", {**asked, "python_path": run.python, "wait": 1, "breakpoints": spelled(run.breakpoint)}
        )
        session = found["session_id"]
        try:
            deadline = time.monotonic() + PATIENCE
            while (status := client.call("GET", f"/sessions/{session}/status")["status"]) == "running":
                if time.monotonic() > deadline:
                    raise TimeoutError("the program under the relay does not end")
                time.sleep(POLL)
            if status == "paused":
                raise RuntimeError(f"a breakpoint stopped the program that never should: {run.breakpoint}")
        finally:
            client.call("DELETE", f"/sessions/{session}?force=true")
            client.close()


def spelled(wanted: Breakpoint | None) -> list[str]:
    if wanted is None:
        return []
    text = f"{wanted.path}:{wanted.function or wanted.line}"
    text += f" if {wanted.condition}" if wanted.condition else ""
    text += f" hits =={wanted.hits}" if wanted.hits else ""
    return [text + (f" log {wanted.logged}" if wanted.logged else "")]


def _surroundings(run: Run) -> dict[str, Any]:
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    return {"cwd": run.folder, "env": {**os.environ, **run.environment}, **quiet}


