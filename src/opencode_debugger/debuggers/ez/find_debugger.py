"""Finds the debugger of EZ programs, and asks it what is wrong with one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from typing import NamedTuple

from ...errors import RelayError
from ...files import find_executable
from ..process.program_process import OWN

COLOR = re.compile(r"\x1b\[[0-9;]*m")
MISTAKE = re.compile(
    r"error(?:\[\w+\])?:\s*(?P<message>[^\n]+)\n\s*(?:-->|at)?\s*(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+)"
)
HOW_TO = "Install EZ so that `ez` is on PATH, or name a debugger in OPENCODE_DEBUG_EZ_PATH or in debugger_path"


def find(setting: str | None) -> str:
    """Return the path of the debugger that a launch or the settings name, else of `ez` on PATH."""
    path = find_executable(os.path.expanduser(setting or "ez"))
    if path is None:
        what = f"{setting!r} is not a program" if setting else "There is no program `ez`, which debugs EZ"
        raise RelayError("LAUNCH_FAILED", what, status=400, suggestion=HOW_TO)
    return path


class Mistake(NamedTuple):
    message: str
    file: str
    line: int
    column: int


async def check_program(path: str, program: str, cwd: str, env: dict[str, str]) -> Mistake | None:
    """Return the first mistake that `check` tells with its place; None if the debugger has no such command."""
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
        async with asyncio.timeout(5.0):
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
