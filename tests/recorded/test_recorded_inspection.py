"""What REST answers about a paused Python program: breakpoints, steps, values, watches, exceptions, source."""

from __future__ import annotations

from pathlib import Path

import pytest
from clients import Stage
from relays import line_of

PROGRAM = '''
import helpers


class Item:
    kind = "thing"

    def __init__(self, name, price):
        self.name = name
        self.price = price

    @property
    def label(self):
        return f"{self.name}: {self.price}"

    def raised(self, by):
        self.price += by  # @raised
        return self.price


def add(total, number):
    """Add two numbers."""
    result = total + number  # @add
    return result  # @return


def main():
    total = 0
    numbers = list(range(1, 4))
    item = Item("pen", 1.5)
    table = {"a": 1, "b": [1, 2]}
    for number in numbers:  # @loop
        total = add(total, number)  # @call
        print("total", total)  # @print
    big = list(range(1000))
    text = "x" * 3000
    several = add(add(1, 2), helpers.twice(3))  # @several
    item.raised(2)
    return total  # @end


main()
'''
HELPERS = """
SETTING = "global"


def twice(number):
    doubled = number * 2  # @twice
    return doubled
"""


@pytest.fixture
def script(stage: Stage) -> Path:
    stage.write("helpers.py", HELPERS)
    return stage.write("shop.py", PROGRAM)


def test_breakpoints(stage: Stage, script: Path) -> None:
    path = str(script)
    add = line_of(script, "add")
    with stage.session() as session:
        session.get("/breakpoints")
        session.post("/breakpoints", {"file": "shop.py", "line": add})
        session.post("/breakpoints", {"source": {"path": path}, "line": add, "condition": "number == 2"})
        several = [
            {"file": path, "line": 2},
            {"file": "absent.py", "line": 3},
            {"file": "Shop.py", "line": 3},
            {"file": path, "text": "total = add("},
            {"file": path, "line": line_of(script, "print"), "log_message": "{total} of {numbers!r}, {absent}"},
            {"file": path, "line": line_of(script, "return"), "hit_condition": ">=3"},
            {"function": "twice"},
            {"function": "shop.Item.raised"},
            {"function": "nobody"},
            {"function": "main", "file": path, "enabled": False},
        ]
        session.post("/breakpoints", {"breakpoints": several})
        session.get("/breakpoints")
        session.get("/breakpoints", verified="false")
        session.get("/breakpoints", file="helpers.py")
        session.patch("/breakpoints/bp_1", {"condition": None, "hit_condition": "%2"})
        session.patch("/breakpoints/bp_1", {"line": add + 1})
        session.patch("/breakpoints/bp_1", {"line": 2, "strict": True})
        session.patch("/breakpoints/bp_1", {"condition": "number =="})
        session.patch("/breakpoints/bp_1", {})
        session.patch("/breakpoints/bp_99", {"enabled": False})
        session.delete("/breakpoints/bp_99")
        session.delete("/breakpoints/bp_3")
        wrong = [
            {"file": path, "line": add, "condition": "number =="},
            {"file": path, "line": add, "condition": "x = 1"},
            {"file": path, "line": add, "hit_condition": "often"},
            {"file": path, "line": add, "log_message": "{number"},
            {"file": path, "line": add, "log_message": "{1 +}"},
            {"file": path, "line": 2, "strict": True},
            {"file": path, "line": 900, "strict": True},
            {"file": "absent.py", "line": 3, "strict": True},
            {"function": "nobody", "strict": True},
            {"file": path, "text": "nothing like this"},
            {"file": path, "text": "total"},
            {"file": path, "text": "total", "occurrence": 2},
            {"file": path, "text": "total", "occurrence": 200},
            {"file": "absent.py", "text": "total"},
            {"file": path, "line": 0},
            {"file": path},
            {"line": 3},
            {"file": path, "line": 3, "function": "add"},
            {"function": "not a name"},
            {"file": path, "line": "3", "conditon": "x"},
            {"breakpoints": [], "line": 3},
            {"breakpoints": [{"file": path, "line": 1}, {"file": path}]},
        ]
        for each in wrong:
            session.post("/breakpoints", each)
        session.launch(script, fields="location,breakpoints,output")
        session.get("/breakpoints")
        session.resume(fields="location,breakpoints,output")
        session.patch("/breakpoints/bp_1", {"enabled": False})
        session.resume(fields="location,breakpoints,output")
        session.resume(fields="location,breakpoints,output")
        session.post("/breakpoints", {"file": path, "line": line_of(script, "end"), "condition": "absent > 1"})
        session.resume(fields="location,breakpoints,output")
        session.resume(fields="location,breakpoints,output")
        session.resume(fields="location,breakpoints,output")
        session.get("/breakpoints")
    edited = "# a new line\n" + script.read_text()
    script.write_text(edited)
    with stage.session() as session:
        session.get("/breakpoints")
        session.delete("/breakpoints/bp_1")
        session.delete("/breakpoints")
        session.delete("/breakpoints")
    with stage.session(restore_breakpoints=False) as session:
        session.get("/breakpoints")


