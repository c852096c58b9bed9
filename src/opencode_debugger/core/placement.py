"""Setting, changing, listing and removing breakpoints, and telling the debugger and the log about it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from ..adapters.base import Adapter
from ..errors import RelayError, invalid_parameter
from ..wording import counted
from .breakpoints import Breakpoint, BreakpointTable, examine, require_found, require_good_condition
from .debuggee import Debuggee
from .exception_breakpoints import ExceptionPlacement, draft_of
from .moved_lines import content_of
from .source import read_lines
from .state import LIVE
from .unsaved import Unsaved

FILE_WATCH = 1.0
TOLD = 10
MORE = "{}: see GET /sessions/{{id}}/breakpoints"


class Placement:
    def __init__(self, debuggee: Debuggee, adapter: Adapter, project_root: str | None) -> None:
        self._debuggee = debuggee
        self._adapter = adapter
        self._table: BreakpointTable = debuggee.breakpoints
        self._root = project_root or "/"
        self._watch: asyncio.Task[None] | None = None
        self.changing = asyncio.Lock()
        """held while the debugger is told of breakpoints, a launch included, so that none falls between"""
        self.exceptions = ExceptionPlacement(debuggee, adapter, self.changing)
        self.unsaved = Unsaved()

    async def restore(self, definitions: list[dict[str, Any]]) -> None:
        """Those of earlier sessions, where their lines are now: one that is gone is no reason to refuse a session."""
        for definition in definitions:
            with contextlib.suppress(RelayError, KeyError, TypeError, msgspec.ValidationError):
                self._table.place(self._table.restored(item_of(definition)))
        if definitions:
            await self.look_again()

    def exported(self, place: Callable[[str], str]) -> list[dict[str, Any]]:
        """As they are set, without what this session knows of them."""
        return [_definition(bp, place(bp.path) if bp.path else None) for bp in self._table.all()]

    async def take_over(self, definitions: list[dict[str, Any]]) -> list[str]:
        """Those of another session; says of which nothing, or nothing yet, has come."""
        warnings = []
        for index, definition in enumerate(definitions):
            place = f"{(definition.get('source') or {}).get('path')}:{definition.get('line')}"
            where = definition.get("function") or place
            try:
                (draft,) = await self._table.check([item_of(definition)], False, self._adapter)
            except RelayError as error:
                if error.code != "BREAKPOINT_INVALID_LINE":
                    error.details["breakpoint"] = f"breakpoints[{index}]"
                    raise
                warnings.append(f"Breakpoint at {where} was left out: {error.message}")
                continue
            self.unsaved.keep(self._table.place(draft)[0])
            if draft.is_pending and not draft.function:
                warnings.append(f"Breakpoint at {where} waits for its file, which does not exist")
        self._watch_missing_files()
        return warnings

    def use_root(self, project_root: str | None) -> None:
        self._root = project_root or "/"
        self._table.project_root = project_root

    async def look_again(self) -> None:
        """Files are edited between two runs: breakpoints go where their lines are now, and all are judged anew."""
        await self._follow_lines()
        await self.judge_again()

    async def _follow_lines(self) -> None:
        """Those of a program that runs stay: its lines are those that it has loaded."""
        async with self.changing:
            if self._debuggee.state in LIVE:
                return
            moved = self._table.follow_lines()
            elsewhere = {new.number for _, new in moved}
            doubtful = [bp for bp in self._table.all() if bp.edited or not (bp.function or read_lines(bp.path))]
            changed = [bp for bp in doubtful if await self._is_judged_otherwise(bp) or bp.number in elsewhere]
        for old, new in moved:
            self.unsaved.move(old, new)
        for bp in changed:
            self._announce(bp, "changed")

    def take_edits(self) -> list[str]:
        """What edits of files have done to breakpoints: to be told once."""
        edited = [bp for bp in self._table.all() if bp.edited]
        told = [f"{bp.id} ({bp.path}): {bp.edited}" for bp in edited[:TOLD]]
        for bp in edited:
            bp.edited = None
        rest = len(edited) - len(told)
        return [*told, MORE.format(counted(rest, "more breakpoint"))] if rest else told

    async def judge_again(self) -> None:
        """Another interpreter may see other lines."""
        async with self.changing:
            for bp in self._table.all():
                await self._judge(bp)
        self._watch_missing_files()

    async def _is_judged_otherwise(self, bp: Breakpoint) -> bool:
        before = bp.verified, bp.message
        await self._judge(bp)
        return before != (bp.verified, bp.message)

    async def _judge(self, bp: Breakpoint) -> None:
        try:
            await examine(bp, False, self._adapter)
        except RelayError as error:
            bp.verified, bp.is_pending, bp.message = False, False, error.message

    def begin(self) -> None:
        """A program starts: nothing has been reached yet, no file has changed."""
        self._table.forget_hits()
        self._debuggee.told_errors.clear()
        self._debuggee.file_changes.begin({bp.path for bp in self._table.all() if bp.path})

    async def put(
        self, breakpoints: list[dict[str, Any]], strict: bool = False, single: bool = False
    ) -> dict[str, Any]:
        await self._follow_lines()
        async with self.changing:
            drafts = await self._table.check(breakpoints, strict, self._adapter)
            await self._remember_loaded(drafts)
            async with self._all_or_nothing({draft.group for draft in drafts}):
                placed = [self._table.place(draft) for draft in drafts]
                await self._send({bp.group for bp, _ in placed})
                for bp, _ in placed:
                    require_good_condition(bp)
                    if strict:
                        require_found(bp)
        for bp, reason in placed:
            self.unsaved.keep(bp)
            self._announce(bp, reason)
        self._watch_missing_files()
        await self._mark_changed([bp for bp, _ in placed])
        answer: dict[str, Any] = {"breakpoints": [bp.to_dict() for bp, _ in placed]}
        if single:
            answer |= {"breakpoint_id": placed[0][0].id, "verified": placed[0][0].verified}
        return answer

    async def change(self, breakpoint_id: str, changes: dict[str, Any], strict: bool = False) -> dict[str, Any]:
        """Only what is named changes; null takes a condition, hit condition or log message away."""
        await self._follow_lines()
        async with self.changing:
            old = self._table.find(breakpoint_id)
            if old.function and "line" in changes:
                message = f"{old.id} is on a function: it has no line to change"
                raise invalid_parameter("line", str(changes["line"]), message, "Set a new breakpoint on the line")
            (new,) = await self._table.check([_as_item(old) | changes], strict, self._adapter)
            await self._remember_loaded([new])
            self._table.require_room(old, new)
            if new.key == old.key:
                new.content, new.places = old.content, new.places or old.places
                if new.function and old.verified and not new.verified:
                    new.verified, new.message, new.is_pending = True, old.message, False
            async with self._all_or_nothing({old.group}):
                if new.key != old.key:
                    self._table.remove(old)
                    await self._send({old.group})  # so that its hits there are forgotten
                self._table.replace(old, new)
                await self._send({new.group})
                require_good_condition(new)
                if strict:
                    require_found(new)
        self.unsaved.move(old, new)
        self._announce(new, "changed")
        self._watch_missing_files()
        await self._mark_changed([new])
        moved = {"moved_from": old.line} if new.line != old.line else {}
        return {**new.to_dict(), **moved}

    async def remove(self, breakpoint_id: str) -> dict[str, Any]:
        (gone,) = await self._remove(breakpoint_id)
        return {"deleted": True, **gone}

    async def clear(self) -> dict[str, Any]:
        return {"deleted": True, "removed": await self._remove()}

    async def _remove(self, breakpoint_id: str | None = None) -> list[dict[str, Any]]:
        """One, or all of them."""
        async with self.changing:
            gone = self._table.all() if breakpoint_id is None else [self._table.find(breakpoint_id)]
            groups = {bp.group for bp in gone}
            async with self._all_or_nothing(groups):
                for bp in gone:
                    self._table.remove(bp)
                await self._send(groups)
        for bp in gone:
            self.unsaved.drop(bp)
            self._announce(bp, "removed")
        return [{"id": bp.id, **_place(bp)} for bp in gone]

    async def apply(
        self, breakpoints: list[dict[str, Any]], exception_breakpoints: list[dict[str, Any]], replace: bool = False
    ) -> dict[str, Any]:
        """Many at once, all or none; with `replace` they are the only ones afterwards."""
        await self._follow_lines()
        async with self.changing:
            drafts = await self._table.check([item_of(each) for each in breakpoints], False, self._adapter)
            await self._remember_loaded(drafts)
            rules = [draft_of(each, self._adapter.check_expression) for each in exception_breakpoints]
            wanted = {draft.key for draft in drafts}
            gone = [bp for bp in self._table.all() if replace and bp.key not in wanted]
            dropped = [known for known in self._debuggee.exceptions.all() if replace and not known.from_launch]
            groups = {bp.group for bp in [*drafts, *gone]}
            async with self._all_or_nothing(groups), self._exceptions_or_nothing():
                for bp in gone:
                    self._table.remove(bp)
                placed = [self._table.place(draft) for draft in drafts]
                self._debuggee.exceptions.remove(dropped)
                ruled = [(rule, self._debuggee.exceptions.place(rule)) for rule in rules]
                await self._send(groups)
                await self.exceptions.send()
        for bp in gone:
            self.unsaved.drop(bp)
            self._announce(bp, "removed")
        for bp, reason in placed:
            self.unsaved.keep(bp)
            self._announce(bp, reason)
        for rule, reason in [*((rule, "removed") for rule in dropped), *ruled]:
            self.exceptions.announce(rule, reason)
        self._watch_missing_files()
        return {
            "breakpoints": [bp.to_dict() for bp, _ in placed],
            "exception_breakpoints": [rule.to_dict() for rule in rules],
            "removed": [{"id": bp.id, **_place(bp)} for bp in gone],
        }

    @contextlib.asynccontextmanager
    async def _all_or_nothing(self, groups: set[str]) -> AsyncIterator[None]:
        """What fails leaves the table, and as far as it can be told the debugger, as they were."""
        try:
            with self._table.unchanged_on_failure():
                yield
        except BaseException:
            with contextlib.suppress(RelayError):
                await self._send(groups)
            raise

    @contextlib.asynccontextmanager
    async def _exceptions_or_nothing(self) -> AsyncIterator[None]:
        try:
            with self._debuggee.exceptions.unchanged_on_failure():
                yield
        except BaseException:
            with contextlib.suppress(RelayError):
                await self.exceptions.send()
            raise

    async def listed(self, file: str | None = None, verified: bool | None = None) -> dict[str, Any]:
        if self._debuggee.state in LIVE:
            with contextlib.suppress(RelayError):
                self._debuggee.on_hits(await self._adapter.hits())
            await self._mark_changed(self._table.all())
        real = os.path.realpath(os.path.join(self._root, file)) if file else None
        async with self.changing:  # what is shown is what the debugger knows
            shown = [
                bp.to_dict()
                for bp in self._table.all()
                if (real is None or real in _files(bp)) and verified in (None, bp.verified)
            ]
        return {"breakpoints": shown, "total": len(shown)}

    async def _mark_changed(self, breakpoints: list[Breakpoint]) -> None:
        if self._debuggee.state in LIVE:
            await self._debuggee.mark_changed(breakpoints)

    async def _remember_loaded(self, drafts: list[Breakpoint]) -> None:
        """Who gives a line while an older version of the file runs means the line of that version."""
        by_line = [bp for bp in drafts if bp.line and not (bp.content and bp.content.asked)]
        old = await self._old_versions({bp.path for bp in by_line})
        for bp in by_line:
            if bp.path in old:
                bp.content = content_of(old[bp.path], bp.line)

    async def _old_versions(self, paths: set[str]) -> dict[str, list[str]]:
        """Files of which the program runs an older version, with its lines, none if they are not known."""
        if self._debuggee.state not in LIVE:
            return {}
        return await self._debuggee.file_changes.among(paths, self._adapter)

    async def _send(self, paths: set[str]) -> None:
        if self._debuggee.state not in LIVE:
            return
        self._debuggee.on_hits(await self._adapter.hits())
        for path in paths:
            if path:
                self._debuggee.file_changes.notice(path)
            group = self._table.in_file(path)
            bound = await self._adapter.set_breakpoints(path, [bp.for_debugger() for bp in group])
            for bp, result in zip(group, bound, strict=True):
                bp.bind(result)

    def _announce(self, bp: Breakpoint, reason: str) -> None:
        self._debuggee.log.add("breakpoint", {"reason": reason, "breakpoint": bp.to_dict()})

    def _watch_missing_files(self) -> None:
        if self._watch is None and self._table.pending():
            self._watch = asyncio.get_running_loop().create_task(self._verify_when_files_appear())

    async def _verify_when_files_appear(self) -> None:
        while self._table.pending():
            await asyncio.sleep(FILE_WATCH)
            await self.verify_pending()
        self._watch = None

    async def verify_pending(self) -> None:
        """Those in files that have appeared go where their lines are, unless the program runs an older version."""
        async with self.changing:
            back = {bp.number: bp.path for bp in self._table.pending() if os.path.isfile(bp.path)}
            if not back:
                return
            old = await self._old_versions(set(back.values()))
            moved = self._table.follow_lines({number for number, path in back.items() if path not in old})
            found = [bp for bp in self._table.all() if bp.number in back]
            for bp in found:
                await self._judge(bp)
            for group in {bp.group for bp in found}:
                with contextlib.suppress(RelayError):
                    await self._send({group})
        for before, new in moved:
            self.unsaved.move(before, new)
        for bp in found:
            self._announce(bp, "changed")

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()


def item_of(definition: dict[str, Any]) -> dict[str, Any]:
    """A breakpoint as it is saved, in the form in which it is set."""
    return {**definition, "path": (definition.get("source") or {}).get("path") or definition.get("file")}


def _as_item(bp: Breakpoint) -> dict[str, Any]:
    names = ("path", "line", "function", "condition", "hit_condition", "log_message", "enabled")
    return {name: getattr(bp, name) for name in names}


def _definition(bp: Breakpoint, path: str | None) -> dict[str, Any]:
    how = {name: getattr(bp, name) for name in ("condition", "hit_condition", "log_message", "enabled")}
    if bp.function:
        return {"function": bp.function, **({"file": path} if path else {}), **how}
    return {"source": {"path": path}, "line": bp.line, **how}


def _place(bp: Breakpoint) -> dict[str, Any]:
    """Where it was, as it is saved."""
    source = {"path": bp.path} if bp.path else None
    return {"source": source, "line": bp.line or None, "function": bp.function, "file": bp.path or None}


def _files(bp: Breakpoint) -> set[str]:
    found = {os.path.realpath(place["path"]) for place in bp.places}
    return found | {bp.key[0]}
