"""Parses source text without running code of the program.

For names beyond ASCII, and for `\\N{...}`, the parser imports `unicodedata` by the `__import__` of whoever calls it,
which a program may have replaced. So it is called with builtins of our own, and the module is there before.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import unicodedata  # noqa: F401  found in sys.modules, it is not looked for
from typing import Any

_BUILTINS = {**vars(builtins), "__import__": importlib.__import__}
_PARSE = "lambda text, name, mode, flags: compile(text, name, mode, flags, True)"
_parse: Any = eval(_PARSE, {"__builtins__": _BUILTINS})


def parse_quietly(text: str, name: str = "<unknown>", mode: str = "exec", flags: int = 0) -> Any:
    """Return the tree of a text, as `ast.parse` does."""
    return _parse(text, name, mode, flags | ast.PyCF_ONLY_AST)
