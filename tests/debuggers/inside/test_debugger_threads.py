"""Scripts with threads of pydevd's: messages come in order, whoever reads; and the interpreter ends while they work."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from relays import pythons

from opencode_debugger.debuggers.python.launch.start_program import INSIDE, debugpy_folder

FOLDER = Path(__file__).parent
PYTHONS = pythons()


def run(script: str, python: Path) -> tuple[int, str, str]:
    command = [str(python), "-B", str(FOLDER / script), debugpy_folder(), INSIDE]
    environment = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_messages_come_in_order_also_where_the_reader_is_late(python: Path) -> None:
    assert run("message_order.py", python) == (0, "in order\n", "")


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_the_interpreter_ends_when_threads_have_been_given_trace_functions_and_none_gets_one_then(python: Path) -> None:
    """Else a program that is let go when it ends crashes now and then: pydevd starts a thread each time."""
    assert run("late_tracing.py", python) == (0, "before the end ", "")
