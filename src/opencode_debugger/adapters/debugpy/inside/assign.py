"""Gives variables of the program new values, and reads back what became of it."""

from __future__ import annotations

import ast
import contextlib
import operator
from types import FrameType
from typing import Any, Callable, Dict, List, Optional

from . import private_names, raw
from .evaluate import FILENAME, compiled, failure, syntax_problem
from .handles import GLOBALS, HANDLES, LOCALS, Handle, Reply
from .interrupts import Guard, guard
from .members import Members, key_name
from .repr import describe_error
from .values import Json, variable

ERROR_LIMIT = 2000
_OPTIMIZED = 0x1
_SEARCHED_KEYS = 100000
_TARGETS = (ast.Name, ast.Attribute, ast.Subscript)
MISSING = raw.MISSING


class Refused(Exception):
    """Carries the answer that says why nothing was set."""

    def __init__(self, **answer: Any) -> None:
        super().__init__()
        self.answer = answer


class Place:
    """Where a value goes: how it is read and how it is written."""

    __slots__ = ("read", "write")

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None]) -> None:
        self.read = read
        self.write = write


def set_variable(
    reference: int, name: str, value: str, frame: FrameType, namespace: Dict[str, Any], reply: Reply, limit: int
) -> Json:
    handle = HANDLES.get(reference)
    if handle is None:
        return {"missing": "reference"}
    if handle.kind is LOCALS and handle.obj is not frame:
        namespace = {**handle.obj.f_globals, **handle.obj.f_locals}
    return _set(name, value, namespace, reply, limit, lambda running: _place_under(handle, name, running))


def set_expression(
    expression: str, value: str, frame: FrameType, namespace: Dict[str, Any], reply: Reply, limit: int
) -> Json:
    try:
        target = ast.parse(expression.strip(), FILENAME, "eval").body
        if not isinstance(target, _TARGETS):
            raise SyntaxError("cannot assign to this expression: name a variable, an attribute or an item")
        private_names.resolve(target, namespace, True)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, expression), "part": "expression"}
    return _set(
        expression, value, namespace, reply, limit, lambda running: _place_of(target, frame, namespace, running)
    )


def _set(
    name: str, value: str, namespace: Dict[str, Any], reply: Reply, limit: int, find: Callable[[Guard], Place]
) -> Json:
    try:
        code = compiled(value, namespace)
    except BaseException as error:
        return {"syntax_error": syntax_problem(error, value), "part": "value"}
    try:
        with guard() as running:
            place = find(running)
            new = _value(code, namespace, running)
            old, unset = running.call(place.read)
            before = None if unset is not None else variable("old", old, Reply(), limit)
            _, failed = running.call(place.write, new)
            if failed is not None:
                raise Refused(**_not_set(running, failed))
            return _read_back(name, place, new, before, running, reply, limit)
    except Refused as refused:
        return refused.answer
    finally:
        new = old = unset = failed = None


def _value(code: Any, namespace: Dict[str, Any], running: Guard) -> Any:
    bare = "__builtins__" not in namespace
    try:
        found, failed = running.call(eval, code, namespace)
        if failed is not None:
            raise Refused(part="value", **failure(running, failed))
        return found
    finally:
        found = failed = None
        if bare:
            namespace.pop("__builtins__", None)


def _not_set(running: Guard, error: BaseException) -> Json:
    if running.interrupted:
        return {"timed_out": True}
    return {"not_set": describe_error(error, ERROR_LIMIT)}


def _read_back(
    name: str, place: Place, new: Any, before: Optional[Json], running: Guard, reply: Reply, limit: int
) -> Json:
    """What the program has now is the answer, whatever was given."""
    now, failed = running.call(place.read)
    try:
        if failed is not None:
            return {"not_set": "it cannot be read back: " + describe_error(failed, ERROR_LIMIT)}
        row = variable(name, now, reply, limit)
        row["old"] = None if before is None else before["value"]
        row["old_type"] = None if before is None else before["type"]
        row["taken"] = now is new or _looks_same(now, new)
        return row
    finally:
        now = failed = None


def _looks_same(now: Any, new: Any) -> bool:
    """Numbers and texts that were stored as an equal copy, as arrays do."""
    cls = type(new)
    return cls in raw.ATOMS and type(now) is cls and bool(now == new)


# Scopes.


def _place_under(handle: Handle, name: str, running: Guard) -> Place:
    if handle.kind is LOCALS:
        return local(handle.obj, name)
    if handle.kind is GLOBALS:
        return _in_namespace(handle.obj, name)
    return _member(handle.obj, name, running)


