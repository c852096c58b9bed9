"""Evaluates expressions and statements in a frame's namespace, contained and interruptible."""

from __future__ import annotations

import ast
import contextlib
import contextvars
import linecache
import sys
import textwrap
import threading
import time
import traceback
from inspect import CO_COROUTINE
from types import CodeType
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from ..rpc.handles import Reply
from ..rpc.interrupts import Guard, Interrupted, guard, raise_in_thread
from ..source.quiet_parsing import parse_quietly
from ..values import raw
from ..values.atom_texts import clip, encodable
from ..values.bounded_repr import describe_error
from ..values.variable_rows import NO_MEMBERS, RESULT, variable_row
from . import hovering, printed_output, quiet_lookup

if TYPE_CHECKING:
    from ....rows import EvaluationRow, HoverRow, SyntaxProblem, WatchRow

FILENAME = "<evaluate>"
ERROR_LIMIT = 2000
TRACEBACK_LIMIT = 8000
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
Names = Dict[str, Any]
"""variables of the program, by name"""
Outcome = Tuple[Any, Optional[BaseException]]
_NO_VALUE: Any = {"result": "", "type": None, **NO_MEMBERS, "presentation_hint": None}
_modules = sys.modules
_settrace, _gettrace = sys.settrace, sys.gettrace
_OWN_PACKAGE = __name__.partition(".")[0]


class CompiledText:
    """Code objects of a text, to run in order; the last one may be an expression."""

    def __init__(self, tree: ast.AST) -> None:
        self.codes: List[CodeType] = []
        if isinstance(tree, ast.Module) and tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body.pop()
            if tree.body:
                self._add_code(tree, "exec")
            tree = ast.Expression(last.value)  # type: ignore[attr-defined]
        self.has_value = isinstance(tree, ast.Expression)
        self._add_code(tree, "eval" if self.has_value else "exec")

    def _add_code(self, tree: Any, mode: str) -> None:
        self.codes.append(compile(tree, FILENAME, mode, _FLAGS, True))

    def run_guarded(self, running: Guard, namespace: Names) -> Outcome:
        if not any(code.co_flags & CO_COROUTINE for code in self.codes):
            return running.call(self._run_codes, namespace)
        awaiting = AwaitedCode(self.codes, namespace)
        try:
            return running.call(awaiting.wait_for_end)
        finally:
            if running.interrupted:
                awaiting.cancel()
            awaiting.error = None

    def _run_codes(self, namespace: Names) -> object:
        value: object = None
        for code in self.codes:
            value = eval(code, namespace)
        return value


class AwaitedCode:
    """Runs code that awaits to its end, in an event loop of its own on a helper thread.

    Starts at once; only `wait_for_end` may be interrupted, then `cancel` ends the helper.
    """

    def __init__(self, codes: List[CodeType], namespace: Names) -> None:
        self.value: Any = None
        self.error: Any = None
        self.loop: Any = None
        self.task: Any = None
        self.cancelled = False
        # A bare lock: an exception that strikes in Thread.join leaves the Thread broken.
        self.done = threading.Lock()
        self.done.acquire()
        run = contextvars.copy_context().run
        work = (self._run_loop, codes, namespace)
        self.thread: Any = threading.Thread(None, run, "evaluate await", work, daemon=True)
        self.thread.pydev_do_not_trace = self.thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
        self.thread.start()

    def wait_for_end(self) -> object:
        while not self.done.acquire(timeout=0.02):
            pass  # again and again, because off the main thread nothing breaks a long wait
        if self.error is not None:
            raise self.error
        return self.value

    def cancel(self) -> None:
        self.cancelled = True
        if self.loop is None:
            return
        try:
            self.loop.call_soon_threadsafe(self.task.cancel)
        except RuntimeError:  # its loop has just closed
            return
        if not self.done.acquire(timeout=0.1):
            raise_in_thread(self.thread.ident)

    def _run_loop(self, codes: List[CodeType], namespace: Names) -> None:
        import asyncio

        async def run_codes() -> None:
            self.task, self.loop = asyncio.current_task(), asyncio.get_running_loop()
            for code in codes:
                if self.cancelled:
                    return
                value = eval(code, namespace)
                self.value = await value if code.co_flags & CO_COROUTINE else value

        try:
            asyncio.run(run_codes())
        except BaseException as error:
            self.error = error
        finally:
            self.done.release()


