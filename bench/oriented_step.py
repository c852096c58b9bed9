"""The oriented step over MCP: how long until an agent knows place, source and locals, and how much it has to read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.mcp_client import McpClient
from bench.measure import Plan, clock
from bench.peers import Server, find_servers
from bench.relay import RelayProcess
from bench.target import PROGRAM

STEPS_IN_ROUND = 8
MOST_FAILURES = 10
WHERE = Path(PROGRAM).name
"""in every answer that tells the place"""


@dataclass
class Contestant:
    """A debugger, and what was measured of it."""

    server: Server
    log: Path
    client: McpClient | None = None
    startup: list[float] = field(default_factory=list)
    """ms from starting the server until it has told its tools"""
    steps: list[float] = field(default_factory=list)
    """ms"""
    calls: list[float] = field(default_factory=list)
    answer_bytes: list[float] = field(default_factory=list)
    """of all answers until a step is told"""
    failures: list[str] = field(default_factory=list)

    def take_steps(self, count: int) -> None:
        """Step; after one that fails, which does not count, the next has a server of its own."""
        for _ in range(count):
            if len(self.failures) < MOST_FAILURES:
                try:
                    self._take_step(self.client or self._start())
                except (OSError, RuntimeError, ValueError, LookupError) as error:
                    self.failures.append(f"{type(error).__name__}: {error}"[:200])
                    self.close()

    def _start(self) -> McpClient:
        """Bring it to its first stop."""
        begun = time.perf_counter()
        self.client = McpClient(self.server.command, self.log, self.server.environment)
        self.client.initialize()
        self.client.request("tools/list", {})
        self.startup.append((time.perf_counter() - begun) * 1000)
        self.server.debugger.start(self.client)
        return self.client

    def _take_step(self, client: McpClient) -> None:
        calls, answer_bytes = client.calls, client.answer_bytes
        told: list[str] = []
        took = clock(lambda: told.append(self.server.debugger.step(client)))
        if WHERE not in told[0]:
            raise RuntimeError(f"a step that does not tell its place: {told[0]}")
        self.steps.append(took)
        self.calls.append(client.calls - calls)
        self.answer_bytes.append(client.answer_bytes - answer_bytes)

    def forget_steps(self) -> None:
        for taken in (self.steps, self.calls, self.answer_bytes):
            taken.clear()

    def close(self) -> None:
        if self.client is not None:
            self.client.close()
            self.client = None


def measure(relay: RelayProcess, folder: Path, plan: Plan) -> dict[str, Contestant]:
    servers = find_servers(relay, folder)
    contestants = {name: Contestant(server, folder / f"{name}.log") for name, server in servers.items()}
    try:
        for contestant in contestants.values():
            contestant.take_steps(plan.warm_up)
            contestant.forget_steps()
        for _ in range(plan.rounds):
            for contestant in contestants.values():
                contestant.take_steps(STEPS_IN_ROUND)
    finally:
        for contestant in contestants.values():
            contestant.close()
    return contestants
