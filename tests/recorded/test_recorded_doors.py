"""What the other doors say: the WebSockets, the EZ protocol on stdio, and DAP through the tunnel."""

from __future__ import annotations

from pathlib import Path

import pytest
from clients import RecordedDap, RecordedIde, RestSession, Stage, refused_socket, socket
from dap_client import connect
from relays import Session, line_of
from sockets import local_token

PROGRAM = """
import sys


def add(total, number):
    result = total + number  # @add
    return result  # @return


def main():
    total = 0
    numbers = [1, 2, 3]
    for number in numbers:  # @loop
        total = add(total, number)  # @call
        print("total", total)  # @print
    sys.exit(total)  # @exit


main()
"""


@pytest.fixture
def script(stage: Stage) -> Path:
    return stage.write("shop.py", PROGRAM)


def test_websocket_before_the_launch(stage: Stage, script: Path) -> None:
    """Every action in a session that has no program yet, and what is no command."""
    with stage.session() as session, socket(stage, f"/sessions/{session.id}/debug") as ws:
        for raw in ("{", "[]", '"step"', "{}", '{"action":3}', '{"action":"fly"}', '{"action":"step_ovr","id":1}'):
            ws.raw(raw)
        ws.raw(b"\x00\x01")
        ws.asks("step", id={"not": "an id"})
        for action in ACTIONS_WITHOUT_PARAMETERS:
            ws.asks(action, id=action)
        for action, params in ACTIONS.items():
            ws.asks(action, **params)
        for action, params in WRONG.items():
            ws.asks(action, **params)
        ws.asks("report", fields=["location"], budget=1)
        ws.asks("update", name="by socket", timeout_minutes=5)
        ws.asks("export", include_env=True)
        ws.asks("clone", name="by socket")
        ws.asks("delete")
        ws.hears("nothing")


def test_websocket_of_a_program(stage: Stage, script: Path) -> None:
    path = str(script)
    with stage.session() as session, socket(stage, f"/sessions/{session.id}/debug", cursors="true") as ws:
        ws.asks("set_breakpoints", file=path, line=line_of(script, "add"))
        ws.asks("launch", script=path, wait=60, fields="location")
        ws.asks("info")
        ws.asks("status")
        ws.asks("threads")
        ws.asks("tasks")
        ws.asks("locks")
        ws.asks("stacktrace", levels=1)
        ws.asks("scopes", frame_id=1)
        found = ws.asks("frame_variables", frame_id=1)
        reference = next(row["variables_reference"] for row in found["data"]["variables"] if row["name"] == "numbers")
        ws.asks("variables", variables_reference=reference, count=1)
        ws.asks("children", frame_id=1, variables_reference=reference)
        ws.asks("set_variable", variables_reference=reference, name="0", value="10", frame_id=1)
        ws.asks("set_expression", expression="total", value="5")
        ws.asks("evaluate", expression="total + number")
        ws.asks("evaluate", expression="absent")
        ws.asks("completions", text="num")
        ws.asks("hover", expression="number")
        ws.asks("add_watch", expression="total")
        ws.asks("list_watches")
        ws.asks("source", start_line=1, end_line=2)
        ws.asks("modules", filter="shop")
        ws.asks("exception")
        ws.asks("step_targets")
        ws.asks("step", fields="location")
        ws.asks("step-out", fields="location")
        ws.asks("step_into", fields="location")
        ws.asks("step_until", expression="number == 2", fields="location")
        ws.asks("run_to", line=line_of(script, "print"), fields="location")
        ws.asks("change_breakpoint", breakpoint_id="bp_1", enabled=False)
        ws.asks("remove_watch", watch_id="w_1")
        ws.asks("clear_watches")
        for action in ("read_memory", "write_memory", "disassemble", "record", "recording", "step_back"):
            ws.asks(action, **ACTIONS.get(action, {}))
        ws.asks("reverse_continue")
        ws.asks("goto_moment", moment="#1")
        ws.asks("return_to_now", fields="location")
        ws.asks("set_data_breakpoint", expression="total")
        ws.asks("pause")
        ws.asks("restart", wait=60, fields="location")
        ws.asks("continue", wait=60, fields="location")
        ws.asks("output", limit=2)
        ws.asks("events", limit=1)
        ws.asks("clear_output")
        ws.asks("detach")
        ws.hears("terminated")
    with stage.session() as session:
        session.launch(script, fields="location")
        for query in ({}, {"kinds": "stopped,terminated"}, {"replay": "false"}):
            with socket(stage, f"/sessions/{session.id}/debug", **query) as ws:
                ws.asks("ping")
                if "replay" not in query:
                    ws.hears("terminated")
        with socket(stage, f"/sessions/{session.id}/logs") as ws:
            ws.hears("nothing")
        with socket(stage, f"/sessions/{session.id}/logs", stream="stderr", cursors="true") as ws:
            ws.hears("nothing")
        token = local_token(stage.relay)
        refused_socket(stage, f"/sessions/{session.id}/logs", token, stream="none")
        refused_socket(stage, f"/sessions/{session.id}/logs", token, since="nonsense")
        refused_socket(stage, f"/sessions/{session.id}/debug", token, since="nonsense")
        refused_socket(stage, f"/sessions/{session.id}/tunnel", token)


