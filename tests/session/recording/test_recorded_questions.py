"""A recorded run tells how something came about: calls, exceptions, lines, where values come from, where time went."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from recordings import recording_folders
from relays import Relay, Session, line_of, pythons, refusal

from opencode_debugger.errors import RelayError
from opencode_debugger.session.recording.files.known_recordings import KnownRecordings
from opencode_debugger.session.recording.files.recording_export import ExportFolder
from opencode_debugger.session.recording.recorded_run import RecordedRun
from opencode_debugger.session.recording.value_filter import RecordedExpression, read_condition
from opencode_debugger.text.view import View

SHOP = """
    import asyncio, threading

    class Item:
        def __init__(self, name, price):
            self.name = name
            self.price = price

    def parse(line):
        name, price = line.split("=")
        return Item(name, float(price))

    def read(lines):
        items = []
        for line in lines:
            try:
                items.append(parse(line))  # @parse
            except ValueError:
                pass
        return items

    def price_of(item):
        return None if item.name == "gift" else item.price

    def total(items):
        amount = 0
        for item in items:
            amount += price_of(item)  # @add
        return amount

    def countdown(number):
        return 0 if number == 0 else 1 + countdown(number - 1)

    async def fetch(number):
        await asyncio.sleep(0)
        return number * 2

    async def fetch_all():
        return await asyncio.gather(fetch(1), fetch(2))

    items = read(["pen=1.5", "ink=3", "oops"] * 20)
    total(items)
    countdown(30)
    asyncio.run(fetch_all())
    worker = threading.Thread(target=countdown, args=(1,), name="worker")
    worker.start()
    worker.join()
    items[3].price = 7.25  # @change
    print("here")  # @stop
    total(items + [Item("gift", 0)])
"""
VERSIONS = pythons("3.8", "3.13")


AWAITED = """
    import asyncio

    async def fail(number):
        await asyncio.sleep(0)
        raise KeyError(number)

    async def refuse():
        await asyncio.sleep(0)
        raise ValueError

    async def forget():
        await asyncio.sleep(0)
        raise TypeError("nobody awaits it")

    def handle_many():
        for number in range(50):
            try:
                raise TypeError(number)  # the next one often has the same address
            except TypeError:
                pass

    async def main():
        handle_many()
        found = await asyncio.gather(fail(1), fail(2), return_exceptions=True)
        forgotten = asyncio.ensure_future(forget())
        try:
            await asyncio.gather(refuse())
        except ValueError:
            pass
        await asyncio.sleep(0.01)
        await asyncio.ensure_future(fail(3))

    asyncio.run(main())
