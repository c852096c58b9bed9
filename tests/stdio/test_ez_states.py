"""Every command of the EZ protocol in every state: what it does there, or which error it is answered by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quick_ide import Ide

from opencode_debugger.ez.protocol import COMMANDS, State

LOOP = """
import time
n = 0
while True:
    n += 1  # @loop
    time.sleep(0.001)
"""
LINE = 4
NO_PROGRAM = "no program yet: send initialize first"
NOT_STARTED = "program not started"
RUNNING = "program is running"
STOPPED = "program is stopped"
ENDED = "program has ended"
PARAMS: dict[str, dict[str, Any]] = {
    "initialize": {"file": "{file}"},
    "setBreakpoint": {"file": "{file}", "line": LINE},
    "clearBreakpoint": {"file": "{file}", "line": LINE},
    "evaluate": {"expression": "n * 0"},
    "input": {"text": "x\n"},
    "setVariable": {"name": "n", "value": "5"},
    "setExceptionBreakpoints": {"filters": ["uncaught"]},
    "setDataBreakpoint": {"expression": "n"},
    "clearDataBreakpoint": {"id": 1},
    "addWatch": {"expression": "n"},
    "removeWatch": {"id": 1},
}
CANNOT = {name: f"Cannot {command.said}: " for name, command in COMMANDS.items()}
NO_DATA = "The debugger of this session (debugpy) cannot watch values"
NO_WAY_BACK = "(debugpy) cannot go back"

# What a command is answered by: the name of an event, or what an error says.
EXPECTED: dict[str, dict[State, str]] = {
    name: dict(zip(State, row, strict=True))
    for name, row in {
        # new, ready, running, stopped, ended
        "initialize": ("initialized", "initialized", RUNNING, STOPPED, ENDED),
        "start": (NO_PROGRAM, "started", RUNNING, "started", ENDED),
        "stepInto": (NOT_STARTED, NOT_STARTED, RUNNING, "stopped", ENDED),
        "stepOver": (NOT_STARTED, NOT_STARTED, RUNNING, "stopped", ENDED),
        "stepOut": (NOT_STARTED, NOT_STARTED, RUNNING, "stopped", ENDED),
        "continue": (NOT_STARTED, NOT_STARTED, RUNNING, "stopped", ENDED),
        "setBreakpoint": (NO_PROGRAM, "breakpointSet", "breakpointSet", "breakpointSet", ENDED),
        "clearBreakpoint": (NO_PROGRAM, "breakpointCleared", "breakpointCleared", "breakpointCleared", ENDED),
        "getVariables": (NOT_STARTED, NOT_STARTED, RUNNING, "variables", ENDED),
        "getStackTrace": (NOT_STARTED, NOT_STARTED, RUNNING, "stackTrace", ENDED),
        "evaluate": (NOT_STARTED, NOT_STARTED, RUNNING, "evaluateResult", ENDED),
        "terminate": ("terminated",) * 5,
        "pause": (NOT_STARTED, NOT_STARTED, "stopped", STOPPED, ENDED),
        "input": (NOT_STARTED, NOT_STARTED, "inputAccepted", "inputAccepted", ENDED),
        "getThreads": (NOT_STARTED, NOT_STARTED, "threads", "threads", ENDED),
        "setVariable": (NOT_STARTED, NOT_STARTED, RUNNING, "variableUpdate", ENDED),
        "setExceptionBreakpoints": (NO_PROGRAM, *("exceptionBreakpointsSet",) * 3, ENDED),
        "setDataBreakpoint": (NOT_STARTED, NOT_STARTED, RUNNING, NO_DATA, ENDED),
        "clearDataBreakpoint": (NOT_STARTED, NOT_STARTED, *("There is no data breakpoint 1",) * 2, ENDED),
        "addWatch": (NO_PROGRAM, "watchAdded", "watchAdded", "watchAdded", ENDED),
        "removeWatch": (NO_PROGRAM, "watchRemoved", "watchRemoved", "watchRemoved", ENDED),
        "getWatches": (NO_PROGRAM, "watches", "watches", "watches", ENDED),
        "record": (NOT_STARTED, NOT_STARTED, RUNNING, NO_WAY_BACK, ENDED),
        "stepBack": (NOT_STARTED, NOT_STARTED, RUNNING, NO_WAY_BACK, ENDED),
        "reverseContinue": (NOT_STARTED, NOT_STARTED, RUNNING, NO_WAY_BACK, ENDED),
    }.items()
}
BEFORE: dict[str, tuple[str, dict[str, Any]]] = {
    "clearBreakpoint": ("setBreakpoint", {**PARAMS["setBreakpoint"], "condition": "False"}),
    "removeWatch": ("addWatch", PARAMS["addWatch"]),
}
"""What must be there to be removed."""


def begin(state: State, path: Path) -> Ide:
    ide = Ide("debugserver", path, extended=True)
    if state is not State.NEW:
        ide.send("initialize", file=str(path), capabilities=[])
        ide.expect("initialized")
    if state is State.STOPPED:
        ide.send("setBreakpoint", file=str(path), line=LINE)
        ide.send("start")
        ide.stopped("breakpoint", LINE)
    elif state is State.RUNNING:
        ide.send("start", stopOnEntry=False)
        ide.until("started")
    return ide


def again(ide: Ide, state: State, path: Path, name: str) -> None:
    """Back to the state, from wherever the command has led."""
    if state is State.RUNNING and name == "pause":
        ide.send("continue")
    elif state is State.STOPPED and name == "start":
        ide.stopped("breakpoint", LINE)
    elif state is State.STOPPED and name == "clearBreakpoint":
        ide.send("setBreakpoint", file=str(path), line=LINE)
        ide.until("breakpointSet")
    elif state is State.RUNNING and name == "setBreakpoint":
        ide.stopped("breakpoint", LINE)
        ide.send("clearBreakpoint", file=str(path), line=LINE)
        ide.until("breakpointCleared")
        ide.send("continue")


def send(ide: Ide, name: str, params: dict[str, Any], path: Path) -> None:
    ide.send(name, **{key: str(path) if value == "{file}" else value for key, value in params.items()})


def check(ide: Ide, name: str, state: State, path: Path) -> None:
    expected = EXPECTED[name][state]
    if name in BEFORE and " " not in expected:
        send(ide, *BEFORE[name], path)
    send(ide, name, PARAMS.get(name, {}), path)
    if " " not in expected:
        ide.until(expected)
        return
    said = ide.until("error", command=name)["message"]
    is_state = expected in (NO_PROGRAM, NOT_STARTED, RUNNING, STOPPED, ENDED)
    assert said == CANNOT[name] + expected if is_state else expected in said


@pytest.fixture
def path(program: Callable[..., Path]) -> Path:
    return program(LOOP)


def test_the_table_has_every_command() -> None:
    assert list(EXPECTED) == list(COMMANDS)


@pytest.mark.parametrize("state", [State.NEW, State.READY, State.RUNNING, State.STOPPED])
def test_every_command_in_a_state(state: State, path: Path) -> None:
    """One after the other; those that lead to another state come last."""
    leading = {State.NEW: ["initialize"], State.READY: ["start"]}.get(state, [])
    names = [name for name in COMMANDS if name not in leading and name != "terminate"]
    with begin(state, path) as ide:
        for name in names:
            check(ide, name, state, path)
            again(ide, state, path, name)
        check(ide, "terminate", state, path)
        assert ide.ends() == 0
    for name in leading:
        with begin(state, path) as ide:
            check(ide, name, state, path)


def test_every_command_after_the_end(program: Callable[..., Path]) -> None:
    """For a moment; what comes later finds nobody."""
    path = program("x = 1\n")
    with begin(State.READY, path) as ide:
        ide.send("start", stopOnEntry=False)
        ide.until("exited", exitCode=0)
        for name in COMMANDS:
            if name != "terminate":
                check(ide, name, State.ENDED, path)
        assert ide.ends() == 0
    with begin(State.READY, path) as ide:
        ide.send("start", stopOnEntry=False)
        ide.until("exited", exitCode=0)
        ide.send("terminate")
        ide.until("terminated")
        assert ide.ends() == 0
