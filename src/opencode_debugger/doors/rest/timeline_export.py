"""A session's timeline as one HTML file that opens without a relay, and runs nothing but its own viewer."""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

PARTS = Path(__file__).parents[1] / "page" / "static" / "export"
"""the page around the data, its style and its viewer"""
DATA = "{{data}}"
ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Characters that could end the element which holds the data, or a line of script, as JSON spells them otherwise."""
POLICY = "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'"


class ExportPage(NamedTuple):
    """What stands before the data, and behind it."""

    head: str
    tail: str


@cache
def export_page() -> ExportPage:
    page, style, script = (_read(name) for name in ("export.html", "export.css", "viewer.js"))
    policy = POLICY.format(script=source_hash(script), style=source_hash(style))
    head, _, tail = page.partition(DATA)
    for name, text in (("policy", policy), ("style", style), ("script", script)):
        head, tail = (part.replace(f"{{{{{name}}}}}", text) for part in (head, tail))
    return ExportPage(head, tail)


def timeline_page(document: bytes) -> bytes:
    """Return the page of a timeline that is given as JSON."""
    data = document.decode()
    for character, spelled in ESCAPED.items():
        data = data.replace(character, spelled)
    head, tail = export_page()
    return f"{head}{data}{tail}".encode()


def file_name(document: bytes) -> str:
    """Return a name that any system takes."""
    session = msgspec.json.decode(document)["session"]
    return f"timeline-{session['session_id']}.html"


def source_hash(text: str) -> str:
    """Return how a policy names a text that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")
