"""Setting, changing, listing and removing breakpoints, and telling the debugger and the log about it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...answers import breakpoints as answers
from ...answers.breakpoints import BreakpointsApplied, BreakpointsSet
from ...answers.documents import SavedBreakpoint, SavedExceptionBreakpoint
from ...errors import RelayError, invalid_parameter
from ...operations.advice import advice
from ...operations.states import LIVE
from ...wording import counted
from ..lifecycle.debuggee import Debuggee
from .breakpoint_table import Breakpoint, BreakpointItem, BreakpointTable, Place
from .examination import examine_breakpoint, require_usable
from .exception_breakpoints import ExceptionPlacement, all_or_nothing
from .find_line import LineContent, content_of
from .source_files import read_lines

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter

FILE_WATCH = 1.0
NOTES_SHOWN = 10


class Placement:
    def __init__(self, debuggee: Debuggee, adapter: Adapter, project_root: str | None) -> None:
        self._debuggee = debuggee
        self._adapter = adapter
        self._table: BreakpointTable = debuggee.breakpoints
        self._project_root = project_root or "/"
        self._file_watch: asyncio.Task[None] | None = None
        self.change_lock = asyncio.Lock()
        """held while the debugger is told of breakpoints, a launch included, so that none falls between"""
        self.exceptions = ExceptionPlacement(debuggee, adapter, self.change_lock)
        self.unsaved = UnsavedChanges()

    async def restore_breakpoints(self, definitions: list[dict[str, Any]]) -> None:
        """Set those of earlier sessions where their lines are now. One that is gone does not refuse a session."""
        for definition in definitions:
            with contextlib.suppress(RelayError, KeyError, TypeError, msgspec.ValidationError):
                content = msgspec.convert(definition.get("content"), LineContent | None)
                bp = self._table.from_item(item_of(definition), "source.path")
                self._table.add_or_replace(replace(bp, content=content, is_restored=True))
        if definitions:
            await self.follow_and_examine()

    def export_breakpoints(self, place: Callable[[str], str]) -> list[SavedBreakpoint]:
        """Return all as they are set, without what this session knows of them."""
        return [bp.to_exported(place(bp.path) if bp.path else None) for bp in self._table.all()]

    async def take_over(self, definitions: list[dict[str, Any]]) -> list[str]:
        """Set those of another session. Return warnings about those that were left out or are pending."""
        warnings = []
        for index, definition in enumerate(definitions):
            place = f"{(definition.get('source') or {}).get('path')}:{definition.get('line')}"
            where = definition.get("function") or place
            try:
                (draft,) = await self._table.check_drafts([item_of(definition)], False, self._adapter)
            except RelayError as error:
                if error.code != "BREAKPOINT_INVALID_LINE":
                    error.details["breakpoint"] = f"breakpoints[{index}]"
                    raise
                warnings.append(f"Breakpoint at {where} was left out: {error.message}")
                continue
            self.unsaved.note_change(self._table.add_or_replace(draft)[0])
            if draft.is_pending and not draft.function:
                warnings.append(f"Breakpoint at {where} waits for its file, which does not exist")
        self._watch_missing_files()
        return warnings

    def use_project_root(self, project_root: str | None) -> None:
        self._project_root = project_root or "/"
        self._table.project_root = project_root

    async def follow_and_examine(self) -> None:
        """Move breakpoints to where their lines are now and examine all: files are edited between two runs."""
        await self._follow_lines()
        await self.examine_again()

    async def _follow_lines(self) -> None:
        """Move breakpoints with their lines, unless a program runs: its lines are those that it has loaded."""
        async with self.change_lock:
            if self._debuggee.state in LIVE:
                return
            moved = self._table.follow_lines()
            elsewhere = {new.number for _, new in moved}
            changed = []
            for bp in self._table.all():
                if bp.edit_note or not (bp.function or read_lines(bp.path)):
                    before = bp.verified, bp.message
                    await self._examine_quietly(bp)
                    if before != (bp.verified, bp.message) or bp.number in elsewhere:
                        changed.append(bp)
        for old, new in moved:
            self.unsaved.note_move(old, new)
        for bp in changed:
            self._debuggee.reached.log_breakpoint(bp, "changed")

    def take_edit_notes(self) -> list[str]:
        """Return what edits of files have done to breakpoints: to be told once."""
        edited = [bp for bp in self._table.all() if bp.edit_note]
        told = [f"{bp.id} ({bp.path}): {bp.edit_note}" for bp in edited[:NOTES_SHOWN]]
        for bp in edited:
            bp.edit_note = None
        rest = len(edited) - len(told)
        more = advice("{rest}: see {list_breakpoints}", rest=counted(rest, "more breakpoint"))
        return [*told, more] if rest else told

    async def examine_again(self) -> None:
        """Examine every line: another interpreter may see other lines."""
        async with self.change_lock:
            for bp in self._table.all():
                await self._examine_quietly(bp)
        self._watch_missing_files()

    async def _examine_quietly(self, bp: Breakpoint) -> None:
        try:
            await examine_breakpoint(bp, False, self._adapter)
        except RelayError as error:
            bp.verified, bp.is_pending, bp.message = False, False, error.message

    async def set_breakpoints(
        self, breakpoints: list[BreakpointItem], strict: bool = False, single: bool = False
    ) -> BreakpointsSet:
        await self._follow_lines()
        async with self.change_lock:
            drafts = await self._check_drafts(breakpoints, strict)
            async with self._all_or_nothing({draft.debugger_group for draft in drafts}):
                placed = [self._table.add_or_replace(draft) for draft in drafts]
                await self._send_groups({bp.debugger_group for bp, _ in placed})
                for bp, _ in placed:
                    require_usable(bp, strict)
        for bp, reason in placed:
            self._note_change(bp, reason)
        self._watch_missing_files()
        await self._mark_changed([bp for bp, _ in placed])
        shown = [bp.to_answer() for bp, _ in placed]
        if not single:
            return BreakpointsSet(breakpoints=shown)
        return BreakpointsSet(breakpoints=shown, breakpoint_id=shown[0].id, verified=shown[0].verified)

    async def change_breakpoint(
        self, breakpoint_id: str, changes: BreakpointItem, strict: bool = False
    ) -> answers.BreakpointChanged:
        """Change only what is named; null takes a condition, hit condition or log message away."""
        await self._follow_lines()
        async with self.change_lock:
            old = self._table.find_by_id(breakpoint_id)
            if old.function and "line" in changes:
                message = f"{old.id} is on a function: it has no line to change"
                raise invalid_parameter("line", str(changes["line"]), message, "Set a new breakpoint on the line")
            (new,) = await self._check_drafts([item_of(old.to_saved()) | changes], strict)
            self._table.require_room(old, new)
            if new.key == old.key:
                new.content, new.places = old.content, new.places or old.places
                if new.function and old.verified and not new.verified:
                    new.verified, new.message, new.is_pending = True, old.message, False
            async with self._all_or_nothing({old.debugger_group}):
                if new.key != old.key:
                    self._table.remove_breakpoint(old)
                    await self._send_groups({old.debugger_group})  # so that its hits there are forgotten
                self._table.replace_breakpoint(old, new)
                await self._send_groups({new.debugger_group})
                require_usable(new, strict)
        self.unsaved.note_move(old, new)
        self._debuggee.reached.log_breakpoint(new, "changed")
        self._watch_missing_files()
        await self._mark_changed([new])
        shown = msgspec.structs.asdict(new.to_answer())
        return answers.BreakpointChanged(**shown | ({"moved_from": old.line} if new.line != old.line else {}))

    async def remove_breakpoint(self, breakpoint_id: str) -> answers.BreakpointRemoved:
        (gone,) = await self._remove_some(breakpoint_id)
        return answers.BreakpointRemoved(deleted=True, **msgspec.structs.asdict(gone))

    async def clear_breakpoints(self) -> answers.BreakpointsRemoved:
        return answers.BreakpointsRemoved(deleted=True, removed=await self._remove_some())

    async def _remove_some(self, breakpoint_id: str | None = None) -> list[answers.BreakpointGone]:
        """Remove one, or all of them."""
        async with self.change_lock:
            gone = self._table.all() if breakpoint_id is None else [self._table.find_by_id(breakpoint_id)]
            groups = {bp.debugger_group for bp in gone}
            async with self._all_or_nothing(groups):
                for bp in gone:
                    self._table.remove_breakpoint(bp)
                await self._send_groups(groups)
        for bp in gone:
            self._note_change(bp, "removed")
        return [bp.to_removed() for bp in gone]

    async def apply_profile(
        self, breakpoints: list[dict[str, Any]], exception_breakpoints: list[SavedExceptionBreakpoint],
        replace: bool = False,
    ) -> BreakpointsApplied:
        """Set many at once, all or none; with `replace` they are the only ones afterwards."""
        await self._follow_lines()
        async with self.change_lock:
            drafts = await self._check_drafts([item_of(each) for each in breakpoints], False)
            rules = [self.exceptions.make_draft(each) for each in exception_breakpoints]
            wanted = {draft.key for draft in drafts}
            gone = [bp for bp in self._table.all() if replace and bp.key not in wanted]
            exceptions = self._debuggee.exception_breakpoints
            dropped = [known for known in exceptions.all() if replace and not known.from_launch]
            groups = {bp.debugger_group for bp in [*drafts, *gone]}
            async with self._all_or_nothing(groups), self.exceptions.all_or_nothing():
                for bp in gone:
                    self._table.remove_breakpoint(bp)
                placed = [self._table.add_or_replace(draft) for draft in drafts]
                exceptions.remove_breakpoints(dropped)
                ruled = [(rule, exceptions.add_or_replace(rule)) for rule in rules]
                await self._send_groups(groups)
                await self.exceptions.send_to_debugger()
        for bp, reason in [*((bp, "removed") for bp in gone), *placed]:
            self._note_change(bp, reason)
        for rule, reason in [*((rule, "removed") for rule in dropped), *ruled]:
            self.exceptions.log_change(rule, reason)
        self._watch_missing_files()
        shown, removed = [bp.to_answer() for bp, _ in placed], [bp.to_removed() for bp in gone]
        ruled_by = [rule.to_answer() for rule in rules]
        return BreakpointsApplied(breakpoints=shown, exception_breakpoints=ruled_by, removed=removed)

    async def _check_drafts(self, items: list[BreakpointItem], strict: bool) -> list[Breakpoint]:
        drafts = await self._table.check_drafts(items, strict, self._adapter)
        # A client that gives a line number sees the version that runs: the line is taken as one of that.
        by_line = [bp for bp in drafts if bp.line and not (bp.content and bp.content.asked)]
        old = await self._old_versions({bp.path for bp in by_line})
        for bp in by_line:
            if bp.path in old:
                bp.content = content_of(old[bp.path], bp.line)
        return drafts

    def _all_or_nothing(self, groups: set[str]) -> contextlib.AbstractAsyncContextManager[None]:
        return all_or_nothing(self._table.unchanged_on_failure(), partial(self._send_groups, groups))

    async def list_breakpoints(self, file: str | None = None, verified: bool | None = None) -> answers.BreakpointList:
        if self._debuggee.state in LIVE:
            with contextlib.suppress(RelayError):
                self._debuggee.on_hits(await self._adapter.breakpoints.hits())
            await self._mark_changed(self._table.all())
        real = os.path.realpath(os.path.join(self._project_root, file)) if file else None
        async with self.change_lock:  # what is shown is what the debugger knows
            found = [bp for bp in self._table.all() if verified in (None, bp.verified)]
            shown = [bp.to_answer() for bp in found if real is None or real in bp.real_paths]
        return answers.BreakpointList(breakpoints=shown, total=len(shown))

    async def _mark_changed(self, breakpoints: list[Breakpoint]) -> None:
        if self._debuggee.state in LIVE:
            await self._debuggee.reached.mark_changed(breakpoints, self._adapter)

    async def _old_versions(self, paths: set[str]) -> dict[str, list[str]]:
        """Return the files of which the program runs an older version, with its lines, none if they are not known."""
        if self._debuggee.state not in LIVE:
            return {}
        return await self._debuggee.reached.file_changes.find_changed(paths, self._adapter)

    async def _send_groups(self, paths: set[str]) -> None:
        if self._debuggee.state not in LIVE:
            return
        self._debuggee.on_hits(await self._adapter.breakpoints.hits())
        for path in paths:
            if path:
                self._debuggee.reached.file_changes.remember_file(path)
            group = self._table.in_file(path)
            bound = await self._adapter.breakpoints.set_breakpoints(path, [bp.for_debugger() for bp in group])
            for bp, result in zip(group, bound, strict=True):
                bp.apply_binding(result)

    def _note_change(self, bp: Breakpoint, reason: str) -> None:
        """Note that one is new, changed or removed, for those who save it and for those who read the log."""
        (self.unsaved.note_removal if reason == "removed" else self.unsaved.note_change)(bp)
        self._debuggee.reached.log_breakpoint(bp, reason)

    def _watch_missing_files(self) -> None:
        if self._file_watch is None and self._table.pending_breakpoints():
            self._file_watch = asyncio.get_running_loop().create_task(self._verify_when_files_appear())

    async def _verify_when_files_appear(self) -> None:
        while self._table.pending_breakpoints():
            await asyncio.sleep(FILE_WATCH)
            await self.verify_pending()
        self._file_watch = None

    async def verify_pending(self) -> None:
        """Verify those whose files have appeared, where their lines are now unless an older version runs."""
        async with self.change_lock:
            back = {bp.number: bp.path for bp in self._table.pending_breakpoints() if os.path.isfile(bp.path)}
            if not back:
                return
            old = await self._old_versions(set(back.values()))
            moved = self._table.follow_lines({number for number, path in back.items() if path not in old})
            found = [bp for bp in self._table.all() if bp.number in back]
            for bp in found:
                await self._examine_quietly(bp)
            for group in {bp.debugger_group for bp in found}:
                with contextlib.suppress(RelayError):
                    await self._send_groups({group})
        for before, new in moved:
            self.unsaved.note_move(before, new)
        for bp in found:
            self._debuggee.reached.log_breakpoint(bp, "changed")

    def stop_watching(self) -> None:
        if self._file_watch is not None:
            self._file_watch.cancel()


@dataclass
class UnsavedChanges:
    """Collects changes until the relay, which saves them, asks for them."""

    _changed: dict[Place, Breakpoint] = field(default_factory=dict)
    _gone: dict[Place, Breakpoint] = field(default_factory=dict)

    def note_change(self, bp: Breakpoint) -> None:
        self._gone.pop(bp.key, None)
        self._changed[bp.key] = bp

    def note_removal(self, bp: Breakpoint) -> None:
        self._changed.pop(bp.key, None)
        self._gone[bp.key] = bp

    def note_move(self, old: Breakpoint, new: Breakpoint) -> None:
        """Note a new place: several that move at once may take each other's places."""
        taken = self._changed.get(old.key)
        if new.key != old.key and (taken is None or taken.number == old.number):
            self.note_removal(old)
        self.note_change(new)

    def take_changes(self) -> dict[str, list[SavedBreakpoint]]:
        changed, gone = self._changed, self._gone
        self._changed, self._gone = {}, {}
        return {"changed": [bp.to_saved() for bp in changed.values()], "gone": [bp.to_saved() for bp in gone.values()]}


def item_of(definition: Mapping[str, Any]) -> BreakpointItem:
    """Return a breakpoint that was saved in the form in which it is set."""
    path = (definition.get("source") or {}).get("path") or definition.get("file")
    return cast(BreakpointItem, {**definition, "path": path})
