"""The documentation: its first session runs as printed, its links lead somewhere, the README leads to every page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from relays import Relay

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
SECTIONS = ("A first session", "A failing test", "A crash in C")
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
    script = "set -eu\n" + "".join(blocks(text, "bash"))
    assert "127.0.0.1:5679" in script
    done = subprocess.run(
        ["bash", "-c", script.replace("127.0.0.1:5679", f"127.0.0.1:{relay.port}").replace('"$2"', '"${2-}"')],
        cwd=folder,
        env={**os.environ, "NO_PROXY": "127.0.0.1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
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
    printed = pasted("".join(section(title) for title in SECTIONS), relay, tmp_path)
    assert re.search(r"^session: sess_[0-9a-f]{8}$", printed, flags=re.MULTILINE)


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


def test_the_architecture_has_every_module_of_the_folders_that_it_takes_apart() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    sections = re.findall(r"^#+ [^\n]*\(`([\w/]+)/`\)\n(.*?)(?=^#|\Z)", page, flags=re.MULTILINE | re.DOTALL)
    rows = {folder: "".join(re.findall(r"^\| (`.*?) \|", text, flags=re.MULTILINE)) for folder, text in sections}
    assert {"relay", "core", "adapters/debugpy", "adapters/debugpy/inside"} <= set(rows)
    map = page.split("\n  adapters/ ", 1)[1].split("\n  core/ ", 1)[0]
    rows["adapters"] = "".join(f"`{name}`" for name in re.findall(r"(\w+)\.py\b", map))
    for folder, text in [*sections, ("adapters", rows["adapters"])]:
        there = {path.stem for path in (ROOT / "src/opencode_debugger" / folder).glob("[!_]*.py")}
        assert there - set(re.findall(r"`(\w+)`", text)) == set(), f"{folder} has them, docs/architecture.md does not"
        assert set(re.findall(r"`(\w+)`", rows[folder])) - there == set(), f"the page has them, {folder} does not"


def test_every_make_target_is_described() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    page = (ROOT / "docs/command.md").read_text(encoding="utf-8")
    assert [target for target in phony.split() if f"`make {target}`" not in page] == []


def test_every_attack_that_the_page_on_security_lists_has_its_test() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", page)
    assert len(named) > 40
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), f"{file} has no {test}"
