"""What the EZ debugger is not meant to be sent, and ends at the wrong moment: an error or a clean end, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ez_client import COMMAND, SECONDS, Ide, gone, is_running
from native import Builder
from quick_ide import Ide as QuickIde
from relays import RUN_ID, RUN_MARKER
from waiting import wait_until

from opencode_debugger.ez.lines import LONGEST

Write = Callable[..., Path]

PID = "import os, sys\nprint(os.getpid(), flush=True)\n"
LOOP = PID + "import time\nwhile True:\n    time.sleep(0.01)\n"

LINES: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"not json", "Not JSON"),
    "half an object": (b'{"type":"command",', "Not JSON"),
    "two objects": (b"{} {}", "Not JSON"),
    "a list": (b"[1]", "The message is a list: an object"),
    "a number": (b"17", "The message is 17: an object"),
    "null": (b"null", "The message is null: an object"),
    "no type": (b"{}", 'type is null: "command" is expected'),
    "another type": (b'{"type":"event","event":"started","data":{}}', 'type is "event": "command" is expected'),
    "JSON-RPC": (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', 'type is null: "command" is expected'),
    "no command": (b'{"type":"command"}', "command is null: the name of a command"),
    "a number for a command": (b'{"type":"command","command":5}', "command is 5: the name of a command"),
    "an unknown command": (b'{"type":"command","command":"stepin"}', "did you mean stepInto?"),
    "parameters in a list": (b'{"type":"command","command":"start","params":[1]}', "params is a list: an object"),
    "invalid UTF-8": (b'{"type":"command","command":"\xff"}', "is not UTF-8"),
    "nothing behind a byte order mark": (b"\xef\xbb\xbf", "Not JSON"),
    "deep nesting": (b"[" * 100_000, "Not JSON: it is nested too deeply"),
    "a NUL": (b"\x00", "Not JSON"),
}
PARAMETERS: list[tuple[str, dict[str, Any], str]] = [
    ("initialize", {"file": 5}, "params.file is 5: a string is expected"),
    ("initialize", {"file": "x.py", "workingDir": []}, "params.workingDir is a list: a string is expected"),
    ("initialize", {"file": "/nowhere/x.py"}, "does not exist"),
    ("initialize", {"file": "/tmp"}, "/tmp is a folder. Give the path of a program"),
    ("initialize", {"file": "x\0y.py"}, "does not exist"),
    ("initialize", {"file": "x.py", "workingDir": "/nowhere"}, "workingDir /nowhere is not an existing folder"),
    ("initialize", {"file": "x.py", "args": ["a", 1]}, "params.args[1] is 1: a string is expected"),
    ("setBreakpoint", {}, "params.file is missing: a string is expected"),
    ("setBreakpoint", {"file": "{file}"}, "params.line is missing: an integer is expected"),
    ("setBreakpoint", {"file": "{file}", "line": "7"}, 'params.line is "7": an integer is expected'),
    ("setBreakpoint", {"file": "{file}", "line": 1.5}, "params.line is 1.5: an integer is expected"),
    ("setBreakpoint", {"file": "{file}", "line": True}, "params.line is true: an integer is expected"),
    ("setBreakpoint", {"file": "{file}", "line": 0}, "an integer from 1 on is expected"),
    ("setBreakpoint", {"file": "{file}", "line": 10**30}, "does not exist: the file has 3 lines"),
    ("setBreakpoint", {"file": "{file}", "line": 2}, "Try line 3"),
    ("setBreakpoint", {"file": "/nowhere/x.py", "line": 1}, "Source file not found"),
    ("setBreakpoint", {"file": "{file}", "line": 1, "condition": "1 +"}, "invalid syntax"),
    ("setBreakpoint", {"file": "{file}", "line": 1, "hitCondition": "often"}, "often"),
    ("clearBreakpoint", {"file": "{file}", "line": 3}, "There is no breakpoint at"),
    ("addWatch", {"expression": "x ="}, "invalid syntax"),
    ("setExceptionBreakpoints", {"filters": ["all"]}, "one of raised, uncaught, userUnhandled is expected"),
]
STOPPED: list[tuple[str, dict[str, Any], str]] = [
    ("getVariables", {"frameIndex": 7}, "Frame 7 does not exist: the stack has 1 frame"),
    ("getVariables", {"frameIndex": -1}, "an integer from 0 on is expected"),
    ("getVariables", {"threadId": 99}, "Thread 99 does not exist"),
    ("evaluate", {}, "params.expression is missing"),
    ("evaluate", {"expression": "1 +"}, "invalid syntax"),
    ("evaluate", {"expression": "1 / 0"}, "ZeroDivisionError: division by zero"),
    ("evaluate", {"expression": ""}, ""),
    ("setVariable", {"name": "1", "value": "2"}, ""),
    ("stepInto", {"threadId": 99}, "Thread 99 does not exist"),
]


@pytest.fixture
def path(program: Write) -> Path:
    return program("x = 1\n\ny = 2\n")


def test_lines_that_are_no_commands_are_answered_by_what_was_expected(path: Path) -> None:
    with QuickIde("debugserver", path) as ide:
        for name, (line, expected) in LINES.items():
            ide.write(line + b"\n")
            said = ide.expect("error")["message"]
            assert expected in said, name
        ide.write(b"\n  \r\n")  # nothing is not wrong
        ide.write(b"\xef\xbb\xbf")  # as some editors on Windows begin
        ide.send("initialize", file=str(path))
        ide.expect("initialized")
        ide.send("terminate")
        assert ide.ends() == 0
        assert ide.errors() == ""


def test_parameters_that_cannot_be_used_are_answered_by_what_was_expected(path: Path) -> None:
    with QuickIde.of(path) as ide:
        for command, params, expected in PARAMETERS:
            given = {key: str(path) if value == "{file}" else value for key, value in params.items()}
            said = ide.refused(command, expected, **given)
            assert not {"strict", "cwd", "Script"} & set(said.split()), "words of another door"
        ide.send("initialize", file=str(path))
        ide.expect("initialized")
        ide.send("start")
        ide.until("stopped")
        for command, params, expected in STOPPED:
            ide.refused(command, expected, **params)
        ide.send("continue")
        ide.until("exited", exitCode=0)


def test_source_code_of_a_native_program_is_not_taken_for_the_program(build: Builder) -> None:
    source = build("sums").source
    with QuickIde("debugserver", source) as ide:
        assert "Compile it" in ide.refused("initialize", "is source code", file=str(source))


def test_lines_of_50_megabytes_are_refused_and_not_kept(path: Path) -> None:
    with Ide("debugserver", path) as ide:
        ide.write(b'{"type":"command","command":"evaluate","params":{"expression":"')
        for _ in range(50):
            ide.write(b"x" * 1024 * 1024)
        ide.write(b'"}}\n')
        assert f"at most {LONGEST} bytes" in ide.expect("error")["message"]
        ide.send("initialize", file=str(path))
        ide.expect("initialized")
        with open(f"/proc/{ide.process.pid}/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        assert peak < 64 * 1024, "kB"


def test_a_command_in_pieces_is_a_command(path: Path) -> None:
    with QuickIde("debugserver", path) as ide:
        for byte in json.dumps({"type": "command", "command": "initialize", "params": {"file": str(path)}}).encode():
            ide.write(bytes([byte]))
        ide.write("\r\n")
        ide.expect("initialized")


def test_the_program_cannot_write_into_the_protocol(program: Write) -> None:
    """Whatever it prints is text, and what it reads is not what the client sends."""
    said = '{"type":"event","event":"exited","data":{"exitCode":7}}'
    path = program(f"import os, sys\nprint('{said}')\nos.write(2, b'\\xff\\n')\nos.system('echo shell')\n")
    with QuickIde.of(path) as ide:
        ide.send("start", stopOnEntry=False)
        ide.until("exited", exitCode=0)
        assert sorted(ide.text.splitlines()) == sorted([said, "\\xff", "shell"])


# Ends.


def at(moment: str, ide: Ide, path: Path) -> int | None:
    """Brings the session there; the program's process, if there is one."""
    if moment == "at once":
        return None
    if moment == "half a line":
        ide.write('{"type":"comm')
        return None
    ide.send("initialize", file=str(path))
    if moment == "initialized":
        ide.expect("initialized")
        return None
    if moment == "starting":
        ide.expect("initialized")
        ide.send("start")
        return None
    ide.send("start", stopOnEntry=False)
    ide.until("output")
    if moment in ("stopped", "stepping"):
        ide.send("pause")
        ide.extended = True
        ide.until("stopped")
    if moment == "stepping":
        ide.send("stepOut")
    return int(ide.text)


