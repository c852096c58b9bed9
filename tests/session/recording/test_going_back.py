"""A session stands in the past of a recorded program: while that is paused, after its end, and in an editor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dap_client import Dap, Failed
from families import family
from relays import Api, Session, line_of, pythons, refusal

SHOP = """
    class Item:
        def __init__(self, name, price):
            self.name = name
            self.price = price

    def price_of(item):  # @price
        if item.name == "gift":
            return None
        return item.price

    def total(items):
        amount = 0  # @begin
        for item in items:  # @loop
            amount += price_of(item)  # @add
        return amount

    print("shopping\\n", end="", flush=True)  # in one piece
    items = [Item("pen", 1.5), Item("ink", 3.0)]
    total(items)  # @call
    items.append(Item("gift", 0))
    total(items)  # @again
"""
LINES = {"lines": ["total"]}
VERSIONS = pythons()


def first_line(session: Session) -> str:
    """Of the report as a text."""
    text: str = session.api.http.get(f"/sessions/{session.id}/report", params={"format": "text"}).text
    return text.splitlines()[0]


def here(report: dict[str, Any]) -> tuple[str, int]:
    return report["past"]["event"], report["current_location"]["line"]


def values(report: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["value"] for row in report["locals"]}


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS.keys())
def test_a_program_that_has_ended_is_gone_back_in(
    python: Path, session: Session, program: Callable[..., Path]
) -> None:
    path = program(SHOP)
    begin, loop, add = (line_of(path, each) for each in ("begin", "loop", "add"))
    session.break_at(path, "call")
    session.launch(path, python_path=str(python), stop_on_exception=False, record=LINES)
    session.wait_for_output("shopping")
    session.delete("/breakpoints/bp_1")
    assert session.resume()["status"] == "terminated"

    crash = session.post("/step-back")  # where the exception was raised
    assert here(crash) == ("exception", add) and crash["status"] == "terminated"
    assert crash["exception"]["type"] == "TypeError"
    assert values(crash)["amount"] == "4.5" and "gift" in values(crash)["item"]
    stack = [(frame["name"], frame["line"]) for frame in crash["stack"]]
    assert stack == [("total", add), ("<module>", line_of(path, "again"))]
    assert session.get("/status")["past"] == session.get()["past"] == crash["past"]
    first = first_line(session)
    assert f"in the past, #{crash['past']['moment']} of call #{crash['past']['call']} (terminated now)" in first
    assert first.endswith("in total")

    assert here(session.post("/step-back")) == ("line", add)
    assert here(session.post("/step-back")) == ("line", loop)
    change = session.post("/reverse-continue", {"name": "amount"})
    assert (*here(change), values(change)["amount"]) == ("line", add, "1.5")
    assert "sets amount to 4.5" in change["note"]

    assert session.get("/frames/0/variables")["variables"][0]["name"] == "items"
    item = session.evaluate("item")
    assert (item["result"], item["type"]) == ("Item(name='ink', price=3.0)", "Item")
    inside = session.get("/variables", variables_reference=item["variables_reference"])["variables"]
    assert [(row["name"], row["value"]) for row in inside] == [("name", "'ink'"), ("price", "3.0")]
    assert session.evaluate("item.price * 2 > amount")["result"] == "True"
    for expression in ("total(items)", "unknown", "item.weight"):
        error = refusal(400, "EVALUATE_ERROR", session.evaluate, expression)
        assert "only recorded values" in error.message and "/now" in error.details["suggestion"]
    refusal(409, "INVALID_SESSION_STATE", session.post, "/set-expression", {"expression": "amount", "value": "3"})

    entered = session.step("into")  # calls whose lines were not recorded
    assert here(entered) == ("call", line_of(path, "price")) and "only arguments" in entered["note"]
    left = session.step("out")
    assert here(left)[0] == "return" and left["return_value"]["value"] == "3.0"
    assert here(session.step()) == ("line", loop)
    back = session.post("/goto", {"moment": f"#{crash['past']['call']}"})
    assert here(back) == ("line", begin) and back["output"][-1]["output"] == "shopping\n"
    assert here(session.post("/goto", {"moment": f"#{crash['past']['call']}:{add}"})) == ("line", add)

    session.break_at(path, "add", condition="amount > 1")
    hit = session.post("/reverse-continue")  # in the call before
    assert hit["hit_breakpoint_ids"] == ["bp_2"] and values(hit)["amount"] == "1.5"
    assert hit["past"]["call"] < back["past"]["call"]
    first = session.post("/reverse-continue")
    assert (first["stop_reason"], first["past"]["moment"]) == ("entry", 1)
    refusal(404, "CALL_NOT_FOUND", session.post, "/step-back")
    assert session.resume()["past"]["moment"] == hit["past"]["moment"]
    ended = [session.resume() for _ in range(3)][-1]  # twice in the second call, then no more
    assert "past" not in ended and ended["status"] == "terminated" and "present" in ended["message"]
    refusal(404, "CALL_NOT_FOUND", session.post, "/goto", {"moment": "#99999"})
    refusal(400, "INVALID_PARAMETER", session.post, "/goto", {"moment": "yesterday"})


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS.keys())
def test_an_editor_steps_back_in_a_paused_program_and_returns(
    python: Path, session: Session, program: Callable[..., Path]
) -> None:
    path = program(SHOP)
    loop, add, call = (line_of(path, each) for each in ("loop", "add", "call"))
    session.break_at(path, "add", condition="amount > 1")
    session.launch(path, python_path=str(python), stop_on_exception=False, record=LINES, wait=30)
    with Dap.of(session) as dap:
        assert dap.attach()["supportsStepBack"]
        dap.ready()
        thread = dap.event("stopped", reason="breakpoint")["threadId"]
        for line, amount in ((loop, "1.5"), (add, "0")):
            dap.request("stepBack", threadId=thread)
            dap.event("stopped", reason="step")
            (only,) = dap.request("threads")["threads"]
            frames = dap.stack(only["id"])
            assert [(frame["name"], frame["line"]) for frame in frames] == [("total", line), ("<module>", call)]
            assert dap.locals(frames[0]["id"])["amount"]["value"] == amount
        assert dap.request("evaluate", expression="item.name", frameId=frames[0]["id"])["result"] == "'pen'"
        with pytest.raises(Failed, match="only recorded values"):
            dap.request("evaluate", expression="print(1)", frameId=frames[0]["id"])
        dap.request("next", threadId=only["id"])
        dap.event("stopped", reason="step")
        assert session.get("/report")["current_location"]["line"] == loop

        dap.request("reverseContinue", threadId=only["id"])
        dap.event("stopped", reason="entry")
        assert session.post("/now")["current_location"]["line"] == add
        assert dap.event("stopped", reason="breakpoint")["threadId"] == thread
        assert dap.locals(dap.stack(thread)[0]["id"])["amount"]["value"] == "1.5"
        with pytest.raises(Failed):
            dap.locals(frames[0]["id"])  # of the past
    assert session.evaluate("len(items)")["result"] == "2"  # the program is where it was


CROWD = """
    import asyncio
    import os
    import threading

    def squares(limit):
        for number in range(limit):
            square = number * number  # @square
            yield square

    def work(name):
        found = list(squares(3))
        size = len(found)  # @size
        return size

    async def brew(cup, water):
        await asyncio.sleep(0)
        tea = f"{cup} of {water}"  # @tea
        return tea

    async def main():
        await asyncio.gather(brew("cup", "hot"), brew("pot", "boiling"))

    thread = threading.Thread(target=work, args=["helper"], name="helper")
    thread.start()
    thread.join()
    asyncio.run(main())
    if os.fork() == 0:
        work("child")
    else:
        os.wait()
