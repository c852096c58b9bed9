"""Finds the code that a client means by the name of a function."""

from __future__ import annotations

import dis
import gc
import os
import sys
from functools import lru_cache
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Iterator, List, Optional, Set, Tuple

from ..original_code import read_code
from ..python_versions import stored_qualname
from ..values.raw import MISSING, class_attribute, class_mro

LOCALS = "<locals>"
GENERIC_PREFIX = "<generic parameters of "
CACHED_FUNCTION = type(lru_cache(maxsize=None)(len))
ENTRY_OPERATIONS = frozenset(
    ("RESUME", "RETURN_GENERATOR", "COPY_FREE_VARS", "MAKE_CELL", "GEN_START", "EXTENDED_ARG", "CACHE")
)
"""Operations that run before the first line of a function."""


class Name:
    """The name of a function: `func`, `module.func`, `Class.method`, `module.Class.method`, `outer.<locals>.inner`.

    It means functions whose module and qualified name end with it. `<locals>` may be left out. In library code only the
    whole name counts: `run` is not `subprocess.run`. It also means what a module has under that name from another one:
    `requests.get`, which is defined in `requests.api`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._has_locals = LOCALS in text
        self._parts = text.split(".")
        self.last = self._parts[-1]

    def match(self, qualname: str, modules: Set[str], filename: str, is_own: bool) -> Optional[str]:
        """Return `yes`; or `module`, `class` or `export`, if only a call of it can tell; or None."""
        given = self._parts
        real = _name_parts(qualname, self._has_locals)
        if is_own and real[-len(given) :] == given:
            return "yes"
        if given[-len(real) :] == real and len(given) > len(real):
            head = given[: -len(real)]
            if _is_path(filename, head) or any(self.is_in_module(name, qualname, is_own) for name in modules):
                return "yes"
            return "export" if modules else "module"
        raw = qualname.split(".")
        if is_own and len(given) > 1 and len(raw) > 1 and raw[-2] != LOCALS:
            return "class"
        return None

    def is_in_module(self, module: Any, qualname: str, is_own: bool) -> bool:
        """Tell whether the part before the qualified name is this module."""
        name = ".".join(self._parts[: -len(_name_parts(qualname, self._has_locals))])
        return bool(module == name or (is_own and str(module).endswith("." + name)))

    def find_exported(self) -> object:
        """Return what a module has under this name, wherever it is from; MISSING if there is nothing, or not yet.

        Nothing is run for that."""
        for count in range(len(self._parts) - 1, 0, -1):
            found: object = sys.modules.get(".".join(self._parts[:count]), MISSING)
            for part in self._parts[count:]:
                found = _stored_member(found, part)
            if found is not MISSING:
                return found
        return MISSING

    def is_exported(self, frame: FrameType) -> bool:
        """Tell whether the frame's function is what a module has under this name."""
        return function_code(self.find_exported(), self.last) is frame.f_code

    def is_in_package(self, modules: Set[str]) -> bool:
        """Tell whether one of these modules belongs to the package that the name begins with."""
        return any(module.split(".")[0] == self._parts[0] for module in modules)

    def means_owner(self, kind: type) -> bool:
        """Tell whether this can be the name of a method of the class."""
        module, qualname = class_name(kind)
        full = [*module.split("."), *_name_parts(qualname, self._has_locals)]
        owner = self._parts[:-1]
        return bool(owner) and full[-len(owner) :] == owner

    def inherited_code(self) -> List[CodeType]:
        """Return the code that classes of that name have from a base."""
        if len(self._parts) < 2:
            return []
        owners = [kind for kind in gc.get_objects() if issubclass(type(kind), type) and self.means_owner(kind)]
        found = (method_code(kind, self.last) for kind in owners)
        return [code for code in found if code is not None]


def _stored_member(owner: Any, name: str) -> object:
    if issubclass(type(owner), ModuleType):
        return object.__getattribute__(owner, "__dict__").get(name, MISSING)
    return class_attribute(owner, name) if issubclass(type(owner), type) else MISSING


