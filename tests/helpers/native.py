"""Native programs to debug: compiled once per test run, whichever worker needs them first."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
from places import TESTS
from relays import line_of

from opencode_debugger.debuggers import trusted_gdb

SOURCES = TESTS / "native_programs"
FLAGS = ["-g", "-O0", "-Wall", "-Werror", "-pthread"]
COMPILERS = {".c": ["gcc", *FLAGS], ".cpp": ["g++", *FLAGS], ".rs": ["rustc", "-g", "--edition", "2021"]}


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
        source = source or next(SOURCES.glob(f"{name}.[cr]*"))
        program = self.folder / "".join([name, *(flag.replace("/", "_") for flag in flags)])
        with open(f"{program}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                _compile(source, program, flags)
        return Native(source, program)


def build_copy(name: str, folder: Path) -> Native:
    """A program whose source is the test's own, to change it."""
    source = folder / next(SOURCES.glob(f"{name}.[cr]*")).name
    source.write_bytes((SOURCES / source.name).read_bytes())
    return Builder(folder)(name, source=source)


def _compile(source: Path, program: Path, flags: tuple[str, ...]) -> None:
    unfinished = program.with_name(f"{program.name}.new")
    command = [*COMPILERS[source.suffix], *flags, "-o", str(unfinished), str(source)]
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


def core_of(native: Native) -> Path:
    """What a crash of the program leaves: made by gdb, since systems put theirs in different places."""
    core = native.program.with_name(f"{native.program.name}.core")
    with open(f"{core}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not core.exists():
            gdb = trusted_gdb.find(None)
            script = ["-ex", "run", "-ex", f"generate-core-file {core}", str(native.program)]
            command = [*gdb.command, "-nx", "-batch", "-iex", "set debuginfod enabled off", *script]
            done = subprocess.run(command, env={**os.environ, **gdb.environment}, capture_output=True, check=False)
            assert core.exists(), done.stderr
    return core

WAYS: dict[str, dict[str, str]] = {
    "gdb": {"adapter": "gdb"},
    "lldb": {"adapter": "lldb"},
    "gdbserver": {"debugger": "gdbserver"},
    "lldb-server": {"debugger": "lldb-server"},
}
