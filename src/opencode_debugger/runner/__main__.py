"""`python -m opencode_debugger.runner SESSIONS/sess_--------`: the process from which runners are forked.

What a runner imports takes longer than all else that it does before its program starts. So it is imported once: the
relay writes the folder of a new session to our stdin, and a copy of this process becomes that session's runner.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import logging
import os
import signal
import socket
import sys

from .loop_without_tls import load_uvloop

uvloop = load_uvloop()

import msgspec  # noqa: E402

from ..answers.inspection import Evaluation, FrameVariables, VariableList  # noqa: E402
from ..debuggers.process.program_process import adopt_orphans  # noqa: E402
from ..files import withhold_folder  # noqa: E402
from ..session.session_settings import Config  # noqa: E402
from .paths import LOG, OWN_PATH  # noqa: E402
from .session_server import SessionServer  # noqa: E402

ARGUMENTS_END = 46
"""The field of /proc/PID/stat, counted after the name, that says where the command line ends in memory."""


def main() -> None:
    os.umask(0o077)
    os.environ.pop("PYTHONPATH", None)  # programs inherit what the user has: see `spawn`
    if OWN_PATH in os.environ:
        os.environ["PYTHONPATH"] = os.environ.pop(OWN_PATH)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel collects runners that have ended
    prepare_common_types()
    gc.freeze()  # what is never looked at again stays shared with the copies
    if (folder := asked_for()) is not None:
        become_runner(folder)


def prepare_common_types() -> None:
    """Do once what would take each session some milliseconds: types are taken apart when they are first used."""
    for kind in (Config, Evaluation, FrameVariables, VariableList):
        msgspec.json.Decoder(kind)
    "localhost".encode("idna")  # loads the encoding, which every session's socket needs


def asked_for() -> str | None:
    """Forks for each folder that is asked for; returns it in the copy, and None when the relay has gone."""
    with socket.socket(fileno=os.dup(0)) as relay, relay.makefile("r") as requests:
        for line in requests:
            try:
                pid = os.fork()
            except OSError as error:
                relay.sendall(f"{json.dumps(str(error))}\n".encode())
                continue
            if pid == 0:
                return str(json.loads(line))
            relay.sendall(f"{pid}\n".encode())
    return None


def become_runner(folder: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for wanted, stream in ((null, 0), (log, 1), (log, 2)):
        os.dup2(wanted, stream)
    os.close(null)
    os.close(log)
    show_in_process_list(folder)
    withhold_folder(os.path.dirname(os.path.dirname(folder)))
    adopt_orphans()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    uvloop.run(SessionServer(folder).run())  # a step takes a third less of our time than with the loop of asyncio
    logging.shutdown()
    os._exit(0)  # taking the interpreter apart would copy all memory that is shared


def show_in_process_list(folder: str) -> None:
    """Puts the folder in the place of our last argument, which is as long (Linux)."""
    with contextlib.suppress(OSError), open("/proc/self/stat", "rb") as file:
        end = int(file.read().rpartition(b")")[2].split()[ARGUMENTS_END])
        name, was = os.fsencode(folder), os.fsencode(sys.argv[1])
        if len(name) == len(was) and ctypes.string_at(end - len(was) - 1, len(was)) == was:
            ctypes.memmove(end - len(was) - 1, name, len(name))


if __name__ == "__main__":
    main()