def test_steps(stage: Stage, script: Path) -> None:
    place = "location,changes,return_value,breakpoints"
    with stage.session() as session:
        session.break_at(script, "loop")
        session.launch(script, fields=place)
        session.delete("/breakpoints")
        session.get("/step-targets")
        session.step("over", count=2, fields=place)
        session.step("into", count=2, target="add")
        session.step("into", granularity="instruction")
        session.step("over", thread_id=77)
        session.step("over", wait="long")
        session.step("over", count=0)
        session.step("until")
        session.post("/step-until", {"expression": "total >"})
        session.post("/step-until", {"expression": "number == 2", "fields": place})
        session.post("/step-until", {"expression": "1 / 0", "fields": place})
        session.post("/step-until", {"expression": "False", "max_steps": 3, "kind": "into", "fields": place})
        session.post("/run-to", {"line": line_of(script, "several"), "fields": place})
        session.get("/step-targets")
        session.get("/step-targets", frame_id=44)
        session.step("into", target="nothing", fields=place)
        session.step("into", target="add", fields=place)
        session.step("into", target_id=9, fields=place)
        session.step("into", target="twice", fields=place)
        session.step("out", fields=place)
        session.step("into", target="twice", fields=place)
        session.step("out", fields=place)
        session.post("/run-to", {"line": 2})
        session.post("/run-to", {"file": "absent.py", "line": 1})
        session.post("/run-to", {"text": "absent text"})
        session.post("/run-to", {"text": "total"})
        session.post("/run-to", {"line": 1, "text": "x"})
        session.post("/run-to", {"text": "return total  # @end", "fields": place})
        session.step("back")
        session.post("/reverse-continue")
        session.post("/record", {"enabled": False})
        session.get("/record")
        session.post("/continue", {"thread_id": 99})
        session.post("/threads/99/continue")
        session.step("out", thread_id=1, single_thread=True, fields=place)
        session.post("/threads/1/continue", {"wait": 60, "fields": place})


