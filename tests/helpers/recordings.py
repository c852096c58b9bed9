"""Recordings as the files have them, read without the relay's reader; and a log of the same run by `sys.settrace`."""

from __future__ import annotations

import json
import marshal
import os
import struct
import subprocess
import zlib
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

HEADER = b"OCREC\2\0\0"
COLUMN_CODES = ("q", "i", "q", "i", "i", "d", "", "q", "d", "b", "", "")
"""of the columns of calls; empty: values"""
RETURNED, RAISED, UNSEEN = 1, 2, 3

TRACED_RUN = r"""
import json, sys, threading
path, out = sys.argv[1:3]
events, numbers, kept, failing = [], {}, [], {}
RESUMABLE = 0x20 | 0x80 | 0x200
SKIPPED = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")

def plain(value):
    return value if value is None or type(value) in (int, str, bool) else type(value).__name__

def trace(frame, event, arg):
    code = frame.f_code
    if code.co_filename != path or code.co_name in SKIPPED or not (code.co_flags & 1 or code.co_name == "<module>"):
        return None
    if event == "call":
        if id(frame) not in numbers or kept[numbers[id(frame)]] is not frame:
            numbers[id(frame)] = len(kept)
            kept.append(frame)
            names = code.co_varnames[:code.co_argcount]
            events.append(["begin", numbers[id(frame)], code.co_name, [plain(frame.f_locals[name]) for name in names]])
    elif event == "exception":
        failing[id(frame)] = arg[0].__name__
    elif event == "return":
        error = failing.pop(id(frame), None)
        ended = ["end", numbers[id(frame)], code.co_name, error if error is not None and arg is None else plain(arg)]
        events[:] = [each for each in events if each[0] != "end" or each[1] != ended[1]]  # it had only yielded
        events.append(ended)
    else:
        failing.pop(id(frame), None)
    return trace

code = compile(open(path).read(), path, "exec")
threading.settrace(trace)
sys.settrace(trace)
try:
    exec(code, {"__name__": "__main__", "__file__": path})
finally:
    sys.settrace(None)
    threading.settrace(None)
    with open(out, "w") as file:
        json.dump([[kind, name, told] for kind, _, name, told in events], file)
"""


class ReadRecording(NamedTuple):
    header: dict[str, Any]
    end: dict[str, Any] | None
    """what was said when it ended"""
    names: dict[int, str]
    lanes: list[tuple[int, str, str]]
    calls: list[list[Any]]
    """that have ended, in the order of their ends; then those that are open"""
    steps: list[tuple[Any, ...]]

    def named(self, name: str) -> list[list[Any]]:
        return [call for call in self.calls if self.names[call[1]].split(".")[-1] == name]

    def log(self) -> list[list[Any]]:
        """Return starts and ends in the order in which they happened, as TRACED_RUN tells them."""
        found: list[tuple[int, list[Any]]] = []
        for call in self.calls:
            name = self.names[call[1]].split(".")[-1]
            found.append((call[0], ["begin", name, [_plain(each) for each in call[6]]]))
            if call[7]:
                found.append((call[7], ["end", name, call[10][1] if call[9] == RAISED else _plain(call[10])]))
        return [told for _, told in sorted(found)]


SIGNS = {"L": "list", "T": "tuple", "D": "dict", "S": "set", "F": "frozenset"}


def _plain(kept: Any) -> Any:
    if not isinstance(kept, tuple):
        return kept
    return kept[1] if kept[0] in "OX" else SIGNS.get(kept[0], kept[0])


def read_recording(folder: Path) -> ReadRecording:
    header: dict[str, Any] = {}
    end: dict[str, Any] | None = None
    names: dict[int, str] = {}
    lanes: list[tuple[int, str, str]] = []
    for kind, found in read_chunks(folder / "names.ocr"):
        if kind == "H":
            header = found
        elif kind == "F":
            names.update({row[0]: row[2] for row in found})
        elif kind == "T":
            lanes += found
        elif kind == "Z":
            end = found
    calls: dict[int, list[Any]] = {}
    steps: list[tuple[Any, ...]] = []
    still_open: dict[int, list[Any]] = {}
    for path in sorted(folder.glob("0*.ocr")):
        for ended, passed, opened, _ in read_chunks(path):
            calls.update({call[0]: call for call in _rows(ended)})
            still_open.update({call[0]: call for call in opened})
            steps += passed
    left = [call for number, call in still_open.items() if number not in calls]
    return ReadRecording(header, end, names, lanes, [*calls.values(), *left], steps)


def _rows(columns: tuple[Any, ...]) -> list[list[Any]]:
    """Return calls that were written column by column."""
    count = len(columns[0]) // 8
    found = [
        struct.unpack(f"<{count}{code}", column) if code else list(chain.from_iterable(map(marshal.loads, column)))
        for code, column in zip(COLUMN_CODES, columns, strict=True)
    ]
    return [list(row) for row in zip(*found, strict=True)]


def read_chunks(path: Path) -> list[Any]:
    data, at = path.read_bytes(), len(HEADER)
    assert data.startswith(HEADER)
    found = []
    while at < len(data):
        length, checksum = struct.unpack_from("<II", data, at)
        payload = data[at + 8 : at + 8 + length]
        assert zlib.crc32(payload) == checksum
        found.append(marshal.loads(payload))
        at += 8 + length
    return found


def recording_folders(data: Path, session_id: str) -> list[Path]:
    """Return the recordings in the folder of a session, the oldest first."""
    return sorted(data.glob(f"**/{session_id}/recordings/*"), key=lambda path: path.stat().st_mtime)


def traced_run(python: Path, program: Path, log: Path) -> list[list[Any]]:
    """Run a program without the relay, and return what `sys.settrace` tells of its calls."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENCODE")}
    subprocess.run([python, "-c", TRACED_RUN, program, log], env=clean, check=False, capture_output=True, timeout=60)
    return json.loads(log.read_text())  # type: ignore[no-any-return]