def evaluate_text(
    expression: str, namespace: Names, reply: Reply, limit: int, context: str = "repl", deadline: Optional[float] = None
) -> EvaluationRow:
    text = _dedented_text(expression)
    try:
        tree = _parse_text(text, context)
        private = resolve_private_names(tree, namespace, False) if ".__" in text else False
        cell = CompiledText(tree)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, text)}
    # For the lines of a traceback.
    linecache.cache[FILENAME] = (len(text), None, [line + "\n" for line in text.splitlines()], FILENAME)
    bare = "__builtins__" not in namespace
    try:
        with guard() as running, keep_debugger():
            with printed_output.note_printed() as said:
                value, failed = cell.run_guarded(running, namespace)
                if not private and ".__" in text and raw.is_a(failed, AttributeError):
                    value, failed = _retry_private_names(running, text, context, namespace, failed)
            if failed is not None:
                answer = failure_answer(running, failed)
            else:
                answer = _result_answer(text, value, reply, limit, deadline) if cell.has_value else _NO_VALUE
            return {**answer, **said.as_answer()}
    finally:
        # The error's traceback holds this frame.
        value = failed = None
        if bare:
            namespace.pop("__builtins__", None)


@contextlib.contextmanager
def keep_debugger() -> Iterator[None]:
    """Restore this thread's tracing after code that took it away, and all modules if the debugger's own are gone.

    A module that the program drops to load it anew stays dropped.
    """
    tracing, loaded = _gettrace(), dict(_modules)
    try:
        yield
    finally:
        if _gettrace() is not tracing:
            _settrace(tracing)
        if _OWN_PACKAGE not in _modules or "_pydevd_bundle" not in _modules:
            for name, module in loaded.items():
                _modules.setdefault(name, module)


def look_up(
    expression: str, namespace: Names, reply: Reply, limit: int, deadline: Any = None, is_pointed_at: bool = False
) -> HoverRow:
    """Find the value without running anything; `beyond` says why that is not enough."""
    text = expression.strip()
    if len(text) > quiet_lookup.LONGEST_EXPRESSION:
        return {"beyond": "it has more than %d characters" % quiet_lookup.LONGEST_EXPRESSION}
    try:
        tree: Any = _parse_text(text, "watch")
        resolve_private_names(tree, namespace, False)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, text)}
    try:
        value = quiet_lookup.find_value(tree.body, namespace)
    except quiet_lookup.BeyondLookup as beyond:
        return {"beyond": str(beyond)}
    except quiet_lookup.LookupFailed as failed:
        return {"result": None, "type": None, "error": clip(encodable(str(failed)), ERROR_LIMIT)[0]}
    result = _result_answer(text, value, reply, limit, deadline)
    if is_pointed_at:
        result.update(hovering.callable_facts(value))
    return result


def _dedented_text(expression: str) -> str:
    is_indented = expression[:1] in (" ", "\t", "\n", "\r")
    return (textwrap.dedent(expression) if is_indented else expression).strip()


def _parse_text(text: str, context: str) -> ast.AST:
    if not text:
        raise SyntaxError("the expression is empty")
    try:
        return parse_quietly(text, FILENAME, "eval", _FLAGS)  # type: ignore[no-any-return]
    except SyntaxError:
        if context != "repl":
            raise
        return parse_quietly(text, FILENAME, "exec", _FLAGS)  # type: ignore[no-any-return]


def compile_expression(text: str, namespace: Names) -> CodeType:
    """Return an expression as code, without await; raises SyntaxError and whatever else compile does."""
    tree: Any = _parse_text(_dedented_text(text), "watch")
    resolve_private_names(tree, namespace, True)
    return compile(tree, FILENAME, "eval", 0, True)


def syntax_problem(error: BaseException, text: str) -> SyntaxProblem:
    if not isinstance(error, SyntaxError):
        error = SyntaxError(describe_error(error))
    lines = encodable(error.text or text).splitlines() or [""]
    message, shown = clip(encodable(str(error.msg or "invalid syntax")), 500)[0], clip(lines[0].rstrip(), 500)[0]
    return {"message": message, "line": error.lineno or 1, "offset": max(1, error.offset or 1), "text": shown}


