"""On which lines of a Python file a breakpoint stops; runs inside any Python from 3.8 on, also as a script."""

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
from typing import Any, Dict, List, Optional, Set, Tuple, Union

_TEXT_LIMIT = 1000
_COMPILE_ERRORS = (SyntaxError, ValueError, LookupError, OverflowError, RecursionError, MemoryError)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def examine(path: str) -> Dict[str, Any]:
    """What can be said about breakpoints in the file; problems are told in "error", never raised."""
    try:
        raw = _read(path)
    except (OSError, ValueError) as error:
        return unreadable(getattr(error, "strerror", None) or str(error))
    return examine_source(raw, path)


def examine_source(source: Union[str, bytes], name: str) -> Dict[str, Any]:
    """The same for a program that is not in a file."""
    raw = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found = _result(max(1, raw.count(b"\n") + (not raw.endswith(b"\n"))), _null_bytes(raw))
    text = ""
    try:
        text = source if isinstance(source, str) else _decode(raw)
        if found["error"] is None:
            found.update(_line_table(text, name))
    except UnicodeDecodeError as error:
        found["error"] = _problem("(unicode error) %s" % error, 1 + raw.count(b"\n", 0, error.start))
    except _COMPILE_ERRORS as error:
        found["error"] = _explain(error, text)
    return found


def unreadable(message: str) -> Dict[str, Any]:
    """What examine says of a file that it could not look into."""
    return _result(0, _problem(message))


def _read(path: str) -> bytes:
    # A pipe or a device would block, or never end.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("Not a regular file")
    with open(path, "rb") as file:
        return file.read()


def _decode(raw: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(BytesIO(raw).readline)
    return raw.decode(encoding)


def _line_table(text: str, name: str) -> Dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(text, name, "exec", dont_inherit=True)
        tree = ast.parse(text, name)
        nodes = list(ast.walk(tree))
    docstrings = _docstrings(nodes)
    hidden = _lines_of(docstrings) - _shared_lines(nodes, docstrings)
    lines = sorted(line for line in _reported(code) if line not in hidden)
    return {
        "code_lines": lines,
        "definitions": _definitions(nodes, lines),
        "docstrings": [list(_span(node)) for node in docstrings],
        "functions": _functions(tree, lines),
    }


def _reported(code: CodeType) -> Set[int]:
    found: Set[int] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        found.update(line for _, line in dis.findlinestarts(current) if line)
        # Annotations are evaluated when somebody asks for them (3.14), which for most never happens.
        pending.extend(
            const for const in current.co_consts if isinstance(const, CodeType) and const.co_name != "__annotate__"
        )
    return found


def _docstrings(nodes: List[ast.AST]) -> List[ast.Expr]:
    bodies = [node.body for node in nodes if isinstance(node, (ast.Module, *_DEFINITIONS))]
    return [body[0] for body in bodies if body and isinstance(body[0], ast.Expr) and _is_text(body[0].value)]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _span(node: ast.stmt) -> Tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


def _lines_of(nodes: List[ast.Expr]) -> Set[int]:
    return {line for node in nodes for line in range(_span(node)[0], _span(node)[1] + 1)}


def _shared_lines(nodes: List[ast.AST], docstrings: List[ast.Expr]) -> Set[int]:
    """Lines on which something else begins, as in `def f(): "text"` or `"text"; x = 1`."""
    own: Set[ast.AST] = set(docstrings) | {node.value for node in docstrings}
    return {node.lineno for node in nodes if isinstance(node, (ast.stmt, ast.expr)) and node not in own}


def _functions(tree: ast.AST, lines: List[int]) -> List[List[Any]]:
    """The qualified name of each function, and its first line that runs inside."""
    known = set(lines)
    found: List[List[Any]] = []
    pending: List[Tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        outer, prefix = pending.pop()
        for node in ast.iter_child_nodes(outer):
            inner = prefix
            if isinstance(node, _DEFINITIONS):
                is_class = isinstance(node, ast.ClassDef)
                inner = prefix + node.name + ("." if is_class else ".<locals>.")
                span = range(_first_line(node.body[0]), (node.end_lineno or node.lineno) + 1)
                inside = next((line for line in span if line in known), node.lineno)
                if not is_class:
                    found.append([prefix + node.name, inside])
            pending.append((node, inner))
    return sorted(found, key=lambda item: item[1])


def _definitions(nodes: List[ast.AST], lines: List[int]) -> Dict[int, List[Any]]:
    """For each line that runs when something is defined: its kind, its name, its first line that runs inside."""
    known = set(lines)
    found: Dict[int, List[Any]] = {}
    for node in nodes:
        if isinstance(node, _DEFINITIONS):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            body = _first_line(node.body[0])
            last = node.end_lineno or body
            inside = next((line for line in range(body, last + 1) if line in known), None)
            for line in range(_first_line(node), body):
                if line in known:
                    found[line] = [kind, node.name, inside]
    return found


def _first_line(node: ast.stmt) -> int:
    decorators: List[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno] + [decorator.lineno for decorator in decorators])


def _result(max_line: int, error: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    return {
        "max_line": max_line,
        "code_lines": [],
        "definitions": {},
        "docstrings": [],
        "functions": [],
        "error": error,
    }


def _problem(
    message: str, line: Optional[int] = None, offset: Optional[int] = None, text: Optional[str] = None
) -> Dict[str, Any]:
    return {"line": line, "offset": offset, "message": message, "text": text}


def _null_bytes(raw: bytes) -> Optional[Dict[str, Any]]:
    at = raw.find(b"\0")
    if at < 0:
        return None
    return _problem("source code cannot contain null bytes", 1 + raw.count(b"\n", 0, at), at - raw.rfind(b"\n", 0, at))


def _explain(error: BaseException, source: str) -> Dict[str, Any]:
    if not isinstance(error, SyntaxError):
        return _problem(str(error) or "too deeply nested to compile")
    text = error.text
    lines = source.split("\n")
    if text is None and error.lineno and error.lineno <= len(lines):
        text = lines[error.lineno - 1]
    return _problem(error.msg, error.lineno, error.offset, text and text.rstrip("\r\n")[:_TEXT_LIMIT])


def _main() -> None:
    """Reads a JSON list of paths, or of {"source", "name"}, and writes the list of what examine says of each."""
    requests = json.loads(sys.stdin.buffer.read().decode("ascii"))
    answers = [
        examine(request) if isinstance(request, str) else examine_source(request["source"], request["name"])
        for request in requests
    ]
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    _main()
