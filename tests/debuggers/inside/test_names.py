"""Names of functions, and which code they mean."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from opencode_debugger.debuggers.python.inside.breakpoints.function_names import (
    Name,
    code_tree,
    file_of,
    first_line,
    method_code,
)

CODE = compile(
    textwrap.dedent(
        '''
        def plain():
            """Says nothing."""
            return 1

        class Outer:
            class Inner:
                def method(self):
                    def plain():
                        yield 2
                    return [plain for _ in (lambda: 3)()]
        '''
    ),
    "/home/dev/pack/module.py",
    "exec",
)


def test_functions_are_found_at_any_depth_with_their_qualified_names() -> None:
    found = {name: first_line(code) for code, name in code_tree(CODE, None, {"plain", "method"})}
    lines = {name: start and start[0] for name, start in found.items()}
    assert lines == {"plain": 4, "Outer.Inner.method": 9, "Outer.Inner.method.<locals>.plain": 10}


@pytest.mark.parametrize(
    ("text", "qualname", "own", "library"),
    [
        ("f", "f", "yes", None),
        ("f", "C.f", "yes", None),
        ("C.f", "C.f", "yes", None),
        ("module.f", "f", "yes", "yes"),
        ("pack.module.f", "f", "yes", "yes"),
        ("pack.module.C.f", "C.f", "yes", "yes"),
        ("other.f", "f", "module", "module"),
        ("g.f", "g.<locals>.f", "yes", None),
        ("g.<locals>.f", "g.<locals>.f", "yes", None),
        ("Sub.f", "C.f", "class", None),
        ("Sub.f", "g.<locals>.f", None, None),
    ],
)
def test_a_name_means_functions_whose_full_name_ends_with_it(
    text: str, qualname: str, own: str | None, library: str | None
) -> None:
    path = "/home/dev/pack/module.py"
    assert Name(text).match(qualname, set(), path, is_own=True) == own
    assert Name(text).match(qualname, set(), path, is_own=False) == library


def test_a_module_that_is_known_decides() -> None:
    name = Name("pack.module.f")
    assert name.match("f", {"pack.module"}, "/x.py", is_own=False) == "yes"
    assert name.match("f", {"big.pack.module"}, "/x.py", is_own=True) == "yes"
    for modules, is_own in (({"big.pack.module"}, False), ({"other"}, True)):
        assert name.match("f", modules, "/x.py", is_own) == "export", "pack.module may have it from there"


class Watchful(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


def test_looking_runs_nothing_of_a_class() -> None:
    class Base:
        @property
        def size(self) -> int:
            return 1

    kind: type = Watchful("Sub", (Base,), {"__module__": "somewhere"})
    assert Name("somewhere.Sub.size").means_owner(kind)
    assert not Name("Other.size").means_owner(kind)
    code = method_code(kind, "size")
    assert code is not None and code.co_name == "size"
    assert file_of(kind) is None
