"""The Python that runs a program: which one it is, and what it makes of source code."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ....errors import RelayError, invalid_parameter
from ....files import find_executable, refused_source, unnamed_file
from ...process.program_process import OWN
from ..inside.breakpoints.function_names import Name
from . import breakable_lines

if TYPE_CHECKING:
    from ...rows import FileRow, SyntaxProblem

Key = TypeVar("Key")
Value = TypeVar("Value")

OLDEST = (3, 8)
_IDENTIFY_SECONDS = 10.0
_EXAMINE_SECONDS = 60.0
_ANSWER_LIMIT = 64 * 1024
_EXAMINE_LIMIT = 256 * 1024 * 1024
_LARGE_SOURCE = 256 * 1024
_CACHE_SIZE = 64

# Has to run on Python 2 as well, so that an old one can say how old it is; -I does not exist there.
_ISOLATED = ("-E", "-s", "-S")
_WHO = (
    "import sys; sys.stdout.write('<OCDB %d %d %d %s %s OCDB>' % (sys.version_info[:3] + ("
    "getattr(getattr(sys, 'implementation', None), 'name', 'cpython'),"
    " getattr(__builtins__, 'ascii', repr)(sys.executable or ''))))"
)
_ANSWER = re.compile(rb"<OCDB (\d+) (\d+) (\d+) (\S+) ('[^\n]*'|\"[^\n]*\") OCDB>")


@dataclass(frozen=True)
class Interpreter:
    path: str
    """the file to execute: the interpreter itself, not a shim that looks for it"""
    version: tuple[int, int, int]
    implementation: str


_interpreters: dict[tuple[str, int], Interpreter] = {}
_examined: dict[tuple[str, int, int, tuple[int, ...]], FileRow] = {}


async def identify(path: str) -> Interpreter:
    """Ask the interpreter who it is."""
    program = _find_program(path)
    key = (program, os.stat(program).st_mtime_ns)
    if key not in _interpreters:
        _remember_in(_interpreters, key, await asyncio.to_thread(_ask_identity, path, program))
    found = _interpreters[key]
    if found.version[:2] < OLDEST:
        version = f"{found.version[0]}.{found.version[1]}"
        _refuse_path(path, f"Python {version} cannot be debugged: debugpy needs 3.8 or newer")
    return found


async def examine(path: str, interpreter: Interpreter) -> FileRow:
    """Return what `breakable_lines.examine` says of the file under that interpreter."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return breakable_lines.examine(path)
    if problem := refused_source(path):
        return breakable_lines.unreadable(problem)
    key = (path, status.st_mtime_ns, status.st_size, interpreter.version[:2])
    if key not in _examined:
        here = _same_as_ours(interpreter) and status.st_size <= _LARGE_SOURCE
        _remember_in(_examined, key, breakable_lines.examine(path) if here else await _examine_there(path, interpreter))
    return _examined[key]


class SessionInterpreter:
    """The Python of a session: asked who it is before a launch needs to know, and what it makes of source files."""

    def __init__(self, path: str, asks_early: bool) -> None:
        self._path = path
        self._identified: asyncio.Task[Interpreter] | None = None
        """who the interpreter says it is, unless it is not to be asked before a launch"""
        if asks_early:
            self._ask_identity(path)

    def _ask_identity(self, path: str) -> asyncio.Task[Interpreter]:
        """Begin early: asking takes longer than creating a session."""
        self._identified = asyncio.get_running_loop().create_task(identify(path))
        self._identified.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._identified

    async def identified(self, path: str) -> Interpreter:
        """Return who an interpreter is: the session's, or another that a launch names."""
        if path == self._path:
            return await asyncio.shield(self._identified or self._ask_identity(path))
        return await identify(path)

    async def examine(self, path: str) -> FileRow:
        interpreter = None
        if self._identified is not None:
            with suppress(RelayError):  # launching says what is wrong with it
                interpreter = await asyncio.shield(self._identified)
        interpreter = interpreter or await identify(sys.executable)
        return await examine(path, interpreter)

    async def find_function(self, path: str, name: str) -> list[int]:
        """Return the first lines inside of the functions of that name in a file."""
        wanted = Name(name)
        listed = (await self.examine(path)).get("functions", ())
        return [line for qualname, line in listed if wanted.match(qualname, set(), path, is_own=True) == "yes"]


async def check_program(kind: str, target: str, interpreter: Interpreter) -> None:
    """Refuse what this interpreter cannot compile; a module is found only by the program itself."""
    if kind == "file":
        await check_syntax(target, interpreter)
    elif kind == "code":
        await check_code(target, interpreter)


async def check_syntax(path: str, interpreter: Interpreter) -> None:
    """Refuse a script that this interpreter cannot compile."""
    script = os.path.join(path, "__main__.py") if os.path.isdir(path) else path
    found = await examine(script, interpreter)
    error = found["error"]
    if error is None or script.endswith(".pyc"):
        return
    import zipfile  # here, because few sessions need it

    if zipfile.is_zipfile(script):
        return
    if not found["max_line"]:
        message = f"Cannot read script '{script}': {error['message']}"
        raise RelayError("LAUNCH_SCRIPT_NOT_FOUND", message, file=script)
    _refuse_source(script, error)


