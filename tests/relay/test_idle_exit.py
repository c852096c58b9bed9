"""A relay that is started by itself: on any free port, which it tells, and gone when nobody needs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from relays import RUN_ID, RUN_MARKER, Api
from waiting import PATIENCE, holds_for, wait_until

from opencode_debugger import __version__
from opencode_debugger.cli.serving.serve import IdleTime

IDLE = 0.1
"""Minutes: more than a busy machine takes from the start to the first request."""


@contextmanager
def started(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The relay's process, and the file that has its first screen."""
    screen = folder / "screen"
    command = [sys.executable, "-m", "opencode_debugger", "serve", "--port", "0", "--data-dir", str(folder / "data")]
    with open(screen, "wb") as stderr:
        process = subprocess.Popen([*command, *options], env={**os.environ, RUN_MARKER: RUN_ID}, stderr=stderr)
    try:
        yield process, screen
    finally:
        process.terminate()
        process.wait(PATIENCE)


def told_by_lock(folder: Path) -> dict[str, Any]:
    path = folder / "data" / "relay.lock"
    wait_until(lambda: path.exists() and path.stat().st_size > 0)
    told: dict[str, Any] = json.loads(path.read_bytes())
    return told


def test_any_port_is_told_by_the_lock_and_the_first_screen(tmp_path: Path) -> None:
    with started(tmp_path) as (process, screen):
        told = told_by_lock(tmp_path)
        assert (told["pid"], told["version"], told["host"]) == (process.pid, __version__, "127.0.0.1")
        wait_until(lambda: f"http://127.0.0.1:{told['port']}/docs" in screen.read_text())
        with Api(f"http://127.0.0.1:{told['port']}/api/v1") as api:
            assert api.get("/config")["settings"]["port"]["value"] == told["port"]


def test_a_relay_that_nobody_uses_ends(tmp_path: Path) -> None:
    with started(tmp_path, "--idle-exit", "0.001") as (process, screen):
        assert process.wait(PATIENCE) == 0
        assert "no session and no request" in screen.read_text()


def test_a_session_keeps_the_relay_and_its_end_does_not(tmp_path: Path) -> None:
    with started(tmp_path, "--idle-exit", str(IDLE)) as (process, _):
        with Api(f"http://127.0.0.1:{told_by_lock(tmp_path)['port']}/api/v1") as api, api.session():
            holds_for(IDLE * 60 + 1, lambda: process.poll() is None)
        assert process.wait(PATIENCE) == 0


def test_time_that_is_used_does_not_count() -> None:
    idle = IdleTime(1)
    assert not idle.is_over(False, 0, 100)
    assert not idle.is_over(False, 0, 159)
    assert idle.is_over(False, 0, 160)
    assert not idle.is_over(True, 0, 160)
    assert not idle.is_over(False, 0, 219)
    assert not idle.is_over(False, 1, 220)
    assert idle.is_over(False, 1, 280)
    assert not IdleTime(0).is_over(False, 0, 1e9)
