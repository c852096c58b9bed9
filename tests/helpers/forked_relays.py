"""Relays that start quickly: copies of a process that has loaded what they need.

Loading takes most of a relay's start, and tests start many of their own. What they test is the same, but for how a
relay is started: for that, `Relay` starts the command itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


class ForkedProcess:
    """A copy, with what tests use of `subprocess.Popen`."""

    def __init__(self, forks: RelayForks, pid: int) -> None:
        self._forks = forks
        self.pid = pid
        self.returncode: int | None = None
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], 0)[0]:
            self.returncode = self._forks.ask({"collect": self.pid})
            os.close(self._end)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not select.select([self._end], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("serve", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class RelayForks:
    """The process that copies are made of: begun with the first, ended by `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._one_at_a_time = threading.Lock()

    def start(self, arguments: list[str], env: dict[str, str], log: Path) -> ForkedProcess:
        with self._one_at_a_time:
            if self._process is None:
                command = [sys.executable, "-P", __file__, "-m", "opencode_debugger"]  # as a relay is known by
                self._process = subprocess.Popen(
                    command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
                )
        return ForkedProcess(self, self.ask({"arguments": arguments, "env": env, "log": str(log)}))

    def ask(self, request: dict[str, Any]) -> int:
        with self._one_at_a_time:
            assert self._process is not None and self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            return int(self._process.stdout.readline())

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate(timeout=60)
            self._process = None


RELAY_FORKS = RelayForks()


def answer_requests() -> dict[str, Any]:
    """Do what tests ask for; returns in a copy, with what it is to become."""
    for line in sys.stdin:
        request = json.loads(line)
        if "collect" in request:
            print(os.waitstatus_to_exitcode(os.waitpid(request["collect"], 0)[1]), flush=True)
        elif (pid := os.fork()) == 0:
            return dict(request)
        else:
            print(pid, flush=True)
    os._exit(0)


def become_relay(arguments: list[str], env: dict[str, str], log: str) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    for wanted, stream in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(wanted, stream)
    os.close(nothing)
    os.close(output)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["opencode-debugger", *arguments]
    main()


if __name__ == "__main__":
    import opencode_debugger.cli.dispatch
    import opencode_debugger.cli.serving.main
    import opencode_debugger.cli.serving.serve  # noqa: F401
    from opencode_debugger.__main__ import main

    become_relay(**answer_requests())
