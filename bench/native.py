"""A native step: the session and the relay against raw `gdb -i dap` and raw `lldb-dap`, on one program in one run.

The session alone shows what the wire to the debugger costs; the relay adds HTTP and its runner."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.measure import STEP, Plan, clock
from bench.processes import end, family
from bench.raw import Wire
from bench.relay import LOCATION, PATIENCE, Client
from opencode_debugger.debuggers import trusted_gdb

SOURCE = Path(__file__).with_name("program.c")
REPORT = "step with the full stop report"
CLIENT = {"clientID": "bench", "adapterID": "bench", "pathFormat": "path", "linesStartAt1": True}
LLDB = ("lldb-dap", "lldb-dap-19", "lldb-dap-22", "lldb-dap-21", "lldb-dap-20", "lldb-dap-18")

Samples = dict[str, dict[str, dict[str, list[float]]]]
"""Milliseconds by debugger, row and way."""


def compiled(folder: Path) -> Path:
    program = folder / "native"
    subprocess.run(["gcc", "-g", "-O0", "-o", program, SOURCE], check=True)
    return program


def line_of(marker: str) -> int:
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(lines, 1) if f"@{marker}" in text)


class Raw:
    """A debugger's own DAP on its pipes: the least that any client does for a step."""

    def __init__(self, command: list[str], environment: dict[str, str], program: Path) -> None:
        self._program = program
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self._out = self._process.stdout.fileno()
        self._wire = Wire(self._process.stdin.write, self._receive)
        self._thread = self._frame = 0

    def _receive(self) -> bytes:
        if not select.select([self._out], [], [], PATIENCE)[0]:
            raise TimeoutError("the debugger does not answer")
        return os.read(self._out, 65536)

    def launch(self) -> None:
        self._wire.request("initialize", CLIENT)
        launched = self._wire.send("launch", {"program": str(self._program)})
        self._wire.event("initialized")
        where = {"source": {"path": str(SOURCE)}, "breakpoints": [{"line": line_of("here")}]}
        self._wire.request("setBreakpoints", where)
        self._wire.request("configurationDone")
        self._wire.answer(launched)
        self._stopped()
        where["breakpoints"] = []
        self._wire.request("setBreakpoints", where)

    def _stopped(self) -> None:
        self._thread = self._wire.event("stopped")["threadId"]
        frames = self._wire.request("stackTrace", {"threadId": self._thread})["stackFrames"]
        self._frame = frames[0]["id"]

    def step(self) -> None:
        self._wire.request("next", {"threadId": self._thread})
        self._stopped()

    def step_report(self) -> None:
        self.step()
        for scope in self._wire.request("scopes", {"frameId": self._frame})["scopes"]:
            if scope.get("presentationHint") in ("locals", "arguments"):
                self._wire.request("variables", {"variablesReference": scope["variablesReference"]})

    def close(self) -> None:
        others = family(self._process.pid)
        with suppress(OSError, RuntimeError, TimeoutError):
            self._wire.request("disconnect", {"terminateDebuggee": True})
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        end(self._process, others, patience=5)
        self._process.stdout.close()


class Session:
    """The same through the relay."""

    def __init__(self, port: int, adapter: str, program: Path) -> None:
        self._client = Client(port)
        self._program = program
        self._path = "/sessions/" + self._client.call("POST", "/sessions", {"adapter": adapter})["session_id"]

    def launch(self) -> None:
        where = {"source": {"path": str(SOURCE)}, "line": line_of("here")}
        breakpoint = self._client.call("POST", f"{self._path}/breakpoints", where)["breakpoint_id"]
        self._check(
            self._client.call("POST", f"{self._path}/launch", {"program": str(self._program), "wait": PATIENCE})
        )
        self._client.call("DELETE", f"{self._path}/breakpoints/{breakpoint}")

    def _check(self, stop: dict[str, Any]) -> None:
        assert stop["status"] == "paused" and stop["current_location"]["line"], stop

    def step(self) -> None:
        self._check(self._client.call("POST", f"{self._path}/step-over", LOCATION))

    def step_report(self) -> None:
        stop = self._client.call("POST", f"{self._path}/step-over")
        assert stop["locals"] and stop["stack"] and stop["source"], stop

    def close(self) -> None:
        self._client.call("DELETE", f"{self._path}?force=true")
        self._client.close()


def alone(debugger: str, program: Path, plan: Plan) -> dict[str, list[float]]:
    """A session without the relay, in a process of its own."""
    place = [str(program), str(SOURCE), str(line_of("here"))]
    numbers = [str(plan.warm_up), str(plan.rounds * plan.samples["relay"])]
    command = [sys.executable, str(SOURCE.with_name("alone.py")), debugger, *place, *numbers]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=10 * PATIENCE).stdout
    return dict(zip((STEP, REPORT), json.loads(said), strict=True))


def commands() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Those that are on this machine."""
    gdb = trusted_gdb.find(None)
    found = {"gdb": ([*gdb.command, "-q", "-nx", "-i", "dap"], {**gdb.environment, **gdb.python})}
    lldb = next(filter(None, map(shutil.which, LLDB)), None)
    if lldb is not None:
        found["lldb"] = ([lldb], {})
    return found


def measure(port: int, folder: Path, plan: Plan) -> Samples:
    program = compiled(folder)
    samples: Samples = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for debugger, (command, environment) in commands().items():
        raw, session = Raw(command, environment, program), Session(port, debugger, program)
        ways: dict[str, Raw | Session] = {"raw": raw, "relay": session}
        try:
            for way in ways.values():
                way.launch()
            for _ in range(plan.warm_up):
                for way in ways.values():
                    way.step_report()
            for _ in range(plan.rounds):
                for row, method in ((STEP, "step"), (REPORT, "step_report")):
                    for name, way in ways.items():
                        taken = [clock(getattr(way, method)) for _ in range(plan.samples["relay"])]
                        samples[debugger][row][name] += taken
        finally:
            for way in ways.values():
                way.close()
        for row, taken in alone(debugger, program, plan).items():
            samples[debugger][row]["session"] += taken
    return samples
