"""Sends messages by several threads to a reader who comes late: `python message_order.py DEBUGPY_FOLDER INSIDE`.

Runs on every Python from 3.8 on.
"""

import json
import os
import signal
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.path.insert(0, os.path.dirname(sys.argv[2]))
import debugpy.server.api  # noqa: F401
import pydevd
from _pydevd_bundle.pydevd_comm import WriterThread
from _pydevd_bundle.pydevd_constants import HTTP_JSON_PROTOCOL
from _pydevd_bundle.pydevd_defaults import PydevdCustomization
from _pydevd_bundle.pydevd_net_command import NULL_NET_COMMAND, NetCommand
from inside.pydevd_patches import message_sending, pydevd_output, pydevd_parts
from inside.rpc.event_sending import send_event

THREADS, MESSAGES, LONGEST = 4, 400, 30000
PydevdCustomization.DEFAULT_PROTOCOL = HTTP_JSON_PROTOCOL
debugger = pydevd.PyDB(set_as_global=False)
pydevd_output.install()
pydevd_parts.install()
message_sending.install()
pydevd.set_global_debugger(debugger)


def message(sender, number, size):
    return NetCommand(1, 0, {"sender": sender, "number": number, "text": "x" * size}, is_json=True)


def messages_of(sock):
    """Yield each message, by the length that it says."""
    with sock.makefile("rb") as stream:
        for header in iter(stream.readline, b""):
            assert stream.readline() == b"\r\n"
            yield json.loads(stream.read(int(header.split(b":")[1])))


def new_writer():
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return WriterThread(ours, debugger), theirs


alone, theirs = new_writer()
alone.add_command(NULL_NET_COMMAND)
alone.add_command(message("alone", 1, 10))
assert next(messages_of(theirs))["number"] == 1  # though the thread of the writer was never started
assert alone.empty()


class HastySocket(socket.socket):
    """Takes a part of each message, and has another thread send before it says so."""

    def send(self, data, how=0):
        sent = super().send(data[: max(1, len(data) // 2)], how)
        if meanwhile:
            other = threading.Thread(target=writer.add_command, args=(meanwhile.pop(),))
            other.start()
            other.join()
        return sent


ours, theirs = socket.socketpair()
writer = WriterThread(HastySocket(fileno=ours.detach()), debugger)
meanwhile = [message("other", 2, 100)]
writer.add_command(message("first", 1, 100))
writer.start()
received = messages_of(theirs)
assert [next(received)["number"], next(received)["number"]] == [1, 2]  # none comes in the middle of another

writer, theirs = new_writer()


def send_all(sender):
    for number in range(MESSAGES):
        writer.add_command(message(sender, number, number * 7919 % LONGEST))


threads = [threading.Thread(target=send_all, args=(each,)) for each in range(THREADS)]
for each in threads[:2]:
    each.start()
for each in threads[:2]:
    each.join()  # nobody reads yet
writer.start()
for each in threads[2:]:
    each.start()
seen = {sender: [] for sender in range(THREADS)}
received = messages_of(theirs)
for _ in range(THREADS * MESSAGES):
    found = next(received)
    assert found["text"] == "x" * (found["number"] * 7919 % LONGEST)
    seen[found["sender"]].append(found["number"])
assert all(numbers == list(range(MESSAGES)) for numbers in seen.values()), seen
received.close()
theirs.close()

writer, theirs = new_writer()
debugger.writer = writer
signal.signal(signal.SIGALRM, lambda number, frame: send_event("interrupting", {}))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for number in range(MESSAGES * 10):  # half of them before anybody sends or reads
    send_event("log", {"number": number, "text": "ä\udc80" * (number % 100)})
    if number % 7 == 0:
        writer.add_command(message("between", number, 5))
    if number == MESSAGES * 5:
        writer.start()
signal.setitimer(signal.ITIMER_REAL, 0)
received = (found.get("body", found) for found in messages_of(theirs))
wanted = (found for found in received if found.get("kind") != "interrupting")
for number in range(MESSAGES * 10):
    assert next(wanted) == {"kind": "log", "number": number, "text": "ä\udc80" * (number % 100)}
    if number % 7 == 0:
        assert next(wanted)["number"] == number
while not writer.empty():
    pass
theirs.close()
writer.add_command(message("late", 1, 10))  # whoever sends to nobody is not harmed
print("in order")
os._exit(0)
