"""Programs run as without a debugger while nothing is asked of it, and what is asked is answered exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from breadth import last_of
from relays import Api, Session, line_of, pythons

PYTHONS = pythons("3.8", "3.11", "3.12", "3.13")
EITHER = pythons("3.11", "3.13")
NEWEST = pythons("3.12", "3.13")
Write = Callable[..., Path]

WATCHED = """
import sys, threading

def is_watched():
    if sys.gettrace() is not None or threading._trace_hook is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)
    tools = [tool for tool in range(6) if monitoring and monitoring.get_tool(tool)]
    return any(monitoring.get_events(tool) for tool in tools)

def is_watched_here(code):
    monitoring = sys.monitoring
    tools = [tool for tool in range(6) if monitoring.get_tool(tool)]
    return any(monitoring.get_local_events(tool, code) for tool in tools)
"""


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def python(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(params=last_of(NEWEST))
def newest(request: pytest.FixtureRequest) -> Path:
    """From 3.12 on nothing differs between versions: the last is tried, the others with `BREADTH=all`."""
    return Path(request.param)


@pytest.fixture(params=EITHER.values(), ids=EITHER.keys())
def either(request: pytest.FixtureRequest) -> Path:
    """One on which code tests its breakpoints itself, and one on which the interpreter does."""
    return Path(request.param)


def hits(session: Session) -> list[int]:
    return [bp["hit_count"] for bp in session.get("/breakpoints")["breakpoints"]]


def test_nothing_is_watched_while_nothing_is_asked(api: Api, newest: Path, program: Write, tmp_path: Path) -> None:
    """Neither before anything was asked nor after the last stop."""
    path = program(
        WATCHED
        + """
import os, time

def work():
    return is_watched()

def tell(when):
    print(when, work(), is_watched_here(work.__code__))

tell("at first")
thread = threading.Thread(target=tell, args=["in a thread"])
thread.start(); thread.join()
tell("again")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
work()  # @here
tell("after a stop")
"""
    )
    with api.session(python_path=str(newest)) as session:
        session.launch(path, args=[str(tmp_path / "go")], stop_on_entry=True)
        session.resume(wait=False)
        session.wait_for_output("again")
        session.break_at(path, "here")
        (tmp_path / "go").touch()
        assert session.get("/report", wait=20)["stop_reason"] == "breakpoint"
        session.delete("/breakpoints")
        session.step("into")
        assert session.resume()["status"] == "terminated"
        told = [f"{when} False False" for when in ("at first", "in a thread", "again", "after a stop")]
        assert session.output().splitlines() == told


def test_what_a_step_calls_runs_unwatched_and_what_looks_at_every_exception_is_told(
    api: Api, newest: Path, program: Write
) -> None:
    path = program(
        WATCHED
        + """
def deep(depth):
    return deep(depth - 1) if depth else unseen()

def unseen():
    return is_watched_here(unseen.__code__)

def outer():
    seen = [deep(3), deep(2)]  # @step
    return seen  # @after

print(outer())  # @out
"""
    )
    with api.session(python_path=str(newest)) as session:
        session.break_at(path, "step")
        session.launch(path)
        session.delete("/breakpoints")
        over = session.step("over")
        assert over["stop_reason"] == "step" and session.locals()["seen"] == "[False, False]"
        session.step("out")
        assert "slow_code" not in session.get("/status")
        session.post("/exception-breakpoints", {"filters": ["raised"], "exceptions": ["ValueError"]})
        [slow] = session.get("/status")["slow_code"]
        assert (slow["path"], slow["function"]) == (None, None) and "raised" in slow["why"]
        assert session.resume()["status"] == "terminated"


CONDITIONS = {
    "plain": ("i % 100 == 7", 10),
    "global": ("LIMIT < i", 499),
    "builtin": ("max(i, 3) > 997", 2),
    "closure": ("outside + i == 1004", 1),
    "shadowed": ("len(items) == 2 and i == 3", 1),
    "unbound": ("i > 989 or later", 990 + 10),
    "comprehension": ("any(i == n for n in (1, 2))", 2),
    "lambda": ("(lambda n: n == i)(5)", 1),
    "walrus": ("(half := i // 2) == 100", 2),
    "names": ("'i' in locals() and i == 8", 1),
    "strings": ("f'{i}' == '77'", 1),
    "attribute": ("owner.value == i", 1),
}


@pytest.mark.parametrize("kind", ["condition", "count"])
def test_conditions_mean_what_they_mean_in_the_program(api: Api, python: Path, program: Write, kind: str) -> None:
    """Each on a line of its own in a loop that is long enough for every way in which they are decided."""
    lines = "\n".join(f"            i  # @{name}" for name in CONDITIONS)
    path = program(
        f"""
LIMIT = 500
class Owner:
    value = 900
