"""Which lines of a Python file can stop, checked against what every interpreter here really traces."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from opencode_debugger.answers.breakpoints import Suggestion
from opencode_debugger.debuggers.python.interpreters import breakable_lines
from opencode_debugger.session.breakpoints.source_files import SourceFile, excerpt, why_not

INTERPRETERS = {
    tuple(int(part) for part in path.parent.parent.name.split(".")[:2]): path
    for path in Path.home().glob(".pyenv/versions/3.*/bin/python")
}
DEBUGGABLE = sorted(version for version in INTERPRETERS if version >= (3, 8))

EVERYWHERE = '''\
# comment at the top
"""Module docstring
over two lines."""
import os, sys
import asyncio
from contextlib import (
    contextmanager,
    suppress,
)

CONSTANT = 1; OTHER = 2
BIG = CONSTANT + \\
    OTHER
TEXT = """first
second
third"""
BLOCK = [
    1,
    CONSTANT,
    len(
        "abc"
    ),
]
NAMES = {
    "a": CONSTANT,
    "b": OTHER,
}


def deco(*args):
    """A docstring."""
    def wrap(f):
        return f
    return wrap


@deco(1)
@deco(
    CONSTANT,
    2,
)
def decorated(
    a,
    b=CONSTANT,
    *,
    c: int = OTHER
):
    """Doc
    of many

    lines"""
    # a comment
    return a + b


def only_doc():
    """only"""


def one_line(): return 1


def branches(n):
    global COUNT
    COUNT = n
    if n == 0:
        pass
    elif n == 1:
        x = 1
    elif (
        n == 2
        and CONSTANT
    ):
        x = 2
    else:
        x = 3
    while n > 0:
        n -= 1
        if n == 1:
            continue
        if n == 0:
            break
        x = n
    else:
        x = 5
    for i in range(2):
        x = i
    else:
        x = 6
    while True:
        break
    return (
        n,
        COUNT,
    )


def trying(n):
    try:
        if n:
            raise ValueError(
                "x",
                n,
            )
        y = 1
    except TypeError:
        y = 2  # @never
    except (
        ValueError,
        KeyError,
    ) as error:
        y = error
    else:
        y = 3
    finally:
        y = 4
    try:
        pass
    finally:
        pass
    try:
        return y
    finally:
        y = 5


@contextmanager
def manager():
    yield 1


def withs():
    with manager() as a, \\
            manager() as b:
        c = a
    with suppress(
        ValueError
    ):
        int("x")
    with manager():
        return (c,
                b)


def closures(xs):
    total = 0

    def inner():
        nonlocal total
        total += 1
        return total

    inner()
    f = (
        lambda v:
        v + 1
    )
    g = lambda v: v
    squares = [
        x * x
        for x in xs
        if x > 1
    ]
    pairs = {
        x: f(x)
        for x in xs
    }
    gen = sum(
        g(x)
        for x in xs
    )
    s = f"{total} {gen}"
    t = f"""
    {total}
    {pairs}
    """
    assert squares, \\
        "no"  # @never
    del t
    "a string statement"
    ...
    1
    return s if xs else (
        None  # @never
    )


def generator(n):
    """Doc of a generator."""
    for i in range(n):
        got = yield i
    yield from [
        1,
        2,
    ]
    return


class Base:
    """Class docstring."""

    field = 1
    typed: int = 2
    bare: int

    def method(self):
        return self.field

    @property
    def prop(self):
        return (
            self
            .method()
        )

    @staticmethod
    def static(): pass

    class Nested:
        pass


class Child(
    Base,
    metaclass=type
):
    def method(self):
        super().method()
        return 2


class Empty: pass


class Quiet:
    """Only a docstring."""


async def agen():
    yield 1


class Ctx:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        return False


async def amain():
    """Async docstring."""
    await asyncio.sleep(0)
    async with Ctx() as c:
        x = c
    async for i in agen():
        x = i
    else:
        x = 2
    ys = [
        y
        async for y in agen()
    ]
    return x, ys


if __name__ == "__other__":
    never = 1  # @never
elif CONSTANT:
    decorated(1); one_line()
    only_doc()
for n in range(5):
    branches(n)
trying(0)
trying(1)
withs()
closures([1, 2, 3])
list(generator(2))
Base().prop
Base.static()
Child().method()
asyncio.run(amain())
if CONSTANT: last = 1
try:
    sys.missing
except AttributeError: pass
print(
    "done",
    file=open(os.devnull, "w")
)
'''

MATCHING = '''\
"""Doc."""


def pick(x):
    match x:
        case 1:
            y = 1
        case [a, b] if a:
            y = 2
        case {
            "k": v,
        }:
            y = 3
        case str() | bytes():
            pass
        case _:
            y = 4
    return x


for v in (1, [1, 2], [0, 1], {"k": 1}, "s", None):
    pick(v)
with (
    open("/dev/null") as f,
    open("/dev/null") as g,
):
    pass
'''

GENERIC = """\
type Alias = int


