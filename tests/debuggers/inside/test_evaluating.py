"""Evaluating in a namespace: values, statements, errors, private names and interruption."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import soon

from opencode_debugger.debuggers.python import inside
from opencode_debugger.debuggers.python.inside.evaluation.evaluate import evaluate_text
from opencode_debugger.debuggers.python.inside.rpc.interrupts import Interrupted, guard, interrupt_thread
from opencode_debugger.debuggers.python.inside.values.variable_rows import Reply, children_page

HERE = Path(__file__).parent
INSIDE = Path(inside.__file__).parent
PYENV = Path.home() / ".pyenv" / "versions"
TIMED_OUT = {"timed_out": True}


def interpreters() -> list[str]:
    found = [sys.executable]
    for folder in sorted(PYENV.glob("3.*")) if PYENV.is_dir() else []:
        if tuple(int(part) for part in folder.name.split(".")[:2] if part.isdigit()) >= (3, 8):
            found.append(str(folder / "bin" / "python"))
    return found


def run(text: str, context: str = "repl", limit: int = 1000, **namespace: Any) -> dict[str, Any]:
    return evaluate_text(text, namespace, Reply(), limit, context)


class Account:
    __shared = 1

    def __init__(self) -> None:
        self.__balance = 12
        self.inner: Any = None


class Savings(Account):
    pass


@pytest.mark.parametrize("python", interpreters())
def test_every_function_works_on_every_interpreter(python: str) -> None:
    command = [python, "-B", "-W", "error", str(HERE / "smoke.py"), str(INSIDE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_expression_gives_the_fields_of_the_contract() -> None:
    assert run("len(items) * 2", items=[1, 2]) == {
        "result": "4",
        "type": "int",
        "variables_reference": 0,
        "named_variables": 0,
        "indexed_variables": 0,
        "presentation_hint": None,
    }


def test_a_structured_result_can_be_expanded() -> None:
    reply = Reply()
    found = evaluate_text("{'a': [1]}", {}, reply, 100, "watch")
    assert (found["result"], found["length"], found["presentation_hint"]) == ("{'a': [1]}", 1, {"kind": "data"})
    assert children_page(found["variables_reference"], reply, limit_total=100)["total"] == 1


def test_statements_change_the_namespace_and_give_no_value() -> None:
    namespace: dict[str, Any] = {"x": 1}
    found = evaluate_text("x = 5\nfor i in range(3):\n    x += i", namespace, Reply(), 100, "repl")
    assert (found["result"], found["type"]) == ("", None)
    assert namespace == {"x": 8, "i": 2}


def test_none_is_a_value_and_not_the_same_as_a_statement() -> None:
    assert (run("None")["result"], run("None")["type"]) == ("None", "NoneType")


@pytest.mark.parametrize("text", ["y = 2\ny + x", "    y = 2\n    y + x", "\n  y + x\n", "x + y  # sum"])
def test_the_last_expression_of_a_cell_is_its_value(text: str) -> None:
    assert run(text, x=1, y=2)["result"] == "3"


def test_awaiting_runs_to_the_end_off_this_thread() -> None:
    text = "import asyncio, threading\nx = await asyncio.sleep(0.01, 5)\n(x, threading.current_thread().name)"
    assert run(text)["result"] == "(5, 'evaluate await')"
    assert run("await f()", "watch", f=lambda: __import__("asyncio").sleep(0, 3))["result"] == "3"


@pytest.mark.parametrize(("text", "context"), [("1 +", "repl"), ("x = 1", "watch"), ("", "repl"), ("return 1", "repl")])
def test_what_does_not_parse_is_a_syntax_error(text: str, context: str) -> None:
    error = run(text, context)["syntax_error"]
    assert set(error) == {"message", "line", "offset", "text"} and error["line"] == 1 and error["offset"] >= 1


@pytest.mark.parametrize("text", ["\0", "(" * 5000, "\ud800"])
def test_text_that_no_compiler_takes_is_a_syntax_error(text: str) -> None:
    assert run(text)["syntax_error"]["message"]


def test_an_error_has_a_traceback_without_our_frames() -> None:
    found = run("def f():\n    return missing\nf()")
    assert (found["result"], found["type"]) == (None, None)
    assert found["error"] == "NameError: name 'missing' is not defined"
    assert "return missing" in found["traceback"] and "inside" not in found["traceback"]


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_errors_that_end_programs_are_contained(text: str) -> None:
    assert run(text)["error"].startswith(text.split()[1].split("(")[0])


def test_errors_are_bounded_even_if_they_cannot_be_printed() -> None:
    found = run("raise ValueError('x' * 10**6)")
    assert len(found["error"]) <= 2000 and len(found["traceback"]) <= 8000
    bad = run("class Bad(Exception):\n    def __str__(self): raise SystemExit\nraise Bad")
    assert bad["error"] == "Bad"


def test_private_names_are_found_as_inside_the_class() -> None:
    account = Savings()
    account.inner = Account()
    space: dict[str, Any] = {"self": account, "others": [Account()]}
    for text in ("self.__balance", "self.inner.__balance", "others[0].__balance"):
        assert run(text, **space)["result"] == "12", text
    assert run("self.__shared", **space)["result"] == "1"
    run("self.__balance = 99", **space)
    assert run("self._Account__balance", **space)["result"] == "99"
    assert run("self.__nothing", **space)["error"].startswith("AttributeError")


def test_a_sleeping_evaluation_on_the_main_thread_is_interrupted() -> None:
    previous = signal.getsignal(signal.SIGINT)
    threading.Timer(0.1, interrupt_thread, [threading.get_ident()]).start()
    with soon():
        assert run("time.sleep(30)", time=time) == TIMED_OUT
    assert signal.getsignal(signal.SIGINT) is previous


@pytest.mark.parametrize("text", ["while True: pass", "await asyncio.sleep(30)"])
def test_an_evaluation_on_another_thread_is_interrupted(text: str) -> None:
    import asyncio

    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(run(text, asyncio=asyncio)), daemon=True)
    thread.start()
    while not interrupt_thread(thread.ident or 0):
        pass
    thread.join(10)
    assert results == [TIMED_OUT]


def test_an_evaluation_that_swallows_the_interrupt_can_be_interrupted_again() -> None:
    text = "try:\n    time.sleep(30)\nexcept BaseException:\n    time.sleep(30)"
    ident = threading.get_ident()
    for delay in (0.1, 0.3):
        threading.Timer(delay, interrupt_thread, [ident]).start()
    assert run(text, time=time) == TIMED_OUT


def test_an_interrupt_without_an_evaluation_does_nothing() -> None:
    assert interrupt_thread(threading.get_ident()) is False
    assert run("1")["result"] == "1"


@pytest.mark.parametrize("on_main", [True, False])
def test_an_interrupt_strikes_nothing_but_the_evaluation(on_main: bool) -> None:
    escaped: list[BaseException] = []
    done = threading.Event()

    def evaluate_often() -> None:
        try:
            for _ in range(300):
                found = run("x + 1", x=1)
                assert found == TIMED_OUT or found["result"] == "2"
        except BaseException as error:
            escaped.append(error)
        done.set()

    def pester(ident: int) -> None:
        while not done.is_set():
            interrupt_thread(ident)

    if on_main:
        pest = threading.Thread(target=pester, args=[threading.get_ident()], daemon=True)
        pest.start()
        evaluate_often()
    else:
        worker = threading.Thread(target=evaluate_often, daemon=True)
        worker.start()
        pest = threading.Thread(target=pester, args=[worker.ident], daemon=True)
        pest.start()
        worker.join(60)
    pest.join(10)
    assert escaped == [] and done.is_set()
    assert interrupt_thread(threading.get_ident()) is False


def test_a_real_ctrl_c_during_an_evaluation_reaches_the_programs_handler() -> None:
    hits: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda signum, frame: hits.append(signum))
    try:
        ours = signal.getsignal(signal.SIGINT)
        assert run("signal.raise_signal(signal.SIGINT); 5", signal=signal)["result"] == "5"
        assert hits == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is ours
    finally:
        signal.signal(signal.SIGINT, previous)


def test_a_handler_that_the_evaluated_code_sets_stays() -> None:
    previous = signal.getsignal(signal.SIGINT)
    try:
        run("signal.signal(signal.SIGINT, signal.SIG_IGN)", signal=signal)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, previous)


def test_guards_nest_and_the_interruption_lasts_for_the_whole_request() -> None:
    with guard() as outer, guard() as inner:
        assert inner is outer
        interrupt_thread(threading.get_ident())
        assert type(outer.call(lambda: 1)[1]) is Interrupted
    assert guard().call(lambda: 1) == (1, None)
