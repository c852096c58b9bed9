"""Runs in an interpreter that was started before there is a program for it: waits for one, then is as if newly started.

Runs on Python 3.8 and newer. What would show that the interpreter is older than its program is put right here; if it
cannot be, or if a file has changed that a start reads, the interpreter ends and the runner starts a new one.
"""

from __future__ import annotations

import ctypes
import json
import os
import site
import struct
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

PR_SET_MM, PR_SET_MM_MAP, PR_SET_MM_MAP_SIZE = 35, 14, 15
"""Of prctl(2): tells the kernel where command line and environment of a process are."""
MEMORY_MAP = "=12Q2I"
"""struct prctl_mm_map: where code, data, heap, stack, arguments and environment are; no auxv, no other file."""
CODE_AT, DATA_AT = 23, 42
"""Fields of /proc/self/stat, counted after the name, from which on it tells those places."""
NO_FILE = 0xFFFFFFFF
YOUNG = 2_000_000_000
"""Nanoseconds: what has changed so shortly before we looked may have changed since the interpreter read it."""
TAKEN = b"taken\n"

Stamp = Optional[Tuple[int, int, int, int]]


class ChangedStart(Exception):
    """A new start would not be like ours."""


class SpareStart:
    """An interpreter that waits; `control` is its end of a socket, the other is the runner's."""

    def __init__(self, control: int) -> None:
        if not can_be_shown():
            raise ChangedStart("the kernel cannot show another command line")
        self._control = control
        self._since = time.time_ns()
        self._paths = list(sys.path)
        self._before = self._stamps()

    def await_launch(self) -> Dict[str, Any]:
        """Return what to run, as an interpreter that is started now would be told."""
        self._before = {**self._stamps(), **self._before}  # with the files of the modules that were loaded since
        asked = self._read_line()
        if self._stamps() != self._before or self._is_young():
            raise ChangedStart("files have changed")
        launch = json.loads(asked)
        environment = launch["environment"]
        show_launch(launch["argv"], environment)
        os.environ.clear()
        os.environ.update((name, value) for name, value in environment.items() if name != launch["told_in"])
        sys.argv[1:] = launch["words"]
        if hasattr(sys, "orig_argv"):
            sys.orig_argv[:] = launch["argv"]
        begin_now()
        os.write(self._control, TAKEN)
        os.close(self._control)
        config: Dict[str, Any] = launch["config"]
        return config

    def _read_line(self) -> bytes:
        """Return when the runner has a program, or end with the runner."""
        line = b""
        while not line.endswith(b"\n"):
            data = os.read(self._control, 65536)
            if not data:
                raise ChangedStart("nobody needs us")
            line += data
        return line

    def _stamps(self) -> Dict[str, Stamp]:
        """Return what the files are like that a start reads: folders of modules, what they say themselves, modules."""
        paths = {os.path.realpath(sys.executable), *self._paths, *_path_files()}
        paths.update(os.path.join(folder, "pyvenv.cfg") for folder in (sys.prefix, os.path.dirname(sys.executable)))
        loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        paths.update(path for path in loaded if isinstance(path, str))
        return {path: _stamp(path) for path in paths}

    def _is_young(self) -> bool:
        changes = [stamp[1] for stamp in self._before.values() if stamp is not None]
        return max(changes) > self._since - YOUNG


def _path_files() -> List[str]:
    """Return the files by which folders of packages add to sys.path."""
    found = []
    for folder in [*site.getsitepackages(), site.getusersitepackages()]:
        if os.path.isdir(folder):
            found += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".pth")]
    return found


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size


def can_be_shown() -> bool:
    """Tell whether this kernel lets a process say where its command line is."""
    size = ctypes.c_uint()
    return _prctl(PR_SET_MM_MAP_SIZE, ctypes.byref(size), 0) and size.value == struct.calcsize(MEMORY_MAP)


def show_launch(argv: List[str], environment: Dict[str, str]) -> None:
    """Have /proc show the command line and the environment that a new process would have."""
    with open("/proc/self/stat", "rb") as file:
        fields = [int(field) for field in file.read().rpartition(b")")[2].split()[1:]]
    code, stack = fields[CODE_AT - 1 : CODE_AT + 1], fields[CODE_AT + 1]
    data_and_heap = fields[DATA_AT - 1 : DATA_AT + 2]
    heap_end = ctypes.CDLL(None).sbrk
    heap_end.restype = ctypes.c_void_p
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)
    variables = b"".join(os.fsencode(name + "=" + value) + b"\0" for name, value in environment.items())
    memory = ctypes.create_string_buffer(words + variables, len(words) + len(variables))
    start = ctypes.addressof(memory)
    middle, end = start + len(words), start + len(words) + len(variables)
    places = [*code, *data_and_heap, heap_end(0), stack, start, middle, middle, end]
    packed = struct.pack(MEMORY_MAP, *places, 0, 0, NO_FILE)
    if not _prctl(PR_SET_MM_MAP, packed, len(packed)):
        raise ChangedStart("the kernel does not show another command line")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))  # the kernel reads it for as long as we live


def _prctl(option: int, value: Any, size: int) -> bool:
    return bool(ctypes.CDLL(None).prctl(PR_SET_MM, option, value, size, 0) == 0)


def begin_now() -> None:
    """Renew what modules have noted when they were loaded: records of logging tell the time since then."""
    logging = sys.modules.get("logging")
    started = getattr(logging, "_startTime", None)
    if started is not None:
        logging._startTime = time.time_ns() if isinstance(started, int) else time.time()  # type: ignore[union-attr]
