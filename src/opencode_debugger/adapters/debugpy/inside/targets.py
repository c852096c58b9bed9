"""The calls on a line, as one may step into them."""

from __future__ import annotations

import ast
from itertools import islice
from types import FrameType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .sources import text_lines
from .texts import clip, encodable
from .trees import nodes

LABEL_LIMIT = 100
MOST = 100
_INNER = ("body", "orelse", "finalbody", "handlers", "cases")


class Target:
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

    def described(self, number: int) -> Dict[str, Any]:
        return {"id": number, "name": self.name, "label": self.label, "line": self.line, "column": self.column}


class Line:
    """The statements that are on a line, from the first of their lines to the last, and their calls in order."""

    def __init__(self, frame: FrameType) -> None:
        self.first = self.last = frame.f_lineno
        self.targets: List[Target] = []
        source = "".join(text_lines(frame.f_code.co_filename, frame.f_globals))
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        calls: Dict[Tuple[Any, Any], ast.Call] = {}
        for parts, first, last in _statements(tree, frame.f_lineno):
            self.first, self.last = min(self.first, first), max(self.last, last)
            for part in parts:
                for call in _calls(part, frame):
                    calls[(call.end_lineno, call.end_col_offset)] = call
        counts: Dict[str, int] = {}
        for _, call in sorted(calls.items())[:MOST]:  # arguments are called before what they are passed to
            text = " ".join((ast.get_source_segment(source, call) or "").split())
            target = Target(call, encodable(clip(text, LABEL_LIMIT)[0]))
            target.earlier = counts.get(target.name, 0)
            counts[target.name] = target.earlier + 1
            self.targets.append(target)

    def described(self) -> List[Dict[str, Any]]:
        return [target.described(number) for number, target in enumerate(self.targets)]

    def find(self, wanted: Any) -> Optional[Target]:
        """By its number, its name, or the text before its arguments."""
        if isinstance(wanted, int):
            return self.targets[wanted] if 0 <= wanted < len(self.targets) else None
        for target in self.targets:
            if wanted in (target.name, target.label) or target.label.startswith(wanted + "("):
                return target
        return None


def _statements(tree: ast.AST, line: int) -> Iterator[Tuple[List[ast.AST], int, int]]:
    """Those whose own part, without the block below, has the line: expressions, first line, last line."""
    for node in nodes(tree):
        if not isinstance(node, ast.stmt):
            continue
        parts = [value for name, field in ast.iter_fields(node) if name not in _INNER for value in _nodes(field)]
        first = min([node.lineno] + [part.lineno for part in parts if hasattr(part, "lineno")])
        last = max([node.lineno] + [getattr(part, "end_lineno", None) or 0 for part in parts])
        if first <= line <= last:
            yield parts, first, last


def _nodes(field: Any) -> List[ast.AST]:
    found = field if isinstance(field, list) else [field]
    return [node for node in found if isinstance(node, ast.AST)]


def _calls(node: ast.AST, frame: FrameType, inside: bool = False) -> Iterator[ast.Call]:
    """What the frame itself calls: what a lambda calls belongs to the lambda's frame."""
    in_lambda = frame.f_code.co_name == "<lambda>"
    if isinstance(node, ast.Lambda):
        if not in_lambda or node.lineno != frame.f_code.co_firstlineno:
            return
        inside = True
    if isinstance(node, ast.Call) and inside == in_lambda:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, frame, inside)


def end_of_instruction(frame: FrameType) -> Optional[Tuple[Any, Any]]:
    """Where the text ends that the frame is executing: line and column in bytes; None if Python does not know."""
    code: Any = frame.f_code
    if not hasattr(code, "co_positions"):
        return None
    for _, end_line, _, end_column in islice(code.co_positions(), frame.f_lasti // 2, None):
        return None if end_column is None else (end_line, end_column)
    return None
