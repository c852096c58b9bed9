"""Evaluates expressions and statements in a frame's namespace, contained and interruptible."""

from __future__ import annotations

import ast
import linecache
import textwrap
import traceback
from types import CodeType, TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import kept, lookup, printed, private_names, raw
from .awaiting import COROUTINE, Awaiting
from .interrupts import Guard, Interrupted, guard, interrupt
from .repr import describe_error
from .texts import clip, encodable
from .values import RESULT, Json, Reply, variable

__all__ = ["Interrupted", "compiled", "evaluate", "failure", "guard", "interrupt", "syntax_problem"]

FILENAME = "<evaluate>"
ERROR_LIMIT = 2000
TRACEBACK_LIMIT = 8000
_TEXT_LIMIT = 500
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_NO_VALUE: Json = {
    "result": "",
    "type": None,
    "variables_reference": 0,
    "named_variables": 0,
    "indexed_variables": 0,
    "presentation_hint": None,
}


class Cell:
    """Compiled text: code objects to run in order; the last one may be an expression."""

    __slots__ = ("codes", "has_value")

    def __init__(self, tree: ast.AST) -> None:
        self.codes: List[CodeType] = []
        self.has_value = isinstance(tree, ast.Expression)
        if isinstance(tree, ast.Module) and tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body.pop()
            self.has_value = True
            if tree.body:
                self._add(tree, "exec")
            tree = ast.Expression(last.value)  # type: ignore[attr-defined]
        self._add(tree, "eval" if self.has_value else "exec")

    def _add(self, tree: Any, mode: str) -> None:
        self.codes.append(compile(tree, FILENAME, mode, _FLAGS, True))

    def run(self, running: Guard, namespace: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
        if not any(code.co_flags & COROUTINE for code in self.codes):
            return running.call(self._run, namespace)
        awaiting = Awaiting(self.codes, namespace)
        outcome = running.call(awaiting.wait)
        if running.interrupted:
            awaiting.cancel()
        awaiting.error = None
        try:
            return outcome
        finally:
            del outcome

    def _run(self, namespace: Dict[str, Any]) -> Any:
        value = None
        for code in self.codes:
            value = eval(code, namespace)
        return value


def evaluate(
    expression: str,
    namespace: Dict[str, Any],
    reply: Reply,
    limit: int,
    context: str = "repl",
    deadline: Optional[float] = None,
) -> Json:
    text = _dedented(expression)
    try:
        tree = _parse(text, context)
        private = private_names.resolve(tree, namespace, False) if ".__" in text else False
        cell = Cell(tree)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, text)}
    _show_lines(text)
    bare = "__builtins__" not in namespace
    try:
        with guard() as running, kept.debugger():
            with printed.noted() as said:
                value, failed = cell.run(running, namespace)
                if failed is not None and not private and _missing_private(failed, text):
                    value, failed = _retry(running, text, context, namespace, failed)
            if failed is not None:
                return {**failure(running, failed), **said.told()}
            if not cell.has_value:
                return {**_NO_VALUE, **said.told()}
            row = variable(clip(text, 100)[0], value, reply, limit, deadline, terms=RESULT)
            return {**_result(row), **said.told()}
    finally:
        # The error's traceback holds this frame.
        value = failed = None
        if bare:
            namespace.pop("__builtins__", None)


def look_up(
    expression: str,
    namespace: Dict[str, Any],
    reply: Reply,
    limit: int,
    deadline: Optional[float] = None,
    about: Optional[Callable[[Any], Json]] = None,
) -> Json:
    """The same without running anything: `beyond` says why that is not enough. `about` tells more of the value."""
    text = expression.strip()
    if len(text) > lookup.LONGEST:
        return {"beyond": "it has more than %d characters" % lookup.LONGEST}
    try:
        tree: Any = _parse(text, "watch")
        private_names.resolve(tree, namespace, False)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, text)}
    try:
        value = lookup.find(tree.body, namespace)
    except lookup.Beyond as beyond:
        return {"beyond": str(beyond)}
    except lookup.Failed as failed:
        return {"result": None, "type": None, "error": clip(encodable(str(failed)), ERROR_LIMIT)[0]}
    result = _result(variable(clip(text, 100)[0], value, reply, limit, deadline, terms=RESULT))
    if about is not None:
        result.update(about(value))
    return result


def _dedented(expression: str) -> str:
    if expression[:1] in (" ", "\t", "\n", "\r"):
        expression = textwrap.dedent(expression)
    return expression.strip()


def _parse(text: str, context: str) -> ast.AST:
    if not text:
        raise SyntaxError("the expression is empty")
    flags = _FLAGS | ast.PyCF_ONLY_AST
    try:
        tree: ast.AST = compile(text, FILENAME, "eval", flags, True)
    except SyntaxError:
        if context != "repl":
            raise
        tree = compile(text, FILENAME, "exec", flags, True)
    return tree


def compiled(text: str, namespace: Dict[str, Any]) -> CodeType:
    """An expression as code, without await; raises SyntaxError and whatever else compile does."""
    tree: Any = _parse(_dedented(text), "watch")
    private_names.resolve(tree, namespace, True)
    return compile(tree, FILENAME, "eval", 0, True)


def syntax_problem(error: BaseException, text: str) -> Json:
    if not isinstance(error, SyntaxError):
        return {"message": describe_error(error), "line": 1, "offset": 1, "text": _one_line(text)}
    message = encodable(str(error.msg or "invalid syntax"))
    return {
        "message": clip(message, _TEXT_LIMIT)[0],
        "line": error.lineno or 1,
        "offset": max(1, error.offset or 1),
        "text": _one_line(error.text or text),
    }


def _one_line(text: str) -> str:
    lines = encodable(text).splitlines() or [""]
    return clip(lines[0].rstrip(), _TEXT_LIMIT)[0]


def _show_lines(text: str) -> None:
    lines = [line + "\n" for line in text.splitlines()]
    linecache.cache[FILENAME] = (len(text), None, lines, FILENAME)


def _missing_private(error: BaseException, text: str) -> bool:
    return ".__" in text and raw.is_a(error, AttributeError)


def _retry(
    running: Guard, text: str, context: str, namespace: Dict[str, Any], error: BaseException
) -> Tuple[Any, Optional[BaseException]]:
    try:
        tree = _parse(text, context)
        if private_names.resolve(tree, namespace, True):
            return Cell(tree).run(running, namespace)
        return None, error
    except Exception:
        return None, error
    finally:
        del error


def failure(running: Guard, error: BaseException) -> Json:
    if running.interrupted or type(error) is Interrupted:
        return {"timed_out": True}
    lines = running.attempt(traceback.format_exception, type(error), error, _own(raw.exception_traceback(error)))
    described = describe_error(error, ERROR_LIMIT)
    story = encodable("".join(lines)) if lines else described
    return {"result": None, "type": None, "error": described, "traceback": _shortened(story)}


def _own(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    """The traceback from the evaluated text on."""
    while trace is not None and trace.tb_frame.f_code.co_filename != FILENAME:
        trace = trace.tb_next
    return trace


def _shortened(text: str) -> str:
    if len(text) <= TRACEBACK_LIMIT:
        return text
    half = TRACEBACK_LIMIT // 2 - 10
    return text[:half] + "\n  ...\n" + text[-half:]


def _result(row: Json) -> Json:
    del row["name"]
    result: Json = {"result": row.pop("value")}
    hint = row.pop("presentation_hint", None)
    result.update(row)
    result["presentation_hint"] = hint
    return result
