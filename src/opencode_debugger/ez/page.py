"""The tables of docs/ez-protocol.md: `python -m opencode_debugger.ez.page docs/ez-protocol.md` writes them anew."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from .protocol import ANY, CAPABILITIES, COMMANDS, EVENTS, MEANS, RECORDS, Command, Field, State

BEGIN = "<!-- from here on made by opencode_debugger.ez.page -->"
END = "<!-- to here -->"
MARKS = {True: "extension", False: ""}


def rewritten_page(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{message_tables()}\n\n{END}{after}"


def message_tables() -> str:
    params = (row for each in COMMANDS.values() for row in _field_rows(each.name, each.params, each.extension))
    events = ([f"`{each.name}`", each.means, MARKS[each.extension]] for each in EVENTS.values())
    data = (row for each in EVENTS.values() for row in _field_rows(each.name, each.data, each.extension))
    records = (row[:4] for name, fields in RECORDS.items() for row in _field_rows(name, fields, False))
    tables = (
        ("States", ["State", "Meaning"], ([f"`{state}`", MEANS[state]] for state in State)),
        ("Commands", ["Command", "Does", "Answered by", "When", ""], map(_command_row, COMMANDS.values())),
        ("Parameters", ["Command", "Parameter", "Type", "Meaning", ""], params),
        ("Events", ["Event", "Says", ""], events),
        ("Data", ["Event", "Field", "Type", "Meaning", ""], data),
        ("Records", ["Record", "Field", "Type", "Meaning"], records),
        ("Capabilities", ["Capability", "Stands for"], ([f"`{name}`", CAPABILITIES[name]] for name in CAPABILITIES)),
    )
    return "\n\n".join(f"### {title}\n\n{_markdown_table(header, rows)}" for title, header, rows in tables)


def _command_row(each: Command) -> list[str]:
    answers = " or ".join(f"`{name}`" for name in each.answers)
    states = "always" if each.states == ANY else ", ".join(state for state in State if state in each.states)
    return [f"`{each.name}`", each.means, answers, states, MARKS[each.extension]]


def _field_rows(owner: str, fields: Iterable[Field], is_extension: bool) -> Iterable[list[str]]:
    for field in fields:
        name = f"`{field.name}`" + ("" if field.required else "?")
        means = field.means
        if field.values:
            means += ": " + ", ".join(f"`{value}`" for value in field.values)
        if field.more_values:
            means += "; extensions: " + ", ".join(f"`{value}`" for value in field.more_values)
        yield [f"`{owner}`", name, field.type, means, MARKS[field.extension or is_extension]]


def _markdown_table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(rewritten_page(path.read_text(encoding="utf-8")), encoding="utf-8")
