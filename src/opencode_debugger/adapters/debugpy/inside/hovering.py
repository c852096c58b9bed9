"""The expression at a place in a source file, and what is worth knowing of a value."""

from __future__ import annotations

import ast
import inspect
import re
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from . import raw, routines, sources
from .repr import render
from .texts import clip, encodable
from .trees import nodes

_SIGNATURE = 300
_DOC = 300
_SIZE = 2000000
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEPTH = 1000
_WRAPPERS = 10
_HEAP = 1 << 9
_OF_C = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)


class Nothing(Exception):
    """There is nothing to show; says why."""


class Found:
    """An expression, its place, and the function that it is written in."""

    __slots__ = ("column", "end_column", "function", "line", "node", "text")

    def __init__(self, node: Any, text: str, line: int, column: int, end_column: int, function: Any) -> None:
        self.node = node
        self.text = text
        self.line = line
        self.column = column
        self.end_column = end_column
        self.function = function


def find(path: str, lines: List[str], line: int, column: int) -> Found:
    if not 1 <= line <= len(lines):
        raise Nothing("Line %d does not exist: the file ends with line %d" % (line, len(lines)))
    if sum(map(len, lines)) > _SIZE:
        raise Nothing("The file is too large to be parsed for this")
    text = "\n".join(lines) + "\n"
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Nothing("The file does not compile: %s" % error) from None
    at = len(lines[line - 1][: column - 1].encode("utf-8"))
    finder = _Finder(line, at, lines[line - 1])
    finder.visit(tree)
    if finder.found is None:
        raise Nothing("There is no name at line %d, column %d" % (line, column))
    return finder.result(text)


class _Finder(ast.NodeVisitor):
    """The smallest name, attribute or subscript around a place; columns in bytes, as Python counts them."""

    def __init__(self, line: int, at: int, text: str) -> None:
        self.line = line
        self.text = text
        self.at = at
        self.found: Any = None
        self.name: Optional[str] = None
        self.start = self.end = 0
        self.function: Any = None

    def take(self, node: Any, start: int, end: int, name: Optional[str] = None) -> None:
        self.found, self.start, self.end, self.name = node, start, end, name

    def result(self, text: str) -> Found:
        source = self.name or ast.get_source_segment(text, self.found) or ""
        raw_line = self.text.encode("utf-8")
        column = len(raw_line[: self.start].decode("utf-8", "replace")) + 1
        end = len(raw_line[: self.end].decode("utf-8", "replace")) + 1
        return Found(self.found, source, self.line, column, end, self.function)

    def generic_visit(self, node: ast.AST) -> None:
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            first = min(first or 1, *(each.lineno for each in decorators))
        if first is not None and last is not None and not first <= self.line <= last:
            return
        super().generic_visit(node)

    def visit_FunctionDef(self, node: Any) -> None:
        before = self.function
        if any(part.lineno <= self.line <= (part.end_lineno or part.lineno) for part in node.body):
            self.function = node
        self.define(node, len(b"async def " if isinstance(node, ast.AsyncFunctionDef) else b"def "))
        self.generic_visit(node)
        if self.found is None:
            self.function = before

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: Any) -> None:
        self.define(node, len(b"class "))
        self.generic_visit(node)

    def define(self, node: Any, lead: int) -> None:
        start = node.col_offset + lead
        end = start + len(node.name.encode("utf-8"))
        if node.lineno == self.line and start <= self.at < end:
            self.take(ast.Name(node.name, ast.Load()), start, end, node.name)

    def visit_Import(self, node: Any) -> None:
        """Before Python 3.10 it is not said where the names are."""
        bound = {(each.asname or each.name.partition(".")[0]) for each in node.names}
        if not node.lineno <= self.line <= node.end_lineno:
            return
        for match in re.finditer(r"\w+", self.text):
            start = len(self.text[: match.start()].encode("utf-8"))
            end = start + len(match.group().encode("utf-8"))
            if start <= self.at < end and match.group() in bound:
                self.take(ast.Name(match.group(), ast.Load()), start, end, match.group())

    visit_ImportFrom = visit_Import

    def visit_arg(self, node: Any) -> None:
        end = node.col_offset + len(node.arg.encode("utf-8"))
        if node.lineno == self.line and node.col_offset <= self.at < end:
            self.take(ast.Name(node.arg, ast.Load()), node.col_offset, end, node.arg)
        self.generic_visit(node)

    def visit_Name(self, node: Any) -> None:
        if node.lineno == self.line and node.col_offset <= self.at < node.end_col_offset:
            self.take(node, node.col_offset, node.end_col_offset)

    def visit_Attribute(self, node: Any) -> None:
        start = node.end_col_offset - len(node.attr.encode("utf-8"))
        if node.end_lineno == self.line and start <= self.at < node.end_col_offset:
            self.take(node, start, node.end_col_offset)
        else:
            self.visit(node.value)

    def visit_Subscript(self, node: Any) -> None:
        self.generic_visit(node)
        is_here = node.lineno == node.end_lineno == self.line
        if self.found is None and is_here and node.value.end_col_offset <= self.at < node.end_col_offset:
            self.take(node, node.col_offset, node.end_col_offset)


