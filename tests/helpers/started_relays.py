"""Relays that clients have started by themselves: found by their data folder, ended, or killed as by a crash."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil
from waiting import runs, wait_until


def relays_of(folder: Path) -> list[psutil.Process]:
    """Those that run for a data folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()
            if "serve" in command and str(folder) in command and runs(process.pid):
                found.append(process)
    return found


def relay_pid(folder: Path) -> int:
    (relay,) = relays_of(folder)
    return relay.pid


def kill_relay(folder: Path) -> int:
    """Kill one that was started here, as a crash would: its runners live on. Its connections end with its last thread,
    before which it is not collected."""
    (relay,) = relays_of(folder)
    relay.kill()
    wait_until(lambda: not psutil.pid_exists(relay.pid))
    return relay.pid


def end_relays(folder: Path) -> None:
    """With their sessions."""
    for relay in relays_of(folder):
        relay.terminate()
    wait_until(lambda: not relays_of(folder))