def make(outside):
    def run(items, owner, len=len):
        for i in range(1000):
            outside
{lines}
        later = 0
    return run
make(10)([1, 2], Owner())
class Body:
    names = 3
    for i in range(3):
        i  # @body
print("done")
"""
    )
    with api.session(python_path=str(python)) as session:
        for name, (condition, _) in CONDITIONS.items():
            count = {"hit_condition": ">= 5000"} if kind == "count" else {"log_message": ""}
            if name == "unbound":  # it fails, which stops the program
                count = {"hit_condition": ">= 5000"}
                condition = "i > 989"
            session.break_at(path, name, condition=condition, **{k: v or name for k, v in count.items()})
        session.break_at(path, "body", condition="names == 3 and i == 1", log_message="body")
        assert session.launch(path)["status"] == "terminated"
        expected = [10 if name == "unbound" else hit for name, (_, hit) in CONDITIONS.items()]
        assert hits(session) == [*expected, 1]
        assert session.output() == "done\n"


STOPS = {
    "plain": ("i == 801", "801"),
    "several": ("i - i + total == 802", "802"),
    "closure": ("outside + i == 1004", "994"),
    "reads": ("i == LIMIT + 103", "803"),
    "others": ("i == LIMIT + 103", "603"),
    "calls": ("is_wanted(i)", "804"),
    "yields": ("i == 805", "805"),
    "fails": ("table[i] < 0", "806"),
}


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_a_condition_that_decides_many_arrivals_stops_in_the_frame_that_it_has_looked_at(
    api: Api, program: Write, version: str
) -> None:
    """On 3.12 what decides has no frame that anybody sees."""
    lines = {name: f"i  # @{name}" for name in STOPS}
    path = program(
        f"""
import traceback, types
LIMIT = 700
def is_wanted(i):
    assert traceback.extract_stack()[0].name == "<module>"
    return i == 804
def plain():
    for i in range(1000):
        {lines["plain"]}
    later = 0
def several():
    for i in range(1000):
        total = i
        {lines["several"]}
def around(outside):
    def closure():
        for i in range(1000):
            outside, {lines["closure"]}
    return closure
def reads():
    for i in range(1000):
        {lines["reads"]}
def others():
    for i in range(650):
        {lines["others"]}
def calls():
    for i in range(1000):
        {lines["calls"]}
def yields():
    for i in range(1000):
        yield {lines["yields"]}
def fails(table):
    for i in range(807):
        {lines["fails"]}
