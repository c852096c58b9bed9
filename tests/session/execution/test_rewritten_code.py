"""Up to Python 3.11 code tests its breakpoints itself: nothing is traced, and every kind of code has its stops."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from relays import Api, line_of, pythons

PYTHONS = pythons("3.8", "3.9", "3.10", "3.11", each=True)

UNTRACED = """
import sys
import threading


def hot(n, wanted):
    total = 0
    for i in range(n):
        total += i  # @hot
    return total


def traced():
    return sys.gettrace() is not None or sys._getframe(1).f_trace is not None


def report(name):
    print(name, traced(), sys._getframe(1).f_lineno)


report("begin")
hot(1000, -1)
report("condition")
hot(10, 7)  # @call
report("stop")
worker = threading.Thread(target=report, args=("thread",))
worker.start()
worker.join()
hot(10, 8)
report("end")  # @end
"""

KINDS = """
import asyncio
import contextlib
import functools


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)  # @wrapper
    return wrapper


class Shape:
    size = 3  # @class_body

    def __init__(self, size):
        self.size = size  # @init

    @property
    def area(self):
        return self.size ** 2  # @property

    @classmethod
    @decorated
    def make(cls):
        return cls(2)  # @classmethod

    @staticmethod
    def help():
        return [n for n in range(3) if n]  # @comprehension


def counter():
    count = 0
    def add():
        nonlocal count
        count += 1  # @closure
        return count
    return add


def numbers():
    for n in range(3):
        yield n  # @generator


async def waits(n):
    async with contextlib.AsyncExitStack():
        await asyncio.sleep(0)
    return n  # @coroutine


def fails():
    try:
        raise ValueError("no")
    except ValueError as error:
        text = str(error)  # @handler
    finally:
        text = "done"  # @finally
    return text


key = lambda item: -item  # @lambda
print(Shape.make().area, Shape.help(), [counter()() for _ in range(2)], list(numbers()))
print(asyncio.run(waits(5)), fails(), sorted([1, 2], key=key))
exec(compile("a = 1\\nb = a + 1\\ndef f():\\n    return b\\nf()", __file__ + "x", "exec"))
"""
SEEN = """
import dis
import inspect
import marshal
import types


def outer(a):
    def inner(b):
        return a + b  # @inner
    return inner


def plain(a):
    return a * 2  # @plain


compiled = {"f": outer, "g": plain}
for name, source in (("f", inspect.getsource(outer)), ("g", inspect.getsource(plain))):
    scope = {}
    exec(source, scope)
    original = next(each for each in scope.values() if isinstance(each, types.FunctionType)).__code__
    code = compiled[name].__code__
    assert code is compiled[name].__code__
    assert code.co_code == original.co_code and code.co_stacksize == original.co_stacksize
    assert len(marshal.loads(marshal.dumps(code)).co_consts) == len(original.co_consts)
    names = [[each.opname for each in dis.get_instructions(one)] for one in (code, original)]
    assert names[0] == names[1]

copied = types.FunctionType(plain.__code__, globals())
print([copied(number) for number in (1, 2, 3)])
renamed = lambda a: a
renamed.__code__ = plain.__code__.replace(co_name="renamed")
print(renamed(4), types.FunctionType(outer.__code__, globals())(1)(5))
try:
    plain.__code__ = 5
except TypeError as error:
    print(error)
"""
OWN_TRACER = """
import sys

lines = []


def tracer(frame, event, arg):
    if frame.f_code.co_filename != __file__:
        return None
    if event == "line":
        lines.append(frame.f_lineno)
    return tracer


def work(n):
    total = 0
    for i in range(n):
        total += i  # @hot
    return total


def twice():
    work(3)
    return work(2)


sys.settrace(tracer)
twice()
sys.settrace(None)
print(lines)
"""
EXPECTED_KINDS = {
    "wrapper": 1, "class_body": 1, "init": 1, "property": 1, "classmethod": 1, "comprehension": 5, "closure": 2,
    "generator": 3, "coroutine": 1, "handler": 1, "finally": 1, "lambda": 3,
}  # fmt: skip


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def python(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_nothing_is_traced_before_and_after_a_stop(api: Api, python: Path, tmp_path: Path) -> None:
    script = tmp_path / "untraced.py"
    script.write_text(UNTRACED)
    with api.session(python_path=str(python)) as session:
        session.break_at(script, "hot", condition="i == wanted")
        assert session.launch(script)["current_location"]["line"] == line_of(script, "hot")
        assert session.evaluate("i")["result"] == "7"
        assert session.resume()["current_location"]["line"] == line_of(script, "hot")
        session.step("out")
        assert session.resume()["exit_code"] == 0
        reports = [line.split()[:2] for line in session.output().splitlines()]
        names = ("begin", "condition", "stop", "thread", "end")
        assert reports == [[name, "False"] for name in names]
        assert session.output("stderr") == ""


def test_every_kind_of_code_tests_its_breakpoints(api: Api, python: Path, tmp_path: Path) -> None:
    script, executed = tmp_path / "kinds.py", tmp_path / "kinds.pyx"
    script.write_text(KINDS)
    executed.write_text("a = 1\nb = a + 1\ndef f():\n    return b\nf()\n")
    with api.session(python_path=str(python)) as session:
        for name in EXPECTED_KINDS:
            session.break_at(script, name, log_message=name)
        for line in (2, 4):
            session.break_at(executed, line, log_message=f"executed{line}")
        assert session.launch(script)["exit_code"] == 0
        logged = session.output("console").split()
        assert {name: logged.count(name) for name in {*EXPECTED_KINDS, *logged}} == {
            **EXPECTED_KINDS, "executed2": 1, "executed4": 1,
        }  # fmt: skip


@pytest.mark.parametrize("version", ["3.8", "3.11"])
def test_the_program_sees_its_own_code_and_what_it_makes_of_it_stops(api: Api, version: str, tmp_path: Path) -> None:
    script = tmp_path / "seen.py"
    script.write_text(SEEN)
    with api.session(python_path=str(PYTHONS[version])) as session:
        session.break_at(script, "inner", log_message="inner {b}")
        session.break_at(script, "plain", log_message="plain {a}")
        assert session.launch(script)["exit_code"] == 0
        assert session.output() == "[2, 4, 6]\n8 6\n__code__ must be set to a code object\n"
        assert session.output("console") == "plain 1\nplain 2\nplain 3\nplain 4\ninner 5\n"


@pytest.mark.parametrize("version", ["3.8", "3.11"])
def test_a_trace_function_of_the_program_hears_the_same_before_and_after_a_stop(
    api: Api, version: str, tmp_path: Path
) -> None:
    script = tmp_path / "own_tracer.py"
    script.write_text(OWN_TRACER)
    plain = subprocess.run([PYTHONS[version], script], capture_output=True, text=True, check=True).stdout
    with api.session(python_path=str(PYTHONS[version])) as session:
        session.break_at(script, "hot", condition="i == 1 and n == 3")
        assert session.launch(script)["current_location"]["line"] == line_of(script, "hot")
        assert session.locals()["total"] == "0"
        assert session.resume()["exit_code"] == 0
        assert session.output() == plain