def local(frame: FrameType, name: str) -> Place:
    code = frame.f_code
    known = code.co_varnames + code.co_cellvars + code.co_freevars
    is_fast = bool(code.co_flags & _OPTIMIZED)
    if not is_fast and code.co_name == "<module>" and name in frame.f_globals:
        return _in_namespace(frame.f_globals, name)  # inside a comprehension 3.12 shows only a copy of it
    if name not in frame.f_locals and not (is_fast and name in known):
        raise Refused(missing="name", is_global=name in frame.f_globals)

    def write(value: Any) -> None:
        frame.f_locals[name] = value
        _save(frame)
        if frame.f_locals.get(name, MISSING) is not value:
            raise RuntimeError("Python did not take the new value of this variable")

    def read() -> Any:
        return frame.f_locals[name]

    return Place(read, write)


def _save(frame: FrameType) -> None:
    """Before 3.13 what is written to f_locals reaches the running function only this way."""
    from _pydevd_bundle import pydevd_save_locals

    pydevd_save_locals.save_locals(frame)


def _in_namespace(namespace: Any, name: str, must_exist: bool = True) -> Place:
    if must_exist and name not in namespace:
        raise Refused(missing="name", is_global=False)
    return Place(lambda: namespace[name], lambda value: operator.setitem(namespace, name, value))


# Members of values.


def _member(obj: Any, name: str, running: Guard) -> Place:
    members = Members(obj)
    if any(known == name for known, _ in members.attributes) or _is_declared(obj, name):
        return _attribute(obj, name)
    if members.paired:
        return _item(obj, _key(obj, members.base, name, running))
    if members.items and name.isdecimal() and int(name) < members.items:
        if members.base in (set, frozenset) or members.base in raw.DICT_VIEWS:
            raise Refused(not_set="TypeError: the members of a %s cannot be replaced" % raw.type_name(obj))
        return _item(obj, int(name))
    raise Refused(missing="name", is_global=False)


def _is_declared(obj: Any, name: str) -> bool:
    """Slots that are not set yet, properties."""
    return name.isidentifier() and hasattr(type(raw.class_attribute(type(obj), name)), "__set__")


def _attribute(obj: Any, name: str) -> Place:
    return Place(lambda: getattr(obj, name), lambda value: setattr(obj, name, value))


def _item(obj: Any, key: Any) -> Place:
    return Place(lambda: operator.getitem(obj, key), lambda value: operator.setitem(obj, key, value))


def _key(obj: Any, base: Any, name: str, running: Guard) -> Any:
    """The key that is shown under this name; a text may be given without its quotes."""
    candidates: List[Any] = []
    with contextlib.suppress(Exception):
        candidates.append(ast.literal_eval(name))
    candidates.append(name)
    for candidate in candidates:
        if running.attempt(base.__contains__, obj, candidate):
            return candidate
    for place, key in enumerate(running.attempt(list, base.keys(obj)) or ()):
        if place >= _SEARCHED_KEYS or running.interrupted:
            break
        if key_name(key, None) == name:
            return key
    raise Refused(missing="name", is_global=False)


# Expressions.


def _place_of(target: ast.expr, frame: FrameType, namespace: Dict[str, Any], running: Guard) -> Place:
    if isinstance(target, ast.Name):
        return _named(target.id, frame)
    owner = _part(target.value, namespace, running)  # type: ignore[attr-defined]
    if isinstance(target, ast.Attribute):
        return _attribute(owner, target.attr)
    return _item(owner, _index(target, namespace, running))


def _named(name: str, frame: FrameType) -> Place:
    try:
        return local(frame, name)
    except Refused as refused:
        if frame.f_code.co_flags & _OPTIMIZED:
            if not refused.answer["is_global"]:
                raise
            return _in_namespace(frame.f_globals, name)
        return _in_namespace(frame.f_locals, name, must_exist=False)


def _part(node: ast.expr, namespace: Dict[str, Any], running: Guard) -> Any:
    try:
        return _value(compile(ast.Expression(node), FILENAME, "eval", 0, True), namespace, running)
    except Refused as refused:
        refused.answer["part"] = "expression"
        raise


def _index(target: Any, namespace: Dict[str, Any], running: Guard) -> Any:
    """A subscript may be a slice, which is no expression of its own: an object that gives its index back takes it."""
    caught = ast.copy_location(ast.Subscript(ast.Name("_ocdb_index", ast.Load()), target.slice, ast.Load()), target)
    tree = ast.fix_missing_locations(ast.Expression(caught))
    scope = dict(namespace, _ocdb_index=_Catcher())
    found, failed = running.call(eval, compile(tree, FILENAME, "eval", 0, True), scope)
    try:
        if failed is not None:
            raise Refused(part="expression", **failure(running, failed))
        return found
    finally:
        found = failed = None


class _Catcher:
    def __getitem__(self, index: Any) -> Any:
        return index
