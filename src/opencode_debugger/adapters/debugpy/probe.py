"""The relay's end of the code that runs inside the program (see inside/): calls with deadlines that always end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from ...dap.messages import Response, decode_json
from ...errors import RelayError
from ..conversation import Conversation
from ..permission import may_run
from .launch import INSIDE

NOT_SUSPENDED = "Unable to find thread for evaluation."
QUIETLY = "_ocdb:"
"""Begins what is no expression to debugpy: see inside/calling.py."""
GRACE = 1.0
"""Seconds for an interrupted call to come back."""


class Probe:
    def __init__(self, talk: Conversation, timeout: float) -> None:
        self._talk = talk
        self._timeout = timeout
        self._tokens = itertools.count(1)
        self._moved_on: dict[int, asyncio.Future[None]] = {}
        """By thread, for whoever waits for something in one of its frames."""
        self._moves = 0
        """counted inside the program too: what was asked before a thread went on is not carried out after it"""
        self._thread_of: dict[int, int] = {}
        """threads of frames"""
        self._stuck: dict[int, asyncio.Future[Response]] = {}
        """Calls by frame that did not come back even when interrupted; their thread can evaluate nothing else."""
        self._elsewhere: dict[int, asyncio.Future[str]] = {}
        """Calls by token that are answered by an event."""

    def tracks(self, thread: int, frames: Iterable[int]) -> None:
        """Whose frames these are: ids are used again, by other threads too."""
        for frame in frames:
            self._thread_of[frame] = thread

    def resumed(self, thread: int | None, kept: Collection[int]) -> None:
        """Frames of one thread, or (None) of all but those kept, are gone: who waits for one of them waits in vain."""
        self._moves += 1
        gone = [thread] if thread is not None else [other for other in self._moved_on if other not in kept]
        for other in gone:
            moved_on = self._moved_on.pop(other, None)
            if moved_on is not None:
                moved_on.set_result(None)
        if thread is None and not kept:
            self._thread_of.clear()

    async def in_frame(self, frame: int, method: str, timeout: float, **arguments: Any) -> Any:
        """Runs on the thread of a suspended frame. Ends in time, by interrupting what runs there if need be."""
        if frame in self._stuck:
            return await self._from_outside(frame, method, timeout, arguments)
        token = next(self._tokens)
        thread = self._thread_of.get(frame, 0)
        expression = _expression("call", method, arguments, token, thread, self._moves)
        async with self._talk.translated(method):
            future = self._send({"expression": expression, "frameId": frame, "context": "clipboard"})
            await self._wait_for(future, token, thread, timeout)
            response = future.result() if future.done() else None
        if response is None:
            self._stuck[frame] = future
            future.add_done_callback(lambda _: self._stuck.pop(frame, None))
            return await self._from_outside(frame, method, timeout, arguments)
        if response.message == NOT_SUSPENDED:
            answer = await self._look_elsewhere(frame, method, timeout, arguments)
            if method == "evaluate":
                answer["elsewhere"] = True
        else:
            answer = _answer(response)
        if answer.get("timed_out") and "seconds" in arguments:
            return await self._from_outside(frame, method, timeout, arguments)
        return answer

    async def _wait_for(self, future: asyncio.Future[Any], token: int, thread: int, timeout: float) -> None:
        """Until it is answered, or was interrupted, or even that did not help."""
        if thread not in self._moved_on:
            self._moved_on[thread] = asyncio.get_running_loop().create_future()
        moved_on = self._moved_on[thread]
        await asyncio.wait([future, moved_on], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            return
        await self._interrupt(token)
        if moved_on.done():
            raise _gone()
        await asyncio.wait([future], timeout=GRACE)

    async def _from_outside(self, frame: int, method: str, timeout: float, arguments: dict[str, Any]) -> Any:
        """What can still be said when code of the program does not return: values, without running more of it."""
        if "seconds" not in arguments:
            raise _still_busy(method, timeout)
        return await self._look_elsewhere(frame, method, timeout, {**arguments, "seconds": 0})

    async def _look_elsewhere(self, frame: int, method: str, timeout: float, arguments: dict[str, Any]) -> Any:
        """For a thread that is listed but busy in a call: debugpy does not let it evaluate anything."""
        token = next(self._tokens)
        thread = self._thread_of.get(frame, 0)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._elsewhere[token] = future
        try:
            expression = _expression("call_elsewhere", method, arguments, token, thread, self._moves, frame)
            await self._aside(method, expression)
            await self._wait_for(future, token, thread, timeout)
            return _content(future.result()) if future.done() else {"timed_out": True}
        finally:
            del self._elsewhere[token]

    def answered(self, token: int, text: str) -> None:
        future = self._elsewhere.get(token)
        if future is not None and not future.done():
            future.set_result(text)

    def _send(self, arguments: dict[str, Any]) -> asyncio.Future[Response]:
        return self._talk.channel.send("evaluate", arguments)

    async def aside(self, method: str, **arguments: Any) -> Any:
        """Runs on debugpy's own thread, whether the program is running or paused."""
        return await self._aside(method, _expression("call", method, arguments, 0))

    async def _aside(self, method: str, expression: str) -> Any:
        async with self._talk.translated(method), asyncio.timeout(self._timeout):
            return _answer(await self._send({"expression": expression, "context": "repl"}))

    async def _interrupt(self, token: int) -> None:
        # If something holds the interpreter itself, this does not get through: the caller reports the time-out.
        with contextlib.suppress(TimeoutError, RelayError):
            await asyncio.wait_for(self.aside("interrupt", token=token), GRACE)

    async def load(self, first_reference: int) -> None:
        """For programs that we did not start: brings the code in as text."""
        sources = {path.stem: path.read_text(encoding="utf-8") for path in INSIDE.glob("*.py")}
        text = BOOTSTRAP % {"sources": repr(sources), "first": first_reference}
        async with self._talk.translated("load"), asyncio.timeout(self._timeout):
            response = await self._send({"expression": text, "context": "repl"})
        if not response.success:
            raise RelayError("ATTACH_FAILED", f"The target does not take our code: {response.message}")


