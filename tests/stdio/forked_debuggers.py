"""EZ debuggers that start quickly: copies of a process that has loaded what they need.

Loading takes most of a debugger's start. For how the command itself is started and ends, tests use `ez_client.Ide`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from io import FileIO
from typing import Any


class ForkedDebugger:
    """A copy, with what tests use of `subprocess.Popen`."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        (own_input, given), (output, own_output), (errors, own_errors) = os.pipe(), os.pipe(), os.pipe()
        self.stdin = FileIO(given, "wb")
        self.stdout = FileIO(output, "rb")
        self.stderr = FileIO(errors, "rb")
        streams = [own_input, own_output, own_errors]
        self.pid = FORKS.ask({"argv": argv, "env": env}, streams)
        self.returncode: int | None = None
        self._end = os.pidfd_open(self.pid)
        for stream in streams:
            os.close(stream)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], 0)[0]:
            self.returncode = FORKS.ask({"collect": self.pid})
            os.close(self._end)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not select.select([self._end], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("debugserver", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class DebuggerForks:
    """The process that copies are made of: begun with the first, ended by `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None

    def ask(self, request: dict[str, Any], streams: list[int] | None = None) -> int:
        if self._line is None:
            self._line, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            command = [sys.executable, "-P", __file__, str(its_end.fileno())]
            self._process = subprocess.Popen(command, env=request["env"], pass_fds=[its_end.fileno()])
            its_end.close()
        socket.send_fds(self._line, [json.dumps(request).encode()], streams or [])
        return int(self._line.recv(100))

    def close(self) -> None:
        if self._process is not None and self._line is not None:
            self._line.close()
            self._process.wait(60)
            self._process = self._line = None


FORKS = DebuggerForks()


def answer_requests(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Do what tests ask for; returns in a copy, with what it is to become."""
    while True:
        data, streams, _, _ = socket.recv_fds(line, 1 << 17, 3)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if "collect" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["collect"], 0)[1])
        elif (answer := os.fork()) == 0:
            return request, streams
        for stream in streams:
            os.close(stream)
        line.send(str(answer).encode())


def become_debugger(argv: list[str], env: dict[str, str], streams: list[int]) -> None:
    for wanted, stream in enumerate(streams):
        os.dup2(stream, wanted)
        os.close(stream)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["opencode-debugger", *argv]
    main()


if __name__ == "__main__":
    import opencode_debugger.cli.serving.debugserver
    import opencode_debugger.doors.stdio.stdio_server  # noqa: F401
    from opencode_debugger.__main__ import main

    with socket.socket(fileno=int(sys.argv[1])) as line:
        request, streams = answer_requests(line)
    become_debugger(**request, streams=streams)
