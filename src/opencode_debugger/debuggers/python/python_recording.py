"""Recordings of a Python program: begun and ended inside it, written by it to files in the session's folder."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.machine import Recording
from ...answers.shape import UNSET
from ...errors import RelayError
from ...text.secrets import SECRET_NAMES, WORD_BREAKS
from ..optional_features import refusal
from ..shapes import Go, RecordingWish

if TYPE_CHECKING:
    from .debugpy_connection import DebugpyConnection

RECORDINGS = "recordings"
"""The folder for them in that of the session."""
MOST_FOLDERS = 40
"""recordings that are kept of what a session runs, children included"""
NOTHING = "Nothing is recorded"
ENDED = "The program has ended; what was recorded of it can be asked"
RECORDS = "Calls of the program's own code are recorded from here on"


class RecordingOptions(msgspec.Struct, kw_only=True):
    """Tells the code inside the program how to record it."""

    folder: str
    """in which each process makes one of its own"""
    calls: bool
    lines: list[str]
    scope: list[str]
    limit_mb: int
    complete: bool
    secret_names: str = SECRET_NAMES
    word_breaks: str = WORD_BREAKS


def recording_options(wish: RecordingWish, session_folder: str) -> RecordingOptions:
    return RecordingOptions(
        folder=os.path.join(session_folder, RECORDINGS), calls=wish.calls, lines=list(wish.lines),
        scope=list(wish.scope), limit_mb=wish.limit_mb, complete=wish.complete,
    )  # fmt: skip


@dataclass(eq=False)
class PythonRecording:
    needs_pause = False
    _connection: DebugpyConnection
    _session_folder: str | None
    _pids: list[int] = field(default_factory=list)
    """processes that this session has had as its program, the first one first"""

    def note_program(self, pid: int | None) -> None:
        """Take note of a program whose recordings are this session's, and make room for them."""
        if pid is not None and pid not in self._pids:
            self._pids.append(pid)
        for folder in self._all_folders()[:-MOST_FOLDERS]:
            shutil.rmtree(folder, ignore_errors=True)

    def _all_folders(self) -> list[str]:
        """Return the recordings of all programs in the session's folder, the oldest first."""
        found: list[tuple[float, str]] = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(os.path.join(self._session_folder or "", RECORDINGS)):
                found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
        return [path for _, path in sorted(found)]

    def folders(self) -> list[str]:
        """Return the recordings of this session's program, the oldest first."""
        return [path for path in self._all_folders() if int(os.path.basename(path).split("-")[0]) in self._pids]

    async def record(self, enabled: bool, wish: RecordingWish) -> Recording:
        if not enabled:
            return _answer(await self._connection.call_aside("stop_recording"), NOTHING)
        if not self._session_folder:
            raise _not_recorded("the session has no folder for the recording")
        options = msgspec.to_builtins(recording_options(wish, self._session_folder))
        about = await self._connection.call_aside("record", options=options)
        if about.get("problem"):
            raise _not_recorded(about["problem"])
        return _answer(about, RECORDS)

    async def describe(self) -> Recording:
        if self._connection.is_open:
            try:
                return _answer(await self._connection.call_aside("recording"), None)
            except RelayError:
                if self._connection.is_open:
                    raise
        return Recording(recording=False, message=ENDED if self.folders() else NOTHING)

    async def flush(self) -> None:
        """Have written what is still in the program's memory, if it lives."""
        if self._connection.is_open:
            with contextlib.suppress(RelayError):  # it has ended meanwhile, and has written it then
                await self._connection.call_aside("write_recording")

    async def finish(self) -> None:
        """End the recording of a program that is about to be let go."""
        if self._connection.is_open:
            with contextlib.suppress(RelayError):
                await self._connection.call_aside("stop_recording")

    async def reverse(self, kind: str, thread_id: int, go: Go | None = None) -> None:
        raise refusal("debugpy", "reverse")


def _answer(about: dict[str, Any], message: str | None) -> Recording:
    if "folder" not in about:
        return Recording(recording=False, message=message or NOTHING)
    told = {name: about[name] for name in ("calls", "functions", "bytes", "dropped_calls", "dropped_steps")}
    rested = about["rested"] or UNSET
    note = about["problem"] or message
    return Recording(recording=about["recording"], message=note or UNSET, lines=about["steps"], rested=rested, **told)


def _not_recorded(problem: str) -> RelayError:
    suggestion = "A program in a container, on another machine or of another user cannot write to the session's folder"
    return RelayError("NOT_SUPPORTED", f"The program cannot be recorded: {problem}", suggestion=suggestion)
