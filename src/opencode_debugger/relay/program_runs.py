"""One call from nothing to the first stop: creates a session, sets breakpoints, launches or attaches, and waits."""

import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import psutil

from ..answers.breakpoints import BreakpointList, BreakpointsSet
from ..default_settings import Limits
from ..errors import RelayError, invalid_parameter
from ..operations.asking_client import asked_by_relay
from ..operations.states import LIVE
from ..session.lifecycle.choose_python import choose_python
from ..session.session_settings import Config
from .option_checks import existing_folder
from .running_tests import project_above, run_of_test, test_path

WAIT = 30
"""Seconds for the first stop, unless the request says otherwise."""
OF_REPORT = ("fields", "budget")
OF_TARGET = ("attached", "pid", "program", "warnings", "host", "port")
"""What an answer to `attach` has besides the report of a stop."""
NO_FOLDER = "Give the folder as cwd or project_root, or an absolute path"
RUN_AGAIN = "Correct the file and run it again: no session was left"

Item = dict[str, Any]
StillAwaited = Callable[[], Awaitable[None]]
"""raises if nobody waits for the answer any more"""


@dataclass(frozen=True)
class PreparedSession:
    id: str
    breakpoint_ids: frozenset[str]
    told: Item
    """what its creation has told that the answer is to have"""


@dataclass(frozen=True)
class ProgramRuns:
    create_session: Callable[..., Awaitable[bytes]]
    call: Callable[[str, str, Item], Awaitable[bytes]]
    delete_session: Callable[[str, bool], Awaitable[bytes]]
    runner_settings: Callable[[], dict[str, Any]]

    async def run(
        self, session: Item, breakpoints: list[Item], watches: list[str], test: str | None = None,
        runner: str | None = None, still_awaited: StillAwaited | None = None, **launch: Any,
    ) -> bytes:
        """Launch a program or a test in a new session. What fails before it runs leaves no session."""
        root, folder = _choose_folders(session, launch, test)
        notes = []
        if test is not None:
            how = run_of_test(test, runner, folder or "/", self._environment(session, launch, root, folder or "/"))
            launch |= {"module": how.module, "args": [*how.args, *launch.get("args", [])]}
            launch.setdefault("stop_on_exception", "test_failure")
            notes = [how.note] if how.note else []
        placed = [_placed_item(item, folder) for item in breakpoints]
        async with self._prepared(session, root, placed, watches, still_awaited) as prepared:
            report = await self._ask(prepared.id, "launch", {"wait": WAIT, **launch})
        if notes:
            report["warnings"] = [*notes, *report.get("warnings", [])]
        return await self._complete(prepared, report)

    async def attach(
        self, session: Item, breakpoints: list[Item], watches: list[str], pause: bool = False,
        still_awaited: StillAwaited | None = None, **target: Any,
    ) -> bytes:
        """Attach to a program in a new session, and pause it if that is asked for."""
        root = session.get("project_root") or _folder_of_process(target.get("pid"))
        placed = [_placed_item(item, root) for item in breakpoints]
        async with self._prepared(session, root, placed, watches, still_awaited) as prepared:
            if pause:
                report = await self._attach_and_pause(prepared.id, target)
            else:
                wait = {"wait": WAIT} if breakpoints else {}
                report = await self._ask(prepared.id, "attach", wait | target)
        return await self._complete(prepared, report)

    async def _attach_and_pause(self, session_id: str, target: Item) -> Item:
        asked = {name: target.pop(name) for name in ("wait", *OF_REPORT) if name in target}
        attached = await self._ask(session_id, "attach", {**target, "wait": False})
        if attached["status"] != "running":
            return attached
        try:
            report = await self._ask(session_id, "pause", asked)
        except RelayError as error:
            if error.code != "INVALID_SESSION_STATE":
                raise
            asked.pop("wait", None)
            report = await self._ask(session_id, "report", asked)  # a breakpoint or the end came first
        return {name: attached[name] for name in OF_TARGET if name in attached} | report

    def _environment(self, session: Item, launch: Item, root: str | None, folder: str) -> str | None:
        """Return the Python environment that the program of a launch will have, if that can be told from here."""
        config = Config("", "", project_root=root, limits=Limits(**self.runner_settings()))
        chosen = choose_python(config, folder, launch.get("python_path"), launch.get("venv"), root)
        if "environment" in session and chosen.environment and chosen.environment == os.environ.get("VIRTUAL_ENV"):
            activated: str | None = session["environment"].get("VIRTUAL_ENV")  # in the client's terminal, not in ours
            return activated
        prefix = os.path.dirname(os.path.dirname(os.path.expanduser(chosen.interpreter)))
        is_environment = os.path.isfile(os.path.join(prefix, "pyvenv.cfg"))
        return chosen.environment or (prefix if is_environment else None)

    @contextlib.asynccontextmanager
    async def _prepared(
        self, session: Item, root: str | None, breakpoints: list[Item], watches: list[str],
        still_awaited: StillAwaited | None,
    ) -> AsyncIterator[PreparedSession]:
        """Make a session that is gone again if what is done in it fails."""
        options = {**session, "project_root": root} if root else session
        created = msgspec.json.decode(await self.create_session(**options))
        session_id = created["session_id"]
        told = {name: created[name] for name in ("restored_breakpoints",) if name in created}
        try:
            ids = await self._set_breakpoints(session_id, breakpoints)
            for expression in watches:
                await self.call(session_id, "add_watch", {"expression": expression})
            if still_awaited is not None:
                await still_awaited()
            yield PreparedSession(session_id, ids, told)
        except BaseException as error:
            await self._remove_failed(session_id, error)
            raise

    async def _set_breakpoints(self, session_id: str, breakpoints: list[Item]) -> frozenset[str]:
        if not breakpoints:
            return frozenset()
        answer = await self.call(session_id, "set_breakpoints", {"breakpoints": breakpoints})
        return frozenset(each.id for each in msgspec.json.decode(answer, type=BreakpointsSet).breakpoints)

    async def _remove_failed(self, session_id: str, error: BaseException) -> None:
        """Remove a session that came to nothing. A program that runs, and whose stop nobody waits for, is kept."""
        with contextlib.suppress(RelayError):
            if not isinstance(error, RelayError):
                status = await self._ask(session_id, "status", {})
                if status["status"] in LIVE:
                    return
            await self.delete_session(session_id, True)
        if isinstance(error, RelayError) and error.code == "LAUNCH_SYNTAX_ERROR":
            error.details["suggestion"] = RUN_AGAIN

    async def _complete(self, prepared: PreparedSession, report: Item) -> bytes:
        """Return the report with what the creation told, and those of the breakpoints that do not stop."""
        unverified = []
        if prepared.breakpoint_ids:
            with asked_by_relay():
                answer = await self.call(prepared.id, "list_breakpoints", {"verified": False})
            listed = msgspec.json.decode(answer, type=BreakpointList).breakpoints
            unverified = [each for each in listed if each.id in prepared.breakpoint_ids]
        return msgspec.json.encode(report | prepared.told | ({"breakpoints": unverified} if unverified else {}))

    async def _ask(self, session_id: str, operation: str, params: Item) -> Item:
        answer: Item = msgspec.json.decode(await self.call(session_id, operation, params))
        return answer