"""


def ask_as_text(session: Session, path: str, **params: Any) -> str:
    answer = session.api.http.get(f"/sessions/{session.id}/recording/{path}", params={**params, "format": "text"})
    assert answer.status_code == 200, answer.text
    return str(answer.text)


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS.keys())
def test_a_recorded_run_answers_questions(python: Path, session: Session, program: Callable[..., Path]) -> None:
    path = program(SHOP)
    session.break_at(path, "stop")
    record = {"lines": ["total"], "complete": True}
    session.launch(path, python_path=str(python), stop_on_exception=False, record=record)

    assert [each["name"] for each in session.get("/threads")["threads"]] == ["MainThread"]  # none of the recording's
    halfway = session.get("/recording/trace")["rows"]
    assert halfway[0]["call"]["function"] == "<module>" and halfway[0]["call"]["outcome"] == "running"
    session.resume()

    tree = session.get("/recording/trace")
    names = [row["call"]["function"] for row in tree["rows"] if "call" in row]
    assert names[0] == "<module>" and {"read", "total", "fetch_all"} <= set(names)
    folded = {row["folded"]["functions"][0]: row["folded"] for row in tree["rows"] if "folded" in row}
    assert folded["countdown"]["count"] == 29  # the recursion, but for its first and last call
    assert {"parse", "price_of"} <= set(folded)
    assert tree["recorded_calls"] > 200 and not tree["notes"]
    threads = [row["call"]["thread"] for row in tree["rows"] if row["depth"] == 0]
    assert "thread worker" in threads
    text = ask_as_text(session, "trace", budget=1000)
    assert len(text) < 1500 and "✗ TypeError" in text

    none = session.get("/recording/calls", function="price_of", where="result is None")
    assert (none["total"], none["matching"]) == (81, 1)
    (found,) = none["calls"]
    assert found["arguments"] == [{"name": "item", "value": "Item(name='gift', price=0)"}]
    assert found["caller_line"] == line_of(path, "add")
    odd = session.get("/recording/calls", function="price_of", order="outliers", limit=2)["calls"]
    assert [call["value"] for call in odd] == ["7.25", "None"]
    dear = session.get("/recording/calls", function="program.parse", where="result.price > 2 and line != 'x'")
    assert dear["matching"] == 20

    errors = session.get("/recording/errors")["errors"]
    unhandled, handled = errors
    assert unhandled["error"] == "TypeError" and unhandled["way"] == ["total", "<module>"]
    assert unhandled["line"] == line_of(path, "add")
    assert {"name": "amount", "value": "94.25"} in unhandled["locals"]
    assert (handled["error"], handled["count"], handled["function"]) == ("ValueError", 20, "parse")
    assert "caught in read" in handled["fate"]

    failed = unhandled["first"]["call"]
    lines = session.get(f"/recording/calls/{failed}")["lines"]
    assert lines[0]["changes"] == [{"name": "amount", "value": "0"}]
    assert any(row["skipped_rounds"] > 30 for row in lines)
    assert lines[-1]["line"] == line_of(path, "add") and lines[-1]["calls"] == [found]

    origin = session.get("/recording/origin", value="94.25")["sightings"]
    assert (origin[0]["how"], origin[0]["name"], origin[0]["line"]) == ("set in", "amount", line_of(path, "add"))
    changed = [row for row in session.get("/recording/origin", value=".price")["sightings"] if "was" in row]
    assert [(row["was"], row["value"]) for row in changed] == [("3.0", "7.25")]

    slow = session.get("/recording/slow")
    counts = {row["function"]: row["count"] for row in slow["functions"]}
    assert (counts["countdown"], counts["parse"], counts["fetch"]) == (33, 60, 2)
    assert all(row["own_ms"] <= row["total_ms"] <= slow["span_ms"] for row in slow["functions"])


CONDITIONS = [
    ("n > 3 and name == 'pen'", True),
    ("n < 3 or missing == 1", False),
    ("not n == 4", True),
    ("-n < 0 < n * 2 - 1", True),
    ("name in ('ink', 'pen')", True),
    ("box.size // 2 == 4", True),
    ("box.lid is None", False),  # what was not kept
    ("things[1] == 'b' and len(things) == 9", True),
    ("table['a'] == 1", True),
    ("name > 3", False),
    ("n / 0 == 1", False),
    ("abs(-n) == 5 and str(n) == '5'", True),
]
VALUES = {
    "n": 5, "name": "pen", "box": ("O", "Box", 1, ["size", 9]), "things": ("L", 9, ["a", "b"]),
    "table": ("D", 1, ["a", 1]),
}


@pytest.mark.parametrize("condition, is_true", CONDITIONS)
def test_conditions_compare_recorded_values(condition: str, is_true: bool) -> None:
    assert RecordedExpression(condition).holds(VALUES) is is_true


@pytest.mark.parametrize(
    "condition",
    ["n.real()", "__import__('os')", "[x for x in n]", "n ** 9", "lambda: 1", "n if n else 1", "n =", "(" * 900],
)
def test_a_condition_is_no_code(condition: str) -> None:
    with pytest.raises(RelayError) as refused:
        read_condition(condition)
    assert refused.value.code == "INVALID_PARAMETER"


def test_a_damaged_recording_answers_as_far_as_it_is_whole(
    session: Session, program: Callable[..., Path], relay: Relay, tmp_path: Path
) -> None:
    path = program("def double(number):\n    return number * 2\n\nfor each in range(5):\n    double(each)\n")
    session.launch(path, record=True)
    (folder,) = recording_folders(relay.data_dir, session.id)

    def reopened(change: Callable[[Path], None]) -> RecordedRun:
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        change(copy / "00000000.ocr")

        async def flush() -> None: ...

        files = SimpleNamespace(folders=lambda: [str(copy)], flush=flush)
        return RecordedRun(KnownRecordings(cast(Any, SimpleNamespace(recording=files))), View(), ExportFolder(None))

    cut = reopened(lambda file: file.write_bytes(file.read_bytes() + b"\xff\0\0\0half of it"))
    assert asyncio.run(cut.calls(function="double")).total == 5
    scratched = reopened(lambda file: file.write_bytes(file.read_bytes()[:-3] + b"abc"))
    with pytest.raises(RelayError, match="damaged"):
        asyncio.run(scratched.trace())
    newer = reopened(lambda file: file.write_bytes(b"OCREC\x09\0\0" + file.read_bytes()[8:]))
    with pytest.raises(RelayError, match="version 9"):
        asyncio.run(newer.trace())
    gone = reopened(Path.unlink)
    with pytest.raises(RelayError, match="no calls"):
        asyncio.run(gone.trace())


def test_what_was_not_recorded_is_told(session: Session, program: Callable[..., Path]) -> None:
    path = program("def double(number):\n    return number * 2\n\ndouble(2)\n")
    refusal(404, "RECORDING_NOT_FOUND", session.get, "/recording/trace")
    session.launch(path, record=True)
    assert session.get("/recording/errors")["errors"] == []
    for params in ({"function": "triple"}, {"function": "other.py:double"}):
        refusal(404, "CALL_NOT_FOUND", session.get, "/recording/calls", **params)
    refusal(404, "CALL_NOT_FOUND", session.get, "/recording/calls/99")
    error = refusal(400, "INVALID_PARAMETER", session.get, "/recording/calls", function="double", where="nunber > 1")
    assert "number" in error.details["suggestion"]
    refusal(400, "INVALID_PARAMETER", session.get, "/recording/trace", recording="1-1")
    life = session.get(f"/recording/calls/{session.get('/recording/calls', function='double')['calls'][0]['call']}")
    assert not life["lines_recorded"] and "double" in life["notes"][0]
    nothing = session.get("/recording/origin", value="'never'")
    assert not nothing["sightings"] and "not in the recording" in nothing["notes"][0]


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS.keys())
def test_exceptions_of_tasks_are_told_by_what_became_of_them(
    python: Path, session: Session, program: Callable[..., Path]
) -> None:
    path = program(AWAITED)
    session.launch(path, python_path=str(python), stop_on_exception=False, record=True)
    errors = session.get("/recording/errors")["errors"]
    fates = {(row["error"], row["first"]["function"], row["fate"].partition(", called")[0]) for row in errors}
    assert {
        ("KeyError", "main", "nothing recorded handled it"),
        ("KeyError", "fail", "nothing recorded handled it"),
        ("KeyError", "fail", "handled by code that is not recorded"),  # gather has returned it
        ("ValueError", "refuse", "caught where its task was awaited"),
        ("TypeError", "forget", "handled by code that is not recorded"),
    } <= fates
    assert "<module>" not in {row["first"]["function"] for row in errors}, "it got that of main"
    unhandled = session.get("/recording/errors", unhandled=True)["errors"]
    assert {row["error"] for row in unhandled} == {"KeyError", "TypeError"}


def test_an_exception_like_one_that_was_handled_before_is_told_by_itself(
    session: Session, program: Callable[..., Path]
) -> None:
    path = program("""
        def parse(text):
            raise ValueError(text)

        def note(number):
            return number

        def read():
            try:
                parse("harmless")
            except ValueError:
                note(1)
            raise ValueError("the real one")  # often at the address of the first

        read()
    """)
    (python,) = pythons("3.12").values()
    session.launch(path, python_path=str(python), stop_on_exception=False, record=True)
    fatal, handled = session.get("/recording/errors")["errors"]
    assert (fatal["first"]["function"], fatal["way"]) == ("read", ["read", "<module>"])
    assert (handled["first"]["function"], handled["way"]) == ("parse", ["parse"]) and "in read" in handled["fate"]
