"""Repairs that pydevd wakes a thread for each message: it is sent at once, by the thread that has it.

To wake the thread of the writer, and to give it the interpreter, takes longer than to send. That thread sends what does
not fit into the socket, and what comes behind that, so that no other thread ever waits for whoever reads.
"""

from __future__ import annotations

import _socket
from _thread import allocate_lock
from typing import Any, Optional

from .pydevd_output import framed_message

_HOW = getattr(_socket, "MSG_DONTWAIT", 0) | getattr(_socket, "MSG_NOSIGNAL", 0)


class _Waiting:
    """A message, or the rest of one, that the writer's thread sends."""

    def __init__(self, command: Any, writer: Any, rest: Optional[bytes]) -> None:
        self.id, self.as_dict = command.id, command.as_dict
        self._command, self._writer, self._rest = command, writer, rest

    def send(self, sock: Any) -> None:
        with self._writer.ocdb_sending:
            if self._rest is None:
                self._command.send(sock)
            else:
                sock.sendall(self._rest)
            self._writer._cmd_queue.task_done()


def install() -> None:
    from _pydevd_bundle.pydevd_comm import WriterThread
    from _pydevd_bundle.pydevd_net_command import NULL_NET_COMMAND

    if not hasattr(_socket, "MSG_DONTWAIT"):
        return
    begin, add = WriterThread.__init__, WriterThread.add_command

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self.ocdb_sending = allocate_lock()

    def add_command(self: Any, cmd: Any) -> None:
        lock = getattr(self, "ocdb_sending", None)
        if lock is None:  # it was there before us, with messages that wait
            add(self, cmd)
        elif cmd is not NULL_NET_COMMAND and not self._kill_received:
            rest = None
            if lock.acquire(False):
                try:
                    rest = _send_now(self, cmd)
                    if rest == b"":
                        return
                    self._cmd_queue.put(_Waiting(cmd, self, rest), False)  # before anybody else sends
                finally:
                    lock.release()
            else:
                self._cmd_queue.put(_Waiting(cmd, self, None), False)

    WriterThread.__init__, WriterThread.add_command = __init__, add_command


def _send_now(writer: Any, command: Any) -> Optional[bytes]:
    """Return what is left of a message; None if it has to be sent whole, and later."""
    is_special = command.as_dict is None or command._after_send or writer.py_db.dap_messages_listeners
    if is_special or writer._cmd_queue.unfinished_tasks or not isinstance(writer.sock, _socket.socket):
        return None
    message = framed_message(command)
    try:
        return message[writer.sock.send(message, _HOW) :]
    except OSError:  # it is full, or the runner has gone, which that thread notices
        return None