def resolve_private_names(tree: ast.AST, namespace: Names, guess: bool) -> bool:
    """Rename private attributes in place, `self.__name` for one, as the compiler does inside a class.

    Returns True if one was renamed. The owner is followed through plain names and instance attributes. With `guess` the
    classes of `self` are taken for owners that cannot be followed.
    """
    renamed = False
    for node in quiet_lookup.walk_nodes(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            owner = _follow_names(node.value, namespace)
            if owner is raw.MISSING and guess:
                owner = namespace.get("self", raw.MISSING)
            real = None if owner is raw.MISSING else _real_name(owner, node.attr)
            if real is not None:
                node.attr, renamed = real, True
    return renamed


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _follow_names(node: ast.AST, namespace: Names) -> object:
    if isinstance(node, ast.Name):
        return namespace.get(node.id, raw.MISSING)
    if not isinstance(node, ast.Attribute):
        return raw.MISSING
    owner = _follow_names(node.value, namespace)
    if owner is raw.MISSING:
        return owner
    name = (_real_name(owner, node.attr) if _is_private(node.attr) else None) or node.attr
    return (raw.instance_dict(owner) or {}).get(name, raw.MISSING)


def _real_name(owner: Any, name: str) -> Optional[str]:
    if _has_attribute(owner, name):
        return None
    cls = owner if raw.is_a(owner, type) else type(owner)
    mangled = ("_%s%s" % (raw.class_name(base).lstrip("_"), name) for base in raw.class_mro(cls))
    return next((known for known in mangled if _has_attribute(owner, known)), None)


def _has_attribute(owner: Any, name: str) -> bool:
    is_class = raw.is_a(owner, type)
    if not is_class and dict.__contains__(raw.instance_dict(owner) or {}, name):
        return True
    return raw.class_attribute(owner if is_class else type(owner), name) is not raw.MISSING


def _retry_private_names(running: Guard, text: str, context: str, namespace: Names, error: Any) -> Outcome:
    try:
        tree = _parse_text(text, context)
        if resolve_private_names(tree, namespace, True):
            return CompiledText(tree).run_guarded(running, namespace)
        return None, error
    except Exception:
        return None, error
    finally:
        del error


def failure_answer(running: Guard, error: BaseException) -> EvaluationRow:
    if running.interrupted or type(error) is Interrupted:
        return {"timed_out": True}
    trace = raw.exception_traceback(error)
    while trace is not None and trace.tb_frame.f_code.co_filename != FILENAME:
        trace = trace.tb_next  # it begins with the evaluated text
    lines = running.attempt(traceback.format_exception, type(error), error, trace)
    described = describe_error(error, ERROR_LIMIT)
    story = encodable("".join(lines)) if lines else described
    if len(story) > TRACEBACK_LIMIT:
        half = TRACEBACK_LIMIT // 2 - 10
        story = story[:half] + "\n  ...\n" + story[-half:]
    return {"result": None, "type": None, "error": described, "traceback": story}


def _result_answer(text: str, value: object, reply: Reply, limit: int, deadline: Optional[float]) -> HoverRow:
    row: Any = variable_row(clip(text, 100)[0], value, reply, limit, deadline, RESULT)
    row.update(result=row.pop("value"), presentation_hint=row.get("presentation_hint"))
    del row["name"]
    return row  # type: ignore[no-any-return]


def watch_rows(expressions: List[str], names: Names, reply: Reply, budget: int, deadline: float) -> List[WatchRow]:
    """Return one row for each. If one does not end in time, the relay's interrupt ends it and those after it."""
    limit = min(240, max(1, budget // max(1, len(expressions))))
    rows: List[WatchRow] = []
    with guard() as running:
        for expression in expressions:
            if running.is_quiet:
                rows.append(_watch_row(look_up(expression, names, reply, limit, deadline), limit))
            elif running.interrupted or time.monotonic() >= deadline:
                rows.append({"error": "not evaluated: no time was left"})
            else:
                rows.append(_watch_row(evaluate_text(expression, names, reply, limit, "watch", deadline), limit))
    return rows


def _watch_row(answer: Any, limit: int) -> WatchRow:
    if "beyond" in answer:
        return {"error": "not evaluated: this caller may only read"}
    if answer.get("timed_out"):
        return {"error": "timed out"}
    if "syntax_error" in answer:
        return {"error": ("SyntaxError: %s" % answer["syntax_error"]["message"])[:limit]}
    if answer.get("error") is not None:
        return {"error": answer["error"][:limit]}
    row: Any = {name: value for name, value in answer.items() if value is not None}
    row["value"] = row.pop("result")
    return row  # type: ignore[no-any-return]