async def check_code(source: str, interpreter: Interpreter) -> None:
    """Refuse a program, given as text, that this interpreter cannot compile."""
    if _same_as_ours(interpreter) and len(source) <= _LARGE_SOURCE:
        found = breakable_lines.examine_source(source, "<string>")
    else:
        found = await _examine_there({"source": source, "name": "<string>"}, interpreter)
    if found["error"] is not None:
        _refuse_source("<string>", found["error"])


def _find_program(path: str) -> str:
    if not path.strip() or "\0" in path:
        _refuse_path(path, "The path of the Python interpreter is empty or contains a null byte")
    if os.sep not in path:
        found = find_executable(path)
        if found is None:
            _refuse_path(path, f"Python interpreter '{path}' was not found on PATH")
        return found
    program = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(program):
        _refuse_path(path, f"Python interpreter '{path}' does not exist")
    if os.path.isdir(program):
        inside = os.path.join(program, "bin", "python")
        hint = {"suggestion": f"Use {inside}"} if os.access(inside, os.X_OK) else {}
        _refuse_path(path, f"Python interpreter '{path}' is a directory", **hint)
    if not os.access(program, os.X_OK):
        _refuse_path(path, f"Python interpreter '{path}' is not executable")
    return program


def _ask_identity(path: str, program: str) -> Interpreter:
    command = (program, *_ISOLATED, "-c", _WHO)
    try:
        said = _run_to_end(command, b"", _IDENTIFY_SECONDS, _ANSWER_LIMIT, subprocess.STDOUT)
    except TimeoutError:
        _refuse_path(path, f"'{path}' is not a Python interpreter: it did not answer within {_IDENTIFY_SECONDS:g} s")
    except OSError as error:
        _refuse_path(path, f"Python interpreter '{path}' cannot be executed: {error.strerror}")
    answer = _ANSWER.search(said)
    if answer is None:
        _refuse_path(path, f"'{path}' is not a Python interpreter", output=said[:200].decode("utf-8", "replace"))
    major, minor, micro, implementation, executable = answer.groups()
    found = ast.literal_eval(executable.decode("ascii")) or program
    return Interpreter(found, (int(major), int(minor), int(micro)), implementation.decode("ascii", "replace"))


async def _examine_there(request: str | dict[str, str], interpreter: Interpreter) -> FileRow:
    command = (interpreter.path, "-I", "-S", breakable_lines.__file__)
    data = json.dumps([request]).encode("ascii")
    try:
        said = await asyncio.to_thread(_run_to_end, command, data, _EXAMINE_SECONDS, _EXAMINE_LIMIT)
        found: FileRow = json.loads(said)[0]
    except (OSError, ValueError) as error:
        return breakable_lines.unreadable(f"{interpreter.path} could not examine it: {error}")
    found["definitions"] = {int(line): definition for line, definition in found["definitions"].items()}
    return found


def _run_to_end(command: tuple[str, ...], data: bytes, seconds: float, limit: int, errors: int = DEVNULL) -> bytes:
    """Return what the command answers to `data`, in its own process group, of which nothing is left afterwards."""
    with unnamed_file() as stdin:
        stdin.write(data)
        stdin.seek(0)
        process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, bufsize=0, start_new_session=True
        )
    assert process.stdout is not None
    OWN.add(process.pid)
    try:
        return _collect_output(process.stdout.fileno(), time.monotonic() + seconds, limit)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
        OWN.discard(process.pid)


def _collect_output(descriptor: int, deadline: float, limit: int) -> bytes:
    said = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while len(said) < limit:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError("no answer in time")
            chunk = os.read(descriptor, 65536)
            if not chunk:
                break
            said += chunk
    return bytes(said)


def _same_as_ours(interpreter: Interpreter) -> bool:
    return (interpreter.implementation, interpreter.version[:2]) == (sys.implementation.name, sys.version_info[:2])


def _remember_in(cache: dict[Key, Value], key: Key, value: Value) -> None:
    while len(cache) >= _CACHE_SIZE:
        del cache[next(iter(cache))]
    cache[key] = value


def _refuse_path(path: str, message: str, **details: Any) -> NoReturn:
    hint = details.pop("suggestion", "Give the absolute path of a Python 3.8 or newer, or leave python_path out")
    shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
    message = message.encode("utf-8", "backslashreplace").decode("utf-8")
    raise invalid_parameter("python_path", shown, message, hint, **details)


def _refuse_source(file: str, error: SyntaxProblem) -> NoReturn:
    details: dict[str, Any] = {"file": file, "line": error["line"], "offset": error["offset"]}
    details |= {"error_message": error["message"], "text": error["text"]}
    raise RelayError("LAUNCH_SYNTAX_ERROR", "Python syntax error in script", **details)
