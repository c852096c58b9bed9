"""The tables of docs/ez-protocol.md: `python -m opencode_debugger.ez.page docs/ez-protocol.md` writes them anew."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from .protocol import ANY, CAPABILITIES, COMMANDS, EVENTS, MEANS, RECORDS, Command, State
from .shapes import Field

BEGIN = "<!-- from here on made by opencode_debugger.ez.page -->"
END = "<!-- to here -->"


def rewritten(page: str) -> str:
    """The page with its tables as they are now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def tables() -> str:
    return "\n\n".join(
        [
            "### States",
            table(["State", "Meaning"], ([f"`{state}`", MEANS[state]] for state in State)),
            "### Commands",
            table(["Command", "Does", "Answered by", "When", ""], map(_command, COMMANDS.values())),
            "### Parameters",
            table(
                ["Command", "Parameter", "Type", "Meaning", ""],
                (row for each in COMMANDS.values() for row in _fields(each.name, each.params, each.extension)),
            ),
            "### Events",
            table(
                ["Event", "Says", ""],
                ([f"`{each.name}`", each.means, _mark(each.extension)] for each in EVENTS.values()),
            ),
            "### Data",
            table(
                ["Event", "Field", "Type", "Meaning", ""],
                (row for each in EVENTS.values() for row in _fields(each.name, each.data, each.extension)),
            ),
            "### Records",
            table(
                ["Record", "Field", "Type", "Meaning"],
                (row[:4] for name, fields in RECORDS.items() for row in _fields(name, fields, False)),
            ),
            "### Capabilities",
            table(["Capability", "Stands for"], ([f"`{name}`", means] for name, means in CAPABILITIES.items())),
        ]
    )


def _command(each: Command) -> list[str]:
    answers = " or ".join(f"`{name}`" for name in each.answers)
    states = "always" if each.states == ANY else ", ".join(state for state in State if state in each.states)
    return [f"`{each.name}`", each.means, answers, states, _mark(each.extension)]


def _fields(owner: str, fields: Iterable[Field], is_extension: bool) -> Iterable[list[str]]:
    for field in fields:
        name = f"`{field.name}`" + ("" if field.required else "?")
        means = field.means
        if field.values:
            means += ": " + ", ".join(f"`{value}`" for value in field.values)
        if field.more_values:
            means += "; extensions: " + ", ".join(f"`{value}`" for value in field.more_values)
        yield [f"`{owner}`", name, field.type, means, _mark(field.extension or is_extension)]


def _mark(is_extension: bool) -> str:
    return "extension" if is_extension else ""


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def main() -> None:
    path = Path(sys.argv[1])
    path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
