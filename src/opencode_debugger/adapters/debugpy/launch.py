"""Starts a Python program whose debugger connects back to us."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path
from typing import Any

import msgspec

from ...dap.channel import Channel
from ...errors import RelayError
from ..base import LaunchSpec
from ..environment import program_environment
from ..processes import MARKER, Program
from .callback import CallBack

LAUNCHER = Path(__file__).with_name("debugpy_launcher.py")
CHILD_LAUNCHER = Path(__file__).with_name("child_debugpy_launcher.py")
INSIDE = Path(__file__).with_name("inside")
BELOW = Path(__file__).with_name("below")

LAUNCH = "OPENCODE_DEBUG_LAUNCH"
"""The variable in which a launcher is told what to do."""
ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYDEVD_WARN_EVALUATION_TIMEOUT": "86400",
    "PYDEVD_WARN_SLOW_RESOLVE_TIMEOUT": "86400",
}


async def connection(callback: CallBack, program: Program, timeout: float) -> Channel:
    """The program's debugger, or why it never came."""
    either: list[asyncio.Future[Any]] = [callback.debugger, program.ended]
    await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    if callback.debugger.done():
        return callback.take()
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
        **config_for_children(spec, session_id, callback, first_reference),
        "kind": spec.kind,
        "target": spec.target,
        "shown": len(_shown(spec)),
        "options": spec.interpreter_args,
    }
    return {
        **program_environment(spec, session_id),
        **ENVIRONMENT,
        LAUNCH: msgspec.json.encode(config).decode(),
    }


def environment_above(spec: LaunchSpec, session_id: str, callback: CallBack, first_reference: int) -> dict[str, str]:
    """Of a program that is not debugged itself: by it the Pythons below hand themselves over, if they are to."""
    own = program_environment(spec, session_id)
    if not spec.debug_subprocesses:
        return own
    from .inside.plans import handed_down  # here, because it brings the whole package along, which is for programs

    config = config_for_children(spec, session_id, callback, first_reference)
    unbuffered = {"PYTHONUNBUFFERED": ENVIRONMENT["PYTHONUNBUFFERED"]}
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in {**own, **unbuffered}.items()}
    handed = handed_down(encoded, config["below"])
    return {os.fsdecode(name): os.fsdecode(value) for name, value in handed.items()}


def config_for_children(
    spec: LaunchSpec, session_id: str, callback: CallBack, first_reference: int
) -> dict[str, Any]:
    """What launchers are told whatever they run. Pythons that are started by others find it in a file."""
    config = {
        "way": callback.way(),
        "debugpy": debugpy_folder(),
        "inside": str(INSIDE),
        "first_reference": first_reference,
        "subprocesses": spec.debug_subprocesses,
        "launcher": str(CHILD_LAUNCHER),
        "marker": [MARKER, session_id],
        "environment": {name: value for name, value in ENVIRONMENT.items() if name.startswith("PYDEVD")},
        "remove_environment": [*(name for name in ENVIRONMENT if name.startswith("PYDEVD")), "PYDEVD_USE_FRAME_EVAL"],
    }
    if spec.debug_subprocesses:
        config["below"] = {"folder": str(BELOW), "file": callback.note_path}
        callback.leave_note(msgspec.json.encode(config))
    return config


def debugpy_folder() -> str:
    found = importlib.util.find_spec("debugpy")
    assert found is not None and found.origin is not None
    return str(Path(found.origin).parent)
