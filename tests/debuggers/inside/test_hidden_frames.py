"""Functions whose frames nobody sees harm no interpreter that has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from relays import pythons

from opencode_debugger.debuggers.python.launch.start_program import INSIDE, debugpy_folder

SCRIPT = Path(__file__).with_name("hidden_frames.py")


@pytest.mark.skipif("3.12" not in pythons("3.12"), reason="it has no Python 3.12")
def test_frames_are_hidden_from_all_that_looks_at_frames() -> None:
    command = [str(pythons("3.12")["3.12"]), "-X", "dev", "-B", str(SCRIPT), debugpy_folder(), INSIDE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "93 looked at\n", "")
