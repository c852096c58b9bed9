"""The folder in which the relay is started may be anybody's: nothing in it is run, and nothing in it decides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ez_client import Ide
from native import Builder
from relays import Api, Relay, Session, refusal
from targets import attach, running

MODULES = ("__future__", "logging", "msgspec", "signal", "asyncio", "json", "socket", "debugpy", "gdb", "lldb", "typer")
PROGRAMS = ("gdb", "gdbserver", "lldb-dap", "lldb-server", "lldb-dap-99", "python3", "python", "ez", "sh")
CLOSED = ("HOST", "DATA_DIR", "REQUIRE_TOKEN", "ALLOWED_ORIGINS", "DEFAULT_PYTHON_PATH", "GDB_PATH", "LLDB_PATH")
EVIL = "http://evil.example"


class Trap:
    """A folder full of what must not be run; each leaves a trace if it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "start"
        self.traces = folder / "traces"
        for made in (self.folder, self.traces):
            made.mkdir()
        for name in MODULES:
            (self.folder / f"{name}.py").write_text(
                f"open({str(self.traces / name)!r}, 'w').close()\nraise ImportError('not this one')\n"
            )
        for name in PROGRAMS:
            path = self.folder / name
            path.write_text(f"#!/bin/sh\n: > {self.traces / ('program-' + name)}\nexit 1\n")
            path.chmod(0o700)
        (self.folder / ".gdbinit").write_text(f"shell touch {self.traces / 'gdbinit'}\n")
        (self.folder / ".lldbinit").write_text(f"platform shell touch {self.traces / 'lldbinit'}\n")
        values = ("0.0.0.0", folder / "elsewhere", "true", EVIL, "./python3", "./gdb", "./lldb-dap")
        lines = [f"OPENCODE_DEBUG_{name}={value}\n" for name, value in zip(CLOSED, values, strict=True)]
        (self.folder / ".env").write_text("".join([*lines, "OPENCODE_DEBUG_EVENT_LOG_MAX=77\n"]))

    @property
    def left(self) -> list[str]:
        return sorted(os.listdir(self.traces))

    @property
    def environment(self) -> dict[str, str]:
        """In which the folder counts by way of an empty entry."""
        return {"PATH": f":{os.environ['PATH']}", "PYTHONPATH": f"{os.pathsep}/nowhere"}


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap(tmp_path_factory.mktemp("trap"))