"""


def moments_of(session: Session, function: str, path: Path, marker: str) -> list[dict[str, Any]]:
    """What is told of a line in each call of a function."""
    calls = session.get("/recording/calls", function=function)["calls"]
    line = line_of(path, marker)
    return [session.post("/goto", {"moment": f"#{call['call']}:{line}"}) for call in calls]


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS.keys())
def test_threads_tasks_generators_and_children_are_gone_back_in(
    python: Path, session: Session, program: Callable[..., Path]
) -> None:
    path = program(CROWD)
    lines = {"lines": ["work", "squares", "brew"]}
    options = {"python_path": str(python), "debug_subprocesses": True, "record": lines}
    assert session.launch(path, **options)["status"] == "terminated"

    (in_thread,) = moments_of(session, "work", path, "size")
    assert (values(in_thread)["found"], values(in_thread)["name"]) == ("[0, 1, 4]", "'helper'")
    assert [frame["name"] for frame in in_thread["stack"]] == ["work"]
    assert in_thread["past"]["thread"] == "thread helper"
    assert first_line(session).endswith("in work, thread helper")

    (in_generator,) = moments_of(session, "squares", path, "square")
    assert [frame["name"] for frame in in_generator["stack"]] == ["squares", "work"]
    rounds = [in_generator, *(session.step() for _ in range(6))]
    assert [values(each)["number"] for each in rounds if here(each)[1] == line_of(path, "square")] == ["0", "1", "2"]

    cups = moments_of(session, "brew", path, "tea")
    assert [values(each)["cup"] for each in cups] == ["'cup'", "'pot'"]
    assert len({each["past"]["thread"] for each in cups}) == 2

    (child,) = family(session, 1)
    (in_child,) = moments_of(child, "work", path, "size")
    assert (here(in_child), values(in_child)["name"]) == (("line", line_of(path, "size")), "'child'")


def test_without_a_recording_there_is_no_past(session: Session, program: Callable[..., Path]) -> None:
    session.launch(program("print('here')"), wait=30)
    assert "`record`" in refusal(400, "NOT_SUPPORTED", session.post, "/step-back").details["suggestion"]
    refusal(404, "RECORDING_NOT_FOUND", session.post, "/goto", {"moment": "#1"})
    assert session.post("/now")["status"] == "terminated"


def test_a_look_at_parts_of_the_past_takes_nothing_from_the_next_whole_report(
    session: Session, program: Callable[..., Path]
) -> None:
    path = program("""
        def called():
            pass

        def work():
            begin = 1  # @begin
            print("done", flush=True)
            called()  # @pause
            middle = 2  # @middle
            last = 3  # @last

        work()
    """)
    session.break_at(path, "pause")
    session.launch(path, record={"lines": ["work"]})
    session.wait_for_output("done")
    session.resume()
    call = session.get("/recording/calls", function="work")["calls"][0]["call"]
    assert "output" not in session.post("/goto", {"moment": f"#{call}:{line_of(path, 'begin')}"})
    looked = session.post("/goto", {"moment": f"#{call}:{line_of(path, 'middle')}", "fields": ["output"]})
    assert looked["output"][-1]["output"] == "done\n"
    stepped = session.step()
    assert here(stepped) == ("line", line_of(path, "last")) and stepped["output"][-1]["output"] == "done\n"


def test_an_opened_recording_is_gone_back_in_and_has_no_present(
    session: Session, api: Api, program: Callable[..., Path], tmp_path: Path
) -> None:
    path = program(SHOP)
    add = line_of(path, "add")
    session.launch(path, stop_on_exception=False, record=LINES)
    file = tmp_path / "run.ocrec"
    file.write_bytes(api.http.get(f"/sessions/{session.id}/recording/export").content)
    path.write_text("# another program by now\n")  # it is not read
    with Session(api, api.post("/recordings/open", {"path": str(file)})["session_id"]) as opened:
        refused = refusal(409, "INVALID_SESSION_STATE", opened.post, "/continue", {})
        assert "no program" in refused.message and "/goto" in refused.details["suggestion"]

        crash = opened.post("/step-back")
        assert (*here(crash), crash["status"]) == ("exception", add, "created")
        assert values(crash)["amount"] == "4.5" and opened.get("/status")["past"] == crash["past"]
        assert any("price_of(item)" in line["text"] for line in crash["source"])
        assert any("price_of(item)" in line["text"] for line in opened.get("/source", frame_id=0)["lines"])
        assert here(opened.post("/reverse-continue", {"name": "amount"})) == ("line", add)
        assert opened.evaluate("amount")["result"] == "1.5"
        assert here(opened.step("into"))[0] == "call"
        refused = refusal(400, "EVALUATE_ERROR", opened.evaluate, "total(items)")
        assert "/now" not in refused.details["suggestion"]
        refusal(409, "INVALID_SESSION_STATE", opened.post, "/pause", {})

        end = opened.post("/goto", {"moment": "#1:end"})
        assert "Nothing after" in refusal(404, "CALL_NOT_FOUND", opened.step).message
        assert opened.get("/status")["past"] == end["past"]
        left = opened.post("/now")
        assert "no present" in left["message"] and (left["status"], "past" in left) == ("created", False)
