"""Changing a session that exists: at any time, or only before its program starts."""

from __future__ import annotations

from typing import Any

from ..adapters.base import Adapter
from ..errors import RelayError
from .debuggee import Debuggee
from .lifetime import Lifetime
from .placement import Placement
from .settings import Config
from .spelling import Spelling
from .state import State

ANY_TIME = ("name", "timeout_seconds", "stop_on_entry")


class Changes:
    def __init__(
        self,
        config: Config,
        debuggee: Debuggee,
        adapter: Adapter,
        placement: Placement,
        lifetime: Lifetime,
        spelling: Spelling,
    ) -> None:
        self._config = config
        self._debuggee = debuggee
        self._adapter = adapter
        self._placement = placement
        self._lifetime = lifetime
        self._spelling = spelling

    async def apply(self, changes: dict[str, Any]) -> None:
        """All of them or none."""
        early = [name for name in changes if name not in ANY_TIME]
        self._require_created(early)
        interpreter = self._config.interpreter
        changed = Config(**{**vars(self._config), **_with_either(changes)})
        if changed.interpreter != interpreter:
            await self._adapter.check_interpreter(changed.interpreter)
            self._require_created(early)
        for name in _with_either(changes):
            setattr(self._config, name, getattr(changed, name))
        self._lifetime.timeout = self._config.timeout_seconds or self._lifetime.timeout
        if "project_root" in changes:
            self._placement.use_root(changed.project_root)
            self._spelling.learn(changed.project_root)
        if changed.interpreter != interpreter:
            self._adapter.use_interpreter(changed.interpreter)
            await self._placement.judge_again()

    def _require_created(self, names: list[str]) -> None:
        state = self._debuggee.state
        if names and state is not State.CREATED:
            raise RelayError(
                "INVALID_SESSION_STATE",
                f"Cannot change {' and '.join(names)}: the program of this session has been started",
                current_state=str(state),
                required_state=str(State.CREATED),
                fields=names,
                suggestion="POST /sessions/{id}/clone makes a session like this one: change that before you launch it",
            )


def _with_either(changes: dict[str, Any]) -> dict[str, Any]:
    """An interpreter takes the place of a venv, and the other way round."""
    if "python_path" in changes:
        return {**changes, "venv": None}
    return {**changes, "python_path": None} if "venv" in changes else changes
