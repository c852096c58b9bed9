"""Starts a Python program whose debugger connects back to us."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from typing import Any

import msgspec

from ....dap.channel import Channel
from ....errors import RelayError
from ....files import write_file
from ...process.program_process import MARKER, Program, program_environment
from ...shapes import LaunchSpec
from ..inside.processes.launch_plans import handed_down
from ..python_recording import RecordingOptions, recording_options
from .callback_socket import CallBack, Way

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = os.path.join(HERE, "debugpy_launcher.py")
CHILD_LAUNCHER = os.path.join(HERE, "child_debugpy_launcher.py")
INSIDE = os.path.join(os.path.dirname(HERE), "inside")
BELOW = os.path.join(HERE, "below")

LAUNCH = "OPENCODE_DEBUG_LAUNCH"
"""The variable in which a launcher is told what to do."""
ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYDEVD_WARN_EVALUATION_TIMEOUT": "86400",
    "PYDEVD_WARN_SLOW_RESOLVE_TIMEOUT": "86400",
}


class LauncherConfig(msgspec.Struct, kw_only=True):
    """Tells a launcher all that does not depend on what it runs. Pythons that others start find it in a file."""

    way: Way
    """to the runner's socket"""
    debugpy: str
    """folder of the relay's own"""
    inside: str
    """folder of our code that runs in programs"""
    first_reference: int
    """from which on values are numbered"""
    subprocesses: bool
    """children are debugged too"""
    launcher: str
    """file that starts a child"""
    marker: tuple[str, str]
    """name and value of the variable that everything has which a session starts"""
    environment: dict[str, str]
    """variables for the debugger of a child"""
    remove_environment: list[str]
    """variables that the program itself is not to see"""
    record: RecordingOptions | None = None
    """how to record the program and its children, if they are recorded"""
    below: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """`folder` and `file` by which Pythons hand themselves over that others start"""


class ProgramConfig(LauncherConfig, kw_only=True):
    """Tells the launcher of the program itself what to run."""

    kind: str
    target: str
    shown: int
    """how many words of the command line are only for people"""
    options: list[str]
    """of the interpreter"""


async def debugger_connection(callback: CallBack, program: Program, timeout: float) -> Channel:
    """Return the connection of the program's debugger, or raise why it never came."""
    either: list[asyncio.Future[Any]] = [callback.debugger, program.ended]
    await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    if callback.debugger.done():
        return callback.take()
    if program.is_alive:
        raise RelayError("LAUNCH_FAILED", f"The debugger did not connect within {timeout:g} s")
    status = program.ended.result()
    message = "The program ended before its debugger connected"
    raise RelayError("LAUNCH_FAILED", message, exit_code=status.code, signal=status.signal)


def launch_command(interpreter: str, spec: LaunchSpec) -> list[str]:
    # Frozen modules would keep the debugger from seeing some of the standard library.
    return [interpreter, "-Xfrozen_modules=off", *spec.interpreter_args, LAUNCHER, *_shown_words(spec), *spec.args]


def _shown_words(spec: LaunchSpec) -> list[str]:
    """Return what is run, for people who look at the list of processes; the launcher takes it away."""
    return {"file": [spec.target], "module": ["-m", spec.target]}.get(spec.kind, ["-c"])


def launch_environment(spec: LaunchSpec, session_id: str, callback: CallBack, first_reference: int) -> dict[str, str]:
    """Return the program's own environment, and what the launcher needs."""
    common = msgspec.structs.asdict(launcher_config(spec, session_id, callback, first_reference))
    shown, options = len(_shown_words(spec)), spec.interpreter_args
    config = ProgramConfig(**common, kind=spec.kind, target=spec.target, shown=shown, options=options)
    return {**program_environment(spec, session_id), **ENVIRONMENT, LAUNCH: msgspec.json.encode(config).decode()}


def undebugged_environment(
    spec: LaunchSpec, session_id: str, callback: CallBack, first_reference: int
) -> dict[str, str]:
    """Return that of a program that is not debugged: by it the Pythons below hand themselves over, if they are to."""
    own = program_environment(spec, session_id)
    if not spec.debug_subprocesses:
        return own
    config = launcher_config(spec, session_id, callback, first_reference)
    assert config.below is not msgspec.UNSET
    unbuffered = {"PYTHONUNBUFFERED": ENVIRONMENT["PYTHONUNBUFFERED"]}
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in {**own, **unbuffered}.items()}
    handed = handed_down(encoded, config.below)
    return {os.fsdecode(name): os.fsdecode(value) for name, value in handed.items()}


def launcher_config(spec: LaunchSpec, session_id: str, callback: CallBack, first_reference: int) -> LauncherConfig:
    of_debugger = {name: value for name, value in ENVIRONMENT.items() if name.startswith("PYDEVD")}
    config = LauncherConfig(
        way=callback.way(),
        debugpy=debugpy_folder(),
        inside=INSIDE,
        first_reference=first_reference,
        subprocesses=spec.debug_subprocesses,
        launcher=CHILD_LAUNCHER,
        marker=(MARKER, session_id),
        environment=of_debugger,
        remove_environment=[*of_debugger, "PYDEVD_USE_FRAME_EVAL"],
        record=recording_options(spec.record, callback.folder) if spec.record and callback.folder else None,
    )
    if spec.debug_subprocesses:
        config.below = {"folder": BELOW, "file": callback.note_path}
        try:
            from pathlib import Path  # here, because few runners need it, and it brings much along

            write_file(Path(callback.note_path), msgspec.json.encode(config))
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"The session's folder cannot be used: {error.strerror}") from error
    return config


def debugpy_folder() -> str:
    found = importlib.util.find_spec("debugpy")
    assert found is not None and found.origin is not None
    return os.path.dirname(found.origin)