def test_values(stage: Stage, script: Path) -> None:
    with stage.session() as session:
        session.break_at(script, "add", condition="number == 2")
        session.break_at(script, "several")
        session.launch(script, fields="location")
        session.get("/threads")
        session.get("/stacktrace")
        session.get("/stacktrace", start_frame=1, levels=1)
        session.get("/stacktrace", thread_id=99)
        session.get("/threads/1/stacktrace", levels=1)
        session.get("/threads/99/stacktrace")
        session.get("/scopes")
        scopes = session.get("/frames/1/scopes")["scopes"]
        session.get("/scopes", frame_id=99)
        session.get("/frames/99/scopes")
        session.get("/frames/x/scopes")
        session.get("/frames/1/variables")
        session.get("/frames/1/variables", name="item")
        session.get("/frames/1/variables", summary="true", budget=700)
        session.get("/frames/99/variables")
        reference = scopes[0]["variables_reference"]
        rows = session.get(f"/variables/{reference}")["variables"]
        held = {row["name"]: row["variables_reference"] for row in rows}
        session.get("/variables", variables_reference=held["numbers"], filter="indexed", start=1, count=1)
        session.get("/variables", variables_reference=held["numbers"], filter="odd")
        session.get("/variables")
        session.get("/variables/424242")
        session.get(f"/scopes/{reference}/variables", name="total")
        session.get(f"/frames/1/variables/{held['table']}/children", offset=0, limit=1)
        session.get(f"/frames/1/variables/{held['item']}/children")
        session.get("/frames/1/variables/424242/children")
        for expression in (
            "total + number",
            "total +",
            "absent",
            "1 / 0",
            "item",
            "import os",
            "[n for n in range(3)]",
        ):
            session.post("/evaluate", {"expression": expression})
        session.post("/evaluate", {"expression": "item", "frame_id": 1})
        session.post("/evaluate", {"expression": "item", "frame_id": 99})
        session.post("/evaluate", {"expression": "item", "thread_id": 99})
        session.post("/evaluate", {"expression": "total = 7", "context": "repl"})
        session.post("/evaluate", {"expression": "__import__('time').sleep(100)", "timeout": 0.2})
        session.post("/evaluate", {"expression": ""})
        session.post("/evaluate", {})
        session.post(f"/variables/{reference}/set", {"name": "total", "value": "40 + 2", "frame_id": 1})
        session.post(f"/variables/{reference}/set", {"name": "absent", "value": "1", "frame_id": 1})
        session.post(f"/variables/{reference}/set", {"name": "total", "value": "1 +", "frame_id": 1})
        session.post(f"/variables/{reference}/set", {"name": "total", "value": "1 / 0", "frame_id": 1})
        session.post("/variables/424242/set", {"name": "total", "value": "1"})
        session.post(f"/variables/{held['numbers']}/set", {"name": "0", "value": "10", "frame_id": 1})
        session.post(f"/variables/{held['item']}/set", {"name": "label", "value": "'x'", "frame_id": 1})
        session.post("/set-expression", {"expression": "item.price", "value": "2.5", "frame_id": 1})
        session.post("/set-expression", {"expression": "item.price +", "value": "2.5", "frame_id": 1})
        session.post("/set-expression", {"expression": "1", "value": "2"})
        session.post("/set-expression", {"expression": "absent.x", "value": "2"})
        session.post("/set-expression", {"expression": "item.label", "value": "2", "frame_id": 1})
        session.resume(fields="location,locals,changes", budget=900)
        session.get("/frames/0/variables", start=0, count=2)
        session.get("/report")
        session.get("/tasks")
        session.get("/locks")
        session.get("/memory", address="total")
        session.post("/memory", {"address": "total", "bytes": "00"})
        session.post("/memory", {"address": "total", "bytes": "0"})
        session.get("/disassembly")
        session.post("/data-breakpoints", {"expression": "total"})
        session.get("/data-breakpoints")
        session.delete("/data-breakpoints")
        session.delete("/data-breakpoints/dbp_1")


def test_watches(stage: Stage, script: Path) -> None:
    with stage.session() as session:
        session.get("/watch")
        session.post("/watch", {"expression": "total"})
        session.post("/watch", {"expression": "len(numbers)", "name": "how many"})
        session.post("/watch", {"expression": "numbers.pop"})
        session.post("/watch", {"expression": "absent"})
        session.post("/watch", {"expression": "x ="})
        session.post("/watch", {"expression": "total"})
        session.post("/watch", {"expresion": "total"})
        session.break_at(script, "loop", "print")
        session.launch(script, fields="watches")
        session.resume(fields="watches")
        session.get("/watch")
        session.get("/watch", frame_id=1)
        session.get("/watch", frame_id=99)
        session.delete("/watch/w_1")
        session.delete("/watch/w_99")
        session.delete("/watch")
        for number in range(101):
            last = session.rest.http.post(f"/api/v1/sessions/{session.id}/watch", json={"expression": f"x{number}"})
            if last.status_code != 201 and last.status_code != 200:
                break
        session.post("/watch", {"expression": "one_more"})


