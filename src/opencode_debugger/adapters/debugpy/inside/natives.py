"""What a line calls that is not written in Python: a step into it finds no frame to stop in."""

from __future__ import annotations

import builtins
import dis
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FrameType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, List

from . import raw

_OF_C = (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
_HEAP = 1 << 9
_LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CONST")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
MOST = 10


def called(frame: FrameType, line: int) -> List[str]:
    """Names on a line of the frame's function, if the line calls anything; nothing of the program runs for it."""
    found: List[str] = []
    value: Any = raw.MISSING
    text = ""
    calls = False
    ranges = _ranges(frame, line)
    for instruction in dis.get_instructions(frame.f_code):
        if not any(first <= instruction.offset < last for first, last in ranges):
            continue
        name = instruction.opname
        calls = calls or name.startswith(("CALL", "PRECALL"))
        if name.startswith(_LOADS):
            argument = instruction.argval[-1] if isinstance(instruction.argval, tuple) else instruction.argval
            value = argument if name == "LOAD_CONST" else _variable(frame, argument)
            text = "" if name == "LOAD_CONST" else str(argument)
        elif name in _ATTRIBUTES:
            value = _attribute(value, instruction.argval)
            text = "%s.%s" % (text, instruction.argval) if text else str(instruction.argval)
        elif name not in ("CACHE", "PUSH_NULL"):
            value = raw.MISSING
        if _is_native(value) and text not in found:
            found.append(text)
    return [name[: raw.NAME_LIMIT] for name in found[:MOST]] if calls else []


def _ranges(frame: FrameType, line: int) -> List[Any]:
    starts = [start for start in dis.findlinestarts(frame.f_code) if start[1] is not None]
    ends = [offset for offset, _ in starts[1:]] + [len(frame.f_code.co_code)]
    return [(offset, end) for (offset, number), end in zip(starts, ends) if number == line]


def _variable(frame: FrameType, name: Any) -> Any:
    for namespace in (frame.f_locals, frame.f_globals, vars(builtins)):
        found = (raw.plain_variables(namespace) or {}).get(name, raw.MISSING)
        if found is not raw.MISSING:
            return found
    return raw.MISSING


def _attribute(value: Any, name: Any) -> Any:
    if type(value) is ModuleType:
        return (raw.instance_dict(value) or {}).get(name, raw.MISSING)
    cls = type(value)
    if type(cls) is type and (cls in raw.CONTAINERS or cls in raw.ATOMS):
        return raw.class_attribute(cls, name)
    return raw.MISSING


def _is_native(value: Any) -> bool:
    cls = type(value)
    if cls is type:
        return not value.__flags__ & _HEAP
    return type(cls) is type and cls in _OF_C
