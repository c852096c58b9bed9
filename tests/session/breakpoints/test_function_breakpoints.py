"""Breakpoints on functions by name: found when they are loaded, stopped in at their first line, on every Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, pythons, refusal
from targets import listening
from waiting import wait_until

Write = Callable[..., Path]

MAIN = '''
import asyncio
import functools

import helper


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@decorate
def add(a, b):
    """Adds them."""
    total = a + b  # @add
    return total


class Base:
    def method(self):
        return 1  # @method

    @property
    def size(self):
        return 2  # @size

    @staticmethod
    def same(x): return x  # @same

    @classmethod
    def make(cls):
        return cls()  # @make


class Sub(Base):
    pass


class Other(Base):
    def method(self):
        return super().method() + 1  # @other


def outer(n):
    def inner(x):
        return x + n  # @inner

    return inner(3)


def count():
    while count.left > 0:  # @loop
        count.left -= 1
        yield count.left


count.left = 3


async def wait():
    await asyncio.sleep(0)  # @wait


add(1, 2)
Base().method()
Sub().method()
Other().method()
Base().size
Base.same(4)
Sub.make()
outer(1)
list(count())
asyncio.run(wait())
helper.work(2)
exec("def made(x):\\n    return x\\nmade(1)")
print("end")
'''

HELPER = """
def work(n):
    for i in range(n):  # @work
        work.last = i
    return n


def add(a, b):
    raise NotImplementedError
"""

NOWHERE = "The function is in a file in which the debugger does not stop"

EXPECTED = {
    "program.add": ["add"],
    "Base.method": ["method", "method", "method"],
    "Sub.method": ["method"],
    "Other.method": ["other"],
    "Base.size": ["size"],
    "__main__.Base.same": ["same"],
    "make": ["make"],
    "outer.<locals>.inner": ["inner"],
    "count": ["loop"],
    "wait": ["wait"],
    "helper.work": ["work"],
}
"""Functions, and the lines where the program stops for them."""


@pytest.fixture
def main(program: Write) -> Path:
    program(HELPER, "helper.py")
    return program(MAIN)


def set_on(session: Session, function: str, **options: Any) -> dict[str, Any]:
    (bp,) = session.post("/breakpoints", {"function": function, **options})["breakpoints"]
    return bp  # type: ignore[no-any-return]


def listed(session: Session) -> dict[str, dict[str, Any]]:
    return {bp["id"]: bp for bp in session.get("/breakpoints")["breakpoints"]}


def stops(session: Session, stop: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """This stop and all that follow."""
    while stop["status"] == "paused":
        yield stop
        stop = session.resume(fields=["breakpoints", "locals"])


@pytest.mark.parametrize("version", list(pythons()))
def test_every_kind_of_function_is_stopped_in_at_its_first_line(api: Api, main: Path, version: str) -> None:
    with api.session(python_path=str(pythons()[version])) as session:
        ids = {set_on(session, name)["id"]: name for name in EXPECTED}
        seen: dict[str, list[int]] = {name: [] for name in EXPECTED}
        for stop in stops(session, session.launch(main, fields=["breakpoints"])):
            assert stop["stop_reason"] == "breakpoint"
            for id in stop["hit_breakpoint_ids"]:
                seen[ids[id]].append(stop["current_location"]["line"])
        helper = main.with_name("helper.py")
        lines = {
            name: [line_of(helper if name == "helper.work" else main, marker) for marker in markers]
            for name, markers in EXPECTED.items()
        }
        assert seen == lines
        for id, bp in listed(session).items():
            assert (bp["verified"], bp["message"]) == (True, None), bp
            assert bp["hit_count"] == len(seen[ids[id]])
            assert bp["line"] == seen[ids[id]][0]
        assert session.output() == "end\n"


def test_it_is_pending_until_the_function_is_loaded(session: Session, main: Path) -> None:
    helper = main.with_name("helper.py")
    bp = set_on(session, "helper.work")
    assert (bp["id"], bp["verified"], bp["source"], bp["line"]) == ("bp_1", False, None, None)
    assert bp["message"] == "Function 'helper.work' is not loaded yet. Breakpoint pending."
    assert (bp["function"], bp["file"], bp["locations"]) == ("helper.work", None, [])
    session.break_at(main, 4)
    assert session.launch(main)["hit_breakpoint_ids"] == ["bp_2"]
    assert not listed(session)["bp_1"]["verified"]
    assert session.resume()["hit_breakpoint_ids"] == ["bp_1"]
    bp = listed(session)["bp_1"]
    assert (bp["verified"], bp["message"]) == (True, None)
    assert (bp["source"], bp["line"]) == ({"path": str(helper)}, line_of(helper, "work"))
    told = [event["body"] for event in session.events("breakpoint") if event["body"]["breakpoint"]["id"] == "bp_1"]
    assert [(body["reason"], body["breakpoint"]["verified"]) for body in told] == [("new", False), ("changed", True)]


def test_a_bare_name_means_every_own_function_of_that_name_and_one_that_nothing_has_says_so_at_the_end(
    session: Session, main: Path
) -> None:
    set_on(session, "nothing")
    set_on(session, "Base.nothing")
    set_on(session, "add")
    stop = session.launch(main)
    assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_3"], line_of(main, "add"))
    assert {place["path"] for place in listed(session)["bp_3"]["locations"]} == {
        str(main),
        str(main.with_name("helper.py")),
    }
    assert listed(session)["bp_1"]["message"] == "Function 'nothing' is not loaded yet. Breakpoint pending."
    session.patch("/breakpoints/bp_3", {"hit_condition": "99"})
    never = "The program never loaded a function '{}': check its name, and of a library its module (json.dumps)"
    said = {"bp_1": never.format("nothing"), "bp_2": never.format("Base.nothing")}
    end = session.resume()
    assert end["status"] == "terminated"
    assert end["note"].startswith(f"These breakpoints did not stop the program: bp_1: {said['bp_1']}; bp_2: ")
    assert {id: bp["message"] for id, bp in listed(session).items() if not bp["verified"]} == said


EXPORTING = """
from .inner import Thing, cached, decorated, plain
from .starred import *
from . import inner as alias
"""
INNER = """
import functools


