"""Every function once, on any Python from 3.8 on: `python smoke.py FOLDER_OF_THE_CODE`."""

import json
import sys
import threading
import time
import types

package = types.ModuleType("_ocdb")
package.__path__ = [sys.argv[1]]
sys.modules["_ocdb"] = package

from _ocdb.evaluation import evaluate  # noqa: E402
from _ocdb.rpc import interrupts  # noqa: E402
from _ocdb.values import variable_rows as values  # noqa: E402
from _ocdb.values.bounded_repr import render_value, type_name  # noqa: E402
from hostile_objects import SleepingRepr, all_objects  # noqa: E402


class Node:
    __slots__ = ("parent", "tags")

    def __init__(self):
        self.parent = self
        self.tags = ["a", "b"]


class Account:
    def __init__(self):
        self.__balance = 12

    def frame(self, amount):
        known = {"k": [1, 2, 3]}
        node = Node()
        return sys._getframe(), known, node


def check_rendering():
    for value in (None, True, -5, 2.5, 1j, "a'b", b"x", [1, [2]], {"k": (1,)}, {1, 2}, frozenset(), range(3), (), {}):
        assert render_value(value, 1000, None) == (repr(value), False), value
    assert render_value(list(range(10000)), 28, None) == ("[0, 1, 2, ... (10000 items)]", True)
    assert render_value(1 << 200000, 100, None) == ("<int with 200001 bits>", True)
    for value in all_objects():
        for limit in (0, 3, 20, 200):
            text, _ = render_value(value, limit, None)
            assert len(text) <= limit
            text.encode("utf-8")
        assert type_name(value)


def check_values():
    reply = values.Reply()
    frame, _, _ = Account().frame(5)
    scopes = values.scope_rows(frame, reply)
    assert [scope["named_variables"] > 0 for scope in scopes] == [True, True]
    page = values.children_page(scopes[0]["variables_reference"], reply, count=10, limit_total=1000)
    assert [row["name"] for row in page["variables"]] == ["self", "amount", "known", "node"], page
    node = values.children_page(page["variables"][3]["variables_reference"], reply, count=10, limit_total=1000)
    assert [row["name"] for row in node["variables"]] == ["parent", "tags"]
    assert node["variables"][0]["circular"] and node["variables"][0]["value"] == "<circular: node>"
    report = values.locals_report(frame, reply, 1000, 3, time.monotonic() + 5)
    assert report["omitted"] == 1 and len(report["variables"]) == 3
    hostile = values.variable_row("all", all_objects(), reply, 100, None)
    rows = values.children_page(hostile["variables_reference"], reply, count=100, limit_total=5000)
    assert rows["total"] == len(rows["variables"]) == len(all_objects()), rows
    assert json.loads(str(reply.finish(rows))) == rows
    reference = hostile["variables_reference"]
    del reply
    assert values.children_page(reference, values.Reply(), count=1, limit_total=10) == {"missing": True}


def run(text, context="repl", **namespace):
    return evaluate.evaluate_text(text, namespace, values.Reply(), 200, context)


def check_evaluating():
    assert run("1 + x", x=1)["result"] == "2"
    assert run("y = x\ny * 2", x=4)["result"] == "8"
    assert run("y = 1") == dict(run("y = 1"), result="", type=None)
    assert run("import asyncio\nx = await asyncio.sleep(0, 5)\nx + 1")["result"] == "6"
    assert run("self.__balance", self=Account())["result"] == "12"
    assert "syntax_error" in run("1 +")
    failed = run("1 / 0")
    assert failed["error"] == "ZeroDivisionError: division by zero"
    assert failed["traceback"].startswith('Traceback (most recent call last):\n  File "<evaluate>", line 1'), failed
    assert run("raise SystemExit(4)")["error"] == "SystemExit: 4"


def check_interrupting():
    namespace = {"time": time}
    threading.Timer(0.2, interrupts.interrupt_thread, [threading.get_ident()]).start()
    started = time.monotonic()
    assert run("time.sleep(30)", **namespace) == {"timed_out": True}
    assert time.monotonic() - started < 15
    results = []
    text = "while True: time.sleep(0.001)"
    thread = threading.Thread(target=lambda: results.append(run(text, **namespace)))
    thread.start()
    time.sleep(0.2)
    assert interrupts.interrupt_thread(thread.ident)
    thread.join(10)
    assert results == [{"timed_out": True}]
    threading.Timer(0.2, interrupts.interrupt_thread, [threading.get_ident()]).start()
    with interrupts.guard():
        first, second = render_value(SleepingRepr(), 200, None)[0], render_value(SleepingRepr(), 200, None)[0]
    assert first.endswith("(repr timed out)>") and " (" not in second and SleepingRepr.calls == 1
    assert not interrupts.interrupt_thread(threading.get_ident())


check_rendering()
check_values()
check_evaluating()
check_interrupting()
print("ok", sys.version_info[:2])
