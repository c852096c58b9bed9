"""gdb, which speaks DAP from version 14 on; and programs that its gdbserver runs."""

from __future__ import annotations

import os
from typing import Any

from ...errors import RelayError
from .. import gdb_program
from ..base import AttachSpec, LaunchSpec
from ..processes import ExitStatus
from .adapter import NativeAdapter
from .looking import Frame
from .process import REDIRECTED

SETTINGS = (
    f"set exec-wrapper /bin/sh -c '{REDIRECTED}' sh",
    "set debuginfod enabled off",
    "set unwind-on-signal on",
    "set print elements 200",
    "handle SIGTERM nostop noprint pass",
)


class GdbAdapter(NativeAdapter):
    kind = "gdb"

    def _find(self) -> tuple[list[str], dict[str, str]]:
        gdb = gdb_program.find(self._path)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENCODE_"))
        }
        environment |= {**gdb.environment, **gdb.python, "SHELL": "/bin/sh"}
        return [*gdb.command, "-q", "-nx", "-i", "dap"], environment

    async def _prepare(self, program: str | None) -> None:
        for command in SETTINGS:
            await self._command_line(command)
        if program is not None:
            # Now, so that breakpoints find their places before the program runs.
            await self._command_line(f"file {quoted(program)}")

    async def _command_line(self, text: str) -> str:
        return str((await self._request("evaluate", {"expression": text, "context": "repl"}))["result"])

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str]) -> tuple[str, dict[str, Any]]:
        return "launch", {"args": spec.args, "cwd": spec.cwd, "env": environment}

    def _core_request(self, spec: LaunchSpec) -> tuple[str, dict[str, Any]]:
        return "attach", {"coreFile": spec.core}

    def _attach_request(self, spec: AttachSpec) -> tuple[str, dict[str, Any]]:
        if spec.pid is not None:
            return "attach", {"pid": spec.pid}
        return "attach", {"target": f"{spec.host}:{spec.port}"}

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        killed = (await self._request("evaluate", {"expression": "$_exitsignal", "context": "watch"}))["result"]
        if killed.isdigit():
            return ExitStatus.of(-int(killed))
        return None if code is None else ExitStatus.of(code)

    async def _signal(self, place: Frame) -> tuple[int | None, str | None]:
        number = await self._value(place, "$_siginfo.si_signo")
        if number is None or not number.isdigit():
            return None, None
        address = None
        if int(number) in (4, 7, 8, 11):
            address = await self._value(place, "$_siginfo._sifields._sigfault.si_addr")
        return int(number), address

    async def _value(self, place: Frame, expression: str) -> str | None:
        try:
            arguments = {"expression": expression, "frameId": place.id, "context": "watch"}
            return str((await self._request("evaluate", arguments))["result"])
        except RelayError:
            return None

    async def _go_free(self) -> None:
        await self._command_line("detach")


def quoted(path: str) -> str:
    """For gdb's command line."""
    return "".join("\\" + char if char in " \t\n\r\f\v\\'\"" else char for char in path)
