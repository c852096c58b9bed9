"""Programs that somebody else started: plain processes, of any Python, to attach to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
from relays import (
    RUN_ID,
    RUN_MARKER,
    free_port,
)
from waiting import wait_until


class Target:
    """A process with its stdin and stdout; its stderr must stay empty."""

    def __init__(self, command: list[str], **env: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1", RUN_MARKER: RUN_ID, **env},
        )
        self.pid = self.process.pid

    def says(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().decode().rstrip("\n")

    def tell(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def finish(self, seconds: float = 20) -> tuple[int, str, str]:
        """Closes its stdin; its exit code, the rest of its output, and its errors."""
        out, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, out.decode(), errors.decode()

    def end(self) -> None:
        if self.is_alive:
            self.process.kill()
        self.process.communicate(timeout=10)


@contextmanager
def running(script: Path, *args: str, python: Path | str = sys.executable, **env: str) -> Iterator[Target]:
    """A plain program that says something when it is ready."""
    target = Target([str(python), str(script), *args], **env)
    try:
        target.says()
        yield target
    finally:
        target.end()


@contextmanager
def listening(script: Path, *args: str) -> Iterator[tuple[Target, int]]:
    """The same with debugpy listening in it, as its own user would start it."""
    port = free_port()
    target = Target([sys.executable, "-m", "debugpy", "--listen", f"127.0.0.1:{port}", str(script), *args])
    try:
        target.says()
        yield target, port
    finally:
        target.end()


def stopped(session: Any, seconds: float = 10) -> Any:
    """The stop that the session comes to."""
    stop = session.get("/report", wait=seconds)
    assert stop["status"] == "paused", stop
    return stop


def attach(session: Any, target: Target, **options: Any) -> Any:
    """By process id; patient, for the machine may be busy."""
    return session.post("/attach", {"pid": target.pid, "connect_timeout": 60, **options})



@contextmanager
def waiting_for_client(script: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A program that its own user started under debugpy, waiting for us."""
    port = free_port()
    command = [sys.executable, "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "--wait-for-client", str(script)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        adapter = psutil.Process(wait_until(lambda: listener_on(port)))
        yield process, port
        with suppress(psutil.NoSuchProcess):
            adapter.kill()
    finally:
        process.kill()
        process.communicate(timeout=10)


def listener_on(port: int) -> int | None:
    """Who listens, found without connecting: a debugger takes its first caller for its client."""
    listeners = (found for found in psutil.net_connections("tcp4") if found.status == psutil.CONN_LISTEN)
    return next((found.pid for found in listeners if found.laddr.port == port), None)



@contextmanager
def listening_with(python: Path, folder: Path, script: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program that its user started under debugpy, on any interpreter."""
    debugpy = find_spec("debugpy")
    assert debugpy is not None and debugpy.origin is not None
    folder.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (folder / "debugpy").symlink_to(Path(debugpy.origin).parent)
    port = free_port()
    command = [str(python), "-Xfrozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}"]
    command += ["--wait-for-client", str(script), *args]
    environment = {"PYTHONPATH": str(folder), "PATH": os.defpath}
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    adapter = None
    try:
        adapter = psutil.Process(wait_until(lambda: listener_on(port)))
        yield process, port
    finally:
        process.kill()
        process.communicate(timeout=10)
        if adapter is not None:
            with suppress(psutil.NoSuchProcess):
                adapter.kill()
