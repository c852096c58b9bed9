"""Having a program recorded: from its launch on, or from any moment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import msgspec

from ...answers.machine import Recording
from ...answers.shape import UNSET
from ...debuggers.shapes import RecordingWish
from ..lifecycle.debuggee import Debuggee
from ..recording.files.known_recordings import KnownRecordings
from ..session_settings import Config


@dataclass(eq=False)
class Recorder:
    _debuggee: Debuggee
    _recordings: KnownRecordings
    _config: Config

    async def record(self, enabled: bool = True, **wish: Any) -> Recording:
        self._debuggee.require_state("record")
        recording = self._debuggee.require_adapter().recording
        if recording.needs_pause:
            self._debuggee.require_stop("record")
        return await recording.record(enabled, recording_wish(wish, self._config.project_root or os.getcwd()))

    async def describe(self) -> Recording:
        if self._debuggee.adapter is None:
            told = Recording(recording=False, message="Nothing is recorded: there is no program yet")
        else:
            told = await self._debuggee.adapter.recording.describe()
        return msgspec.structs.replace(told, recordings=list(self._recordings.places()) or UNSET)


def asked_recording(asked: dict[str, Any] | bool | None, base: str) -> RecordingWish | None:
    """Return what a launch or attach asks for: true stands for what is usual."""
    if asked is None or asked is False:
        return None
    return recording_wish({} if asked is True else asked, base)


def recording_wish(asked: dict[str, Any], base: str) -> RecordingWish:
    """Return a wish with absolute folders; relative ones are meant from `base` on."""
    scope = [os.path.normpath(os.path.join(base, os.path.expanduser(folder))) for folder in asked.get("scope") or ()]
    named = {name: asked[name] for name in ("calls", "limit_mb", "complete") if asked.get(name) is not None}
    return RecordingWish(lines=tuple(asked.get("lines") or ()), scope=tuple(scope), **named)
