"""The package as users install it: a wheel in an environment of its own, with nothing of this folder in reach."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from places import ROOT
from relays import Api, Relay
from test_project import PROJECT

import opencode_debugger

SOURCES = ROOT / "src"
OTHER_PLUGINS = ("anyio", "cacheprovider", "hypothesispytest", "schemathesis")
"""Take seconds to load."""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def commands(wheel: Path) -> Path:
    """The folder of the commands of an environment that has the wheel, and its dependencies from the tests' own."""
    home = wheel.parent / "installed"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    run(*find_pip(), "--python", python, "install", "-q", "--no-index", "--no-deps", wheel)
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(packages) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def find_pip() -> list[str]:
    """The environment of the tests has no pip where Debian's ensurepip is missing: that of the system made it then."""
    python = sys.executable if importlib.util.find_spec("pip") else "python3"
    return [python, "-m", "pip", "--disable-pip-version-check"]


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path.relative_to(SOURCES) for path in SOURCES.rglob("*") if path.is_file())
    assert packed == {path.as_posix() for path in files if "__pycache__" not in path.parts}
    assert "opencode_debugger/py.typed" in packed
    assert "opencode_debugger/debuggers/python/inside/values/raw.py" in packed


def test_the_wheel_asks_for_what_the_project_declares(wheel: Path) -> None:
    told = metadata_of(wheel)
    assert (told["Name"], told["Version"]) == (PROJECT["name"], opencode_debugger.__version__)
    asked = [Requirement(text) for text in told.get_all("Requires-Dist", [])]
    always = {str(each) for each in asked if each.marker is None or "extra" not in str(each.marker)}
    assert always == {str(Requirement(text)) for text in PROJECT["dependencies"]}


def test_the_installed_commands_are_those_of_the_wheel(commands: Path, tmp_path: Path) -> None:
    for name in ("ocdb", "opencode-debugger"):
        assert opencode_debugger.__version__ in run(commands / name, "version", cwd=tmp_path)
    place = run(commands / "python", "-c", "import opencode_debugger; print(opencode_debugger.__file__)", cwd=tmp_path)
    assert Path(place).is_relative_to(commands.parent)


def test_the_installed_plugin_shows_values_and_no_warnings(commands: Path, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one():\n    size = 3\n    assert size == 4\n")
    code = "import sys, opencode_debugger.wording, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    without = [option for name in OTHER_PLUGINS for option in ("-p", f"no:{name}")]
    command = [commands / "python", "-c", code, *without, "-W", "error", "--ocdb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "locals: size = 3" in done.stdout, done.stdout + done.stderr
    assert "warning" not in done.stdout.lower()


def test_an_installed_relay_debugs_a_program(commands: Path, tmp_path: Path, program: Callable[..., Path]) -> None:
    path = program("""
        total = 40
        total += 2
        print(total)  # @end
        """, "elsewhere/program.py")
    relay = Relay(tmp_path / "relay" / "data")
    relay.program = (str(commands / "opencode-debugger"),)
    relay.cwd = tmp_path
    os.makedirs(relay.data_dir.parent)
    relay.start()
    try:
        with Api(relay.base_url) as api, api.session() as session:
            session.break_at(path, "end")
            assert session.launch(path)["stop_reason"] == "breakpoint"
            assert session.locals()["total"] == "42"
            assert relay.runner_of(session).cmdline()[0].startswith(str(commands))
            assert session.resume()["exit_code"] == 0
            assert session.output() == "42\n"
    finally:
        assert relay.stop() == 0