def _choose_folders(session: Item, launch: Item, test: str | None) -> tuple[str | None, str | None]:
    """Return the project's folder and the one in which the program runs, as far as the request says or implies them."""
    cwd = launch.get("cwd")
    if (root := session.get("project_root")) is not None:
        root = existing_folder(root)
        return root, os.path.normpath(os.path.join(root, cwd or ""))
    if cwd is not None:
        launch["cwd"] = root = existing_folder(cwd, NO_FOLDER, "cwd")
        return root, root
    named = {"script": launch.get("script"), "program": launch.get("program"), "test": test and test_path(test)}
    for name, path in named.items():
        if path is None or (name == "program" and os.sep not in path):
            continue
        if not os.path.isabs(path):
            message = f"{name} {path[:200]!r} is relative, and nothing says to which folder"
            raise invalid_parameter(name, path, message, NO_FOLDER)
        folder = project_above(path) if name == "test" else os.path.dirname(path)
        return (folder, folder) if os.path.isdir(folder) else (None, None)
    return None, None


def _folder_of_process(pid: int | None) -> str | None:
    if pid is None:
        return None
    with contextlib.suppress(psutil.Error, OSError):
        if os.path.isdir(folder := psutil.Process(pid).cwd()):
            return folder
    return None


def _placed_item(item: Item, folder: str | None) -> Item:
    """Return the breakpoint with its file where it is meant: in the folder of the program."""
    path = item.get("path")
    if path and folder and os.path.exists(placed := os.path.join(folder, path)):
        return {**item, "path": placed}
    return item
