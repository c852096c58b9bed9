"""Runs CPython's own tests under the relay, with a breakpoint that never stops on every line of what they test.

`make cpython` runs all parts on every Python that is here, `make cpython ARGS="3.8 test_json test_re"` some of them.
What passes without a debugger must pass with it, and nothing may stop.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from relays import Api, Relay, Session, pythons

LONGEST = 900
"""Seconds that one part may take."""
MOST_AT_ONCE = 1000
"""Breakpoints that one request takes."""
OTHER_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ClassDef, ast.FunctionDef)
ANYWHERE = "id is None"
PARTS: dict[str, tuple[str, ...]] = {
    "test_grammar": (),
    "test_generators": (),
    "test_coroutines": (),
    "test_exceptions": (),
    "test_with": (),
    "test_decimal": ("_pydecimal.py",),
    "test_json": ("json",),
    "test_re": ("re.py", "sre_compile.py", "sre_parse.py", "re"),
    "test_asyncio.test_tasks": ("asyncio",),
    "test_asyncio.test_locks": ("asyncio",),
    "test_asyncio.test_queues": ("asyncio",),
}
"""Modules of the package `test`, with the files or folders of the library that they test."""
LEFT_OUT = {
    "test_recursion_in_except_handler": "leaves no room on the stack: a condition is a call, too",
}
PROGRAM = """
import json, sys, unittest
import test.support
test.support.use_resources = []

def is_kept(suite):
    suite._tests = [each for each in suite if is_kept(each)] if hasattr(suite, "_tests") else ()
    return getattr(suite, "_testMethodName", "") not in sys.argv[3:]

suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[2])
is_kept(suite)
done = unittest.TextTestRunner(verbosity=0).run(suite)
bad = sorted({test.id() for test, _ in done.failures + done.errors})
json.dump({"ran": done.testsRun, "bad": bad}, open(sys.argv[1], "w"))
"""


def tested_files(library: Path, part: str, names: tuple[str, ...]) -> Iterator[Path]:
    test = library / "test" / Path(*part.split("."))
    for path in (test, test.with_suffix(".py"), *(library / name for name in names)):
        if path.is_dir():
            yield from sorted(path.rglob("*.py"))
        elif path.exists():
            yield path


def never_true(path: Path) -> dict[int, str]:
    """Return for each line of a file a condition that is never true."""
    conditions: dict[int, str] = {}
    _add_conditions(conditions, ast.parse(path.read_bytes()), None)
    return conditions


def _add_conditions(conditions: dict[int, str], node: ast.AST, argument: str | None) -> None:
    """Add those of a part of the program, about an argument of its function where there is one at every moment."""
    if isinstance(node, ast.stmt):
        is_plain = not any(isinstance(each, OTHER_SCOPES) for each in ast.walk(node))
        condition = f"{argument} is breakpoint" if argument and is_plain else ANYWHERE
        is_shared = conditions.setdefault(node.lineno, condition) != condition
        conditions[node.lineno] = ANYWHERE if is_shared else condition
    if isinstance(node, ast.ClassDef):
        argument = None
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        argument = node.args.args[-1].arg if node.args.args else None
        if argument in set(_deleted_names(node)):
            argument = None
    for inner in ast.iter_child_nodes(node):
        _add_conditions(conditions, inner, argument)


def _deleted_names(node: ast.AST) -> Iterator[str | None]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Del):
            yield each.id
        elif isinstance(each, ast.ExceptHandler):
            yield each.name


def set_breakpoints(session: Session, path: Path) -> int:
    items = [
        {"source": {"path": str(path)}, "line": line, "condition": condition}
        for line, condition in never_true(path).items()
    ]
    batches = [items[at : at + MOST_AT_ONCE] for at in range(0, len(items), MOST_AT_ONCE)]
    rows = [row for batch in batches for row in session.post("/breakpoints", {"breakpoints": batch})["breakpoints"]]
    return sum(row["verified"] for row in rows)


def run_debugged(api: Api, python: Path, program: Path, result: Path, part: str, files: list[Path]) -> dict[str, Any]:
    with api.session(python_path=str(python), restore_breakpoints=False) as session:
        count = sum(set_breakpoints(session, path) for path in files)
        began = time.monotonic()
        args = [str(result), f"test.{part}", *LEFT_OUT]
        options = {"stop_on_exception": False, "cwd": str(result.parent), "wait": 0}
        session.launch(program, args=args, **options)
        stops: list[Any] = []
        while (status := session.get("/status"))["status"] != "terminated":
            if status["status"] == "paused":
                stops.append(status["location"])
                session.post("/continue")
            if time.monotonic() - began > LONGEST or len(stops) > 5:
                return {"ran": 0, "bad": [f"it does not end: {status}, stops at {stops}"], "breakpoints": count}
            time.sleep(0.2)
        found = json.loads(result.read_text()) if result.exists() else {"ran": 0, "bad": [session.output("stderr")]}
        return {**found, "breakpoints": count, "stops": stops, "slow": status.get("slow_code")}


def check_part(api: Api, version: str, python: Path, part: str) -> bool:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, result = folder / "program.py", folder / "result.json"
        program.write_text(PROGRAM)
        command = [str(python), "-c", "import os; print(os.path.dirname(os.__file__))"]
        library = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
        files = list(tested_files(library, part, PARTS[part]))
        began = time.monotonic()
        command = [str(python), str(program), str(result), f"test.{part}", *LEFT_OUT]
        subprocess.run(command, cwd=folder, capture_output=True, timeout=LONGEST)
        plain, between = json.loads(result.read_text()), time.monotonic()
        result.unlink()
        found = run_debugged(api, python, program, result, part, files)
        took = (time.monotonic() - between) / (between - began)
    bad = [each for each in found["bad"] if each not in plain["bad"]]
    is_same = found["ran"] == plain["ran"] and not bad and not found.get("stops")
    print(f"{version} {part}: {found['ran']} tests, {found['breakpoints']} breakpoints, {took:.1f}x", flush=True)
    if not is_same:
        print(f"  {plain['ran']} ran without a debugger; with it fail {bad}, stops: {found.get('stops')}", flush=True)
    for row in found.get("slow") or ():
        print(f"  slow: {row}", flush=True)
    return is_same


def main(words: list[str]) -> int:
    versions = [word for word in words if word[0].isdigit()]
    parts = [word for word in words if not word[0].isdigit()] or [*PARTS]
    with tempfile.TemporaryDirectory() as data:
        relay = Relay(Path(data)).start()
        try:
            with Api(relay.base_url) as api:
                kept = [
                    check_part(api, version, python, part)
                    for version, python in pythons(*versions, each=True).items()
                    for part in parts
                ]
        finally:
            relay.stop()
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
