"""A recording is exported as one file, which opens anywhere and is not trusted; and as Chrome's trace events."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from relays import Api, Session, refusal

from opencode_debugger.session.recording.files.exported_file import CALLS, DEEPEST, ExportedRecording
from opencode_debugger.session.recording.recorded_calls import RecordedCalls

PROGRAM = """
    import threading

    def numbers(limit):
        for number in range(limit):
            yield number

    def first_of(generator):
        return next(generator)

    def connect(address, password):
        return address

    def total(values):
        amount = 0
        for value in values:
            amount += value
        return amount

    generator = numbers(3)
    first_of(generator)
    total(list(generator))
    connect("https://ann:hidden@example.org/", "hidden")
    connect("half \\ud800", None)
    worker = threading.Thread(target=total, args=([1, 2],), name="worker")
    worker.start()
    worker.join()
    total([1, "x"])
"""
QUESTIONS: dict[str, dict[str, Any]] = {
    "trace": {}, "calls": {"function": "total"}, "origin": {"value": "amount"}, "errors": {}, "slow": {},
}


def answers_of(session: Session) -> list[Any]:
    asked = [session.get(f"/recording/{question}", **params) for question, params in QUESTIONS.items()]
    return [*asked, *(session.get(f"/recording/calls/{call['call']}") for call in asked[1]["calls"])]


def exported(session: Session, **params: Any) -> bytes:
    answer = session.api.http.get(f"/sessions/{session.id}/recording/export", params=params)
    assert answer.status_code == 200, answer.text
    assert "attachment" in answer.headers["content-disposition"]
    return bytes(answer.content)


def test_a_recording_opens_anywhere(
    session: Session, api: Api, program: Callable[..., Path], tmp_path: Path
) -> None:
    path = program(PROGRAM)
    session.launch(path, stop_on_exception=False, record={"lines": ["total"]})
    before, content, trace = answers_of(session), exported(session), json.loads(exported(session, format="chrome"))
    assert b"hidden" not in content and "hidden" not in json.dumps(trace)
    refusal(400, "INVALID_PARAMETER", session.get, "/recording/export", format="pdf")
    refusal(400, "INVALID_PARAMETER", session.get, "/recording/export", recording="1-1")
    session.delete(force=True)
    path.unlink()  # as on another machine

    file = tmp_path / "run.ocrec"
    file.write_bytes(content)
    opened = api.post("/recordings/open", {"path": str(file)})
    there = Session(api, opened["session_id"])
    now = answers_of(there)
    assert opened["recording"] == before[0]["recording"] and opened["recorded_calls"] == before[0]["recorded_calls"]
    assert now[1:] == before[1:] and len(now[0]["rows"]) == len(before[0]["rows"])
    assert "ann:‹masked›@" in json.dumps(now[0], ensure_ascii=False)
    assert there.get("/recording/diff", other=str(file))["first"] is None
    check_events(trace["traceEvents"], opened["recorded_calls"])

    for name, change, words in DAMAGES:
        bad = tmp_path / f"{name}.ocrec"
        bad.write_bytes(change(content))
        error = refusal(404, "RECORDING_NOT_FOUND", api.post, "/recordings/open", {"path": str(bad)})
        assert words in error.message and "\n" not in error.message
        refusal(404, "RECORDING_NOT_FOUND", there.get, "/recording/diff", other=str(bad))
    for path_given in (tmp_path / "absent.ocrec", tmp_path):
        refusal(404, "RECORDING_NOT_FOUND", api.post, "/recordings/open", {"path": str(path_given)})
    refusal(400, "INVALID_PARAMETER", api.post, "/recordings/open", {"path": "run.ocrec"})
    file.unlink()
    refusal(404, "RECORDING_NOT_FOUND", there.get, "/recording/slow")
    there.delete()
    check_flips(content, tmp_path / "flipped.ocrec")


DAMAGES: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("cut", lambda content: content[:-20], "too early"),
    ("scratched", lambda content: content[:-60] + b"scratch" + content[-53:], "damaged"),
    ("newer", lambda content: content[:8] + b"\x09" + content[9:], "version 9"),
    ("other", lambda content: b"PK" + content, "no exported recording"),
    ("empty", lambda content: b"", "no exported recording"),
]


def check_events(events: list[dict[str, Any]], calls: int) -> None:
    """See that calls of a thread lie within each other, as viewers need it; generators that do not are events apart."""
    whole = [event for event in events if event["ph"] == "X"]
    begun, ended = ([event for event in events if event["ph"] == kind] for kind in "be")
    assert len(whole) + len(begun) == calls
    assert [event["name"] for event in begun] == ["numbers"] and [event["id"] for event in ended] == [begun[0]["id"]]
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} >= {"thread MainThread", "thread worker"}
    for lane in {event["tid"] for event in whole}:
        ends: list[float] = []
        for event in (each for each in whole if each["tid"] == lane):
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            assert not ends or event["ts"] + event["dur"] <= ends[-1] + 0.002
            ends.append(event["ts"] + event["dur"])


def check_flips(content: bytes, file: Path) -> None:
    """See that no changed byte does more than damage a file."""
    for place in range(0, len(content), max(1, len(content) // 150)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        calls = RecordedCalls(ExportedRecording(str(file)))
        calls.read_more()
        assert calls.damage, place


def chunk(kind: bytes, content: Any, unpacked: int | None = None) -> bytes:
    data = msgspec.msgpack.encode(content)
    packed = zlib.compress(data)
    size = len(data) if unpacked is None else unpacked
    return struct.pack("<cIII", kind, len(packed), size, zlib.crc32(packed)) + packed


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


ROW = [1, 1, 0, 0, 0, 1.0, [], 2, 2.0, 1, None, None]


@pytest.mark.parametrize("row", [
    [*ROW[:2], 1, *ROW[3:]], [*ROW[:2], 7, *ROW[3:]], ["1", *ROW[1:]], ROW[:11],
    [*ROW[:6], [nested(DEEPEST + 1)], *ROW[7:]], [*ROW[:9], 900, *ROW[10:]], [(1 << 64) - 1, *ROW[1:]],
], ids=["its own caller", "a later caller", "no number", "too short", "too deep", "no outcome", "too large"])
def test_rows_of_an_exported_recording_are_checked(row: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "made.ocrec"
    about = chunk(b"H", {"name": "1-1", "header": {}, "rested": []})

    def damage(rows: list[Any], **options: Any) -> str | None:
        file.write_bytes(b"OCEXPORT\1" + about + chunk(CALLS, [rows, [], [], {}], **options) + chunk(b"Z", None))
        calls = RecordedCalls(ExportedRecording(str(file)))
        calls.read_more()
        return calls.damage

    assert damage([ROW]) is None
    assert damage([row])
    assert damage([ROW], unpacked=3) and damage([ROW], unpacked=1 << 31)
