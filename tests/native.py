"""Native programs to debug: compiled once per test run, whichever worker needs them first."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
from relays import line_of

SOURCES = Path(__file__).parent / "native_programs"
FLAGS = ["-g", "-O0", "-Wall", "-Werror"]


class Native:
    """A compiled program and its source."""

    def __init__(self, source: Path, program: Path) -> None:
        self.source = source
        self.program = program

    def line(self, mark: str) -> int:
        """The number of the line that ends in `// @mark`."""
        return line_of(self.source, mark)


class Builder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, *flags: str, source: Path | None = None) -> Native:
        """The program of that name, built with further flags if any are given."""
        source = source or next(SOURCES.glob(f"{name}.c*"))
        program = self.folder / "".join([name, *(flag.replace("/", "_") for flag in flags)])
        with open(f"{program}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                _compile(source, program, flags)
        return Native(source, program)


def _compile(source: Path, program: Path, flags: tuple[str, ...]) -> None:
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    unfinished = program.with_name(f"{program.name}.new")
    command = [compiler, *FLAGS, *flags, "-pthread", "-o", str(unfinished), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    unfinished.rename(program)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Workers of one run share the folder above their own."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "native"
    folder.mkdir(exist_ok=True)
    return Builder(folder)
