"""What our code uses and replaces inside pydevd is there, in the debugpy that is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from relays import pythons

from opencode_debugger.debuggers.python.launch.start_program import INSIDE as FOLDER
from opencode_debugger.debuggers.python.launch.start_program import debugpy_folder

HERE = Path(__file__).parent
PYTHONS = pythons(each=True)
INSIDE = Path(FOLDER)
LAUNCHERS = [INSIDE.parent / "launch" / "debugpy_launcher.py", INSIDE.parent / "attach" / "injected.py"]


def missing(python: Path, *files: Path) -> list[str]:
    command = [str(python), "-B", str(HERE / "pydevd_names.py"), debugpy_folder(), *map(str, files)]
    environment = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_every_name_of_pydevd_that_we_lean_on_is_there(python: Path) -> None:
    """If this fails after an update of debugpy, look at the files that it names."""
    found = missing(python, *sorted(INSIDE.rglob("*.py")), *LAUNCHERS)
    assert not found, f"debugpy {version('debugpy')} has changed what we lean on:\n" + "\n".join(found)


def test_a_name_that_is_not_there_is_told_with_its_file(tmp_path: Path) -> None:
    source = tmp_path / "patch.py"
    source.write_text(
        "def install():\n"
        "    import pydevd\n"
        "    from _pydevd_bundle.pydevd_api import Renamed\n\n"
        "    pydevd.PyDB.gone = pydevd.PyDB.set_suspend\n\n\n"
        "def look(py_db):\n"
        "    return py_db.breakpoints, py_db.vanished\n"
    )
    found = missing(Path(sys.executable), source)
    assert found[:3] == [
        f"{source}:3 leans on _pydevd_bundle.pydevd_api.Renamed",
        f"{source}:5 leans on pydevd.PyDB.gone",
        f"{source}:9 leans on py_db.vanished",
    ]
