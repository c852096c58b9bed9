"""The flows of the EZ protocol's document, event for event, on a Python and on a C program; and an IDE of the field."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ez_client import COMMAND, SECONDS
from native import Builder
from places import STAND_IN
from quick_ide import Ide
from relays import RUN_ID, RUN_MARKER, line_of

from opencode_debugger.ez.protocol import EVENTS

SUMS = """
def add(a, b):
    total = a + b  # @inside
    return total  # @return
x = 10  # @entry
y = 20  # @second
answer = add(x, y)  # @call
print("Result:", answer)  # @print
"""

Write = Callable[..., Path]


class Debugged(NamedTuple):
    program: Path
    source: Path

    def line(self, mark: str) -> int:
        return line_of(self.source, mark)


IN_PYTHON = pytest.mark.parametrize("sums", ["python", pytest.param("c", marks=pytest.mark.wide)], indirect=True)


@pytest.fixture(params=["python", "c"])
def sums(request: pytest.FixtureRequest, program: Write, build: Builder) -> Debugged:
    if request.param == "python":
        path = program(SUMS, "sums.py")
        return Debugged(path, path)
    native = build("sums")
    return Debugged(native.program, native.source)


def place(debugged: Debugged, mark: str) -> dict[str, Any]:
    return {"file": str(debugged.source), "line": debugged.line(mark), "column": 1}


def test_the_simple_stepping_session(program: Write, build: Builder) -> None:
    """Each line of the document's flow: x and y are set, then it runs to its end."""
    simple = program("x = 10\ny = 20\nprint('Result:', x + y)\n", "simple.py")
    native = build("sums")
    for debugged, lines, before in (
        (Debugged(simple, simple), (1, 2, 3), []),
        (Debugged(native.program, native.source), tuple(map(native.line, ("entry", "second", "call"))), None),
    ):
        with Ide("debugserver", debugged.program) as ide:
            folder = str(debugged.program.parent)
            ide.send("initialize", file=str(debugged.program), workingDir=folder)
            assert ide.expect("initialized") == {"file": str(debugged.program)}
            ide.send("start")
            assert ide.expect("started") == {}
            at = [{"file": str(debugged.source), "line": line, "column": 1} for line in lines]
            assert ide.expect("stopped") == {"reason": "entry", "location": at[0]}
            ide.send("getVariables", frameIndex=0)
            answer = ide.expect("variables", frameIndex=0)
            assert before is None or answer["variables"] == before
            ide.send("stepInto")
            assert ide.expect("stopped") == {"reason": "step", "location": at[1]}
            assert ide.expect("variableUpdate") == {"name": "x", "value": "10", "type": "int", "frameIndex": 0}
            ide.send("stepInto")
            assert ide.expect("stopped") == {"reason": "step", "location": at[2]}
            assert ide.expect("variableUpdate") == {"name": "y", "value": "20", "type": "int", "frameIndex": 0}
            ide.send("continue")
            assert ide.expect("output") == {"category": "stdout", "text": "Result: 30\n"}
            assert ide.expect("exited") == {"exitCode": 0}
            assert ide.ends() == 0
            assert ide.errors() == ""


@IN_PYTHON
def test_the_breakpoint_session(sums: Debugged) -> None:
    with Ide("debugserver", sums.program) as ide:
        ide.send("initialize", file=str(sums.program))
        ide.expect("initialized")
        ide.send("setBreakpoint", file=str(sums.source), line=sums.line("inside"))
        assert ide.expect("breakpointSet") == {"file": str(sums.source), "line": sums.line("inside"), "id": 1}
        ide.send("start")
        assert ide.expect("started") == {}
        at = place(sums, "inside")
        assert ide.expect("stopped") == {"reason": "breakpoint", "location": at, "breakpointId": 1}
        ide.send("getStackTrace")
        inner, outer = ide.expect("stackTrace")["frames"][:2]
        assert inner == {"index": 0, "function": "add", **at}
        assert (outer["index"], outer["line"]) == (1, sums.line("call"))
        ide.send("continue")
        assert ide.expect("output") == {"category": "stdout", "text": "Result: 30\n"}
        assert ide.expect("exited") == {"exitCode": 0}
        assert ide.ends() == 0


