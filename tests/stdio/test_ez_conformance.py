"""The test suite for debuggers that speak the EZ protocol: ours passes, a stand-in of the one in the field does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from ez_client import COMMAND
from native import Builder
from places import STAND_IN
from relays import RUN_ID, RUN_MARKER
from waiting import runs, wait_until

from opencode_debugger.cli.serving.conformance import result_table, summary_line
from opencode_debugger.ez.conformance import ROWS, Result

PROGRAM = """\
import @std
using std

do add(a, b int) -> int {
    temp s int = a + b
    return s
}

do main() {
    temp x int = 10
    temp y int = 20
    temp sum int = add(x, y)
    println("Result: ${sum}")
    println("done")
}
"""
FAILING = """\
import @std

do main() {
    temp x int = 0
    println("before")
    temp y int = 1 / x
}
"""
DEVIATIONS = {
    "quiet", "entry", "functions", "unchanged", "stack", "evaluate", "output", "clean", "exited", "ids", "runs",
    "missing", "wrongValue", "early", "runtime", "failed", "order", "terminateEnds", "eof",
}  # fmt: skip
"""What recordings of that debugger show."""


def run(*argv: str | Path, code: int) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "ez-conformance", *map(str, argv)]
    env = {**os.environ, RUN_MARKER: RUN_ID}
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def results(*argv: str | Path, code: int) -> tuple[dict[str, tuple[str, str]], Any]:
    """Outcome and note by key, and the extensions."""
    answer = json.loads(run("--json", *argv, code=code).stdout)
    rows = answer["results"]
    assert [(row["section"], row["what"]) for row in rows] == list(ROWS.values())
    return {key: (row["outcome"], row["note"]) for key, row in zip(ROWS, rows, strict=True)}, answer["extensions"]


def test_our_debugger_conforms_completely_with_a_python_program() -> None:
    found, extensions = results("--timeout", "20", "--", *COMMAND, "debugserver", code=0)
    assert {key: row for key, row in found.items() if row != ("conforms", "")} == {}
    assert "pause" in extensions


@pytest.mark.wide
def test_our_debugger_conforms_completely_with_a_native_program(build: Builder) -> None:
    files = ["--file", build("sums").program, "--failing", build("crash").program]
    found, extensions = results("--timeout", "20", *files, "--", *COMMAND, "debugserver", code=0)
    assert {key: row for key, row in found.items() if row != ("conforms", "")} == {}
    assert "reverse" in extensions


@pytest.fixture
def programs(tmp_path: Path) -> list[str]:
    (tmp_path / "test.ez").write_text(PROGRAM)
    (tmp_path / "failing.ez").write_text(FAILING)
    return ["--file", str(tmp_path / "test.ez"), "--failing", str(tmp_path / "failing.ez")]


def test_the_deviations_of_the_debugger_in_the_field_are_found(programs: list[str]) -> None:
    found, extensions = results("--timeout", "10", *programs, "--", sys.executable, STAND_IN, "debugserver", code=1)
    assert {key for key, (outcome, _) in found.items() if outcome == "deviates"} == DEVIATIONS
    assert {key for key, (outcome, _) in found.items() if outcome == "not checked"} == set()
    assert all(note for outcome, note in found.values() if outcome == "deviates")
    assert extensions is None


def test_the_table_names_each_deviation() -> None:
    rows = [Result("Set Breakpoint", "each has an id", "deviates", "two of them have the id 1")]
    rows += [Result("Output", "it comes", "conforms"), Result("Exited", "it is told")]
    assert result_table(rows).splitlines() == [
        "deviates     Set Breakpoint  each has an id  two of them have the id 1",
        "conforms     Output          it comes",
        "not checked  Exited          it is told",
    ]
    assert summary_line(rows, None).strip() == "conforms: 1, deviates: 1, not checked: 1; extensions: none"


def test_a_command_that_is_no_debugger_deviates_in_all(tmp_path: Path) -> None:
    for body in ("import sys; sys.stdin.read()", """print('{}\\n[1]\\n{"type":"event"}')"""):
        found, _ = results("--timeout", "0.3", "--", sys.executable, "-c", body, code=1)
        assert found["initialize"][0] == "deviates"
        right = {key for key, (outcome, _) in found.items() if outcome == "conforms"}
        assert right <= {"quiet", "shapes"}


def test_what_is_not_there_is_told_in_one_line() -> None:
    for argv, word in ((["--", "no-such-command"], "no-such-command"), (["--file", "/no.ez", "--", "cat"], "/no.ez")):
        done = run(*argv, code=1)
        assert done.stdout == "" and word in done.stderr and done.stderr.count("\n") == 1


def test_a_debugger_that_never_reads_holds_up_nobody_and_ends_with_the_test(tmp_path: Path) -> None:
    deaf = tmp_path / "deaf.py"
    deaf.write_text("import time\ntime.sleep(100)\n")
    done = run("--timeout", "0.2", "--", sys.executable, deaf, code=1)
    assert "it has not read its stdin for 0.2 s" in done.stdout
    command = [*COMMAND, "ez-conformance", "--timeout", "60", "--", sys.executable, str(deaf)]
    with subprocess.Popen(command, env={**os.environ, RUN_MARKER: RUN_ID}) as process:
        own = psutil.Process(process.pid)
        (under_test,) = wait_until(own.children)  # so that it is ended also while it starts its debugger
        process.terminate()
        assert process.wait(20) == 143
        assert not runs(under_test.pid)
