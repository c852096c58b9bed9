"""The command line as a user types it: in a folder, with a data folder and a relay of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from relays import RUN_ID, RUN_MARKER, free_port
from waiting import PATIENCE, runs, wait_until

COMMAND = [sys.executable, "-m", "opencode_debugger"]


class Answer(NamedTuple):
    code: int
    text: str
    errors: str


class Ocdb:
    def __init__(self, data_dir: Path, folder: Path, env: dict[str, str]) -> None:
        self.data_dir = data_dir
        self.folder = folder
        self.env = {**os.environ, RUN_MARKER: RUN_ID, "OPENCODE_DEBUG_DATA_DIR": str(data_dir), **env}

    def __call__(self, *words: str | Path, code: int = 0) -> str:
        """Return what it prints, once it has ended with that exit code."""
        answer = self.ask(*words)
        assert answer.code == code, answer
        return answer.text

    def ask(self, *words: str | Path) -> Answer:
        done = subprocess.run(
            [*COMMAND, *map(str, words)], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=PATIENCE, check=False)
        return Answer(done.returncode, done.stdout, done.stderr)

    def refuse(self, *words: str | Path, code: int = 1) -> str:
        """Return what it says on stderr, once it has failed; it prints nothing else."""
        answer = self.ask(*words)
        assert (answer.code, answer.text) == (code, ""), answer
        assert answer.errors.count("\n") <= 3, answer.errors
        return answer.errors

    def json(self, *words: str | Path, code: int = 0) -> Any:
        return json.loads(self("--json", *words, code=code))

    def begin(self, *words: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *map(str, words)], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def within(self, folder: Path, **env: str) -> Ocdb:
        """Return the same in another folder."""
        return Ocdb(self.data_dir, folder, {**self.env, **env})

    @property
    def relay_pid(self) -> int | None:
        try:
            pid = int(json.loads((self.data_dir / "relay.lock").read_bytes())["pid"])
        except (OSError, ValueError, KeyError):
            return None
        return pid if runs(pid) else None

    def kill_relay(self) -> None:
        """As a crash would: its runners live on."""
        pid = self.relay_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not runs(pid))

    def stop_relay(self) -> None:
        pid = self.relay_pid
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not runs(pid))


@contextmanager
def own_ocdb(folder: Path, **env: str) -> Iterator[Ocdb]:
    """A command line whose relay starts by itself, and is ended afterwards."""
    settings = {"OPENCODE_DEBUG_PORT": str(free_port()), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": ""}
    ocdb = Ocdb(folder / "data", folder, {**settings, **env})
    try:
        yield ocdb
    finally:
        ocdb.stop_relay()
