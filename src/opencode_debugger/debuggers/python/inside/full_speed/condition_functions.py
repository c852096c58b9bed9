"""Makes a function of a breakpoint's condition, which costs much less than evaluating it at each arrival.

Only of expressions that mean the same inside a function: what assigns, waits or looks at the variables around it is
evaluated in the frame as ever, and so is a condition with a local variable that has no value yet.
"""

from __future__ import annotations

import ast
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..breakpoints.hit_decisions import HitRule, evaluate_in_scope

Test = Callable[[Any], object]
"""Takes the frame; what it returns is true or false."""
ODD_NODES = (
    ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
ODD_NAMES = frozenset(("super", "locals", "vars", "dir", "eval", "exec", "__class__"))
_PLAIN = """
def is_met(_ocdb_frame):
    return _ocdb_condition
"""
_WITH_LOCALS = """
def is_met(_ocdb_frame, _ocdb_evaluate):
    _ocdb_names = _ocdb_frame.f_locals
    try:
        %s
    except KeyError:
        return _ocdb_evaluate(_ocdb_frame)
    return _ocdb_condition
"""


def make_test(rule: HitRule, code: CodeType, scope: Any) -> Test:
    """Return the test of a rule that has a condition, for frames of this code with these globals."""

    condition, text = rule.condition, rule.condition_text
    assert condition is not None and text is not None

    def evaluate(frame: Any) -> object:
        return evaluate_in_scope(condition, frame)

    try:
        return _compile_test(text, code, scope.f_globals, scope.f_locals, evaluate) or evaluate
    except (SyntaxError, ValueError, RecursionError):
        return evaluate


def _compile_test(text: str, code: CodeType, names: Any, local_names: Any, evaluate: Test) -> Optional[Test]:
    found = usable_expression(text, code, names, local_names)
    if found is None:
        return None
    expression, own = found
    source = _WITH_LOCALS % reading_text(own) if own else _PLAIN
    return compile_function(source, {"_ocdb_condition": expression}, names, (evaluate,) if own else None)


def usable_expression(text: str, code: CodeType, names: Any, local_names: Any) -> Optional[Tuple[ast.expr, List[str]]]:
    """Return a condition and the local variables in it, if it means the same inside a function with these globals."""
    is_function = bool(code.co_flags & CO_OPTIMIZED)
    if type(names) is not dict or not (is_function or local_names is names):
        return None
    expression = ast.parse(text.strip(), "<condition>", "eval").body
    used = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    if used & ODD_NAMES or any(isinstance(node, ODD_NODES) for node in ast.walk(expression)):
        return None
    known = (*code.co_varnames, *code.co_cellvars, *code.co_freevars) if is_function else ()
    return expression, [name for name in dict.fromkeys(known) if name in used]


def reading_text(names: List[str]) -> str:
    """Return statements that read these variables from the frame's."""
    return "; ".join("%s = _ocdb_names[%r]" % (name, name) for name in dict.fromkeys(names))


class NameReplacement(ast.NodeTransformer):
    """Puts expressions where names are."""

    def __init__(self, expressions: Dict[str, ast.expr]) -> None:
        self._expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self._expressions.get(node.id)
        if found is None:
            return node
        placed: ast.expr = self.visit(found)
        return placed


def compile_function(source: str, expressions: Dict[str, ast.expr], names: Any, defaults: Any) -> FunctionType:
    """Return the one function that is defined there, with expressions where it has names for them."""
    tree: ast.Module = ast.fix_missing_locations(NameReplacement(expressions).visit(ast.parse(source)))
    module = compile(tree, "<condition>", "exec", dont_inherit=True)
    inner = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    return FunctionType(inner, names, inner.co_name, defaults)