def test_source_and_hints(stage: Stage, script: Path) -> None:
    hidden = stage.write("elsewhere/secret.txt", "not a source\n")
    with stage.session() as session:
        session.break_at(script, "add")
        session.launch(script, fields="location")
        session.get("/source", start_line=1, end_line=4)
        session.get("/source", path=str(script), start_line=20, end_line=21)
        session.get("/source", path="helpers.py", start_line=9, end_line=5)
        session.get("/source", path="absent.py")
        session.get("/source", path="/etc/hostname")
        session.get("/source", path=str(hidden))
        session.get("/source", frame_id=99)
        session.get("/frames/1/source", start_line=30, end_line=31)
        session.get("/frames/99/source")
        session.get("/modules", filter="helpers")
        session.get("/modules", filter="shop", offset=5)
        session.get("/modules", limit=0)
        session.post("/completions", {"text": "num"})
        session.post("/completions", {"text": "total.rea", "column": 9})
        session.post("/completions", {"text": "absent."})
        session.post("/completions", {"text": "x", "frame_id": 99})
        session.post("/hover", {"expression": "number"})
        session.post("/hover", {"expression": "add(1, 2)"})
        session.post("/hover", {"expression": "absent"})
        session.post("/hover", {"expression": "number +"})
        session.post("/hover", {"file": str(script), "line": line_of(script, "add"), "column": 14})
        session.post("/hover", {"file": str(script), "line": 1, "column": 1})
        session.post("/hover", {"file": str(script), "line": line_of(script, "add"), "column": 1})
        session.post("/hover", {})
        session.get("/exception")


def test_exceptions(stage: Stage) -> None:
    script = stage.write(
        "failing.py",
        """
class Refused(ValueError):
    pass


def check(number):
    if number > 2:
        raise Refused(f"no {number}")  # @raise


def guarded(number):
    try:
        check(number)
    except Refused as problem:
        raise RuntimeError("guarded") from problem  # @again


for number in (1, 3):
    try:
        check(number)
    except Refused:
        pass  # @caught
guarded(4)
""",
    )
    with stage.session() as session:
        session.get("/exception-breakpoints")
        session.post("/exception-breakpoints", {"exceptions": ["Refused"], "condition": "exc.args"})
        session.post("/exception-breakpoints", {"filters": ["uncaught"]})
        session.post("/exception-breakpoints", {"break_mode": "always", "exception_types": ["NoSuchError"]})
        session.post("/exception-breakpoints", {"filters": ["raised"], "condition": "number =="})
        session.post("/exception-breakpoints", {"filters": ["odd"]})
        session.post("/exception-breakpoints", {"exceptions": ["not a name"]})
        session.post("/exception-breakpoints", {"filters": ["raised"], "break_mode": "always"})
        session.post("/exception-breakpoints", {})
        session.get("/exception-breakpoints")
        session.launch(script)
        session.get("/exception")
        session.get("/status")
        session.resume(fields="location,exception")
        session.resume(fields="location,exception")
        session.get("/exception")
        session.delete("/exception-breakpoints/ex_1")
        session.delete("/exception-breakpoints/ex_99")
        session.get("/exception-breakpoints")
        session.delete("/exception-breakpoints")
        session.launch(script, stop_on_exception="uncaught", fields="location,exception")
        session.resume(fields="output,exception")
        session.get("/report")
