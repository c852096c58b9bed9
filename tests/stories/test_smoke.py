"""The shortest whole story."""

from collections.abc import Callable
from pathlib import Path

from relays import Session, line_of


def test_a_program_is_stopped_inspected_and_run_to_its_end(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        def add(a, b):
            total = a + b
            return total  # @here

        print(add(2, 3))
        """
    )
    session.break_at(path, "here")
    stop = session.launch(path)
    assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
    assert stop["current_location"]["line"] == line_of(path, "here")
    assert session.locals() == {"a": "2", "b": "3", "total": "5"}
    assert session.evaluate("total * 2")["result"] == "10"
    assert session.resume()["exit_code"] == 0
    assert session.output() == "5\n"
