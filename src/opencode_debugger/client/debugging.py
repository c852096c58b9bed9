"""Starts a program under the debugger, or attaches to one, from Python: blocking, or on an event loop."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Coroutine, Generator, Iterable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from ..agents.conversation import run_now
from ..text.render import answer_type
from .address import Address
from .async_session import WAIT, AsyncDebugSession, Place
from .discovery import running_or_started, version_note
from .http import AsyncHttpAsker, FindAgain, HttpAsker
from .session import DebugSession

PathLike = str | os.PathLike[str]
Start = Callable[[HttpAsker], Coroutine[Any, Any, AsyncDebugSession]]
Plan = tuple[FindAgain, Start]
"""how to find the relay, and how to start the session there"""


def debug(
    script: PathLike | None = None, *, stop: Iterable[Place] = (), cwd: PathLike | None = None, wait: float = WAIT,
    server: str | None = None, data_dir: PathLike | None = None, **options: Any,
) -> DebugSession:
    """Run a program under the debugger up to its first stop, and return its session, which `with` ends.

    `stop` has breakpoints: `app.py:42 if x > 3`, `app.py~text of the line`, `function`. Instead of a script, `options`
    may have a `module`, `test`, `program` or `code`, and all else that `POST /api/v1/run` takes, such as `args` and
    `env`; and `token_file` and `cafile` for a relay elsewhere. Relative paths are meant from `cwd`, the current folder
    if left out."""
    find, start = _run_of(script, stop, cwd, wait, server, data_dir, options)
    return DebugSession(run_now(start(HttpAsker(_noted(find()), find_again=find))))


def debug_async(
    script: PathLike | None = None, *, stop: Iterable[Place] = (), cwd: PathLike | None = None, wait: float = WAIT,
    server: str | None = None, data_dir: PathLike | None = None, **options: Any,
) -> Starting:
    """Do as `debug` on an event loop: `async with` starts and ends it, `await` only starts it."""
    return Starting(*_run_of(script, stop, cwd, wait, server, data_dir, options))


def attach(
    pid: int | None = None, *, stop: Iterable[Place] = (), wait: float = WAIT,
    server: str | None = None, data_dir: PathLike | None = None, **options: Any,
) -> DebugSession:
    """Debug a program that runs already, by its process id or the `port` (and `host`) of its debugpy. It runs on when
    the session ends. `options` may have what `POST /api/v1/attach` takes: with `pause` it is stopped where it is."""
    find, start = _attachment_to(pid, stop, wait, server, data_dir, options)
    return DebugSession(run_now(start(HttpAsker(_noted(find()), find_again=find))))


def attach_async(
    pid: int | None = None, *, stop: Iterable[Place] = (), wait: float = WAIT,
    server: str | None = None, data_dir: PathLike | None = None, **options: Any,
) -> Starting:
    """Do as `attach` on an event loop: `async with` starts and ends the session, `await` only starts it."""
    return Starting(*_attachment_to(pid, stop, wait, server, data_dir, options))


class Starting:
    """A session that is to be started."""

    def __init__(self, find: FindAgain, start: Start) -> None:
        self._find, self._start = find, start
        self._session: AsyncDebugSession | None = None

    def __await__(self) -> Generator[Any, Any, AsyncDebugSession]:
        return self._begin().__await__()

    async def __aenter__(self) -> AsyncDebugSession:
        self._session = await self._begin()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.end()

    async def _begin(self) -> AsyncDebugSession:
        import asyncio

        address = _noted(await asyncio.to_thread(self._find))
        return await self._start(AsyncHttpAsker(address, find_again=self._find))


def _run_of(
    script: PathLike | None, stop: Iterable[Place], cwd: PathLike | None, wait: float,
    server: str | None, data_dir: PathLike | None, options: dict[str, Any],
) -> Plan:
    find = _finder(server, data_dir, options)
    params = {"cwd": os.path.abspath(cwd or os.getcwd()), "breakpoints": list(stop), **options}
    if script is not None:
        params["script"] = os.path.join(params["cwd"], os.path.expanduser(script))
    return find, partial(_run, params, wait)


def _attachment_to(
    pid: int | None, stop: Iterable[Place], wait: float, server: str | None, data_dir: PathLike | None,
    options: dict[str, Any],
) -> Plan:
    find = _finder(server, data_dir, options)
    params = {"breakpoints": list(stop), **options} | ({} if pid is None else {"pid": pid})
    may_stop = bool(params["breakpoints"]) or params.get("pause")
    return find, partial(_start, "attach_program", params, wait if may_stop else 0)


def _finder(server: str | None, data_dir: PathLike | None, options: dict[str, Any]) -> FindAgain:
    """Take what is about the relay out of the options."""
    paths = {"data_dir": data_dir, "token_file": options.pop("token_file", None), "cafile": options.pop("cafile", None)}
    return partial(running_or_started, server, **{name: Path(path) for name, path in paths.items() if path is not None})


async def _run(params: dict[str, Any], wait: float, asker: HttpAsker) -> AsyncDebugSession:
    environment = {} if asker.environment is None else {"environment": asker.environment}
    return await _start("run_program", environment | params, wait, asker)


async def _start(operation: str, params: dict[str, Any], wait: float, asker: HttpAsker) -> AsyncDebugSession:
    """Wait for the first stop in a call of its own: who gives up then knows which session to end."""
    try:
        answer = await asker.ask(operation, {**params, "wait": 0})
    except BaseException:
        asker.close()
        raise
    session = AsyncDebugSession(asker, msgspec.json.decode(answer, type=answer_type(operation)))
    try:
        if wait and session.status == "running":
            await session.wait(wait)
    except BaseException:
        await session.end()
        raise
    return session


def _noted(address: Address) -> Address:
    if note := version_note(address):
        warnings.warn(note, stacklevel=3)
    return address
