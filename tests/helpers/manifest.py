"""The promises of manifest.toml, and docs/coverage.md, which is made of them by `make coverage`."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from places import ROOT

PAGE = ROOT / "docs" / "coverage.md"
RESULTS = ROOT / "bench" / "results.json"

TITLES = {
    "acceptance": "Acceptance criteria",
    "flows": "Flows",
    "edge_cases": "Edge cases",
    "kpis": "Figures",
    "events": "Events",
    "errors": "Error codes",
    "routes": "Routes",
    "tools": "MCP tools",
    "page": "The page",
}

INTRODUCTION = """\
# What is promised, and what proves it

Each promise has tests that debug real programs through the API. The page is made by `make coverage` from
`tests/manifest.toml` and from the last `make bench`; a test holds that it is complete and up to date.
"""


def promises() -> dict[str, dict[str, dict[str, Any]]]:
    """Sections of promises by name; a promise is a list of tests, or a table with words of its own."""
    loaded = tomllib.loads((ROOT / "tests" / "manifest.toml").read_text(encoding="utf-8"))
    return {
        section: {name: given if isinstance(given, dict) else {"by": given} for name, given in entries.items()}
        for section, entries in loaded.items()
    }


def measured(row: str) -> dict[str, float]:
    """What `make bench` measured of the relay, in ms."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return dict(results["rows"][row]["relay"])


def page() -> str:
    parts = [INTRODUCTION]
    for section, entries in promises().items():
        says = any("says" in entry for entry in entries.values())
        parts.append(f"## {TITLES[section]}\n")
        parts.append(_row(*(("", "promise", "proof") if says else ("", "proof"))))
        parts.append(_row(*(["---"] * (3 if says else 2))))
        for name, entry in entries.items():
            shown = name if says else f"`{name}`"
            parts.append(_row(shown, *([entry["says"]] if says else []), _proof(entry)))
        parts.append("")
    return "\n".join(parts)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _proof(entry: dict[str, Any]) -> str:
    if "bench" not in entry:
        return "<br>".join(f"`{test}`" for test in entry["by"])
    found = measured(entry["bench"])
    return f"{found['p50']:.1f} ms, 95 % below {found['p95']:.1f} ms (wanted: {entry['below_ms']} ms)"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
