"""Finds the calls on a line: those that a step may go into, and those that have no frame of Python."""

from __future__ import annotations

import ast
import builtins
import dis
import types
from itertools import islice
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from ..evaluation.quiet_lookup import walk_nodes
from ..python_versions import HAS_POSITIONS
from ..source.quiet_parsing import parse_quietly
from ..source.source_text import text_lines
from ..values import raw, routines
from ..values.atom_texts import clip, encodable

if TYPE_CHECKING:
    from ....rows import TargetRow

LABEL_LIMIT = 100
MOST_TARGETS = 100
_BLOCK_FIELDS = ("body", "orelse", "finalbody", "handlers", "cases")
_NATIVE_ROUTINES = (types.ClassMethodDescriptorType, *routines.BUILTIN_ROUTINES)
_LOAD_OPERATIONS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CONST")
_ATTRIBUTE_OPERATIONS = ("LOAD_ATTR", "LOAD_METHOD")
MOST_NAMES = 10
_CALL_NAMES = [name for name in dis.opmap if name.startswith("CALL") and not name.startswith("CALL_INTRINSIC")]
_CALL_OPERATIONS = frozenset(dis.opmap[name] for name in _CALL_NAMES)


# By the source: what a step may go into.


class StepTarget:
    """One call: its name, its text, and where its text ends, by which its instruction is known (Python 3.11 on)."""

    __slots__ = ("column", "earlier", "end", "label", "line", "name")

    def __init__(self, node: ast.Call, label: str) -> None:
        called = node.func
        self.label = label
        self.line, self.column = node.lineno, node.col_offset + 1
        self.end = (node.end_lineno, node.end_col_offset)
        self.earlier = 0
        """calls of the same name that come before it"""
        if isinstance(called, ast.Name):
            self.name = called.id
        else:
            self.name = called.attr if isinstance(called, ast.Attribute) else label

    def as_row(self, number: int) -> TargetRow:
        return {"id": number, "name": self.name, "label": self.label, "line": self.line, "column": self.column}


