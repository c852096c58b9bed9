"""An interpreter that is started ahead, with its debugger loaded: the next launch like the last one takes it in.

A runner without a session has at most one, as its child, so that the program's parent is whose it would be anyway. It
holds no port, ends with its runner, and after a while in which nobody wanted it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import subprocess
from typing import Any

import msgspec

from ...process.program_process import IS_LINUX, MARKER, OWN, TUNNEL_TOKEN, TUNNEL_URI, start_process
from ...shapes import LaunchSpec
from .spare_start import TAKEN
from .start_program import INSIDE, LAUNCH, LAUNCHER, debugpy_folder

logger = logging.getLogger(__name__)

IDLE = 600.0
"""Seconds after which one that nobody wanted ends."""
ANSWER = 10.0
"""Seconds for one that was started ahead to take a program; then a new one is started."""


OF_SESSION = frozenset({MARKER, LAUNCH, TUNNEL_URI, TUNNEL_TOKEN})
"""Variables that each session has for itself: no start of an interpreter looks at them."""
WITHOUT_OPTIONS = 3
"""Words of a command that has no options of the user's: the interpreter, an option of ours, the launcher."""


class LaunchRecipe(msgspec.Struct, frozen=True):
    """All of a launch by which an interpreter may differ before the program begins: only the same one will do."""

    command: tuple[str, ...]
    """up to the launcher: the interpreter and its options"""
    cwd: str
    environment: dict[str, str]
    """without what each session has for itself"""

    @classmethod
    def of(cls, argv: list[str], spec: LaunchSpec, environment: dict[str, str]) -> LaunchRecipe:
        common = {name: value for name, value in environment.items() if name not in OF_SESSION}
        return cls(tuple(argv[: argv.index(LAUNCHER) + 1]), spec.cwd, common)

    @property
    def is_usable(self) -> bool:
        """Tell whether it can be known what a start does, and be told: options may say anything, names be no text."""
        try:
            "".join([*self.command, self.cwd, *self.environment, *self.environment.values()]).encode()
        except UnicodeEncodeError:
            return False
        return IS_LINUX and len(self.command) == WITHOUT_OPTIONS


class SpareInterpreter:
    """The one interpreter that this process has ready, if any."""

    def __init__(self) -> None:
        self._recipe: LaunchRecipe | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._news: LaunchRecipe | None = None

    def start(self, recipe: LaunchRecipe, session_id: str) -> None:
        """Have one ready for a launch like this, by a session that does not exist yet."""
        if recipe == self._recipe and self._process is not None and self._process.poll() is None:
            self._end_later()
            return
        self.end()
        control, theirs = socket.socketpair()
        with theirs:
            told = {"kind": "spare", "control": theirs.fileno(), "debugpy": debugpy_folder(), "inside": INSIDE}
            environment = {**recipe.environment, MARKER: session_id, LAUNCH: json.dumps(told)}
            try:
                process = start_process([*recipe.command], recipe.cwd, environment, (theirs.fileno(),))
            except (OSError, ValueError) as error:
                logger.warning("no interpreter is started ahead: %s", error)
                control.close()
                return
        OWN.add(process.pid)
        control.setblocking(False)
        self._recipe, self._process, self._control = recipe, process, control
        self._end_later()

    def _end_later(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE, self.end)

    async def take(
        self, argv: list[str], spec: LaunchSpec, environment: dict[str, str]
    ) -> subprocess.Popen[bytes] | None:
        """Return the process that is now this program's, or None: then a new one has to be started."""
        recipe = self._news = LaunchRecipe.of(argv, spec, environment)
        if self._process is None or self._control is None or recipe != self._recipe:
            self.end()
            return None
        launch: dict[str, Any] = {"argv": argv, "words": argv[len(recipe.command) :], "environment": environment}
        launch |= {"config": json.loads(environment[LAUNCH]), "told_in": LAUNCH}
        try:
            if await _hand_over(self._control, json.dumps(launch).encode() + b"\n"):
                process, self._process = self._process, None
                return process
            return None
        finally:
            self.end()  # what was not handed over

    def take_news(self) -> LaunchRecipe | None:
        """Return the launch that was asked for since the last call, if others like it can be prepared."""
        news, self._news = self._news, None
        return news if news is not None and news.is_usable else None

    def end(self) -> None:
        """End it, if it waits for a program."""
        if self._idle is not None:
            self._idle.cancel()
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
            self._process.wait()
            OWN.discard(self._process.pid)
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                assert pipe is not None
                pipe.close()
        self._recipe = self._process = self._control = self._idle = None


async def _hand_over(control: socket.socket, launch: bytes) -> bool:
    """Tell whether the interpreter has become that program's."""
    loop = asyncio.get_running_loop()
    answer = b""
    try:
        async with asyncio.timeout(ANSWER):
            await loop.sock_sendall(control, launch)
            while len(answer) < len(TAKEN) and (data := await loop.sock_recv(control, len(TAKEN))):
                answer += data
    except (OSError, TimeoutError):
        return False
    return answer == TAKEN


CURRENT = SpareInterpreter()
"""That of this process."""
