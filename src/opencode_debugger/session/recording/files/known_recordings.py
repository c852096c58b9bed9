"""Which recordings a session can be asked about, and the indexes of those that were asked last."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ....errors import RelayError, invalid_parameter
from ..damage import Damaged
from ..recorded_calls import RecordedCalls
from .exported_file import ExportedRecording
from .recording_file import RecordingFolder

if TYPE_CHECKING:
    from ....debuggers.protocols import Adapter

MOST_INDEXES = 2
"""kept in memory, for one may be large: two are compared"""


class RecordingPlace(NamedTuple):
    path: str
    is_file: bool = False
    """an exported recording, and not the folder of one of ours"""

    def open(self) -> RecordingFolder | ExportedRecording:
        return ExportedRecording(self.path) if self.is_file else RecordingFolder(self.path)


@dataclass(eq=False)
class KnownRecordings:
    _adapter: Adapter
    _opened: dict[str, RecordingPlace] = field(default_factory=dict)
    """exported recordings that this session has opened, by their names"""
    _read: OrderedDict[RecordingPlace, RecordedCalls] = field(default_factory=OrderedDict)
    """recordings that were asked before"""

    def places(self) -> dict[str, RecordingPlace]:
        """Return where recordings of this session are, by their names, the oldest first."""
        own = {RecordingFolder(path).name: RecordingPlace(path) for path in self._adapter.recording.folders()}
        return {**self._opened, **own}

    def open_file(self, path: str) -> RecordedCalls:
        """Take an exported recording as one of this session."""
        place = RecordingPlace(path, is_file=True)
        calls = self.index(place)
        self._opened[calls.folder.name] = place
        return calls

    async def flush(self) -> None:
        """Have written what the program still has in memory."""
        if self.has_own:
            await self._adapter.recording.flush()

    def choose(self, recording: str | None, parameter: str = "recording") -> RecordingPlace:
        """Return the recording of this name, or the last one."""
        places = self.places()
        if not places:
            raise RelayError("RECORDING_NOT_FOUND", "Nothing was recorded in this session")
        if recording is None:
            return list(places.values())[-1]
        if recording not in places:
            message = f"There is no recording {recording[:100]!r}"
            raise invalid_parameter(parameter, recording, message, f"There are: {', '.join(places)}")
        return places[recording]

    def index(self, place: RecordingPlace) -> RecordedCalls:
        """Return the calls of a recording, with those that came since it was asked last."""
        calls = self._read.get(place)
        if calls is None or calls.folder.has_lost():
            calls = self._read[place] = RecordedCalls(place.open())
        self._read.move_to_end(place)
        while len(self._read) > MOST_INDEXES:
            self._read.popitem(last=False)
        calls.read_more()
        if place.is_file and calls.damage:
            raise Damaged(f"{place.path}: {calls.damage}")  # of one that is complete nothing is missing
        if not len(calls):
            reason = calls.damage or "no function of the recorded folders was called so far"
            message = f"The recording {calls.folder.name} has no calls: {reason}"
            raise RelayError("RECORDING_NOT_FOUND", message)
        return calls

    @property
    def has_own(self) -> bool:
        """Tell whether there is a recording of the session's program."""
        return bool(self._adapter.recording.folders())

    def read_ahead(self) -> None:
        """Read the last recording of the program; if it is over, find out who called whom as well."""
        calls = self.index(self.choose(None))
        if calls.ending is not None:
            _ = calls.tree

    @property
    def has_foreign(self) -> bool:
        """Tell whether one of the recordings that are being read may have been written by anybody."""
        return any(place.is_file for place in self._read)

    def forget(self) -> None:
        self._read.clear()
