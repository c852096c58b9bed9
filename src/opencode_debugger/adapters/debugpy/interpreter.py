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
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from ...errors import RelayError, invalid_parameter
from ...files import find_executable, refused_source
from ..processes import OWN
from . import lines

Key = TypeVar("Key")
Value = TypeVar("Value")

OLDEST = (3, 8)
_IDENTIFY_SECONDS = 10.0
_EXAMINE_SECONDS = 60.0
_ANSWER_LIMIT = 64 * 1024
_EXAMINE_LIMIT = 256 * 1024 * 1024
_LARGE_SOURCE = 256 * 1024
_EXPRESSION_LIMIT = 64 * 1024
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
    """What to execute: the interpreter itself, not a shim that looks for it."""
    version: tuple[int, int, int]
    implementation: str


@dataclass(frozen=True)
class SyntaxErrorInfo:
    message: str
    offset: int | None
    """Counted from 1 in the whole text."""


_interpreters: dict[tuple[str, int, str], Interpreter] = {}
_examined: dict[tuple[Any, ...], dict[str, Any]] = {}


async def identify(path: str, cwd: str | None = None) -> Interpreter:
    """Asks the interpreter who it is; relative paths, and shims that depend on the folder, mean `cwd`."""
    folder = cwd if cwd and os.path.isdir(cwd) else os.getcwd()
    program = _find_program(path, folder)
    key = (program, os.stat(program).st_mtime_ns, folder)
    if key not in _interpreters:
        _remember(_interpreters, key, await asyncio.to_thread(_identify, path, program, folder))
    found = _interpreters[key]
    if found.version[:2] < OLDEST:
        _refuse(path, f"Python {found.version[0]}.{found.version[1]} cannot be debugged: debugpy needs 3.8 or newer")
    return found


async def examine(path: str, interpreter: Interpreter) -> dict[str, Any]:
    """What `lines.examine` says of the file under that interpreter."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return lines.examine(path)
    if problem := refused_source(path):
        return lines.unreadable(problem)
    key = (path, status.st_mtime_ns, status.st_size, interpreter.version[:2])
    if key not in _examined:
        here = _same_as_ours(interpreter) and status.st_size <= _LARGE_SOURCE
        _remember(_examined, key, lines.examine(path) if here else await _examine_there(path, interpreter))
    return _examined[key]


async def check_program(kind: str, target: str, interpreter: Interpreter) -> None:
    """Refuses what this interpreter cannot compile; a module is found only by the program itself."""
    if kind == "file":
        await check_syntax(target, interpreter)
    elif kind == "code":
        await check_code(target, interpreter)


async def check_syntax(path: str, interpreter: Interpreter) -> None:
    """Refuses a script that this interpreter cannot compile."""
    script = os.path.join(path, "__main__.py") if os.path.isdir(path) else path
    found = await examine(script, interpreter)
    if found["error"] is None or _is_compiled(script):
        return
    if not found["max_line"]:
        raise RelayError(
            "LAUNCH_SCRIPT_NOT_FOUND", f"Cannot read script '{script}': {found['error']['message']}", file=script
        )
    _refuse_source(script, found["error"])


async def check_code(source: str, interpreter: Interpreter) -> None:
    """The same for a program given as text."""
    if _same_as_ours(interpreter) and len(source) <= _LARGE_SOURCE:
        found = lines.examine_source(source, "<string>")
    else:
        found = await _examine_there({"source": source, "name": "<string>"}, interpreter)
    if found["error"] is not None:
        _refuse_source("<string>", found["error"])


def check_expression(text: str) -> SyntaxErrorInfo | None:
    """What is wrong with a Python expression, if anything."""
    stripped = text.strip()
    if not stripped:
        return SyntaxErrorInfo("SyntaxError: the expression is empty", 1)
    if len(stripped) > _EXPRESSION_LIMIT:
        return SyntaxErrorInfo(f"SyntaxError: the expression is longer than {_EXPRESSION_LIMIT} characters", None)
    if "\0" in text:
        return SyntaxErrorInfo("SyntaxError: the expression contains a null byte", text.index("\0") + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(stripped, "<expression>", "eval", dont_inherit=True)
    except SyntaxError as error:
        return SyntaxErrorInfo(f"SyntaxError: {error.msg}", _offset(text, stripped, error))
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return SyntaxErrorInfo(f"SyntaxError: {error or 'the expression is too deeply nested'}", None)
    return None


def _offset(text: str, stripped: str, error: SyntaxError) -> int:
    """The error's place in the whole text, which may have several lines; Python says 0 for its end."""
    indent = len(text) - len(text.lstrip())
    before = sum(len(line) + 1 for line in stripped.split("\n")[: (error.lineno or 1) - 1])
    return indent + (before + error.offset if error.offset else len(stripped) + 1)


