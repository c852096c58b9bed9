"""Tells what a command line starts: a Python program that can be debugged, or something else."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

PYTHON = re.compile(r"python(\d+(\.\d+)?)?[a-z]?(-dbg)?$")
SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "fish"})
A_SHELL = "it is a shell"
NO_PYTHON = "it is not a Python program"
HELPERS = ("from multiprocessing.resource_tracker import ", "from multiprocessing.semaphore_tracker import ")
"""Code of processes that multiprocessing keeps for itself; nobody wants to see them stop."""
SHEBANG_BYTES = 4096
"""bytes of a script in which it names its interpreter"""
LONG_FORM = re.compile(rb"#!/bin/sh\n'{3}exec' (.+) \"\$0\" \"\$@\"\n")
"""The way installers name a Python whose path is too long for the first line, or has a space."""


class Program(NamedTuple):
    """A Python program, as the launcher starts it."""

    interpreter: str
    options: List[str]
    kind: str
    """file, module or code"""
    target: str
    args: List[str]


class Command(NamedTuple):
    executable: str
    is_there: bool
    argv: List[str]
    program: Optional[Program]
    why_not: str
    """The reason why it cannot be debugged, if it cannot."""


def read_command(executables: Sequence[Any], argv: Sequence[Any], search: bool = False) -> Command:
    """Return what is started: the first of the executables that is there, as `subprocess` looks for them."""
    words = [os.fsdecode(word) for word in argv]
    executable = _first_executable(executables, search)
    program, why_not = _find_program(executable, words)
    return Command(executable, os.access(executable, os.X_OK), words, program, why_not)


def _first_executable(executables: Sequence[Any], search: bool, folders: Optional[Sequence[str]] = None) -> str:
    names = [os.fsdecode(name) for name in executables]
    if search and os.sep not in names[0]:
        names = [os.path.join(folder, names[0]) for folder in folders or os.get_exec_path()]
    return next((name for name in names if os.path.isfile(name) and os.access(name, os.X_OK)), names[0])


def _find_program(executable: str, argv: List[str]) -> Tuple[Optional[Program], str]:
    if not os.access(executable, os.X_OK):
        return None, NO_PYTHON
    if is_python(executable):
        return _split_command(executable, argv)
    if os.path.basename(executable) in SHELLS:
        return None, A_SHELL
    interpreter, options = script_interpreter(executable)
    if not is_python(interpreter):
        return None, NO_PYTHON
    return Program(interpreter, options, "file", executable, argv[1:]), ""


def is_python(path: str) -> bool:
    """Judge by the name of the file, or of what it links to."""
    if not path:
        return False
    real = os.path.realpath(path)
    names = os.path.basename(path), os.path.basename(real)
    return any(map(PYTHON.match, names)) or real == os.path.realpath(sys.executable or "")


def script_interpreter(path: str, folders: Optional[Sequence[str]] = None) -> Tuple[str, List[str]]:
    """Return what a script says it is run by, and with which options; nothing for what is no script.

    `folders` are those in which `env` looks, if not those of PATH."""
    with contextlib.suppress(OSError, ValueError):  # there is none, or has quotes that do not end
        with open(path, "rb") as file:
            start = file.read(SHEBANG_BYTES)
        if start.startswith(b"#!"):
            return _named_interpreter(start, folders)
    return "", []


def _named_interpreter(start: bytes, folders: Optional[Sequence[str]]) -> Tuple[str, List[str]]:
    long_form = LONG_FORM.match(start)
    if long_form:
        words = shlex.split(os.fsdecode(long_form.group(1)))
        return words[0], words[1:]
    interpreter, _, option = os.fsdecode(start[2:].split(b"\n", 1)[0]).strip().partition(" ")
    option = option.strip()
    if os.path.basename(interpreter) != "env":
        return interpreter, [option] if option else []
    words = shlex.split(option[2:]) if option.startswith("-S") else [option]
    if not words or words[0].startswith("-") or "=" in words[0] or " " in words[0]:
        return interpreter, [option] if option else []
    return _first_executable([words[0]], True, folders), words[1:]


def _split_command(interpreter: str, argv: List[str]) -> Tuple[Optional[Program], str]:
    """Split a command line of Python: its own options, then what it runs, then the arguments of that."""
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "-":
            break
        if not word.startswith("-"):
            return Program(interpreter, argv[1:index], "file", word, argv[index + 1 :]), ""
        if word == "--check-hash-based-pycs":
            index += 2
            continue
        if word.startswith("--"):
            return None, "it runs no program"
        for position, letter in enumerate(word[1:], 1):
            value, follows = word[position + 1 :], argv[index + 1 : index + 2]
            if letter in "cm":
                before = argv[1:index] + ([word[:position]] if position > 1 else [])
                rest = argv[index + 1 :] if value else argv[index + 2 :]
                return _named_program(interpreter, before, letter, [value] if value else follows, rest)
            if letter in "hV?":
                return None, "it runs no program"
            if letter in "WX":
                index += 0 if value else 1
                break
        index += 1
    return None, "it reads its program from its standard input"


def _named_program(
    interpreter: str, options: List[str], letter: str, values: List[str], rest: List[str]
) -> Tuple[Optional[Program], str]:
    if not values:
        return None, "it runs no program"
    (value,) = values
    if letter == "c" and value.startswith(HELPERS):
        return None, "it is a helper of multiprocessing"
    return Program(interpreter, options, "code" if letter == "c" else "module", value, rest), ""
