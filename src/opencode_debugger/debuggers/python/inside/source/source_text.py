"""Finds source text that only the program knows: generated code, modules in archives, code without a file."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import sys
from itertools import accumulate, islice
from types import CodeType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from ..frames import outward_frames
from ..python_versions import STDLIB_FOLDER
from ..rpc.call_scope import frame_variables
from ..rpc.interrupts import is_quiet
from ..values import raw
from ..values.atom_texts import clip, encodable

if TYPE_CHECKING:
    from ....rows import LineRow, SourceText

LONGEST_SOURCE = 4000000
_TEXT_LIMIT = 500000
"""characters that are compiled to find the text of code"""
_FROZEN_PREFIX = "<frozen "
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")

Text = Tuple[str, List[str]]
"""The origin of a text, and its lines."""

_programs: List[Tuple[CodeType, str]] = []
"""code that was launched as text"""
_found_texts: List[Tuple[CodeType, Optional[Text]]] = []


def remember_code(code: CodeType, text: str) -> None:
    _programs.append((code, text))


def text_of_frame(frame: Any) -> Optional[Text]:
    name = frame.f_code.co_filename
    if name == "<string>":  # any code may have that name: only what is certain counts
        launched = (text for known, text in _programs if any(code is frame.f_code for code in _codes_in(known)))
        return next((("code", _split_lines(text)) for text in launched), None) or _executed_text(frame)
    known = _cached_text(name, frame.f_globals) or _frozen_text(name)
    return known or (_executed_text(frame) if name[:1] == "<" else None)


def lines_around(frame: Any, before: int = 3, after: int = 3, line: Optional[int] = None) -> List[LineRow]:
    text = text_of_frame(frame)
    lines, at = ([] if text is None else text[1]), line or frame.f_lineno or 0
    if not 1 <= at <= len(lines):
        return []
    shown = range(max(1, at - before), min(len(lines), at + after) + 1)
    return [{"line": number, "text": encodable(clip(lines[number - 1], 200)[0])} for number in shown]


def bounded_answer(text: Optional[Text]) -> SourceText:
    if text is None:
        return {"lines": None}
    sizes = accumulate(len(line) + 1 for line in text[1])
    lines = [encodable(line) for line, size in zip(text[1], sizes) if size <= LONGEST_SOURCE]
    return {"origin": text[0], "lines": lines, "total_lines": len(text[1])}


def text_of_path(path: str) -> Optional[Text]:
    return _cached_text(path, module_globals(path))


def _split_lines(text: str) -> List[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _codes_in(outer: CodeType) -> Iterator[CodeType]:
    yield outer
    for inner in outer.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes_in(inner)


def _cached_text(name: str, namespace: Optional[Dict[str, Any]]) -> Optional[Text]:
    lines = text_lines(name, namespace)
    return ("program", [line.rstrip("\n") for line in lines]) if lines else None


def text_lines(name: str, namespace: Optional[Dict[str, Any]]) -> List[str]:
    """Return what Python itself would show in a traceback, from archives too, unless nothing may run."""
    if is_quiet():
        return _lines_at_hand(name)
    with contextlib.suppress(Exception):
        return linecache.getlines(name, namespace)
    return []


def _lines_at_hand(name: str) -> List[str]:
    """Return lines that were shown before, or are in a file: asking a module's loader would run code of the program."""
    entry = linecache.cache.get(name) if type(linecache.cache) is dict else None
    if type(entry) is tuple and len(entry) == 4 and type(entry[2]) is list:
        return [line for line in entry[2] if type(line) is str]
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(name):
            with open(name, "rb") as file:
                return [line + "\n" for line in _split_lines(_decoded_source(file.read(LONGEST_SOURCE)))]
    return []


def _decoded_source(data: bytes) -> str:
    """Decode without asking for a codec, which may be one of the program's."""
    cookies = (_COOKIE.match(line) for line in data.split(b"\n", 2)[:2])
    name = next((cookie[1].decode("ascii").lower().replace("_", "-") for cookie in cookies if cookie), "utf-8")
    is_latin = name in ("latin-1", "latin1", "iso-8859-1", "iso-latin-1")
    text = data.decode("latin-1") if is_latin else data.decode("utf-8", "replace")
    return text[1:] if text[:1] == "\ufeff" else text


def line_text(frame: Any, line: Optional[int]) -> str:
    lines = text_lines(frame.f_code.co_filename, frame.f_globals)
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""


def _frozen_text(name: str) -> Optional[Text]:
    """Return the text of a module that is part of the interpreter: it is usually installed beside it."""
    if not name.startswith(_FROZEN_PREFIX):
        return None
    stem = os.path.join(STDLIB_FOLDER, *name[len(_FROZEN_PREFIX) : -1].split("."))
    found = _cached_text(stem + ".py", None) or _cached_text(os.path.join(stem, "__init__.py"), None)
    return None if found is None else ("frozen", found[1])


def _executed_text(frame: Any) -> Optional[Text]:
    """Return text given to exec or eval: some string around the caller that compiles to exactly this code."""
    code = frame.f_code
    for known, found in _found_texts:
        if known is code:
            return found
    found = next((("exec", _split_lines(text)) for text in _candidate_texts(frame) if _compiles_to(text, code)), None)
    del _found_texts[:-20]
    _found_texts.append((code, found))
    return found


def _compiles_to(text: str, code: CodeType) -> bool:
    for mode in ("exec", "eval"):
        with contextlib.suppress(Exception):
            if code in _codes_in(compile(text, code.co_filename, mode, 0, True)):
                return True
    return False


def _candidate_texts(frame: Any) -> Iterator[str]:
    """Yield texts that have all names in them that the code uses: that is quicker to tell than by compiling them."""
    names = [name for name in frame.f_code.co_names + frame.f_code.co_varnames if name[:1] not in "._"]
    left, room = 100, _TEXT_LIMIT
    for caller in islice(outward_frames(frame), 10):
        values = [*caller.f_code.co_consts, *frame_variables(caller.f_locals).values()]
        values += [value for _, value in raw.dict_pairs(caller.f_globals)]
        for text in values:
            if type(text) is str and 0 < len(text) <= _TEXT_LIMIT and all(name in text for name in names):
                left, room = left - 1, room - len(text)
                if left < 0 or room < 0:
                    return
                yield text


def module_globals(path: str) -> Optional[Dict[str, Any]]:
    namespaces = (raw.instance_dict(module) or {} for module in list(sys.modules.values()))
    return next((names for names in namespaces if is_same_file(names.get("__file__"), path)), None)


def is_same_file(name: Any, path: str) -> bool:
    """Compare names of files: as code has them they may be relative, and lead through links."""
    if type(name) is not str:  # a module may have anything there, with an __eq__ of its own
        return False
    is_alike = os.path.basename(name) == os.path.basename(path)
    return name == path or (is_alike and os.path.realpath(name) == os.path.realpath(path))
