"""`opencode-debugger ez-conformance`: the table of what conforms."""

import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import psutil

from ...ez.conformance import CONFORMS, DEVIATES, FAILING, SAMPLE, UNKNOWN, Conformance, Result
from ...files import find_executable
from .failure import fail

TERMINATED = 143


def conformance(argv: list[str], file: str | None, failing: str | None, patience: float, as_json: bool) -> int:
    command = find_executable(argv[0])
    if command is None:
        return fail(f"there is no command {argv[0]}")
    for given in filter(None, (file, failing)):
        if not os.path.isfile(given):
            return fail(f"there is no file {given}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that the debugger under test ends too
    with tempfile.TemporaryDirectory(prefix="ez-") as folder:
        if file is None:
            file, failing = written_sheet(folder, "sample.py", SAMPLE), written_sheet(folder, "failing.py", FAILING)
        work = Conformance([command, *argv[1:]], os.path.abspath(file), failing and os.path.abspath(failing), patience)
        try:
            results = work.run_checks()
        finally:  # also one that was being started when SIGTERM or ^C came
            children = psutil.Process().children(recursive=True)
            for child in children:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            psutil.wait_procs(children, timeout=2.0)
    if as_json:
        print(json.dumps({"results": [asdict(result) for result in results], "extensions": work.extensions}, indent=2))
    else:
        print(result_table(results))
        print(summary_line(results, work.extensions))
    return 1 if any(result.outcome == DEVIATES for result in results) else 0


def written_sheet(folder: str, name: str, text: str) -> str:
    path = Path(folder, name)
    path.write_text(text, encoding="utf-8")
    return str(path)


def result_table(results: Iterable[Result]) -> str:
    rows = [(result.outcome, result.section, result.what, result.note) for result in results]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [[*map(str.ljust, row[:3], widths), row[3]] for row in rows]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def summary_line(results: list[Result], extensions: list[str] | None) -> str:
    found = [result.outcome for result in results]
    counts = [f"{outcome}: {found.count(outcome)}" for outcome in (CONFORMS, DEVIATES, UNKNOWN) if outcome in found]
    return f"\n{', '.join(counts)}; extensions: {', '.join(extensions) if extensions else 'none'}"