def generic[T](
    x: T,
) -> T:
    return x


class Box[T]:
    item: T

    def get(self) -> T:
        return f"{
            self
        }"


Box().get()
generic(1)
try:
    raise ExceptionGroup("g", [ValueError(1)])
except* ValueError as e:
    x = 1
except* TypeError:
    x = 2  # @never
"""

TRACER = """
import json, sys
path = sys.argv[1]
seen = set()
def trace(frame, event, argument):
    if frame.f_code.co_filename != path:
        return None
    if event == "line":
        seen.add(frame.f_lineno)
    return trace
with open(path) as file:
    code = compile(file.read(), path, "exec", dont_inherit=True)
sys.settrace(trace)
exec(code, {"__name__": "__main__"})
sys.settrace(None)
print(json.dumps(sorted(seen)))
"""


def write(folder: Path, text: str | bytes) -> str:
    path = folder / "program.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def examined_by(version: tuple[int, ...], path: str) -> dict[str, object]:
    command = [str(INTERPRETERS[version]), "-I", "-S", breakable_lines.__file__]
    done = subprocess.run(command, input=json.dumps([path]).encode(), capture_output=True, check=True, timeout=60)
    answer: dict[str, object] = json.loads(done.stdout)[0]
    return answer


def traced_by(version: tuple[int, ...], path: str) -> set[int]:
    command = [str(INTERPRETERS[version]), "-I", "-c", TRACER, path]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


def source(folder: Path, text: str) -> SourceFile:
    path = write(folder, text)
    return SourceFile(path, breakable_lines.examine(path))


SINCE = {EVERYWHERE: (3, 8), MATCHING: (3, 10), GENERIC: (3, 12)}


CASES = [(version, text) for text, since in SINCE.items() for version in DEBUGGABLE if version >= since]


@pytest.mark.parametrize(("version", "text"), CASES)
def test_declared_lines_are_those_that_are_traced(tmp_path: Path, version: tuple[int, ...], text: str) -> None:
    path = write(tmp_path, text)
    found = examined_by(version, path)
    assert found["error"] is None
    declared = set(found["code_lines"])  # type: ignore[call-overload]
    docstrings = {line for first, last in found["docstrings"] for line in range(first, last + 1)}  # type: ignore[attr-defined]
    traced = traced_by(version, path)
    never = {number for number, line in enumerate(text.split("\n"), 1) if line.endswith("# @never")}
    assert declared - traced == never
    assert traced - declared <= docstrings


@pytest.mark.parametrize("version", DEBUGGABLE, ids=str)
def test_an_else_a_finally_a_comment_and_a_docstring_have_no_code(tmp_path: Path, version: tuple[int, ...]) -> None:
    path = write(tmp_path, EVERYWHERE)
    declared = examined_by(version, path)["code_lines"]
    empty = {"else:", "finally:", ")", "", "# a comment", "global COUNT", "nonlocal total", '"""Class docstring."""'}
    assert [
        line
        for number, line in enumerate(EVERYWHERE.split("\n"), 1)
        if line.strip() in empty and number in declared  # type: ignore[operator]
    ] == []


def test_a_definition_names_its_first_line_that_runs_inside(tmp_path: Path) -> None:
    text = '@property\ndef f(\n    a=1,\n):\n    """Doc."""\n    # why\n    return a\n\nclass C:\n    """Doc."""\n'
    found = breakable_lines.examine(write(tmp_path, text))
    assert found["definitions"] == {
        1: ["function", "f", 7],
        2: ["function", "f", 7],
        3: ["function", "f", 7],
        9: ["class", "C", None],
    }


def test_code_beside_a_docstring_counts(tmp_path: Path) -> None:
    text = '"""a\nb"""; x = 1\ndef f(): "doc"\nclass C: "doc"\ndef g():\n    """one\n    two"""; return 1\n'
    assert breakable_lines.examine(write(tmp_path, text))["code_lines"] == [2, 3, 4, 5, 7]


@pytest.mark.parametrize(
    ("raw", "count"),
    [(b"", 1), (b"x", 1), (b"x\n", 1), (b"x\n\n", 2), (b"x\r\ny\r\n", 2), (b"x\ry", 2), (b"x = '\x0c\x1c'\ny\n", 2)],
)
def test_lines_are_counted_as_editors_count_them(tmp_path: Path, raw: bytes, count: int) -> None:
    assert breakable_lines.examine(write(tmp_path, raw))["max_line"] == count


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfx = '\xc3\xa9'\n", b"# coding: latin-1\nx = '\xe9'\n"])
def test_byte_order_marks_and_encoding_cookies_are_understood(tmp_path: Path, raw: bytes) -> None:
    found = breakable_lines.examine(write(tmp_path, raw))
    assert found["error"] is None
    assert found["code_lines"] == [found["max_line"]]


@pytest.mark.parametrize(
    ("raw", "line", "message"),
    [
        (b"x = 1\ny = '\xe9'\nz = 1\n", 2, "(unicode error)"),
        (b"# fine\nx = 1\nx = '\0'\n", 3, "null bytes"),
        (b"# coding: nonsense\n", None, "unknown encoding"),
        (b"# coding: hex\nx\n", None, "not a text encoding"),
        (b"x = 1\nif x == 1\n", 2, "expected ':'"),
        (b"(" * 5000, 1, "too many nested parentheses"),
        (b"-" * 100_000 + b"1", None, "too "),
    ],
)
def test_what_cannot_be_compiled_is_told_and_not_raised(
    tmp_path: Path, raw: bytes, line: int | None, message: str
) -> None:
    error = breakable_lines.examine(write(tmp_path, raw))["error"]
    assert error["line"] == line
    assert message in error["message"]


@pytest.mark.parametrize("path", ["/no/such/file.py", "/tmp", "/dev/zero", "a\0b", "\ud800"])
def test_what_cannot_be_read_is_told_and_not_raised(path: str) -> None:
    found = breakable_lines.examine(path)
    assert found["error"]["message"]
    assert found["max_line"] == 0


FUNCTION = """\
import os

