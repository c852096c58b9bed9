"""Acceptance criteria of sessions and launching that need several sessions at once, or a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from relays import Api, Relay, Session, line_of, refusal

PLACES = 10

WORK = """
import sys

def work(number):
    result = number * number  # @work
    return result

print(work(int(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """A relay with as many places as it has by default."""
    relay = Relay(tmp_path_factory.mktemp("ten") / "data", max_sessions=PLACES).start()
    yield relay
    assert relay.stop() == 0


def test_ten_programs_are_debugged_at_once_and_all_outlive_the_relay(ten: Relay, program: Callable[..., Path]) -> None:
    """AC-SM-2, AC-SM-3, AC-SM-5, and the KPI of recovery: every session is there after the relay was killed."""
    path = program(WORK)

    def debug(number: int) -> str:
        with Api(ten.base_url) as own:
            session = own.session(name=f"number {number}")
            session.break_at(path, "work")
            stop = session.launch(path, args=[str(number)])
            assert stop["current_location"]["line"] == line_of(path, "work")
            assert session.evaluate("number")["result"] == str(number)
            return session.id

    with ThreadPoolExecutor(PLACES) as pool:
        ids = list(pool.map(debug, range(PLACES)))
    with Api(ten.base_url) as api:
        refusal(429, "SESSION_LIMIT_REACHED", api.session)
        listed = api.get("/sessions")["items"]
        assert {item["session_id"]: (item["name"], item["status"], item["program"]) for item in listed} == {
            id: (f"number {number}", "paused", str(path)) for number, id in enumerate(ids)
        }
    ten.kill()
    ten.start()

    def finish(number: int) -> None:
        with Api(ten.base_url) as own:
            session = Session(own, ids[number])
            assert session.get()["status"] == "paused"
            pid = session.get()["pid"]
            if number == 0:
                assert session.delete()["deleted"] and not psutil.pid_exists(pid)
                return
            assert session.step()["current_location"]["line"] == line_of(path, "work") + 1
            assert session.evaluate("result")["result"] == str(number * number)
            assert session.resume()["exit_code"] == 0
            assert session.output() == f"{number * number}\n"
            session.delete()

    with ThreadPoolExecutor(PLACES) as pool:
        list(pool.map(finish, range(PLACES)))
    with Api(ten.base_url) as api:
        assert api.get("/sessions")["total"] == 0
