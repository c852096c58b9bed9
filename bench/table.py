"""What was measured, as figures, targets and Markdown."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from bench import commands
from bench.ez import FIRST_EVENT
from bench.figures import Target, at_least, at_most, markdown_table
from bench.measure import CREATE, EVALUATE, LAUNCH, LOCALS, STACK, STATUS, STEP, VARIABLES, Samples
from bench.oriented_step import Contestant
from bench.peers import OURS

WAYS = ("stock", "direct", "relay")
EZ_WAYS = ("python", "native")
Rows = dict[str, dict[str, dict[str, float]]]


def summarize(samples: Samples) -> Rows:
    order = [CREATE, LAUNCH, *(row for row in samples if row not in (CREATE, LAUNCH))]
    return summarized({row: samples[row] for row in order})


def summarized(samples: Mapping[str, Mapping[str, list[float]]]) -> Rows:
    return {row: {way: figures(taken) for way, taken in ways.items()} for row, ways in samples.items()}


def figures(taken: list[float]) -> dict[str, float]:
    return {"p50": round(percentile(taken, 50), 3), "p95": round(percentile(taken, 95), 3), "samples": len(taken)}


def percentile(taken: list[float], percent: int) -> float:
    return sorted(taken)[max(0, math.ceil(len(taken) * percent / 100) - 1)]


def ratio(rows: Rows, row: str, of: str, to: str) -> float | None:
    ways = rows[row]
    return ways[of]["p50"] / ways[to]["p50"] if of in ways and to in ways else None


def targets(rows: Rows, memory: dict[str, dict[str, float]], many: dict[str, float]) -> list[Target]:
    def quotient(row: str, of: str, to: str) -> float:
        value = ratio(rows, row, of, to)
        assert value is not None
        return value

    faster = [
        at_least(10, "×")(f"{row}: faster than stock", quotient(row, "stock", "relay"))
        for row in (STEP, EVALUATE, VARIABLES, LOCALS, STACK)
    ]
    return [
        at_most(1.5, "×")(f"{STEP}: relay / direct", quotient(STEP, "relay", "direct")),
        *faster,
        at_most(3, " ms")(f"{STATUS}: p50", rows[STATUS]["relay"]["p50"]),
        at_most(50, " ms")("POST /sessions: p50", rows[CREATE]["relay"]["p50"]),
        at_most(100, " ms")(f"{LAUNCH}: p50", rows[LAUNCH]["relay"]["p50"]),
        at_most(0.15, "×")(f"{LAUNCH}: relay / stock", quotient(LAUNCH, "relay", "stock")),
        at_most(30, " MB")("runner: resident", memory["runner"]["rss"]),
        at_least(many["wanted"], "")("sessions paused at once", many["paused and answering"]),
    ]


def native_targets(native: dict[str, Rows]) -> list[Target]:
    """What a session adds to the wire of a native debugger."""
    found = {debugger: ratio(rows, STEP, "session", "raw") for debugger, rows in native.items()}
    return [at_most(1.5, "×")(f"{STEP}: session / raw {name}", value or 0) for name, value in found.items()]


def ez_targets(ez: Rows) -> list[Target]:
    return [
        at_most(500, " ms")(f"EZ protocol: {FIRST_EVENT}: p50", ez[FIRST_EVENT]["python"]["p50"]),
        at_most(3, " ms")(f"EZ protocol: {STEP}: p50", ez[STEP]["python"]["p50"]),
    ]


def command_targets(ocdb: Rows) -> list[Target]:
    slowest = max(ocdb[row][commands.WAY]["p50"] for row in commands.COMMANDS)
    return [at_most(150, " ms")("ocdb: slowest of the warm commands: p50", slowest)]


def oriented(contestants: Mapping[str, Contestant]) -> dict[str, dict[str, Any]]:
    """Figures of each debugger over MCP; one that took no step has only its failure."""
    return {name: _oriented_figures(contestant) for name, contestant in contestants.items()}


def _oriented_figures(contestant: Contestant) -> dict[str, Any]:
    if not contestant.steps:
        return {"failures": len(contestant.failures), "failure": contestant.failures[-1]}
    return {
        "step": figures(contestant.steps),
        "calls": percentile(contestant.calls, 50),
        "bytes": percentile(contestant.answer_bytes, 50),
        "startup": percentile(contestant.startup, 50),
        "failures": len(contestant.failures),
    }


def oriented_targets(found: dict[str, dict[str, Any]]) -> list[Target]:
    """Ours against the best of the peers that are here."""
    ours = found[OURS]
    peers = [each for name, each in found.items() if name != OURS and "step" in each]
    if not peers:
        return []
    times = min(each["step"]["p50"] for each in peers) / ours["step"]["p50"] if "step" in ours else 0
    size = ours["bytes"] / min(each["bytes"] for each in peers) if "step" in ours else math.inf
    return [
        at_least(20, "×")("oriented step over MCP: faster than the fastest peer", times),
        at_most(1, "×")("oriented step over MCP: bytes / fewest of a peer", size),
    ]


def machine() -> dict[str, Any]:
    return {
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "debugpy": version("debugpy"),
        "load average at the end": [round(load, 2) for load in os.getloadavg()],
    }


def to_dict(
    rows: Rows, native: dict[str, Rows], ez: Rows, mcp: Any, ocdb: Rows, memory: Any, many: Any, met: list[Target]
) -> dict[str, Any]:
    return {
        "machine": machine(),
        "unit": "ms",
        "rows": {
            row: {
                **ways,
                "relay / direct": ratio(rows, row, "relay", "direct"),
                "stock / relay": ratio(rows, row, "stock", "relay"),
            }
            for row, ways in rows.items()
        },
        "native": native,
        "ez": ez,
        "mcp": mcp,
        "ocdb": ocdb,
        "memory_mb": memory,
        "many_sessions": many,
        "targets": [asdict(target) for target in met],
    }


def markdown(
    rows: Rows,
    native: dict[str, Rows],
    ez: Rows,
    mcp: dict[str, dict[str, Any]],
    ocdb: Rows,
    memory: dict[str, dict[str, float]],
    many: dict[str, float],
    met: list[Target],
) -> str:
    facts = machine()
    about = f"{facts['cpus']} CPUs, {facts['system']}, Python {facts['python']}, debugpy {facts['debugpy']}"
    about += ", load average at the end " + " ".join(map(str, facts["load average at the end"]))
    return "\n\n".join(
        [
            f"Measured on {about}. Times in ms: p50 / p95.",
            markdown_table(
                ["", "stock debugpy.adapter", "direct DAP", "relay (REST)", "relay / direct", "stock / relay"],
                [time_row(rows, row) for row in rows],
            ),
            markdown_table(
                ["native programs", "raw DAP", "session alone", "relay (REST)", "session / raw", "relay / raw"],
                [native_row(debugger, row, ways) for debugger, rows in native.items() for row, ways in rows.items()],
            ),
            markdown_table(
                ["EZ protocol (stdio)", "Python program", "native program"],
                [[row, *times(ways, EZ_WAYS)] for row, ways in ez.items()],
            ),
            markdown_table(
                ["debuggers over MCP (stdio)", "oriented step", "calls for it", "bytes for it", "start of the server"],
                [oriented_row(name, found) for name, found in mcp.items()],
            ),
            markdown_table(
                ["command line, relay running", "wall time"],
                [[f"ocdb {row}", *times(ways, (commands.WAY,))] for row, ways in ocdb.items()],
            ),
            markdown_table(
                ["target", "wanted", "measured", ""],
                [[t.what, t.wanted, f"{t.measured:g}", "met" if t.passed else "**missed**"] for t in met],
            ),
            markdown_table(
                ["process of a paused session", "resident MB", "own MB"],
                [[name, f"{mb['rss']:g}", f"{mb['uss']:g}"] for name, mb in memory.items()],
            ),
            markdown_table(["many sessions at once", ""], [[name, f"{value:g}"] for name, value in many.items()]),
        ]
    )


def oriented_row(name: str, found: dict[str, Any]) -> list[str]:
    if "step" not in found:
        return [name, f"failed: {found['failure']}", "–", "–", "–"]
    failed = f" ({found['failures']} steps failed)" if found["failures"] else ""
    step = f"{found['step']['p50']:.2f} / {found['step']['p95']:.2f}"
    return [name + failed, step, f"{found['calls']:g}", f"{found['bytes']:g}", f"{found['startup']:.0f}"]


def native_row(debugger: str, row: str, ways: dict[str, dict[str, float]]) -> list[str]:
    ratios = [f"{ways[way]['p50'] / ways['raw']['p50']:.2f}×" for way in ("session", "relay")]
    return [f"{debugger}: {row}", *times(ways, ("raw", "session", "relay")), *ratios]


def times(ways: dict[str, dict[str, float]], wanted: tuple[str, ...]) -> list[str]:
    return [f"{ways[way]['p50']:.2f} / {ways[way]['p95']:.2f}" if way in ways else "–" for way in wanted]


def time_row(rows: Rows, row: str) -> list[str]:
    ways = rows[row]
    compared = (ratio(rows, row, "relay", "direct"), ratio(rows, row, "stock", "relay"))
    return [row, *times(ways, WAYS), *("–" if value is None else f"{value:.2f}×" for value in compared)]
