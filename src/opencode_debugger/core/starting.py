"""Getting a program under the debugger: launch and attach."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from ..adapters.base import Adapter, AttachSpec, LaunchSpec
from ..adapters.debugpy.environments import ACTIVATED, activation, find_environment, import_paths, interpreter_of
from ..errors import RelayError, invalid_parameter
from .debuggee import Debuggee
from .execution import Execution, Wait
from .placement import Placement
from .report import check_fields
from .settings import Config
from .state import State

STOP_ON: dict[bool | str, list[str]] = {
    False: [],
    "uncaught": ["uncaught"],
    "raised": ["raised"],
    True: ["raised", "uncaught"],
}
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
        self.learn: Callable[[str], None] = lambda folder: None
        """told of folders that the user named"""

    async def launch(
        self,
        stop_on_exception: bool | str = "uncaught",
        console: str = "internalConsole",
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
        **wishes: Any,
    ) -> dict[str, Any]:
        check_fields(fields)
        self._debuggee.require("launch")
        spec = launch_spec(self._config, **wishes)
        self.learn(spec.cwd)
        if spec.kind == "file":
            self.learn(os.path.dirname(spec.target))
        run = self._debuggee.begin_run(State.LAUNCHING)
        try:
            await self._adapter.check_launch(spec)
            await self._placement.verify_pending()
            self.started_at = time.monotonic()
            async with self._placement.changing:
                self._debuggee.adapter = self._adapter
                await self._adapter.launch(spec, self._debuggee.breakpoints.for_debugger(), STOP_ON[stop_on_exception])
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
                await self._adapter.attach(spec, self._debuggee.breakpoints.for_debugger(), STOP_ON["uncaught"])
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
    venv: str | None = None,
    pythonpath: list[str] | None = None,
) -> LaunchSpec:
    """What a client asked for, with every path made absolute and known to exist."""
    folder = _working_folder(config.project_root or os.getcwd(), cwd)
    if script is not None:
        kind, target = "file", _find_script(script, folder)
    else:
        kind, target = ("module", module) if module is not None else ("code", code or "")
    interpreter, environment = _choose_interpreter(config, folder, python_path, venv)
    env = env or {}
    return LaunchSpec(
        kind=kind,
        target=target,
        args=args or [],
        cwd=folder,
        env=env,
        interpreter=interpreter,
        interpreter_args=python_args or [],
        stop_on_entry=config.stop_on_entry if stop_on_entry is None else stop_on_entry,
        just_my_code=just_my_code,
        added=_variables(
            env, environment, import_paths(config.pythonpath if pythonpath is None else pythonpath, folder)
        ),
        removed=ACTIVATED if environment else (),
    )


def _choose_interpreter(
    config: Config, folder: str, python_path: str | None, venv: str | None
) -> tuple[str, str | None]:
    """The launch's own choice before the session's; and the environment to activate, if one was chosen."""
    if python_path is None and venv is None:
        python_path, venv = config.python_path, config.venv
    if python_path is not None or venv is None:
        return python_path or config.interpreter, None
    environment = find_environment(venv, folder)
    return interpreter_of(environment), environment


def _variables(env: dict[str, str], environment: str | None, imports: list[str]) -> dict[str, str]:
    """What follows from venv and pythonpath, in front of what the client or the relay's environment has there."""
    variables: dict[str, str] = {}
    if environment is not None:
        variables = activation(environment, env.get("PATH", os.environ.get("PATH", "")))
    if imports:
        before = env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        variables["PYTHONPATH"] = os.pathsep.join([*imports, before] if before else imports)
    return variables


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
