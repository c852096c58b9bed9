"""What the EZ protocol's document names as future extensions: there for clients that ask for them, unseen by others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from native import Builder
from quick_ide import Ide
from relays import line_of

from opencode_debugger.ez.protocol import CAPABILITIES, EVENTS

Write = Callable[..., Path]

COUNT = """
def count(n):
    total = 0
    for i in range(n):
        total += i  # @add
    return total  # @return
first = count(3)
second = count(5)  # @second
print(first, second)  # @print
"""


def test_initialize_says_which_extensions_there_are_to_those_who_know_any(program: Write, build: Builder) -> None:
    path = program("x = 1\n")
    with Ide("stdio", extended=True) as ide:
        ide.send("initialize", file=str(path), capabilities=[])
        python = ide.expect("initialized")["capabilities"]
        assert set(CAPABILITIES) - set(python) == {"dataBreakpoints", "reverse"}
        ide.send("initialize", file=str(build("sums").program), capabilities=["pause"])
        assert ide.expect("initialized")["capabilities"] == list(CAPABILITIES)
        ide.extended = False
        ide.send("initialize", file=str(path))
        assert ide.expect("initialized") == {"file": str(path)}


def test_breakpoints_with_conditions_hit_counts_messages_and_functions(program: Write) -> None:
    path = program(COUNT)
    line = {mark: line_of(path, mark) for mark in ("add", "return", "second", "print")}
    with Ide.of(path, extended=True) as ide:
        wishes = [
            {"file": str(path), "line": line["add"], "condition": "i == 2", "hitCondition": ">=2"},
            {"file": str(path), "line": line["print"], "logMessage": "second is {second}"},
            {"function": "count", "hitCondition": "2"},
        ]
        for number, wish in enumerate(wishes, 1):
            ide.send("setBreakpoint", **wish)
            ide.expect("breakpointSet", id=number)
        ide.send("start")
        ide.stopped("breakpoint", 2, breakpointId=3)
        ide.send("clearBreakpoint", function="count")
        assert ide.until("breakpointCleared") == {"function": "count"}
        ide.send("continue")
        ide.stopped("breakpoint", line["add"], breakpointId=1)
        ide.send("continue")
        ide.until("exited", exitCode=0)
        assert sorted(ide.text.splitlines()) == ["3 10", "second is 10"]


def test_breakpoints_on_functions_say_where_they_are_and_at_last_if_nowhere(program: Write, build: Builder) -> None:
    path, sums = program(COUNT), build("sums")
    with Ide.of(path, extended=True) as ide:
        for wish in ({"function": "count"}, {"function": "count", "file": str(path)}):
            ide.send("setBreakpoint", **wish)
            ide.expect("breakpointSet", function="count", file=str(path), line=2)
        ide.refused("setBreakpoint", f"No function 'nowhere' in {path}", function="nowhere", file=str(path))
        ide.send("setBreakpoint", function="nowhere")
        assert "line" not in ide.expect("breakpointSet")
        for wish in ({"function": "count"}, {"function": "count", "file": str(path)}):
            ide.send("clearBreakpoint", **wish)
            ide.expect("breakpointCleared")
        ide.send("start")
        assert "The program never loaded a function 'nowhere'" in ide.until("error")["message"]
        ide.expect("exited", exitCode=0)
    with Ide.of(sums.program, extended=True) as ide:
        ide.send("start")
        ide.until("stopped")
        ide.send("setBreakpoint", function="add")
        ide.until("breakpointSet", file=str(sums.source), line=sums.line("inside"))


def test_a_condition_that_cannot_be_evaluated_stops_and_is_told(program: Write) -> None:
    path = program(COUNT)
    with Ide.of(path, extended=True) as ide:
        ide.send("setBreakpoint", file=str(path), line=line_of(path, "add"), condition="nothing > 1")
        ide.send("start")
        error = ide.until("error", location={"file": str(path), "line": line_of(path, "add"), "column": 1})
        assert "NameError" in error["message"] and "command" not in error
        assert "NameError" in ide.stopped("breakpoint", line_of(path, "add"))["text"]


def test_setting_and_clearing_a_conditional_breakpoint_does_not_stop_a_running_program(program: Write) -> None:
    path = program("n = 0\nwhile True:\n    n += 1\n")
    with Ide.of(path, extended=True) as ide:
        ide.send("start", stopOnEntry=False)
        for _ in range(5):
            ide.send("setBreakpoint", file=str(path), line=3, condition="False")
            ide.send("clearBreakpoint", file=str(path), line=3)
        for _ in range(5):
            ide.until("breakpointCleared")
        ide.send("getThreads")
        ide.expect("threads")
        assert "stopped" not in ide.events


def test_watches_are_told_after_each_stop(program: Write) -> None:
    path = program(COUNT)
    with Ide.of(path, extended=True) as ide:
        ide.send("addWatch", expression="total * 2")
        assert ide.expect("watchAdded") == {"id": 1, "expression": "total * 2"}
        ide.send("setBreakpoint", file=str(path), line=line_of(path, "return"))
        ide.send("start")
        ide.until("watches", watches=[{"id": 1, "expression": "total * 2", "value": "6", "type": "int"}])
        ide.send("getWatches", frameIndex=1)
        (row,) = ide.expect("watches")["watches"]
        assert "NameError" in row["error"]
        ide.send("removeWatch", id=1)
        ide.expect("watchRemoved", id=1)
        ide.refused("removeWatch", "There is no watch 1", id=1)
        ide.send("stepOut")
        ide.until("stopped")
        ide.send("getWatches")
        assert ide.until("watches") == {"watches": []}


def test_variables_are_given_new_values(program: Write) -> None:
    path = program("x = 1\nitems = [1, 2]\nprint(x, items)\n")
    with Ide.of(path, extended=True) as ide:
        ide.send("setBreakpoint", file=str(path), line=3)
        ide.send("start")
        ide.until("stopped")
        ide.send("setVariable", name="x", value="40 + 2", frameIndex=0)
        assert ide.expect("variableUpdate") == {"name": "x", "value": "42", "type": "int", "frameIndex": 0}
        ide.send("setVariable", name="items[0]", value="'a'")
        ide.expect("variableUpdate", name="items[0]", value="'a'")
        ide.refused("setVariable", "NameError", name="x", value="nothing")
        ide.send("continue")
        ide.until("exited")
        assert ide.text == "42 ['a', 2]\n"


THREADS = """
import threading
ready, go_on = threading.Event(), threading.Event()
def work(n):
    own = n * 10
    ready.set()
    go_on.wait(30)
