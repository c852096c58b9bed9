"""What was done to breakpoints of a session that is not saved for its project yet."""

from __future__ import annotations

from typing import Any

import msgspec

from .breakpoints import Breakpoint


class Unsaved:
    """Collects changes until the relay, which saves them, asks for them."""

    def __init__(self) -> None:
        self._changed: dict[Any, Breakpoint] = {}
        self._gone: dict[Any, Breakpoint] = {}

    def keep(self, bp: Breakpoint) -> None:
        self._gone.pop(bp.key, None)
        self._changed[bp.key] = bp

    def drop(self, bp: Breakpoint) -> None:
        self._changed.pop(bp.key, None)
        self._gone[bp.key] = bp

    def move(self, old: Breakpoint, new: Breakpoint) -> None:
        """Several that move at once may take each other's places."""
        taken = self._changed.get(old.key)
        if new.key != old.key and (taken is None or taken.number == old.number):
            self.drop(old)
        self.keep(new)

    def take(self) -> dict[str, list[dict[str, Any]]]:
        changed, gone = self._changed, self._gone
        self._changed, self._gone = {}, {}
        return {
            "changed": [saved_form(bp) for bp in changed.values()],
            "gone": [saved_form(bp) for bp in gone.values()],
        }


def saved_form(bp: Breakpoint) -> dict[str, Any]:
    """As it is set, and with what is on its line, so that the next session finds that."""
    return {
        "source": {"path": bp.path} if bp.path else None,
        "line": None if bp.function else bp.line,
        "function": bp.function,
        "condition": bp.condition,
        "hit_condition": bp.hit_condition,
        "log_message": bp.log_message,
        "enabled": bp.enabled,
        "content": msgspec.to_builtins(bp.content),
    }
