"""Names of functions as a client writes them, and the code that they mean."""

from __future__ import annotations

import dis
import gc
import os
import sys
from functools import lru_cache
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Iterator, List, Optional, Set, Tuple

LOCALS = "<locals>"
OPTIMIZED = 1
"""Flag of the code of functions; class bodies and modules lack it."""
GENERIC = "<generic parameters of "
MISSING = object()
CACHED = type(lru_cache(maxsize=None)(len))
PREFIX = frozenset(("RESUME", "RETURN_GENERATOR", "COPY_FREE_VARS", "MAKE_CELL", "GEN_START", "EXTENDED_ARG", "CACHE"))
"""What runs before the first line of a function."""


class Name:
    """`func`, `module.func`, `Class.method`, `module.Class.method`, `outer.<locals>.inner`.

    It means functions whose module and qualified name end with it. `<locals>` may be left out. Of library code only
    the whole name is taken: `run` is not `subprocess.run`. It also means what a module has under that name from
    another one: `requests.get`, which is defined in `requests.api`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._has_locals = LOCALS in text
        self._parts = text.split(".")
        self.last = self._parts[-1]

    def match(self, qualname: str, modules: Set[str], filename: str, is_own: bool) -> Optional[str]:
        """yes; or `module`, `class` or `export`, if that has to be asked when it is called."""
        given = self._parts
        real = _split(qualname, self._has_locals)
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
        """Whether what comes before the qualified name is this module."""
        name = ".".join(self._parts[: -len(_split(qualname, self._has_locals))])
        return bool(module == name or (is_own and str(module).endswith("." + name)))

    def exported(self) -> Any:
        """What a module has under this name, wherever it is from: looked up without running anything. MISSING if there
        is nothing, or not yet."""
        for count in range(len(self._parts) - 1, 0, -1):
            found = sys.modules.get(".".join(self._parts[:count]), MISSING)
            for part in self._parts[count:]:
                found = _member(found, part)
            if found is not MISSING:
                return found
        return MISSING

    def is_exported(self, code: CodeType) -> bool:
        return function_code(self.exported(), self.last) is code

    def is_in_package(self, modules: Set[str]) -> bool:
        """Whether one of these modules belongs to the package that it begins with."""
        return any(module.split(".")[0] == self._parts[0] for module in modules)

    def means_owner(self, kind: type) -> bool:
        """Whether it is a name of a method of this class."""
        module, qualname = class_name(kind)
        full = [*module.split("."), *_split(qualname, self._has_locals)]
        owner = self._parts[:-1]
        return bool(owner) and full[-len(owner) :] == owner

    def inherited(self) -> List[CodeType]:
        """Code that a class of that name has from a base."""
        if len(self._parts) < 2:
            return []
        found = []
        for kind in gc.get_objects():
            if issubclass(type(kind), type) and self.means_owner(kind):
                code = method_code(kind, self.last)
                if code is not None:
                    found.append(code)
        return found


def _member(owner: Any, name: str) -> Any:
    if issubclass(type(owner), ModuleType):
        return object.__getattribute__(owner, "__dict__").get(name, MISSING)
    if issubclass(type(owner), type):
        for base in mro(owner):
            attributes = type.__dict__["__dict__"].__get__(base)
            if name in attributes:
                return attributes[name]
    return MISSING


def _split(qualname: str, with_locals: bool) -> List[str]:
    return [part for part in qualname.split(".") if with_locals or part != LOCALS]


def _is_path(filename: str, module: List[str]) -> bool:
    """Whether a file of that name holds a module of that name, as far as one can see from outside."""
    parts = os.path.splitext(filename)[0].replace(os.sep, "/").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return parts[-len(module) :] == module


def qualified(code: Any, function: Any = None) -> str:
    """The qualified name, as the code has it: a function may have been given another's by functools.wraps."""
    name: Optional[str] = getattr(code, "co_qualname", None)
    if name is None and function is not None and str(function.__qualname__).split(".")[-1] == code.co_name:
        name = function.__qualname__
    return str(name or code.co_name)


def code_tree(code: Any, root: Optional[str], names: Set[str]) -> Iterator[Tuple[Any, str]]:
    """Functions of these names in it, at any depth, with their qualified names; itself too, if it has a name."""
    if root is not None and code.co_name in names:
        yield code, root
    pending = [(code, "" if root is None else _prefix(code, root))]
    while pending:
        outer, prefix = pending.pop()
        for inner in outer.co_consts:
            if type(inner) is not CodeType:
                continue
            if inner.co_name.startswith(GENERIC):
                pending.append((inner, prefix))
                continue
            name = getattr(inner, "co_qualname", None) or prefix + inner.co_name
            if inner.co_name in names and inner.co_flags & OPTIMIZED:
                yield inner, name
            pending.append((inner, _prefix(inner, name)))


def _prefix(code: Any, name: str) -> str:
    return name + (".<locals>." if code.co_flags & OPTIMIZED else ".")


def first_line(code: Any) -> Optional[Tuple[int, int, bool]]:
    """The first line that runs inside, the offset at which it does, and whether a loop leads back there."""
    starts = dict(dis.findlinestarts(code))
    line, before = None, ""
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset, line)
        name = instruction.opname
        skipped = name in PREFIX or (name == "POP_TOP" and before == "RETURN_GENERATOR")
        before = name
        if not skipped and line is not None:
            return line, instruction.offset, instruction.offset in dis.findlabels(code.co_code)
    return None


def same_method(name: Name, frame: Any) -> bool:
    """Whether the frame's method was called on an object, or class, that has it under this name."""
    code = frame.f_code
    if not code.co_argcount:
        return False
    first = frame.f_locals.get(code.co_varnames[0])
    kind = first if issubclass(type(first), type) else type(first)
    return any(name.means_owner(base) and method_code(base, name.last) is code for base in mro(kind))


def mro(kind: type) -> Tuple[type, ...]:
    """As Python itself sees it: a metaclass may have its own ideas, and run code for them."""
    found: Tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def class_name(kind: type) -> Tuple[str, str]:
    """Its module and its qualified name, in the same way."""
    return str(type.__dict__["__module__"].__get__(kind)), str(type.__dict__["__qualname__"].__get__(kind))


def file_of(module: Any) -> Any:
    """The file of a module, without waking one that is loaded only when somebody looks at it."""
    if not issubclass(type(module), ModuleType):
        return None
    return object.__getattribute__(module, "__dict__").get("__file__")


def method_code(kind: type, name: str) -> Optional[CodeType]:
    """The code of a method, looked up without running anything of the class."""
    code = function_code(_member(kind, name), name)
    return code if code is not None and code.co_name == name else None


def function_code(found: Any, name: str) -> Optional[CodeType]:
    """Through staticmethod, classmethod, property, bound methods and whatever tells what it wraps. What is found under
    another name than its own is taken as it is."""
    for _ in range(20):
        kind = type(found)
        if kind is FunctionType and (found.__code__.co_name == name or "__wrapped__" not in found.__dict__):
            code: CodeType = found.__code__
            return code
        if issubclass(kind, (staticmethod, classmethod)) or kind is MethodType:
            found = found.__func__
        elif issubclass(kind, property):
            found = found.fget
        elif kind in (FunctionType, CACHED):
            found = found.__dict__.get("__wrapped__")
        else:
            return None
    return None