def test_every_other_command_of_the_document(sums: Debugged) -> None:
    """Steps over and out, evaluation in each frame, a breakpoint that is cleared, and the end on request."""
    with Ide.of(sums.program) as ide:
        for number, mark in enumerate(("inside", "print"), 1):
            ide.send("setBreakpoint", file=str(sums.source), line=sums.line(mark))
            ide.expect("breakpointSet", id=number)
        ide.send("start")
        ide.stopped("breakpoint", sums.line("inside"))
        ide.send("getVariables")
        found = ide.expect("variables", frameIndex=0)["variables"]
        assert {"name": "a", "value": "10", "type": "int"} in found
        ide.send("evaluate", expression="a + b", frameIndex=0)
        assert ide.expect("evaluateResult") == {"expression": "a + b", "result": "30", "type": "int"}
        ide.send("evaluate", expression="x + y", frameIndex=1)
        assert ide.expect("evaluateResult")["result"] == "30"
        ide.send("getVariables", frameIndex=1)
        outer = {row["name"]: row["value"] for row in ide.expect("variables", frameIndex=1)["variables"]}
        assert (outer["x"], outer["y"]) == ("10", "20")
        assert "add" not in outer
        ide.send("stepOver")
        ide.stopped("step", sums.line("return"))
        assert ide.expect("variableUpdate")["value"] == "30"
        ide.send("stepOut")
        ide.stopped("step", sums.line("call"))
        ide.send("clearBreakpoint", file=str(sums.source), line=sums.line("print"))
        assert ide.expect("breakpointCleared") == {"file": str(sums.source), "line": sums.line("print")}
        ide.send("stepOver")
        ide.stopped("step", sums.line("print"))
        ide.send("terminate")
        assert ide.until("terminated") == {}
        assert ide.ends() == 0
        assert "exited" not in ide.events


def updates_of_step(ide: Ide, kind: str) -> dict[str, str]:
    """What a step tells to have changed, up to the answer to a question behind it."""
    ide.send(kind)
    ide.until("stopped", reason="step")
    ide.send("getStackTrace")
    found = {}
    while (event := ide.next())["event"] != "stackTrace":
        found[event["data"]["name"]] = event["data"]["value"]
    return found


def test_steps_tell_what_is_new_in_a_function_and_what_changed_in_its_caller(build: Builder) -> None:
    sums = build("sums")
    with Ide.of(sums.program) as ide:
        ide.send("start")
        ide.until("stopped")
        for _ in range(2):
            updates_of_step(ide, "stepOver")
        inside = updates_of_step(ide, "stepInto")
        assert {name: inside[name] for name in ("a", "b")} == {"a": "10", "b": "20"}
        assert updates_of_step(ide, "stepOver") == {"sum": "30"}
        assert updates_of_step(ide, "stepOver") == {}
        assert updates_of_step(ide, "stepOver") == {"answer": "30"}


def test_steps_tell_what_changed_among_many_variables(program: Write) -> None:
    many = "".join(f"    v{n} = {n}\n" for n in range(60))
    path = program(f"def f():\n{many}    last = 1\n    return last\nf()\n")
    with Ide.of(path) as ide:
        ide.send("setBreakpoint", file=str(path), line=62)
        ide.send("start")
        ide.stopped("breakpoint", 62)
        assert updates_of_step(ide, "stepOver") == {"last": "1"}


