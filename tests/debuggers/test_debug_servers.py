"""Debug servers have no port, not for a moment: whoever came first would have the program, and what its user may do."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import pytest
from native import WAYS, Builder
from relays import Api, Relay, refusal
from targets import Target, attach
from waiting import wait_until

from opencode_debugger.debuggers.handed_over.server_lines import private_terminal
from opencode_debugger.debuggers.native.debugger_process import ADMITTING, Doorway

LISTEN = "0A"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
PAUSE = 0.002
"""Seconds between two looks, which leave some of the machine to those who are looked at."""
LOOKS = 20
"""How often it is looked whose a socket is: the kernel's lists of children are not exact."""
NOBODY = 65534


def below(pid: int) -> Iterator[int]:
    """The processes that one has started, and theirs."""
    for thread in entries(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                yield int(child)
                yield from below(int(child))


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return f"process {pid}"


def held_by(pid: int) -> set[str]:
    """What its descriptors lead to."""
    found = set()
    for fd in entries(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


def entries(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(folder)
    return []


def listeners() -> set[str]:
    """The sockets on this machine that listen on a port, by inode. The kernel lists them before all others."""
    found = set()
    for table in TABLES:
        with open(table) as rows:
            next(rows)
            for row in takewhile(lambda row: row.split()[3] == LISTEN, rows):
                found.add(row.split()[9])
    return found


class PortWatch:
    """Looks all the time which of the processes below one listen on a port; those of other tests are no matter."""

    def __init__(self, pid: int) -> None:
        self.found: set[str] = set()
        self._pid = pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> PortWatch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        looks = dict.fromkeys(listeners(), LOOKS)
        while not self._is_over.wait(PAUSE):
            new = {inode for inode in listeners() if looks.get(inode, 0) < LOOKS}
            looks |= {inode: looks.get(inode, 0) + 1 for inode in new}
            for pid in below(self._pid) if new else ():
                # A child that is only being started still has all that its parent has, the tunnel's port included.
                if {f"socket:[{inode}]" for inode in new} & (held_by(pid) - held_by(self._pid)):
                    self.found.add(name_of(pid))


LISTENS = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)):
    sys.stdin.read()
"""


def test_a_port_that_is_open_until_the_next_look_is_seen() -> None:
    command = [sys.executable, "-I", "-S", "-c", LISTENS]
    with PortWatch(os.getpid()) as watch, subprocess.Popen(command, stdin=subprocess.PIPE) as listens:
        try:
            wait_until(lambda: watch.found)
        finally:
            listens.communicate()


def ignored(pid: int) -> set[int]:
    """Those of the signals that Python ignores which are ignored by what it runs."""
    found = re.search(r"^SigIgn:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return {number for number in (signal.SIGPIPE, signal.SIGXFSZ) if int(found[1], 16) >> (number - 1) & 1}


LAUNCHES = [*WAYS, "tunnel_only gdbserver", "tunnel_only lldb-server"]


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.wide if way == "gdb" else []) for way in LAUNCHES]
)  # gdb alone has no server
def test_no_process_of_a_launch_listens_on_a_port(relay: Relay, api: Api, build: Builder, way: str) -> None:
    name = way.removeprefix("tunnel_only ")
    options: dict[str, Any] = {**WAYS[name], "tunnel_only": way != name}
    slow = build("slow")
    with api.session() as session, PortWatch(relay.runner_of(session).pid) as watch:
        if way == name:
            session.break_at(slow.source, "count")
            stop = session.launch(program=str(slow.program), **options)
            assert stop["stop_reason"] == "breakpoint"
            assert sorted(os.listdir(f"/proc/{stop['pid']}/fd")) == ["0", "1", "2"]
            assert ignored(stop["pid"]) == ({signal.SIGPIPE} if name.startswith("lldb") else set())
            started = psutil.Process(relay.runner_of(session).pid).children(recursive=True)
            debuggers = [each.pid for each in started if each.name().startswith("lldb-dap")]
            assert bool(debuggers) == name.startswith("lldb")
            # Else it would end when it writes to a server that hangs up.
            assert all(signal.SIGPIPE in ignored(debugger) for debugger in debuggers)
            assert session.step()["stop_reason"] == "step"
            assert session.post("/restart", {"wait": 60})["stop_reason"] == "breakpoint"
        else:
            session.post("/launch", {"program": str(slow.program), "wait": 60, **options})
        assert session.get()["debugger"]["adapter"] == name
        session.post("/terminate")
    assert watch.found == set()


@pytest.mark.parametrize("adapter", [pytest.param("gdb", marks=pytest.mark.wide), "lldb"])
def test_no_process_of_an_attach_listens_on_a_port(relay: Relay, api: Api, build: Builder, adapter: str) -> None:
    target = Target([str(build("slow").program)])
    try:
        assert target.says().startswith("ready")
        with api.session() as session, PortWatch(relay.runner_of(session).pid) as watch:
            attach(session, target, adapter=adapter)
            session.post("/detach")
        assert watch.found == set() and target.is_alive
    finally:
        target.end()


COME_IN = """
import os, socket, sys
os.setresuid(*[int(sys.argv[2])] * 3)
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except OSError as error:
    sys.exit(type(error).__name__)
"""


def came_in(door: Doorway, user: int) -> str:
    """What kept a process of that user from coming in."""
    command = [sys.executable, "-I", "-S", "-c", COME_IN, door.name, str(user)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_only_one_process_of_the_same_user_comes_in_by_a_doorway() -> None:
    door = Doorway()
    try:
        assert not os.path.exists(door.listener.getsockname()) and stat.S_ISSOCK(os.stat(door.name).st_mode)
        if os.geteuid() == 0:
            assert came_in(door, NOBODY) == "PermissionError\n"
        with door.listener as listener:
            server = subprocess.Popen([*ADMITTING, "/bin/cat"], stdin=listener, stdout=listener)
        with server, socket.socket(socket.AF_UNIX) as line:
            line.connect(door.name)
            line.sendall(b"hello")
            assert line.recv(5) == b"hello"
            assert came_in(door, os.geteuid()) == "ConnectionRefusedError\n"
    finally:
        door.close()


def test_no_group_may_write_to_the_terminal_of_a_debug_server() -> None:
    master, slave = private_terminal()
    try:
        assert stat.S_IMODE(os.stat(os.ttyname(slave)).st_mode) == 0o600
    finally:
        os.close(master)
        os.close(slave)


def test_a_program_that_a_debug_server_cannot_start_is_told_with_its_words(api: Api, tmp_path: Path) -> None:
    source, lost = tmp_path / "lost.c", tmp_path / "lost"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-o", lost, source, "-Wl,--dynamic-linker=/no/such/loader"], check=True)
    with api.session() as session:
        error = refusal(500, "LAUNCH_FAILED", session.launch, program=str(lost), debugger="gdbserver")
        assert "gdbserver did not start the program" in error.message
        assert "lost: not found" in error.details["output"]
        refusal(500, "LAUNCH_FAILED", session.launch, program=str(lost), debugger="lldb-server")
        assert session.get("/status")["status"] == "created"