ACTIONS_WITHOUT_PARAMETERS = [
    "info",
    "status",
    "report",
    "ping",
    "list_breakpoints",
    "list_exception_breakpoints",
    "list_data_breakpoints",
    "list_watches",
    "output",
    "events",
    "clear_output",
    "clear_breakpoints",
    "clear_watches",
    "remove_exception_breakpoints",
    "remove_data_breakpoints",
    "restart",
    "detach",
    "terminate",
    "continue",
    "pause",
    "step_over",
    "step_into",
    "step_out",
    "step_targets",
    "threads",
    "tasks",
    "locks",
    "stack_trace",
    "scopes",
    "source",
    "modules",
    "exception",
    "disassemble",
    "recording",
    "trace",
    "errors",
    "slow",
    "spans",
    "step_back",
    "reverse_continue",
    "return_to_now",
]
ACTIONS = {
    "calls": {"function": "add", "where": "total > 1"},
    "life": {"call_id": 3},
    "goto_moment": {"moment": "#1"},
    "origin": {"value": "total"},
    "values": {"name": "total"},
    "diff": {"other": "1-1"},
    "record": {"enabled": False},
    "launch": {"script": "absent.py"},
    "attach": {"pid": 999_999_999},
    "step_until": {"expression": "x"},
    "run_to": {"line": 1},
    "stdin": {"input": "x"},
    "input": {"input": "x"},
    "set_breakpoints": {"file": "absent.py", "line": 3},
    "change_breakpoint": {"breakpoint_id": "bp_9", "enabled": False},
    "remove_breakpoint": {"breakpoint_id": "bp_9"},
    "set_exception_breakpoint": {"filters": ["uncaught"]},
    "set_data_breakpoint": {"expression": "x"},
    "variables": {"variables_reference": 1},
    "children": {"frame_id": 0, "variables_reference": 1},
    "frame_variables": {"frame_id": 0},
    "evaluate": {"expression": "x"},
    "set_variable": {"variables_reference": 1, "name": "x", "value": "1"},
    "set_expression": {"expression": "x", "value": "1"},
    "add_watch": {"expression": "x"},
    "remove_watch": {"watch_id": "w_9"},
    "completions": {"text": "x"},
    "hover": {"expression": "x"},
    "read_memory": {"address": "x"},
    "write_memory": {"address": "x", "bytes": "00"},
}
WRONG = {
    "launch": {"scrpt": "x.py"},
    "change_breakpoint": {"enabled": "no"},
    "children": {"frame_id": "0"},
    "evaluate": {},
    "set_breakpoints": {"breakpoints": [{"line": 0}]},
    "remove_watch": {"watch_id": 3},
    "stack_trace": {"levels": "many", "thread": 3},
}


