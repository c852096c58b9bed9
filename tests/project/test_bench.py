"""The benchmark runs, and says something about everything it promises to measure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from relays import RUN_ID, RUN_MARKER

RUN = ROOT / "bench" / "run.py"
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


OCDB_ROWS = {"run to the first stop", "next", "print", "stack"}
EZ_ROWS = ("start to first event", "start to first stop", "step with its new location", "step, then its variables")


def run_quickly(folder: Path, *part: str) -> tuple[str, Any]:
    """Return what the benchmark prints, and the figures that it leaves in the folder."""
    done = subprocess.run(
        [sys.executable, str(RUN), *part, "--quick", "--output", str(folder)],
        env={**os.environ, RUN_MARKER: RUN_ID, "XDG_CACHE_HOME": str(folder)},  # without peers
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "results.json").read_text(encoding="utf-8"))


@pytest.mark.wide
def test_a_quick_benchmark_fills_every_row_of_its_table(tmp_path: Path) -> None:
    printed, results = run_quickly(tmp_path, "calls")
    assert {debugger: set(rows) for debugger, rows in results["native"].items()} == {
        debugger: {"step with its new location", "step with the full stop report"} for debugger in ("gdb", "lldb")
    }
    assert {row: set(ways) for row, ways in results["ez"].items()} == {row: {"python", "native"} for row in EZ_ROWS}
    assert results["mcp"]["opencode-debugger"]["step"]["samples"] > 0
    assert set(results["ocdb"]) == OCDB_ROWS
    measured = {row: {way for way in ways if "/" not in way} for row, ways in results["rows"].items()}
    assert measured == ROWS
    assert all(figures["p50"] <= figures["p95"] for row, ways in ROWS.items() for figures in _of(results, row, ways))
    assert results["many_sessions"]["paused and answering"] == results["many_sessions"]["wanted"]
    assert len(results["targets"]) == 17
    assert printed.strip() in (tmp_path / "results.md").read_text(encoding="utf-8")
    assert all(f"| {row} |" in printed for row in ROWS)


@pytest.mark.wide
def test_a_quick_benchmark_of_speed_has_every_mode_and_leaves_other_figures(tmp_path: Path) -> None:
    kept = "# Benchmark\n\nfigures of calls"
    (tmp_path / "results.md").write_text(kept, encoding="utf-8")
    (tmp_path / "results.json").write_text('{"rows": 1}', encoding="utf-8")
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    part = ("--program", "loop", "server", "--python", python, "--size", "0.001")
    printed, results = run_quickly(tmp_path, "speed", *part)
    cells = results["speed"]["cells"]
    modes = ("launched", "elsewhere", "cold", "condition", "hits", "log", "function")
    assert [(cell["program"], cell["mode"]) for cell in cells if cell["ratio"] > 0] == [
        (program, mode) for program in ("loop", "server") for mode in modes]
    assert results["rows"] == 1
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == f"{kept}\n\n{printed}"


def _of(results: dict, row: str, ways: set[str]) -> list[dict[str, float]]:
    return [results["rows"][row][way] for way in ways]