def test_a_long_value_has_not_changed_because_less_of_it_is_shown(program: Write) -> None:
    many = "".join(f"v{n} = ['{n}' * 99] * 999\n" for n in range(20))
    path = program(f"{many}a = 1\nv0 = v0 + [0]\nb = 2\n")
    with Ide.of(path) as ide:
        ide.send("setBreakpoint", file=str(path), line=20)
        ide.send("start")
        ide.stopped("breakpoint", 20)
        assert [set(updates_of_step(ide, "stepOver")) for _ in range(3)] == [{"v19"}, {"a"}, {"v0"}]


@IN_PYTHON
def test_start_lets_a_stopped_program_go_on(sums: Debugged) -> None:
    with Ide.of(sums.program) as ide:
        ide.send("start")
        ide.expect("started")
        assert ide.expect("stopped")["reason"] == "entry"
        ide.send("setBreakpoint", file=str(sums.source), line=sums.line("return"))
        ide.expect("breakpointSet")
        ide.send("start")
        ide.expect("started")
        ide.stopped("breakpoint", sums.line("return"), breakpointId=1)
        ide.send("start")
        ide.expect("started")
        ide.until("exited", exitCode=0)


def test_errors_of_the_program_are_told_with_their_place_and_it_runs_on_to_its_end(program: Write) -> None:
    path = program(
        """
        def divide(n):
            return 1 / n
        try:
            divide(0)
        except ZeroDivisionError:
            divide(0)
        """
    )
    with Ide.of(path) as ide:
        ide.send("start", stopOnEntry=False)
        ide.expect("started")
        error = ide.expect("error")
        assert error["message"] == "ZeroDivisionError: division by zero"
        assert (error["location"]["file"], error["location"]["line"]) == (str(path), 2)
        assert error["location"]["column"] > 1
        assert "command" not in error
        ide.until("exited", exitCode=1)
        assert "stopped" not in ide.events
        assert "Traceback" in ide.text


def test_a_crash_of_a_native_program_is_told_with_its_place(build: Builder) -> None:
    crash = build("crash")
    with Ide.of(crash.program) as ide:
        ide.send("start", stopOnEntry=False)
        error = ide.until("error")
        assert "Segmentation fault" in error["message"]
        assert (error["location"]["file"], error["location"]["line"]) == (str(crash.source), crash.line("crash"))
        ide.until("exited", exitCode=-11)
        assert "stopped" not in ide.events


def test_a_line_that_turns_out_to_have_no_machine_code_is_told_after_the_start(build: Builder) -> None:
    """Before that only the compiler knows. The program runs over it, to the breakpoint behind it."""
    sums = build("sums")
    with Ide.of(sums.program) as ide:
        for mark in ("declared", "print"):
            ide.send("setBreakpoint", file=str(sums.source), line=sums.line(mark))
            ide.expect("breakpointSet")
        ide.send("start")
        said = ide.until("error", command="setBreakpoint")["message"]
        assert said.startswith(f"Breakpoint at {sums.source}:{sums.line('declared')}: No executable code")
        ide.stopped("breakpoint", sums.line("print"), breakpointId=2)
        ide.send("clearBreakpoint", file=str(sums.source), line=sums.line("declared"))
        ide.until("breakpointCleared")
        ide.refused("setBreakpoint", "No executable code", file=str(sums.source), line=sums.line("declared"))


def test_a_program_without_debug_information_says_so(build: Builder) -> None:
    """And a breakpoint in its source is told at the end to have had no place in it."""
    bare = build("sums", "-g0")
    with Ide.of(bare.program) as ide:
        ide.send("setBreakpoint", file=str(bare.source), line=bare.line("print"))
        ide.expect("breakpointSet")
        ide.send("start")
        ide.expect("started")
        assert "has no debug information" in ide.expect("error")["message"]
        ide.expect("output")
        said = ide.expect("error", command="setBreakpoint")["message"]
        assert said == f"Breakpoint at {bare.source}:{bare.line('print')}: the program had no code there"
        ide.expect("exited", exitCode=0)