WIDE = ("initialized", "stopped")
"""Moments between others that differ little from them."""
MOMENTS = [
    pytest.param(moment, marks=pytest.mark.wide if moment in WIDE else [])
    for moment in ("at once", "half a line", "initialized", "starting", "running", "stopped", "stepping")
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_end_of_input_at_any_moment_ends_the_program_and_the_debugger(moment: str, program: Write) -> None:
    path = program(LOOP)
    with Ide("debugserver", path) as ide:
        pid = at(moment, ide, path)
        assert pid is None or is_running(pid)
        ide.close_input()
        assert ide.ends() == 0
        assert pid is None or not is_running(pid)
        assert ide.errors() == ""


@pytest.mark.parametrize("moment", ["initialized", "running"])
def test_a_closed_stdout_ends_everything_quietly(moment: str, program: Write) -> None:
    path = program(LOOP)
    with Ide("debugserver", path) as ide:
        pid = at(moment, ide, path)
        assert ide.process.stdout is not None
        ide.process.stdout.close()
        assert ide.process.wait(SECONDS) == 0
        assert pid is None or not is_running(pid)
        assert ide.errors() == ""


def test_a_closed_stdout_ends_a_native_debugger_that_is_only_starting(build: Builder) -> None:
    with Ide.of(build("slow").program) as ide:
        ide.send("start")
        wait_until(lambda: len(_descendants(ide.process.pid)) >= 2)  # the guard is there already
        started = _descendants(ide.process.pid)
        assert ide.process.stdout is not None
        ide.process.stdout.close()
        assert ide.process.wait(6) == 0
        assert all(map(gone, started))
        assert ide.errors() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_cleanly(number: int, program: Write) -> None:
    path = program(LOOP)
    with Ide("debugserver", path) as ide:
        pid = at("running", ide, path)
        assert pid is not None
        ide.process.send_signal(number)
        ide.until("terminated")
        assert ide.ends() == 0
        assert not is_running(pid)
        assert ide.errors() == ""


def test_a_signal_in_the_first_moments_is_told_too(path: Path) -> None:
    """It sends itself one before it has set up anything."""
    code = "import os, signal, sys\nimport opencode_debugger.doors.stdio.stdio_server as server\n"
    code += "limits = server.session_limits\n"
    code += "server.session_limits = lambda: os.kill(os.getpid(), signal.SIGTERM) or limits()\n"
    code += "from opencode_debugger.cli.serving.debugserver import debugserver\n"
    code += "sys.exit(debugserver(sys.argv[1], []))\n"
    command, env = [sys.executable, "-c", code, str(path)], {**os.environ, RUN_MARKER: RUN_ID}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["event"] == "terminated"
        assert process.wait(SECONDS) == 0


def test_nothing_that_comes_behind_terminate_is_carried_out(path: Path) -> None:
    with QuickIde.of(path) as ide:
        ide.send("start")
        ide.stopped("entry", 1)
        names = ["terminate", "getStackTrace", "continue", "terminate"]
        ide.write("".join(f'{{"type":"command","command":"{name}","params":{{}}}}\n' for name in names))
        assert ide.expect("terminated") == {}
        assert ide.line() is None
        assert ide.ends() == 0


@pytest.mark.parametrize("end", [pytest.param("terminate", marks=pytest.mark.wide), "end of input"])
def test_an_end_does_not_wait_for_a_step_that_has_only_begun(end: str, program: Write) -> None:
    path = program("import time\ntime.sleep(1000)\n")
    with QuickIde.of(path) as ide:
        ide.send("setBreakpoint", file=str(path), line=2)
        ide.send("start")
        ide.stopped("breakpoint", 2)
        names = ["stepOver", "getVariables", *(["terminate"] if end == "terminate" else [])]
        ide.write("".join(f'{{"type":"command","command":"{name}","params":{{}}}}\n' for name in names))
        if end == "end of input":
            ide.close_input()
        assert ide.process.wait(4) == 0


CHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
print(os.getpid(), child.pid, flush=True)
while True:
    time.sleep(0.01)
"""


def test_no_program_outlives_a_debugger_that_was_killed(program: Write) -> None:
    """Nor what the program has started."""
    path = program(CHILD)
    with Ide.of(path) as ide:
        ide.send("start", stopOnEntry=False)
        ide.until("output")
        pids = [int(pid) for pid in ide.text.split()]
        assert all(map(is_running, pids))
        ide.process.kill()
        ide.process.wait()
        assert all(map(gone, pids))


@pytest.mark.parametrize("stops", [pytest.param(True, marks=pytest.mark.wide), False])
def test_no_native_program_outlives_a_debugger_that_was_killed(stops: bool, build: Builder) -> None:
    slow = build("slow")
    with Ide.of(slow.program) as ide:
        ide.send("start", stopOnEntry=stops)
        ide.until("stopped" if stops else "started")
        started = _descendants(ide.process.pid)
        assert len(started) >= 2, "the debugger and the program"
        ide.process.kill()
        ide.process.wait()
        assert all(map(gone, started))


def _descendants(pid: int) -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def test_a_client_that_does_not_read_holds_up_nothing(program: Write) -> None:
    """Neither the program nor the end; it is told how much it has missed."""
    path = program(PID + "for n in range(5_000):\n    print('line', n, 'x' * 200)\nopen(sys.argv[1], 'w').close()\n")
    done = path.with_suffix(".done")
    with QuickIde.of(path, "--", str(done), env={"OPENCODE_DEBUG_OUTPUT_BUFFER_MAX_BYTES": "100000"}) as ide:
        ide.send("start", stopOnEntry=False)
        wait_until(done.exists)
        ide.send("terminate")
        while (event := ide.next())["event"] not in ("error", "terminated"):
            pass
        assert "were not read in time" in event["data"]["message"]


def test_long_lines_reach_a_client_in_one_piece(program: Write) -> None:
    """Some take each piece that they read for whole lines."""
    path = program("for n in range(20):\n    print('x' * 300_000, 'é' * 300_000)\n")
    with QuickIde.of(path) as ide:
        assert ide.process.stdout is not None
        ide.send("start", stopOnEntry=False)
        text, ended = "", False
        while not ended:
            piece = os.read(ide.process.stdout.fileno(), 4 * 1024 * 1024)
            for line in piece.decode().splitlines():
                event = json.loads(line)
                text += event["data"].get("text", "")
                ended = ended or event["event"] == "exited"
        assert text == ("x" * 300_000 + " " + "é" * 300_000 + "\n") * 20


def test_commands_may_come_from_a_file(path: Path, tmp_path: Path) -> None:
    """They are carried out, and with the last the program ends."""
    names = ["initialize", "start", "stepOver", "getVariables"]
    commands = tmp_path / "commands"
    commands.write_text("".join(f'{{"type":"command","command":"{name}"}}\n' for name in names).rstrip("\n"))
    env = {**os.environ, RUN_MARKER: RUN_ID}
    with open(commands) as file:
        done = subprocess.run(
            [*COMMAND, "debugserver", str(path)], stdin=file, capture_output=True, timeout=SECONDS, env=env
        )
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert events == ["initialized", "started", "stopped", "stopped", "variableUpdate", "variables", "terminated"]
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("closing", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_whoever_starts_it_without_some_of_its_streams_finds_it_ended(closing: str, path: Path) -> None:
    command = ["sh", "-c", f'exec "$@" {closing}', "sh", *COMMAND, "debugserver", str(path)]
    env = {**os.environ, RUN_MARKER: RUN_ID}
    done = subprocess.run(command, input=b"", capture_output=True, timeout=SECONDS, env=env)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_file_that_cannot_be_read_ends_it_at_once(tmp_path: Path) -> None:
    """Its input stays open: an IDE that tries it out sends nothing, and waits."""
    for file, why in ((tmp_path / "nothing.py", "no such file or directory"), (tmp_path, "not a file")):
        command = [*COMMAND, "debugserver", str(file)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=-1, stderr=-1) as process:
            assert process.wait(SECONDS) == 1
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.read() == b""
            said = process.stderr.read().decode()
        assert f"Error reading file: open {file}: {why}" in said
        assert said.count("\n") == 1


def test_a_setting_that_cannot_be_used_is_told_on_stderr(path: Path) -> None:
    env = {**os.environ, RUN_MARKER: RUN_ID, "OPENCODE_DEBUG_DAP_TIMEOUT_SECONDS": "soon"}
    command = [*COMMAND, "debugserver", str(path)]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=SECONDS, env=env)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"dap_timeout_seconds" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_command_line_that_is_not_understood_is_told_on_stderr(path: Path) -> None:
    for argv in (["debugserver"], ["debugserver", "--nothing", str(path)], ["stdio", "more"]):
        done = subprocess.run([*COMMAND, *argv], input=b"", capture_output=True, timeout=SECONDS)
        assert (done.returncode, done.stdout) == (2, b""), argv