def _find_program(path: str, folder: str) -> str:
    if not path.strip() or "\0" in path:
        _refuse(path, "The path of the Python interpreter is empty or contains a null byte")
    if os.sep not in path:
        found = find_executable(path)
        if found is None:
            _refuse(path, f"Python interpreter '{path}' was not found on PATH")
        return found
    program = os.path.normpath(os.path.join(folder, os.path.expanduser(path)))
    _check_program(path, program)
    return program


def _check_program(path: str, program: str) -> None:
    if not os.path.exists(program):
        _refuse(path, f"Python interpreter '{path}' does not exist")
    if os.path.isdir(program):
        inside = os.path.join(program, "bin", "python")
        hint = {"suggestion": f"Use {inside}"} if os.access(inside, os.X_OK) else {}
        _refuse(path, f"Python interpreter '{path}' is a directory", **hint)
    if not os.access(program, os.X_OK):
        _refuse(path, f"Python interpreter '{path}' is not executable")


def _identify(path: str, program: str, folder: str) -> Interpreter:
    try:
        said = _ask((program, *_ISOLATED, "-c", _WHO), b"", _IDENTIFY_SECONDS, _ANSWER_LIMIT, folder, subprocess.STDOUT)
    except TimeoutError:
        _refuse(path, f"'{path}' is not a Python interpreter: it did not answer within {_IDENTIFY_SECONDS:g} s")
    except OSError as error:
        _refuse(path, f"Python interpreter '{path}' cannot be executed: {error.strerror}")
    answer = _ANSWER.search(said)
    if answer is None:
        _refuse(path, f"'{path}' is not a Python interpreter", output=said[:200].decode("utf-8", "replace"))
    major, minor, micro, implementation, executable = answer.groups()
    return Interpreter(
        path=ast.literal_eval(executable.decode("ascii")) or program,
        version=(int(major), int(minor), int(micro)),
        implementation=implementation.decode("ascii", "replace"),
    )


async def _examine_there(request: str | dict[str, str], interpreter: Interpreter) -> dict[str, Any]:
    command = (interpreter.path, "-I", "-S", lines.__file__)
    data = json.dumps([request]).encode("ascii")
    try:
        said = await asyncio.to_thread(_ask, command, data, _EXAMINE_SECONDS, _EXAMINE_LIMIT)
        found: dict[str, Any] = json.loads(said)[0]
    except (OSError, ValueError) as error:
        return lines.unreadable(f"{interpreter.path} could not examine it: {error}")
    found["definitions"] = {int(line): definition for line, definition in found["definitions"].items()}
    return found


def _ask(
    command: tuple[str, ...],
    data: bytes,
    seconds: float,
    limit: int,
    cwd: str | None = None,
    errors: int = subprocess.DEVNULL,
) -> bytes:
    """What the command answers to `data`, in its own process group, of which nothing is left afterwards."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data)
        stdin.seek(0)
        process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, cwd=cwd, bufsize=0, start_new_session=True
        )
    assert process.stdout is not None
    OWN.add(process.pid)
    try:
        return _collect(process.stdout.fileno(), time.monotonic() + seconds, limit)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
        OWN.discard(process.pid)


def _collect(descriptor: int, deadline: float, limit: int) -> bytes:
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


def _is_compiled(path: str) -> bool:
    import zipfile

    return path.endswith(".pyc") or zipfile.is_zipfile(path)


def _remember(cache: dict[Key, Value], key: Key, value: Value) -> None:
    while len(cache) >= _CACHE_SIZE:
        del cache[next(iter(cache))]
    cache[key] = value


def _refuse(path: str, message: str, **details: Any) -> NoReturn:
    hint = details.pop("suggestion", "Give the absolute path of a Python 3.8 or newer, or leave python_path out")
    shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
    message = message.encode("utf-8", "backslashreplace").decode("utf-8")
    raise invalid_parameter("python_path", shown, message, hint, **details)


def _refuse_source(file: str, error: dict[str, Any]) -> NoReturn:
    raise RelayError(
        "LAUNCH_SYNTAX_ERROR",
        "Python syntax error in script",
        file=file,
        line=error["line"],
        offset=error["offset"],
        error_message=error["message"],
        text=error["text"],
    )
