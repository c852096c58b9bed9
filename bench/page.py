"""`make bench ARGS=page`: what a person at the page waits for, in a real browser on a real relay; needs chromium."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from browsers import chromium, expect_current_line, panel  # noqa: E402
from playwright.sync_api import Browser, Page, expect  # noqa: E402
from waiting import wait_until  # noqa: E402

from bench.figures import Target, at_most, markdown_table  # noqa: E402
from bench.relay import PATIENCE, Client, RelayProcess  # noqa: E402
from bench.table import percentile  # noqa: E402

OPENINGS, STEPS, SCROLLS = 15, 60, 120
QUICK_COUNT = 3
OUTPUT_LINES, FILE_LINES = 100_000, 10_000
PAINT_MS, STEP_MS, STUTTER_MS = 300, 50, 100
"""what the page promises; a task of the page that takes longer than the last is seen as a stutter"""
WIDTH, HEIGHT = 1600, 1000

STEPPED = "total = 0\nfor number in range(1_000_000):\n    total += number\n    last = number\n"
PRINTING = f"for number in range({OUTPUT_LINES}):\n    print('line', number)\ninput()\n"

WATCHING = """
window.bench = { shown: [], tasks: [], first: null, pressed: null, line: null };
new PerformanceObserver((list) => list.getEntries().forEach((entry) => bench.tasks.push(entry.duration)))
  .observe({ type: "longtask" });