def test_a_syntax_error_is_told_and_may_be_corrected(program: Write) -> None:
    path = program("x = 1\ny = = 2\n")
    with Ide.of(path) as ide:
        ide.send("start")
        error = ide.expect("error", command="start")
        assert error["location"] == {"file": str(path), "line": 2, "column": 5}
        assert error["message"] == f"SyntaxError: invalid syntax ({path}:2:5)", "some IDEs show nothing else"
        path.write_text("x = 1\ny = 2\n")
        ide.send("start")
        ide.expect("started")
        ide.stopped("entry", 1)


def test_a_program_in_another_language_is_told_to_have_been_read_as_something_else(program: Write) -> None:
    path = program("echo hello\n", "hello.sh")
    with Ide.of(path) as ide:
        ide.refused("start", f"SyntaxError: invalid syntax ({path}:1:6). hello.sh was read as Python")
    broken = program("do main( {\n", "broken.ez")
    stand_in = str(STAND_IN)
    with Ide.of(broken, env={"OPENCODE_DEBUG_EZ_PATH": stand_in}) as ide:
        ide.refused("start", "Parse errors in file")


def test_arguments_and_working_folder_reach_the_program(program: Write, tmp_path: Path) -> None:
    path = program("import os, sys\nprint(sys.argv[1:], os.getcwd(), sys.stdin is not None)\n")
    with Ide("debugserver", path, "--", "a b", "-c") as ide:
        ide.send("initialize", file=path.name, workingDir=str(tmp_path))
        ide.expect("initialized", file=path.name)
        ide.send("setBreakpoint", file=path.name, line=2)
        ide.expect("breakpointSet", file=path.name)
        ide.send("start")
        ide.stopped("breakpoint", 2)
        ide.send("continue")
        ide.until("exited", exitCode=0)
        assert ide.text == f"['a b', '-c'] {tmp_path} True\n"


def test_a_plain_client_stays_in_its_files_and_hears_that_the_program_waits_for_input(program: Write) -> None:
    path = program(
        """
        import json
        def twice(pair):  # @called
            return pair * 2  # @hook
        x = json.loads('[1]', parse_int=twice)  # @call
        y = json.dumps(x)  # @dumps
        name = input("name? ")  # @input
        """
    )
    with Ide.of(path) as ide:
        ide.send("setBreakpoint", file=str(path), line=line_of(path, "call"))
        ide.send("start")
        ide.stopped("breakpoint", line_of(path, "call"))
        lines = []
        while not lines or lines[-1] != line_of(path, "input"):
            ide.send("stepInto")
            place = ide.until("stopped")["location"]
            assert place["file"] == str(path)
            lines.append(place["line"])
        assert line_of(path, "hook") in lines
        ide.send("stepInto")
        assert "waits for its standard input" in ide.until("error")["message"]
        assert ide.text == "name? "
        ide.send("input", text="Zoe\n")
        ide.extended = True
        ide.until("exited", exitCode=0)


def test_a_plain_client_with_a_breakpoint_in_a_library_stops_there(program: Write) -> None:
    path = program("import json\nx = json.loads('[1]')\n")
    text = Path(json.__file__).read_text().splitlines()
    line = next(number for number, each in enumerate(text, 1) if "_default_decoder.decode(s)" in each)
    with Ide.of(path) as ide:
        ide.send("setBreakpoint", file=json.__file__, line=line)
        ide.send("start")
        assert ide.stopped("breakpoint", line)["location"]["file"] == json.__file__


def test_the_stdio_command_debugs_what_the_client_names(program: Write) -> None:
    path = program("x = 1\n")
    with Ide("stdio") as ide:
        assert "params.file is missing" in ide.refused("initialize")
        ide.send("initialize", file=str(path))
        ide.expect("initialized")
        ide.send("start")
        ide.stopped("entry", 1)


def test_the_file_of_the_command_line_is_debugged_if_initialize_names_none(program: Write) -> None:
    path = program("x = 1\n")
    with Ide("debugserver", path) as ide:
        ide.send("initialize")
        ide.expect("initialized", file=str(path))


