"""Which operations are timed, how often, and in which order."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from bench.processes import family, memory
from bench.raw import Direct, Stock
from bench.relay import RelayProcess, Session

CREATE = "session creation"
LAUNCH = "launch to first stop"
STEP = "step with its new location"
STACK = "stack"
VARIABLES = "variables of a known scope"
LOCALS = "locals of the top frame"
EVALUATE = "evaluate"
STATUS = "status"

OPERATIONS = {
    STEP: "step",
    "step with the full stop report": "step_report",
    "stop report again": "report",
    STACK: "stack",
    VARIABLES: "variables",
    LOCALS: "local_variables",
    EVALUATE: "evaluate",
    "set breakpoint": "set_breakpoint",
    "continue to the next hit": "resume",
    STATUS: "status",
}
"""Row to method; a way that lacks the method has no such row."""

NEEDS_SCOPE = frozenset({VARIABLES})
"""References die at the next stop: these first ask for the scopes, outside of the clock."""


class Way(Protocol):
    def create(self) -> None: ...
    def launch(self) -> None: ...
    def scopes(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Plan:
    rounds: int = 5
    launches: int = 10
    sessions: int = 20
    warm_up: int = 5
    samples: Mapping[str, int] = field(default_factory=lambda: {"stock": 18, "direct": 50, "relay": 50})
    """of each operation in a round"""


QUICK = Plan(1, 1, 3, 1, {"stock": 2, "direct": 5, "relay": 5})

USED_RUNNER = "runner after all operations"
"""which holds what clients asked for meanwhile, for the timeline"""
Samples = dict[str, dict[str, list[float]]]
"""Milliseconds by row and way."""


def clock(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


class Bench:
    def __init__(self, relay: RelayProcess, plan: Plan) -> None:
        self._relay = relay
        self.plan = plan
        self._ways: dict[str, Callable[[], Way]] = {
            "stock": Stock,
            "direct": Direct,
            "relay": lambda: Session(relay.port),
        }
        self.samples: Samples = defaultdict(lambda: defaultdict(list))

    def _started(self, name: str) -> Way:
        """A way at its first stop; what it took is kept."""
        way = self._ways[name]()
        created = clock(way.create)
        try:
            launched = clock(way.launch)
        except BaseException:
            way.close()
            raise
        if name != "direct":  # it has nothing to create
            self.samples[CREATE][name].append(created)
        self.samples[LAUNCH][name].append(launched)
        return way

    def starts(self) -> None:
        for name in self._ways:
            self._started(name).close()
        self.samples.clear()
        for _ in range(self.plan.launches):
            for name in self._ways:
                self._started(name).close()

    def operations(self) -> dict[str, dict[str, float]]:
        """Times everything at a stop; says what the process between client and program takes at the first one."""
        ways: dict[str, Way] = {}
        try:
            for name in self._ways:
                ways[name] = self._started(name)
            found = self._memory(ways)
            self._round(ways, dict.fromkeys(ways, self.plan.warm_up))
            for row in OPERATIONS:
                self.samples.pop(row, None)
            for _ in range(self.plan.rounds):
                self._round(ways, self.plan.samples)
            return {**found, USED_RUNNER: self._memory(ways)["runner"]}
        finally:
            for way in ways.values():
                way.close()

    def _round(self, ways: dict[str, Way], samples: Mapping[str, int]) -> None:
        for row, method in OPERATIONS.items():
            for name, way in ways.items():
                operation = getattr(way, method, None)
                if operation is None:
                    continue
                if row in NEEDS_SCOPE:
                    way.scopes()
                self.samples[row][name] += [clock(operation) for _ in range(samples[name])]

    def _memory(self, ways: dict[str, Way]) -> dict[str, dict[str, float]]:
        stock, session = ways["stock"], ways["relay"]
        assert isinstance(stock, Stock) and isinstance(session, Session)
        (runner,) = self._relay.runners({session.id})
        return {
            "debugpy.adapter": memory(stock.process.pid),
            "runner": memory(runner.pid),
            "relay": memory(self._relay.process.pid),
        }

    def many(self) -> dict[str, float]:
        """Many sessions paused at the same time."""
        sessions = [Session(self._relay.port) for _ in range(self.plan.sessions)]

        def start(session: Session) -> float:
            took = clock(session.create)
            session.launch()
            return took

        try:
            started = time.perf_counter()
            with ThreadPoolExecutor(4) as pool:
                created = sorted(pool.map(start, sessions))
            seconds = time.perf_counter() - started
            answered = [clock(session.status) for session in sessions]
            runners = self._relay.runners({session.id for session in sessions})
            programs = [program for runner in runners for program in family(runner.pid)]
            return {
                "wanted": len(sessions),
                "paused and answering": len(answered),
                "seconds until all are paused": round(seconds, 2),
                "creation p50 ms in that burst": round(created[len(created) // 2], 1),
                "slowest status ms": round(max(answered), 2),
                "runners MB (own)": round(sum(memory(runner.pid)["uss"] for runner in runners), 1),
                "programs MB (own)": round(sum(memory(program.pid)["uss"] for program in programs), 1),
            }
        finally:
            for session in sessions:
                session.close()
