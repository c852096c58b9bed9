"""Getting a program under the debugger: launch and attach."""

from __future__ import annotations

import os
import time
from typing import Any

from ..adapters.base import Adapter, AttachSpec, LaunchSpec
from ..errors import RelayError, invalid_parameter
from .debuggee import Debuggee
from .execution import Execution, Wait
from .placement import Placement
from .report import check_fields
from .settings import Config
from .state import State

LAST_WORDS = 20
SETTLE = 0.5
"""A program that stops at once is seen stopped even by a client that does not ask to wait: many look right away."""


class Starting:
    def __init__(
        self, config: Config, debuggee: Debuggee, adapter: Adapter, placement: Placement, execution: Execution
    ) -> None:
        self._config = config
        self._placement = placement
        self._debuggee = debuggee
        self._adapter = adapter
        self._execution = execution
        self.program: dict[str, Any] | None = None
        self.started_at: float | None = None

    async def launch(
        self,
        stop_on_exception: bool | str | None = None,
        console: str = "internalConsole",
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
        **wishes: Any,
    ) -> dict[str, Any]:
        check_fields(fields)
        self._debuggee.require("launch")
        spec = launch_spec(self._config, **wishes)
        run = self._debuggee.begin_run(State.LAUNCHING)
        try:
            await self._adapter.check_launch(spec)
            await self._placement.verify_pending()
            self.started_at = time.monotonic()
            async with self._placement.changing:
                self._debuggee.adapter = self._adapter
                stop_on = self._placement.begin(stop_on_exception)
                await self._adapter.launch(spec, self._debuggee.breakpoints.for_debugger(), stop_on)
                self._debuggee.started()
        except BaseException as error:
            await self._undo(error)
            raise
        key = {"file": "script"}.get(spec.kind, spec.kind)
        self.program = {key: spec.target, "args": spec.args, "cwd": spec.cwd, "env": spec.env}
        if wait is None and (spec.stop_on_entry or self._debuggee.breakpoints.can_stop()):
            await run.wait(SETTLE)
        answer = await self._execution.answer(run, self._execution.seconds(wait, 0), fields, budget)
        return {**answer, "pid": self._adapter.pid, "program": self.program}

    async def attach(
        self,
        pid: int | None = None,
        host: str | None = None,
        port: int | None = None,
        connect_timeout: float = 10,
        wait: Wait = None,
    ) -> dict[str, Any]:
        self._debuggee.require("attach")
        if port is None:
            raise RelayError(
                "ATTACH_FAILED",
                f"Attaching to process {pid} by its id is not available",
                suggestion="Start it with: python -m debugpy --listen 127.0.0.1:PORT script.py, and attach to the port",
            )
        spec = AttachSpec(host or "localhost", port, connect_timeout)
        run = self._debuggee.begin_run(State.LAUNCHING)
        self.started_at = time.monotonic()
        try:
            async with self._placement.changing:
                self._debuggee.adapter = self._adapter
                stop_on = self._placement.begin(None)
                await self._adapter.attach(spec, self._debuggee.breakpoints.for_debugger(), stop_on)
                self._debuggee.started()
        except BaseException as error:
            await self._undo(error)
            raise
        answer = await self._execution.answer(run, self._execution.seconds(wait, 0))
        return {**answer, "attached": True, "pid": self._adapter.pid, "host": spec.host, "port": spec.port}

    async def _undo(self, error: BaseException) -> None:
        """Back to where it was before, so that a corrected launch can follow."""
        await self._adapter.end(0)
        self._debuggee.reset()
        self._placement.exceptions.forget_launch()
        self.started_at = None
        if isinstance(error, RelayError) and error.code == "LAUNCH_FAILED":
            log = self._debuggee.log
            _, entries, _ = log.output_since(max(0, log.output_end - LAST_WORDS), LAST_WORDS)
            error.details["output"] = "".join(entry.body[1] for entry in entries)[-2000:]


def launch_spec(
    config: Config,
    script: str | None = None,
    module: str | None = None,
    code: str | None = None,
    args: list[str] | None = None,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    stop_on_entry: bool | None = None,
    python_args: list[str] | None = None,
    python_path: str | None = None,
    just_my_code: bool = False,
) -> LaunchSpec:
    """What a client asked for, with every path made absolute and known to exist."""
    folder = _working_folder(config.project_root or os.getcwd(), cwd)
    if script is not None:
        kind, target = "file", _find_script(script, folder)
    else:
        kind, target = ("module", module) if module is not None else ("code", code or "")
    return LaunchSpec(
        kind=kind,
        target=target,
        args=args or [],
        cwd=folder,
        env=env or {},
        interpreter=python_path or config.interpreter,
        interpreter_args=python_args or [],
        stop_on_entry=config.stop_on_entry if stop_on_entry is None else stop_on_entry,
        just_my_code=just_my_code,
    )


def _working_folder(root: str, cwd: str | None) -> str:
    folder = os.path.normpath(os.path.join(root, cwd or ""))
    if os.path.isdir(folder):
        return folder
    message = f"cwd {folder[:200]!r} is not an existing folder"
    raise invalid_parameter("cwd", folder, message, "Create it or choose another cwd")


def _find_script(script: str, folder: str) -> str:
    path = os.path.normpath(os.path.join(folder, script))
    if os.path.isfile(path):
        return path
    what = "is a directory, not a script" if os.path.isdir(path) else "does not exist"
    raise RelayError("LAUNCH_SCRIPT_NOT_FOUND", f"Script {path} {what}", script=script, path=path)
