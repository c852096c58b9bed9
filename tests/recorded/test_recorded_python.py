"""What REST answers about a Python program: every operation, its errors, and every wrong state."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from clients import RestSession, Stage
from operations import ask_each, needs_life, needs_paused, only_before

PROGRAM = """
import sys


class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price


def add(total, number):
    result = total + number  # @add
    return result  # @return


def main():
    total = 0
    numbers = [1, 2, 3]
    item = Item("pen", 1.5)
    for number in numbers:  # @loop
        total = add(total, number)  # @call
        print("total", total)  # @print
    text = "x" * 3000
    print("warning", file=sys.stderr)  # @warn
    return total  # @end


if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.fixture
def script(stage: Stage) -> Path:
    return stage.write("shop.py", PROGRAM)


def test_life_of_a_session(stage: Stage, script: Path) -> None:
    with stage.session(name="first") as session:
        session.get()
        session.get("/status")
        session.get("/report")
        session.get("/ping")
        session.rest.get("/sessions", status="created")
        session.patch("", {"name": "second", "timeout_minutes": 5})
        session.patch("", {"status": "paused"})
        session.patch("", {})
        session.post("/launch")
        session.break_at(script, "add")
        session.launch(script, args=["a"], env={"GREETING": "hello"})
        session.get()
        session.get("/status")
        session.get("/report")
        session.get("/report", fields="location,locals", budget=300)
        session.get("/report", fields="nothing")
        session.patch("", {"project_root": "/tmp"})
        session.patch("", {"stop_on_entry": True})
        session.rest.get("/sessions", status="paused", limit=5)
        session.step()
        session.step("over", budget=200)
        session.step("out", fields=["location", "return_value"])
        session.step("into")
        session.resume(fields="location,changes")
        session.post("/restart", {"wait": 60, "fields": "location"})
        session.resume(fields="location")
        session.delete("/breakpoints")
        session.resume()
        session.get()
        session.get("/report", wait=1)
        session.get("/output")
        session.post("/launch", {"wait": 60, "stop_on_entry": False, "fields": "output"})
        session.delete()
        session.get()
        session.delete()
        session.rest.get("/sessions", status="none", limit=0, offset="x", unknown=1)


def test_launches(stage: Stage, script: Path) -> None:
    broken = stage.write("broken.py", "def f(:\n    pass\n")
    stage.write("package/__main__.py", "print('as a module')\n")
    with stage.session() as session:
        session.post("/launch", {})
        session.post("/launch", {"script": "absent.py"})
        session.post("/launch", {"script": "shop.py --verbose"})
        session.post("/launch", {"script": "python shop.py"})
        session.post("/launch", {"script": "package"})
        session.post("/launch", {"script": str(stage.folder)})
        session.post("/launch", {"script": str(broken)})
        session.post("/launch", {"code": "1 +"})
        session.post("/launch", {"script": str(script), "module": "x"})
        session.post("/launch", {"script": str(script), "python_path": "/nowhere/python"})
        session.post("/launch", {"script": str(script), "python_path": "/bin/true"})
        session.post("/launch", {"script": str(script), "venv": str(stage.folder)})
        session.post("/launch", {"script": str(script), "cwd": "/nowhere"})
        session.post("/launch", {"script": str(script), "recordable": True})
        session.post("/launch", {"script": str(script), "adapter": "gdb"})
        session.post("/launch", {"script": str(script), "adapter": "nothing"})
        session.post("/launch", {"script": str(script), "arg": ["x"]})
        session.post("/launch", {"code": "print('from code')", "wait": 60})
        session.launch(module="package")
        session.launch(code="import os\nos._exit(3)\n")
        session.launch(code="raise ValueError('at once')\n", stop_on_exception=True)
        session.resume(fields="location")
        session.resume(fields="location")
        session.launch(script, stop_on_entry=True, fields="location,source")
        session.post("/terminate", {"force": True})
        session.get("/report")
    with stage.session() as session:
        session.post("/launch", {"module": "no.such.module", "wait": 60})
    with stage.rest() as rest:
        rest.post("/sessions", {"project_root": "/nowhere/at/all"})
        rest.post("/sessions", {"python_path": "/nowhere/python", "venv": "/nowhere"})
        rest.post("/sessions", {"script": "x.py"})
        rest.post("/sessions", {"mode": "attach"})
        rest.post("/sessions", {"mode": "attach", "port": 1, "connect_timeout": 1})
        rest.post("/sessions", {"pid": 1})