def keep(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


def plain():
    return 1  # @plain


@keep
def decorated():
    return 2  # @decorated


@functools.lru_cache(maxsize=None)
def cached():
    return 3  # @cached


class Thing:
    def method(self):
        return 4  # @method
"""


@pytest.mark.parametrize("version", list(pythons("3.8", "3.12", "3.13")))
def test_what_a_package_has_from_its_modules_is_stopped_in_by_the_name_of_the_package(
    api: Api, program: Write, version: str
) -> None:
    program(EXPORTING, "package/__init__.py")
    inner = program(INNER, "package/inner.py")
    starred = program("def starry():\n    return 5  # @starry\n\ndef other():\n    pass\n", "package/starred.py")
    program("def plain():\n    return 0\n", "elsewhere.py")
    main = program(
        """
        import elsewhere
        import package
        elsewhere.plain()
        package.plain()
        package.decorated()
        package.cached()
        package.Thing().method()
        package.starry()
        package.alias.plain()
        """
    )
    names = ["plain", "decorated", "cached", "Thing.method", "starry", "alias.plain", "Thing"]
    with api.session(python_path=str(pythons(version)[version])) as session:
        for name in names:
            set_on(session, f"package.{name}")
        set_on(session, "math.sqrt")
        stop = session.launch(main)
        reached = []
        while stop["status"] == "paused":
            place = stop["current_location"]
            reached.append((sorted(stop["hit_breakpoint_ids"]), Path(place["path"]), place["line"]))
            stop = session.resume()
        assert reached == [
            (["bp_1", "bp_6"], inner, line_of(inner, "plain")),
            (["bp_2"], inner, line_of(inner, "decorated")),
            (["bp_3"], inner, line_of(inner, "cached")),
            (["bp_4"], inner, line_of(inner, "method")),
            (["bp_5"], starred, line_of(starred, "starry")),
            (["bp_1", "bp_6"], inner, line_of(inner, "plain")),
        ]
        bound = listed(session)
        assert [bound[f"bp_{n}"]["verified"] for n in range(1, 9)] == [True] * 6 + [False] * 2
        assert bound["bp_7"]["message"].startswith("That is a class") and "bp_7" in stop["note"]
        assert bound["bp_8"]["message"].startswith("That is no function written in Python")


def test_functions_of_a_real_library_stop_by_the_names_that_everybody_uses(session: Session, program: Write) -> None:
    path = program("import requests\nfrom requests import get\nget('nothing:')\n")
    set_on(session, "requests.get")
    set_on(session, "requests.Session.request")
    stop = session.launch(path, python_path=sys.executable)
    assert stop["current_location"]["function"] == "get"
    assert session.resume()["current_location"]["function"] == "request"


def test_a_file_says_which_is_meant(session: Session, main: Path) -> None:
    helper = main.with_name("helper.py")
    here = set_on(session, "add", file=str(main))
    assert (here["verified"], here["line"], here["file"]) == (True, line_of(main, "add"), str(main))
    there = set_on(session, "add", file=str(helper), log_message="never called")
    assert (there["id"], there["verified"], there["line"]) == ("bp_2", True, 8)
    wrong = set_on(session, "work", file=str(main))
    assert (wrong["verified"], wrong["message"]) == (
        False,
        f"No function 'work' in {main}. Breakpoint pending.",
    )
    assert [stop["hit_breakpoint_ids"] for stop in stops(session, session.launch(main))] == [["bp_1"]]
    assert [bp["verified"] for bp in listed(session).values()] == [True, True, False]
    assert [bp["id"] for bp in session.get("/breakpoints", file=str(helper))["breakpoints"]] == ["bp_2"]


def test_functions_of_libraries_need_their_whole_name(session: Session, program: Write) -> None:
    path = program("import textwrap\n\ntextwrap.dedent('x')\n\n\ndef run():\n    return 1\n\n\nrun()\n")
    set_on(session, "textwrap.dedent")
    set_on(session, "dedent")
    set_on(session, "run")
    seen = [
        (stop["current_location"]["function"], stop["hit_breakpoint_ids"])
        for stop in stops(session, session.launch(path))
    ]
    assert seen == [("dedent", ["bp_1"]), ("run", ["bp_3"])]
    assert listed(session)["bp_3"]["locations"] == [{"path": str(path), "line": 7}]
    assert not listed(session)["bp_2"]["verified"]


@pytest.mark.parametrize("version", pythons("3.11", "3.13"))
def test_calls_that_the_debugger_makes_itself_do_not_stop(api: Api, program: Write, version: str) -> None:
    """It looks for real paths on the program's threads, at every new file."""
    path = program(
        """
        import os, threading
        import helper
        os.path.join("a", "b")  # @main
        thread = threading.Thread(target=os.path.join, args=("c", "d"))
        thread.start()
        thread.join()
        helper.join()
        """
    )
    program("import os\ndef join():\n    return os.path.join('e', 'f')\n", "helper.py")
    with api.session(python_path=str(pythons(version)[version])) as session:
        set_on(session, "os.path.join")
        assert len(list(stops(session, session.launch(path)))) == 3
        assert listed(session)["bp_1"]["hit_count"] == 3


def test_condition_hit_condition_and_log_message_work_as_on_lines(session: Session, program: Write) -> None:
    path = program("def f(n):\n    return n\n\n\nfor i in range(10):\n    f(i)\n")
    bp = set_on(session, "f", condition="n % 2", hit_condition=">=3")
    assert bp["condition"] == "n % 2"
    seen = [session.locals()["n"] for _ in stops(session, session.launch(path))]
    assert seen == ["5", "7", "9"]
    assert listed(session)["bp_1"]["hit_count"] == 5


def test_a_log_message_on_a_function_prints_its_arguments(session: Session, program: Write) -> None:
    path = program("def f(n):\n    return n\n\n\nfor i in range(3):\n    f(i)\n")
    set_on(session, "f", log_message="f({n})")
    assert session.launch(path)["status"] == "terminated"
    assert session.output("console") == "f(0)\nf(1)\nf(2)\n"
    assert listed(session)["bp_1"]["hit_count"] == 3


def test_a_line_and_a_function_may_share_a_place(session: Session, program: Write) -> None:
    path = program("def f(n):\n    return n  # @here\n\n\nfor i in range(4):\n    f(i)\n")
    session.break_at(path, "here", condition="n == 1")
    set_on(session, "f", condition="n < 3")
    set_on(session, "program.f", condition="n == 1")
    seen = [stop["hit_breakpoint_ids"] for stop in stops(session, session.launch(path))]
    assert seen == [["bp_2"], ["bp_1", "bp_2", "bp_3"], ["bp_2"]]
    assert [bp["hit_count"] for bp in listed(session).values()] == [1, 3, 1]


def test_lines_of_a_file_may_change_under_a_function_breakpoint(session: Session, program: Write) -> None:
    path = program("def f(n):\n    x = n  # @here\n    return x  # @there\n\n\nfor i in range(6):\n    f(i)\n")
    set_on(session, "f")
    session.break_at(path, "there")
    assert session.launch(path)["hit_breakpoint_ids"] == ["bp_1"]
    session.break_at(path, "here")
    session.delete("/breakpoints/bp_2")
    assert session.resume()["hit_breakpoint_ids"] == ["bp_3", "bp_1"]
    session.delete("/breakpoints/bp_3")
    assert session.resume()["hit_breakpoint_ids"] == ["bp_1"]
    session.delete("/breakpoints/bp_1")
    assert session.resume()["status"] == "terminated"


def test_it_is_set_while_the_program_runs(session: Session, program: Write) -> None:
    path = program("import time\n\n\ndef tick():\n    time.sleep(0.01)\n\n\nprint('on')\nwhile True:\n    tick()\n")
    session.launch(path, wait=False)
    session.wait_for_output("on")
    bp = set_on(session, "tick")
    assert (bp["verified"], bp["line"]) == (True, 5)
    assert session.get("/report", wait="20")["hit_breakpoint_ids"] == ["bp_1"]
    session.delete("/breakpoints/bp_1")
    session.post("/continue")
    assert session.get("/report", wait="0.3")["timed_out"]


def test_methods_of_a_class_that_is_there_are_found_where_they_are_inherited(session: Session, program: Write) -> None:
    path = program(
        """
        import textwrap
        import threading


        class Mine(textwrap.TextWrapper):
            pass


        stop = True  # @here
        textwrap.TextWrapper().wrap("text")
        Mine().wrap("text")
        """
    )
    session.break_at(path, "here")
    session.launch(path)
    bp = set_on(session, "Mine.wrap")
    assert bp["verified"] and bp["source"]["path"].endswith("textwrap.py")
    stop = session.resume()
    assert stop["hit_breakpoint_ids"] == ["bp_2"]
    assert session.evaluate("type(self).__name__")["result"] == "'Mine'"
    own = set_on(session, "threading.Thread.run")
    assert (own["verified"], own["message"]) == (False, NOWHERE)
    assert session.resume()["status"] == "terminated"


def test_code_without_a_file_has_functions_too(session: Session) -> None:
    set_on(session, "f")
    stop = session.launch(code="def f(x):\n    y = x\n    return y\nf(1)\n")
    assert (stop["status"], stop["current_location"]["line"]) == ("paused", 2)


def test_libraries_that_are_left_out_are_told(session: Session, program: Write) -> None:
    path = program("import textwrap\n\nx = 1  # @here\ntextwrap.dedent('x')\n")
    session.break_at(path, "here")
    session.launch(path, just_my_code=True)
    bp = set_on(session, "textwrap.dedent")
    assert (bp["verified"], bp["message"]) == (False, NOWHERE)
    assert session.resume()["status"] == "terminated"


def test_a_program_sees_nothing_of_it(session: Session, program: Write) -> None:
    path = program(
        """
        def loop(n):
            while n:
                n -= 1
            return sorted(locals())


        class Hidden:
            def __getattr__(self, name):
                print("asked for", name)
                raise AttributeError(name)


        hidden = Hidden()
        loop(0)
        exec("print('run')", {"__name__": "other"})
        print(loop(2))
        """
    )
    set_on(session, "other.nothing")
    set_on(session, "nobody.Hidden.method")
    assert session.launch(path)["exit_code"] == 0
    assert session.output() == "run\n['n']\n"


@pytest.fixture(scope="module")
def idle(api: Api) -> Iterator[Session]:
    """A session for requests that are refused and change nothing."""
    with api.session() as session:
        yield session


@pytest.mark.parametrize(
    "name", ["a b", "f(", "1f", "a..b", ".f", "f.", "class", "a.<lambda>", "<locals>.f", "f.<locals>", ""]
)
def test_what_is_no_name_is_refused(idle: Session, name: str) -> None:
    error = refusal(400, "INVALID_REQUEST", idle.post, "/breakpoints", {"function": name})
    assert error.details["errors"][0]["field"] == "function"
    assert idle.get("/breakpoints")["total"] == 0


def test_strict_wants_a_function_that_is_there(session: Session, main: Path) -> None:
    body: dict[str, Any] = {"function": "nothing", "strict": True}
    error = refusal(400, "BREAKPOINT_FUNCTION_NOT_FOUND", session.post, "/breakpoints", body)
    assert error.message == "Function 'nothing' is not loaded yet."
    body |= {"file": str(main)}
    error = refusal(400, "BREAKPOINT_FUNCTION_NOT_FOUND", session.post, "/breakpoints", body)
    assert error.message == f"No function 'nothing' in {main}."
    missing = {"function": "f", "file": "/nowhere.py", "strict": True}
    refusal(400, "BREAKPOINT_FILE_NOT_FOUND", session.post, "/breakpoints", missing)
    assert session.post("/breakpoints", {"function": "add", "file": str(main), "strict": True})["verified"]
    session.launch(main)
    refusal(400, "BREAKPOINT_FUNCTION_NOT_FOUND", session.post, "/breakpoints", {"function": "no", "strict": True})
    assert list(listed(session)) == ["bp_1"]
    assert session.post("/breakpoints", {"function": "Base.method", "strict": True})["verified"]


def test_a_function_in_a_file_that_is_not_there_yet(session: Session, tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    bp = set_on(session, "f", file=str(late))
    assert (bp["verified"], bp["message"]) == (False, "Source file not found. Breakpoint pending.")
    late.write_text("def f():\n    return 1\n\n\nf()\n")
    wait_until(lambda: listed(session)["bp_1"]["verified"])
    assert session.launch(late)["current_location"]["line"] == 2


def test_they_are_kept_for_the_project(api: Api, main: Path) -> None:
    root = str(main.parent)
    with api.session(project_root=root) as first:
        set_on(first, "outer", condition="n == 1", enabled=False)
        set_on(first, "add", file="program.py")
        set_on(first, "gone")
        first.launch(main)
        first.delete("/breakpoints/bp_3")
    with api.session(project_root=root) as second:
        kept = [(bp["function"], bp["file"], bp["condition"], bp["enabled"]) for bp in listed(second).values()]
        assert kept == [("outer", None, "n == 1", False), ("add", str(main), None, True)]
        assert second.launch(main)["hit_breakpoint_ids"] == ["bp_2"]
        for id in listed(second):
            second.delete(f"/breakpoints/{id}")
    with api.session(project_root=root) as third:
        assert listed(third) == {}


def test_a_program_that_was_attached_to_stops_in_functions_and_on_exceptions_until_it_is_left(
    session: Session, program: Write
) -> None:
    path = program(
        """
        class Bad(Exception):
            pass


        def answer(question):
            try:
                raise Bad(question)  # @raise
            except Bad:
                return question.upper()


        print("ready", flush=True)
        while question := input():
            print(answer(question), flush=True)
        """
    )
    with listening(path) as (target, port):
        session.post("/breakpoints", {"function": "answer"})
        session.post("/exception-breakpoints", {"exceptions": ["Bad"], "condition": "exc.args[0] == 'first'"})
        session.post("/attach", {"host": "127.0.0.1", "port": port})
        target.tell("first")
        stop = session.get("/report", wait=20)
        assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_1"], 6)
        stop = session.resume()
        assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["ex_1"], line_of(path, "raise"))
        assert (stop["exception"]["type"], stop["exception"]["message"]) == ("Bad", "first")
        session.delete()
        target.tell("second")
        assert [target.says(), target.says()] == ["FIRST", "SECOND"]