class LineTargets:
    """The statements that are on a line, from the first of their lines to the last, and their calls in order."""

    def __init__(self, frame: FrameType) -> None:
        self.first = self.last = frame.f_lineno
        self.targets: List[StepTarget] = []
        source = "".join(text_lines(frame.f_code.co_filename, frame.f_globals))
        try:
            tree = parse_quietly(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        calls: Dict[Tuple[Any, Any], ast.Call] = {}
        for parts, first, last in _statements_on(tree, frame.f_lineno):
            self.first, self.last = min(self.first, first), max(self.last, last)
            for part in parts:
                for call in _calls_in(part, frame):
                    calls[(call.end_lineno, call.end_col_offset)] = call
        counts: Dict[str, int] = {}
        for _, call in sorted(calls.items())[:MOST_TARGETS]:  # arguments are called before what they are passed to
            text = " ".join((ast.get_source_segment(source, call) or "").split())
            target = StepTarget(call, encodable(clip(text, LABEL_LIMIT)[0]))
            target.earlier = counts.get(target.name, 0)
            counts[target.name] = target.earlier + 1
            self.targets.append(target)

    def as_rows(self) -> List[TargetRow]:
        return [target.as_row(number) for number, target in enumerate(self.targets)]

    def find_target(self, wanted: Any) -> Optional[StepTarget]:
        """Return a call by its number, its name, or the text before its arguments."""
        if isinstance(wanted, int):
            return self.targets[wanted] if 0 <= wanted < len(self.targets) else None
        for target in self.targets:
            if wanted in (target.name, target.label) or target.label.startswith(wanted + "("):
                return target
        return None


def _statements_on(tree: ast.AST, line: int) -> Iterator[Tuple[List[ast.AST], int, int]]:
    """Yield statements whose own part, without the block below, has the line: expressions, first line, last line."""
    for node in walk_nodes(tree):
        if not isinstance(node, ast.stmt):
            continue
        fields = [field for name, field in ast.iter_fields(node) if name not in _BLOCK_FIELDS]
        values = [value for field in fields for value in (field if isinstance(field, list) else [field])]
        parts = [value for value in values if isinstance(value, ast.AST)]
        first = min([node.lineno] + [part.lineno for part in parts if hasattr(part, "lineno")])
        last = max([node.lineno] + [getattr(part, "end_lineno", None) or 0 for part in parts])
        if first <= line <= last:
            yield parts, first, last


def _calls_in(node: ast.AST, frame: FrameType, inside: bool = False) -> Iterator[ast.Call]:
    """Yield what the frame itself calls: what a lambda calls belongs to the lambda's frame."""
    in_lambda = frame.f_code.co_name == "<lambda>"
    if isinstance(node, ast.Lambda):
        if not in_lambda or node.lineno != frame.f_code.co_firstlineno:
            return
        inside = True
    if isinstance(node, ast.Call) and inside == in_lambda:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _calls_in(child, frame, inside)


def end_of_instruction(frame: FrameType) -> Optional[Tuple[Any, Any]]:
    """Return where the text ends that the frame is executing: line and column in bytes, or None if unknown."""
    code: Any = frame.f_code
    if not HAS_POSITIONS:
        return None
    _, end_line, _, end_column = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    return None if end_column is None else (end_line, end_column)


# By the bytecode: whether there are any, and which are native.


def has_calls_on(code: CodeType, line: int) -> bool:
    ranges = _line_ranges(code, line)
    return any(code.co_code[at] in _CALL_OPERATIONS for first, last in ranges for at in range(first, last, 2))


def native_names_on(frame: FrameType, line: int) -> List[str]:
    """Return the native functions that a line names, if it calls anything; nothing runs for that."""
    found: List[str] = []
    value: Any = raw.MISSING
    text = ""
    calls = False
    ranges = _line_ranges(frame.f_code, line)
    for instruction in dis.get_instructions(frame.f_code):
        if not any(first <= instruction.offset < last for first, last in ranges):
            continue
        name = instruction.opname
        calls = calls or name.startswith(("CALL", "PRECALL"))
        if name.startswith(_LOAD_OPERATIONS):
            argument = instruction.argval[-1] if isinstance(instruction.argval, tuple) else instruction.argval
            value = argument if name == "LOAD_CONST" else _variable_value(frame, argument)
            text = "" if name == "LOAD_CONST" else str(argument)
        elif name in _ATTRIBUTE_OPERATIONS:
            value = _attribute_value(value, instruction.argval)
            text = "%s.%s" % (text, instruction.argval) if text else str(instruction.argval)
        elif name not in ("CACHE", "PUSH_NULL"):
            value = raw.MISSING
        if _is_native(value) and text not in found:
            found.append(text)
    return [name[: raw.NAME_LIMIT] for name in found[:MOST_NAMES]] if calls else []


def _line_ranges(code: CodeType, line: int) -> List[Tuple[int, int]]:
    starts = [start for start in dis.findlinestarts(code) if start[1] is not None]
    ends = [offset for offset, _ in starts[1:]] + [len(code.co_code)]
    return [(offset, end) for (offset, number), end in zip(starts, ends) if number == line]


def _variable_value(frame: FrameType, name: Any) -> object:
    namespaces = (raw.plain_variables(each) or {} for each in (frame.f_locals, frame.f_globals, vars(builtins)))
    return next((namespace[name] for namespace in namespaces if name in namespace), raw.MISSING)


def _attribute_value(value: Any, name: Any) -> object:
    if type(value) is types.ModuleType:
        return (raw.instance_dict(value) or {}).get(name, raw.MISSING)
    cls = type(value)
    if type(cls) is type and (cls in raw.CONTAINERS or cls in raw.ATOMS):
        return raw.class_attribute(cls, name)
    return raw.MISSING


def _is_native(value: Any) -> bool:
    return routines.is_builtin_class(value) or raw.is_one_of(value, _NATIVE_ROUTINES)
