"""Real bugs are found with the debugger through each of the agents' doors, in few calls and few words."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from bug_hunts import HUNTS, Hunt
from performers import CommandPerformer, Exchange, McpPerformer, Performer, RestPerformer, make_project, perform_hunt
from places import ROOT
from relays import Relay
from transcripts import comparable, renew, transcript

DOCUMENT = ROOT / "docs" / "agents.md"

Door = Callable[[Relay, Path], Performer]
Hunter = Callable[[Hunt, Door], list[Exchange]]
each_hunt = pytest.mark.parametrize("hunt", HUNTS, ids=lambda hunt: hunt.name)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the hunted programs."""
    folder = tmp_path_factory.mktemp("hunts")
    make_project(folder)
    return folder


@pytest.fixture(scope="module")
def performed(relay: Relay, project: Path) -> Iterator[Hunter]:
    """Performs a hunt through a door, once; behind each door there is one performer for all hunts."""
    with contextlib.ExitStack() as doors:
        enter = cache(lambda door: doors.enter_context(contextlib.closing(door(relay, project))))
        yield cache(lambda hunt, door: perform_hunt(hunt, enter(door)))


@each_hunt
def test_the_user_sees_what_is_wrong(hunt: Hunt, project: Path) -> None:
    command = [project / ".venv" / "bin" / "python", project / hunt.script]
    assert hunt.wrong in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@each_hunt
def test_the_cause_is_found_by_rest(hunt: Hunt, performed: Hunter) -> None:
    assert len(performed(hunt, RestPerformer)) > len(hunt.steps)


@each_hunt
@pytest.mark.parametrize("door", [McpPerformer, CommandPerformer], ids=["mcp", "ocdb"])
def test_the_cause_is_found_in_few_calls_and_half_the_characters(hunt: Hunt, door: Door, performed: Hunter) -> None:
    exchanges = performed(hunt, door)
    assert len(exchanges) <= hunt.most_calls
    assert characters(exchanges) <= hunt.most_characters
    assert characters(exchanges) <= characters(performed(hunt, RestPerformer)) / 2


def test_the_documentation_has_the_transcripts(project: Path, performed: Hunter) -> None:
    """With RECORD=1 they are written there."""
    told = [transcript(hunt, performed(hunt, McpPerformer), project) for hunt in HUNTS]
    if "RECORD" in os.environ:
        renew(DOCUMENT, told)
    document = comparable(DOCUMENT.read_text(encoding="utf-8"))
    assert [each for each in told if comparable(each) not in document] == []


def characters(exchanges: list[Exchange]) -> int:
    return sum(len(each.answer) for each in exchanges)