addEventListener("keydown", () => (bench.pressed = performance.now()), true);
new MutationObserver(() => {
  const line = document.querySelector("[aria-current=location]")?.id;
  if (!line || line === bench.line) return;
  bench.line = line;
  requestAnimationFrame(() => setTimeout(() => {
    bench.first ??= performance.now();
    if (bench.pressed !== null) bench.shown.push(performance.now() - bench.pressed);
    bench.pressed = null;
  }));
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-current"] });
"""
"""Notes in the page when the current line was first painted, how long after a key it was painted elsewhere, and which
tasks took over 50 ms."""


@dataclass
class PageFigures:
    """Milliseconds, by what was waited for."""

    paint: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    tasks: dict[str, float] = field(default_factory=dict)
    """the longest task of the page while something long was shown"""


def run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        relay = RelayProcess(Path(folder))
        try:
            relay.wait()
            with chromium() as browser:
                found = PageBench(relay, browser, Path(folder), options.quick).measure()
        finally:
            relay.stop()
    met = targets(found)
    print(markdown(found, met))
    return 1 if options.strict and not all(target.passed for target in met) else 0


class PageBench:
    def __init__(self, relay: RelayProcess, browser: Browser, folder: Path, is_quick: bool) -> None:
        self._root = f"http://127.0.0.1:{relay.port}"
        self._client = Client(relay.port)
        self._browser = browser
        self._folder = folder
        self._is_quick = is_quick
        self._found = PageFigures()

    def measure(self) -> PageFigures:
        session = self._start("stepped.py", STEPPED, ["stepped.py:3"])
        self._measure_openings(session)
        page = self._open(session)
        expect_current_line(page, 3)
        self._client.call("DELETE", f"/sessions/{session}/breakpoints")
        self._measure_steps(page)
        self._measure_file(page)
        page.context.close()
        self._measure_output(self._start("printing.py", "input()\n" + PRINTING, []))
        self._client.close()
        return self._found

    def _count(self, wanted: int) -> int:
        return QUICK_COUNT if self._is_quick else wanted

    def _start(self, name: str, text: str, breakpoints: list[str]) -> str:
        """Start a program, and return the id of its session."""
        (self._folder / name).write_text(text)
        body: dict[str, Any] = {"script": name, "breakpoints": breakpoints, "cwd": str(self._folder), "wait": PATIENCE}
        body |= {"project_root": str(self._folder), "python_path": sys.executable}
        session: str = self._client.call("POST", "/run", body)["session_id"]
        return session

    def _open(self, session: str) -> Page:
        """Open the session as somebody who was never there: nothing is in the browser's cache."""
        page = self._browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
        page.add_init_script(WATCHING)
        page.goto(f"{self._root}/#/sessions/{session}")
        return page

    def _measure_openings(self, session: str) -> None:
        for _ in range(self._count(OPENINGS)):
            page = self._open(session)
            wait_until(lambda page=page: page.evaluate("bench.first !== null"))
            self._found.paint.append(page.evaluate("bench.first"))
            page.context.close()

    def _measure_steps(self, page: Page) -> None:
        for number in range(1, self._count(STEPS) + 1):
            page.keyboard.press("F10")
            wait_until(lambda number=number: page.evaluate("bench.shown.length") == number)
        self._found.step = page.evaluate("bench.shown")

    def _measure_file(self, page: Page) -> None:
        rows = [f"value_{number} = {{'number': {number}, 'text': 'a line'}}\n" for number in range(1, FILE_LINES + 1)]
        (self._folder / "long.py").write_text("".join(rows))
        page.keyboard.press("Control+p")
        page.get_by_role("combobox", name="Name of a file").fill("long.py")
        expect(page.get_by_role("listbox", name="Files").get_by_role("option").first).to_contain_text("long.py")
        page.evaluate("bench.tasks = []")  # finding things by their role is a task of ours
        page.keyboard.press("Enter")
        expect(page.locator("#line-1")).to_contain_text("value_1 =")
        self._scroll(page, ".source-view")
        expect(page.locator(f"#line-{FILE_LINES}")).to_contain_text(f"value_{FILE_LINES} =")
        self._note_tasks(page, f"a file of {FILE_LINES:,} lines, opened and scrolled")

    def _measure_output(self, session: str) -> None:
        page = self._open(session)
        output = panel(page, "Output")
        page.evaluate("bench.tasks = []")
        self._client.call("POST", f"/sessions/{session}/stdin", {"input": "\n"})
        expect(output.get_by_role("log")).to_contain_text(f"line {OUTPUT_LINES - 1}")
        self._note_tasks(page, f"{OUTPUT_LINES:,} lines of output, as they come")
        output.get_by_role("log").focus()
        page.keyboard.press("Home")
        expect(output.get_by_role("log")).to_contain_text("line 3")
        self._scroll(page, "[role=log]")
        expect(output.get_by_role("log")).to_contain_text(f"line {OUTPUT_LINES - 1}")
        self._note_tasks(page, f"{OUTPUT_LINES:,} lines of output, scrolled")
        page.context.close()

    def _scroll(self, page: Page, what: str) -> None:
        """Scroll from the beginning to the end, a part in each frame."""
        page.evaluate(
            """async ([what, count]) => {
              const list = document.querySelector(what);
              for (let number = 1; number <= count; number += 1) {
                list.scrollTop = (list.scrollHeight - list.clientHeight) * (number / count);
                await new Promise(requestAnimationFrame);
              }
            }""",
            [what, self._count(SCROLLS)],
        )

    def _note_tasks(self, page: Page, what: str) -> None:
        self._found.tasks[what] = page.evaluate("Math.max(0, ...bench.tasks.splice(0))")


def targets(found: PageFigures) -> list[Target]:
    return [
        at_most(PAINT_MS, " ms")("first useful paint of a session: median", percentile(found.paint, 50)),
        at_most(STEP_MS, " ms")("key to the step's new line painted: median", percentile(found.step, 50)),
        *(at_most(STUTTER_MS, " ms")(f"longest task: {what}", longest) for what, longest in found.tasks.items()),
    ]


def markdown(found: PageFigures, met: list[Target]) -> str:
    paint, step = (f"{percentile(taken, 95):.0f} ms" for taken in (found.paint, found.step))
    rows = [[each.what, f"{each.measured:g} ms", each.wanted, "met" if each.passed else "missed"] for each in met]
    table = markdown_table(["page", "measured", "target", ""], rows)
    more = f"95 of 100 openings within {paint}, steps within {step}. A longest task of 0: none took 50 ms."
    return f"## The page\n\n{table}\n\n{more}"
