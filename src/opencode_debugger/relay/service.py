"""The relay behind its doors: makes sessions, asks them and ends them."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from .. import __version__, logs
from ..answers.documents import DOCUMENT_FORMAT, DOCUMENT_VERSION
from ..answers.server import Configuration as AllSettings
from ..answers.server import ConfigurationChanged, Health, Info, ProcessList, ShuttingDown
from ..answers.sessions import SessionItem, SessionList
from ..answers.shape import Paged
from ..config import Settings
from ..errors import RelayError
from ..files import claim_folder, make_folder
from ..operations.states import ENDED, State
from ..operations.table import OPERATIONS
from ..persistence.breakpoint_store import BreakpointStore
from ..persistence.profile_store import ProfileStore
from ..persistence.tombstones import TombstoneStore
from ..runner.handle import NoAnswer, RunnerHandle
from ..runner.spawn import SpareRunners, reap_all_runners, reap_runners
from ..timestamps import current_time
from . import about, attachable, session_documents
from .breakpoint_profiles import ProfileTable
from .configuration import Configuration
from .folder_lock import FolderLock
from .option_checks import checked_options
from .program_runs import ProgramRuns
from .recorded_runs import RecordedRuns
from .session_feed import SessionsFollowing
from .session_record import SUMMARY, SessionRecord, save_after, save_breakpoints
from .session_table import ENDING, SessionTable

PageT = TypeVar("PageT", bound=Paged)

OCCUPYING = frozenset(State) - ENDED
"""States in which a session takes one of the places."""
LOOKS = frozenset({"info", "status"})
COLLECT = 2.0
TARGET = ("pid", "host", "port", "connect_timeout", "debugger", "program")
"""Options of a new session that say what to attach to."""


class Relay:
    def __init__(self, settings: Settings, sources: dict[str, str] | None = None) -> None:
        self._configuration = Configuration(settings, sources or {})
        self._folder = settings.sessions_dir
        self._spares = SpareRunners(self._folder, settings.spare_runners, settings.spare_interpreters)
        self._sessions = SessionTable(self._spares.prepare_launch)
        self._counting = asyncio.Lock()
        self._places_taken: list[str | None] = []
        """by sessions that are about to have a program, and by some that are not there yet"""
        self._started = time.monotonic()
        self._lock = FolderLock(settings.data_dir)
        self.profiles = ProfileTable(ProfileStore(settings.profiles_dir), self.call, self.root_of)
        self.runs = ProgramRuns(
            self.create_session, self.call, self.delete_session, lambda: self._current_settings.settings_for_runner())
        self.recordings = RecordedRuns(self.create_session, self.call, self.delete_session)
        self._keeps_sessions = False
        self._patience = ENDING
        self.is_to_end = False
        """a client wants the relay to end"""

    # Its own life.

    def lock(self) -> None:
        """Lock the data folder, before anything else: two relays must not hold the same sessions."""
        make_folder(self._current_settings.data_dir)
        settings = self._current_settings
        about: dict[str, Any] = {"pid": os.getpid(), "version": __version__, "scheme": "http"}
        about |= {"host": settings.host, "port": settings.port}
        if settings.uds:
            about |= {"uds": settings.uds}
        if settings.certfile:
            about |= {"scheme": "https", "certfile": os.path.abspath(settings.certfile)}
        self._lock.acquire(about)
        for folder in (self._folder, settings.breakpoints_dir, settings.profiles_dir):
            claim_folder(folder)

    async def start(self) -> None:
        self._breakpoints = BreakpointStore(self._current_settings.breakpoints_dir)
        tombstones = TombstoneStore(self._current_settings.data_dir)
        await self._sessions.recover(self._folder, tombstones, self._current_settings.session_timeout_seconds)
        self._spares.refill()
        self._collecting = asyncio.get_running_loop().create_task(self._collect_ended())

    def shutdown(self, keep_sessions: bool = False, timeout: float = ENDING) -> ShuttingDown:
        """Say what will happen; it happens when the answer is out."""
        self._sessions.is_closing, self._keeps_sessions, self._patience = True, keep_sessions, timeout
        self.is_to_end = True
        ids = sorted(record.session_id for record in self._sessions.current_sessions())
        return ShuttingDown(shutting_down=True, keep_sessions=keep_sessions, sessions=ids)

    @property
    def has_sessions(self) -> bool:
        return len(self._sessions) > 0

    async def close(self) -> None:
        """Let go of the sessions, so that whoever waits for one is answered: they end, or go on without a relay."""
        self._sessions.is_closing = True
        if self._keeps_sessions:
            self._sessions.let_go_all()
        else:
            await self._sessions.end_all(self._patience)

    async def stop(self) -> None:
        """End all that is ours, but for sessions that are to be kept."""
        self._collecting.cancel()
        await self.close()
        await self._spares.close()
        await self._sessions.wait_for_cleanups()
        if not self._keeps_sessions:
            await asyncio.to_thread(reap_all_runners, ENDING)
        self._lock.release()

    # Sessions are made.

    async def create_session(self, **options: Any) -> bytes:
        if options.get("mode") == "attach":
            return await self._create_attached(options)
        options = checked_options(options, None)
        restore = options.pop("restore_breakpoints", True)
        root = options.get("project_root")
        if restore and root:
            changed_at = self._breakpoints.changed_at(root)
            options |= {"breakpoints": self._breakpoints.load(root), "breakpoints_changed_at": changed_at}
        return await self._create_session({**options, "saves_breakpoints": restore})

    async def _create_session(self, config: dict[str, Any]) -> bytes:
        self._sessions.check_open()
        async with self._reserve_place():
            config = {**config, "limits": self._current_settings.settings_for_runner()}
            try:
                return await self._configure_runner(await self._spares.take(), config)
            except NoAnswer:  # it died or was stopped just now: that is no reason to have no session
                return await self._configure_runner(await self._spares.take(), config)

    async def _configure_runner(self, handle: RunnerHandle, config: dict[str, Any]) -> bytes:
        name = config.get("name") or f"session-{handle.session_id.removeprefix('sess_')}"
        timeout = config.get("timeout_seconds") or config["limits"]["session_timeout_seconds"]
        try:
            answer = await handle.call("configure", {**config, "session_id": handle.session_id, "name": name})
            info = msgspec.json.decode(answer)
            saves = config.get("saves_breakpoints", True)
            record = SessionRecord(handle, config.get("project_root"), info, timeout, saves)
            if warning := await save_breakpoints(self._breakpoints, record):
                info["warnings"] = [*info.get("warnings", []), warning]
                answer = msgspec.json.encode(info)
        except BaseException:
            await handle.closed(0)
            await self._sessions.remove_remains(handle.folder, handle)
            raise
        self._sessions.hold(record)
        return answer

    async def _create_attached(self, options: dict[str, Any]) -> bytes:
        """Both or nothing: a session that could not attach is gone again."""
        target = {name: options[name] for name in TARGET if name in options}
        rest = {name: value for name, value in options.items() if name not in (*TARGET, "mode")}
        created = msgspec.json.decode(await self.create_session(**rest))
        session_id = created["session_id"]
        try:
            await self.call(session_id, "attach", target)
            info = await self.call(session_id, "info", {})
            told = {name: created[name] for name in ("message", "restored_breakpoints") if name in created}
            return msgspec.json.encode({**msgspec.json.decode(info), **told}) if told else info
        except BaseException:
            with contextlib.suppress(RelayError):
                await self.delete_session(session_id, True)
            raise

    async def clone_session(self, session_id: str, name: str | None = None) -> bytes:
        exported = msgspec.json.decode(await self.call(session_id, "export", {"include_env": True, "relative": False}))
        copied = f"{exported['name'][:240]} (copy)"
        options = {name: value for name, value in exported.pop("config").items() if value is not None}
        if minutes := options.pop("timeout_minutes", None):
            options["timeout_seconds"] = minutes * 60
        exported.pop("name")
        options["saves_breakpoints"] = self._sessions.find(session_id).saves_breakpoints
        options["environment"] = msgspec.json.decode(await self.call(session_id, "client_environment", {}))
        options |= {"name": name or copied, "launch": exported.pop("launch"), "parts": exported}
        return await self._create_session(options)

    async def import_session(self, **given: Any) -> bytes:
        imported = session_documents.ImportedDocument(given)
        options = checked_options({k: v for k, v in imported.options.items() if v is not None}, imported.root)
        answer = await self._create_session({**options, "launch": imported.launch, "parts": imported.parts})
        created = msgspec.json.decode(answer)
        return msgspec.json.encode({**created, "warnings": [*imported.warnings, *created["warnings"]]})

    @contextlib.asynccontextmanager
    async def _reserve_place(self, record: SessionRecord | None = None) -> AsyncIterator[None]:
        """Take one of the places: for a session before it is there, or for one that starts a program. One whose
        program has ended has lost the place it had."""
        taker = None if record is None else record.session_id
        async with self._counting:
            await self._check_limit(record)
            self._places_taken.append(taker)
        try:
            yield
        finally:
            self._places_taken.remove(taker)

    async def _check_limit(self, starting: SessionRecord | None = None) -> None:
        """Refuse if there is no place for one more session, or for the one that starts a program."""
        sessions = self._sessions.current_sessions()
        others = [session for session in sessions if not session.is_child and session is not starting]
        being_created, most = self._places_taken.count(None), self._current_settings.max_sessions
        if len(others) + being_created < most:
            return
        if starting is not None and await self._is_occupying(starting):
            return
        live = sum(await asyncio.gather(*map(self._is_occupying, others))) + being_created
        if live >= most:
            message = f"Maximum concurrent sessions ({most}) reached"
            raise RelayError("SESSION_LIMIT_REACHED", message, max_sessions=most, active_sessions=live)

    async def _is_occupying(self, session: SessionRecord) -> bool:
        return session.session_id in self._places_taken or (await session.summary()).status in OCCUPYING

    # Sessions are asked and ended.

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes:
        record = self._sessions.find(session_id)
        if record.is_lost:
            await record.wait_until_cleared()
            return record.call_lost(operation)
        starts = OPERATIONS[operation].starts_program and not record.is_child
        async with self._reserve_place(record) if starts else contextlib.nullcontext():
            return await self._ask_runner(record, operation, params)

    async def _ask_runner(self, record: SessionRecord, operation: str, params: dict[str, Any]) -> bytes:
        try:
            answer = await record.handle.call(operation, params)
        except RelayError as error:
            if record.handle.is_ending:
                self._sessions.find(record.session_id)  # it has expired in the meantime: say that
            await record.wait_until_cleared()
            if operation in LOOKS and error.code == "DEBUGPY_ERROR":
                return record.call_lost(operation)  # its runner has just died
            raise
        return await save_after(self._breakpoints, record, operation, answer)

    async def update_session(self, session_id: str, **changes: Any) -> bytes:
        record = self._sessions.find(session_id)
        changes = checked_options(changes, record.project_root)
        answer = await self.call(session_id, "update", changes)
        record.project_root = changes.get("project_root", record.project_root)
        record.timeout = changes.get("timeout_seconds", record.timeout)
        record.info = msgspec.json.decode(answer)
        return answer

    async def export_session(self, session_id: str, include_env: bool) -> bytes:
        exported = await self.call(session_id, "export", {"include_env": include_env})
        about = {"format": DOCUMENT_FORMAT, "version": DOCUMENT_VERSION, "exported_at": current_time()}
        return msgspec.json.encode({**about, **msgspec.json.decode(exported)})

    async def delete_session(self, session_id: str, force: bool) -> bytes:
        if not force:
            await self._require_wheel(self._sessions.find(session_id))
        return await self._sessions.delete(session_id, force)

    async def _require_wheel(self, record: SessionRecord) -> None:
        """Refuse if somebody else has the wheel of a session; of one that does not answer nobody has it."""
        if record.is_lost:
            return
        try:
            await asyncio.wait_for(record.handle.call("drive"), SUMMARY)
        except TimeoutError:
            pass
        except RelayError as error:
            if error.code == "WHEEL_TAKEN":
                raise

    # What is there.

    async def list_processes(self, kind: str, offset: int, limit: int, filter: str | None = None) -> ProcessList:
        """List the processes that one could attach to."""
        debugged = {item.pid: item.session_id for item in await self._session_summaries() if item.pid}
        found = await asyncio.to_thread(attachable.list_attachable, debugged, filter, kind)
        return _cut_page(ProcessList, found, offset, limit)

    async def list_sessions(
        self, offset: int, limit: int, status: str | None = None, parent_session_id: str | None = None
    ) -> SessionList:
        found = [item for item in await self._session_summaries() if status in (None, item.status)]
        listed = [item for item in found if parent_session_id in (None, item.parent_session_id)]
        listed.sort(key=lambda item: (item.created_at or "", item.session_id))
        return _cut_page(SessionList, listed, offset, limit)

    def follow_sessions(self, closing: asyncio.Event) -> SessionsFollowing:
        return SessionsFollowing(self._sessions.feed, self._current_items, closing)

    async def _current_items(self, asks: bool) -> list[SessionItem]:
        return list(await asyncio.gather(*(each.current_item(asks) for each in self._sessions.current_sessions())))

    async def _session_summaries(self) -> list[SessionItem]:
        return list(await asyncio.gather(*(record.summary() for record in self._sessions.current_sessions())))

    def health(self) -> Health:
        return about.health_report(self._folder, time.monotonic() - self._started, len(self._sessions))

    async def info(self) -> Info:
        return await asyncio.to_thread(about.server_info, self._current_settings)

    def config(self) -> AllSettings:
        return self._configuration.all_settings()

    async def update_config(self, changes: dict[str, Any], persist: bool) -> ConfigurationChanged:
        changed = await asyncio.to_thread(self._configuration.change_settings, changes, persist)
        logs.set_level(self._current_settings.log_level)
        await self._spares.resize(self._current_settings.spare_runners)
        return changed

    async def _collect_ended(self) -> None:
        """Collect children that have ended, so that none stays behind as a zombie."""
        while True:
            await asyncio.sleep(COLLECT)
            reap_runners()
            self._sessions.orphans.look_again()

    def root_of(self, session_id: str) -> str | None:
        """Return the root of the project that a session is about."""
        return self._sessions.find(session_id).project_root

    @property
    def _current_settings(self) -> Settings:
        return self._configuration.settings


def _cut_page(make: Callable[..., PageT], listed: Sequence[object], offset: int, limit: int) -> PageT:
    page = listed[offset : offset + limit]
    has_more = offset + len(page) < len(listed)
    return make(items=page, total=len(listed), offset=offset, limit=limit, has_more=has_more)
