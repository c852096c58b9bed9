"""Named sets of breakpoints: saved from a session or from a list, applied to any session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ..adapters.debugpy.interpreter import check_expression
from ..core.breakpoints import Breakpoint, check_expressions
from ..core.exception_breakpoints import draft_of
from ..errors import RelayError
from ..persistence.breakpoints import Definition
from ..persistence.profiles import ExceptionDefinition, Profile, ProfileStore, relative

Call = Callable[[str, str, dict[str, Any]], Awaitable[bytes]]


class Profiles:
    def __init__(self, store: ProfileStore, call: Call, root_of: Callable[[str], str | None]) -> None:
        self._store = store
        self._call = call
        self._root_of = root_of

    async def listed(self) -> dict[str, Any]:
        """All of them; of one that cannot be read, why."""
        names = await asyncio.to_thread(self._store.names)
        found = [await asyncio.to_thread(self._summary, name) for name in names]
        return {"profiles": found, "total": len(found)}

    def _summary(self, name: str) -> dict[str, Any]:
        try:
            profile = self._store.load(name)
        except RelayError as error:
            return {"name": name, "error": {"code": error.code, "message": error.message}}
        return {
            "name": name,
            "saved_at": profile.saved_at,
            "project_root": profile.project_root,
            "breakpoint_count": len(profile.breakpoints),
            "exception_breakpoint_count": len(profile.exception_breakpoints),
        }

    async def get(self, name: str) -> dict[str, Any]:
        return (await asyncio.to_thread(self._store.load, name)).to_dict()

    async def save(self, name: str, wishes: dict[str, Any], replace: bool) -> dict[str, Any]:
        session_id = wishes.get("session_id")
        profile = await self._of_session(name, session_id) if session_id else _of_list(name, wishes)
        return (await asyncio.to_thread(self._store.save, profile, replace)).to_dict()

    async def _of_session(self, name: str, session_id: str) -> Profile:
        listed = msgspec.json.decode(await self._call(session_id, "list_breakpoints", {}))["breakpoints"]
        rules = msgspec.json.decode(await self._call(session_id, "list_exception_breakpoints", {}))
        own = [rule for rule in rules["exception_breakpoints"] if not rule["from_launch"]]
        return _profile(name, [_definition_of(each) for each in listed], own, self._root_of(session_id))

    async def apply(self, name: str, session_id: str, replace: bool) -> dict[str, Any]:
        profile = (await self.get(name)) | {"replace": replace}
        wishes = {key: profile[key] for key in ("breakpoints", "exception_breakpoints", "replace")}
        answer = msgspec.json.decode(await self._call(session_id, "apply_breakpoints", wishes))
        return {"profile": name, "session_id": session_id, **answer}

    async def delete(self, name: str) -> dict[str, Any]:
        await asyncio.to_thread(self._store.delete, name)
        return {"name": name, "deleted": True}


def _definition_of(described: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a breakpoint that a session describes: of a function not where it was found."""
    if not described.get("function"):
        return described
    file = described.get("file")
    return {**described, "source": {"path": file} if file else None, "line": None}


def _of_list(name: str, wishes: dict[str, Any]) -> Profile:
    """From breakpoints as a client sends them: checked as far as one can without a session."""
    definitions = []
    for item in wishes.get("breakpoints") or []:
        path = item.get("path")
        bp = Breakpoint(path or "", item.get("line") or 0, function=item.get("function"))
        bp.condition, bp.hit_condition = item.get("condition"), item.get("hit_condition")
        bp.log_message = item.get("log_message")
        check_expressions(bp, check_expression)
        definitions.append({**item, "source": {"path": path} if path else None})
    rules = wishes.get("exception_breakpoints") or []
    for rule in rules:
        draft_of(rule, check_expression)
    return _profile(name, definitions, rules, wishes.get("project_root"))


def _profile(name: str, definitions: list[Any], rules: list[Any], root: str | None) -> Profile:
    kept = [relative(each, root) for each in msgspec.convert(definitions, list[Definition])]
    return Profile(name, kept, msgspec.convert(rules, list[ExceptionDefinition]), root)
