"""How long each question to a recording of a million calls takes, asked over REST."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

from bench.relay import Client, RelayProcess
from bench.speed.measure import say
from bench.speed.places import PROGRAMS

ORDERS = PROGRAMS / "orders.py"
ROUNDS, QUICK_ROUNDS = 105_000, 1_000
"""of the program, with nine or ten calls each"""
ODD_ROUND = 60
"""in hundredths of the rounds: where the other run differs"""
GOAL = 1.0
"""seconds of a question"""
FIRST = "the first, while the rest is read"
POLL = 0.01
PATIENCE = 120.0

QUESTIONS: dict[str, tuple[str, dict[str, object]]] = {
    FIRST: ("trace", {}),
    "trace": ("trace", {}),
    "trace of a function": ("trace", {"function": "handle"}),
    "calls": ("calls", {"function": "depth_of"}),
    "calls where an argument": ("calls", {"function": "depth_of", "where": "number > 2"}),
    "calls where a result": ("calls", {"function": "depth_of", "where": "result == 3"}),
    "calls where an attribute": ("calls", {"function": "describe", "where": "order.total > 100 and result != 3"}),
    "calls where a duration": ("calls", {"function": "depth_of", "where": "duration_ms > 1"}),
    "calls, outliers": ("calls", {"function": "depth_of", "order": "outliers"}),
    "calls, slowest": ("calls", {"function": "depth_of", "order": "slowest"}),
    "life": ("calls/2", {}),
    "origin of a name": ("origin", {"value": "number"}),
    "origin of an attribute": ("origin", {"value": ".total"}),
    "origin of a rare value": ("origin", {"value": "order 777 of customer 10"}),
    "origin of a frequent value": ("origin", {"value": "0"}),
    "errors": ("errors", {}),
    "slow": ("slow", {}),
}
MOVES: dict[str, tuple[str, dict[str, object]]] = {
    "goto": ("goto", {"moment": "#10000"}),
    "step over": ("step-over", {}),
    "step back": ("step-back", {}),
    "reverse-continue": ("reverse-continue", {}),
    "reverse-continue with a name": ("reverse-continue", {"name": "number"}),
    "reverse-continue with an attribute": ("reverse-continue", {"name": ".total"}),
}
DIFF = "diff"


@dataclass
class AskedQuestion:
    question: str
    seconds: float

    @property
    def is_quick(self) -> bool:
        return self.seconds <= GOAL


@dataclass
class AskedRecording:
    calls: int
    questions: list[AskedQuestion]
    bytes_of_runner: int
    """what it has in memory after the questions, itself included"""

    def markdown(self) -> str:
        size = self.bytes_of_runner / self.calls
        lines = ["## Questions to a recording", ""]
        lines += [f"Of {self.calls:,} calls, in seconds. The runner needs {size:,.0f} bytes for each.", ""]
        lines += ["| question | seconds | goal |", "|---|---|---|"]
        return "\n".join([*lines, *(f"| {each.question} | {each.seconds:.2f} | {GOAL:g} |" for each in self.questions)])


def ask(relay: RelayProcess, is_quick: bool) -> AskedRecording:
    rounds = QUICK_ROUNDS if is_quick else ROUNDS
    client = Client(relay.port)
    with _recorded(client, rounds, rounds * ODD_ROUND // 100) as other, _recorded(client, rounds, -1) as session:
        found = list(_ask_each(client, session))
        (runner,) = relay.runners({session})
        needed = runner.memory_info().rss
        calls = client.call("GET", f"/sessions/{session}/recording/slow")["recorded_calls"]
        found.append(_timed(client, DIFF, "GET", f"/sessions/{session}/recording/diff?other={other}"))
        found.append(_timed(client, f"{DIFF} again", "GET", f"/sessions/{session}/recording/diff?other={other}"))
        return AskedRecording(calls, found, needed)


def _ask_each(client: Client, session: str) -> Iterator[AskedQuestion]:
    for name, (question, params) in QUESTIONS.items():
        say(f"{name} …")
        yield _timed(client, name, "GET", f"/sessions/{session}/recording/{question}?{urlencode(params)}")
    for name, (move, body) in MOVES.items():
        say(f"{name} …")
        if move == "reverse-continue":
            client.call("POST", f"/sessions/{session}/now", {})  # from there it goes back farthest
        yield _timed(client, name, "POST", f"/sessions/{session}/{move}", body)


def _timed(client: Client, name: str, method: str, path: str, body: object = None) -> AskedQuestion:
    began = time.perf_counter()
    client.call(method, path, body)
    return AskedQuestion(name, time.perf_counter() - began)


@contextmanager
def _recorded(client: Client, rounds: int, odd_round: int) -> Iterator[str]:
    """Run the program, with every call recorded, to its end; return its session."""
    say(f"{rounds * 10:,} calls …")
    record = {"complete": True, "limit_mb": 1024}
    arguments = [str(rounds), str(odd_round)]
    asked = {"script": str(ORDERS), "args": arguments, "record": record, "stop_on_exception": False, "wait": 1}
    session = client.call("POST", "/run", asked)["session_id"]
    try:
        deadline = time.monotonic() + PATIENCE
        while client.call("GET", f"/sessions/{session}/status")["status"] == "running":
            if time.monotonic() > deadline:
                raise TimeoutError("the recorded program does not end")
            time.sleep(POLL)
        yield session
    finally:
        client.call("DELETE", f"/sessions/{session}?force=true")
