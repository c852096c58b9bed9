"""Messages to the runner are sent by the thread that has them, in order, and no thread waits for whoever reads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from relays import pythons

from opencode_debugger.debuggers.python.launch.start_program import INSIDE, debugpy_folder

SCRIPT = Path(__file__).with_name("message_order.py")
PYTHONS = pythons()


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_messages_come_in_order_also_where_the_reader_is_late(python: Path) -> None:
    command = [str(python), "-B", str(SCRIPT), debugpy_folder(), INSIDE]
    environment = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "in order\n", "")
