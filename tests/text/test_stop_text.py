"""What a stop says in text, of real programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from native import Builder
from relays import Api, Session, line_of
from text_answers import in_text, launch_in_text, step_in_text

Program = Callable[..., Path]

SHOP = """
def total(prices, discount):
    result = 0
    for price in prices:
        result += price * (1 - discount)  # @add
        print("added", price)
    return result

def main():
    names = ["pear"]
    return total([10, 20], 0.5)  # @call

main()  # @main
"""


def test_a_first_stop_has_place_source_locals_and_stack(api: Api, program: Program) -> None:
    path = program(SHOP, "shop.py")
    add, call, main = (line_of(path, mark) for mark in ("add", "call", "main"))
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "add")
        assert launch_in_text(session, path).split("\n") == [
            f"{session.id} paused: breakpoint bp_1 at shop.py:{add} in total",
            " 1 def total(prices, discount):",
            " 2     result = 0",
            " 3     for price in prices:",
            ">4         result += price * (1 - discount)  # @add",
            ' 5         print("added", price)',
            " 6     return result",
            "locals: discount = 0.5; result = 0; price = 10; prices = [10, 20]",
            f"stack: 0 total shop.py:{add} < 1 main :{call} < 2 <module> :{main}",
        ]


def test_a_step_in_the_same_function_has_its_line_and_what_changed(api: Api, program: Program) -> None:
    path = program(SHOP, "shop.py")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "add")
        session.launch(path)
        assert step_in_text(session).split("\n") == [
            f"{session.id} paused: step at shop.py:5 in total",
            '>5 print("added", price)',
            "changed: result: 0 → 5.0",
        ]
        assert step_in_text(session).split("\n") == [
            f"{session.id} paused: step at shop.py:3 in total",
            ">3 for price in prices:",
            "out| added 10",
        ]
        again = in_text(session, "GET", "/report")
        assert "locals: prices = [10, 20]; price = 10; discount = 0.5;" in again and "stack: 0 total" in again


def test_several_steps_in_the_same_function_have_all_of_the_stop(api: Api, program: Program) -> None:
    path = program(SHOP, "shop.py")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, 2)
        session.launch(path)
        led = in_text(session, "POST", "/step-until", {"expression": "result > 4"}).split("\n")
        assert led[1] == "condition is met after 3 steps"
        assert '>5         print("added", price)' in led
        assert "locals: price = 10; result = 5.0; prices = [10, 20]; discount = 0.5" in led


def test_a_step_that_leaves_the_function_has_what_it_returned_and_all_of_the_caller(api: Api, program: Program) -> None:
    path = program(SHOP, "shop.py")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, 2)
        session.launch(path)
        left = step_in_text(session, "out")
        assert f"at shop.py:{line_of(path, 'call')} in main" in left
        assert "returned: total → 15.0" in left
        assert "locals: names = ['pear']" in left


def test_another_depth_of_a_recursion_is_another_call(api: Api, program: Program) -> None:
    path = program("""
        def down(n):
            if n == 0:
                return 0
            return 1 + down(n - 1)  # @deeper

        down(3)
        """)
    with api.session() as session:
        session.break_at(path, "deeper")
        assert "same_function" not in session.launch(path)
        deeper = session.resume()
        assert "same_function" not in deeper and deeper["changes"] == [{"name": "n", "old": "3", "new": "2"}]
        assert "stack: 0 down" in in_text(session, "POST", "/continue", {"wait": 30})
    with api.session() as session:
        session.break_at(path, 2)
        session.launch(path)
        assert session.step()["same_function"] is True


def test_another_call_is_told_as_a_whole_if_changes_would_mislead(api: Api, program: Program) -> None:
    path = program("""
        def add(a):
            total = a + 1  # @begin
            return total  # @end

        for item in (1, 2):
            add(item)
        add(2)  # @other
        """)
    with api.session() as session:
        session.break_at(path, "begin")
        session.launch(path)
        assert session.resume()["same_function"] is True
        session.step()
        again = in_text(session, "POST", "/continue", {"wait": 30})
        assert "locals: a = 2" in again and f"< 1 <module> :{line_of(path, 'other')}" in again
    with api.session() as session:
        session.break_at(path, "end")
        session.break_at(path, "begin")
        session.launch(path)
        assert session.resume()["same_function"] is True
        assert "same_function" not in session.resume(), "total is gone"


def test_reports_with_fields_of_their_own_show_these_in_a_step_too(api: Api, program: Program) -> None:
    path = program(SHOP)
    with api.session() as session:
        session.break_at(path, "add")
        session.launch(path)
        shown = step_in_text(session, fields=["locals", "changes"])
        assert shown.split("\n")[1:] == ["locals: result = 5.0; price = 10; prices = [10, 20]; discount = 0.5"]


def test_an_exception_has_its_message_notes_and_what_led_to_it(api: Api, program: Program) -> None:
    path = program("""
        def read(row):
            return row["price"]  # @read

        def convert(row):
            try:
                return read(row)
            except KeyError as error:
                wrong = ValueError("no price")
                if hasattr(wrong, "add_note"):
                    wrong.add_note("in row 3")
                raise wrong from error  # @raise

        convert({})
        """)
    with api.session(project_root=str(path.parent)) as session:
        lines = launch_in_text(session, path, python_path=sys.executable).split("\n")
        assert lines[:4] == [
            f"{session.id} paused: exception at program.py:{line_of(path, 'raise')} in convert",
            "ValueError: no price",
            "  note: in row 3",
            f"  from KeyError: 'price' at program.py:{line_of(path, 'read')} in read",
        ]
        bare = in_text(session, "GET", "/report", fields="location", budget=200).split("\n")
        assert bare[1:3] == ["ValueError: no price", "  note: in row 3"]


def test_a_failing_test_is_shown_without_the_frames_of_its_runner(api: Api, program: Program) -> None:
    path = program("""
        def check(found):
            assert found == [1, 2, 4]  # @wrong

        def test_it():
            check([1, 2, 3])  # @test
        """, "test_shop.py")
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", str(path)]
    with api.session(project_root=str(path.parent), python_path=sys.executable) as session:
        told = launch_in_text(session, module="pytest", args=arguments, stop_on_exception="test_failure")
    wrong, test = line_of(path, "wrong"), line_of(path, "test")
    assert told.startswith(f"{session.id} paused: exception at test_shop.py:{wrong} in check\n")
    assert "AssertionError: assert [1, 2, 3] == [1, 2, 4]" in told
    assert f"stack: 0 check test_shop.py:{wrong} < 1 test_it :{test} < … 3 frames of _pytest, pluggy …\n" in told
    assert "more frames: GET /sessions/{id}/stacktrace" in told


def test_own_callers_of_a_library_are_on_the_stack(api: Api, program: Program) -> None:
    path = program("""
        import asyncio
        import functools

        async def work(number):
            return number / 0  # @work

        async def main():
            await asyncio.gather(work(1))

        asyncio.run(main())  # @run
        """)
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "work")
        told = launch_in_text(session, path)
    assert f"0 work program.py:{line_of(path, 'work')} < … " in told
    assert told.split("\n")[-1].endswith(f"<module> :{line_of(path, 'run')}")
    assert "of asyncio …" in told


def test_a_stop_in_a_library_names_both_places(api: Api, program: Program) -> None:
    path = program("""
        import json

        json.loads("[1, 2")  # @loads
        """)
    with api.session(project_root=str(path.parent)) as session:
        told = launch_in_text(session, path)
    line = line_of(path, "loads")
    assert f"exception at program.py:{line} in <module>, frame 3; stopped in json/decoder.py:" in told
    assert "JSONDecodeError: Expecting ',' delimiter" in told
    assert "stack: 0 raw_decode decoder.py:" in told and f"3 <module> program.py:{line}" in told


def test_a_program_that_waits_and_one_that_ends(api: Api, program: Program) -> None:
    path = program("""
        import sys
        name = input("Name: ")
        sys.exit(f"no {name}")
        """)
    with api.session() as session:
        assert launch_in_text(session, path).startswith(f"{session.id} running: waits for input after 'Name: '")
        ended = in_text(session, "POST", "/input", {"input": "eve\n", "wait": 30})
        assert ended.split("\n") == [f"{session.id} terminated: exited with code 1", "sent 4 bytes", "err| no eve"]


def test_a_program_that_runs_on_says_what_to_do(api: Api, program: Program) -> None:
    path = program("import time\nwhile True:\n    time.sleep(0.05)\n")
    with api.session() as session:
        told = launch_in_text(session, path, wait=0.2)
        assert told.startswith(f"{session.id} running\nIt runs on") and "POST /sessions/{id}/pause" in told
        assert in_text(session, "POST", "/pause", {"wait": 30}).startswith(f"{session.id} paused: pause at ")
        assert in_text(session, "POST", "/terminate").startswith(f"{session.id} terminated: ended on request, SIGTERM")


def test_a_paused_child_comes_with_its_report(api: Api, program: Program) -> None:
    path = program("""
        import multiprocessing

        def work(number):
            return number + 1  # @work

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pool.map(work, [41])
        """)
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "work")
        told = launch_in_text(session, path, debug_subprocesses=True)
    assert told.startswith(f"{session.id} running\n")
    assert "paused children: sess_" in told
    assert f"paused: breakpoint bp_1 at program.py:{line_of(path, 'work')} in work" in told
    assert "locals: number = 41" in told


def test_a_native_program_reads_the_same(api: Api, build: Builder) -> None:
    native = build("sums")
    with api.session(project_root=str(native.source.parent), adapter="gdb", restore_breakpoints=False) as session:
        session.post("/breakpoints", {"function": "main"})
        told = launch_in_text(session, program=str(native.program))
        assert told.startswith(f"{session.id} paused: breakpoint bp_1 at sums.c:")
        assert "\n>" in told and "locals: " in told
        stepped = step_in_text(session)
        assert len(stepped) <= 300 and stepped.count("\n>") == 1 and "stack:" not in stepped


def test_watches_of_a_step_are_those_that_changed(api: Api, program: Program) -> None:
    path = program(SHOP)
    with api.session() as session:
        session.break_at(path, "add")
        session.post("/watch", {"expression": "result * 2"})
        session.post("/watch", {"expression": "len(prices)"})
        assert "watches: result * 2 = 0; len(prices) = 2" in launch_in_text(session, path)
        assert "watches: result * 2 = 10.0 (was 0)" in step_in_text(session).split("\n")


def test_threads_and_locks(session: Session, program: Program) -> None:
    path = program("""
        import threading
        one, two = threading.Lock(), threading.Lock()
        both = threading.Barrier(3)

        def take(first, second):
            with first:
                both.wait()
                with second:
                    pass

        for pair in ((one, two), (two, one)):
            threading.Thread(target=take, args=pair, name="worker", daemon=True).start()
        both.wait()
        input()
        """)
    session.launch(path)
    told = in_text(session, "GET", "/locks")
    assert told.startswith("deadlock: thread ") and "worker waits for" in told
    assert "MainThread running" in in_text(session, "GET", "/threads")


def test_one_call_that_runs_a_program_names_breakpoints_that_are_not_verified(api: Api, program: Program) -> None:
    path = program("x = 1\n\ny = 2  # @here\n", "short.py")
    body = {"script": str(path), "project_root": str(path.parent), "breakpoints": ["short.py:3", "missing.py:1"]}
    answer = api.http.post("/run", json={**body, "wait": 30}, params={"format": "text"})
    session_id, _, rest = answer.text.partition(" ")
    with Session(api, session_id):
        assert rest.startswith("paused: breakpoint bp_1 at short.py:3 in <module>\nbp_2 missing.py:1  (NOT VERIFIED; ")
        assert "; check the path; it is set once the file is there)\n" in rest
        assert answer.headers["x-session-status"] == "paused"


def test_functions_classes_and_modules_are_named_without_values(api: Api, program: Program) -> None:
    path = program("""
        import os
        import sys

        def work():
            pass

        count = 3
        print(os.sep)  # @here
        """)
    with api.session() as session:
        session.break_at(path, "here")
        lines = launch_in_text(session, path).split("\n")
    assert lines[-2].startswith("locals: os = <module 'os'") and lines[-2].endswith("; count = 3")
    assert lines[-1] == "defined: sys, work"