def _name_parts(qualname: str, with_locals: bool) -> List[str]:
    return [part for part in qualname.split(".") if with_locals or part != LOCALS]


def _is_path(filename: str, module: List[str]) -> bool:
    """Tell whether a file of that name holds a module of that name, as far as one can see from outside."""
    parts = os.path.splitext(filename)[0].replace(os.sep, "/").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return parts[-len(module) :] == module


def qualified_name(code: Any, function: Any = None) -> str:
    """Return the qualified name as the code has it: functools.wraps may have given the function another one."""
    name = stored_qualname(code)
    if name is None and function is not None and str(function.__qualname__).split(".")[-1] == code.co_name:
        name = function.__qualname__
    return str(name or code.co_name)


def code_tree(code: Any, root: Optional[str], names: Set[str]) -> Iterator[Tuple[Any, str]]:
    """Find functions of these names in code, at any depth, with their qualified names; itself too, if it has one."""
    if root is not None and code.co_name in names:
        yield code, root
    pending = [(code, "" if root is None else _inner_prefix(code, root))]
    while pending:
        outer, prefix = pending.pop()
        for inner in outer.co_consts:
            if type(inner) is not CodeType:
                continue
            if inner.co_name.startswith(GENERIC_PREFIX):
                pending.append((inner, prefix))
                continue
            name = stored_qualname(inner) or prefix + inner.co_name
            if inner.co_name in names and inner.co_flags & CO_OPTIMIZED:
                yield inner, name
            pending.append((inner, _inner_prefix(inner, name)))


def _inner_prefix(code: Any, name: str) -> str:
    return name + (".<locals>." if code.co_flags & CO_OPTIMIZED else ".")


def first_line(code: Any) -> Optional[Tuple[int, int, bool]]:
    """Return the first line that runs inside, the offset at which it does, and whether a loop leads back there."""
    starts = dict(dis.findlinestarts(code))
    line, before = None, ""
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset, line)
        name = instruction.opname
        skipped = name in ENTRY_OPERATIONS or (name == "POP_TOP" and before == "RETURN_GENERATOR")
        before = name
        if not skipped and line is not None:
            return line, instruction.offset, instruction.offset in dis.findlabels(code.co_code)
    return None


def same_method(name: Name, frame: Any) -> bool:
    """Tell whether the frame's method was called on an object, or class, that has it under this name."""
    code = frame.f_code
    if not code.co_argcount:
        return False
    first = frame.f_locals.get(code.co_varnames[0])
    kind = first if issubclass(type(first), type) else type(first)
    return any(name.means_owner(base) and method_code(base, name.last) is code for base in class_mro(kind))


def class_name(kind: type) -> Tuple[str, str]:
    """Return module and qualified name of a class without asking it, which could run code of its metaclass."""
    return str(type.__dict__["__module__"].__get__(kind)), str(type.__dict__["__qualname__"].__get__(kind))


def file_of(module: Any) -> object:
    """Return the file of a module, without waking one that is loaded only when somebody looks at it."""
    return _stored_member(module, "__file__") if issubclass(type(module), ModuleType) else None


def method_code(kind: type, name: str) -> Optional[CodeType]:
    """Return the code of a method, without running anything of the class."""
    code = function_code(_stored_member(kind, name), name)
    return code if code is not None and code.co_name == name else None


def function_code(found: Any, name: str) -> Optional[CodeType]:
    """Return the code behind staticmethod, classmethod, property, bound methods and wrappers.

    A function that is found under another name than its own is taken as it is."""
    for _ in range(20):
        kind = type(found)
        if kind is FunctionType and (read_code(found).co_name == name or "__wrapped__" not in found.__dict__):
            return read_code(found)
        if issubclass(kind, (staticmethod, classmethod)) or kind is MethodType:
            found = found.__func__
        elif issubclass(kind, property):
            found = found.fget
        elif kind in (FunctionType, CACHED_FUNCTION):
            found = found.__dict__.get("__wrapped__")
        else:
            return None
    return None
