"""Repairs that pydevd wakes a thread for each message: it is sent at once, by the thread that has it.

To wake the thread of the writer, and to give it the interpreter, takes longer than to send. That thread sends what does
not fit into the socket, and what comes behind that, so that no other thread ever waits for whoever reads; and what we
tell of a program that runs on, such as log messages: there may be many, and nobody waits for one. It sends all of those
that are there at once, because it gets the interpreter only now and then while the program computes.
"""

from __future__ import annotations

import _socket
from _thread import allocate_lock
from collections import deque
from contextlib import suppress
from queue import Empty
from typing import Any, Deque, List

from . import pydevd_parts
from .pydevd_output import framed_message

_HOW = getattr(_socket, "MSG_DONTWAIT", 0) | getattr(_socket, "MSG_NOSIGNAL", 0)

NEWS = "ocdb"
"""The event with which we tell what nobody has asked for."""
_MOST_AT_ONCE = 500
"""Packets of news that are sent together."""


class Outbox:
    """Takes the place of a writer's queue: what its thread has to send.

    Nobody waits for a lock to put something in: a signal handler may log, too, in the middle of that."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        """held by whoever sends; who does not get it leaves a message to the thread of the writer"""
        self.rest = b""
        """of a message that did not fit into the socket: it comes before all that waits"""
        self.waiting: Deque[Any] = deque()
        """messages of pydevd's, and packets of news"""
        self._idle = allocate_lock()
        """released whenever there is something new"""

    def put(self, message: Any) -> None:
        self.waiting.append(message)
        self.wake_writer()

    def wake_writer(self) -> None:
        if self._idle.locked():
            with suppress(RuntimeError):  # another thread has just done it
                self._idle.release()

    def get(self, block: bool, timeout: float) -> Waiting:
        """Return what is to be sent next; until it is, it stays in here, and nothing overtakes it."""
        while not (self.waiting or self.rest):
            if not self._idle.acquire(block, timeout):
                raise Empty
        first = self.waiting[0] if self.waiting else None
        return Waiting(self, None if type(first) is bytes else first)

    def empty(self) -> bool:
        return not (self.waiting or self.rest or self.lock.locked())

    def take_news(self) -> bytes:
        """Return the packets up to the next message of pydevd's."""
        taken: List[bytes] = []
        while self.waiting and len(taken) < _MOST_AT_ONCE and type(self.waiting[0]) is bytes:
            taken.append(self.waiting.popleft())
        return b"".join(taken)


class Waiting:
    """A message of pydevd's that the thread of the writer sends; without one, news and the rest of what was begun."""

    def __init__(self, outbox: Outbox, command: Any) -> None:
        self.id, self.as_dict = getattr(command, "id", None), getattr(command, "as_dict", None)
        self._outbox, self._command = outbox, command

    def send(self, sock: Any) -> None:
        outbox = self._outbox
        with outbox.lock:
            rest, outbox.rest = outbox.rest, b""
            if self._command is None:
                sock.sendall(rest + outbox.take_news())
                return
            outbox.waiting.popleft()
            if rest:
                sock.sendall(rest)
            self._command.send(sock)


def install() -> None:
    from _pydevd_bundle.pydevd_comm import WriterThread
    from _pydevd_bundle.pydevd_net_command import NULL_NET_COMMAND

    if not hasattr(_socket, "MSG_DONTWAIT"):
        return
    begin, add = WriterThread.__init__, WriterThread.add_command

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self._cmd_queue = Outbox()

    def add_command(self: Any, cmd: Any) -> None:
        outbox = self._cmd_queue
        if type(outbox) is not Outbox:  # it was there before us, with messages that wait
            add(self, cmd)
        elif cmd is not NULL_NET_COMMAND and not self._kill_received:
            if outbox.lock.acquire(False):
                try:
                    if send_now(self, outbox, cmd):
                        return
                finally:
                    outbox.lock.release()
            outbox.put(cmd)

    # A thread that is halted in here would keep the lock: they are hidden from steps and breakpoints.
    pydevd_parts.hide_functions(add_command, send_now, framed_message)
    pydevd_parts.hide_functions(Outbox.put, Outbox.wake_writer, Outbox.get, Outbox.take_news)
    pydevd_parts.hide_functions(Waiting.send, Waiting.__init__)
    WriterThread.__init__, WriterThread.add_command = __init__, add_command


def send_now(writer: Any, outbox: Outbox, command: Any) -> bool:
    """Send a message, or begin to; tell whether that was possible."""
    told = command.as_dict
    is_special = told is None or command._after_send or writer.py_db.dap_messages_listeners
    if is_special or told.get("event") == NEWS:
        return False
    if outbox.waiting or outbox.rest or not isinstance(writer.sock, _socket.socket):
        return False
    message = framed_message(command._as_bytes)
    try:
        sent = writer.sock.send(message, _HOW)
    except OSError:  # it is full, or the runner has gone, which the thread of the writer notices
        return False
    if sent < len(message):
        outbox.rest = message[sent:]
        outbox.wake_writer()
    return True


def send_news(py_db: Any, text: bytes) -> bool:
    """Leave news to the thread of the writer; tell whether that was possible."""
    writer = py_db.writer
    if type(writer._cmd_queue) is not Outbox or writer._kill_received or py_db.dap_messages_listeners:
        return False
    writer._cmd_queue.put(framed_message(text))
    return True
