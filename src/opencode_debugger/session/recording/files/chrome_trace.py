"""A recording in Chrome's trace event format, which chrome://tracing, Perfetto and speedscope open."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from ....text.secrets import mask_inside, mask_value
from ..call_rows import OUTCOMES
from ..recorded_calls import FINISHED, RAISED, RECEIVERS, Call, RecordedCalls
from ..recorded_values import value_text

LONGEST_VALUE = 200
"""characters"""
PLAIN = (int, float, type(None))
"""values that no secret is in"""


def write_chrome_trace(calls: RecordedCalls, file: BinaryIO) -> None:
    """Write a JSON object whose `traceEvents` has every call, in the order in which they began."""
    encode = msgspec.json.Encoder().encode
    about = {"recording": calls.folder.name, "calls": len(calls)}
    file.write(b'{"displayTimeUnit":"ms","otherData":' + encode(about) + b',"traceEvents":[\n')
    for index, event in enumerate(_events(calls)):
        file.write((b",\n" if index else b"") + encode(event))
    file.write(b"\n]}\n")


def _events(calls: RecordedCalls) -> Iterator[dict[str, Any]]:
    pid = int(calls.header.get("pid") or 1)
    program = os.path.basename(str((calls.header.get("argv") or [calls.folder.name])[0]))
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": program}}
    for lane, name in sorted(calls.lanes.items()):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": lane, "args": {"name": name}}
    began, until = calls.began, calls.until
    open_ends: defaultdict[int, list[float]] = defaultdict(list)
    """ends of the calls that a thread is in, the outermost first"""
    for position in calls.order:
        call = calls.call_at(position)
        end = call.end if call.how in FINISHED else until
        inside = open_ends[call.lane]
        while inside and inside[-1] <= call.start:
            inside.pop()
        event = _event(calls, call, pid, began)
        if inside and end > inside[-1]:  # a generator that goes on after the call that began it: it does not nest
            yield event | {"ph": "b"}
            yield {name: event[name] for name in ("name", "cat", "pid", "tid", "id")} | {
                "ph": "e", "ts": _microseconds(end - began)}
            continue
        inside.append(end)
        del event["id"]
        yield event | {"ph": "X", "dur": _microseconds(end - call.start)}


def _event(calls: RecordedCalls, call: Call, pid: int, began: float) -> dict[str, Any]:
    given = dict(_argument_texts(call))
    told: dict[str, Any] = {"call": call.number, "arguments": given, "outcome": OUTCOMES.get(call.how, "unseen")}
    if (result := call.result) is not None:
        shown = str(result) if isinstance(call.value, PLAIN) else mask_inside(result)[:LONGEST_VALUE]
        told["error" if call.how == RAISED else "result"] = shown
    place = f"{call.function.path}:{call.function.line}"
    return {
        "name": call.function.name, "cat": "call", "pid": pid, "tid": call.lane, "id": call.number,
        "ts": _microseconds(call.start - began), "args": {**told, "place": place},
    }


def _argument_texts(call: Call) -> Iterator[tuple[str, str]]:
    for name, value in call.named_arguments:
        if name not in RECEIVERS:
            text = value_text(value)
            yield name, text if isinstance(value, PLAIN) else mask_value(name, text)[:LONGEST_VALUE]


def _microseconds(seconds: float) -> float:
    return round(seconds * 1_000_000, 3)
