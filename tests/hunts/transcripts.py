"""Hunts as transcripts in Markdown, and the part of a document that has them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from bug_hunts import Hunt
from performers import PROGRAMS, Exchange, command_words

BEGIN, END = "<!-- hunts -->", "<!-- end of hunts -->"
CHANGING = (
    (re.compile(r"sess_[0-9a-f]{8}"), "sess_1a2b3c4d"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x7f0123456789"),
    (re.compile(r"python3\.\d+"), "python3.11"),
)
"""What differs from run to run, and what stands for it."""
STEPS = re.compile(r"after \d+ steps")
"""Differs from Python to Python."""


def transcript(hunt: Hunt, exchanges: list[Exchange], project: Path) -> str:
    """Tell a hunt through MCP in Markdown, and the commands for the same by `ocdb`."""
    talk = "\n".join(f"> {each.asked}\n{each.answer}" for each in exchanges).replace(str(project), "/home/dev/project")
    for changing, constant in CHANGING:
        talk = changing.sub(constant, talk)
    files = sorted((PROGRAMS / hunt.name).glob("*.py"))
    return "\n\n".join([
        f"### `{hunt.script}`: a bug in {hunt.where}",
        *(fenced("python", f"# {path.name}\n{path.read_text(encoding='utf-8')}") for path in files),
        f"It prints `{hunt.wrong}`, which is wrong. The hunt:",
        fenced("text", talk),
        "The same with a shell:",
        fenced("text", "\n".join(shlex.join(["ocdb", *command_words(step)]) for step in hunt.steps)),
        f"The cause: {hunt.cause}.",
    ])


def comparable(text: str) -> str:
    return STEPS.sub("after some steps", text)


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def renew(document: Path, told: list[str]) -> None:
    """Replace what stands between the marks."""
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    document.write_text("\n\n".join([before + BEGIN, *told, END + after]), encoding="utf-8")
