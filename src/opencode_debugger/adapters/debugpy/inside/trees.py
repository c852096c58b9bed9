"""What is in a syntax tree."""

from __future__ import annotations

import ast
from typing import Iterator


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """As ast.walk, which imports something each time: that calls `builtins.__import__`, which may be the program's."""
    found = [tree]
    for node in found:
        found.extend(ast.iter_child_nodes(node))
        yield node
