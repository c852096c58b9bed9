"""Whether evaluating a Python expression may change the program, as far as its text tells.

Calls, await and assignments may. Attributes, operators and items run code of the program too if it defines them so;
that cannot be told from the text and does not count.
"""

from __future__ import annotations

import ast

HARMLESS = frozenset(
    {
        "abs", "ascii", "bin", "bool", "callable", "chr", "complex", "divmod", "float", "format", "getattr", "hasattr",
        "hash", "hex", "id", "int", "isinstance", "issubclass", "len", "oct", "ord", "range", "repr", "round", "slice",
        "str", "type",
    }
)  # fmt: skip
"""Builtins that only look. Those that iterate are not here: they use up the generators they are given."""

ACTS = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def may_have(text: str) -> bool:
    try:
        tree = compile(text.strip(), "<expression>", "eval", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_acts(node) for node in ast.walk(tree))


def _acts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in HARMLESS and not node.keywords)
    return isinstance(node, ACTS)