worker = threading.Thread(target=work, args=(4,), name="worker")
worker.start()
ready.wait(30)
here = 1  # @here
go_on.set()
worker.join()
"""


def test_threads_are_listed_and_looked_at(program: Write) -> None:
    path = program(THREADS)
    with Ide.of(path, extended=True) as ide:
        ide.send("setBreakpoint", file=str(path), line=line_of(path, "here"))
        ide.send("start")
        stop = ide.stopped("breakpoint", line_of(path, "here"))
        ide.send("getThreads")
        threads = {row["name"]: row for row in ide.until("threads")["threads"]}
        assert threads["MainThread"]["current"] and threads["MainThread"]["id"] == stop["threadId"]
        worker = threads["worker"]
        assert (worker["state"], worker["current"]) == ("stopped", False)
        ide.send("getStackTrace", threadId=worker["id"])
        frames = ide.expect("stackTrace")["frames"]
        index = next(frame["index"] for frame in frames if frame["function"] == "work")
        ide.send("getVariables", threadId=worker["id"], frameIndex=index)
        rows = {row["name"]: row["value"] for row in ide.expect("variables", frameIndex=index)["variables"]}
        assert rows == {"n": "4", "own": "40"}
        ide.send("stepOver", threadId=stop["threadId"])
        ide.stopped("step", line_of(path, "here") + 1, threadId=stop["threadId"])
        ide.send("continue")
        ide.until("exited", exitCode=0)


def test_a_running_program_is_paused(program: Write) -> None:
    path = program("n = 0\nwhile True:\n    n += 1\n    n -= 1\n")
    with Ide.of(path, extended=True) as ide:
        ide.send("start", stopOnEntry=False)
        ide.expect("started")
        ide.send("pause")
        assert ide.until("stopped", reason="pause")["location"]["file"] == str(path)
        ide.send("stepOver")
        ide.until("stopped", reason="step")


def test_a_step_that_goes_nowhere_can_be_paused_and_what_was_sent_meanwhile_is_answered_then(program: Write) -> None:
    body = "    print('on')\n    n = 0\n    while True:\n        n += 1\n        n -= 1\n"
    path = program(f"def forever():\n{body}forever()\n")
    with Ide.of(path, extended=True) as ide:
        ide.send("start")
        ide.until("stopped")
        ide.send("stepOver")
        ide.stopped("step", 7)
        ide.send("stepOver")
        ide.send("getStackTrace")
        ide.until("output")
        ide.send("pause")
        ide.until("stopped", reason="pause")
        assert ide.expect("stackTrace")["frames"][0]["function"] == "forever"


def test_a_program_that_cannot_be_paused_says_why(program: Write) -> None:
    path = program("import hashlib\nprint('now'); hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)\n")
    with Ide.of(path, extended=True) as ide:
        ide.send("start", stopOnEntry=False)
        ide.until("output")
        ide.send("pause")
        assert "inside a long call" in ide.until("error", command="pause")["message"]


def test_a_program_that_waits_for_its_input_says_so_and_gets_it(program: Write) -> None:
    path = program("import sys\nname = input('name? ')\nprint('hello', name, sys.stdin.read())\n")
    with Ide.of(path, extended=True) as ide:
        ide.send("start", stopOnEntry=False)
        ide.until("inputRequested", prompt="name? ")
        ide.send("input", text="Zoë\n")
        assert ide.expect("inputAccepted") == {"bytes": 5}
        ide.send("input", text="rest", eof=True)
        ide.until("exited", exitCode=0)
        assert ide.text == "name? hello Zoë rest\n"


RAISING = """
def risky(n):
    return 1 / n  # @raise
