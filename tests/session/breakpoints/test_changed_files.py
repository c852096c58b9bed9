"""A file that changes after the program loaded it: breakpoints stay where they were, and the difference is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from native import build_copy
from relays import Api, Session, line_of, pythons

Write = Callable[..., Path]

CHANGED = "The file has changed since the program loaded it: lines are those of the loaded version"


def listed(session: Session) -> list[dict[str, Any]]:
    return session.get("/breakpoints")["breakpoints"]  # type: ignore[no-any-return]


@pytest.fixture
def module(program: Write) -> Path:
    return program("def work(n):\n    x = n\n    return x  # @work\n", "module.py")


@pytest.fixture
def main(program: Write, module: Path) -> Path:
    return program("import time\nimport module\n\nfor n in range(9):\n    module.work(n)  # @call\n")


@pytest.mark.parametrize("version", list(pythons("3.8", "3.12")))
def test_a_script_that_changes_its_own_source_stops_at_its_original_lines(
    api: Api, program: Write, version: str
) -> None:
    path = program(
        """
        import pathlib

        own = pathlib.Path(__file__)
        own.write_text("# another line\\n" + own.read_text())
        before = 1
        after = 2  # @here
        print(before + after)
        """
    )
    line = line_of(path, "here")
    with api.session(python_path=str(pythons(version)[version])) as session:
        session.break_at(path, "here")
        assert "source_changed" not in listed(session)[0]
        stop = session.launch(path)
        assert (stop["status"], stop["current_location"]["line"]) == ("paused", line)
        assert session.locals()["before"] == "1" and "after" not in session.locals()
        assert stop["note"].startswith(CHANGED)
        (bp,) = listed(session)
        assert (bp["line"], bp["verified"], bp["source_changed"], bp["message"]) == (line, True, True, CHANGED)
        told = [event["body"] for event in session.events("breakpoint")][-1]
        assert (told["reason"], told["breakpoint"]["source_changed"]) == ("changed", True)
        assert session.resume()["exit_code"] == 0
        assert session.output() == "3\n"


def test_only_files_that_changed_are_told(session: Session, main: Path, module: Path) -> None:
    session.break_at(main, "call")
    session.break_at(module, "work")
    session.post("/breakpoints", {"function": "work"})
    assert "note" not in session.launch(main)
    assert [bp.get("source_changed") for bp in listed(session)] == [None, None, None]
    module.write_text("\n" + module.read_text())
    assert [bp.get("source_changed") for bp in listed(session)] == [None, True, True]
    assert session.resume()["note"].startswith(CHANGED)
    changed = [event["body"]["breakpoint"]["id"] for event in session.events("breakpoint")]
    assert changed.count("bp_2") == 2


def test_a_breakpoint_that_is_set_after_the_change_says_so(session: Session, main: Path, module: Path) -> None:
    session.break_at(main, "call")
    session.launch(main)
    text = module.read_text()
    module.write_text("\n\n" + text)
    (bp,) = session.break_at(module, 4)
    assert (bp["verified"], bp["source_changed"]) == (True, True)
    module.unlink()
    assert listed(session)[1]["source_changed"]


def test_those_that_are_set_stay_when_another_is_set_after_the_change(
    session: Session, main: Path, module: Path
) -> None:
    session.break_at(module, "work")
    session.launch(main)
    module.write_text("# one\n# two\n# three\n" + module.read_text())
    session.break_at(module, "work")
    assert [(bp["line"], bp["verified"]) for bp in listed(session)] == [(3, True), (6, True)]
    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], session.locals()["n"]) == (["bp_1"], "1")


def test_saving_a_file_as_it_was_is_no_change(session: Session, main: Path, module: Path) -> None:
    session.break_at(main, "call")
    session.break_at(module, "work")
    session.launch(main)
    text = module.read_text()
    module.write_text(text)
    os.utime(module)
    assert [bp.get("source_changed") for bp in listed(session)] == [None, None]
    module.write_text(text + "\n")
    assert [bp.get("source_changed") for bp in listed(session)] == [None, True]
    module.write_text(text)
    assert [bp.get("source_changed") for bp in listed(session)] == [None, None]


def test_a_change_before_the_import_is_none(session: Session, main: Path, module: Path) -> None:
    session.break_at(main, 2)
    session.break_at(module, "work")
    session.launch(main)
    module.write_text("import time\n" + module.read_text().replace("# @work", ""))
    assert [bp.get("source_changed") for bp in listed(session)] == [None, None]
    stop = session.resume()
    assert (stop["current_location"]["path"], stop.get("note")) == (str(module), None)
    assert [bp.get("source_changed") for bp in listed(session)] == [None, None]


def test_stepping_into_an_import_does_not_lead_into_the_debugger(session: Session, main: Path, module: Path) -> None:
    session.break_at(main, 2)
    session.launch(main)
    stop = session.step("into")
    while stop["current_location"]["path"] not in (str(main), str(module)):
        assert "_ocdb" not in stop["current_location"]["path"] and "inside" not in stop["current_location"]["path"]
        stop = session.step("out")


def is_outdated(session: Session, path: Path) -> bool:
    """Whether the source of a file says that the program runs another text."""
    answer: dict[str, Any] = session.get(f"/source?{urlencode({'path': path})}")
    return answer.get("source_changed", False)


def test_the_source_of_a_file_says_that_the_program_runs_another_version(
    session: Session, main: Path, module: Path, program: Write
) -> None:
    notes = program("to be done\n", "notes.txt")
    session.patch("", {"project_root": str(main.parent)})
    session.break_at(main, "call")
    session.launch(main)
    text = module.read_text()
    assert not is_outdated(session, module)
    for path in (main, module, notes):
        path.write_text(path.read_text() + "\n# the end")
    assert [is_outdated(session, path) for path in (main, module, notes)] == [True, True, False]
    assert session.get("/source")["source_changed"] is True
    as_text = session.api.http.get(f"/sessions/{session.id}/source", headers={"Accept": "text/plain"}).text
    assert as_text.partition("\n")[0].endswith(", changed since the program loaded it")
    module.write_text(text)
    assert not is_outdated(session, module)
    session.post("/restart", {"wait": 30})
    assert not is_outdated(session, main)
    main.write_text(main.read_text() + "\n# after the end")
    session.post("/terminate", {})
    assert not is_outdated(session, main)


def test_a_file_that_the_program_loads_after_the_change_is_not_outdated(
    session: Session, main: Path, module: Path
) -> None:
    session.patch("", {"project_root": str(main.parent)})
    session.break_at(main, 2)
    session.launch(main)
    module.write_text(module.read_text() + "\n")
    assert not is_outdated(session, module)
    session.step()
    assert not is_outdated(session, module)


def test_a_native_program_runs_what_its_source_was_when_it_started(
    session: Session, tmp_path: Path
) -> None:
    account = build_copy("account", tmp_path)
    notes = tmp_path / "notes.txt"
    notes.write_text("to be done")
    session.patch("", {"project_root": str(tmp_path)})
    session.break_at(account.source, account.line("pay"))
    session.launch(program=str(account.program))
    text = account.source.read_text()
    assert not is_outdated(session, account.source)
    for path in (account.source, notes):
        path.write_text("// new\n" + path.read_text())
    assert [is_outdated(session, path) for path in (account.source, notes)] == [True, False]
    account.source.write_text(text)
    assert not is_outdated(session, account.source)
