"""Starts a Python program whose debugger connects back to us."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ...dap.channel import Channel, ChannelClosed, RequestFailed
from ...errors import RelayError
from ..base import LaunchSpec
from ..environment import program_environment
from ..processes import MARKER, Program

LAUNCHER = Path(__file__).with_name("debugpy_launcher.py")
CHILD_LAUNCHER = Path(__file__).with_name("child_debugpy_launcher.py")
INSIDE = Path(__file__).with_name("inside")

ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYDEVD_WARN_EVALUATION_TIMEOUT": "86400",
    "PYDEVD_WARN_SLOW_RESOLVE_TIMEOUT": "86400",
}


AUTHORIZE = 10.0
BACKLOG = 1000
"""A pool may start all its workers at once."""


class CallBack:
    """A loopback port on which the program's debugger, and nobody else, is let in; later those of its children."""

    def __init__(self, new_channel: Callable[[], Channel]) -> None:
        self.token = os.urandom(16).hex()
        self._new_channel = new_channel
        self._checks: set[asyncio.Task[None]] = set()
        self._on_child: Callable[[Channel], None] | None = None

    async def __aenter__(self) -> CallBack:
        loop = asyncio.get_running_loop()
        self.debugger: asyncio.Future[Channel] = loop.create_future()
        self._server = await loop.create_server(self._accept, "127.0.0.1", 0, backlog=BACKLOG)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None or self._on_child is None:
            self.close()

    def stay_open(self, on_child: Callable[[Channel], None]) -> None:
        """For every further debugger that knows the token."""
        self._on_child = on_child

    def close(self) -> None:
        self._server.close()
        for check in self._checks:
            check.cancel()

    def _accept(self) -> Channel:
        channel = self._new_channel()
        check = asyncio.get_running_loop().create_task(self._check(channel))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)
        return channel

    async def _check(self, channel: Channel) -> None:
        """Who knows the token is let in; strangers are shown the door, and hold up nobody."""
        try:
            await channel.connected
            body = await channel.request("pydevdAuthorize", {"debugServerAccessToken": None}, timeout=AUTHORIZE)
            is_ours = isinstance(body, dict) and body.get("clientAccessToken") == self.token
        except (ChannelClosed, RequestFailed, TimeoutError):
            is_ours = False
        except asyncio.CancelledError:
            channel.close()
            raise
        if is_ours and not self.debugger.done():
            self.debugger.set_result(channel)
        elif is_ours and self._on_child is not None:
            self._on_child(channel)
        else:
            channel.close()


async def connection(callback: CallBack, program: Program, timeout: float) -> Channel:
    """The program's debugger, or why it never came."""
    either: list[asyncio.Future[Any]] = [callback.debugger, program.ended]
    await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    if callback.debugger.done():
        return callback.debugger.result()
    if program.is_alive:
        raise RelayError("LAUNCH_FAILED", f"The debugger did not connect within {timeout:g} s")
    status = program.ended.result()
    message = "The program ended before its debugger connected"
    raise RelayError("LAUNCH_FAILED", message, exit_code=status.code, signal=status.signal)


def command(interpreter: str, spec: LaunchSpec) -> list[str]:
    # Frozen modules would keep the debugger from seeing some of the standard library.
    return [interpreter, "-Xfrozen_modules=off", *spec.interpreter_args, str(LAUNCHER), *_shown(spec), *spec.args]


def _shown(spec: LaunchSpec) -> list[str]:
    """What is run, for people who look at the list of processes; the launcher takes it away."""
    return {"file": [spec.target], "module": ["-m", spec.target]}.get(spec.kind, ["-c"])


def environment(spec: LaunchSpec, session_id: str, callback: CallBack, first_reference: int) -> dict[str, str]:
    """The program's own, and what the launcher needs."""
    config = {
        "port": callback.port,
        "token": callback.token,
        "debugpy": debugpy_folder(),
        "inside": str(INSIDE),
        "kind": spec.kind,
        "target": spec.target,
        "shown": len(_shown(spec)),
        "first_reference": first_reference,
        "subprocesses": spec.debug_subprocesses,
        "launcher": str(CHILD_LAUNCHER),
        "marker": [MARKER, session_id],
        "environment": {name: value for name, value in ENVIRONMENT.items() if name.startswith("PYDEVD")},
        "remove_environment": [*(name for name in ENVIRONMENT if name.startswith("PYDEVD")), "PYDEVD_USE_FRAME_EVAL"],
    }
    return {
        **program_environment(spec, session_id),
        **ENVIRONMENT,
        "OPENCODE_DEBUG_LAUNCH": msgspec.json.encode(config).decode(),
    }


def debugpy_folder() -> str:
    found = importlib.util.find_spec("debugpy")
    assert found is not None and found.origin is not None
    return str(Path(found.origin).parent)
