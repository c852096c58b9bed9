"""Starts a Python program whose debugger connects back to us."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ...dap.channel import Channel, ChannelClosed, RequestFailed
from ...errors import RelayError
from ..base import LaunchSpec
from ..processes import MARKER, Program

LAUNCHER = Path(__file__).with_name("debugpy_launcher.py")
INSIDE = Path(__file__).with_name("inside")

ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYDEVD_WARN_EVALUATION_TIMEOUT": "86400",
    "PYDEVD_WARN_SLOW_RESOLVE_TIMEOUT": "86400",
}


class CallBack:
    """A loopback port on which the program's debugger, and nobody else, is let in."""

    def __init__(self, new_channel: Callable[[], Channel]) -> None:
        self.token = os.urandom(16).hex()
        self._new_channel = new_channel
        self._arrived: asyncio.Queue[Channel] = asyncio.Queue()

    async def __aenter__(self) -> CallBack:
        self._server = await asyncio.get_running_loop().create_server(self._accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        while not self._arrived.empty():
            self._arrived.get_nowait().close()

    def _accept(self) -> Channel:
        channel = self._new_channel()
        channel.connected.add_done_callback(lambda _: self._arrived.put_nowait(channel))
        return channel

    async def debugger(self) -> Channel:
        """The first that knows the token; strangers are shown the door."""
        while True:
            channel = await self._arrived.get()
            with contextlib.suppress(ChannelClosed, RequestFailed, TimeoutError, AttributeError):
                body = await channel.request("pydevdAuthorize", {"debugServerAccessToken": None}, timeout=AUTHORIZE)
                if body.get("clientAccessToken") == self.token:
                    return channel
            channel.close()


AUTHORIZE = 10.0


async def connection(callback: CallBack, program: Program, timeout: float) -> Channel:
    """The program's debugger, or why it never came."""
    arriving = asyncio.get_running_loop().create_task(callback.debugger())
    either: list[asyncio.Future[Any]] = [arriving, program.ended]
    try:
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if arriving.done():
            return arriving.result()
    finally:
        arriving.cancel()
    if program.is_alive:
        raise RelayError("LAUNCH_FAILED", f"The debugger did not connect within {timeout:g} s")
    status = program.ended.result()
    message = "The program ended before its debugger connected"
    raise RelayError("LAUNCH_FAILED", message, exit_code=status.code, signal=status.signal)


def command(interpreter: str, spec: LaunchSpec) -> list[str]:
    # Frozen modules would keep the debugger from seeing some of the standard library.
    return [interpreter, "-Xfrozen_modules=off", *spec.interpreter_args, str(LAUNCHER), *spec.args]


def environment(spec: LaunchSpec, session_id: str, callback: CallBack, first_reference: int) -> dict[str, str]:
    """The relay's own environment without its settings, then the client's, then what the launcher needs."""
    config = {
        "port": callback.port,
        "token": callback.token,
        "debugpy": _debugpy_folder(),
        "inside": str(INSIDE),
        "kind": spec.kind,
        "target": spec.target,
        "first_reference": first_reference,
        "subprocesses": False,
        "remove_environment": [*(name for name in ENVIRONMENT if name.startswith("PYDEVD")), "PYDEVD_USE_FRAME_EVAL"],
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OPENCODE_DEBUG_")}
    return {
        **inherited,
        **spec.env,
        **ENVIRONMENT,
        MARKER: session_id,
        "OPENCODE_DEBUG_LAUNCH": msgspec.json.encode(config).decode(),
    }


def _debugpy_folder() -> str:
    found = importlib.util.find_spec("debugpy")
    assert found is not None and found.origin is not None
    return str(Path(found.origin).parent)
