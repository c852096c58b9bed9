"""Records the calls of the program's own code, and lines of chosen functions, for questions that are asked later.

The files are described in `recording_file`. A process has one recording at a time; forked children make their own.
"""

from __future__ import annotations

import atexit
from typing import Any, Dict, Optional

asked: Optional[Dict[str, Any]] = None
"""How this process is recorded, or was before it forked; None if it is not."""
current: Any = None
"""The recording that is made, or was made last."""
_is_installed = False
is_ending = False
"""The program has run to its end: what its threads and exit functions do is recorded, though the debugger leaves."""
CHILD_SHARE = 8


def start(options: Dict[str, Any]) -> Dict[str, Any]:
    """Begin to record; what is being recorded already ends."""
    global asked, current, _is_installed
    from .program_recording import ProgramRecording, RecordingOptions

    stop()
    try:
        recording = ProgramRecording(RecordingOptions(options))
        recording.start()
    except (OSError, RuntimeError) as error:
        return {"problem": str(error)}
    asked, current = options, recording
    if not _is_installed:
        from ..processes.joining import say_goodbye_at_exit

        atexit.register(stop, "exit")
        say_goodbye_at_exit()
        _is_installed = True
    return describe()


def stop(reason: str = "stopped") -> Dict[str, Any]:
    """End the recording, if there is one, and write what there is of it."""
    global asked
    asked = None
    if current is not None:
        current.stop(reason)
    return describe()


def leave() -> None:
    """End the recording of a program that goes on without its debugger."""
    if not is_ending:
        stop("left")


def write() -> Dict[str, Any]:
    """Write what is still in memory."""
    if current is not None and current.is_on:
        current.write()
    return describe()


def describe() -> Dict[str, Any]:
    return current.describe() if current is not None else {"recording": False}


def begin_program(config: Dict[str, Any]) -> None:
    """Begin to record a program that is about to run, if the relay wants that."""
    if config.get("record") is not None:
        is_child = bool(config.get("command"))
        start(_options_of_child(config["record"]) if is_child else config["record"])


def leave_fork() -> None:
    """Leave the parent's recording to the parent."""
    global current
    if current is not None:
        current.leave_fork()
        current = None


def begin_forked_child() -> None:
    """Record a forked child that is debugged like its parent."""
    if asked is not None:
        start(_options_of_child(asked))


def _options_of_child(options: Dict[str, Any]) -> Dict[str, Any]:
    """Give a child less room: there may be many."""
    return dict(options, limit_mb=max(1, options["limit_mb"] // CHILD_SHARE))
