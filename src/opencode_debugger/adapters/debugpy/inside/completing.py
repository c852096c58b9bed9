"""What may follow at a place in an unfinished expression: names in scope, attributes, keys of a mapping."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

from . import lookup, raw
from .members import key_name
from .scope import names_of, variables

MOST = 200
_KEYS = 2000
_LABEL = 200
_NAME = re.compile(r"[^\W\d]\w*\Z")
_OPENERS, _CLOSERS = "([{", ")]}"

Item = Dict[str, Any]
Found = Tuple[str, str, int]
"""label, type, rank: the lower, the earlier"""


def complete(text: str, column: Optional[int], frame: Any) -> Dict[str, Any]:
    at = len(text) if column is None else min(max(0, column - 1), len(text))
    before = text[:at]
    quote = _open_string(before)
    if quote is not None:
        start, found = quote + 1, _keys_in_string(before, quote, frame)
    else:
        match = _NAME.search(before)
        start = match.start() if match else at
        found = _after(before, start, frame)
    return _answer(found, before[start:], start, at - start)


def _answer(found: Iterable[Found], prefix: str, start: int, length: int) -> Dict[str, Any]:
    best: Dict[str, Tuple[Any, ...]] = {}
    low = prefix.lower()
    for label, kind, rank in found:
        if label[: len(prefix)].lower() == low and label not in best:
            differs = not label.startswith(prefix)
            best[label] = (differs, rank, label.startswith("__"), label.startswith("_"), label.lower(), label, kind)
    ordered = sorted(best.values())
    items = [{"label": row[5][:_LABEL], "type": row[6], "start": start + 1, "length": length} for row in ordered[:MOST]]
    return {"items": items, "total": len(ordered), "has_more": len(ordered) > len(items)}


def _open_string(text: str) -> Optional[int]:
    """Where the string begins in which the text ends, or the comment: nothing is offered there either."""
    opened: Optional[int] = None
    quote, at = "", 0
    while at < len(text):
        char = text[at]
        if opened is not None:
            if char == "\\":
                at += 1
            elif text.startswith(quote, at):
                at += len(quote) - 1
                opened = None
            elif char == "\n" and len(quote) == 1:
                opened = None
        elif char in "'\"":
            quote = char * 3 if text.startswith(char * 3, at) else char
            opened = at + len(quote) - 1
            at = opened
        elif char == "#":
            end = text.find("\n", at)
            if end < 0:
                return at
            at = end
        at += 1
    return opened


def _after(before: str, start: int, frame: Any) -> Iterable[Found]:
    lead = before[:start].rstrip()
    if lead.endswith("."):
        owner = _owner(lead[:-1], frame)
        return [] if owner is lookup.MISSING else _attributes(owner)
    names = _names(frame)
    if lead.endswith("[") and start == len(before):
        owner = _owner(lead[:-1], frame)
        if owner is not lookup.MISSING:
            return [*_keys(owner, as_written=True), *names]
    return names


def _keys_in_string(before: str, quote: int, frame: Any) -> Iterable[Found]:
    lead = before[:quote].rstrip()
    if before[quote] == "#" or not lead.endswith("["):
        return []
    owner = _owner(lead[:-1], frame)
    return [] if owner is lookup.MISSING else _keys(owner, as_written=False)


def _keys(owner: Any, as_written: bool) -> List[Found]:
    base = raw.builtin_base(type(owner))
    if base not in raw.PAIRED:
        return []
    keys = [pair[0] for pair in raw.window(owner, base, 0, _KEYS)]
    if as_written:
        return [(key_name(key, 0.0), "key", 0) for key in keys]
    return [(key, "key", 0) for key in keys if type(key) is str and len(key) <= _LABEL]


def _owner(text: str, frame: Any) -> Any:
    chain = _chain(text.rstrip())
    if len(chain) > lookup.LONGEST:
        return lookup.MISSING
    try:
        tree = ast.parse(chain, mode="eval").body
    except Exception:
        return lookup.MISSING
    return lookup.follow(tree, names_of(frame))


def _chain(text: str) -> str:
    """The names, dots and subscripts that the text ends with."""
    at = len(text)
    while at:
        if text[at - 1] == "]":
            at = _opening(text, at - 1)
        else:
            match = _NAME.search(text[:at])
            if match is None:
                return _literal(text, at)
            at = match.start()
            if not text[:at].endswith("."):
                return text[at:]
            at -= 1
    return text


def _literal(text: str, at: int) -> str:
    """A string in quotes has attributes as well; everything else is no plain chain."""
    if at and text[at - 1] in "'\"":
        begin = text.rfind(text[at - 1], 0, at - 1)
        if begin >= 0:
            return text[begin:]
    return ""


def _opening(text: str, at: int) -> int:
    depth = 0
    while at >= 0:
        char = text[at]
        if char in "'\"":
            at = text.rfind(char, 0, at)
        elif char in _CLOSERS:
            depth += 1
        elif char in _OPENERS:
            depth -= 1
            if not depth:
                return at
        at -= 1
    return 0


def _attributes(owner: Any) -> Iterable[Found]:
    for name, value in lookup.offered(owner):
        if name.isidentifier():
            yield name, lookup.kind(value), 0


def _names(frame: Any) -> List[Found]:
    found: List[Found] = []
    for namespace, rank in ((frame.f_locals, 0), (frame.f_globals, 0), (vars(builtins), 1)):
        found += [
            (name, lookup.kind(value), rank)
            for name, value in variables(namespace).items()
            if type(name) is str and name.isidentifier() and name != "__pydevd_ret_val_dict"
        ]
    return found + [(word, "keyword", 2) for word in keyword.kwlist]
