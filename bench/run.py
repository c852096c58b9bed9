"""`make bench`: the relay against stock `debugpy.adapter` and against raw direct DAP, in one run on one program."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import table
from bench.ez import measure as measure_ez
from bench.measure import QUICK, Bench, Plan
from bench.native import measure as measure_native
from bench.relay import RelayProcess


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything below is ended
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
        finally:
            relay.stop()
    rows = table.summarize(bench.samples)
    native_rows = {debugger: table.summarized(found) for debugger, found in native.items()}
    met = [*table.targets(rows, memory, many), *table.native_targets(native_rows), *table.ez_targets(ez)]
    text = table.markdown(rows, native_rows, ez, memory, many, met)
    print(text)
    if options.output is not None:
        options.output.joinpath("results.md").write_text(f"# Benchmark\n\n{text}\n", encoding="utf-8")
        found = json.dumps(table.to_dict(rows, native_rows, ez, memory, many, met), indent=2)
        options.output.joinpath("results.json").write_text(found + "\n", encoding="utf-8")
    return 1 if options.strict and not all(target.passed for target in met) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few samples: shows that it works, not how fast")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--output", type=Path, help="folder for results.md and .json (default: bench, unless quick)")
    options = parser.parse_args()
    if options.output is None and not options.quick:
        options.output = Path(__file__).parent
    return options


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
