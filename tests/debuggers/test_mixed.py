"""Python and C in one process: two sessions share it, as docs/mixed.md says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from native import Builder
from relays import Api, Session, line_of, refusal


def test_a_python_and_a_native_session_share_a_process(
    api: Api, session: Session, build: Builder, program: Callable[..., Path]
) -> None:
    library = build("counter", "-shared", "-fPIC")
    script = program(f"""
        import ctypes
        counter = ctypes.CDLL("{library.program}")

        def count(limit):
            for number in range(limit):  # @loop
                total = counter.add(number + 1)  # @call
            print("total", total)

        count(2)
    """)
    session.break_at(script, "call")
    pid = session.launch(script)["pid"]
    with api.session(adapter="gdb") as native:
        native.break_at(library.source, "add")
        assert native.post("/attach", {"pid": pid})["status"] == "running"
        assert [frame["name"] for frame in session.get("/stacktrace")["frames"]] == ["count", "<module>"]

        holder = f"POST /api/v1/sessions/{native.id}/continue"
        assert holder in refusal(504, "DEBUGPY_TIMEOUT", session.step).message
        stop = native.get("/report", wait=20)
        assert (stop["stop_reason"], stop["current_location"]["line"]) == ("breakpoint", library.line("add"))
        assert native.locals()["number"] == "1"
        assert holder in session.get("/report")["message"]
        assert holder in session.get("/status")["message"]
        native.post("/set-expression", {"expression": "number", "value": "40"})
        native.resume(wait=False)

        stop = session.get("/report", wait=20)
        assert (stop["stop_reason"], stop["current_location"]["line"]) == ("step", line_of(script, "loop"))
        assert session.locals()["total"] == "40"
        native.post("/pause", wait=20)
        assert holder in refusal(504, "DEBUGPY_TIMEOUT", session.evaluate, "total").message
        native.post("/detach")
        assert session.evaluate("total + 1")["result"] == "41"
        session.delete("/breakpoints")
        report = session.resume()
        assert (report["status"], report["exit_code"]) == ("terminated", 0)
    assert session.output() == "total 42\n"