def test_wrong_states(stage: Stage, script: Path) -> None:
    """Every operation in every state in which it is not allowed."""
    waits = stage.write("waits.py", "import time\nprint('up', flush=True)\nwhile True:\n    time.sleep(0.01)\n")
    with stage.session() as session:
        ask_each(session, needs_paused() + needs_life() + [("POST", "/pause", {}), ("POST", "/restart", {})])
        session.break_at(script, "add")
        session.launch(script, fields="location")
        ask_each(session, [*only_before(), ("POST", "/pause", {})])
        session.delete("/breakpoints")
        session.resume(fields="location")
        ask_each(
            session, needs_paused() + needs_life() + [("POST", "/pause", {}), ("POST", "/stdin", {"input": "x\n"})]
        )
        session.post("/attach", {"pid": 1})
        session.launch(waits, wait=False, fields="location")
        session.printed("up")
        ask_each(session, needs_paused() + only_before())
        pid = session.quietly()["pid"]
        session.post("/detach")
        ask_each(session, needs_paused() + needs_life() + only_before()[1:])
        session.get()
        session.get("/report")
        os.kill(pid, signal.SIGKILL)


RECORDED = """
import time


def parse(text):
    return int(text)


def read(texts):
    found = []
    for text in texts:
        try:
            found.append(parse(text))
        except ValueError:
            found.append(None)
    return found


def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result


time.sleep(0.2)
print(total(read(["1", "2", "x", "4"])))
"""


def record_export(session: RestSession, file: Path) -> None:
    """Record how a recording is exported and opened; what the file has is told by other tests."""
    rest, path = session.rest, f"/api/v1/sessions/{session.id}/recording/export"
    answer = rest.http.get(path)
    headers = {name: answer.headers[name] for name in ("content-type", "content-disposition")}
    rest.recording.add(f"GET {path}", status=answer.status_code, answer_headers=headers)
    session.get("/recording/export", recording="1-1")
    session.get("/recording/export", format="odd")
    rest.post("/recordings/open", {"path": str(file)})
    file.write_bytes(answer.content)
    opened = rest.post("/recordings/open", {"path": str(file)})
    rest.delete(f"/sessions/{opened['session_id']}")


def test_recorded_run(stage: Stage) -> None:
    with stage.session() as session:
        session.get("/recording/trace")
        session.get("/recording/errors")
        session.get("/recording/slow")
        script = stage.write("recorded.py", RECORDED)
        lines = {"lines": ["total"], "limit_mb": 4}
        session.launch(script, record=lines, stop_on_exception=False, wait=60, fields="location")
        session.get("/recording/trace")
        session.get("/recording/trace", function="read", depth=1)
        session.get("/recording/trace", call=0)
        session.get("/recording/trace", first=2, last=9)
        session.get("/recording/calls", function="parse", where="text == 'x'")
        session.get("/recording/calls", function="parse", order="outliers", limit=1)
        session.get("/recording/calls", function="parse", where="text.strip()")
        session.get("/recording/calls", function="pars")
        session.get("/recording/calls")
        session.get("/recording/calls/2")
        session.get("/recording/calls/99")
        session.get("/recording/errors", unhandled=True)
        session.get("/recording/errors", budget=1)
        session.get("/recording/origin", value="3")
        session.get("/recording/origin", value="result")
        session.get("/recording/origin")
        session.get("/recording/values", name="result")
        session.get("/recording/values")
        session.get("/recording/spans", parts=1, thread="nobody")
        session.get("/recording/spans", parts=0)
        session.get("/recording/slow", limit=1)
        session.get("/recording/slow", recording="1-1")
        session.post("/step-back", {"fields": ["location", "locals", "stack"]})
        session.post("/reverse-continue", {"name": "result", "fields": ["location"]})
        session.post("/goto", {"moment": "#2", "fields": ["location"]})
        session.post("/goto", {"moment": "tomorrow"})
        session.post("/evaluate", {"expression": "print(1)"})
        session.get("/status")
        session.post("/now", {"fields": ["location"]})
        session.get("/recording/diff", other=session.id)
        session.get("/recording/diff", other="1-1")
        record_export(session, stage.write("exported.ocrec", ""))
