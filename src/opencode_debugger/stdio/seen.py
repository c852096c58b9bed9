"""What the variables of each frame were when a client last saw them: what has changed since is news."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

THREADS = 100
SURE = 60
"""Characters of a value that are shown however many others there are."""

Place = tuple[str, str]
"""file and function"""


class Shown(NamedTuple):
    """What stands for a value: of one that was cut to fit, only what does not depend on how much did."""

    whole: int | None
    beginning: int

    @classmethod
    def of(cls, row: dict[str, Any]) -> Shown:
        value = str(row["value"])
        parts = row.get("named_variables"), row.get("indexed_variables")
        return cls(None if row.get("truncated") else hash(value), hash((value[:SURE], *parts)))

    def is_like(self, other: Shown) -> bool:
        is_known = self.whole is not None and other.whole is not None
        return self.whole == other.whole if is_known else self.beginning == other.beginning


class Seen:
    def __init__(self) -> None:
        self._threads: dict[int, dict[int, tuple[Place, dict[str, Shown]]]] = {}
        """by thread, then by depth of the frame"""

    def look(self, thread_id: int, depth: int, place: Place, rows: Iterable[dict[str, Any]]) -> set[str]:
        """Names of the variables that have changed: all in a function that was entered, none in one never seen."""
        frames = self._threads.pop(thread_id, {})
        is_known = depth in frames or depth > max(frames, default=depth)
        there, before = frames.get(depth, (place, {}))
        now = {row["name"]: Shown.of(row) for row in rows}
        while len(self._threads) >= THREADS:
            del self._threads[next(iter(self._threads))]
        self._threads[thread_id] = {at: frame for at, frame in frames.items() if at < depth} | {depth: (place, now)}
        if not is_known:
            return set()
        if there != place:
            return set(now)
        return {name for name, value in now.items() if name not in before or not value.is_like(before[name])}
