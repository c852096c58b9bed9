"""Repairs that pydevd wakes a thread for each message: it is sent at once, by the thread that has it.

To wake the thread of the writer, and to give it the interpreter, takes longer than to send. That thread sends what does
not fit into the socket, and what comes behind that, so that no other thread ever waits for whoever reads; and what we
tell of a program that runs on, such as log messages: there may be many, and nobody waits for one.
"""

from __future__ import annotations

import _socket
from _thread import allocate_lock
from typing import Any

from . import pydevd_parts
from .pydevd_output import framed_message

_HOW = getattr(_socket, "MSG_DONTWAIT", 0) | getattr(_socket, "MSG_NOSIGNAL", 0)

NEWS = "ocdb"
"""The event with which we tell what nobody has asked for."""


class Sending:
    """What a writer has begun to send."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        """held by whoever sends; who does not get it leaves a message to the thread of the writer"""
        self.rest = b""
        """of a message that did not fit into the socket: it comes before all that waits"""


class Waiting:
    """A message that the thread of the writer sends; without one, only the rest of what was begun."""

    def __init__(self, writer: Any, command: Any) -> None:
        self.id, self.as_dict = getattr(command, "id", None), getattr(command, "as_dict", None)
        self._writer, self._command = writer, command

    def send(self, sock: Any) -> None:
        sending = self._writer.ocdb_sending
        with sending.lock:
            rest, sending.rest = sending.rest, b""
            if rest:
                sock.sendall(rest)
            if self._command is not None:
                self._command.send(sock)
            self._writer._cmd_queue.task_done()


def install() -> None:
    from _pydevd_bundle.pydevd_comm import WriterThread
    from _pydevd_bundle.pydevd_net_command import NULL_NET_COMMAND

    if not hasattr(_socket, "MSG_DONTWAIT"):
        return
    begin, add = WriterThread.__init__, WriterThread.add_command

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self.ocdb_sending = Sending()

    def add_command(self: Any, cmd: Any) -> None:
        sending = getattr(self, "ocdb_sending", None)
        if sending is None:  # it was there before us, with messages that wait
            add(self, cmd)
        elif cmd is not NULL_NET_COMMAND and not self._kill_received:
            if sending.lock.acquire(False):
                try:
                    if send_now(self, sending, cmd):
                        return
                finally:
                    sending.lock.release()
            self._cmd_queue.put(Waiting(self, cmd), False)

    # A thread that is halted in here would keep the lock: they are hidden from steps and breakpoints.
    pydevd_parts.hide_functions(add_command, send_now, Waiting.send, Waiting.__init__, framed_message)
    WriterThread.__init__, WriterThread.add_command = __init__, add_command


def send_now(writer: Any, sending: Sending, command: Any) -> bool:
    """Send a message, or begin to; tell whether that was possible."""
    told = command.as_dict
    is_special = told is None or command._after_send or writer.py_db.dap_messages_listeners
    if is_special or told.get("event") == NEWS:
        return False
    if writer._cmd_queue.unfinished_tasks or not isinstance(writer.sock, _socket.socket):
        return False
    message = framed_message(command)
    try:
        sent = writer.sock.send(message, _HOW)
    except OSError:  # it is full, or the runner has gone, which the thread of the writer notices
        return False
    if sent < len(message):
        sending.rest = message[sent:]
        writer._cmd_queue.put(Waiting(writer, None), False)
    return True
