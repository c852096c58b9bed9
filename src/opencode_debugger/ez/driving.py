"""Drives a debugger that speaks the protocol, or tries to: what it says, when it ends, what else is on its stdout."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import subprocess
import threading
import time
from subprocess import PIPE
from typing import Any, cast

from .lines import LineSplitter, Malformed, TooLong, decode_line, encode_line
from .messages import EventMessage, check_event, command_message


class Silence(Exception):
    """The event that was waited for has not come; says so in one line."""


class DrivenDebugger:
    """One debugger process. Events that nobody waited for stay to be looked at."""

    def __init__(self, argv: list[str], patience: float) -> None:
        self._patience = patience
        self.strange: list[str] = []
        """lines that are no events"""
        self.problems: list[str] = []
        """what is wrong with events, held against the document"""
        self._said: queue.SimpleQueue[EventMessage | None] = queue.SimpleQueue()
        self._heard: dict[str, EventMessage] = {}
        self._taken: list[EventMessage] = []
        self.has_closed = False
        self._process = subprocess.Popen(
            argv, bufsize=0, stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        self._listener = threading.Thread(target=self._listen_to_output, daemon=True)
        self._listener.start()

    def _listen_to_output(self) -> None:
        lines = LineSplitter(64 * 1024 * 1024)
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(self._stdout.fileno(), 65536):
                for line in lines.feed(data):
                    self._hear_line(line)
        if rest := lines.rest():
            self._hear_line(rest)
        self._said.put(None)

    def _hear_line(self, line: bytes | TooLong) -> None:
        try:
            event = decode_line(line) if isinstance(line, bytes) else None
        except Malformed:
            event = None
        if not isinstance(event, dict) or event.get("type") != "event" or not isinstance(event.get("data"), dict):
            text = line if isinstance(line, bytes) else b"(a very long line)"
            self.strange.append(text.decode("utf-8", "replace")[:80])
            return
        problem = check_event(event, extensions=False)
        if problem is not None:
            self.problems.append(f"{event.get('event')}: {problem}")
        self._heard[str(event.get("event"))] = told = cast("EventMessage", event)
        self._said.put(told)

    def last(self, name: str) -> EventMessage | None:
        """Return the last event of all that came, looked at or not."""
        return self._heard.get(name)

    def send(self, name: str, /, **params: Any) -> None:
        self.write(encode_line(command_message(name, **params)))

    def write(self, data: bytes) -> None:
        """Write all of it; end in time also if the other side does not read."""
        descriptor, rest = self._stdin.fileno(), memoryview(data)
        deadline = time.monotonic() + self._patience
        while rest:
            if not select.select([], [descriptor], [], max(0.0, deadline - time.monotonic()))[1]:
                raise Silence(f"it has not read its stdin for {self._patience:g} s")
            try:
                rest = rest[os.write(descriptor, rest) :]
            except OSError:
                raise Silence("it has ended") from None

    def close_input(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()

    def next(self, *names: str, patience: float | None = None) -> EventMessage:
        """Return the next of these events, or of all; others in between are passed over."""
        wanted = " or ".join(names) or "event"
        deadline = time.monotonic() + (self._patience if patience is None else patience)
        while not self.has_closed:
            try:
                event = self._said.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise Silence(f"no {wanted} within {self._patience:g} s") from None
            if event is None:
                self.has_closed = True
                break
            self._taken.append(event)
            if not names or event["event"] in names:
                return event
        raise Silence(f"it closed its stdout instead of sending {wanted}")

    def taken(self, name: str) -> list[EventMessage]:
        """Return those of that name that `next` and `until` came to since the last call, waited for or passed over."""
        taken, self._taken = self._taken, []
        return [event for event in taken if event["event"] == name]

    def until(self, *names: str) -> list[EventMessage]:
        found = [self.next()]
        while found[-1]["event"] not in names:
            found.append(self.next())
        return found

    def exit_code(self) -> int | None:
        """Return it once the debugger has ended; None if it does not."""
        try:
            return self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """End the debugger, whatever it is doing."""
        self.close_input()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(min(2.0, self._patience))
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        # The number of a descriptor that is closed while somebody reads from it may be the next debugger's.
        self._listener.join(min(2.0, self._patience))
        if not self._listener.is_alive():  # else something that it started still has it
            self._stdout.close()
