"""Which debugger is started for EZ programs, and what it finds wrong with one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from typing import NamedTuple

from ...errors import RelayError
from ...files import find_executable
from ..processes import OWN

DEFAULT = "ez"
COLOR = re.compile(r"\x1b\[[0-9;]*m")
MISTAKE = re.compile(
    r"error(?:\[\w+\])?:\s*(?P<message>[^\n]+)\n\s*(?:-->|at)?\s*(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+)"
)
CHECK = 5.0
"""Seconds for a debugger to say what is wrong with a program."""
HOW_TO = "Install EZ so that `ez` is on PATH, or name a debugger in OPENCODE_DEBUG_EZ_PATH or in debugger_path"


def find(setting: str | None) -> str:
    """The one that a launch or the settings name, else `ez` on PATH."""
    path = find_executable(os.path.expanduser(setting or DEFAULT))
    if path is None:
        what = f"{setting!r} is not a program" if setting else f"There is no program `{DEFAULT}`, which debugs EZ"
        raise RelayError("LAUNCH_FAILED", what, status=400, suggestion=HOW_TO)
    return path


class Mistake(NamedTuple):
    message: str
    file: str
    line: int
    column: int


async def check(path: str, program: str, cwd: str, env: dict[str, str]) -> Mistake | None:
    """The first mistake that `check` tells with its place; nothing, if the debugger has no such command."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            path, "check", program, cwd=cwd, env=env, stdin=nothing, stdout=pipe, stderr=asyncio.subprocess.STDOUT
        )
    except OSError:
        return None
    said = b""
    OWN.add(process.pid)
    try:
        async with asyncio.timeout(CHECK):
            said, _ = await process.communicate()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    finally:
        OWN.discard(process.pid)
    found = MISTAKE.search(COLOR.sub("", said.decode("utf-8", "replace")))
    if found is None:
        return None
    return Mistake(found["message"].strip(), found["file"].strip(), int(found["line"]), int(found["column"]))
