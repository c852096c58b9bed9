"""Command lines: which are Python programs, and what of them is the interpreter's and what the program's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from opencode_debugger.debuggers.python.inside.processes import command_lines

PYTHON = sys.executable


def read(*argv: str) -> command_lines.Command:
    return command_lines.read_command([argv[0]], argv)


@pytest.mark.parametrize(
    ("argv", "options", "kind", "target", "args"),
    [
        (["a.py"], [], "file", "a.py", []),
        (["-u", "a.py", "-c", "x"], ["-u"], "file", "a.py", ["-c", "x"]),
        (["-W", "error", "-Xdev", "-X", "utf8", "a.py"], ["-W", "error", "-Xdev", "-X", "utf8"], "file", "a.py", []),
        (["--check-hash-based-pycs", "always", "a.py"], ["--check-hash-based-pycs", "always"], "file", "a.py", []),
        (["-m", "pkg.mod", "x"], [], "module", "pkg.mod", ["x"]),
        (["-Bsm", "pkg", "-x"], ["-Bs"], "module", "pkg", ["-x"]),
        (["-mpkg"], [], "module", "pkg", []),
        (["-c", "print(1)", "-m"], [], "code", "print(1)", ["-m"]),
        (["-Ic", ""], ["-I"], "code", "", []),
        (["-cprint(1)"], [], "code", "print(1)", []),
    ],
)
def test_options_program_and_arguments_are_told_apart(
    argv: list[str], options: list[str], kind: str, target: str, args: list[str]
) -> None:
    assert read(PYTHON, *argv).program == command_lines.Program(PYTHON, options, kind, target, args)


@pytest.mark.parametrize(
    ("argv", "why_not"),
    [
        ([PYTHON], "it reads its program from its standard input"),
        ([PYTHON, "-i", "-"], "it reads its program from its standard input"),
        ([PYTHON, "-V"], "it runs no program"),
        ([PYTHON, "--help"], "it runs no program"),
        ([PYTHON, "-c"], "it runs no program"),
        ([PYTHON, "-c", "from multiprocessing.resource_tracker import main;main(3)"], "helper of multiprocessing"),
        (["/bin/sh", "-c", "python3 x.py"], "it is a shell"),
        (["/bin/ls"], "it is not a Python program"),
        (["/there/is/no/python3", "x.py"], "it is not a Python program"),
    ],
)
def test_what_cannot_be_debugged_says_why(argv: list[str], why_not: str) -> None:
    command = read(*argv)
    assert command.program is None
    assert why_not in command.why_not


def test_a_link_to_python_by_another_name_is_python(tmp_path: Path) -> None:
    link = tmp_path / "interpreter"
    link.symlink_to(os.path.realpath(PYTHON))
    assert read(str(link), "a.py").program is not None


@pytest.mark.parametrize(
    ("line", "options"), [(f"#!{PYTHON}", []), (f"#! {PYTHON} -sE", ["-sE"]), ("#!/usr/bin/env python3", [])]
)
def test_a_script_that_names_python_is_a_python_program(tmp_path: Path, line: str, options: list[str]) -> None:
    script = tmp_path / "tool"
    script.write_text(f"{line}\nprint(1)\n")
    script.chmod(0o755)
    program = read(str(script), "x").program
    assert program is not None
    assert (program.options, program.kind, program.target, program.args) == (options, "file", str(script), ["x"])


@pytest.mark.parametrize("content", [b"#!/bin/sh\n", b"\x7fELF", b"", b"#!\n"])
def test_other_scripts_are_not(tmp_path: Path, content: bytes) -> None:
    script = tmp_path / "tool"
    script.write_bytes(content)
    script.chmod(0o755)
    assert read(str(script)).program is None


def test_words_that_are_no_text_stay_what_they_are() -> None:
    command = command_lines.read_command([os.fsencode(PYTHON)], [os.fsencode(PYTHON), b"\xff.py", b"\xfe"])
    assert command.program is not None
    assert (os.fsencode(command.program.target), os.fsencode(command.program.args[0])) == (b"\xff.py", b"\xfe")
