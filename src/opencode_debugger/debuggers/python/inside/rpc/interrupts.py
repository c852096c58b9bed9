"""Runs code of the program so that another thread can end it, and nothing but that code."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal wraps it in enums: 20 times slower
import _thread
import contextlib
import ctypes
import signal
import threading
import time
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

# Reentrant, because an asynchronous exception may strike while it is held.
_LOCK = threading.RLock()
_open_guards: Dict[int, Guard] = {}
_DELIVERY_SECONDS = 0.2
# `_disarm` copes with one exception that comes late, not with a stream of them.
_RESEND_SECONDS = 0.1
_SIGINT = int(signal.SIGINT)


class Interrupted(BaseException):
    """Raised in code of the program that ran longer than it may."""


def renew_after_fork() -> None:
    """Start anew in a forked child: the threads that ran or interrupted something stayed in the parent."""
    global _LOCK
    _LOCK = threading.RLock()
    _open_guards.clear()


@dataclass(eq=False)
class Guard:
    """One request on one thread; `call` is the only place where an interrupt may strike."""

    ident: int
    depth: int = 0
    armed: bool = False
    pending: bool = False
    interrupted: bool = False
    is_quiet: bool = False
    next_send: float = 0.0
    handler: Optional[Callable[[int, Optional[FrameType]], None]] = None
    previous: Any = None

    def __enter__(self) -> Guard:
        if not self.depth:
            _open_guards[self.ident] = self
        self.depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth:
            return
        with _LOCK:
            _open_guards.pop(self.ident, None)
        if self.handler is not None and _signal.getsignal(_SIGINT) is self.handler:
            _signal.signal(_SIGINT, self.previous)
        self.handler = self.previous = None

    def call(self, function: Callable[..., Any], *args: Any) -> Tuple[Any, Optional[BaseException]]:
        """Return the value and None, or None and whatever was raised, `Interrupted` included."""
        nested = self.armed
        value: Any = None
        error: Optional[BaseException] = None
        try:
            try:
                try:
                    self._arm()
                    value = function(*args)
                except BaseException as raised:
                    error = raised
                self._disarm()
            except Interrupted as late:
                self._disarm()
                value, error = None, late
            if nested:
                self._arm()
            return value, error
        finally:
            # Its traceback holds this frame and its callers: whoever keeps the error in a local leaks all of them.
            value = error = None

    def attempt(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the value, or None if it raised."""
        return self.call(function, *args)[0]

    def send_interrupt(self) -> None:
        """Interrupt what runs; the interrupting thread calls it with the lock held."""
        self.interrupted = True
        now = time.monotonic()
        if not self.armed or now < self.next_send:
            return
        self.next_send = now + _RESEND_SECONDS
        self.pending = True
        if self.handler is None:
            raise_in_thread(self.ident)
        elif hasattr(signal, "pthread_kill"):
            signal.pthread_kill(self.ident, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def _arm(self) -> None:
        if self.handler is None and self.ident == threading.main_thread().ident:
            self._install_handler()
        with _LOCK:
            if self.interrupted:
                raise Interrupted
            self.armed = True

    def _disarm(self) -> None:
        _LOCK.acquire()
        self.armed = False
        if self.pending:
            self._take_back()
        try:
            while True:
                _LOCK.release()
        except RuntimeError:
            pass

    def _take_back(self) -> None:
        if self.handler is None:
            _deliver_to_this_thread()
        else:
            end = time.monotonic() + _DELIVERY_SECONDS
            while self.pending and time.monotonic() < end:
                time.sleep(0.0005)
            if self.pending and hasattr(signal, "sigtimedwait") and signal.SIGINT in signal.sigpending():
                signal.sigtimedwait([signal.SIGINT], 0)
        self.pending = False

    def _install_handler(self) -> None:
        previous = _signal.getsignal(_SIGINT)
        # None: set outside of Python, could not be put back. asyncio's: its loop would see our signal later.
        if previous is None or (type(previous) is FunctionType and previous.__module__ == "asyncio.unix_events"):
            return
        handler = self._on_sigint
        try:
            _signal.signal(_SIGINT, handler)
        except ValueError:
            return
        self.handler, self.previous = handler, previous

    def _on_sigint(self, signum: int, frame: Optional[FrameType]) -> None:
        if self.pending:
            self.pending = False
            if self.armed:
                raise Interrupted
        elif callable(self.previous):
            self.previous(signum, frame)
        elif self.previous == signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)


def guard() -> Guard:
    """Return the guard of the running request on this thread, or a new one; use it with `with`."""
    ident = threading.get_ident()
    return _open_guards.get(ident) or Guard(ident)


@contextlib.contextmanager
def nothing_runs() -> Iterator[None]:
    """Let nothing of the program run on this thread, as if each call had been interrupted before it began."""
    ident = threading.get_ident()
    around = _open_guards.get(ident)
    quiet = Guard(ident)
    quiet.interrupted = quiet.is_quiet = True
    try:
        with quiet:
            yield
    finally:
        if around is not None:
            _open_guards[ident] = around


def is_quiet() -> bool:
    """Tell whether this thread carries out a call for which nothing may run."""
    running = _open_guards.get(threading.get_ident())
    return running is not None and running.is_quiet


def interrupt_thread(thread_ident: int) -> bool:
    """End what a guard runs on that thread; False, and no effect, if no guard is open there."""
    with _LOCK:
        running = _open_guards.get(thread_ident)
        if running is None:
            return False
        running.send_interrupt()
    if running.handler is None:
        _retract_if_asleep(running)
    return True


def _retract_if_asleep(running: Guard) -> None:
    """Take back an interrupt that is not delivered soon, because the thread waits for a call in C to return.

    It must not wait there: see `_deliver_to_this_thread`.
    """
    end = time.monotonic() + 0.1
    while running.pending and time.monotonic() < end:
        time.sleep(0.002)
    with _LOCK:
        if running.pending and running.armed:
            running.pending = False
            raise_in_thread(running.ident, None)
            _deliver_to_this_thread()


def _deliver_to_this_thread() -> None:
    """Clear the interpreter's note that an exception waits to be delivered, by having one delivered here.

    Taking an exception back leaves the note set, and in CPython 3.11 a traced thread that enters a function while it is
    set never gets any further.
    """
    end = time.monotonic() + _DELIVERY_SECONDS
    try:
        raise_in_thread(threading.get_ident())
        while time.monotonic() < end:
            pass
    except Interrupted:
        pass


def raise_in_thread(ident: int, exception: Optional[type] = Interrupted) -> None:
    """Raise an exception in a thread, or (None) take back one that has not been delivered."""
    raised = None if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), raised)
