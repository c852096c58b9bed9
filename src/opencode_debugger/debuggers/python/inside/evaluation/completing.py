"""Lists what may follow at a place in an unfinished expression: names in scope, attributes, keys of a mapping."""

from __future__ import annotations

import builtins
import contextlib
import keyword
import re
from types import FrameType
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple

from ..rpc.call_scope import frame_variables, names_in_frame
from ..source.quiet_parsing import parse_quietly
from ..values import raw
from ..values.members import key_name
from . import quiet_lookup

if TYPE_CHECKING:
    from ....rows import CompletionPage, CompletionRow

_LABEL_LIMIT = 200
_NAME = re.compile(r"[^\W\d]\w*\Z")

Found = Tuple[str, str, int]
"""label, type, rank: the lower, the earlier"""


def complete_text(text: str, column: Optional[int], frame: FrameType) -> CompletionPage:
    at = len(text) if column is None else min(max(0, column - 1), len(text))
    before = text[:at]
    quote = _open_string(before)
    if quote is not None:
        start, lead = quote + 1, before[:quote].rstrip()
        has_keys = before[quote] != "#" and lead.endswith("[")
        found = _mapping_keys(lead, frame, as_written=False) if has_keys else []
    else:
        match = _NAME.search(before)
        start = match.start() if match else at
        lead = before[:start].rstrip()
        if lead.endswith("."):
            owner = _find_owner(lead[:-1], frame)
            found = [] if owner is raw.MISSING else _spellable(quiet_lookup.offered_attributes(owner), 0)
        else:
            has_keys = lead.endswith("[") and start == at
            found = (_mapping_keys(lead, frame, as_written=True) if has_keys else []) + _visible_names(frame)
    prefix = before[start:]
    best: Dict[str, Tuple[Any, ...]] = {}
    for label, kind, rank in found:
        if label[: len(prefix)].lower() == prefix.lower() and label not in best:
            differs = not label.startswith(prefix)
            best[label] = (differs, rank, label.startswith("__"), label.startswith("_"), label.lower(), label, kind)
    items: List[CompletionRow] = [
        {"label": label[:_LABEL_LIMIT], "type": kind, "start": start + 1, "length": at - start}
        for *_, label, kind in sorted(best.values())[:200]
    ]
    return {"items": items, "total": len(best), "has_more": len(best) > len(items)}


def _open_string(text: str) -> Optional[int]:
    """Return where the string begins in which the text ends, or the comment, in which nothing is offered either."""
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


def _mapping_keys(lead: str, frame: FrameType, as_written: bool) -> List[Found]:
    owner = _find_owner(lead[:-1], frame)
    base = raw.builtin_base(type(owner))
    if base not in raw.PAIRED:
        return []
    keys = [pair[0] for pair in raw.item_window(owner, base, 0, 2000)]
    if as_written:
        return [(key_name(key, 0.0), "key", 0) for key in keys]
    return [(key, "key", 0) for key in keys if type(key) is str and len(key) <= _LABEL_LIMIT]


def _find_owner(text: str, frame: FrameType) -> object:
    """Return the value of the expression that the text ends with, or MISSING."""
    chain = _trailing_chain(text.rstrip())
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        if len(chain) <= quiet_lookup.LONGEST_EXPRESSION:
            return quiet_lookup.try_find(parse_quietly(chain, mode="eval").body, names_in_frame(frame))
    return raw.MISSING


def _trailing_chain(text: str) -> str:
    """Return the names, dots and subscripts that the text ends with."""
    at = len(text)
    while at:
        if text[at - 1] == "]":
            at = _opening_bracket(text, at - 1)
            continue
        match = _NAME.search(text[:at])
        if match is None:  # a string in quotes has attributes as well; anything else is no plain chain
            begin = text.rfind(text[at - 1], 0, at - 1) if text[at - 1] in "'\"" else -1
            return text[begin:] if begin >= 0 else ""
        at = match.start()
        if not text[:at].endswith("."):
            return text[at:]
        at -= 1
    return text


def _opening_bracket(text: str, at: int) -> int:
    depth = 0
    while at >= 0:
        char = text[at]
        if char in "'\"":
            at = text.rfind(char, 0, at)
        elif char in ")]}":
            depth += 1
        elif char in "([{":
            depth -= 1
            if not depth:
                return at
        at -= 1
    return 0


def _visible_names(frame: FrameType) -> List[Found]:
    found: List[Found] = []
    for namespace, rank in ((frame.f_locals, 0), (frame.f_globals, 0), (vars(builtins), 1)):
        found += _spellable(frame_variables(namespace).items(), rank)
    found += [(word, "keyword", 2) for word in keyword.kwlist]
    return [each for each in found if each[0] != "__pydevd_ret_val_dict"]


def _spellable(pairs: Iterable[Tuple[Any, Any]], rank: int) -> List[Found]:
    named = (pair for pair in pairs if type(pair[0]) is str and pair[0].isidentifier())
    return [(name, quiet_lookup.kind_of_value(value), rank) for name, value in named]