class FieldIde:
    """As IDEs of the field are: `initialize` as soon as the process runs, `start` when that is answered, the variables
    after each stop, a step when they have come; each piece of output is taken for whole lines."""

    def __init__(self, file: Path) -> None:
        self.lines: list[int] = []
        self.values: dict[str, str] = {}
        self.output = ""
        self.ended = False
        env = {**os.environ, RUN_MARKER: RUN_ID}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*COMMAND, "debugserver", str(file)], stdin=pipe, stdout=pipe, env=env)
        self.send("initialize", {"file": str(file), "workingDir": str(file.parent)})

    def send(self, command: str, params: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"type": "command", "command": command, "params": params}).encode() + b"\n")
        self.process.stdin.flush()

    def run(self) -> None:
        for piece in self.pieces():
            for line in piece.strip().split("\n"):
                self.handle(json.loads(line))
            if self.ended:
                return

    def pieces(self) -> Iterator[str]:
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 1 << 20):
            yield data.decode()

    def handle(self, event: dict[str, Any]) -> None:
        data = event["data"]
        match event["event"]:
            case "initialized":
                self.send("start", {})
            case "stopped":
                self.lines.append(data["location"]["line"])
                self.send("getVariables", {"frameIndex": 0})
                self.send("stepInto", {})
            case "variableUpdate":
                self.values[data["name"]] = data["value"]
            case "variables":
                self.values |= {row["name"]: row["value"] for row in data["variables"]}
            case "output":
                self.output += data["text"]
            case "exited":
                assert data["exitCode"] == 0
                self.ended = True
            case other:
                assert other == "started", event


@IN_PYTHON
def test_an_ide_of_the_field_steps_through_a_program(sums: Debugged) -> None:
    ide = FieldIde(sums.program)
    try:
        ide.run()
        assert ide.process.wait(SECONDS) == 0
    finally:
        ide.process.kill()
        ide.process.communicate()
    inside = [sums.line(mark) for mark in ("inside", "return")]
    assert [line for line in ide.lines if line in inside] == inside
    assert ide.values["answer"] == "30"
    assert ide.output == "Result: 30\n"


DOCUMENTED = [name for name, event in EVENTS.items() if not event.extension]


def test_every_event_of_the_document_is_seen(program: Write) -> None:
    """In one session, of a client that knows nothing else."""
    path = program("def f(n):\n    m = n + 1\n    return m\nx = f(1)\nprint(x)\nx = f(2)\n")
    seen: set[str] = set()
    with Ide.of(path) as ide:
        ide.refused("stepInto", "Cannot step: program not started")
        ide.send("setBreakpoint", file=str(path), line=2)
        ide.send("start")
        ide.stopped("breakpoint", 2)
        ide.send("stepOver")
        ide.send("getStackTrace")
        ide.send("getVariables")
        ide.send("evaluate", expression="m")
        ide.send("clearBreakpoint", file=str(path), line=2)
        ide.until("breakpointCleared")
        ide.send("continue")
        ide.until("exited")
        seen.update(ide.events)
    with Ide.of(path) as ide:
        ide.send("terminate")
        ide.until("terminated")
        seen.update(ide.events)
    assert seen == set(DOCUMENTED)


def test_it_starts_without_what_other_commands_need() -> None:
    """An IDE waits for it: no web framework, no command-line library."""
    code = "import sys; sys.argv[1:] = ['stdio']; import opencode_debugger.__main__ as m\n"
    code += "try: m.main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'typer', 'fastapi', 'pydantic', 'uvicorn', 'psutil'} & set(sys.modules)), file=sys.stderr)"
    env = {**os.environ, RUN_MARKER: RUN_ID}
    done = subprocess.run([sys.executable, "-c", code], input=b"", capture_output=True, timeout=SECONDS, env=env)
    assert done.stderr.strip() == b"[]"
