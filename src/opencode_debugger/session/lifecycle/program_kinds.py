"""Kinds of programs that a launch names: a native program, a Python program, or a command that is neither."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from ...debuggers.native import elf_files
from ...debuggers.python.inside.processes.command_lines import is_python, read_command, script_interpreter
from ...debuggers.registry import is_run_as_file
from ...errors import RelayError, invalid_parameter
from ...files import find_executable
from ...operations.advice import advice
from .choose_python import Chosen

PYTHON_FILES = (".py", ".pyw", ".pyc", ".pyz")
COMPILED_FILES = (".c", ".cc", ".cpp", ".cxx", ".rs", ".zig", ".go", ".f90")
SHELL = "/bin/sh"
"""Runs a script whose first line names no interpreter."""
HEAD = 1024


@dataclass
class FoundProgram:
    kind: str
    """one of the kinds of LaunchSpec"""
    target: str
    args: list[str]
    command: list[str] = field(default_factory=list)
    interpreter: str | None = None
    """the Python that the program names itself"""
    interpreter_args: list[str] = field(default_factory=list)
    reason: str = ""
    """tells where the interpreter comes from"""


def is_native(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(elf_files.MAGIC)) == elf_files.MAGIC
    except OSError:
        return False


def find_native(program: str, folder: str) -> str:
    """Return the path of a native program, or of one in EZ, given by its path or the name of a command."""
    path = find_path(program, folder, None)
    if not is_native(path) and not is_run_as_file(path):
        message = f"{path} is not a native executable (an ELF file)"
        raise invalid_parameter("program", program, message, "Give the executable that runs there")
    return path


def find_path(program: str, folder: str, search: str | None) -> str:
    """Take a bare name for a compiled program in the folder, else a command, else any file in the folder.

    A script that lies there is not taken for a command of the same name."""
    path = os.path.normpath(os.path.join(folder, os.path.expanduser(program)))
    if os.sep not in program and not (is_native(path) or is_run_as_file(path)):
        path = find_executable(program, search) or path
    if os.path.isfile(path):
        return path
    what = "is a directory, not a program" if os.path.isdir(path) else "does not exist"
    advised = "Give the path of the program, or the name of a command of the environment or on PATH; cwd is the folder"
    if program.isidentifier():
        advised += advice(f". What runs as `python -m {program}` is {{launch module={program}}}")
    raise RelayError("LAUNCH_SCRIPT_NOT_FOUND", f"Program {path} {what}", script=program, path=path, suggestion=advised)


def search_path(chosen: Chosen, env: dict[str, str]) -> str:
    """Return the folders in which commands are looked for: beside the Python of the launch, then on its PATH."""
    path = env.get("PATH", os.environ.get("PATH", os.defpath))
    beside = os.path.dirname(chosen.interpreter) if os.path.isabs(chosen.interpreter) else ""
    first = os.path.join(chosen.environment, "bin") if chosen.environment else beside
    return os.pathsep.join(filter(None, (first, path)))


def find_program(
    program: str, args: list[str], folder: str, search: str, wants_native: bool, wants_children: bool | None
) -> FoundProgram:
    path = find_path(program, folder, search)
    if is_run_as_file(path):
        return FoundProgram("file", path, args)
    if is_native(path):
        return _native_program(path, args, folder, os.sep not in program, wants_native, wants_children)
    named = FoundProgram("file", path, args) if path.endswith(PYTHON_FILES) else None
    return script_program(path, args, folder, search) or named or _command_program("program", path, args, folder)


def script_program(
    path: str, args: list[str], folder: str, search: str, parameter: str = "program"
) -> FoundProgram | None:
    """Return the program that a script names in its first line to be run by, if it does."""
    folders = [entry for entry in search.split(os.pathsep) if os.path.isabs(entry)]
    interpreter, options = script_interpreter(path, folders)
    if not interpreter:
        return None
    if is_python(interpreter):
        return FoundProgram("file", path, args, [], interpreter, options, f"the first line of {path}")
    return _command_program(parameter, path, args, folder)


def _native_program(
    path: str, args: list[str], folder: str, is_name: bool, wants_native: bool, wants_children: bool | None
) -> FoundProgram:
    """Take a Python interpreter for what it runs, and a command without anything to debug for what it starts."""
    native = FoundProgram("program", path, args)
    if wants_native:
        return native
    if is_python(path):
        runs = read_command([path], [path, *args]).program
        if runs is not None:
            target = os.path.normpath(os.path.join(folder, runs.target)) if runs.kind == "file" else runs.target
            return FoundProgram(runs.kind, target, runs.args, [], path, runs.options, "the program of the launch")
    found = elf_files.read(path)
    if (is_name or wants_children) and found is not None and not found.holds_debug_info:
        return FoundProgram("command", path, args, [path])
    return native


def _command_program(parameter: str, path: str, args: list[str], folder: str) -> FoundProgram:
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise invalid_parameter(parameter, path, message, "Give a program that can be read and executed") from error
    if b"\0" in head:
        message = f"{path} is neither a native executable (an ELF file) nor a script"
        raise invalid_parameter(parameter, path, message, "Launch Python files with `script`")
    if not os.access(path, os.X_OK):
        if path.endswith(COMPILED_FILES):
            advised = "Compile it with debug information (such as gcc -g -O0) and run the executable that comes of it"
            raise invalid_parameter(parameter, path, f"{path} is source that is compiled before it runs", advised)
        advised = f"chmod +x {path}, or launch sh as `program` with {path} in `args`"
        raise invalid_parameter(parameter, path, f"{path} is not executable", advised)
    if not head.startswith(b"#!"):
        return FoundProgram("command", path, args, [SHELL, path])
    _check_first_line(parameter, path, head, folder)
    return FoundProgram("command", path, args, [path])


def _check_first_line(parameter: str, path: str, head: bytes, folder: str) -> None:
    """Refuse a script whose interpreter the system would not start: it says only that there is no such file."""
    first = head[2:].partition(b"\n")[0].strip(b" \t")
    interpreter = os.fsdecode(re.split(rb"[ \t]", first)[0])
    file = os.path.join(folder, interpreter)
    advice = f"Correct that line, or launch the interpreter as `program` with {path} in `args`"
    if not interpreter:
        what = "names no interpreter"
    elif os.path.isfile(file):
        if os.access(file, os.X_OK):
            return
        what, advice = f"names {interpreter!r}, which is not executable", f"chmod +x {interpreter}, or c{advice[1:]}"
    else:
        what = f"names {interpreter!r}, which {'is a directory' if os.path.isdir(file) else 'does not exist'}"
        if interpreter.endswith("\r"):
            advice = f"Its lines end as on Windows: sed -i 's/\\r$//' {path}"
    raise invalid_parameter(parameter, path, f"The first line of {path} {what}", advice)