def test_ez_protocol(stage: Stage, script: Path) -> None:
    """Every command of the protocol, by a client that knows its extensions."""
    file = str(script)
    with ide(stage, script) as each:
        for command in ("start", "stepInto", "continue", "getVariables", "setBreakpoint", "pause", "nothing"):
            each.asks(command)
        each.raw("{\n")
        each.raw('{"type": "command"}\n')
        each.raw('{"type": "command", "command": "start", "params": 3}\n')
        each.asks("initialize", "initialized")
        each.asks("initialize", "initialized", file=str(stage.folder / "absent.py"))
        each.asks("initialize", "initialized", file=str(stage.folder))
        each.asks("initialize", "initialized", file=file, workingDir="/nowhere/at/all")
        each.asks("initialize", "initialized", file=str(stage.write("source.c", "int main(void) {}\n")))
        shell = stage.write("shell.sh", "#!/bin/sh\n")
        shell.chmod(0o755)
        each.asks("initialize", "initialized", file=str(shell))
        each.asks("initialize", "initialized", file=file, capabilities=[])
        for command in (
            "stepOver",
            "getVariables",
            "evaluate",
            "getThreads",
            "input",
            "pause",
            "record",
            "setVariable",
        ):
            each.asks(command, expression="x", name="x", value="1", text="x")
        each.asks("setBreakpoint", "breakpointSet", file=file, line=line_of(script, "add"))
        each.asks("setBreakpoint", "breakpointSet", file=file, line=2)
        each.asks("setBreakpoint", "breakpointSet", file=file, line=900)
        each.asks("setBreakpoint", "breakpointSet", file=str(stage.folder / "absent.py"), line=3)
        each.asks("setBreakpoint", "breakpointSet", file=file, line=line_of(script, "print"), logMessage="{total}")
        each.asks("setBreakpoint", "breakpointSet", file=file, line=line_of(script, "exit"), condition="total ==")
        each.asks("setBreakpoint", "breakpointSet", file=file, line=line_of(script, "exit"), hitCondition="often")
        each.asks("setBreakpoint", "breakpointSet", function="main", condition="True")
        each.asks("setBreakpoint", "breakpointSet", function="nobody")
        each.asks("clearBreakpoint", "breakpointCleared", function="main")
        each.asks("clearBreakpoint", "breakpointCleared", file=file, line=1)
        each.asks("setExceptionBreakpoints", "exceptionBreakpointsSet", filters=["raised"])
        each.asks("setExceptionBreakpoints", "exceptionBreakpointsSet", filters=["odd"])
        each.asks("setExceptionBreakpoints", "exceptionBreakpointsSet", filters=[])
        each.asks("addWatch", "watchAdded", expression="total")
        each.asks("addWatch", "watchAdded", expression="total +")
        each.asks("getWatches", "watches")
        each.asks("start", "watches")
        each.asks("start", "started", stopOnEntry=3)
        each.asks("getVariables", "variables")
        each.asks("getVariables", "variables", frameIndex=1)
        each.asks("getVariables", "variables", frameIndex=99)
        each.asks("getStackTrace", "stackTrace")
        each.asks("getStackTrace", "stackTrace", threadId=99)
        each.asks("evaluate", "evaluateResult", expression="total + number")
        each.asks("evaluate", "evaluateResult", expression="absent")
        each.asks("evaluate", "evaluateResult", expression="total +")
        each.asks("setVariable", "variableUpdate", name="total", value="5")
        each.asks("setVariable", "variableUpdate", name="absent.x", value="5")
        each.asks("getThreads", "threads")
        each.asks("removeWatch", "watchRemoved", id=1)
        each.asks("removeWatch", "watchRemoved", id=9)
        each.asks("setDataBreakpoint", "dataBreakpointSet", expression="total")
        each.asks("clearDataBreakpoint", "dataBreakpointCleared", id=1)
        each.asks("record", "recording")
        each.asks("stepBack", "stopped")
        each.asks("reverseContinue", "stopped")
        each.asks("pause", "stopped")
        each.asks("initialize", "initialized", file=file)
        each.asks("stepOver", "variableUpdate")
        each.asks("stepOut", "stopped")
        each.asks("clearBreakpoint", "breakpointCleared", file=file, line=line_of(script, "add"))
        each.asks("stepInto", "stopped")
        each.asks("continue", "exited")
        each.asks("continue", "started")
        each.hears("EZ rest")
    with ide(stage, script) as each:
        each.asks("initialize", "initialized", file=file, args=["a"])
        each.asks("start", "stopped")
        each.asks("terminate", "terminated")


def test_ez_protocol_as_its_document_has_it(stage: Stage, script: Path) -> None:
    """A client that knows no extensions, and a program that fails."""
    failing = stage.write("failing.py", "x = 1\nprint('so far')\nraise ValueError('no')\n")
    with ide(stage, script) as each:
        each.asks("initialize", "initialized", file=str(script))
        each.asks("setBreakpoint", "breakpointSet", file=str(script), line=line_of(script, "add"))
        each.asks("start", "stopped")
        each.asks("stepOver", "variableUpdate")
        each.asks("pause", "stopped")
        each.asks("terminate", "terminated")
    with ide(stage, failing) as each:
        each.asks("initialize", "initialized", file=str(failing))
        each.asks("start", "stopped")
        each.asks("continue", "exited")
        each.hears("EZ rest")


