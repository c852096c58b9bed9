"""A client that hangs up ends its wait; what it was waiting for goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

from relays import Relay, Session
from waiting import wait_until

Write = Callable[..., Path]


def test_wait_of_a_client_that_hangs_up_is_given_up(
    relay: Relay, session: Session, program: Write, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    path = program("""
        import os, sys, time
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        print("seen")
        """)
    session.launch(path, args=[str(go)], stop_on_entry=True)
    body = json.dumps({"wait": 300}).encode()
    head = [
        f"POST /api/v1/sessions/{session.id}/continue HTTP/1.1", f"Host: 127.0.0.1:{relay.port}",
        "Content-Type: application/json", f"Content-Length: {len(body)}", "", "",
    ]
    with socket.create_connection(("127.0.0.1", relay.port)) as client:
        client.sendall("\r\n".join(head).encode() + body)
        wait_until(lambda: session.get("/status")["status"] == "running")
    wait_until(lambda: f"POST /api/v1/sessions/{session.id}/continue 499" in relay.log.read_text())
    assert session.get("/status")["status"] == "running"
    go.touch()
    report = session.get("/report", wait=60)
    assert report["status"] == "terminated"
    assert "seen" in report["output"][0]["output"]
