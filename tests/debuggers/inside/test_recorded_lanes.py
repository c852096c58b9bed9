"""The lanes of a recording: one for each task, remembered as long as the task lives."""

import asyncio
import weakref

import pytest

from opencode_debugger.debuggers.python.inside.recording import recorded_functions
from opencode_debugger.debuggers.python.inside.recording.recorded_functions import Lanes

TASKS = 400


def test_tasks_that_live_at_once_are_looked_through_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    class CountedReference(weakref.ref[object]):
        def __call__(self) -> object | None:
            nonlocal looks
            looks += 1
            return super().__call__()

    monkeypatch.setattr(recorded_functions, "MOST_LANES", 10)
    monkeypatch.setattr(recorded_functions.weakref, "ref", CountedReference)
    lanes = Lanes()

    async def note_lane() -> int:
        return lanes.current()

    async def note_lanes() -> list[int]:
        return await asyncio.gather(*(note_lane() for _ in range(TASKS)))

    numbers = asyncio.run(note_lanes())
    assert numbers[:9] == list(range(9)) and set(numbers[10:]) == {10}
    assert [name for _, kind, name in lanes.rows[-1:]] == ["other tasks"]
    assert 0 < looks < 4 * TASKS