@pytest.fixture(scope="module")
def trapped(trap: Trap, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    relay = Relay(tmp_path_factory.mktemp("trapped") / "data")
    relay.cwd, relay.env = trap.folder, trap.environment
    relay.start()
    yield relay
    assert relay.stop() == 0
    assert trap.left == []


@pytest.fixture(scope="module")
def there(trapped: Relay) -> Iterator[Api]:
    with Api(trapped.base_url) as api:
        yield api


@pytest.fixture
def session(there: Api) -> Iterator[Session]:
    with there.session() as session:
        yield session


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text("import os\nvalue = os.environ['PYTHONPATH']\nprint(value, os.environ['PATH'])  # @here\n")
    return path


def test_a_python_program_runs_and_has_the_users_own_environment(
    session: Session, script: Path, trap: Trap, tmp_path: Path
) -> None:
    session.break_at(script, "here")
    assert session.launch(script, cwd=str(tmp_path))["status"] == "paused"
    assert session.evaluate("value")["result"] == repr(trap.environment["PYTHONPATH"])
    names = "[name for name in __import__('os').environ if name.startswith('OPENCODE_DEBUG_') and 'PATH' in name]"
    assert session.evaluate(names)["result"] == "[]"
    assert session.resume()["status"] == "terminated"
    assert session.output() == f"{trap.environment['PYTHONPATH']} {trap.environment['PATH']}\n"
    assert trap.left == []


def test_a_running_program_is_attached_to(session: Session, tmp_path: Path, trap: Trap) -> None:
    path = tmp_path / "waits.py"
    path.write_text("import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.05)\n")
    with running(path) as target:
        attach(session, target)
        assert session.post("/pause", {"wait": 30})["status"] == "paused"
        session.post("/detach")
    assert trap.left == []


@pytest.mark.parametrize("way", [{"adapter": "gdb"}, {"adapter": "lldb"}, {"debugger": "gdbserver"}], ids=str)
def test_a_native_program_is_debugged(session: Session, build: Builder, trap: Trap, way: dict[str, str]) -> None:
    """Its debugger is the installed one, and its setup is ours; the program runs in that folder."""
    stop = session.launch(program=str(build("crash").program), cwd=str(trap.folder), **way)
    assert (stop["status"], stop["exception"]["type"]) == ("paused", "SIGSEGV")
    assert trap.left == []


def test_debuggers_are_looked_for_elsewhere(there: Api, trap: Trap) -> None:
    found = there.get("/info")["debuggers"]
    assert not any(str(trap.folder) in about.get("path", "") for about in found.values())
    assert found["gdb"]["available"] and found["lldb"]["available"]
    assert trap.left == []


def test_an_ide_starts_its_debugger_there(trap: Trap, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trap.folder)
    with Ide("stdio", env=trap.environment) as ide:
        ide.send("initialize", file=str(script), workingDir=str(script.parent))
        ide.expect("initialized")
        ide.send("start")
        ide.until("stopped")
        ide.send("continue")
        ide.until("exited", exitCode=0)
    assert trap.left == []


def test_its_env_file_decides_nothing_and_says_so(trapped: Relay, there: Api, trap: Trap) -> None:
    settings = there.get("/config")["settings"]
    assert (settings["event_log_max"]["value"], settings["event_log_max"]["source"]) == (77, ".env")
    assert settings["host"]["value"] == "127.0.0.1"
    sources = {name: settings[name.lower()]["source"] for name in CLOSED}
    assert sources == {**dict.fromkeys(CLOSED, "default"), "DATA_DIR": "command line"}
    told = [json.loads(line) for line in trapped.log.read_text().splitlines() if line.startswith("{")]
    warned = [line["message"] for line in told if line["level"] == "warning" and " in .env is " in line["message"]]
    assert sorted(text.split()[0].removeprefix("OPENCODE_DEBUG_") for text in warned) == sorted(CLOSED)
    assert all("--env-file" in text for text in warned) and EVIL not in "".join(warned)
    answer = there.http.get("/sessions", headers={"Origin": EVIL})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ORIGIN_NOT_ALLOWED")
    assert there.http.get("/sessions", headers={"Authorization": "Bearer ocdb_wrong"}).status_code == 401


def test_programs_are_found_on_absolute_entries_of_path_only(there: Api, trap: Trap) -> None:
    error = refusal(400, "INVALID_PARAMETER", there.session, python_path="lldb-dap-99")
    assert "lldb-dap-99" in error.message
    script = "from opencode_debugger.files import find_executable as find; print(find('ez'), find('./ez'))"
    for path in ("", ".", "sub/..:", f"{os.pathsep}/usr/bin"):
        command = [sys.executable, "-P", "-c", script]
        env = {**os.environ, "PATH": path}
        said = subprocess.run(command, cwd=trap.folder, env=env, capture_output=True, text=True, check=True).stdout
        assert said.split() == ["None", str(trap.folder / "ez")]


def test_the_command_itself_imports_nothing_from_there(trap: Trap) -> None:
    """Also where entries of PYTHONPATH are empty or relative."""
    command = [sys.executable, "-m", "opencode_debugger", "version"]
    for path in ("", f".:../{trap.folder.name}/:"):
        env = {**os.environ, "PYTHONPATH": path}
        said = subprocess.run(command, cwd=trap.folder, env=env, capture_output=True, text=True, check=False)
        assert (said.returncode, said.stderr) == (0, "")
    assert trap.left == []
