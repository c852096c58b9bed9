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
from typing import Any

from .lines import Lines, Malformed, TooLong, decode, encode
from .messages import check_event, command

LONGEST = 64 * 1024 * 1024
SHOWN = 80

Event = dict[str, Any]


class Silence(Exception):
    """What was waited for has not come, in one line."""


class Driven:
    """One debugger process. Events that nobody waited for stay to be looked at."""

    def __init__(self, argv: list[str], patience: float) -> None:
        self._patience = patience
        self.strange: list[str] = []
        """lines that are no events"""
        self.problems: list[str] = []
        """what is wrong with events, held against the document"""
        self._said: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._heard: dict[str, Event] = {}
        self._taken: list[Event] = []
        self.has_closed = False
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        lines = Lines(LONGEST)
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(self._process.stdout.fileno(), 65536):
                for line in lines.feed(data):
                    self._hear(line)
        if rest := lines.rest():
            self._hear(rest)
        self._said.put(None)

    def _hear(self, line: bytes | TooLong) -> None:
        try:
            event = decode(line) if isinstance(line, bytes) else None
        except Malformed:
            event = None
        if not isinstance(event, dict) or event.get("type") != "event" or not isinstance(event.get("data"), dict):
            text = line if isinstance(line, bytes) else b"(a very long line)"
            self.strange.append(text.decode("utf-8", "replace")[:SHOWN])
            return
        problem = check_event(event, extensions=False)
        if problem is not None:
            self.problems.append(f"{event.get('event')}: {problem}")
        self._heard[str(event.get("event"))] = event
        self._said.put(event)

    def last(self, name: str) -> Event | None:
        """Of all that came, looked at or not."""
        return self._heard.get(name)

    def send(self, name: str, /, **params: Any) -> None:
        self.write(encode(command(name, **params)))

    def write(self, data: bytes) -> None:
        """Ends in time also if the other side does not read."""
        assert self._process.stdin is not None
        descriptor, rest = self._process.stdin.fileno(), memoryview(data)
        deadline = time.monotonic() + self._patience
        while rest:
            if not select.select([], [descriptor], [], max(0.0, deadline - time.monotonic()))[1]:
                raise Silence(f"it has not read its stdin for {self._patience:g} s")
            try:
                rest = rest[os.write(descriptor, rest) :]
            except OSError:
                raise Silence("it has ended") from None

    def close_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def next(self, *names: str, patience: float | None = None) -> Event:
        """The next of these events, or of all; others in between are passed over."""
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

    def taken(self, name: str) -> list[Event]:
        """Those of that name that `next` and `until` have come to since the last call, waited for or passed over."""
        taken, self._taken = self._taken, []
        return [event for event in taken if event["event"] == name]

    def until(self, *names: str) -> list[Event]:
        """All events up to one of these."""
        found = [self.next()]
        while found[-1]["event"] not in names:
            found.append(self.next())
        return found

    def exit_code(self) -> int | None:
        """Once it has ended; none if it does not."""
        try:
            return self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Whatever it is doing."""
        self.close_input()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(min(2.0, self._patience))
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        # The number of a descriptor that is closed while somebody reads from it may be the next debugger's.
        self._listener.join(min(2.0, self._patience))
        assert self._process.stdout is not None
        if not self._listener.is_alive():  # else something that it started still has it
            self._process.stdout.close()
