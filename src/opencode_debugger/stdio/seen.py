"""What the variables of each frame were when a client last saw them: what has changed since is news."""

from __future__ import annotations

from collections.abc import Mapping

THREADS = 100

Place = tuple[str, str]
"""file and function"""


class Seen:
    def __init__(self) -> None:
        self._threads: dict[int, dict[int, tuple[Place, dict[str, int]]]] = {}
        """by thread, then by depth of the frame: where it is, and what stands for each value"""

    def look(self, thread_id: int, depth: int, place: Place, values: Mapping[str, str]) -> set[str]:
        """Names of the variables that have changed: all in a function that was entered, none in one never seen."""
        frames = self._threads.pop(thread_id, {})
        is_known = depth in frames or depth > max(frames, default=depth)
        there, before = frames.get(depth, (place, {}))
        now = {name: hash(value) for name, value in values.items()}
        while len(self._threads) >= THREADS:
            del self._threads[next(iter(self._threads))]
        self._threads[thread_id] = {at: frame for at, frame in frames.items() if at < depth} | {depth: (place, now)}
        if there != place:
            before = {}
        return {name for name, value in now.items() if before.get(name) != value} if is_known else set()
