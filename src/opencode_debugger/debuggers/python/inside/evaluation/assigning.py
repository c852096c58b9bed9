"""Gives variables of the program new values, and reads back what became of them."""

from __future__ import annotations

import ast
import contextlib
import operator
from functools import partial
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple

from ..rpc.handles import GLOBALS, HANDLES, LOCALS, Handle, Reply
from ..rpc.interrupts import Guard, guard
from ..values import raw
from ..values.bounded_repr import describe_error
from ..values.members import Members, key_name
from ..values.variable_rows import variable_row
from . import evaluate
from .evaluate import ERROR_LIMIT, FILENAME, Names, compile_expression, failure_answer, syntax_problem

if TYPE_CHECKING:
    from ....rows import AssignmentRow

FindPlace = Callable[[Guard], "Place"]
_NO_SUCH_NAME: AssignmentRow = {"missing": "name", "is_global": False}


class Refused(Exception):
    """Carries the answer that says why nothing was set."""

    def __init__(self, answer: AssignmentRow) -> None:
        self.answer = answer


class Place(NamedTuple):
    """A place for a value: how it is read and how it is written."""

    read: Callable[[], object]
    write: Callable[[Any], None]


def set_variable(
    frame: FrameType, namespace: Names, reply: Reply, reference: int, name: str, value: str, limit: int
) -> AssignmentRow:
    handle = HANDLES.get(reference)
    if handle is None:
        return {"missing": "reference"}
    if handle.kind is LOCALS and handle.obj is not frame:
        namespace = {**handle.obj.f_globals, **handle.obj.f_locals}
    return _assign_value(name, value, namespace, reply, limit, partial(_place_under, handle, name))


def set_expression(
    frame: FrameType, namespace: Names, reply: Reply, expression: str, value: str, limit: int
) -> AssignmentRow:
    try:
        target = ast.parse(expression.strip(), FILENAME, "eval").body
        if not isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
            raise SyntaxError("cannot assign to this expression: name a variable, an attribute or an item")
        evaluate.resolve_private_names(target, namespace, True)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, expression), "part": "expression"}
    find = partial(_expression_place, target, frame, namespace)
    return _assign_value(expression, value, namespace, reply, limit, find)


def _assign_value(name: str, value: str, namespace: Names, reply: Reply, limit: int, find: FindPlace) -> AssignmentRow:
    """Return the value that the program has afterwards, whatever was given."""
    try:
        code = compile_expression(value, namespace)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, value), "part": "value"}
    try:
        with guard() as running:
            place = find(running)
            new = _evaluate_code(code, namespace, running, "value")
            old, failed = running.call(place.read)
            before = variable_row("old", old, Reply(), limit) if failed is None else None
            _, failed = running.call(place.write, new)
            if failed is not None and running.interrupted:
                return {"timed_out": True}
            if failed is not None:
                return {"not_set": describe_error(failed, ERROR_LIMIT)}
            now, failed = running.call(place.read)
            if failed is not None:
                return {"not_set": "it cannot be read back: " + describe_error(failed, ERROR_LIMIT)}
            row: Any = variable_row(name, now, reply, limit)
            row.update(old=before and before["value"], old_type=before and before["type"])
            # Arrays store an equal copy of a number or text.
            is_copy = type(new) in raw.ATOMS and type(now) is type(new) and bool(now == new)
            row["taken"] = now is new or is_copy
            return row  # type: ignore[no-any-return]
    except Refused as refused:
        return refused.answer
    finally:
        new = old = now = failed = None


def _evaluate_code(code: CodeType, namespace: Names, running: Guard, part: str) -> object:
    bare = "__builtins__" not in namespace
    try:
        found, failed = running.call(eval, code, namespace)
        if failed is not None:
            answer: Any = failure_answer(running, failed)
            answer["part"] = part
            raise Refused(answer)
        return found
    finally:
        found = failed = None
        if bare:
            namespace.pop("__builtins__", None)


