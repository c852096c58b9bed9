"""The sessions by id: held, found again, lost, ended with all that belongs to them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..answers.sessions import SessionDeleted, SessionItem
from ..debuggers.process.program_process import ADOPTED, adopted, collect, end_marked, kill_all, marker_of
from ..errors import RelayError
from ..files import UNREADABLE, read_file
from ..persistence.tombstones import TombstoneStore
from ..runner.handle import ChildHandle, NoAnswer, RunnerHandle
from ..runner.paths import DETACHED, FINAL
from ..runner.rpc import GARBAGE, LAUNCHED, Described, LastWords
from ..runner.spawn import reap_runners
from .session_feed import SessionFeed
from .session_record import SessionRecord

logger = logging.getLogger(__name__)

ENDING = 15.0
LEAVING = 5.0
FINDING = 5.0
"""Seconds that the start waits for a runner to say what it is."""
AGAIN = 1.0
"""Seconds until a runner is asked again that was found but did not answer."""
SESSION_ID = re.compile(r"sess_[0-9a-f]{8}", re.ASCII)


class RecordFollower(NamedTuple):
    """Tells the table what becomes of the runner of a session that it holds."""

    table: SessionTable
    record: SessionRecord

    def runner_said(self, method: str, params: dict[str, Any]) -> None:
        self.table.note_notice(self.record, method, params)

    def runner_lost(self) -> None:
        self.table.note_loss(self.record)


class SessionTable:
    def __init__(self, remember_launch: Callable[[dict[str, Any]], None]) -> None:
        self._remember_launch = remember_launch
        self._records: dict[str, SessionRecord] = {}
        self._cleanups: set[asyncio.Task[Any]] = set()
        self._removing: dict[Path, asyncio.Task[None]] = {}
        self.orphans = OrphanProcesses()
        self.feed = SessionFeed()
        self.is_closing = False
        """no more are made, and those that are not there are not looked for"""

    def __len__(self) -> int:
        return len(self._records)

    def current_sessions(self) -> list[SessionRecord]:
        return [record for record in self._records.values() if not record.handle.is_ending]

    def program_sessions(self) -> list[SessionRecord]:
        """Return the sessions of programs: not those of children, but also those that are ending."""
        return [record for record in self._records.values() if not record.is_child]

    def find(self, session_id: str) -> SessionRecord:
        record = self._records.get(session_id)
        if record is not None and not record.handle.is_ending:
            return record
        self.check_open()
        tombstone = self._tombstones.get(session_id)
        if tombstone is not None:
            how: dict[str, Any] = {"last_status": tombstone.status, "reason": tombstone.reason}
            raise RelayError("SESSION_EXPIRED", f"Session '{session_id}' expired", session_id=session_id, **how)
        shown = session_id[:100]
        raise RelayError("SESSION_NOT_FOUND", f"Session with ID '{shown}' not found", session_id=shown)

    def check_open(self) -> None:
        if self.is_closing:
            raise RelayError("SHUTTING_DOWN", "The relay is shutting down")

    # How they come.

    async def recover(self, folder: Path, tombstones: TombstoneStore, timeout: float) -> None:
        """Find the sessions of an earlier relay; `timeout` is for those that do not say their own."""
        self._tombstones = tombstones
        found = list(folder.iterdir())
        for stray in [each for each in found if not _is_session(each)]:
            logger.warning("%s is not the folder of a session and is ignored", ascii(str(stray)))
        await asyncio.gather(*(self._recover_session(each, timeout) for each in found if _is_session(each)))

    async def _recover_session(self, folder: Path, timeout: float) -> None:
        """Take over a runner that outlived an earlier relay, or remove what is left of a dead one."""
        try:
            handle = await RunnerHandle.connect(folder)
        except (OSError, ValueError):
            await self.remove_remains(folder)
            return
        try:
            answer = await asyncio.wait_for(handle.call("describe"), FINDING)
            described = msgspec.json.decode(answer, type=Described | None)
        except (RelayError, TimeoutError, *GARBAGE) as error:
            if not handle.is_open:
                await self.remove_remains(folder)
            else:
                self._hold_unknown(handle, timeout, error)
            return
        if described is None:
            handle.is_ending = True
            with contextlib.suppress(RelayError):
                await handle.call("end")
            await self.remove_remains(folder)
            return
        self._take_over(handle, described)

    def _take_over(self, handle: RunnerHandle, described: Described) -> None:
        logger.info("session %s found again", handle.session_id)
        info, saves = {**described.info, "session_id": handle.session_id}, described.saves_breakpoints
        record = SessionRecord(handle, described.project_root, info, described.timeout_seconds, saves)
        self.hold(record)
        for child in described.children:
            self._hold_child(record, child)

    def _hold_unknown(self, handle: RunnerHandle, timeout: float, error: Exception) -> None:
        """Hold a session that does not say what it is, to be deleted. If it was only stopped, it may say so yet."""
        logger.error("the runner of session %s does not say what it is: %s", handle.session_id, error)
        record = SessionRecord(handle, None, {}, timeout)
        self.hold(record, is_known=False)
        self._give_up(record)
        if isinstance(error, (NoAnswer, TimeoutError)):
            self._start_cleanup(self._ask_again(record))

    async def _ask_again(self, record: SessionRecord) -> None:
        while self._records.get(record.session_id) is record and record.runner.is_open:
            await asyncio.sleep(AGAIN)
            with contextlib.suppress(RelayError, *GARBAGE):
                described = msgspec.json.decode(await record.runner.call("describe"), type=Described)
                if self._records.get(record.session_id) is record and not record.runner.is_ending:
                    self._take_over(record.runner, described)
                return

    def hold(self, record: SessionRecord, is_known: bool = True) -> None:
        """Keep a session; what a runner has said that does not say what it is means nothing."""
        self._records[record.session_id] = record
        self.feed.note_change()
        record.runner.follow(RecordFollower(self, record), from_now=not is_known)

    def _hold_child(self, parent: SessionRecord, described: Described) -> None:
        session_id = str(described.info.get("session_id"))
        handle = ChildHandle(parent.runner, session_id)
        saves = described.saves_breakpoints
        record = SessionRecord(handle, described.project_root, described.info, parent.timeout, saves)
        self._records.setdefault(session_id, record)

    def note_notice(self, record: SessionRecord, method: str, params: dict[str, Any]) -> None:
        if method == "expired":
            last_words = msgspec.convert(params, LastWords)
            logger.info("session %s expired", record.session_id)
            record.handle.is_ending = True
            self._add_tombstones(record.session_id, last_words)
        elif method == LAUNCHED:
            self._remember_launch(params)
        elif method == "child":
            self._hold_child(record, msgspec.convert(params, Described))
        elif method == "child_gone":
            self._records.pop(str(params.get("session_id")), None)
        elif method == "changed":
            item = msgspec.convert(params, SessionItem)
            if (changed := self._records.get(item.session_id)) is not None:
                changed.item = item
        self.feed.note_change()

    # How they go.

    async def delete(self, session_id: str, force: bool) -> bytes:
        record = self.find(session_id)
        if record.is_child:
            return await self._delete_child(record, force)
        self._forget_family(record)
        runner = record.runner
        runner.is_ending = True
        failed = SessionDeleted(session_id=session_id, deleted=True, final_status="failed")
        answer = msgspec.json.encode(msgspec.structs.replace(failed, exit_code=None, runtime_seconds=None))
        answers = await record.ask_summary() is not None
        if answers:
            with contextlib.suppress(RelayError, TimeoutError):
                answer = await asyncio.wait_for(runner.call("end", {"force": force}), ENDING)
        await runner.closed(LEAVING if answers else 0)
        await self.remove_remains(runner.folder, runner)
        return answer

    async def _delete_child(self, record: SessionRecord, force: bool) -> bytes:
        """Ends one process of the program and leaves the others alone."""
        session_id = record.session_id
        if record.is_lost:
            del self._records[session_id]
            self.feed.note_change()
            return msgspec.json.encode(SessionDeleted(session_id=session_id, deleted=True, final_status="failed"))
        record.handle.is_ending = True
        try:
            return await record.handle.call("end", {"force": force})
        finally:
            self._records.pop(session_id, None)
            self.feed.note_change()

    async def end_all(self, patience: float) -> None:
        programs = self.program_sessions()
        ending = [asyncio.ensure_future(self.delete(record.session_id, patience == 0)) for record in programs]
        if ending:
            await asyncio.wait(ending, timeout=max(patience, 0.1))
            if not all(task.done() for task in ending):
                await asyncio.gather(*(record.runner.closed(0) for record in programs))
            await asyncio.gather(*ending, return_exceptions=True)

    def let_go_all(self) -> None:
        """Let all sessions go on without a relay."""
        for record in self.program_sessions():
            record.runner.let_go(RelayError("SHUTTING_DOWN", "The relay is shutting down; the session goes on"))
        self._records.clear()

    async def wait_for_cleanups(self) -> None:
        await asyncio.gather(*self._cleanups, return_exceptions=True)

    def note_loss(self, record: SessionRecord) -> None:
        """Note that the runner is gone: as planned, or its session has failed."""
        self.feed.note_change()
        folder = record.runner.folder
        if record.handle.is_ending:
            self._forget_family(record)
            self._start_cleanup(self.remove_remains(folder, record.runner))
        else:
            logger.error("the runner of session %s ended unexpectedly", record.session_id)
            clearing = self._start_cleanup(self._end_what_is_left(folder, record.runner))
            for lost in self._records_of_runner(record):
                self._give_up(lost)
                lost.clearing = clearing

    def _give_up(self, record: SessionRecord) -> None:
        """Mark a session as failed: it can be looked at until its time is up."""
        record.is_lost, record.lost_at = True, time.time()
        asyncio.get_running_loop().call_later(record.timeout, self._expire_failed, record)

    def _expire_failed(self, record: SessionRecord) -> None:
        session_id = record.session_id
        if self._records.get(session_id) is record and not record.handle.is_ending:
            logger.info("failed session %s expired", session_id)
            self._tombstones.add(session_id, "failed", "timeout", record.info["name"])
            self._start_cleanup(self.delete(session_id, True))

    def _forget_family(self, record: SessionRecord) -> None:
        for gone in self._records_of_runner(record):
            self._records.pop(gone.session_id, None)
        self.feed.note_change()

    def _records_of_runner(self, record: SessionRecord) -> list[SessionRecord]:
        """Return all sessions that the record's runner holds."""
        return [each for each in self._records.values() if each.runner is record.runner]

    async def remove_remains(self, folder: Path, runner: RunnerHandle | None = None) -> None:
        """Remove what is left of a runner that is ending, or ended before we came; once, however many ask."""
        removing = self._removing.get(folder)
        if removing is None:
            removing = self._removing[folder] = self._start_cleanup(self._remove_folder(folder, runner))
            removing.add_done_callback(lambda _: self._removing.pop(folder))
        await asyncio.shield(removing)

    async def _remove_folder(self, folder: Path, runner: RunnerHandle | None) -> None:
        if not folder.exists():
            return  # it is done; and who was let go is no longer on record
        try:
            self._add_tombstones(folder.name, msgspec.json.decode(read_file(folder / FINAL), type=LastWords))
        except FileNotFoundError:
            pass
        except UNREADABLE as error:
            logger.warning("the last words of session %s are unusable: %s", folder.name, error)
        await self._end_what_is_left(folder, runner)
        shutil.rmtree(folder, ignore_errors=True)
        reap_runners()

    async def _end_what_is_left(self, folder: Path, runner: RunnerHandle | None) -> None:
        is_let_go = (folder / DETACHED).exists()
        with self.orphans.awaiting_end():
            if not is_let_go:
                await asyncio.to_thread(end_marked, folder.name)
            if runner is not None:
                await runner.gone()  # what it had adopted is ours from now on
                if is_let_go:
                    self.orphans.leave_alone()
                else:
                    await self.orphans.end_new(folder.name)

    def _add_tombstones(self, session_id: str, last: LastWords) -> None:
        self._tombstones.add(session_id, last.last_status, last.reason, last.name)
        for child_id, words in last.children.items():
            self._add_tombstones(child_id, words)

    def _start_cleanup(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._cleanups.add(task)
        task.add_done_callback(self._cleanups.discard)
        return task


def _is_session(folder: Path) -> bool:
    return SESSION_ID.fullmatch(folder.name) is not None and folder.is_dir() and not folder.is_symlink()


# What a killed runner leaves behind: it becomes the relay's, even if it dropped the marker of its session.


class OrphanProcesses:
    """Children of the relay that it did not start. A process tells nobody whose it was: what comes when a runner has
    gone is taken to be its session's; what was there before, or came at another time, is not ours to end."""

    def __init__(self) -> None:
        self._not_ours = _find_orphans()
        self._seen: set[int] = set()
        """at the last look"""
        self._ending = 0

    def look_again(self) -> None:
        """Now and then. Seen twice, nothing was lost in between whose it could be."""
        collect(_find_orphans())
        found = _find_orphans()
        if not self._ending:
            self._not_ours |= found & self._seen
        self._not_ours &= found
        self._seen = found

    def leave_alone(self) -> None:
        """All that are there now: somebody detached from them."""
        self._not_ours |= _find_orphans()

    async def end_new(self, session_id: str) -> None:
        """All that have come since, until there is none: whoever loses a parent that is ended here comes next."""
        deadline = time.monotonic() + ADOPTED
        while time.monotonic() < deadline:
            left = [pid for pid in _find_orphans() - self._not_ours if marker_of(pid) in (None, session_id)]
            if not left:
                return
            self._not_ours |= kill_all(left)
            collect(_find_orphans())
            await asyncio.sleep(0)

    @contextlib.contextmanager
    def awaiting_end(self) -> Iterator[None]:
        """While a runner goes, who comes may be from it."""
        self._ending += 1
        try:
            yield
        finally:
            self._ending -= 1


def _find_orphans() -> set[int]:
    """Children of ours from other sessions (in the system's sense): what the relay starts itself is in its own."""
    own, found = os.getsid(0), set()
    for pid in adopted():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) != own:
                found.add(pid)
    return found
