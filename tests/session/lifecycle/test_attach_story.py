"""A server that is running already is debugged by process id and goes on serving: flow 3.2 of the user story."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from places import ROOT
from relays import Api, Relay, Session, free_port, line_of
from targets import Target
from waiting import wait_until

Write = Callable[..., Path]

SERVER = """
    import asyncio, sys, threading, time
    import uvicorn
    from fastapi import FastAPI

    app = FastAPI()
    PRICES = {"apple": 3, "pear": 5}

    @app.get("/price/{name}")
    async def price(name: str, count: int = 1):
        total = PRICES[name] * count
        await asyncio.sleep(0)
        return {"total": total}  # @async

    @app.get("/sync/{name}")
    def sync_price(name: str):
        total = PRICES[name]
        return {"total": total}  # @sync

    if __name__ == "__main__":
        uvicorn.run(app, port=int(sys.argv[1]), loop=sys.argv[2], log_level="warning")
"""

EXAMPLE = ROOT / "examples" / "attach_to_server.py"


class Server:
    def __init__(self, script: Path, loop: str) -> None:
        port = free_port()
        self.script = script
        self.target = Target([sys.executable, str(script), str(port), loop])
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)
        wait_until(self.is_up)

    def is_up(self) -> bool:
        try:
            return self.http.get("/price/apple").status_code == 200
        except httpx2.TransportError:
            assert self.target.is_alive, self.target.finish()
            return False

    def total(self, path: str) -> int:
        return int(self.http.get(path).json()["total"])


@pytest.fixture(params=["uvloop", pytest.param("asyncio", marks=pytest.mark.wide)])
def server(request: pytest.FixtureRequest, program: Write) -> Iterator[Server]:
    server = Server(program(SERVER), request.param)
    yield server
    server.http.close()
    server.target.end()


def test_a_running_server_is_attached_to_inspected_changed_and_left_serving(api: Api, server: Server) -> None:
    pid = server.target.pid
    # 1. List debuggable processes
    (found,) = api.get("/processes", filter=str(server.script))["items"]
    assert (found["pid"], found["attachable"]) == (pid, True)
    # 2. Create attach session
    created = api.post("/sessions", {"mode": "attach", "pid": pid, "connect_timeout": 60})
    with Session(api, created["session_id"]) as session, ThreadPoolExecutor(1) as caller:
        # 3. Verify attachment
        assert session.get("/status")["status"] == "running"
        assert server.total("/price/pear?count=2") == 10
        # 4. Set breakpoints
        assert all(bp["verified"] for bp in session.break_at(server.script, "async", "sync"))
        # 5. Wait for the breakpoint, while somebody uses the application
        answer = caller.submit(server.total, "/price/pear?count=3")
        wait_until(lambda: session.get("/status")["status"] == "paused")
        status = session.get("/status")
        assert (status["reason"], status["location"]["line"]) == ("breakpoint", line_of(server.script, "async"))
        # 6. Debug as normal
        assert session.locals() == {"name": "'pear'", "count": "3", "total": "15"}
        assert session.get("/stacktrace")["frames"][0]["name"] == "price"
        session.evaluate("total = 4711")
        session.evaluate("PRICES['apple'] = 30")
        assert not answer.done()
        assert session.resume(wait=False)["continued"] is True
        assert answer.result(30) == 4711
        # A handler on a thread of its own, at the same time.
        answer = caller.submit(server.total, "/sync/apple")
        stop = session.get("/report", wait=30)
        assert stop["current_location"]["line"] == line_of(server.script, "sync")
        # 7. Detach cleanly
        detached = session.post("/detach")
        assert (detached["status"], detached["reason"], detached["pid"]) == ("terminated", "detached", pid)
        assert answer.result(30) == 30
    assert [server.total("/price/apple") for _ in range(5)] == [30] * 5
    assert server.target.is_alive
    server.target.process.terminate()
    _, output, errors = server.target.finish()
    assert (output, errors) == ("", "")


def test_the_example_prints_what_happened(relay: Relay) -> None:
    env = {**os.environ, "OPENCODE_DEBUG_API": relay.base_url, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run([sys.executable, str(EXAMPLE)], env=env, capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.sub(r"\d+, Python [\d.]+", "PID", done.stdout, count=1).splitlines() == [
        "found: process PID",
        "stopped: line 9, in do_GET",
        "total is 5",
        "the customer was told: 1",
        "the next one: 5",
    ]
