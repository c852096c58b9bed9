"""Named sets of breakpoints: saved from a session or from a list, applied to any session."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from ..answers import breakpoints as answers
from ..debuggers.python.python_expressions import check_expression
from ..errors import RelayError
from ..persistence.breakpoint_store import Definition
from ..persistence.profile_store import ExceptionDefinition, Profile, ProfileStore, relative_to_root
from ..session.breakpoints.breakpoint_table import Breakpoint
from ..session.breakpoints.examination import check_expressions
from ..session.breakpoints.exception_breakpoints import make_exception_draft

Call = Callable[[str, str, dict[str, Any]], Awaitable[bytes]]


@dataclass(frozen=True)
class ProfileTable:
    store: ProfileStore
    call: Call
    root_of: Callable[[str], str | None]

    async def listed(self) -> answers.ProfileList:
        """All of them; of one that cannot be read, why."""
        names = await asyncio.to_thread(self.store.names)
        found = [await asyncio.to_thread(self._profile_summary, name) for name in names]
        return answers.ProfileList(profiles=found, total=len(found))

    def _profile_summary(self, name: str) -> answers.ProfileSummary:
        try:
            profile = self.store.load(name)
        except RelayError as error:
            why = answers.WhyUnreadable(code=error.code, message=error.message)
            return answers.ProfileSummary(name=name, error=why)
        return answers.ProfileSummary(
            name=name, saved_at=profile.saved_at, project_root=profile.project_root,
            breakpoint_count=len(profile.breakpoints), exception_breakpoint_count=len(profile.exception_breakpoints),
        )

    async def get(self, name: str) -> answers.Profile:
        return _shown_profile(await asyncio.to_thread(self.store.load, name))

    async def save(self, name: str, wishes: dict[str, Any], replace: bool) -> answers.Profile:
        session_id = wishes.get("session_id")
        profile = await self._of_session(name, session_id) if session_id else _of_list(name, wishes)
        return _shown_profile(await asyncio.to_thread(self.store.save, profile, replace))

    async def _of_session(self, name: str, session_id: str) -> Profile:
        listed = msgspec.json.decode(await self.call(session_id, "list_breakpoints", {}))["breakpoints"]
        rules = msgspec.json.decode(await self.call(session_id, "list_exception_breakpoints", {}))
        own = [rule for rule in rules["exception_breakpoints"] if not rule["from_launch"]]
        for each in listed:
            if each.get("function"):  # it is kept without the place where it was found
                each |= {"source": {"path": each["file"]} if each.get("file") else None, "line": None}
        return _new_profile(name, listed, own, self.root_of(session_id))

    async def apply(self, name: str, session_id: str, replace: bool) -> bytes:
        profile = await self.get(name)
        rules = profile.exception_breakpoints
        wishes = {"breakpoints": profile.breakpoints, "exception_breakpoints": rules, "replace": replace}
        answer = msgspec.json.decode(await self.call(session_id, "apply_breakpoints", wishes))
        return msgspec.json.encode({"profile": name, "session_id": session_id, **answer})

    async def delete(self, name: str) -> answers.ProfileDeleted:
        await asyncio.to_thread(self.store.delete, name)
        return answers.ProfileDeleted(name=name, deleted=True)


def _shown_profile(profile: Profile) -> answers.Profile:
    return msgspec.convert(msgspec.to_builtins(profile), answers.Profile)


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
        make_exception_draft(rule, check_expression)
    return _new_profile(name, definitions, rules, wishes.get("project_root"))


def _new_profile(name: str, definitions: list[Any], rules: list[Any], root: str | None) -> Profile:
    kept = [relative_to_root(each, root) for each in msgspec.convert(definitions, list[Definition])]
    return Profile(name, kept, msgspec.convert(rules, list[ExceptionDefinition]), root)
