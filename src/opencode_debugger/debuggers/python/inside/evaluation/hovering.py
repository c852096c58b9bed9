"""Finds the expression at a place in a source file, and tells what is worth knowing of a value."""

from __future__ import annotations

import ast
import inspect
import re
import types
from itertools import islice
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Set, Tuple, Union

from ..frames import outward_frames
from ..source import source_text
from ..source.quiet_parsing import parse_quietly
from ..values import raw, routines
from ..values.atom_texts import clip, encodable
from ..values.bounded_repr import render_value
from .quiet_lookup import walk_nodes

if TYPE_CHECKING:
    from ....rows import HoverRow


class NothingToShow(Exception):
    """Says why there is nothing to show."""


class FoundExpression(NamedTuple):
    """An expression, its place, and the function that it is written in."""

    node: Any
    text: str
    line: int
    column: int
    end_column: int
    function: Any


def find_expression(lines: List[str], line: int, column: int) -> FoundExpression:
    """Find what is written at a place. Expressions with calls are refused: pointing at something must not run it."""
    if not 1 <= line <= len(lines):
        raise NothingToShow("Line %d does not exist: the file ends with line %d" % (line, len(lines)))
    if sum(map(len, lines)) > 2000000:
        raise NothingToShow("The file is too large to be parsed for this")
    text = "\n".join(lines) + "\n"
    try:
        tree = parse_quietly(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NothingToShow("The file does not compile: %s" % error) from None
    finder = _ExpressionFinder(line, column, lines[line - 1])
    finder.visit(tree)
    if finder.found is None:
        raise NothingToShow("There is no name at line %d, column %d" % (line, column))
    source = finder.name or ast.get_source_segment(text, finder.found) or ""
    for node in walk_nodes(finder.found):
        if isinstance(node, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            raise NothingToShow("`%s` has a call in it, which is not run by pointing at it" % clip(source, 200)[0])
    shown = finder.text.encode("utf-8")
    begin, end = (len(shown[:at].decode("utf-8", "replace")) + 1 for at in (finder.start, finder.end))
    return FoundExpression(finder.found, source, line, begin, end, finder.function)


class _ExpressionFinder(ast.NodeVisitor):
    """Finds the smallest name, attribute or subscript around a place; columns in bytes, as Python counts them."""

    def __init__(self, line: int, column: int, text: str) -> None:
        self.line, self.text = line, text
        self.at = len(text[: column - 1].encode("utf-8"))
        self.found: Any = None
        self.name: Optional[str] = None
        self.start = self.end = 0
        self.function: Any = None

    def take_node(self, node: Any, start: int, end: int, name: Optional[str] = None) -> None:
        if start <= self.at < end:
            self.found, self.start, self.end, self.name = node, start, end, name

    def take_name(self, name: str, start: int) -> None:
        """Take a name that has no node of its own if the place is in it."""
        self.take_node(ast.Name(name, ast.Load()), start, start + len(name.encode("utf-8")), name)

    def generic_visit(self, node: ast.AST) -> None:
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            first = min(first or 1, *(each.lineno for each in decorators))
        if first is None or last is None or first <= self.line <= last:
            super().generic_visit(node)

    def visit_FunctionDef(self, node: Any) -> None:
        before = self.function
        if any(part.lineno <= self.line <= (part.end_lineno or part.lineno) for part in node.body):
            self.function = node
        self.visit_definition(node, len("async def " if isinstance(node, ast.AsyncFunctionDef) else "def "))
        if self.found is None:
            self.function = before

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: Any) -> None:
        self.visit_definition(node, len("class "))

    def visit_definition(self, node: Any, lead: int) -> None:
        if node.lineno == self.line:
            self.take_name(node.name, node.col_offset + lead)
        self.generic_visit(node)

    def visit_Import(self, node: Any) -> None:
        """Find imported names in the text of the line: before Python 3.10 their nodes have no place."""
        bound = {(each.asname or each.name.partition(".")[0]) for each in node.names}
        if not node.lineno <= self.line <= node.end_lineno:
            return
        for match in re.finditer(r"\w+", self.text):
            if match.group() in bound:
                self.take_name(match.group(), len(self.text[: match.start()].encode("utf-8")))

    visit_ImportFrom = visit_Import

    def visit_arg(self, node: Any) -> None:
        if node.lineno == self.line:
            self.take_name(node.arg, node.col_offset)
        self.generic_visit(node)

    def visit_Name(self, node: Any) -> None:
        if node.lineno == self.line:
            self.take_node(node, node.col_offset, node.end_col_offset)

    def visit_Attribute(self, node: Any) -> None:
        start = node.end_col_offset - len(node.attr.encode("utf-8"))
        if node.end_lineno == self.line and start <= self.at < node.end_col_offset:
            self.take_node(node, start, node.end_col_offset)
        else:
            self.visit(node.value)

    def visit_Subscript(self, node: Any) -> None:
        self.generic_visit(node)
        is_here = node.lineno == node.end_lineno == self.line
        if self.found is None and is_here and node.value.end_col_offset <= self.at < node.end_col_offset:
            self.take_node(node, node.col_offset, node.end_col_offset)


def scope_for(found: FoundExpression, path: str, frame: Any) -> Union[types.FrameType, Dict[str, Any]]:
    """Return the frame, or the module's globals, in which the name means what it means in the source."""
    function = found.function
    callers = islice(outward_frames(frame), 1000)
    here = [each for each in callers if source_text.is_same_file(each.f_code.co_filename, path)]
    if function is not None:
        firsts = [function.lineno, *(each.lineno for each in function.decorator_list)]
        for each in here:
            if each.f_code.co_name == function.name and each.f_code.co_firstlineno in firsts:
                return each
        names = {node.id for node in walk_nodes(found.node) if isinstance(node, ast.Name)}
        bound = names & _bound_names(function)
        if bound:
            raise NothingToShow("%s belongs to %s(), which is not on this stack" % (min(bound), function.name))
    module = here[0].f_globals if here else source_text.module_globals(path)
    if module is None:
        raise NothingToShow("Nothing of this file has been loaded by the program")
    return module


def _bound_names(function: Any) -> Set[str]:
    nodes = list(walk_nodes(function))
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {node.arg for node in nodes if isinstance(node, ast.arg)} | (stored - declared)


def callable_facts(value: Any) -> HoverRow:
    """Return the signature of what can be called, and how its documentation begins; nothing is run."""
    more: HoverRow = {}
    signature = _signature_text(value)
    if signature is not None:
        more["signature"] = encodable(clip(signature, 300)[0])
    doc = _stored_documentation(value)
    if type(doc) is str and doc.strip():
        more["documentation"] = encodable(clip(inspect.cleandoc(doc).split("\n\n")[0], 300)[0])
    return more


def _signature_text(value: Any) -> Optional[str]:
    if _is_builtin_callable(value):
        text = value.__text_signature__
        return None if text is None else value.__name__ + re.sub(r"\$\w+(, /)?(, )?", "", text)
    function, is_bound = _function_of(value)
    if function is None:
        return None
    name = value.__name__ if raw.is_one_of(value, (types.FunctionType, types.MethodType)) else ""
    name = raw.class_name(value) if raw.is_a(value, type) else name
    parameters = routines.signature_text(function, render_value, is_bound, is_annotated=True)
    return (name if type(name) is str else "") + parameters


def _function_of(value: Any) -> Tuple[Optional[types.FunctionType], bool]:
    """Return the function that runs when the value is called, and whether its first parameter is given already."""
    if type(value) is types.MethodType:
        return _unwrapped_function(value.__func__), True
    if type(value) is types.FunctionType:
        return _unwrapped_function(value), False
    if not raw.is_a(value, type):
        return _unwrapped_function(raw.class_attribute(type(value), "__call__")), True
    if type(value) is not type and raw.class_attribute(type(value), "__call__") is not type.__call__:
        return None, False
    made = raw.class_attribute(value, "__new__")
    made = made.__func__ if type(made) is staticmethod else made
    return _unwrapped_function(raw.class_attribute(value, "__init__")) or _unwrapped_function(made), True


def _unwrapped_function(value: Any) -> Optional[types.FunctionType]:
    """Return the function itself, or the one that it was wrapped around."""
    for _ in range(10):
        inner = (raw.instance_dict(value) or {}).get("__wrapped__")
        if type(value) is not types.FunctionType or type(inner) is not types.FunctionType:
            break
        value = inner
    return value if type(value) is types.FunctionType else None


def _is_builtin_callable(value: Any) -> bool:
    return routines.is_builtin_class(value) or raw.is_one_of(value, routines.BUILTIN_ROUTINES)


def _stored_documentation(value: Any) -> object:
    if type(value) is types.MethodType:
        value = value.__func__
    if _is_builtin_callable(value):
        return value.__doc__
    if raw.is_a(value, type):
        return raw.class_dict(value).get("__doc__")
    if type(value) is types.FunctionType or raw.is_a(value, types.ModuleType):
        return raw.read_attribute(value, "__doc__")
    function = _unwrapped_function(raw.class_attribute(type(value), "__call__"))
    return None if function is None else raw.class_attribute(type(value), "__doc__")
