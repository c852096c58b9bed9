"""The relay's end of the code that runs inside the program (see inside/): calls with deadlines that always end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from ...dap.messages import Response, decode_json
from ...errors import RelayError
from ...files import read_file
from ..dap_conversation import Conversation
from ..run_permission import may_run
from .launch.start_program import INSIDE

NOT_SUSPENDED = "Unable to find thread for evaluation."
QUIETLY = "_ocdb:"
"""Beginning of what is no expression to debugpy: see inside/rpc/calling.py."""
GRACE = 1.0
"""Seconds for an interrupted call to come back."""


class InsideCalls:
    def __init__(self, conversation: Conversation, timeout: float) -> None:
        self._conversation = conversation
        self._timeout = timeout
        self._tokens = itertools.count(1)
        self._moved_on: dict[int, asyncio.Future[None]] = {}
        """by thread, for whoever waits for something in one of its frames"""
        self._moves = 0
        """counted inside the program too: what was asked before a thread went on is not carried out after it"""
        self._thread_of: dict[int, int] = {}
        """threads of frames"""
        self._stuck: dict[int, asyncio.Future[Response]] = {}
        """calls by frame that did not come back even when interrupted; their thread can evaluate nothing else"""
        self._elsewhere: dict[int, asyncio.Future[str]] = {}
        """calls by token that are answered by an event"""

    def track_frames(self, thread: int, frames: Iterable[int]) -> None:
        """Remember whose frames these are: ids are used again, by other threads too."""
        for frame in frames:
            self._thread_of[frame] = thread

    def threads_resumed(self, thread: int | None, kept: Collection[int]) -> None:
        """Forget the frames of one thread, or (None) of all but those kept: who waits for one of them waits in vain."""
        self._moves += 1
        gone = [thread] if thread is not None else [other for other in self._moved_on if other not in kept]
        for other in gone:
            moved_on = self._moved_on.pop(other, None)
            if moved_on is not None:
                moved_on.set_result(None)
        if thread is None and not kept:
            self._thread_of.clear()

    async def call_in_frame(self, frame: int, method: str, timeout: float, **arguments: Any) -> Any:
        """Run a method on the thread of a suspended frame, and in time, by interrupting what runs there if need be."""
        if frame in self._stuck:
            return await self._look_from_outside(frame, method, timeout, arguments)
        token = next(self._tokens)
        thread = self._thread_of.get(frame, 0)
        expression = _call_expression("call", method, arguments, token, thread, self._moves)
        async with self._conversation.translated(method):
            future = self._send_evaluate({"expression": expression, "frameId": frame, "context": "clipboard"})
            await self._wait_for(future, token, thread, timeout)
            response = future.result() if future.done() else None
        if response is None:
            self._stuck[frame] = future
            future.add_done_callback(lambda _: self._stuck.pop(frame, None))
            return await self._look_from_outside(frame, method, timeout, arguments)
        if response.message == NOT_SUSPENDED:
            answer = await self._look_elsewhere(frame, method, timeout, arguments)
            if method == "evaluate":
                answer["elsewhere"] = True
        else:
            answer = _read_answer(response)
        if answer.get("timed_out") and "seconds" in arguments:
            return await self._look_from_outside(frame, method, timeout, arguments)
        return answer

    async def _wait_for(self, future: asyncio.Future[Any], token: int, thread: int, timeout: float) -> None:
        """Wait until it is answered, or was interrupted, or even that did not help."""
        if thread not in self._moved_on:
            self._moved_on[thread] = asyncio.get_running_loop().create_future()
        moved_on = self._moved_on[thread]
        await asyncio.wait([future, moved_on], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            return
        # If something holds the interpreter itself, this does not get through: the caller reports the time-out.
        with contextlib.suppress(TimeoutError, RelayError):
            await asyncio.wait_for(self.call_aside("interrupt", token=token), GRACE)
        if moved_on.done():
            raise _frame_gone()
        await asyncio.wait([future], timeout=GRACE)

    async def _look_from_outside(self, frame: int, method: str, timeout: float, arguments: dict[str, Any]) -> Any:
        """Return values, without running more code of the program, when what runs there does not return."""
        if "seconds" not in arguments:
            why = f"No answer within {timeout:g} s: what runs in this thread, or ran before, cannot be interrupted"
            instead = "Look at another thread, wait for it to return, or end the program"
            raise RelayError("DEBUGPY_TIMEOUT", why, operation=method, timeout=timeout, suggestion=instead)
        return await self._look_elsewhere(frame, method, timeout, {**arguments, "seconds": 0})

    async def _look_elsewhere(self, frame: int, method: str, timeout: float, arguments: dict[str, Any]) -> Any:
        """Run a method for a thread that is busy in a call: debugpy does not let that one evaluate anything."""
        token = next(self._tokens)
        thread = self._thread_of.get(frame, 0)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._elsewhere[token] = future
        try:
            expression = _call_expression("call_elsewhere", method, arguments, token, thread, self._moves, frame)
            await self._evaluate_aside(method, expression)
            await self._wait_for(future, token, thread, timeout)
            return _read_content(future.result()) if future.done() else {"timed_out": True}
        finally:
            del self._elsewhere[token]

    def take_answer(self, token: int, text: str) -> None:
        future = self._elsewhere.get(token)
        if future is not None and not future.done():
            future.set_result(text)

    def _send_evaluate(self, arguments: dict[str, Any]) -> asyncio.Future[Response]:
        return self._conversation.channel.send("evaluate", arguments)

    async def call_aside(self, method: str, **arguments: Any) -> Any:
        """Run a method on debugpy's own thread, whether the program is running or paused."""
        return await self._evaluate_aside(method, _call_expression("call", method, arguments, 0))

    async def _evaluate_aside(self, method: str, expression: str) -> Any:
        async with self._conversation.translated(method), asyncio.timeout(self._timeout):
            return _read_answer(await self._send_evaluate({"expression": expression, "context": "repl"}))

    async def load_code(self, first_reference: int) -> None:
        """Bring our code, as text, into a program that we did not start."""
        sources = sources_inside()
        text = BOOTSTRAP % {"sources": sources, "first": first_reference}
        async with self._conversation.translated("load"), asyncio.timeout(self._timeout):
            response = await self._send_evaluate({"expression": text, "context": "repl"})
        if not response.success:
            raise RelayError("ATTACH_FAILED", f"The target does not take our code: {response.message}")


