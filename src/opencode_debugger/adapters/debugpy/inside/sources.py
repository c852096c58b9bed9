"""Source text that only the program can tell: generated code, modules in archives, code without a file."""

from __future__ import annotations

import linecache
import os
import re
import sys
from types import CodeType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import raw
from .interrupts import is_quiet
from .scope import variables
from .texts import clip, encodable

LIMIT = 4000000
"""characters"""
_TEXT_LIMIT = 500000
"""characters that are compiled to find the text of code"""
_CANDIDATES = 100
_CALLERS = 10
_FROZEN = "<frozen "
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_LATIN = ("latin-1", "latin1", "iso-8859-1", "iso-latin-1")
_LINE = 200

Text = Tuple[str, List[str]]
"""where it comes from, and the lines"""

_programs: List[Tuple[CodeType, str]] = []
"""code that was launched as text"""


def remember(code: CodeType, text: str) -> None:
    _programs.append((code, text))


def of_frame(frame: Any) -> Optional[Text]:
    name = frame.f_code.co_filename
    if name == "<string>":  # any code may have that name: only what is certain counts
        return _launched(frame.f_code) or _executed(frame)
    return _cached(name, frame.f_globals) or _frozen(name) or (_executed(frame) if name[:1] == "<" else None)


def around(frame: Any, before: int = 3, after: int = 3) -> List[Dict[str, Any]]:
    """The lines around the one that the frame is at."""
    text = of_frame(frame)
    lines, at = ([] if text is None else text[1]), frame.f_lineno or 0
    if not 1 <= at <= len(lines):
        return []
    shown = range(max(1, at - before), min(len(lines), at + after) + 1)
    return [{"line": number, "text": encodable(clip(lines[number - 1], _LINE)[0])} for number in shown]


def bounded(text: Optional[Text]) -> Dict[str, Any]:
    if text is None:
        return {"lines": None}
    lines, room = [], LIMIT
    for line in text[1]:
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(encodable(line))
    return {"origin": text[0], "lines": lines, "total_lines": len(text[1])}


def of_path(path: str) -> Optional[Text]:
    return _cached(path, module_of(path))


def _lines(text: str) -> List[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _launched(code: CodeType) -> Optional[Text]:
    for known, text in _programs:
        if _contains(known, code):
            return "code", _lines(text)
    return None


def _contains(outer: Any, code: CodeType) -> bool:
    return outer is code or any(_contains(inner, code) for inner in outer.co_consts if isinstance(inner, CodeType))


def _cached(name: str, namespace: Optional[Dict[str, Any]]) -> Optional[Text]:
    lines = text_lines(name, namespace)
    return ("program", [line.rstrip("\n") for line in lines]) if lines else None


def text_lines(name: str, namespace: Optional[Dict[str, Any]]) -> List[str]:
    """What Python itself would show in a traceback, loaders of archives included, unless nothing may run."""
    if is_quiet():
        return _lines_at_hand(name)
    try:
        return linecache.getlines(name, namespace)
    except Exception:
        return []


def _lines_at_hand(name: str) -> List[str]:
    """Those that were shown before, or are in a file: a module's loader is code of the program."""
    entry = linecache.cache.get(name) if type(linecache.cache) is dict else None
    if type(entry) is tuple and len(entry) == 4 and type(entry[2]) is list:
        return [line for line in entry[2] if type(line) is str]
    try:
        if not os.path.isfile(name):
            return []
        with open(name, "rb") as file:
            return [line + "\n" for line in _lines(_decoded(file.read(LIMIT)))]
    except (OSError, ValueError):
        return []


def _decoded(data: bytes) -> str:
    """Python decodes these without asking for a codec, which may be one of the program's."""
    cookies = (_COOKIE.match(line) for line in data.split(b"\n", 2)[:2])
    name = next((cookie[1].decode("ascii").lower().replace("_", "-") for cookie in cookies if cookie), "utf-8")
    text = data.decode("latin-1") if name in _LATIN else data.decode("utf-8", "replace")
    return text[1:] if text[:1] == "\ufeff" else text


def line_of(frame: Any, line: Optional[int]) -> str:
    lines = text_lines(frame.f_code.co_filename, frame.f_globals)
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""


def _frozen(name: str) -> Optional[Text]:
    """Modules that are part of the interpreter: their text is usually installed beside it."""
    if not name.startswith(_FROZEN):
        return None
    folder = getattr(sys, "_stdlib_dir", None) or os.path.dirname(os.__file__)
    stem = os.path.join(folder, *name[len(_FROZEN) : -1].split("."))
    for path in (stem + ".py", os.path.join(stem, "__init__.py")):
        found = _cached(path, None)
        if found is not None:
            return "frozen", found[1]
    return None


def _executed(frame: Any) -> Optional[Text]:
    """Text given to exec or eval: some string around the caller that compiles to exactly this code."""
    code = frame.f_code
    for known, found in _searched:
        if known is code:
            return found
    found = next((("exec", _lines(text)) for text in _strings(frame) if _makes(text, code)), None)
    del _searched[:-_REMEMBERED]
    _searched.append((code, found))
    return found


_searched: List[Tuple[CodeType, Optional[Text]]] = []
_REMEMBERED = 20


def _makes(text: str, code: CodeType) -> bool:
    for mode in ("exec", "eval"):
        try:
            if _has_equal(compile(text, code.co_filename, mode, 0, True), code):
                return True
        except Exception:
            continue
    return False


def _could_make(text: str, code: CodeType) -> bool:
    """Cheaper than compiling it: the names that the code uses are written in its text."""
    names = code.co_names + code.co_varnames
    return 0 < len(text) <= _TEXT_LIMIT and all(name in text for name in names if name[:1] not in "._")


def _has_equal(outer: Any, code: CodeType) -> bool:
    return outer == code or any(_has_equal(inner, code) for inner in outer.co_consts if isinstance(inner, CodeType))


def _strings(frame: Any) -> Iterator[str]:
    code, left, room = frame.f_code, _CANDIDATES, _TEXT_LIMIT
    for _ in range(_CALLERS):
        if frame is None:
            return
        values = [*frame.f_code.co_consts, *variables(frame.f_locals).values()]
        values += [value for _, value in raw.pairs(frame.f_globals)]
        for text in values:
            if type(text) is str and _could_make(text, code):
                left, room = left - 1, room - len(text)
                if left < 0 or room < 0:
                    return
                yield text
        frame = frame.f_back


def module_of(path: str) -> Optional[Dict[str, Any]]:
    """The globals of the module that was loaded from a file."""
    for module in list(sys.modules.values()):
        names = raw.instance_dict(module) or {}
        if is_same_file(names.get("__file__"), path):
            return names
    return None


def is_same_file(name: Any, path: str) -> bool:
    """Names of files as code has them may be relative, and lead through links."""
    if type(name) is not str:  # a module may have anything there, with an __eq__ of its own
        return False
    if name == path:
        return True
    if os.path.basename(name) != os.path.basename(path):
        return False
    return os.path.realpath(name) == os.path.realpath(path)
