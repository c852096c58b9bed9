"""Pieces of output become lines."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
import uvloop

from opencode_debugger.session.log.event_log import UNFINISHED, EventLog, OutputLines


async def lines_read_by_a_loop_that_is_held_up() -> list[str]:
    """The rest of a line comes at once, but the loop does not get to it for longer than a line waits."""
    log = EventLog(100, 1_000_000)
    output = OutputLines(log)
    reading, writing = os.pipe()

    def read() -> None:
        output.add_bytes("stdout", os.read(reading, 7))
        time.sleep(2 * UNFINISHED)

    os.write(writing, b"the beginning\n" * 5)
    loop = asyncio.get_running_loop()
    loop.add_reader(reading, read)
    async with asyncio.timeout(30):
        while sum(len(entry.body[1]) for entry in log.output_since(0, 100)[1]) < 70:
            await log.wait_for_news(30)
    loop.remove_reader(reading)
    os.close(reading)
    os.close(writing)
    return [entry.body[1] for entry in log.output_since(0, 100)[1]]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_line_that_was_written_in_time_is_not_cut_because_we_were_busy(run):
    assert run(lines_read_by_a_loop_that_is_held_up()) == ["the beginning\n"] * 5
