"""Functions, generators and coroutines: what they take, where they are."""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import raw

_PREFIXES: Dict[type, str] = {GeneratorType: "gi_", CoroutineType: "cr_", AsyncGeneratorType: "ag_"}
_KINDS = {GeneratorType: "generator", CoroutineType: "coroutine", AsyncGeneratorType: "async_generator"}
_DEFAULT_LIMIT = 30
_SIGNATURE_LIMIT = 300
_VARARGS, _VARKEYWORDS = 0x04, 0x08


def is_paused_call(obj: Any) -> bool:
    cls = type(obj)
    return type(cls) is type and cls in _PREFIXES


def progress(obj: Any) -> Tuple[str, Optional[int]]:
    """created, running, suspended or closed, and the line."""
    prefix = _PREFIXES[type(obj)]
    frame = getattr(obj, prefix + "frame")
    if frame is None:
        return "closed", None
    if getattr(obj, prefix + "running"):
        return "running", frame.f_lineno
    suspended = getattr(obj, prefix + "suspended", frame.f_lasti >= 0)
    return ("suspended" if suspended else "created"), frame.f_lineno


def progress_text(obj: Any) -> str:
    state, line = progress(obj)
    where = state if line is None else "%s, line %d" % (state, line)
    name = str.__getitem__(obj.__qualname__, slice(0, raw.NAME_LIMIT))
    return "<%s object %s at %#x (%s)>" % (_KINDS[type(obj)], name, id(obj), where)


def progress_locals(obj: Any) -> Any:
    """The variables of a call that waits."""
    frame = getattr(obj, _PREFIXES[type(obj)] + "frame")
    return {} if frame is None or progress(obj)[0] == "running" else frame.f_locals


def signature(function: FunctionType, render: Callable[[Any, int], Tuple[str, bool]]) -> str:
    """As it was written, but for annotations; nothing of the program's runs but the repr of defaults, contained."""
    code = function.__code__
    names = list(code.co_varnames)
    positional = names[: code.co_argcount]
    keywords = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = names[code.co_argcount + code.co_kwonlyargcount :]
    defaults = function.__defaults__ or ()
    shown: List[str] = []
    for place, name in enumerate(positional):
        at = place - (len(positional) - len(defaults))
        shown.append(name if at < 0 else "%s=%s" % (name, render(defaults[at], _DEFAULT_LIMIT)[0]))
        if place + 1 == code.co_posonlyargcount:
            shown.append("/")
    if code.co_flags & _VARARGS:
        shown.append("*" + rest.pop(0))
    elif keywords:
        shown.append("*")
    given: Any = function.__kwdefaults__ or {}
    for name in keywords:
        shown.append("%s=%s" % (name, render(given[name], _DEFAULT_LIMIT)[0]) if name in given else name)
    if code.co_flags & _VARKEYWORDS:
        shown.append("**" + rest.pop(0))
    text = "(%s)" % ", ".join(shown)
    return text if len(text) <= _SIGNATURE_LIMIT else text[: _SIGNATURE_LIMIT - 3] + "..."
