"""The numbers by which a client knows frames and values: good while their thread stays where it is."""

import itertools
from dataclasses import dataclass

from ...debuggers.shapes import Frames
from ...errors import RelayError
from ...session.inspection.threads_and_tasks import thread_runs_error
from ...session.session import Session

MOST = 50_000
"""Handles that are kept; a client that asks for ever at one stop loses the oldest."""


@dataclass(frozen=True)
class FramePlace:
    """A frame, and the stack that it was seen in."""

    thread_id: int
    index: int
    frames: Frames | None
    """nothing: it was seen while its thread ran"""

    @property
    def frame_params(self) -> dict[str, int]:
        """Parameters that name this frame to an operation."""
        return {"frame_id": self.index, "thread_id": self.thread_id}


@dataclass(frozen=True)
class ValuePlace:
    place: FramePlace
    reference: int
    expression: str | None
    """what to write to get it in that frame; of a scope, nothing"""

    def member_expression(self, name: str, index: int | None = None) -> str | None:
        """Return the expression of a member, where that is plain: a name, an attribute, an item."""
        if self.expression is None:
            return name if name.isidentifier() else None
        if name.isidentifier():
            return f"{self.expression}.{name}"
        if index is not None:
            return f"{self.expression}[{index}]"
        return f"{self.expression}[{name}]" if name[:1] in ("'", '"') else None


class ClientReferences:
    def __init__(self, session: Session) -> None:
        self._debuggee = session.debuggee
        self._going_back = session.going_back
        self._numbers = itertools.count(1)
        self._kept: dict[int, FramePlace | ValuePlace] = {}
        self._known: dict[tuple[int | str, ...], int] = {}
        self._changes = (-1, -1)

    def of_frame(self, thread_id: int, index: int) -> int:
        return self._new_number((thread_id, index), FramePlace(thread_id, index, self._stack(thread_id)))

    def _stack(self, thread_id: int) -> Frames | None:
        """Return the frames that a thread has now, or at the moment of the past at which the session stands."""
        past = self._going_back.stop
        if past is None:
            return self._debuggee.stacks.get(thread_id)
        return past.rows if past.thread_id == thread_id else None

    def code_address(self, thread_id: int, index: int) -> str | None:
        """Return where the code of a native program's frame is."""
        frames = self._stack(thread_id) or []
        found: str | None = frames[index].get("address") if index < len(frames) else None
        return found

    def of_value(self, place: FramePlace, reference: int, expression: str | None) -> int:
        """0 stays 0: there is nothing inside."""
        if not reference:
            return 0
        return self._new_number((place.thread_id, place.index, reference), ValuePlace(place, reference, expression))

    def of_expression(self, place: FramePlace, expression: str) -> int:
        return self._new_number((place.thread_id, place.index, expression), ValuePlace(place, 0, expression))

    def _new_number(self, key: tuple[int | str, ...], what: FramePlace | ValuePlace) -> int:
        self._forget_old()
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = next(self._numbers)
        self._kept[number] = what
        return number

    def _forget_old(self) -> None:
        """Forget what the thread has left, and the oldest of too many."""
        changes = self._debuggee.change_count, self._going_back.moves
        if self._changes != changes:
            self._changes = changes
            self._kept = {number: what for number, what in self._kept.items() if self._is_good(what)}
        elif len(self._kept) > MOST:
            self._kept = dict(list(self._kept.items())[MOST // 2 :])
        else:
            return
        self._known = {key: number for key, number in self._known.items() if number in self._kept}

    def _is_good(self, what: FramePlace | ValuePlace) -> bool:
        place = what.place if isinstance(what, ValuePlace) else what
        return place.frames is not None and self._stack(place.thread_id) is place.frames

    def frame_place(self, number: int | None) -> FramePlace:
        """Return a frame by its number; without one, the top frame of the thread that is looked at."""
        if number is None:
            stop = self._going_back.stop or self._debuggee.require_stop("evaluate")
            return FramePlace(stop.thread_id, 0, self._stack(stop.thread_id))
        found = self._kept.get(number)
        if isinstance(found, FramePlace) and found.frames is None:
            raise thread_runs_error(found.thread_id)
        if not isinstance(found, FramePlace) or not self._is_good(found):
            raise RelayError("FRAME_NOT_FOUND", f"Frame {number} is gone: the program has moved on")
        return found

    def value_place(self, number: int) -> ValuePlace:
        found = self._kept.get(number)
        if not isinstance(found, ValuePlace) or not self._is_good(found):
            raise RelayError("VARIABLE_NOT_FOUND", f"Reference {number} is gone: the program has moved on")
        return found
