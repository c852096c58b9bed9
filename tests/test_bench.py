"""The benchmark runs, and says something about everything it promises to measure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from relays import RUN_ID, RUN_MARKER

RUN = Path(__file__).parents[1] / "bench" / "run.py"
ROWS = {
    "session creation": {"stock", "relay"},
    "launch to first stop": {"stock", "direct", "relay"},
    "step with its new location": {"stock", "direct", "relay"},
    "step with the full stop report": {"stock", "direct", "relay"},
    "stop report again": {"stock", "direct", "relay"},
    "stack": {"stock", "direct", "relay"},
    "variables of a known scope": {"stock", "direct", "relay"},
    "locals of the top frame": {"stock", "direct", "relay"},
    "evaluate": {"stock", "direct", "relay"},
    "set breakpoint": {"stock", "direct", "relay"},
    "continue to the next hit": {"stock", "direct", "relay"},
    "status": {"relay"},
}


EZ_ROWS = ("start to first event", "start to first stop", "step with its new location", "step, then its variables")


def test_a_quick_benchmark_fills_every_row_of_its_table(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), "--quick", "--output", str(tmp_path)],
        env={**os.environ, RUN_MARKER: RUN_ID},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {debugger: set(rows) for debugger, rows in results["native"].items()} == {
        debugger: {"step with its new location", "step with the full stop report"} for debugger in ("gdb", "lldb")
    }
    assert {row: set(ways) for row, ways in results["ez"].items()} == {row: {"python", "native"} for row in EZ_ROWS}
    measured = {row: {way for way in ways if "/" not in way} for row, ways in results["rows"].items()}
    assert measured == ROWS
    assert all(figures["p50"] <= figures["p95"] for row, ways in ROWS.items() for figures in _of(results, row, ways))
    assert results["many_sessions"]["paused and answering"] == results["many_sessions"]["wanted"]
    assert len(results["targets"]) == 15
    assert done.stdout.strip() in (tmp_path / "results.md").read_text(encoding="utf-8")
    assert all(f"| {row} |" in done.stdout for row in ROWS)


def _of(results: dict, row: str, ways: set[str]) -> list[dict[str, float]]:
    return [results["rows"][row][way] for way in ways]
