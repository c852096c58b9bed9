"""Whole sessions from a shell: programs are run, stopped, looked into and ended by single commands."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command import COMMAND, Ocdb, own_ocdb
from native import Builder
from relays import line_of
from targets import running
from waiting import wait_until

from opencode_debugger.cli.exit_codes import ENDED, INTERRUPTED, RUNNING

Program = Callable[..., Path]

COUNTING = """
    import sys

    def count(limit):
        total = 0
        for number in range(limit):
            total += number  # @add
        return total  # @return

    print("counts", sys.argv[1:])
    print(count(int(sys.argv[1])))  # @call
"""
ENDLESS = """
    import time

    print("begun", flush=True)
    while True:
        time.sleep(0.01)
"""


@pytest.fixture
def counting(program: Program) -> Path:
    return program(COUNTING, "counting.py")


def place(path: Path, mark: str) -> str:
    return f"{path.name}:{line_of(path, mark)}"


def test_a_python_program_is_debugged_by_single_commands(shell: Ocdb, counting: Path) -> None:
    add, back = line_of(counting, "add"), line_of(counting, "return")
    stopped = shell("run", "counting.py", "-b", f"counting.py:{add} if number == 1", "--", "3", "--verbose")
    assert f"paused: breakpoint bp_1 at counting.py:{add} in count" in stopped
    assert "counts ['3', '--verbose']" in stopped
    assert shell("print", "number", "+", "41") == "42\n"
    assert shell("print", "number / 0", code=1) == "raised ZeroDivisionError: division by zero\n"
    assert shell("p", "--frame", "1", "count.__name__") == "'count'\n"
    assert "limit: int = 3" in shell("look")
    assert "1 <module> counting.py:" in shell("bt")
    assert "total += number  # @add" in shell("source", str(add), "--around", "0")
    assert "changed: total: 0 → 1" in shell("n")
    assert "number: 1 → 2" in shell("s")
    shell("set", "total", "100")
    assert "condition is met" in shell("until", "total == 102")
    assert f"counting.py:{back} in count" in shell("to", str(back))
    assert "102" in shell("out")
    assert "exited with code 0" in shell("c", code=ENDED)
    assert shell("output").splitlines()[-1] == "102"
    assert "deleted" in shell("end")
    assert re.search("There is no session|sessions", shell.refuse("c"))


def test_a_program_is_restarted_and_shown_on_its_page(ocdb: Ocdb, counting: Path) -> None:
    where = place(counting, "add")
    session = ocdb.json("run", "-b", where, "counting.py", "2")["session_id"]
    ocdb("next")
    assert f"paused: breakpoint bp_1 at {where} in count" in ocdb("restart")
    address = ocdb("open", "--print", session)
    assert address.endswith(f"#/sessions/{session}\n")
    assert ocdb.json("open", "--print") == {"url": address.strip(), "session_id": session}
    assert "sess_none" in ocdb.refuse("open", "--print", "sess_none")
    ocdb("end")


def test_tasks_are_listed(ocdb: Ocdb, program: Program) -> None:
    path = program("""
        import asyncio

        async def main():
            sleeper = asyncio.create_task(asyncio.sleep(100), name="sleeper")
            await asyncio.sleep(0)
            sleeper.cancel()  # @here

        asyncio.run(main())
    """, "sleeping.py")
    ocdb("run", "-b", place(path, "here"), "sleeping.py")
    assert "sleeper" in ocdb("tasks")
    ocdb("end")


def test_a_native_program_is_debugged_by_the_same_commands(ocdb: Ocdb, tmp_path: Path, build: Builder) -> None:
    source = tmp_path / "adding.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "static int add(int a, int b) {\n"
        "  int sum = a + b;\n"
        "  return sum; // @sum\n"
        "}\n"
        "int main(int argc, char **argv) { return add(40, argc > 1 ? atoi(argv[1]) : 0) - 42; }\n", encoding="utf-8")
    native = build("adding_of_ocdb", source=source)
    stopped = ocdb("run", "-b", f"{source}:{native.line('sum')}", native.program, "2")
    assert "in add" in stopped
    assert "sum = 42" in stopped
    assert ocdb("p", "a * 2").strip().startswith("80")
    assert "main" in ocdb("stack")
    assert "exited with code 0" in ocdb("continue", code=ENDED)


def test_a_failing_test_stops_where_it_goes_wrong(ocdb: Ocdb, program: Program) -> None:
    test = program("""
        def halve(number):
            return number // 2  # @wrong

        def test_halves():
            assert halve(3) == 1.5  # @fails
    """, "test_halving.py")
    stopped = ocdb("test", "test_halving.py::test_halves", "--python", sys.executable, "--wait", "120")
    assert f"paused: exception at test_halving.py:{line_of(test, 'fails')} in test_halves" in stopped
    assert "AssertionError" in stopped
    assert "1 failed" in ocdb("c", code=ENDED)


def test_a_failing_unittest_stops_where_it_goes_wrong(ocdb: Ocdb, program: Program) -> None:
    program("""
        import unittest

        class Halving(unittest.TestCase):
            def test_halves(self):
                self.assertEqual(3 // 2, 1.5)
    """, "halving_case.py")
    assert "in test_halves" in ocdb("test", "--unittest", "halving_case.Halving.test_halves")


def test_a_program_is_started_as_one_types_it(ocdb: Ocdb, program: Program) -> None:
    program("import sys\nprint('module', sys.argv[1:])\n", "telling.py")
    assert "out| module ['a', '-b c']" in ocdb("run", "-m", "telling", "--", "a", "-b c", code=ENDED)
    assert "out| module ['a']" in ocdb("run", "python", "-X", "dev", "telling.py", "a", code=ENDED)
    code = "import os; print(1 + 2, os.environ['WORD'])"
    assert "out| 3 x y" in ocdb("run", "--env", "WORD=x y", "-c", code, code=ENDED)
    assert "out| plain" in ocdb("run", "echo", "plain", code=ENDED)


def test_an_option_among_the_arguments_is_the_program_s_and_that_is_said(ocdb: Ocdb, counting: Path) -> None:
    answer = ocdb.ask("run", "counting.py", "2", "--json")
    assert (answer.code, "['2', '--json']" in answer.text) == (ENDED, True)
    assert "--json after the program's arguments" in answer.errors
    assert ocdb.ask("run", "counting.py", "--", "2", "--json").errors == ""


def test_a_breakpoint_may_come_after_the_arguments(ocdb: Ocdb, counting: Path) -> None:
    assert "in count" in ocdb("run", "counting.py", "2", "-b", place(counting, "add"))


def test_input_is_sent_when_the_program_waits_for_it(ocdb: Ocdb, program: Program) -> None:
    program("print('hello', input('name? '))\n", "asking.py")
    assert "waits for input after 'name? '" in ocdb("run", "asking.py", code=RUNNING)
    assert "hello Ann" in ocdb("input", "Ann", code=ENDED)
    assert "hello Bob" in ocdb("run", "--stdin", "Bob", "asking.py", code=ENDED)


def test_a_program_that_never_stops_is_told_of_and_can_be_paused(ocdb: Ocdb, program: Program) -> None:
    program(ENDLESS, "endless.py")
    assert "running" in ocdb("run", "--wait", "0.2", "endless.py", code=RUNNING)
    assert "running" in ocdb("wait", "0.2", code=RUNNING)
    assert "paused: pause at endless.py" in ocdb("pause")
    assert "running" in ocdb("c", "--wait", "0.2", code=RUNNING)


def test_ctrl_c_ends_the_wait_and_the_program_goes_on(ocdb: Ocdb, program: Program) -> None:
    program(ENDLESS, "endless.py")
    waiting = ocdb.begin("run", "--wait", "60", "endless.py")
    wait_until(lambda: "running: endless.py" in ocdb("ls"), lambda: ocdb("ls"))
    waiting.send_signal(signal.SIGINT)
    _, errors = waiting.communicate(timeout=60)
    assert waiting.returncode == INTERRUPTED
    assert "the program goes on" in errors
    assert "paused: pause at endless.py" in ocdb("pause")


def test_breakpoints_are_added_listed_switched_and_removed(ocdb: Ocdb, counting: Path) -> None:
    ocdb("run", "-b", place(counting, "call"), "counting.py", "3")
    ocdb("break", place(counting, "add"), "if", "number", "==", "2")
    ocdb("break", "--disable", "bp_1")
    listed = ocdb("break")
    assert ("bp_1" in listed, "bp_2" in listed, "number == 2" in listed) == (True, True, True)
    assert "number = 2" in ocdb("c")
    ocdb("break", "--remove", "all")
    assert "bp_" not in ocdb("break")
    ocdb("break", "--on", "ValueError")
    assert "exited" in ocdb("c", code=ENDED)


def test_watches_are_shown_at_each_stop(ocdb: Ocdb, counting: Path) -> None:
    ocdb("run", "-b", place(counting, "add"), "-w", "number * 10", "counting.py", "3")
    ocdb("watch", "total - 1")
    listed = ocdb("watch")
    assert ("number * 10" in listed, "total - 1" in listed) == (True, True)
    assert "number * 10" in ocdb("c")
    ocdb("watch", "--remove", "all")
    assert "total - 1" not in ocdb("watch")


def test_output_is_followed_until_the_program_has_ended(ocdb: Ocdb, program: Program) -> None:
    program("""
        import sys

        print("first", flush=True)
        for line in sys.stdin:
            print("got", line, end="", flush=True)
        print("last")
    """, "echoing.py")
    ocdb("run", "--wait", "0", "echoing.py", code=RUNNING)
    following = ocdb.begin("output", "-f")
    assert following.stdout is not None
    assert following.stdout.readline() == "first\n"
    ocdb("input", "one", "--wait", "0", code=RUNNING)
    assert following.stdout.readline() == "got one\n"
    ocdb("input", "--eof", code=ENDED)
    rest, errors = following.communicate(timeout=60)
    assert (rest, errors, following.returncode) == ("last\n", "", 0)


def test_a_process_is_attached_to_and_let_go(ocdb: Ocdb, program: Program) -> None:
    script = program("""
        import time

        print("ready", flush=True)
        while True:
            time.sleep(0.01)
    """, "serving.py")
    with running(script) as target:
        assert str(target.pid) in ocdb("processes", "serving.py")
        assert "serving.py" in ocdb("attach", str(target.pid), "--pause")
        ocdb("end", "--detach")
        assert target.is_alive


def test_json_is_the_lean_answer(ocdb: Ocdb, counting: Path) -> None:
    stopped = ocdb.json("run", "-b", place(counting, "add"), "counting.py", "3")
    assert stopped["status"] == "paused"
    assert {"name": "limit", "value": "3"} in stopped["locals"]
    assert ocdb.json("print", "limit")["result"] == "3"
    assert [each["session_id"] for each in ocdb.json("ls")["items"]][-1] == stopped["session_id"]
    assert json.loads(ocdb.refuse("print", "nope +", "--json"))["code"] == "EVALUATE_ERROR"


def test_secrets_are_masked_unless_they_are_asked_for(ocdb: Ocdb, program: Program) -> None:
    program("password = 'hunter2'\nprint(len(password))\n", "secret.py")
    assert "hunter2" not in ocdb("run", "-b", "secret.py:2", "secret.py").split("locals:")[1]
    assert "hunter2" in ocdb("look", "--reveal")


def test_any_operation_can_be_called(ocdb: Ocdb, counting: Path) -> None:
    assert "healthy" in ocdb("call", "health")
    assert "modules: " in ocdb("call")
    ocdb("run", "-b", place(counting, "add"), "counting.py", "3")
    assert "1024" in ocdb("call", "evaluate", "expression=2 ** 10")
    assert "total" in ocdb("call", "frame_variables", "frame_id=0", "count=2")
    assert "did you mean" in ocdb.refuse("call", "evaluat").lower()


def test_each_folder_has_its_current_session(ocdb: Ocdb, tmp_path: Path, counting: Path) -> None:
    deeper = tmp_path / "package" / "inner"
    deeper.mkdir(parents=True)
    elsewhere = tmp_path / "package" / "own"
    elsewhere.mkdir()
    here, below, other = ocdb, ocdb.within(deeper), ocdb.within(elsewhere)
    first = here.json("run", "-b", place(counting, "add"), counting, "3")["session_id"]
    second = other.json("run", "-b", f"../../{place(counting, 'return')}", counting, "4")["session_id"]
    assert below("p", "limit") == "3\n"
    assert other("p", "limit") == "4\n"
    assert below("p", "limit", "--session", second) == "4\n"
    assert below("p", "limit") == "3\n"
    below("use", second)
    assert (below("p", "limit"), here("p", "limit")) == ("4\n", "3\n")
    assert {path.stat().st_mode & 0o777 for path in (ocdb.data_dir / "current-sessions").iterdir()} == {0o600}
    other("end")
    assert "SESSION_NOT_FOUND" in below.refuse("p", "limit")
    assert below("p", "limit") == "3\n"
    assert first in here("sessions", first)


def test_a_session_is_named_if_there_are_several(ocdb: Ocdb, tmp_path: Path, program: Program) -> None:
    program(ENDLESS, "endless.py")
    places = [tmp_path / name for name in ("one", "two")]
    for folder in places:
        folder.mkdir()
        ocdb.within(folder)("run", "--wait", "0", tmp_path / "endless.py", code=RUNNING)
    try:
        refused = ocdb.refuse("pause")
        assert "There are 2 sessions" in refused
        _, named, advised = refused.rpartition("for instance ")
        assert (named, ocdb("pause", *advised.split()).partition(" ")[0]) == ("for instance ", advised.split()[1])
    finally:
        for folder in places:
            ocdb.within(folder)("end", "--force")


def test_a_relay_that_was_killed_is_started_again_and_the_session_found(tmp_path: Path, program: Program) -> None:
    counting = program(COUNTING, "counting.py")
    with own_ocdb(tmp_path) as ocdb:
        first = ocdb.ask("run", "-b", place(counting, "add"), "counting.py", "3")
        assert (first.code, "started a relay at http://127.0.0.1:" in first.errors) == (0, True)
        assert ocdb.ask("p", "limit").errors == ""
        ocdb.kill_relay()
        again = ocdb.ask("p", "limit")
        assert (again.code, again.text) == (0, "3\n")
        assert "started a relay" in again.errors
        ocdb("end")


def test_a_relay_of_another_version_is_told_of(tmp_path: Path) -> None:
    with own_ocdb(tmp_path) as ocdb:
        ocdb("ls")
        lock = ocdb.data_dir / "relay.lock"
        lock.write_text(json.dumps({**json.loads(lock.read_bytes()), "version": "0.0.1"}), encoding="utf-8")
        answer = ocdb.ask("ls")
        assert (answer.code, answer.text) == (0, "no sessions\n")
        assert "has version 0.0.1, this client" in answer.errors
        advised = answer.errors.split("`")[1].removeprefix("ocdb ").split()
        ocdb(*advised)
        assert wait_until(lambda: "started a relay" in ocdb.ask("ls").errors)


@pytest.mark.parametrize(("variable", "is_coloured"), [("", True), ("1", False)], ids=["wanted", "NO_COLOR"])
def test_colours_are_for_terminals_and_those_who_want_them(ocdb: Ocdb, variable: str, is_coloured: bool) -> None:
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        env = {**ocdb.env, "NO_COLOR": variable, "TERM": "xterm"}
        command = [*COMMAND, "use", "sess_00000000"]
        subprocess.run(command, cwd=ocdb.folder, env=env, stderr=theirs, timeout=60, check=False)
        os.close(theirs)
        assert (b"\033[31merror SESSION_NOT_FOUND" in terminal.read(1000)) == is_coloured


@pytest.mark.parametrize(("words", "says"), [
    (["run"], "give a program"),
    (["run", "--nonsense", "app.py"], "--nonsense"),
    (["run", "-m", "one", "-c", "two"], "not both"),
    (["run", "--env", "x", "app.py"], "NAME=VALUE"),
    (["run", "--stop-on", "never", "app.py"], "never"),
    (["test"], "give a test"),
    (["attach", "nobody"], "process id"),
    (["wait", "soon"], "soon"),
    (["wait", "9999"], "300"),
    (["print"], "EXPR"),
    (["call", "health", "novalue"], "KEY=VALUE"),
    (["call", "health", "x:={"], "JSON"),
    (["watch", "x", "--remove", "all"], "not both"),
    (["brake"], "did you mean break"),
    (["--session"], "command"),
    (["mcp", "install", "emacs"], "claude-code"),
    (["completion", "tcsh"], "bash"),
], ids=lambda value: "-".join(value) if isinstance(value, list) else "")
def test_wrong_arguments_are_told_in_a_line_with_what_to_do(ocdb: Ocdb, words: list[str], says: str) -> None:
    assert says in ocdb.refuse(*words, code=2)


@pytest.mark.parametrize(("words", "says"), [
    (["run", "nowhere.py"], "nowhere.py does not exist"),
    (["run", "counting.py", "-b", "counting.py:200"], "Line 200 does not exist"),
    (["run", "counting.py", "-b", "counting.py:9 if ("], "was never closed"),
    (["use", "sess_00000000"], "sess_00000000"),
    (["print", "1", "--session", "sess_00000000"], "sess_00000000"),
    (["ls", "--server", "http://127.0.0.1:1"], "127.0.0.1:1"),
    (["ls", "--token-file", "nowhere"], "nowhere"),
    (["ls", "--server", "ftp://x"], "ftp://x"),
], ids=lambda value: "-".join(value) if isinstance(value, list) else "")
def test_what_is_not_there_is_told_in_a_line_with_what_to_do(
    ocdb: Ocdb, counting: Path, words: list[str], says: str
) -> None:
    assert says in ocdb.refuse(*words)


def test_a_breakpoint_that_cannot_stop_the_program_is_told_of(ocdb: Ocdb, counting: Path) -> None:
    told = ocdb("run", "-b", "counting.py:2", "-b", "nowhere.py:2", "counting.py", "1", code=ENDED)
    assert "bp_1: No executable code at line 2" in told
    assert "bp_2: Source file not found" in told


def test_an_answer_that_nobody_reads_is_no_error_of_ours(ocdb: Ocdb) -> None:
    shell = subprocess.run(
        ["bash", "-c", f"{shlex.join(COMMAND)} call | head -1"], cwd=ocdb.folder, env=ocdb.env, capture_output=True,
        text=True, timeout=60, check=True)
    assert (shell.stdout.count("\n"), shell.stderr) == (1, "")