def check(found: Found) -> None:
    """Whoever points at something does not want it to run."""
    for node in nodes(found.node):
        if isinstance(node, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            raise Nothing("`%s` has a call in it, which is not run by pointing at it" % clip(found.text, 200)[0])


def frame_for(found: Found, path: str, frame: Any) -> Any:
    """The frame, or the module's globals, in which the name means what it means in the source."""
    if found.function is not None:
        own = _frame_of(found.function, path, frame)
        if own is not None:
            return own
        names = {node.id for node in nodes(found.node) if isinstance(node, ast.Name)}
        bound = names & set(_bound(found.function))
        if bound:
            raise Nothing("%s belongs to %s(), which is not on this stack" % (min(bound), found.function.name))
    for each in _callers(frame):
        if sources.is_same_file(each.f_code.co_filename, path):
            return each.f_globals
    module = sources.module_of(path)
    if module is None:
        raise Nothing("Nothing of this file has been loaded by the program")
    return module


def _frame_of(function: Any, path: str, frame: Any) -> Any:
    firsts = [function.lineno, *(each.lineno for each in function.decorator_list)]
    for each in _callers(frame):
        code = each.f_code
        is_it = code.co_name == function.name and code.co_firstlineno in firsts
        if is_it and sources.is_same_file(code.co_filename, path):
            return each
    return None


def _callers(frame: Any) -> Iterator[Any]:
    for _ in range(_DEPTH):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _bound(function: Any) -> Iterator[str]:
    declared: Set[str] = set()
    for node in nodes(function):
        if isinstance(node, ast.Global):
            declared.update(node.names)
    for node in nodes(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in declared:
            yield node.id


def about(value: Any) -> Dict[str, Any]:
    """The signature of what can be called, and how its documentation begins: as they are stored, nothing is asked."""
    more: Dict[str, Any] = {}
    signature = _signature(value)
    if signature is not None:
        more["signature"] = encodable(clip(signature, _SIGNATURE)[0])
    doc = _documentation(value)
    if type(doc) is str and doc.strip():
        more["documentation"] = encodable(clip(inspect.cleandoc(doc).split("\n\n")[0], _DOC)[0])
    return more


def _signature(value: Any) -> Optional[str]:
    if raw.is_one_of(value, _OF_C) or (type(value) is type and _is_of_c(value)):
        text = value.__text_signature__
        return None if text is None else value.__name__ + re.sub(r"\$\w+(, /)?(, )?", "", text)
    function, is_bound = _function_of(value)
    if function is None:
        return None
    name = value.__name__ if raw.is_one_of(value, (FunctionType, MethodType)) else ""
    name = raw.class_name(value) if raw.is_a(value, type) else name
    return (name if type(name) is str else "") + routines.signature(function, render, is_bound, is_annotated=True)


def _function_of(value: Any) -> Tuple[Optional[FunctionType], bool]:
    """What runs when it is called, and whether its first parameter is given already."""
    if type(value) is MethodType:
        return _plain(value.__func__), True
    if type(value) is FunctionType:
        return _plain(value), False
    if not raw.is_a(value, type):
        return _plain(raw.class_attribute(type(value), "__call__")), True
    if type(value) is not type and raw.class_attribute(type(value), "__call__") is not type.__call__:
        return None, False
    made = raw.class_attribute(value, "__new__")
    made = made.__func__ if type(made) is staticmethod else made
    return _plain(raw.class_attribute(value, "__init__")) or _plain(made), True


def _plain(value: Any) -> Optional[FunctionType]:
    """The function that it is, or that it was wrapped around."""
    for _ in range(_WRAPPERS):
        inner = (raw.instance_dict(value) or {}).get("__wrapped__")
        if type(value) is not FunctionType or type(inner) is not FunctionType:
            break
        value = inner
    return value if type(value) is FunctionType else None


def _is_of_c(cls: type) -> bool:
    return not type.__dict__["__flags__"].__get__(cls) & _HEAP


def _documentation(value: Any) -> Any:
    if type(value) is MethodType:
        value = value.__func__
    if raw.is_one_of(value, _OF_C) or (type(value) is type and _is_of_c(value)):
        return value.__doc__
    if raw.is_a(value, type):
        return raw.class_dict(value).get("__doc__")
    if type(value) is FunctionType or raw.is_a(value, ModuleType):
        return raw.read(value, "__doc__")
    function = _plain(raw.class_attribute(type(value), "__call__"))
    return None if function is None else raw.class_attribute(type(value), "__doc__")
