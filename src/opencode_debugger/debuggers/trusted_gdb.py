"""Finds the gdb that can be trusted with a running program, and lets it do one thing there."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import RelayError
from ..files import find_executable, unnamed_file
from .process.program_process import MARKER, NO_SESSION, OWN

OLDEST = 14
"""gdb 13 has killed programs that it attached to."""
PACKAGE = "gdb_for_pwndbg"
HOW_TO = 'Install one with: pip install "opencode-debugger[native]", or name one in OPENCODE_DEBUG_GDB_PATH'

Ladder = tuple[tuple[signal.Signals, float], ...]

_VERSION = re.compile(r"^GNU gdb .*?(\d+)\.\d+\S*$", re.MULTILINE)
_ASKING = 10.0
_WORKING = 60.0
_KILL = ((signal.SIGKILL, 10.0),)
_INTERRUPT = ((signal.SIGINT, 30.0), (signal.SIGINT, 30.0), *_KILL)
"""How a gdb is ended that is stuck. Interrupted, it puts everything back and lets the program go; ended in any other
way while the program makes a call for it, SIGTERM included, it would leave the program to crash."""


@dataclass(frozen=True)
class Gdb:
    command: tuple[str, ...]
    version: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    python: dict[str, str] = field(default_factory=dict)
    """what its own Python needs, without which it does not speak DAP"""


_known: dict[tuple[str, ...], int | None] = {}


def find(setting: str | None) -> Gdb:
    """The one that the settings name, else the package's, else the one on PATH."""
    if setting:
        path = find_executable(os.path.expanduser(setting))
        gdb = _usable(Gdb((path,))) if path is not None else None
        if gdb is None:
            raise _refused(f"gdb_path {setting!r} is not a gdb of version {OLDEST} or newer")
        return gdb
    for gdb in filter(None, map(_usable, _candidates())):
        return gdb
    raise _refused(f"This needs gdb {OLDEST} or newer, and there is none: older ones do harm")


def _candidates() -> list[Gdb]:
    found = []
    import sysconfig  # here, because every runner would carry it

    package = importlib.util.find_spec(PACKAGE)
    if package is not None and package.origin is not None:
        folder = os.path.dirname(package.origin)
        vendor = os.path.join(folder, "_vendor")
        libraries = [sysconfig.get_config_var("LIBDIR"), os.environ.get("LD_LIBRARY_PATH")]
        path = ":".join(library for library in libraries if library)
        data = f"--data-directory={vendor}/share/gdb"
        python = {"PYTHONHOME": sys.base_prefix, "PYTHONPATH": os.path.dirname(folder), "PYTHONNOUSERSITE": "1"}
        found.append(Gdb((f"{vendor}/bin/gdb", data), 0, {"LD_LIBRARY_PATH": path}, python))
    on_path = find_executable("gdb")
    if on_path is not None:
        found.append(Gdb((on_path,)))
    return found


def find_server(setting: str | None) -> str:
    """The gdbserver that belongs to the gdb in use, else the one on PATH."""
    beside = None
    with contextlib.suppress(RelayError):
        beside = os.path.join(os.path.dirname(find(setting).command[0]), "gdbserver")
    found = beside if beside and os.access(beside, os.X_OK) else find_executable("gdbserver")
    if found is None:
        advice = 'Install one: pip install "opencode-debugger[native]" (on Debian or Ubuntu: apt-get install gdbserver)'
        raise RelayError("LAUNCH_FAILED", "There is no gdbserver", status=400, suggestion=advice)
    return found


def _usable(gdb: Gdb) -> Gdb | None:
    if gdb.command not in _known:
        code, said = _run([*gdb.command, "-nx", "--version"], gdb.environment, _ASKING, _KILL)
        found = _VERSION.search(said)
        _known[gdb.command] = int(found[1]) if code == 0 and found else None
    version = _known[gdb.command]
    return replace(gdb, version=version) if version is not None and version >= OLDEST else None


def run_script(gdb: Gdb, script: str, page: bytes) -> tuple[int | None, str]:
    """Run a script in gdb; return its exit code (None if it was stuck) and all that it said. gdb is gone afterwards.

    `{page}` in the script is the name of a file with it. Both are in memory: if we are killed, no file is left.
    """
    with _in_memory(page) as second, _in_memory(script.replace("{page}", _path(second)).encode()) as first:
        command = [*gdb.command, "-nx", "-nh", "-q", "-batch", "--readnever", "-x", _path(first)]
        return _run(command, gdb.environment, _WORKING, _INTERRUPT, (first, second))


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[int]:
    descriptor = os.memfd_create("ocdb")
    try:
        os.write(descriptor, content)
        yield descriptor
    finally:
        os.close(descriptor)


def _path(descriptor: int) -> str:
    """Return the name by which a process that inherits it opens it, from its beginning."""
    return f"/proc/self/fd/{descriptor}"


def _run(
    command: list[str], environment: dict[str, str], seconds: float, ladder: Ladder, passed: tuple[int, ...] = ()
) -> tuple[int | None, str]:
    # Its own Python, if it has one, would otherwise look for modules where ours are.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENCODE_"))}
    # Nobody ends it when its runner was killed: a program that it has in its hands would not survive that.
    env = {**inherited, "LC_ALL": "C", **environment, MARKER: NO_SESSION}
    with unnamed_file() as output:
        ends: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        try:
            process = subprocess.Popen(command, **ends, cwd="/", pass_fds=passed, env=env, start_new_session=True)
        except OSError as error:
            return None, str(error)
        OWN.add(process.pid)
        try:
            code = _wait(process, seconds, ladder)
        finally:
            OWN.discard(process.pid)
        output.seek(0)
        return code, output.read().decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes], seconds: float, ladder: Ladder) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        for number, patience in ladder:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        return None


def _refused(message: str) -> RelayError:
    return RelayError("ATTACH_FAILED", message, suggestion=HOW_TO)
