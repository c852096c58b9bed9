"""Describes functions, generators and coroutines: what they take, where they are."""

from __future__ import annotations

from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ..python_versions import ANNOTATIONS_RUN_CODE
from . import raw

_PREFIXES: Dict[type, str] = {GeneratorType: "gi_", CoroutineType: "cr_", AsyncGeneratorType: "ag_"}
BUILTIN_ROUTINES = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)
_FLAGS = type.__dict__["__flags__"].__get__
_HEAP_TYPE = 1 << 9
_SIGNATURE_LIMIT = 300

Render = Callable[[Any, int], Tuple[str, bool]]


def is_builtin_class(obj: Any) -> bool:
    return type(obj) is type and not _FLAGS(obj) & _HEAP_TYPE


def is_paused_call(obj: Any) -> bool:
    return raw.is_one_of(obj, _PREFIXES)


def call_progress(obj: Any) -> Tuple[str, Optional[int]]:
    """Return created, running, suspended or closed, and the line."""
    prefix = _PREFIXES[type(obj)]
    frame = getattr(obj, prefix + "frame")
    if frame is None:
        return "closed", None
    if getattr(obj, prefix + "running"):
        return "running", frame.f_lineno
    suspended = getattr(obj, prefix + "suspended", frame.f_lasti >= 0)
    return ("suspended" if suspended else "created"), frame.f_lineno


def progress_text(obj: Any) -> str:
    state, line = call_progress(obj)
    where = state if line is None else "%s, line %d" % (state, line)
    name = str.__getitem__(obj.__qualname__, slice(0, raw.NAME_LIMIT))
    return "<%s object %s at %#x (%s)>" % (raw.type_name(obj), name, id(obj), where)


def progress_locals(obj: Any) -> Mapping[str, Any]:
    frame = getattr(obj, _PREFIXES[type(obj)] + "frame")
    return {} if frame is None or call_progress(obj)[0] == "running" else frame.f_locals


def signature_text(function: FunctionType, render: Render, is_bound: bool = False, is_annotated: bool = False) -> str:
    """Return the signature as it was written; nothing of the program's runs but the repr of defaults, contained."""
    code = function.__code__
    names = list(code.co_varnames)
    notes = _annotation_texts(function, render) if is_annotated else {}
    positional = names[: code.co_argcount]
    keywords = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = names[code.co_argcount + code.co_kwonlyargcount :]
    stored = function.__defaults__  # may be of a class derived from tuple, and the others of one from dict
    defaults = () if stored is None else tuple(tuple.__iter__(stored))
    shown: List[str] = []

    def add_parameter(name: str, default: Any = raw.MISSING, stars: str = "") -> None:
        text = stars + name + (": " + notes[name] if name in notes else "")
        if default is not raw.MISSING:
            text += (" = " if name in notes else "=") + render(default, 30)[0]
        shown.append(text)

    for place, name in enumerate(positional):
        at = place - (len(positional) - len(defaults))
        if place or not is_bound:
            add_parameter(name, raw.MISSING if at < 0 else defaults[at])
        if place + 1 == code.co_posonlyargcount and shown:
            shown.append("/")
    if code.co_flags & CO_VARARGS:
        add_parameter(rest.pop(0), stars="*")
    elif keywords:
        shown.append("*")
    given = raw.plain_variables(function.__kwdefaults__) or {}
    for name in keywords:
        add_parameter(name, given.get(name, raw.MISSING))
    if code.co_flags & CO_VARKEYWORDS:
        add_parameter(rest.pop(0), stars="**")
    text = "(%s)" % ", ".join(shown) + (" -> " + notes["return"] if "return" in notes else "")
    return text if len(text) <= _SIGNATURE_LIMIT else text[: _SIGNATURE_LIMIT - 3] + "..."


def _annotation_texts(function: FunctionType, render: Render) -> Dict[str, str]:
    """Return annotations that can be told in a word; none from Python 3.14 on, where that would run code."""
    found = {} if ANNOTATIONS_RUN_CODE else raw.plain_variables(function.__annotations__) or {}
    texts = {}
    for name, note in found.items():
        if type(note) is not str:
            note = raw.class_name(note) if raw.is_a(note, type) else render(note, 60)[0]
        if type(name) is str and note[:1] != "<":
            texts[name] = note
    return texts
