"""Starts a relay that goes on without whoever started it, and ends when nobody has used it for a while."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..default_settings import PREFIX
from ..files import NotPrivate, check_private_folder, make_folder, take_lock
from ..persistence.local_token import VARIABLE, token_file
from .address import Problem
from .discovery import is_running

PATIENCE = 30.0
"""Seconds for a relay to start, on a busy machine too: one that cannot start says so sooner."""
BETWEEN_LOOKS = 0.01
DEFAULTS = {PREFIX + "IDLE_EXIT_MINUTES": "30", PREFIX + "LOG_LEVEL": "warning"}
"""Settings of a relay that nobody watches, unless the environment says otherwise."""
LARGEST_LOG = 1024 * 1024
LAST_LINES = 4096
"""Bytes of the log among which the last line is looked for."""
ANY_PORT = ("--port", "0")


def start_relay(folder: Path) -> None:
    """Start a relay for the data folder. Clients that do so at the same time end up with one."""
    try:
        make_folder(folder)
        check_private_folder(folder)
        with _turn(folder):
            if not is_running(folder):
                _start_in_turn(folder)
    except (OSError, NotPrivate) as error:
        raise Problem(f"no relay can be started for {folder}: {error}") from None


def _start_in_turn(folder: Path) -> None:
    said = _try_start(folder)
    if said is not None and os.strerror(errno.EADDRINUSE) in said:
        said = _try_start(folder, *ANY_PORT)
    if said is not None:
        raise Problem(f"the relay did not start: {said or 'it said nothing'} (its log: {log_file(folder)})")


def _try_start(folder: Path, *options: str) -> str | None:
    """Return None when it answers, else the last that it said."""
    command = [sys.executable, "-P", "-m", "opencode_debugger", "serve", "--data-dir", str(folder), *options]
    environment = {name: value for name, value in (DEFAULTS | os.environ).items() if name != VARIABLE}
    with _open_log(folder) as log:
        begin = os.fstat(log.fileno()).st_size
        process = subprocess.Popen(
            command, cwd="/", env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )
    # So that it leaves no zombie if it ends before we do.
    threading.Thread(target=process.wait, name="opencode-debugger relay", daemon=True).start()
    deadline = time.monotonic() + PATIENCE
    while process.returncode is None and time.monotonic() < deadline:
        if token_file(folder).exists() and is_running(folder):
            return None
        time.sleep(BETWEEN_LOOKS)
    if process.returncode is None:
        process.terminate()
        return f"it did not answer for {PATIENCE:g} s; {_last_line(folder, begin)}"
    return _last_line(folder, begin)


def log_file(folder: Path) -> Path:
    return folder / "relay.log"


def _open_log(folder: Path) -> BinaryIO:
    path = log_file(folder)
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > LARGEST_LOG:
            path.unlink()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, 0o600), "ab")


def _last_line(folder: Path, begin: int) -> str:
    with open(log_file(folder), "rb") as log:
        log.seek(max(begin, os.fstat(log.fileno()).st_size - LAST_LINES))
        lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("opencode-debugger: ") if lines else ""


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait while another client starts one."""
    descriptor = os.open(folder / "start.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            take_lock(descriptor, 2 * PATIENCE)
        except TimeoutError:
            raise Problem(f"another client has been starting a relay for {folder} for too long") from None
        yield
    finally:
        os.close(descriptor)