BOOTSTRAP = """
import sys as _s, types as _t
if '_ocdb' not in _s.modules:
    _sources = %(sources)s
    _order = [n for n in _sources if n != '__init__'] + ['__init__']
    for _n in _order:
        _m = _t.ModuleType('_ocdb' if _n == '__init__' else '_ocdb.' + _n)
        _m.__package__ = '_ocdb'
        _s.modules[_m.__name__] = _m
    _s.modules['_ocdb'].__path__ = []
    for _n in _order:
        if _n != '__init__':
            setattr(_s.modules['_ocdb'], _n, _s.modules['_ocdb.' + _n])
    _pending = list(_order)
    while _pending:
        _left = []
        for _n in _pending:
            _m = _s.modules['_ocdb' if _n == '__init__' else '_ocdb.' + _n]
            try:
                exec(compile(_sources[_n], '<ocdb ' + _n + '>', 'exec'), _m.__dict__)
            except (ImportError, AttributeError) as _error:  # what it needs is not there yet
                _left.append(_n)
                if len(_left) == len(_pending):
                    raise
        _pending = _left
    _s.modules['_ocdb'].prepare()
_s.modules['_ocdb'].begin(%(first)d)
"""


def _expression(function: str, method: str, arguments: dict[str, Any], *more: float) -> str:
    if not may_run.get():
        quiet = msgspec.json.encode({**arguments, "quiet": True}).decode()
        return QUIETLY + msgspec.json.encode((function, method, quiet, *more)).decode()
    text = msgspec.json.encode(arguments).decode()
    return f"__import__('_ocdb').{function}({', '.join(map(repr, (method, text, *more)))})"


def _answer(response: Response) -> Any:
    text = response.body.get("result", "") if response.success and response.body else ""
    try:
        return _content(text)
    except ValueError:
        reason = response.message or text or "no answer"
        raise RelayError("DEBUGPY_ERROR", f"The debugger could not look into the program: {reason[:300]}") from None


def _content(text: str) -> Any:
    answer = decode_json(text)
    if answer.get("gone"):
        raise _gone()
    if "failed" in answer:
        raise RelayError("DEBUGPY_ERROR", f"Looking into the program failed: {answer['failed']}")
    return answer


def _gone() -> RelayError:
    return RelayError("FRAME_NOT_FOUND", "The program has moved on")


def _still_busy(method: str, timeout: float) -> RelayError:
    return RelayError(
        "DEBUGPY_TIMEOUT",
        f"No answer within {timeout:g} s: what runs in this thread, or ran before, cannot be interrupted",
        operation=method,
        timeout=timeout,
        suggestion="Look at another thread, wait for it to return, or end the program",
    )
