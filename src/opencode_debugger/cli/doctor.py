"""`ocdb doctor`: tries what debugging needs on this machine, and says what is missing and how to get it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from .. import __version__
from ..agents.conversation import run_now
from ..answers.server import Info
from ..client.address import RENEWAL, Problem
from ..debuggers import trusted_gdb
from ..debuggers.python.attach.attach_target import PTRACE, has_ptrace_capability, ptrace_scope
from ..debuggers.python.interpreters import project_environment
from ..debuggers.python.interpreters.virtual_environments import interpreter_in
from ..errors import RelayError
from ..files import NotPrivate, check_private_folder, find_executable
from .command_table import Command
from .exit_codes import DONE, FAILED
from .relay_access import RelayOptions

OLDEST_PYTHON = (3, 8)
VERSIONS = range(OLDEST_PYTHON[1], 20)
ASK_VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
PATIENCE = 10


class Finding(NamedTuple):
    name: str
    state: str
    """ok, missing or broken"""
    text: str
    remedy: str = ""
    is_needed: bool = False
    """without it nothing can be debugged"""


def examine(command: Command, given: dict[str, Any]) -> int:
    findings = list(_find(RelayOptions.take_from(given)))
    if given.get("json"):
        print(msgspec.json.encode([each._asdict() for each in findings]).decode())
    else:
        print("\n".join(_show(each) for each in findings))
    return FAILED if any(each.is_needed and each.state != "ok" for each in findings) else DONE


def _show(finding: Finding) -> str:
    line = f"{finding.state:<8}{finding.name}: {finding.text}"
    return f"{line}\n        → {finding.remedy}" if finding.remedy else line


def _find(options: RelayOptions) -> Iterator[Finding]:
    yield Finding("ocdb", "ok", f"{__version__} on Python {sys.version.split()[0]}, {sys.executable}")
    yield _examine_folder(options.folder)
    answered = list(_examine_relay(options))
    yield from answered
    yield _examine_gdbserver()
    yield _examine_attaching(next((each for each in answered if each.name == "gdb"), None))
    yield from _examine_pythons()
    yield _examine_project(os.getcwd())


def _examine_folder(folder: Path) -> Finding:
    try:
        check_private_folder(folder)
    except FileNotFoundError:
        return Finding("data folder", "ok", f"{folder} is made when a relay starts")
    except (NotPrivate, OSError) as error:
        return Finding("data folder", "broken", str(error), is_needed=True)
    if not os.access(folder, os.W_OK):
        return Finding("data folder", "broken", f"{folder} cannot be written to", f"chmod u+w {folder}", True)
    return Finding("data folder", "ok", str(folder))


def _examine_relay(options: RelayOptions) -> Iterator[Finding]:
    """Ask the relay, which is started if none runs: that it can start is part of what is to be found out."""
    try:
        asker = options.asker()
        info = msgspec.json.decode(run_now(asker.ask("server_info", {})), type=Info)
    except Problem as problem:
        yield Finding("relay", "broken", str(problem), is_needed=True)
        return
    is_same = info.version == __version__
    remedy = "" if is_same else f"If that matters, {RENEWAL}"
    yield Finding("relay", "ok", f"{info.version} answers at {asker.address.shown_url}", remedy, True)
    for name, found in info.debuggers.items():
        told = msgspec.to_builtins(found)
        text = " ".join(told[key] for key in ("version", "path", "reason") if key in told)
        state = "ok" if found.available else "missing"
        yield Finding(name, state, text, told.get("suggestion", ""), is_needed=name == "debugpy")


def _examine_gdbserver() -> Finding:
    try:
        return Finding("gdbserver", "ok", trusted_gdb.find_server(None))
    except RelayError as error:
        return Finding("gdbserver", "missing", error.message, error.details["suggestion"])


def _examine_attaching(gdb: Finding | None) -> Finding:
    """Say whether debugpy can be brought into a program that runs, which is done with gdb."""
    scope = ptrace_scope()
    if scope > 2 or (scope > 0 and not has_ptrace_capability()):
        return Finding("attaching by process id", "missing", f"kernel.yama.ptrace_scope is {scope}", PTRACE)
    if gdb is not None and gdb.state != "ok":
        return Finding("attaching by process id", "missing", "the system allows it, but it needs gdb", gdb.remedy)
    return Finding("attaching by process id", "ok", "the system allows it")


def _examine_pythons() -> Iterator[Finding]:
    found = [path for version in ("3", *(f"3.{minor}" for minor in VERSIONS))
        if (path := find_executable(f"python{version}"))]
    seen: set[str] = set()
    for path in found:
        version = _ask_version(path)
        if version is None or version in seen:  # a shim for a version that is not there, or the same again
            continue
        seen.add(version)
        is_old = tuple(map(int, version.split(".")[:2])) < OLDEST_PYTHON
        yield Finding(f"Python {version}", "missing" if is_old else "ok", path,
            "Programs need Python 3.8 or newer" if is_old else "")
    if not seen:
        yield Finding("Python", "missing", "there is no python3 on PATH", "Give programs an interpreter with --python")


def _ask_version(path: str) -> str | None:
    try:
        done = subprocess.run(
            [path, "-I", "-c", ASK_VERSION], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _examine_project(folder: str) -> Finding:
    found = project_environment.find_all(folder)
    if not found:
        return Finding("project environment", "ok", f"none in or above {folder}: programs run on python3")
    python = interpreter_in(found[0].path)
    version = _ask_version(python) if python else None
    if version is None:
        remedy = "Make it again, or give programs an interpreter with --python"
        return Finding("project environment", "broken", f"{found[0].path} has no Python that runs", remedy)
    return Finding("project environment", "ok", f"Python {version}, {found[0].why}")
