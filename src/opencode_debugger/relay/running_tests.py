"""Says how a test is run: by pytest or unittest, with which arguments, and in which folder."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from ..debuggers.python.interpreters.project_environment import has_module
from ..errors import RelayError

NODE = "::"
NO_TEST = "Name it as pytest does, from cwd or absolute: tests/test_cart.py::test_total; or as unittest does, with dots"
DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
PROJECT_FILES = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", ".git")
"""What the folder of a project has."""
SHARES_MODULES = re.compile(r"^include-system-site-packages\s*=\s*true", re.MULTILINE | re.IGNORECASE)


class TestRun(NamedTuple):
    module: str
    args: list[str]
    note: str | None = None
    """why it is not run as one would expect"""


def test_path(test: str) -> str:
    """Return the file or folder that a test is in; of a dotted name, the name."""
    return test.partition(NODE)[0]


def project_above(path: str) -> str:
    """Return the folder of the project that an absolute path is in: the nearest with files that projects have."""
    above = Path(path).parents
    found = (folder for folder in above if any((folder / name).exists() for name in PROJECT_FILES))
    return str(next(found, above[0]))


def run_of_test(test: str, runner: str | None, folder: str, environment: str | None) -> TestRun:
    """Return how to run it in that folder; `environment` is the one that the program gets, if that is known."""
    path = os.path.join(folder, test_path(test))
    is_dotted = DOTTED.fullmatch(test) is not None and not test.endswith(".py") and not os.path.exists(path)
    if not is_dotted and not os.path.exists(path):
        raise RelayError("LAUNCH_SCRIPT_NOT_FOUND", f"There is no test at {path}", path=path, suggestion=NO_TEST)
    lacks_pytest = environment is not None and not _may_import_pytest(environment)
    if runner == "pytest" or not (runner or is_dotted or lacks_pytest):
        # A debugger and a measurement of coverage would take the interpreter's trace function from each other.
        uncovered = ["--no-cov"] if environment is not None and has_module(environment, "pytest_cov") else []
        return TestRun("pytest", ["-q", *uncovered, test])
    note = None if runner or is_dotted else f"There is no pytest in {environment}: the test is run by unittest"
    return TestRun("unittest", _unittest_args(test, folder, is_dotted), note)


def _unittest_args(test: str, folder: str, is_dotted: bool) -> list[str]:
    if is_dotted:
        return [test]
    path, _, inside = test.partition(NODE)
    path = os.path.relpath(os.path.join(folder, path), folder)
    if os.path.isdir(os.path.join(folder, path)):
        return ["discover", "-s", path]
    module = path.removesuffix(".py").replace(os.sep, ".")
    return [".".join([module, *inside.split(NODE)]) if inside else path]


def _may_import_pytest(environment: str) -> bool:
    if has_module(environment, "pytest"):
        return True
    try:
        return SHARES_MODULES.search(Path(environment, "pyvenv.cfg").read_text(errors="replace")) is not None
    except OSError:
        return True  # none that tells
