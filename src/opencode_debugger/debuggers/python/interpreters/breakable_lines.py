"""Finds lines of a Python file on which a breakpoint stops; runs inside any Python from 3.8 on, also as a script."""

from __future__ import annotations

import ast
import dis
import json
import os
import stat
import sys
import tokenize
import warnings
from io import BytesIO
from types import CodeType
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple, Union

if TYPE_CHECKING:
    from opencode_debugger.debuggers.rows import FileRow, SyntaxProblem

_TEXT_LIMIT = 1000
_COMPILE_ERRORS = (SyntaxError, ValueError, LookupError, OverflowError, RecursionError, MemoryError)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def examine(path: str) -> FileRow:
    """Return what can be said about breakpoints in the file; problems are told in "error", never raised."""
    try:
        # A pipe or a device would block, or never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            return unreadable("Not a regular file")
        with open(path, "rb") as file:
            return examine_source(file.read(), path)
    except (OSError, ValueError) as error:
        return unreadable(getattr(error, "strerror", None) or str(error))


def examine_source(source: Union[str, bytes], name: str) -> FileRow:
    """Do the same for a program that is not in a file."""
    raw = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found = _new_result(max(1, raw.count(b"\n") + (not raw.endswith(b"\n"))))
    null, text = raw.find(b"\0"), ""
    if null >= 0:
        line, offset = 1 + raw.count(b"\n", 0, null), null - raw.rfind(b"\n", 0, null)
        found["error"] = _problem("source code cannot contain null bytes", line, offset)
    try:
        text = source if isinstance(source, str) else raw.decode(tokenize.detect_encoding(BytesIO(raw).readline)[0])
        if null < 0:
            _add_lines(found, text, name)
    except UnicodeDecodeError as error:
        found["error"] = _problem("(unicode error) %s" % error, 1 + raw.count(b"\n", 0, error.start))
    except _COMPILE_ERRORS as error:
        found["error"] = _explain_error(error, text)
    return found


def unreadable(message: str) -> FileRow:
    """Return what examine says of a file that it could not look into."""
    return _new_result(0, _problem(message))


def _add_lines(found: FileRow, text: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(text, name, "exec", dont_inherit=True)
        tree = ast.parse(text, name)
        nodes = list(ast.walk(tree))
    docstrings = _docstrings(nodes)
    spans = [[node.lineno, node.end_lineno or node.lineno] for node in docstrings]
    own: Set[ast.AST] = set(docstrings) | {node.value for node in docstrings}
    # Lines on which something else begins are not theirs alone, as in `def f(): "text"` or `"text"; x = 1`.
    shared = {node.lineno for node in nodes if isinstance(node, (ast.stmt, ast.expr)) and node not in own}
    lines = _lines_with_code(code) - ({line for first, last in spans for line in range(first, last + 1)} - shared)
    found["code_lines"] = sorted(lines)
    found["definitions"] = _definitions(nodes, lines)
    found["docstrings"] = spans
    found["functions"] = _functions(tree, lines)


def _lines_with_code(code: CodeType) -> Set[int]:
    found: Set[int] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        found.update(line for _, line in dis.findlinestarts(current) if line)
        # Annotations are evaluated when somebody asks for them (3.14), which for most never happens.
        inner = [const for const in current.co_consts if isinstance(const, CodeType)]
        pending += [code for code in inner if code.co_name != "__annotate__"]
    return found


def _docstrings(nodes: List[ast.AST]) -> List[ast.Expr]:
    bodies = [node.body for node in nodes if isinstance(node, (ast.Module, *_DEFINITIONS))]
    firsts = [body[0] for body in bodies if body]
    texts = [node for node in firsts if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return [node for node in texts if isinstance(getattr(node.value, "value", None), str)]


def _functions(tree: ast.AST, lines: Set[int]) -> List[List[Any]]:
    """Return the qualified name of each function, and its first line that runs inside."""
    found: List[List[Any]] = []
    pending: List[Tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        outer, prefix = pending.pop()
        for node in ast.iter_child_nodes(outer):
            inner = prefix
            if isinstance(node, _DEFINITIONS):
                is_class = isinstance(node, ast.ClassDef)
                inner = prefix + node.name + ("." if is_class else ".<locals>.")
                if not is_class:
                    found.append([prefix + node.name, _line_inside(node, lines) or node.lineno])
            pending.append((node, inner))
    return sorted(found, key=lambda item: item[1])


def _definitions(nodes: List[ast.AST], lines: Set[int]) -> Dict[int, List[Any]]:
    """Return, by line that runs when something is defined, its kind, its name and its first line that runs inside."""
    found: Dict[int, List[Any]] = {}
    for node in nodes:
        if isinstance(node, _DEFINITIONS):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            inside = _line_inside(node, lines)
            header = range(_first_line(node), _first_line(node.body[0]))
            found.update((line, [kind, node.name, inside]) for line in header if line in lines)
    return found


def _line_inside(node: Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef], lines: Set[int]) -> Optional[int]:
    first = _first_line(node.body[0])
    return next((line for line in range(first, (node.end_lineno or first) + 1) if line in lines), None)


def _first_line(node: ast.stmt) -> int:
    decorators: List[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno] + [decorator.lineno for decorator in decorators])


def _new_result(max_line: int, error: Optional[SyntaxProblem] = None) -> FileRow:
    nothing: FileRow = {"code_lines": [], "definitions": {}, "docstrings": [], "functions": []}
    return {**nothing, "max_line": max_line, "error": error}


def _problem(
    message: str, line: Optional[int] = None, offset: Optional[int] = None, text: Optional[str] = None
) -> SyntaxProblem:
    return {"line": line, "offset": offset, "message": message, "text": text}


def _explain_error(error: BaseException, source: str) -> SyntaxProblem:
    if not isinstance(error, SyntaxError):
        return _problem(str(error) or "too deeply nested to compile")
    text = error.text
    lines = source.split("\n")
    if text is None and error.lineno and error.lineno <= len(lines):
        text = lines[error.lineno - 1]
    return _problem(error.msg, error.lineno, error.offset, text and text.rstrip("\r\n")[:_TEXT_LIMIT])


def _main() -> None:
    """Read a JSON list of paths, or of {"source", "name"}, and write the list of what examine says of each."""
    requests = json.loads(sys.stdin.buffer.read().decode("ascii"))
    answers = [examine(each) if isinstance(each, str) else examine_source(**each) for each in requests]
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    _main()
