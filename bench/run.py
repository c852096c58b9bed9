"""`make bench`: the relay against stock `debugpy.adapter` and against raw direct DAP, in one run on one program; then
the speed of programs. `make bench ARGS=speed` and `ARGS=calls` run one of the two; `ARGS=recording` and `ARGS=page`
print what recorded programs cost, and what a person at the page waits for."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import commands, oriented_step, table
from bench.ez import measure as measure_ez
from bench.measure import QUICK, Bench, Plan
from bench.native import measure as measure_native
from bench.peers import install_peers
from bench.recording import run as recording
from bench.relay import RelayProcess
from bench.speed import run as speed
from bench.speed.table import HEADING


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything below is ended
    codes = []
    if options.part in (None, "calls"):
        codes.append(run_calls(options))
    if options.part in (None, "speed"):
        codes.append(speed.run(options))
    if options.part == "recording":
        codes.append(recording.run(options))
    if options.part == "page":
        from bench import page  # here, because it needs a browser

        codes.append(page.run(options))
    return max(codes)


def run_calls(options: argparse.Namespace) -> int:
    """Measure what a caller waits for."""
    if not options.quick:
        say("peers …")
        install_peers()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        relay = RelayProcess(Path(folder))
        try:
            relay.wait()
            bench = Bench(relay, QUICK if options.quick else Plan())
            say("starting and stopping …")
            bench.starts()
            say("operations at a stop …")
            memory = bench.operations()
            say("many sessions at once …")
            many = bench.many()
            say("native programs …")
            native = measure_native(relay.port, Path(folder), bench.plan)
            say("the EZ protocol …")
            ez = table.summarized(measure_ez(Path(folder), bench.plan))
            say("debuggers over MCP …")
            mcp = table.oriented(oriented_step.measure(relay, Path(folder), bench.plan))
            say("the command line …")
            ocdb = table.summarized(commands.measure(relay, Path(folder), bench.plan))
        finally:
            relay.stop()
    rows = table.summarize(bench.samples)
    native_rows = {debugger: table.summarized(found) for debugger, found in native.items()}
    met = [*table.targets(rows, memory, many), *table.native_targets(native_rows), *table.ez_targets(ez)]
    met += [*table.oriented_targets(mcp), *table.command_targets(ocdb)]
    text = table.markdown(rows, native_rows, ez, mcp, ocdb, memory, many, met)
    print(text)
    if options.output is not None:
        found = table.to_dict(rows, native_rows, ez, mcp, ocdb, memory, many, met)
        keep_calls(options.output, text, found)
    return 1 if options.strict and not all(target.passed for target in met) else 0


def keep_calls(folder: Path, text: str, found: dict[str, Any]) -> None:
    """Write the figures; those of the speed of programs stay as they are."""
    page, figures = folder / "results.md", folder / "results.json"
    _, heading, speed_text = page.read_text(encoding="utf-8").partition(HEADING) if page.exists() else ("", "", "")
    kept = f"\n{heading}{speed_text}" if heading else ""
    page.write_text(f"# Benchmark\n\n{text}\n{kept}", encoding="utf-8")
    before = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
    found |= {"speed": before["speed"]} if "speed" in before else {}
    figures.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("calls", "speed", "recording", "page"), help="only this part")
    parser.add_argument("--quick", action="store_true", help="few samples: shows that it works, not how fast")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--output", type=Path, help="folder for results.md and .json (default: bench, for all of it)")
    speed.add_arguments(parser.add_argument_group("speed", "what is run of the speed of programs"))
    options = parser.parse_args()
    if options.output is None and speed.is_complete(options):
        options.output = Path(__file__).parent
    return options


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