def ide(stage: Stage, file: Path) -> RecordedIde:
    found = RecordedIde("debugserver", file, extended=True, env={"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"})
    found.recording = stage.recording
    return found


def test_editor(stage: Stage, script: Path) -> None:
    """An editor at a program that is paused, and one that asks for what it cannot have."""
    with stage.session() as session:
        session.break_at(script, "add")
        session.launch(script, fields="location")
        with editor(stage, session) as dap:
            dap.asks("threads")
            dap.asks("initialize", adapterID="test", linesStartAt1=True, columnsStartAt1=True)
            dap.asks("launch", program=str(script))
            dap.asks("attach")
            dap.hears("initialized")
            dap.asks(
                "setBreakpoints",
                source={"path": str(script)},
                breakpoints=[{"line": line_of(script, "print")}, {"line": 2}],
            )
            dap.asks("setFunctionBreakpoints", breakpoints=[{"name": "main"}, {"name": "not a name"}])
            dap.asks("setExceptionBreakpoints", filters=["uncaught"])
            dap.asks("setExceptionBreakpoints", filters=["odd"])
            dap.asks("configurationDone")
            dap.hears("stopped")
            dap.asks("threads")
            frames = dap.asks("stackTrace", threadId=1)["stackFrames"]
            dap.asks("stackTrace", threadId=99)
            dap.asks("stackTrace")
            scopes = dap.asks("scopes", frameId=frames[1]["id"])["scopes"]
            dap.asks("scopes", frameId=9999)
            reference = scopes[0]["variablesReference"]
            dap.asks("variables", variablesReference=reference)
            dap.asks("variables", variablesReference=424242)
            dap.asks("evaluate", expression="total + 1", frameId=frames[0]["id"])
            dap.asks("evaluate", expression="absent", frameId=frames[0]["id"])
            dap.asks("evaluate", expression="total", context="hover")
            dap.asks("setVariable", variablesReference=reference, name="total", value="5")
            dap.asks("setVariable", variablesReference=reference, name="absent", value="5")
            dap.asks("setExpression", expression="number", value="7", frameId=frames[0]["id"])
            dap.asks("completions", text="num", column=4, frameId=frames[0]["id"])
            dap.asks("exceptionInfo", threadId=1)
            dap.asks("source", source={"path": str(script)}, sourceReference=0)
            dap.asks("loadedSources")
            dap.asks("modules", startModule=0, moduleCount=1)
            dap.asks("readMemory", memoryReference="0x1000", count=4)
            dap.asks("disassemble", memoryReference="0x1000", instructionCount=4)
            dap.asks("dataBreakpointInfo", name="total")
            dap.asks("stepInTargets", frameId=frames[0]["id"])
            dap.asks("gotoTargets", source={"path": str(script)}, line=3)
            dap.asks("stepBack", threadId=1)
            dap.asks("nothingLikeThis")
            dap.asks("next", threadId=1)
            dap.hears("stopped")
            dap.asks("next", threadId=99)
            dap.asks("stepOut", threadId=1)
            dap.hears("stopped")
            dap.asks("stepIn", threadId=1)
            dap.hears("stopped")
            dap.asks("pause", threadId=1)
            dap.asks("continue", threadId=1)
            dap.hears("stopped")
            dap.asks("disconnect")
        session.get("/breakpoints")
        with editor(stage, session) as dap:
            dap.asks("initialize", adapterID="test")
            dap.asks("attach")
            dap.asks("configurationDone")
            dap.asks("restart")
            dap.asks("terminate")
            dap.hears("terminated")


def test_a_stranger_at_the_tunnel(stage: Stage, script: Path) -> None:
    with stage.session() as session:
        session.launch(script, stop_on_entry=True, fields="location")
        with connect(session.quietly()["debugger"]["uri"]) as sock:
            sock.sendall(b"Bearer nonsense\n")
            said = b""
            while data := sock.recv(65536):
                said += data
        stage.recording.add("tunnel: Bearer nonsense", said=said.decode())


def editor(stage: Stage, session: RestSession) -> RecordedDap:
    """Connect through the session's own port; that is not recorded."""

    class Known(Session):
        def __init__(self) -> None:
            self.id = session.id

        def get(self, path: str = "", **params: object) -> object:
            return session.quietly(path)

    found = RecordedDap.of(Known())
    assert isinstance(found, RecordedDap)
    found.recording = stage.recording
    return found
