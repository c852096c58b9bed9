"""Steps of a session without the relay, as `opencode-debugger debugserver` has it, timed in a process of their own.

It ends with everything that it has started, so it cannot be the one that measures the rest."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.relay import LOCATION, PATIENCE
from opencode_debugger.session.session import Session
from opencode_debugger.session.session_settings import Config


async def main(adapter: str, program: str, source: str, line: str, warm_up: str, count: str) -> None:
    session = Session(Config("sess_bench", "bench", adapter=adapter))
    call = session.method_of
    try:
        placed = await call("set_breakpoints")(breakpoints=[{"path": source, "line": int(line)}])
        await call("launch")(program=program, wait=PATIENCE)
        await call("remove_breakpoint")(breakpoint_id=placed.breakpoints[0].id)
        await steps(session, {}, int(warm_up))
        print(json.dumps([await steps(session, LOCATION, int(count)), await steps(session, {}, int(count))]))
    finally:
        await session.end("deleted", True)


async def steps(session: Session, options: dict[str, Any], count: int) -> list[float]:
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        stop = await session.method_of("step_over")(**options)
        taken.append((time.perf_counter() - started) * 1000)
        assert stop.current_location.line, stop
    return taken


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(*sys.argv[1:]))
