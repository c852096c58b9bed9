"""The sessions by id: held, found again, lost, ended with all that belongs to them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import shutil
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from ..adapters.processes import end_marked
from ..errors import RelayError
from ..files import UNREADABLE, read_file
from ..persistence.sessions import TombstoneStore
from ..runner.handle import ChildHandle, Handle, NoAnswer
from ..runner.paths import DETACHED, FINAL
from ..runner.rpc import GARBAGE, Described, LastWords
from ..runner.spawn import reap
from .held import Held, unknown
from .orphans import Orphans

logger = logging.getLogger(__name__)

ENDING = 15.0
LEAVING = 5.0
FINDING = 5.0
"""Seconds that the start waits for a runner to say what it is."""
AGAIN = 1.0
"""Seconds until a runner is asked again that was found but did not answer."""
SESSION_ID = re.compile(r"sess_[0-9a-f]{8}", re.ASCII)


class Sessions:
    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._cleanups: set[asyncio.Task[Any]] = set()
        self._removing: dict[Path, asyncio.Task[None]] = {}
        self.orphans = Orphans()
        self.is_closing = False
        """no more are made, and those that are not there are not looked for"""

    def __len__(self) -> int:
        return len(self._held)

    def there(self) -> list[Held]:
        return [held for held in self._held.values() if not held.handle.is_ending]

    def programs(self) -> list[Held]:
        """Without those of children, but with those that are ending."""
        return [held for held in self._held.values() if not held.is_child]

    def find(self, session_id: str) -> Held:
        held = self._held.get(session_id)
        if held is not None and not held.handle.is_ending:
            return held
        self.check_open()
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

    def check_open(self) -> None:
        if self.is_closing:
            raise RelayError("SHUTTING_DOWN", "The relay is shutting down")

    # How they come.

    async def recover(self, folder: Path, tombstones: TombstoneStore, timeout: float) -> None:
        """First of all; `timeout` is for sessions that do not say their own."""
        self._tombstones = tombstones
        found = list(folder.iterdir())
        for stray in [each for each in found if not _is_session(each)]:
            logger.warning("%s is not the folder of a session and is ignored", ascii(str(stray)))
        await asyncio.gather(*(self._recover(each, timeout) for each in found if _is_session(each)))

    async def _recover(self, folder: Path, timeout: float) -> None:
        """A runner that outlived an earlier relay is taken over; what is left of a dead one is removed."""
        early: list[tuple[str, dict[str, Any]]] = []
        try:
            handle = await Handle.connect(folder)
        except (OSError, ValueError):
            await self.remove_remains(folder)
            return
        handle.on_notice = lambda method, params: early.append((method, params))
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
        for method, params in early:
            handle.on_notice(method, params)

    def _take_over(self, handle: Handle, described: Described) -> None:
        logger.info("session %s found again", handle.session_id)
        info = {**unknown(handle.session_id), **described.info, "session_id": handle.session_id}
        held = Held(handle, described.project_root, info, described.timeout_seconds, described.saves_breakpoints)
        self.hold(held)
        for child in described.children:
            self._hold_child(held, child)

    def _hold_unknown(self, handle: Handle, timeout: float, error: Exception) -> None:
        """One that does not say what it is can be deleted. If it was only stopped, it may say so yet."""
        logger.error("the runner of session %s does not say what it is: %s", handle.session_id, error)
        held = Held(handle, None, unknown(handle.session_id), timeout)
        self.hold(held)
        self._give_up(held)
        if isinstance(error, (NoAnswer, TimeoutError)):
            self._later(self._ask_again(held))

    async def _ask_again(self, held: Held) -> None:
        while self._held.get(held.session_id) is held and held.runner.is_open:
            await asyncio.sleep(AGAIN)
            with contextlib.suppress(RelayError, *GARBAGE):
                described = msgspec.json.decode(await held.runner.call("describe"), type=Described)
                if self._held.get(held.session_id) is held and not held.runner.is_ending:
                    self._take_over(held.runner, described)
                return

    def hold(self, held: Held) -> None:
        self._held[held.session_id] = held
        held.runner.on_notice = lambda method, params: self._noticed(held, method, params)
        held.runner.on_lost = lambda: self._lost(held)

    def _hold_child(self, parent: Held, described: Described) -> None:
        session_id = str(described.info.get("session_id"))
        handle = ChildHandle(parent.runner, session_id)
        info = {**unknown(session_id), **described.info}
        held = Held(handle, described.project_root, info, parent.timeout, described.saves_breakpoints)
        self._held.setdefault(session_id, held)

    def _noticed(self, held: Held, method: str, params: dict[str, Any]) -> None:
        if method == "expired":
            logger.info("session %s expired", held.session_id)
            held.handle.is_ending = True
            self._bury(held.session_id, msgspec.convert(params, LastWords))
        elif method == "child":
            self._hold_child(held, msgspec.convert(params, Described))
        elif method == "child_gone":
            self._held.pop(str(params.get("session_id")), None)

    # How they go.

    async def delete(self, session_id: str, force: bool) -> bytes:
        held = self.find(session_id)
        if held.is_child:
            return await self._delete_child(held, force)
        self._forget(held)
        runner = held.runner
        runner.is_ending = True
        answer = msgspec.json.encode(
            {
                "session_id": session_id,
                "deleted": True,
                "final_status": "failed",
                "exit_code": None,
                "runtime_seconds": None,
            }
        )
        answers = await held.answers()
        if answers:
            with contextlib.suppress(RelayError, TimeoutError):
                answer = await asyncio.wait_for(runner.call("end", {"force": force}), ENDING)
        await runner.closed(LEAVING if answers else 0)
        await self.remove_remains(runner.folder, runner)
        return answer

    async def _delete_child(self, held: Held, force: bool) -> bytes:
        """Ends one process of the program and leaves the others alone."""
        session_id = held.session_id
        if held.is_lost:
            del self._held[session_id]
            return msgspec.json.encode({"session_id": session_id, "deleted": True, "final_status": "failed"})
        held.handle.is_ending = True
        try:
            return await held.handle.call("end", {"force": force})
        finally:
            self._held.pop(session_id, None)

    async def end_all(self, patience: float) -> None:
        programs = self.programs()
        ending = [asyncio.ensure_future(self.delete(held.session_id, patience == 0)) for held in programs]
        if ending:
            await asyncio.wait(ending, timeout=max(patience, 0.1))
            if not all(task.done() for task in ending):
                await asyncio.gather(*(held.runner.closed(0) for held in programs))
            await asyncio.gather(*ending, return_exceptions=True)

    def let_go_all(self) -> None:
        """They go on without a relay."""
        for held in self.programs():
            held.runner.let_go(RelayError("SHUTTING_DOWN", "The relay is shutting down; the session goes on"))
        self._held.clear()

    async def cleaned_up(self) -> None:
        await asyncio.gather(*self._cleanups, return_exceptions=True)

    def _lost(self, held: Held) -> None:
        """The runner is gone: as planned, or its session has failed."""
        folder = held.runner.folder
        if held.handle.is_ending:
            self._forget(held)
            self._later(self.remove_remains(folder, held.runner))
        else:
            logger.error("the runner of session %s ended unexpectedly", held.session_id)
            clearing = self._later(self._end_what_is_left(folder, held.runner))
            for lost in self._family(held):
                self._give_up(lost)
                lost.clearing = clearing

    def _give_up(self, held: Held) -> None:
        """It has failed: to be looked at, until its time is up."""
        held.is_lost, held.lost_at = True, time.time()
        asyncio.get_running_loop().call_later(held.timeout, self._expire_failed, held)

    def _expire_failed(self, held: Held) -> None:
        session_id = held.session_id
        if self._held.get(session_id) is held and not held.handle.is_ending:
            logger.info("failed session %s expired", session_id)
            self._tombstones.add(session_id, "failed", "timeout", held.info["name"])
            self._later(self.delete(session_id, True))

    def _forget(self, held: Held) -> None:
        for gone in self._family(held):
            self._held.pop(gone.session_id, None)

    def _family(self, held: Held) -> list[Held]:
        """All that its runner holds."""
        return [each for each in self._held.values() if each.runner is held.runner]

    async def remove_remains(self, folder: Path, runner: Handle | None = None) -> None:
        """Of a runner that is ending, or of one that ended before we came. Once, however many ask for it."""
        removing = self._removing.get(folder)
        if removing is None:
            removing = self._removing[folder] = self._later(self._remove(folder, runner))
            removing.add_done_callback(lambda _: self._removing.pop(folder))
        await asyncio.shield(removing)

    async def _remove(self, folder: Path, runner: Handle | None) -> None:
        if not folder.exists():
            return  # it is done; and who was let go is no longer on record
        try:
            self._bury(folder.name, msgspec.json.decode(read_file(folder / FINAL), type=LastWords))
        except FileNotFoundError:
            pass
        except UNREADABLE as error:
            logger.warning("the last words of session %s are unusable: %s", folder.name, error)
        await self._end_what_is_left(folder, runner)
        shutil.rmtree(folder, ignore_errors=True)
        reap()

    async def _end_what_is_left(self, folder: Path, runner: Handle | None) -> None:
        is_let_go = (folder / DETACHED).exists()
        with self.orphans.awaited():
            if not is_let_go:
                await asyncio.to_thread(end_marked, folder.name)
            if runner is not None:
                await runner.gone()  # what it had adopted is ours from now on
                if is_let_go:
                    self.orphans.leave()
                else:
                    await self.orphans.end(folder.name)

    def _bury(self, session_id: str, last: LastWords) -> None:
        self._tombstones.add(session_id, last.last_status, last.reason, last.name)
        for child_id, words in last.children.items():
            self._bury(child_id, words)

    def _later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._cleanups.add(task)
        task.add_done_callback(self._cleanups.discard)
        return task


def _is_session(folder: Path) -> bool:
    return SESSION_ID.fullmatch(folder.name) is not None and folder.is_dir() and not folder.is_symlink()