def sources_inside() -> dict[str, str]:
    """Return our code by what it is called inside the program; of a package, the name ends in `.__init__`.

    The package itself is there what `entry` is here.
    """
    found = [os.path.join(folder, name) for folder, _, names in os.walk(INSIDE) for name in names]
    paths = {os.path.relpath(path, INSIDE)[:-3]: path for path in sorted(found) if path.endswith(".py")}
    paths["__init__"] = paths.pop("entry")
    return {f"_ocdb.{name.replace(os.sep, '.')}": read_file(path).decode() for name, path in paths.items()}


BOOTSTRAP = """
import importlib as _i, importlib.util as _u, sys as _s
if '_ocdb' not in _s.modules:
    class _Texts:
        sources = %(sources)r
        def find_spec(self, name, path=None, target=None):
            is_package = name + '.__init__' in self.sources
            if is_package or name in self.sources:
                return _u.spec_from_loader(name, self, is_package=is_package)
        def create_module(self, spec):
            return None
        def exec_module(self, module):
            name = module.__name__
            text = self.sources.get(name) or self.sources[name + '.__init__']
            exec(compile(text, '<ocdb ' + name + '>', 'exec'), module.__dict__)
    _texts = _Texts()
    _s.meta_path.insert(0, _texts)
    try:
        for _name in _texts.sources:  # what is for some Pythons only is taken by what uses it there
            if not _name.startswith(('_ocdb.full_speed.', '_ocdb.recording.profile_')) or _name.endswith('.__init__'):
                _i.import_module(_name[:-9] if _name.endswith('.__init__') else _name)
    finally:
        _s.meta_path.remove(_texts)
    _s.modules['_ocdb'].prepare()
_s.modules['_ocdb'].begin(%(first)d)
"""


def _call_expression(function: str, method: str, arguments: dict[str, Any], *more: float) -> str:
    if not may_run.get():
        quiet = msgspec.json.encode({**arguments, "quiet": True}).decode()
        return QUIETLY + msgspec.json.encode((function, method, quiet, *more)).decode()
    text = msgspec.json.encode(arguments).decode()
    return f"__import__('_ocdb').{function}({', '.join(map(repr, (method, text, *more)))})"


def _read_answer(response: Response) -> Any:
    text = response.body.get("result", "") if response.success and response.body else ""
    try:
        return _read_content(text)
    except ValueError:
        reason = response.message or text or "no answer"
        raise RelayError("DEBUGPY_ERROR", f"The debugger could not look into the program: {reason[:300]}") from None


def _read_content(text: str) -> Any:
    answer = decode_json(text)
    if answer.get("gone"):
        raise _frame_gone()
    if "failed" in answer:
        raise RelayError("DEBUGPY_ERROR", f"Looking into the program failed: {answer['failed']}")
    return answer


def _frame_gone() -> RelayError:
    return RelayError("FRAME_NOT_FOUND", "The program has moved on")

