"""The text of a Python expression: its mistakes, and whether evaluating it may change the program."""

from __future__ import annotations

import ast
import warnings

from ..shapes import SyntaxErrorInfo

LONGEST = 64 * 1024
"""characters of an expression"""

HARMLESS = frozenset(
    {
        "abs", "ascii", "bin", "bool", "callable", "chr", "complex", "divmod", "float", "format", "getattr", "hasattr",
        "hash", "hex", "id", "int", "isinstance", "issubclass", "len", "oct", "ord", "range", "repr", "round", "slice",
        "str", "type",
    }
)  # fmt: skip
"""Builtins that only look. Those that iterate are not here: they use up the generators they are given."""

ACTS = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def check_expression(text: str) -> SyntaxErrorInfo | None:
    """Return what is wrong with a Python expression, if anything."""
    stripped = text.strip()
    if not stripped:
        return SyntaxErrorInfo("SyntaxError: the expression is empty", 1)
    if len(stripped) > LONGEST:
        return SyntaxErrorInfo(f"SyntaxError: the expression is longer than {LONGEST} characters", None)
    if "\0" in text:
        return SyntaxErrorInfo("SyntaxError: the expression contains a null byte", text.index("\0") + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(stripped, "<expression>", "eval", dont_inherit=True)
    except SyntaxError as error:
        # The error's place in the whole text, which may have several lines; Python says 0 for its end.
        indent = len(text) - len(text.lstrip())
        before = sum(len(line) + 1 for line in stripped.split("\n")[: (error.lineno or 1) - 1])
        offset = indent + (before + error.offset if error.offset else len(stripped) + 1)
        return SyntaxErrorInfo(f"SyntaxError: {error.msg}", offset)
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return SyntaxErrorInfo(f"SyntaxError: {error or 'the expression is too deeply nested'}", None)
    return None


def has_side_effects(text: str) -> bool:
    """Tell whether evaluating an expression may change the program, as far as its text tells.

    Calls, await and assignments may. Attributes, operators and items run code of the program too if it defines them so;
    that cannot be told from the text and does not count."""
    try:
        tree = compile(text.strip(), "<expression>", "eval", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    harmless = (isinstance(call.func, ast.Name) and call.func.id in HARMLESS and not call.keywords for call in calls)
    return not all(harmless) or any(isinstance(node, ACTS) for node in ast.walk(tree))
