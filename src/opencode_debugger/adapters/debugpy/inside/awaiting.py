"""Runs code that awaits to its end, in an event loop of its own on a helper thread."""

from __future__ import annotations

import contextvars
import threading
from types import CodeType
from typing import Any, Dict, List

from .interrupts import raise_in_thread

COROUTINE = 0x80
_LOOK_SECONDS = 0.02
_CANCEL_SECONDS = 0.1


class Awaiting:
    """Starts at once; only `wait` may be interrupted, then `cancel` ends the helper."""

    __slots__ = ("cancelled", "done", "error", "loop", "task", "thread", "value")

    def __init__(self, codes: List[CodeType], namespace: Dict[str, Any]) -> None:
        self.value: Any = None
        self.error: Any = None
        self.loop: Any = None
        self.task: Any = None
        self.cancelled = False
        # A bare lock: an exception that strikes in Thread.join leaves the Thread broken.
        self.done = threading.Lock()
        self.done.acquire()
        context = contextvars.copy_context()
        thread: Any = threading.Thread(
            target=context.run, args=(self._work, codes, namespace), name="evaluate await", daemon=True
        )
        thread.pydev_do_not_trace = True
        thread.is_pydev_daemon_thread = True
        self.thread = thread
        thread.start()

    def wait(self) -> Any:
        while not self.done.acquire(timeout=_LOOK_SECONDS):
            pass  # again and again, because off the main thread nothing breaks a long wait
        if self.error is not None:
            raise self.error
        return self.value

    def cancel(self) -> None:
        self.cancelled = True
        if self.loop is None:
            return
        try:
            self.loop.call_soon_threadsafe(self.task.cancel)
        except RuntimeError:  # its loop has just closed
            return
        if not self.done.acquire(timeout=_CANCEL_SECONDS):
            raise_in_thread(self.thread.ident)

    def _work(self, codes: List[CodeType], namespace: Dict[str, Any]) -> None:
        import asyncio

        try:
            asyncio.run(self._run(codes, namespace))
        except BaseException as error:
            self.error = error
        finally:
            self.done.release()

    async def _run(self, codes: List[CodeType], namespace: Dict[str, Any]) -> None:
        import asyncio

        self.task = asyncio.current_task()
        self.loop = asyncio.get_running_loop()
        for code in codes:
            if self.cancelled:
                return
            value = eval(code, namespace)
            self.value = await value if code.co_flags & COROUTINE else value
