"""Sessions by id: made, found again, asked, ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..adapters.processes import end_marked
from ..config import Settings
from ..core.state import ENDED, State, require
from ..errors import RelayError
from ..files import make_folder
from ..persistence.breakpoints import BreakpointStore, definition_of
from ..persistence.profiles import ProfileStore
from ..persistence.sessions import TombstoneStore
from ..runner.handle import Handle
from ..runner.paths import FINAL
from ..runner.spawn import Spares, reap, reap_all
from . import about
from .checks import check_interpreter, existing_folder
from .lock import FolderLock
from .profiles import Profiles

logger = logging.getLogger(__name__)

OCCUPYING = frozenset(State) - ENDED
"""States in which a session takes one of the places."""
CHANGES_BREAKPOINTS = frozenset({"set_breakpoints", "remove_breakpoint", "change_breakpoint", "apply_breakpoints"})
ENDING = 15.0
LEAVING = 5.0
SUMMARY = 2.0


@dataclass
class Held:
    """A session, its runner, and what the relay itself knows of it."""

    handle: Handle
    project_root: str | None
    info: dict[str, Any]
    """as it was when the relay got hold of it"""
    is_lost: bool = False

    def failed(self) -> dict[str, Any]:
        """What there is to say of a session whose runner died."""
        return {**self.info, "status": "failed", "reason": "the process that held this session ended unexpectedly"}


class Relay:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sessions: dict[str, Held] = {}
        self._folder = settings.sessions_dir
        self._spares = Spares(self._folder, settings.spare_runners)
        self._counting = asyncio.Lock()
        self._being_created = 0
        self._started = time.monotonic()
        self._lock = FolderLock(settings.data_dir)
        self.profiles = Profiles(
            ProfileStore(settings.profiles_dir), self.call, lambda session_id: self._find(session_id).project_root
        )
        self._cleanups: set[asyncio.Task[None]] = set()

    # Its own life.

    def lock(self) -> None:
        """Before anything else: two relays must not hold the same sessions."""
        make_folder(self._settings.data_dir)
        self._lock.acquire({"pid": os.getpid(), "host": self._settings.host, "port": self._settings.port})

    async def start(self) -> None:
        for folder in (self._folder, self._settings.breakpoints_dir):
            make_folder(folder)
        self._breakpoints = BreakpointStore(self._settings.breakpoints_dir)
        self._tombstones = TombstoneStore(self._settings.data_dir)
        await asyncio.gather(*(self._recover(folder) for folder in self._folder.iterdir() if folder.is_dir()))
        self._spares.refill()

    async def _recover(self, folder: Path) -> None:
        """A runner that outlived an earlier relay is taken over; what is left of a dead one is removed."""
        try:
            handle = await Handle.connect(folder)
            described = await asyncio.wait_for(handle.ask("describe"), ENDING)
        except TimeoutError:
            logger.error("the runner of session %s does not answer", folder.name)
            self._hold(Held(handle, None, unknown(folder.name), is_lost=True))
            return
        except (OSError, RelayError):
            await self._remove_remains(folder)
            return
        except Exception:
            logger.exception("session %s cannot be taken over", folder.name)
            return
        if described is None:
            handle.is_ending = True
            with contextlib.suppress(RelayError):
                await handle.call("end")
            await self._remove_remains(folder)
            return
        logger.info("session %s found again", folder.name)
        self._hold(Held(handle, described["project_root"], described["info"]))

    async def _remove_remains(self, folder: Path) -> None:
        final = folder / FINAL
        if final.exists():
            with contextlib.suppress(msgspec.DecodeError, KeyError, OSError):
                last = msgspec.json.decode(final.read_bytes())
                self._tombstones.add(folder.name, last["last_status"], last["reason"], last["name"])
        await asyncio.to_thread(end_marked, folder.name)
        shutil.rmtree(folder, ignore_errors=True)
        reap()

    async def stop(self) -> None:
        """Ends every session: nothing of ours runs on."""
        sessions = list(self._sessions)
        await asyncio.gather(*(self.delete_session(id, False) for id in sessions), return_exceptions=True)
        await self._spares.close()
        await asyncio.gather(*self._cleanups, return_exceptions=True)
        await asyncio.to_thread(reap_all, ENDING)
        self._lock.release()

    # Sessions.

    async def create_session(self, options: dict[str, Any]) -> bytes:
        root = options.get("project_root")
        if root is not None:
            root = existing_folder(root)
        check_interpreter(options.get("python_path"))
        async with self._place():
            handle = await self._spares.take()
            name = options.get("name") or f"session-{handle.session_id.removeprefix('sess_')}"
            minutes = options.get("timeout_minutes")
            restore = root is not None and options.get("restore_breakpoints", True)
            config = {
                "session_id": handle.session_id,
                "name": name,
                "project_root": root,
                "python_path": options.get("python_path"),
                "timeout_seconds": minutes * 60 if minutes else None,
                "stop_on_entry": options.get("stop_on_entry", False),
                "breakpoints": self._breakpoints.load(root) if restore and root else [],
                "limits": self._settings.settings_for_runner(),
            }
            try:
                answer = await handle.call("configure", config)
            except BaseException:
                await handle.closed(0)
                await self._remove_remains(handle.folder)
                raise
            self._hold(Held(handle, root, msgspec.json.decode(answer)))
        return answer

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the places for sessions, taken before the session is there."""
        async with self._counting:
            await self._check_limit()
            self._being_created += 1
        try:
            yield
        finally:
            self._being_created -= 1

    async def _check_limit(self) -> None:
        if len(self._sessions) + self._being_created < self._settings.max_sessions:
            return
        live = sum(summary["status"] in OCCUPYING for summary in await self._summaries()) + self._being_created
        if live >= self._settings.max_sessions:
            raise RelayError(
                "SESSION_LIMIT_REACHED",
                f"Maximum concurrent sessions ({self._settings.max_sessions}) reached",
                max_sessions=self._settings.max_sessions,
                active_sessions=live,
            )

    def _hold(self, held: Held) -> None:
        handle = held.handle
        self._sessions[handle.session_id] = held
        handle.on_notice = lambda method, params: self._noticed(held, method, params)
        handle.on_lost = lambda: self._lost(held)

    def _noticed(self, held: Held, method: str, params: dict[str, Any]) -> None:
        if method == "expired":
            logger.info("session %s expired", held.handle.session_id)
            held.handle.is_ending = True
            self._tombstones.add(held.handle.session_id, params["last_status"], params["reason"], params["name"])

    def _lost(self, held: Held) -> None:
        """The runner is gone: as planned, or its session has failed."""
        session_id = held.handle.session_id
        if held.handle.is_ending:
            self._sessions.pop(session_id, None)
            self._later(self._remove_remains(held.handle.folder))
        else:
            logger.error("the runner of session %s ended unexpectedly", session_id)
            held.is_lost = True
            self._later(asyncio.to_thread(end_marked, session_id))

    def _later(self, work: Any) -> None:
        async def run() -> None:
            await work

        task = asyncio.get_running_loop().create_task(run())
        self._cleanups.add(task)
        task.add_done_callback(self._cleanups.discard)

    async def list_sessions(self, status: str | None, offset: int, limit: int) -> bytes:
        listed = [item for item in await self._summaries() if status in (None, item["status"])]
        listed.sort(key=lambda item: (item["created_at"] or "", item["session_id"]))
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

    async def _summaries(self) -> list[dict[str, Any]]:
        there = [held for held in self._sessions.values() if not held.handle.is_ending]
        return list(await asyncio.gather(*(self._summary(held) for held in there)))

    async def _summary(self, held: Held) -> dict[str, Any]:
        if not held.is_lost:
            with contextlib.suppress(RelayError, TimeoutError):
                return dict(await asyncio.wait_for(held.handle.ask("summary"), SUMMARY))
        failed = held.failed()
        return {name: failed[name] for name in ("session_id", "name", "status", "created_at", "program")}

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes:
        held = self._find(session_id)
        if held.is_lost:
            return self._call_lost(held, operation)
        try:
            answer = await held.handle.call(operation, params)
        except RelayError:
            if held.handle.is_ending:
                self._find(session_id)  # it has expired in the meantime: say that
            raise
        if held.project_root is not None and operation in CHANGES_BREAKPOINTS:
            await asyncio.to_thread(self._remember_breakpoints, held.project_root, operation, answer)
        return answer

    def _find(self, session_id: str) -> Held:
        held = self._sessions.get(session_id)
        if held is not None and not held.handle.is_ending:
            return held
        tombstone = self._tombstones.get(session_id)
        if tombstone is not None:
            raise RelayError(
                "SESSION_EXPIRED",
                f"Session '{session_id}' expired",
                session_id=session_id,
                last_status=tombstone.status,
                reason=tombstone.reason,
            )
        raise RelayError(
            "SESSION_NOT_FOUND", f"Session with ID '{session_id[:100]}' not found", session_id=session_id[:100]
        )

    def _call_lost(self, held: Held, operation: str) -> bytes:
        """A session whose runner died can still be looked at and deleted."""
        if operation in ("info", "status", "report"):
            return msgspec.json.encode(held.failed())
        require(operation, State.FAILED)
        raise RelayError(
            "INVALID_SESSION_STATE",
            "The process that held this session has ended unexpectedly",
            current_state="failed",
            suggestion="DELETE the session and create a new one",
        )

    def _remember_breakpoints(self, root: str, operation: str, answer: bytes) -> None:
        said = msgspec.json.decode(answer)
        if operation == "remove_breakpoint":
            self._breakpoints.remove(root, [definition_of(said)])
            return
        if operation == "change_breakpoint":
            if said.get("moved_from"):
                self._breakpoints.remove(root, [{**said, "line": said["moved_from"]}])
            said = {"breakpoints": [said]}
        self._breakpoints.remove(root, [definition_of(gone) for gone in said.get("removed", ())])
        self._breakpoints.upsert(root, [definition_of(each) for each in said["breakpoints"]])

    async def delete_session(self, session_id: str, force: bool) -> bytes:
        held = self._find(session_id)
        del self._sessions[session_id]
        handle = held.handle
        handle.is_ending = True
        answer = msgspec.json.encode(
            {
                "session_id": session_id,
                "deleted": True,
                "final_status": "failed",
                "exit_code": None,
                "runtime_seconds": None,
            }
        )
        answers = not held.is_lost and await self._answers(handle)
        if answers:
            with contextlib.suppress(RelayError, TimeoutError):
                answer = await asyncio.wait_for(handle.call("end", {"force": force}), ENDING)
        await handle.closed(LEAVING if answers else 0)
        await self._remove_remains(handle.folder)
        return answer

    async def _answers(self, handle: Handle) -> bool:
        try:
            await asyncio.wait_for(handle.ask("summary"), SUMMARY)
        except (RelayError, TimeoutError):
            return False
        return True

    # What is there.

    def health(self) -> dict[str, Any]:
        return about.health(self._folder, time.monotonic() - self._started, len(self._sessions))

    def info(self) -> dict[str, Any]:
        return about.info(self._settings.max_sessions)


def unknown(session_id: str) -> dict[str, Any]:
    """A session whose runner says nothing about it."""
    return {"session_id": session_id, "name": session_id, "created_at": None, "program": None}
