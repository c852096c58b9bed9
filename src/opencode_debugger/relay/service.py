"""Sessions by id: made, found again, asked, ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from .. import logs
from ..adapters.processes import end_marked
from ..config import Settings
from ..core.events import timestamp
from ..core.state import ENDED, State, require
from ..errors import RelayError
from ..files import make_folder
from ..persistence.breakpoints import BreakpointStore, definition_of
from ..persistence.profiles import ProfileStore
from ..persistence.sessions import TombstoneStore
from ..runner.handle import ChildHandle, Handle
from ..runner.paths import DETACHED, FINAL
from ..runner.spawn import Spares, reap, reap_all
from . import about, portable, processes
from .checks import checked_options
from .configuration import Configuration
from .lock import FolderLock
from .profiles import Profiles

logger = logging.getLogger(__name__)

OCCUPYING = frozenset(State) - ENDED
"""States in which a session takes one of the places."""
CHANGES_BREAKPOINTS = frozenset({"set_breakpoints", "remove_breakpoint", "change_breakpoint", "apply_breakpoints"})
LOOKS = frozenset({"info", "status"})
OF_THE_LOST = frozenset({"info", "status", "report"})
"""What can still be said of a session whose runner died."""
TARGET = ("pid", "host", "port", "connect_timeout", "debugger", "program")
"""Options of a new session that say what to attach to."""
ENDING = 15.0
LEAVING = 5.0
SUMMARY = 2.0
SUMMARIZED = ("session_id", "name", "status", "created_at", "program", "parent_session_id")


@dataclass
class Held:
    """A session, its runner, and what the relay itself knows of it."""

    handle: Handle | ChildHandle
    project_root: str | None
    info: dict[str, Any]
    """as it was when the relay got hold of it"""
    timeout: float
    """seconds without activity after which it expires"""
    is_lost: bool = False
    lost_at: float = 0.0

    @property
    def is_child(self) -> bool:
        """A session of a program's child lives and dies with the program's, and takes no place of its own."""
        return isinstance(self.handle, ChildHandle)

    def failed(self) -> dict[str, Any]:
        """What there is to say of a session whose runner died."""
        return {
            **self.info,
            "status": "failed",
            "reason": "the process that held this session ended unexpectedly",
            "expires_at": timestamp((self.lost_at or time.time()) + self.timeout),
        }


class Relay:
    def __init__(self, settings: Settings, sources: dict[str, str] | None = None) -> None:
        self._configuration = Configuration(settings, sources or {})
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
        self._is_closing = False
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
        if settings.certfile:
            about |= {"scheme": "https", "certfile": os.path.abspath(settings.certfile)}
        self._lock.acquire(about)

    async def start(self) -> None:
        for folder in (self._folder, self._settings.breakpoints_dir):
            make_folder(folder)
        self._breakpoints = BreakpointStore(self._settings.breakpoints_dir)
        self._tombstones = TombstoneStore(self._settings.data_dir)
        await asyncio.gather(*(self._recover(folder) for folder in self._folder.iterdir() if folder.is_dir()))
        self._spares.refill()

    async def _recover(self, folder: Path) -> None:
        """A runner that outlived an earlier relay is taken over; what is left of a dead one is removed."""
        early: list[tuple[str, dict[str, Any]]] = []
        try:
            handle = await Handle.connect(folder)
            handle.on_notice = lambda method, params: early.append((method, params))
            described = await asyncio.wait_for(handle.ask("describe"), ENDING)
        except TimeoutError:
            logger.error("the runner of session %s does not answer", folder.name)
            held = Held(handle, None, unknown(folder.name), self._settings.session_timeout_seconds)
            self._hold(held)
            self._give_up(held)
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
        held = Held(handle, described["project_root"], described["info"], described["timeout_seconds"])
        self._hold(held)
        for child in described.get("children", []):
            self._hold_child(held, child)
        for method, params in early:
            self._noticed(held, method, params)

    async def _remove_remains(self, folder: Path) -> None:
        if not folder.exists():
            return  # it is done; and who was let go is no longer on record
        final = folder / FINAL
        if final.exists():
            with contextlib.suppress(msgspec.DecodeError, KeyError, OSError):
                self._bury(folder.name, msgspec.json.decode(final.read_bytes()))
        await self._end_what_is_left(folder)
        shutil.rmtree(folder, ignore_errors=True)
        reap()

    async def _end_what_is_left(self, folder: Path) -> None:
        if not (folder / DETACHED).exists():
            await asyncio.to_thread(end_marked, folder.name)

    def shutdown(self, keep_sessions: bool, timeout: float) -> dict[str, Any]:
        """Says what will happen; it happens when the answer is out."""
        self._is_closing, self._keeps_sessions, self._patience = True, keep_sessions, timeout
        self.on_shutdown()
        ids = [held.handle.session_id for held in self._sessions.values() if not held.handle.is_ending]
        return {"shutting_down": True, "keep_sessions": keep_sessions, "sessions": sorted(ids)}

    async def close(self) -> None:
        """Lets go of the sessions, so that whoever waits for one is answered: they end, or go on without a relay."""
        self._is_closing = True
        if self._keeps_sessions:
            for handle in [held.handle for held in self._sessions.values() if isinstance(held.handle, Handle)]:
                handle.let_go(RelayError("SHUTTING_DOWN", "The relay is shutting down; the session goes on"))
            self._sessions.clear()
        else:
            await self._end_sessions(self._patience)

    async def _end_sessions(self, patience: float) -> None:
        handles = [held.handle for held in self._sessions.values() if isinstance(held.handle, Handle)]
        ending = [asyncio.ensure_future(self.delete_session(handle.session_id, patience == 0)) for handle in handles]
        if ending:
            await asyncio.wait(ending, timeout=max(patience, 0.1))
            if not all(task.done() for task in ending):
                await asyncio.gather(*(handle.closed(0) for handle in handles))
            await asyncio.gather(*ending, return_exceptions=True)

    async def stop(self) -> None:
        """Nothing of ours runs on, but sessions that are to be kept."""
        await self.close()
        await self._spares.close()
        await asyncio.gather(*self._cleanups, return_exceptions=True)
        if not self._keeps_sessions:
            await asyncio.to_thread(reap_all, ENDING)
        self._lock.release()

    # Sessions.

    async def create_session(self, options: dict[str, Any]) -> bytes:
        if options.get("mode") == "attach":
            return await self._create_attached(options)
        options = checked_options(options, None)
        restore = options.pop("restore_breakpoints", True)
        root = options.get("project_root")
        return await self._create({**options, "breakpoints": self._breakpoints.load(root) if restore and root else []})

    async def _create(self, config: dict[str, Any]) -> bytes:
        async with self._place():
            handle = await self._spares.take()
            name = config.get("name") or f"session-{handle.session_id.removeprefix('sess_')}"
            limits = self._settings.settings_for_runner()
            config = {**config, "session_id": handle.session_id, "name": name, "limits": limits}
            try:
                answer = await handle.call("configure", config)
                if config.get("parts") and config.get("project_root"):
                    await self._save_breakpoints(handle, config["project_root"])
            except BaseException:
                await handle.closed(0)
                await self._remove_remains(handle.folder)
                raise
            timeout = config.get("timeout_seconds") or limits["session_timeout_seconds"]
            self._hold(Held(handle, config.get("project_root"), msgspec.json.decode(answer), timeout))
        return answer

    async def _create_attached(self, options: dict[str, Any]) -> bytes:
        """Both or nothing: a session that could not attach is gone again."""
        target = {name: options[name] for name in TARGET if name in options}
        rest = {name: value for name, value in options.items() if name not in (*TARGET, "mode")}
        session_id = msgspec.json.decode(await self.create_session(rest))["session_id"]
        try:
            await self.call(session_id, "attach", target)
            return await self.call(session_id, "info", {})
        except BaseException:
            with contextlib.suppress(RelayError):
                await self.delete_session(session_id, True)
            raise

    async def _save_breakpoints(self, handle: Handle, root: str) -> None:
        listed = await handle.call("list_breakpoints")
        await asyncio.to_thread(self._remember_breakpoints, root, "set_breakpoints", listed)

    async def update_session(self, session_id: str, changes: dict[str, Any]) -> bytes:
        held = self._find(session_id)
        changes = checked_options(changes, held.project_root)
        answer = await self.call(session_id, "update", changes)
        held.project_root = changes.get("project_root", held.project_root)
        held.timeout = changes.get("timeout_seconds", held.timeout)
        held.info = msgspec.json.decode(answer)
        return answer

    async def clone_session(self, session_id: str, name: str | None) -> bytes:
        exported = msgspec.json.decode(await self.call(session_id, "export", {"include_env": True, "relative": False}))
        copied = f"{exported['name'][:240]} (copy)"
        options = {name: value for name, value in exported.pop("config").items() if value is not None}
        if minutes := options.pop("timeout_minutes", None):
            options["timeout_seconds"] = minutes * 60
        exported.pop("name")
        return await self._create(
            {**options, "name": name or copied, "launch": exported.pop("launch"), "parts": exported}
        )

    async def export_session(self, session_id: str, include_env: bool) -> bytes:
        exported = await self.call(session_id, "export", {"include_env": include_env})
        return msgspec.json.encode(portable.document(msgspec.json.decode(exported)))

    async def import_session(self, given: dict[str, Any]) -> bytes:
        imported = portable.Import(given)
        options = checked_options({k: v for k, v in imported.options.items() if v is not None}, imported.root)
        answer = await self._create({**options, "launch": imported.launch, "parts": imported.parts})
        created = msgspec.json.decode(answer)
        return msgspec.json.encode({**created, "warnings": [*imported.warnings, *created["warnings"]]})

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the places for sessions, taken before the session is there."""
        self._check_open()
        async with self._counting:
            await self._check_limit()
            self._being_created += 1
        try:
            yield
        finally:
            self._being_created -= 1

    def _check_open(self) -> None:
        if self._is_closing:
            raise RelayError("SHUTTING_DOWN", "The relay is shutting down")

    async def _check_limit(self) -> None:
        held = [session for session in self._there() if not session.is_child]
        if len(held) + self._being_created < self._settings.max_sessions:
            return
        summaries = await asyncio.gather(*(self._summary(session) for session in held))
        live = sum(summary["status"] in OCCUPYING for summary in summaries) + self._being_created
        if live >= self._settings.max_sessions:
            raise RelayError(
                "SESSION_LIMIT_REACHED",
                f"Maximum concurrent sessions ({self._settings.max_sessions}) reached",
                max_sessions=self._settings.max_sessions,
                active_sessions=live,
            )

    def _hold(self, held: Held) -> None:
        handle = held.handle
        assert isinstance(handle, Handle)
        self._sessions[handle.session_id] = held
        handle.on_notice = lambda method, params: self._noticed(held, method, params)
        handle.on_lost = lambda: self._lost(held)

    def _hold_child(self, parent: Held, described: dict[str, Any]) -> None:
        info = described["info"]
        assert isinstance(parent.handle, Handle)
        handle = ChildHandle(parent.handle, info["session_id"])
        child = Held(handle, described["project_root"], info, parent.timeout)
        self._sessions.setdefault(info["session_id"], child)

    def _children(self, family: Handle | ChildHandle) -> list[Held]:
        return [
            held
            for held in self._sessions.values()
            if isinstance(held.handle, ChildHandle) and held.handle.family is family
        ]

    def _noticed(self, held: Held, method: str, params: dict[str, Any]) -> None:
        handle = held.handle
        assert isinstance(handle, Handle)
        if method == "expired":
            logger.info("session %s expired", handle.session_id)
            handle.is_ending = True
            self._bury(handle.session_id, params)
        elif method == "child":
            self._hold_child(held, params)
        elif method == "child_gone":
            self._sessions.pop(params["session_id"], None)

    def _bury(self, session_id: str, last: dict[str, Any]) -> None:
        self._tombstones.add(session_id, last["last_status"], last["reason"], last["name"])
        for child_id, words in last.get("children", {}).items():
            self._bury(child_id, words)

    def _lost(self, held: Held) -> None:
        """The runner is gone: as planned, or its session has failed."""
        handle = held.handle
        assert isinstance(handle, Handle)
        session_id = handle.session_id
        if handle.is_ending:
            self._forget(held)
            self._later(self._remove_remains(handle.folder))
        else:
            logger.error("the runner of session %s ended unexpectedly", session_id)
            for lost in (held, *self._children(handle)):
                self._give_up(lost)
            self._later(self._end_what_is_left(handle.folder))

    def _forget(self, held: Held) -> None:
        for gone in (held, *self._children(held.handle)):
            self._sessions.pop(gone.handle.session_id, None)

    def _give_up(self, held: Held) -> None:
        """It has failed: to be looked at, until its time is up."""
        held.is_lost, held.lost_at = True, time.time()
        asyncio.get_running_loop().call_later(held.timeout, self._expire_failed, held)

    def _expire_failed(self, held: Held) -> None:
        session_id = held.handle.session_id
        if self._sessions.get(session_id) is held and not held.handle.is_ending:
            logger.info("failed session %s expired", session_id)
            self._tombstones.add(session_id, "failed", "timeout", held.info["name"])
            self._later(self.delete_session(session_id, True))

    def _later(self, work: Any) -> None:
        async def run() -> None:
            await work

        task = asyncio.get_running_loop().create_task(run())
        self._cleanups.add(task)
        task.add_done_callback(self._cleanups.discard)

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
        return list(await asyncio.gather(*(self._summary(held) for held in self._there())))

    def _there(self) -> list[Held]:
        return [held for held in self._sessions.values() if not held.handle.is_ending]

    async def _summary(self, held: Held) -> dict[str, Any]:
        if not held.is_lost:
            with contextlib.suppress(RelayError, TimeoutError):
                return dict(await asyncio.wait_for(held.handle.ask("summary"), SUMMARY))
        failed = held.failed()
        return {name: failed[name] for name in SUMMARIZED}

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes:
        held = self._find(session_id)
        if held.is_lost:
            return self._call_lost(held, operation)
        try:
            answer = await held.handle.call(operation, params)
        except RelayError as error:
            if held.handle.is_ending:
                self._find(session_id)  # it has expired in the meantime: say that
            if operation in LOOKS and error.code == "DEBUGPY_ERROR":
                return self._call_lost(held, operation)  # its runner has just died
            raise
        if held.project_root is not None and operation in CHANGES_BREAKPOINTS:
            await asyncio.to_thread(self._remember_breakpoints, held.project_root, operation, answer)
        return answer

    def _find(self, session_id: str) -> Held:
        held = self._sessions.get(session_id)
        if held is not None and not held.handle.is_ending:
            return held
        if self._is_closing:
            self._check_open()
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
        if operation in OF_THE_LOST:
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
        handle = held.handle
        if isinstance(handle, ChildHandle):
            return await self._delete_child(held, handle, force)
        self._forget(held)
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

    async def _delete_child(self, held: Held, handle: ChildHandle, force: bool) -> bytes:
        """Ends one process of the program and leaves the others alone."""
        if held.is_lost:
            del self._sessions[handle.session_id]
            return msgspec.json.encode({"session_id": handle.session_id, "deleted": True, "final_status": "failed"})
        handle.is_ending = True
        try:
            return await handle.call("end", {"force": force})
        finally:
            self._sessions.pop(handle.session_id, None)

    async def _answers(self, handle: Handle) -> bool:
        try:
            await asyncio.wait_for(handle.ask("summary"), SUMMARY)
        except (RelayError, TimeoutError):
            return False
        return True

    # What is there.

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


def unknown(session_id: str) -> dict[str, Any]:
    """A session whose runner says nothing about it."""
    return {
        "session_id": session_id,
        "name": session_id,
        "created_at": None,
        "program": None,
        "parent_session_id": None,
    }
