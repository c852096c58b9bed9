"""What make sets up: for serving only what serving needs, and nothing twice."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from places import ROOT

NEEDED = ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock", "scripts")
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")
"""Set where make itself runs the tests."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone in which nothing is set up, as far as make looks at it."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in NEEDED:
        path = ROOT / name
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, folder / name)
    return folder


def planned(clone: Path, target: str) -> list[str]:
    """The commands that make would run."""
    environment = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    return subprocess.check_output(["make", "-n", target], cwd=clone, env=environment, text=True).splitlines()


def set_up(clone: Path, *stamps: str) -> None:
    (clone / ".venv").mkdir()
    for stamp in stamps:
        (clone / ".venv" / stamp).touch()


def test_serving_installs_the_lock_for_running(clone: Path) -> None:
    setup, serve = planned(clone, "serve")
    assert setup.endswith("sh scripts/setup")
    assert "opencode-debugger serve" in serve


@pytest.mark.parametrize("target", ["setup", "lint", "check", "test", "bench"])
def test_everything_else_installs_the_lock_for_tests(clone: Path, target: str) -> None:
    set_up(clone, ".installed")
    commands = [line for line in planned(clone, target) if "make " not in line]
    assert commands[0].endswith("sh scripts/setup dev")


def test_where_tests_have_run_nothing_is_installed_for_serving(clone: Path) -> None:
    set_up(clone, ".installed", ".installed-dev")
    (serve,) = planned(clone, "serve")
    assert "opencode-debugger serve" in serve
    assert not any("scripts/setup" in line for line in planned(clone, "lint"))


def test_a_lock_that_changed_is_installed_again(clone: Path) -> None:
    set_up(clone, ".installed", ".installed-dev")
    stamp = (clone / ".venv" / ".installed").stat()
    os.utime(clone / "requirements.lock", (stamp.st_atime + 10, stamp.st_mtime + 10))
    assert planned(clone, "serve")[0].endswith("sh scripts/setup")
