"""Tells whoever follows the list of sessions what has changed in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ..answers.sessions import SessionItem

GetItems = Callable[[bool], Awaitable[list[SessionItem]]]
"""Returns the sessions: as they are now, if they are to be asked, or as they have said last."""


class SessionFeed:
    """Wakes followers; each of them looks by itself what is new to it, so that none is kept waiting by another."""

    def __init__(self) -> None:
        self._news: asyncio.Future[None] | None = None

    def note_change(self) -> None:
        if self._news is not None:
            self._news.set_result(None)
            self._news = None

    def next_change(self) -> asyncio.Future[None]:
        """Return what is done when something changes from now on."""
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        return self._news


@dataclass
class SessionChanges:
    """Sessions that are new to a follower, or have changed, and those that are gone."""

    changed: list[SessionItem] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)


class SessionsFollowing:
    """Follows the list of sessions for one client."""

    def __init__(self, feed: SessionFeed, get_items: GetItems, closing: asyncio.Event) -> None:
        self._feed = feed
        self._get_items = get_items
        self._closing = closing
        self._told: dict[str, SessionItem] | None = None

    async def next_changes(self, timeout: float) -> SessionChanges | None:
        """Return what has changed, the first time all that is there; nothing new when the time is up. None: the relay
        is closing."""
        is_first = self._told is None
        change = self._feed.next_change()  # before it is looked, so that nothing falls in between
        changes = await self._look_for_changes()
        if is_first or changes.changed or changes.deleted:
            return changes
        closing = asyncio.ensure_future(self._closing.wait())
        either: list[asyncio.Future[Any]] = [change, closing]
        try:
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
        return None if self._closing.is_set() else await self._look_for_changes()

    async def _look_for_changes(self) -> SessionChanges:
        items = {item.session_id: item for item in await self._get_items(self._told is None)}
        before, self._told = self._told or {}, items
        changed = [item for id, item in items.items() if before.get(id) != item]
        deleted = [id for id in before if id not in items]
        return SessionChanges(changed, deleted)
