"""What the relay does for its doors: makes sessions, asks them and ends them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from .. import logs
from ..config import Settings
from ..core.state import ENDED, State
from ..errors import RelayError
from ..files import claim_folder, make_folder
from ..persistence.breakpoints import BreakpointStore
from ..persistence.profiles import ProfileStore
from ..persistence.sessions import TombstoneStore
from ..runner.handle import Handle, NoAnswer
from ..runner.spawn import Spares, reap, reap_all
from . import about, portable, processes, saved_breakpoints
from .checks import checked_options
from .configuration import Configuration
from .held import Held
from .lock import FolderLock
from .profiles import Profiles
from .sessions import ENDING, Sessions

OCCUPYING = frozenset(State) - ENDED
"""States in which a session takes one of the places."""
LOOKS = frozenset({"info", "status"})
STARTS = frozenset({"launch", "restart"})
"""What brings a session whose program has ended to life again."""
COLLECT = 2.0
TARGET = ("pid", "host", "port", "connect_timeout", "debugger", "program")
"""Options of a new session that say what to attach to."""


class Relay:
    def __init__(self, settings: Settings, sources: dict[str, str] | None = None) -> None:
        self._configuration = Configuration(settings, sources or {})
        self._sessions = Sessions()
        self._folder = settings.sessions_dir
        self._spares = Spares(self._folder, settings.spare_runners)
        self._counting = asyncio.Lock()
        self._being_created = 0
        self._being_started: list[str] = []
        """sessions that are about to have a program: they have their place already"""
        self._started = time.monotonic()
        self._lock = FolderLock(settings.data_dir)
        self.profiles = Profiles(ProfileStore(settings.profiles_dir), self.call, self._root_of)
        self._keeps_sessions = False
        self._patience = ENDING
        self.on_shutdown: Callable[[], None] = lambda: None
        """told when a client wants the relay to end"""

    # Its own life.

    def lock(self) -> None:
        """Before anything else: two relays must not hold the same sessions."""
        make_folder(self._settings.data_dir)
        settings = self._settings
        about: dict[str, Any] = {"pid": os.getpid(), "host": settings.host, "port": settings.port, "scheme": "http"}
        if settings.uds:
            about |= {"uds": settings.uds}
        if settings.certfile:
            about |= {"scheme": "https", "certfile": os.path.abspath(settings.certfile)}
        self._lock.acquire(about)
        for folder in (self._folder, settings.breakpoints_dir, settings.profiles_dir):
            claim_folder(folder)

    async def start(self) -> None:
        self._breakpoints = BreakpointStore(self._settings.breakpoints_dir)
        tombstones = TombstoneStore(self._settings.data_dir)
        await self._sessions.recover(self._folder, tombstones, self._settings.session_timeout_seconds)
        self._spares.refill()
        self._collecting = asyncio.get_running_loop().create_task(self._collect())

    def shutdown(self, keep_sessions: bool, timeout: float) -> dict[str, Any]:
        """Says what will happen; it happens when the answer is out."""
        self._sessions.is_closing, self._keeps_sessions, self._patience = True, keep_sessions, timeout
        self.on_shutdown()
        ids = [held.session_id for held in self._sessions.there()]
        return {"shutting_down": True, "keep_sessions": keep_sessions, "sessions": sorted(ids)}

    async def close(self) -> None:
        """Lets go of the sessions, so that whoever waits for one is answered: they end, or go on without a relay."""
        self._sessions.is_closing = True
        if self._keeps_sessions:
            self._sessions.let_go_all()
        else:
            await self._sessions.end_all(self._patience)

    async def stop(self) -> None:
        """Nothing of ours runs on, but sessions that are to be kept."""
        self._collecting.cancel()
        await self.close()
        await self._spares.close()
        await self._sessions.cleaned_up()
        if not self._keeps_sessions:
            await asyncio.to_thread(reap_all, ENDING)
        self._lock.release()

    # Sessions are made.

    async def create_session(self, options: dict[str, Any]) -> bytes:
        if options.get("mode") == "attach":
            return await self._create_attached(options)
        options = checked_options(options, None)
        restore = options.pop("restore_breakpoints", True)
        root = options.get("project_root")
        if restore and root:
            changed_at = self._breakpoints.changed_at(root)
            options |= {"breakpoints": self._breakpoints.load(root), "breakpoints_changed_at": changed_at}
        return await self._create({**options, "saves_breakpoints": restore})

    async def _create(self, config: dict[str, Any]) -> bytes:
        async with self._place():
            config = {**config, "limits": self._settings.settings_for_runner()}
            try:
                return await self._configured(await self._spares.take(), config)
            except NoAnswer:  # it died or was stopped just now: that is no reason to have no session
                return await self._configured(await self._spares.take(), config)

    async def _configured(self, handle: Handle, config: dict[str, Any]) -> bytes:
        name = config.get("name") or f"session-{handle.session_id.removeprefix('sess_')}"
        timeout = config.get("timeout_seconds") or config["limits"]["session_timeout_seconds"]
        try:
            answer = await handle.call("configure", {**config, "session_id": handle.session_id, "name": name})
            info = msgspec.json.decode(answer)
            held = Held(handle, config.get("project_root"), info, timeout, config.get("saves_breakpoints", True))
            if warning := await saved_breakpoints.save(self._breakpoints, held):
                info["warnings"] = [*info.get("warnings", []), warning]
                answer = msgspec.json.encode(info)
        except BaseException:
            await handle.closed(0)
            await self._sessions.remove_remains(handle.folder, handle)
            raise
        self._sessions.hold(held)
        return answer

    async def _create_attached(self, options: dict[str, Any]) -> bytes:
        """Both or nothing: a session that could not attach is gone again."""
        target = {name: options[name] for name in TARGET if name in options}
        rest = {name: value for name, value in options.items() if name not in (*TARGET, "mode")}
        created = msgspec.json.decode(await self.create_session(rest))
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

    async def clone_session(self, session_id: str, name: str | None) -> bytes:
        exported = msgspec.json.decode(await self.call(session_id, "export", {"include_env": True, "relative": False}))
        copied = f"{exported['name'][:240]} (copy)"
        options = {name: value for name, value in exported.pop("config").items() if value is not None}
        if minutes := options.pop("timeout_minutes", None):
            options["timeout_seconds"] = minutes * 60
        exported.pop("name")
        options["saves_breakpoints"] = self._sessions.find(session_id).saves_breakpoints
        return await self._create(
            {**options, "name": name or copied, "launch": exported.pop("launch"), "parts": exported}
        )

    async def import_session(self, given: dict[str, Any]) -> bytes:
        imported = portable.Import(given)
        options = checked_options({k: v for k, v in imported.options.items() if v is not None}, imported.root)
        answer = await self._create({**options, "launch": imported.launch, "parts": imported.parts})
        created = msgspec.json.decode(answer)
        return msgspec.json.encode({**created, "warnings": [*imported.warnings, *created["warnings"]]})

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the places for sessions, taken before the session is there."""
        self._sessions.check_open()
        async with self._counting:
            await self._check_limit()
            self._being_created += 1
        try:
            yield
        finally:
            self._being_created -= 1

    @contextlib.asynccontextmanager
    async def _place_of(self, held: Held) -> AsyncIterator[None]:
        """The place of a session that starts a program: one that has ended has lost the place it had."""
        async with self._counting:
            await self._check_limit(held)
            self._being_started.append(held.session_id)
        try:
            yield
        finally:
            self._being_started.remove(held.session_id)

    async def _check_limit(self, starting: Held | None = None) -> None:
        """Whether there is a place for one more session, or for the one that starts a program."""
        others = [session for session in self._sessions.there() if not session.is_child and session is not starting]
        if len(others) + self._being_created < self._settings.max_sessions:
            return
        if starting is not None and await self._is_occupying(starting):
            return
        occupying = await asyncio.gather(*map(self._is_occupying, others))
        live = sum(occupying) + self._being_created
        if live >= self._settings.max_sessions:
            raise RelayError(
                "SESSION_LIMIT_REACHED",
                f"Maximum concurrent sessions ({self._settings.max_sessions}) reached",
                max_sessions=self._settings.max_sessions,
                active_sessions=live,
            )

    async def _is_occupying(self, session: Held) -> bool:
        return session.session_id in self._being_started or (await session.summary())["status"] in OCCUPYING

    # Sessions are asked and ended.

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes:
        held = self._sessions.find(session_id)
        if held.is_lost:
            await held.cleared()
            return held.call_lost(operation)
        if operation in STARTS and not held.is_child:
            async with self._place_of(held):
                return await self._ask(held, operation, params)
        return await self._ask(held, operation, params)

    async def _ask(self, held: Held, operation: str, params: dict[str, Any]) -> bytes:
        try:
            answer = await held.handle.call(operation, params)
        except RelayError as error:
            if held.handle.is_ending:
                self._sessions.find(held.session_id)  # it has expired in the meantime: say that
            await held.cleared()
            if operation in LOOKS and error.code == "DEBUGPY_ERROR":
                return held.call_lost(operation)  # its runner has just died
            raise
        return await saved_breakpoints.follow(self._breakpoints, held, operation, answer)

    async def update_session(self, session_id: str, changes: dict[str, Any]) -> bytes:
        held = self._sessions.find(session_id)
        changes = checked_options(changes, held.project_root)
        answer = await self.call(session_id, "update", changes)
        held.project_root = changes.get("project_root", held.project_root)
        held.timeout = changes.get("timeout_seconds", held.timeout)
        held.info = msgspec.json.decode(answer)
        return answer

    async def export_session(self, session_id: str, include_env: bool) -> bytes:
        exported = await self.call(session_id, "export", {"include_env": include_env})
        return msgspec.json.encode(portable.document(msgspec.json.decode(exported)))

    async def delete_session(self, session_id: str, force: bool) -> bytes:
        return await self._sessions.delete(session_id, force)

    # What is there.

    async def list_processes(self, filter: str | None, kind: str, offset: int, limit: int) -> bytes:
        """What one could attach to."""
        debugged = {item["pid"]: item["session_id"] for item in await self._summaries() if item.get("pid")}
        return _page(await asyncio.to_thread(processes.listed, debugged, filter, kind), offset, limit)

    async def list_sessions(
        self, status: str | None, offset: int, limit: int, parent_session_id: str | None = None
    ) -> bytes:
        listed = [item for item in await self._summaries() if status in (None, item["status"])]
        if parent_session_id is not None:
            listed = [item for item in listed if item["parent_session_id"] == parent_session_id]
        listed.sort(key=lambda item: (item["created_at"] or "", item["session_id"]))
        return _page(listed, offset, limit)

    async def _summaries(self) -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(held.summary() for held in self._sessions.there())))

    def health(self) -> dict[str, Any]:
        return about.health(self._folder, time.monotonic() - self._started, len(self._sessions))

    async def info(self) -> dict[str, Any]:
        settings = self._settings
        found = await asyncio.to_thread(about.debuggers, settings.gdb_path, settings.lldb_path, settings.ez_path)
        return {**about.info(settings.max_sessions), "debuggers": found}

    def config(self) -> dict[str, Any]:
        return self._configuration.shown()

    async def update_config(self, changes: dict[str, Any], persist: bool) -> dict[str, Any]:
        changed = await asyncio.to_thread(self._configuration.change, changes, persist)
        logs.set_level(self._settings.log_level)
        await self._spares.resize(self._settings.spare_runners)
        return changed

    async def _collect(self) -> None:
        """Of children that have ended, none stays behind as a zombie."""
        while True:
            await asyncio.sleep(COLLECT)
            reap()
            self._sessions.orphans.look()

    def _root_of(self, session_id: str) -> str | None:
        return self._sessions.find(session_id).project_root

    @property
    def _settings(self) -> Settings:
        return self._configuration.settings


def _page(listed: list[dict[str, Any]], offset: int, limit: int) -> bytes:
    page = listed[offset : offset + limit]
    return msgspec.json.encode(
        {
            "items": page,
            "total": len(listed),
            "offset": offset,
            "limit": limit,
            "has_more": offset + len(page) < len(listed),
        }
    )
