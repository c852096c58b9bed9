"""Code with tests put in front of its lines does what it did, and is tested exactly where a trace function is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from relays import pythons

HERE = Path(__file__).parent
INSIDE = HERE.parents[2] / "src/opencode_debugger/debuggers/python/inside"
PYTHONS = pythons("3.8", "3.9", "3.10", "3.11", each=True)


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS.keys())
def test_tests_come_exactly_where_lines_begin(python: Path) -> None:
    command = [python, "-B", "-W", "error", str(HERE / "assembly_proof.py"), str(INSIDE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