def local_place(frame: FrameType, name: str) -> Place:
    code = frame.f_code
    known = code.co_varnames + code.co_cellvars + code.co_freevars
    is_fast = bool(code.co_flags & CO_OPTIMIZED)
    if not is_fast and code.co_name == "<module>" and name in frame.f_globals:
        return _item_place(frame.f_globals, name)  # inside a comprehension 3.12 shows only a copy of it
    if name not in frame.f_locals and not (is_fast and name in known):
        raise Refused({"missing": "name", "is_global": name in frame.f_globals})

    def write_local(value: Any) -> None:
        from _pydevd_bundle import pydevd_save_locals

        frame.f_locals[name] = value
        pydevd_save_locals.save_locals(frame)  # before Python 3.13 the running function takes it by this call only
        if frame.f_locals.get(name, raw.MISSING) is not value:
            raise RuntimeError("Python did not take the new value of this variable")

    return Place(lambda: frame.f_locals[name], write_local)


def _place_under(handle: Handle, name: str, running: Guard) -> Place:
    obj = handle.obj
    if handle.kind is LOCALS:
        return local_place(obj, name)
    if handle.kind is GLOBALS:
        if name not in obj:
            raise Refused(_NO_SUCH_NAME)
        return _item_place(obj, name)
    members = Members(obj)
    # A class may have a slot, which may not be set yet, or a property of that name.
    is_declared = name.isidentifier() and hasattr(type(raw.class_attribute(type(obj), name)), "__set__")
    if is_declared or any(known == name for known, _ in members.attributes):
        return _attribute_place(obj, name)
    if members.paired:
        return _item_place(obj, _find_key(obj, members.base, name, running))
    if members.items and name.isdecimal() and int(name) < members.items:
        if members.base in (set, frozenset) or members.base in raw.DICT_VIEWS:
            raise Refused({"not_set": "TypeError: the members of a %s cannot be replaced" % raw.type_name(obj)})
        return _item_place(obj, int(name))
    raise Refused(_NO_SUCH_NAME)


def _attribute_place(obj: Any, name: str) -> Place:
    return Place(lambda: getattr(obj, name), lambda value: setattr(obj, name, value))


def _item_place(obj: Any, key: Any) -> Place:
    return Place(lambda: operator.getitem(obj, key), lambda value: operator.setitem(obj, key, value))


def _find_key(obj: Any, base: Any, name: str, running: Guard) -> object:
    """Return the key that is shown under this name; a text may be given without its quotes."""
    candidates: List[Any] = [name]
    with contextlib.suppress(Exception):
        candidates.insert(0, ast.literal_eval(name))
    for candidate in candidates:
        if running.attempt(base.__contains__, obj, candidate):
            return candidate
    for key in (running.attempt(list, base.keys(obj)) or ())[:100000]:
        if running.interrupted:
            break
        if key_name(key, None) == name:
            return key
    raise Refused(_NO_SUCH_NAME)


def _expression_place(target: Any, frame: FrameType, namespace: Names, running: Guard) -> Place:
    if isinstance(target, ast.Name):
        try:
            return local_place(frame, target.id)
        except Refused as refused:
            is_fast = frame.f_code.co_flags & CO_OPTIMIZED
            if is_fast and not refused.answer["is_global"]:
                raise
            return _item_place(frame.f_globals if is_fast else frame.f_locals, target.id)

    def evaluate_part(node: ast.expr, **more: Any) -> object:
        code = compile(ast.fix_missing_locations(ast.Expression(node)), FILENAME, "eval", 0, True)
        return _evaluate_code(code, {**namespace, **more} if more else namespace, running, "expression")

    owner = evaluate_part(target.value)
    if isinstance(target, ast.Attribute):
        return _attribute_place(owner, target.attr)
    # The index may be a slice, which is no expression of its own: an object that gives its index back is subscripted.
    caught = ast.copy_location(ast.Subscript(ast.Name("_ocdb_index", ast.Load()), target.slice, ast.Load()), target)
    return _item_place(owner, evaluate_part(caught, _ocdb_index=_IndexCatcher()))


class _IndexCatcher:
    def __getitem__(self, index: object) -> object:
        return index