plain()
several()
around(10)()
reads()
others()
types.FunctionType(others.__code__, {{"LIMIT": 500}})()
calls()
list(yields())
fails(range(806))
"""
    )
    (python,) = pythons(version).values()
    with api.session(python_path=str(python)) as session:
        for name, (condition, _) in STOPS.items():
            session.break_at(path, name, condition=condition)
        stop = session.launch(path)
        for name, (_, i) in STOPS.items():
            assert (stop["stop_reason"], stop["stack"][0]["name"]) == ("breakpoint", name)
            assert (stop["current_location"]["line"], session.locals()["i"]) == (line_of(path, name), i)
            stop = session.resume()
        assert stop["status"] == "terminated"


def test_hits_of_a_library_are_the_programs_and_a_condition_that_fails_stops_after_any_number_of_arrivals(
    api: Api, either: Path, program: Write
) -> None:
    """The debugger itself calls the function of the library as well."""
    path = program(
        """
        import json
        def run(table):
            for i in range(2000):
                seen = i  # @here
        for n in range(9):
            json.loads("[1]")
        run({n: n for n in range(2000) if n != 1500})
        """
    )
    [library] = either.parent.parent.glob("lib/python3*/json/__init__.py")
    lines = library.read_text().splitlines()
    [line] = (number for number, text in enumerate(lines, 1) if "return _default_decoder.decode(s)" in text)
    with api.session(python_path=str(either)) as session:
        session.break_at(library, line, hit_condition="4")
        stop = session.launch(path, just_my_code=False)
        assert (stop["stop_reason"], session.evaluate("n", frame_id=1)["result"]) == ("breakpoint", "3")
        assert hits(session) == [4]
        session.delete("/breakpoints")
        (here,) = session.break_at(path, "here", condition="table[i] < 0")
        stop = session.resume()
        assert (stop["stop_reason"], session.locals()["i"]) == ("breakpoint", "1500")
        assert "KeyError: 1500" in str(stop)
        session.patch(f"/breakpoints/{here['id']}", {"condition": "missing > i"})
        assert "NameError: name 'missing' is not defined" in str(session.resume())


def test_steps_after_a_free_run_tell_of_no_line_twice(api: Api, either: Path, program: Write) -> None:
    """Lines of the loop stand in front of the one from which it ran freely."""
    path = program(
        """
        def double(n):
            return n * 2  # @inside
        def run():
            n = 0
            while True:
                seen = double(n)  # @call
                n += 1  # @next
                last = n  # @last
        run()
        """
    )
    with api.session(python_path=str(either)) as session:
        session.break_at(path, "inside", "next")
        session.launch(path)
        for _ in range(2):
            stops = [session.step("out"), session.step(), session.step(), session.resume()]
            stops += [session.step("out"), session.resume(), session.step(), session.resume()]
            marks = ("call", "next", "last", "inside") * 2
            assert [stop["current_location"]["line"] for stop in stops] == [line_of(path, mark) for mark in marks]


def test_no_arrival_of_eight_threads_is_lost_or_doubled(api: Api, either: Path, program: Write) -> None:
    path = program(
        """
        import threading
        def work(name):
            for i in range(1000):
                total = i  # @here
                done = i  # @log
            return total
        threads = [threading.Thread(target=work, args=[n]) for n in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print("end")
        """
    )
    with api.session(python_path=str(either)) as session:
        session.break_at(path, "here", hit_condition="% 2000")
        session.break_at(path, "log", condition="i == 999", log_message="{name}")
        stop, stops = session.launch(path), 0
        while stop["status"] == "paused":
            assert stop["stop_reason"] == "breakpoint"
            stops += 1
            stop = session.resume()
        assert stops == 4
        assert hits(session) == [8000, 8]
        assert sorted(session.output("console").split()) == [str(n) for n in range(8)]


def test_exceptions_that_nothing_catches_stop_wherever_they_leave(api: Api, newest: Path, program: Write) -> None:
    path = program(
        """
        import _thread, threading
        def fail(name):
            raise ValueError(name)  # @fails
        def quietly():
            try:
                fail("caught")
            except ValueError:
                pass
        quietly()
        class Worker(threading.Thread):
            def run(self):
                fail("worker")
        for thread in (threading.Thread(target=fail, args=["thread"]), Worker()):
            thread.start()
            thread.join()
        ended = threading.Lock()
        ended.acquire()
        def raw():
            try:
                fail("raw")
            finally:
                ended.release()
        _thread.start_new_thread(raw, ())
        ended.acquire()
        fail("main")
        """
    )
    with api.session(python_path=str(newest)) as session:
        stop, seen = session.launch(path), []
        while stop["status"] == "paused":
            assert stop["stop_reason"] == "exception"
            assert stop["current_location"]["function"] == "fail"
            seen.append(session.evaluate("name")["result"])
            stop = session.resume()
        assert sorted(seen) == ["'main'", "'raw'", "'thread'", "'worker'"]
        assert stop["exit_code"] == 1
        assert "caught" not in session.output("stderr")


def test_a_program_may_use_sys_monitoring_and_settrace_itself(api: Api, newest: Path, program: Write) -> None:
    path = program(
        """
        import sys
        monitoring, seen, traced = sys.monitoring, [], []
        def work(n):
            total = n
            total += 1  # @here
            return total
        for tool in (monitoring.DEBUGGER_ID, monitoring.COVERAGE_ID):
            monitoring.use_tool_id(tool, "mine")
            monitoring.register_callback(tool, monitoring.events.LINE, lambda code, line: seen.append(line))
            monitoring.set_local_events(tool, work.__code__, monitoring.events.LINE)
        def trace(frame, event, arg):
            if frame.f_code is work.__code__ and event == "line":
                traced.append(frame.f_lineno)
            return trace
        sys.settrace(trace)
        work(1); work(2)
        sys.settrace(None)
        print(len(seen), len(traced))
        """
    )
    with api.session(python_path=str(newest)) as session:
        session.break_at(path, "here", condition="n == 2")
        assert session.launch(path)["stop_reason"] == "breakpoint"
        assert session.locals()["n"] == "2"
        assert session.resume()["exit_code"] == 0
        assert session.output() == "12 6\n"


def test_a_loop_on_one_line_is_paused_and_gets_breakpoints_while_it_runs(
    api: Api, newest: Path, program: Write
) -> None:
    path = program(
        """
        turns, going = 0, True
        print("begun", flush=True)
        while going: turns += 1  # @loop
        print("left")
        """
    )
    with api.session(python_path=str(newest)) as session:
        session.launch(path, wait=False)
        session.wait_for_output("begun")
        assert session.post("/pause", {"wait": 20})["stop_reason"] == "pause"
        session.resume(wait=False)
        session.break_at(path, "loop", condition="turns % 1000 == 0")
        assert session.get("/report", wait=20)["stop_reason"] == "breakpoint"
        first = int(session.evaluate("turns")["result"])
        assert session.resume()["stop_reason"] == "breakpoint"
        assert int(session.evaluate("turns")["result"]) == first + 1000
        session.delete("/breakpoints")
        session.evaluate("globals().update(going=False)")
        assert session.resume()["exit_code"] == 0