def f(x):
    '''Doc

    # not a comment'''
    # a comment
    if x:
        return 1
    else:
        return 2
    # the end

VALUE = 1
"""


def test_a_line_with_code_is_verified_without_a_word(tmp_path: Path) -> None:
    verdict = source(tmp_path, FUNCTION).judge_line(9)
    assert (verdict.verified, verdict.reason, verdict.message, verdict.suggestion) == (True, "ok", None, None)


def test_a_definition_is_verified_and_says_when_it_runs(tmp_path: Path) -> None:
    verdict = source(tmp_path, FUNCTION).judge_line(3)
    assert verdict.verified
    assert verdict.message == "Line 3 runs when 'f' is defined; use line 8 to stop inside it"


@pytest.mark.parametrize(
    ("line", "nearest", "text", "why"),
    [
        (2, 3, "def f(x):", "line contains only whitespace"),
        (4, 8, "if x:", "line is part of a docstring"),
        (5, 8, "if x:", "line is part of a docstring"),
        (6, 8, "if x:", "line is part of a docstring"),
        (7, 8, "if x:", "line is a comment"),
        (10, 11, "return 2", "line has no code of its own"),
        (12, 11, "return 2", "line is a comment"),
        (13, 14, "VALUE = 1", "line contains only whitespace"),
    ],
)
def test_a_line_without_code_is_unverified_with_the_nearest_one_that_has(
    tmp_path: Path, line: int, nearest: int, text: str, why: str
) -> None:
    file = source(tmp_path, FUNCTION)
    verdict = file.judge_line(line)
    assert (verdict.verified, verdict.reason) == (False, "no_code")
    assert verdict.message == f"No executable code at line {line}"
    assert verdict.suggestion == Suggestion(line=nearest, text=text)
    assert file.why_not(line) == why


def test_a_file_of_comments_has_nothing_to_suggest(tmp_path: Path) -> None:
    assert source(tmp_path, "# one\n# two\n").judge_line(1).suggestion is None


@pytest.mark.parametrize("line", [15, 999, 0, -1])
def test_a_line_that_does_not_exist_is_past_the_end(tmp_path: Path, line: int) -> None:
    verdict = source(tmp_path, FUNCTION).judge_line(line)
    assert (verdict.verified, verdict.reason) == (False, "past_end")
    assert verdict.message == f"Line {line} does not exist: the file has 14 lines"


def test_a_file_that_does_not_compile_says_so(tmp_path: Path) -> None:
    file = source(tmp_path, "x = 1\nif x\n")
    verdict = file.judge_line(1)
    assert not verdict.verified
    assert verdict.message == "Cannot check line 1: the file does not compile: expected ':' (line 2)"
    assert file.judge_line(3).reason == "past_end"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("  \t", "line contains only whitespace"),
        ("  # x", "line is a comment"),
        ('    """Doc."""', "line is part of a docstring"),
        ("else:", "line has no code of its own"),
    ],
)
def test_the_text_of_a_line_tells_why_it_cannot_stop(text: str, why: str) -> None:
    assert why_not(text) == why


def test_an_excerpt_shows_the_lines_around(tmp_path: Path) -> None:
    path = write(tmp_path, "a\nb\r\nc\nd\ne\n")
    assert excerpt(path, 2, before=1, after=1) == [
        {"line": 1, "text": "a"},
        {"line": 2, "text": "b"},
        {"line": 3, "text": "c"},
    ]
    assert [shown["line"] for shown in excerpt(path, 5)] == [2, 3, 4, 5]


def test_an_excerpt_follows_changes_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "old\n")
    assert excerpt(path, 1) == [{"line": 1, "text": "old"}]
    write(tmp_path, "newer\n")
    assert excerpt(path, 1) == [{"line": 1, "text": "newer"}]


def test_an_excerpt_cuts_long_lines_and_takes_lines_already_read() -> None:
    (shown,) = excerpt(["x" * 5000], 1)
    assert len(shown["text"]) == 200


@pytest.mark.parametrize("path", ["/no/such/file", "/tmp", "<string>", "a\0b", "/dev/zero"])
def test_an_excerpt_of_what_cannot_be_read_is_empty(path: str) -> None:
    assert excerpt(path, 1) == []


def test_an_excerpt_of_an_undecodable_file_is_shown_as_far_as_possible(tmp_path: Path) -> None:
    assert excerpt(write(tmp_path, b"x = '\xff'\n"), 1) == [{"line": 1, "text": "x = '\ufffd'"}]