try:
    risky(0)
except ZeroDivisionError:
    pass
risky(0)
"""


def test_exceptions_stop_the_program_as_the_client_wants(program: Write) -> None:
    path = program(RAISING)
    line = line_of(path, "raise")
    with Ide.of(path, extended=True) as ide:
        ide.send("setExceptionBreakpoints", filters=["raised"])
        ide.expect("exceptionBreakpointsSet", filters=["raised"])
        ide.send("start", stopOnEntry=False)
        assert ide.stopped("exception", line)["text"] == "ZeroDivisionError: division by zero"
        assert "error" not in ide.events  # it may be caught, and is
        ide.send("setExceptionBreakpoints", filters=[])
        ide.expect("exceptionBreakpointsSet")
        ide.send("continue")
        assert ide.until("error")["location"]["line"] == line
        ide.until("exited", exitCode=1)
        assert ide.events.count("stopped") == 1


def test_what_nobody_catches_stops_by_default_after_it_was_told(program: Write) -> None:
    path = program(RAISING)
    with Ide.of(path, extended=True) as ide:
        ide.send("start", stopOnEntry=False)
        ide.expect("started")
        error = ide.expect("error")
        assert ide.expect("stopped", reason="exception")["location"] == error["location"]
        ide.send("getVariables")
        assert ide.expect("variables")["variables"] == [{"name": "n", "value": "0", "type": "int"}]
        ide.send("continue")
        ide.until("exited", exitCode=1)


def test_changes_of_values_stop_a_native_program(build: Builder) -> None:
    account = build("account")
    with Ide.of(account.program, extended=True) as ide:
        ide.send("start")
        ide.until("stopped")
        ide.send("setDataBreakpoint", expression="balance")
        ide.until("dataBreakpointSet", id=1, expression="balance", access="write")
        ide.refused("setDataBreakpoint", "cannot be watched", expression="nothing")
        ide.send("continue")
        stop = ide.until("stopped", reason="dataBreakpoint", dataBreakpointId=1)
        assert stop["text"] == "balance changed from 100 to 90"
        ide.send("clearDataBreakpoint", id=1)
        ide.until("dataBreakpointCleared", id=1, expression="balance")
        ide.refused("clearDataBreakpoint", "There is no data breakpoint 1", id=1)
        ide.send("continue")
        ide.until("exited", exitCode=0)


def test_a_native_program_goes_back(build: Builder) -> None:
    sums = build("sums")
    with Ide.of(sums.program, extended=True) as ide:
        ide.send("start")
        ide.stopped("entry", sums.line("entry"))
        ide.send("record")
        assert ide.until("recording") == {"enabled": True}
        for mark in ("second", "call"):
            ide.send("stepOver")
            ide.stopped("step", sums.line(mark))
        ide.send("stepBack")
        ide.stopped("step", sums.line("second"))
        assert ide.expect("variableUpdate", name="y")["value"] != "20"
        ide.send("reverseContinue")
        ide.stopped("step", sums.line("entry"))
        ide.send("record", enabled=False)
        ide.until("recording", enabled=False)
        ide.refused("stepBack")


def test_every_extension_event_has_been_seen_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name, event in EVENTS.items() if event.extension and f'"{name}"' not in text] == []
