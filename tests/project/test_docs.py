"""The documentation: its first session runs as printed, its links lead somewhere, the README leads to every page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest
from places import ROOT
from relays import Relay

from opencode_debugger.cli.command_line import find_command, read_arguments
from opencode_debugger.operations.event_kinds import EventKind

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
SECTIONS = ("A first session", "A failing test", "How did it come about?", "A crash in C")
"""What a new user pastes, in this order."""


def section(title: str) -> str:
    text = README.read_text(encoding="utf-8")
    return text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def pasted(text: str, relay: Relay, folder: Path) -> str:
    """What a page's commands print, which is what it says that they do, in that order."""
    script = "".join(blocks(text, "bash")).replace("127.0.0.1:5679", f"127.0.0.1:{relay.port}")
    assert f"127.0.0.1:{relay.port}" in script or "ocdb" in script
    # A debugged pytest is not to load the plugins of this run: on a busy machine they take longer than a wait.
    ours = {
        "NO_PROXY": "127.0.0.1",
        "OPENCODE_DEBUG_DATA_DIR": str(relay.data_dir),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        ["bash", "-c", "set -u\n" + script.replace('"$2"', '"${2-}"')],
        cwd=folder,
        env={**os.environ, **ours, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert '"success":false' not in done.stdout
    at = 0
    for promised in "".join(blocks(text, "text")).splitlines():
        found = done.stdout.find(promised, at)
        assert found >= 0, f"{promised}\nis not in, or not in this order:\n{done.stdout}"
        at = found
    return done.stdout


def test_what_the_readme_tells_to_paste_prints_what_it_says(relay: Relay, tmp_path: Path) -> None:
    pasted("".join(section(title) for title in SECTIONS), relay, tmp_path)


@pytest.mark.parametrize("name", ["agents.md", "curl.md"])
def test_what_a_page_tells_to_paste_prints_what_it_says(name: str, relay: Relay, tmp_path: Path) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8").partition("<!-- hunts -->")[0]
    pasted(text, relay, tmp_path)


def test_the_crash_of_a_native_program_is_walked_through_as_printed(relay: Relay, tmp_path: Path) -> None:
    pasted((ROOT / "docs" / "native.md").read_text(encoding="utf-8"), relay, tmp_path)


def test_the_readme_starts_with_the_two_commands() -> None:
    first = blocks(README.read_text(encoding="utf-8").split("\n## ", 1)[0], "sh")[0]
    assert re.findall(r"^make \w+", first, flags=re.MULTILINE) == ["make serve", "make test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


def test_the_readme_links_to_every_page() -> None:
    linked = {link.partition("#")[0] for link in links(README)}
    assert [page.name for page in PAGES[1:] if f"docs/{page.name}" not in linked] == []


def test_the_architecture_shows_every_folder_where_it_is() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    tree = page.split("src/opencode_debugger/\n", 1)[1].split("```", 1)[0]
    shown: list[str] = []
    parents: list[str] = []
    for indent, name in re.findall(r"^( +)(\w+)/ ", tree, flags=re.MULTILINE):
        parents[len(indent) // 2 - 1 :] = [name]
        shown.append("/".join(parents))
    source = ROOT / "src/opencode_debugger"
    there = {str(path.parent.relative_to(source)) for path in source.rglob("*.py")} - {"."}
    assert (sorted(there - set(shown)), sorted(set(shown) - there)) == ([], [])
    assert len(shown) == len(set(shown))
    alone = {path.name for path in source.glob("[!_]*.py")}
    assert alone - set(re.findall(r"\b\w+\.py\b", tree)) == set()


def test_the_architecture_leads_to_files_that_are_there() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = page.split("| To change |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", table, flags=re.MULTILINE)
    named = [path for row in rows for path in re.findall(r"`([\w/.]+)`", row)]
    assert len(rows) >= 12
    assert [path for path in named if not (ROOT / "src/opencode_debugger" / path).exists()] == []


def test_every_kind_of_event_is_described_with_its_fields() -> None:
    page = (ROOT / "docs/websocket.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"(?ms)^\| `kind` \| \| fields of the `payload`.*?\n\n", page)
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.+) \| (.+) \|$", table)
    described = [
        (kind.value, kind.meaning, tuple(f"`{name}{'?' * (name in kind.optional)}`" for name in kind.fields))
        for kind in EventKind
    ]
    assert [(kind, meaning, tuple(fields.split(", "))) for kind, meaning, fields in rows] == described


def test_every_make_target_is_described() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    page = (ROOT / "docs/command.md").read_text(encoding="utf-8")
    assert [target for target in phony.split() if f"`make {target}`" not in page] == []


def test_every_attack_that_the_page_on_security_lists_has_its_test() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", page)
    assert len(named) > 40
    for file, test in named:
        (found,) = (ROOT / "tests").rglob(file)
        assert f"\ndef {test}(" in found.read_text(encoding="utf-8"), f"{file} has no {test}"


SPELLED = re.compile(r"`(?:opencode-debugger|ocdb) ([^`\n]+)`|^ *(?:> )?ocdb ((?!:)[^\n`#]+)$", re.MULTILINE)
PLACEHOLDERS = {"PID": "1", "LINE": "1", "SHELL": "bash", "CLIENT": "cursor", "CMD": "run"}
SERVING = ("serve", "tunnel", "token", "debugserver", "stdio", "ez-conformance", "mcp", "version")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs/skills/debug/SKILL.md"], ids=lambda page: page.name)
def test_commands_on_every_page_are_understood(page: Path) -> None:
    """Those that are only named are read by the command's own parser; those to be pasted are run by other tests."""
    text = re.sub("^#.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    spelled = ["".join(found) for found in SPELLED.findall(text)]
    for text in spelled:
        ours = takewhile(lambda word: word not in ("|", ">", ">>"), shlex.split(text))
        words = [PLACEHOLDERS.get(word, word) for word in ours]
        if not words[0][0].isalpha() or words[0].isupper() or "…" in text:
            continue
        command, rest = find_command(words)
        if command.name not in SERVING and "--help" not in rest:
            read_arguments(command, rest)
