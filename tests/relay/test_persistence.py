"""What is kept on disk: whole files only, for the user only, and never a reason to stop."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_debugger import files
from opencode_debugger.files import read_json, write_json
from opencode_debugger.persistence.breakpoint_store import BreakpointStore
from opencode_debugger.persistence.tombstones import KEPT_SECONDS, KEPT_SESSIONS, TombstoneStore

WRITER = """
import sys
from pathlib import Path
from opencode_debugger.files import write_json
for number in range(10**9):
    write_json(Path(sys.argv[1]), {"number": number, "filler": [number] * 2000})
    if number == 2:
        print("writing", flush=True)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def identity(data: Any) -> Any:
    return data


def line_breakpoint(path: str = "/p/a.py", line: int = 1, **more: Any) -> dict[str, Any]:
    blank = {
        "function": None,
        "condition": None,
        "hit_condition": None,
        "log_message": None,
        "enabled": True,
        "content": None,
    }
    return {"source": {"path": path}, "line": line, **blank, **more}


def function_breakpoint(name: str) -> dict[str, Any]:
    return {**line_breakpoint(), "source": None, "line": None, "function": name}


def places(store: BreakpointStore, root: Path) -> list[Any]:
    return [found["function"] or found["line"] for found in store.load(root)]


@pytest.fixture
def store(tmp_path: Path) -> BreakpointStore:
    return BreakpointStore(tmp_path / "data" / "breakpoints")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


class TestFiles:
    def test_a_missing_file_gives_the_default(self, tmp_path: Path) -> None:
        assert read_json(tmp_path / "none.json", {"x": 1}, identity) == {"x": 1}

    def test_files_and_folders_are_for_the_user_only(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            write_json(tmp_path / "a/b/c.json", 1)
        finally:
            os.umask(before)
        assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c.json")] == [0o700, 0o700, 0o600]

    def test_replacing_a_readable_file_makes_it_private(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_text("1")
        path.chmod(0o644)
        write_json(path, 2)
        assert (mode(path), path.read_text()) == (0o600, "2")

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"1 2", b"[" * 100_000, b"{}", b'{"n": "text"}'])
    def test_a_corrupt_file_is_set_aside(
        self, content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "a.json"
        path.write_bytes(content)
        assert read_json(path, 7, lambda data: int(data["n"])) == 7
        (aside,) = tmp_path.iterdir()
        assert aside.name.startswith("a.json.corrupt-")
        assert aside.read_bytes() == content
        assert aside.name in caplog.text

    def test_a_file_that_cannot_be_read_just_now_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def scarce(path: Path) -> bytes:
            raise OSError(errno.EMFILE, "Too many open files", str(path))

        store = BreakpointStore(tmp_path)
        assert store.change("/p", [{"function": "f"}], []) is None
        with monkeypatch.context() as exhausted:
            exhausted.setattr(files, "read_file", scarce)
            assert store.load("/p") == []
            assert "Too many open files" in str(store.change("/p", [{"function": "g"}], []))
        assert [item["function"] for item in store.load("/p")] == ["f"]

    def test_two_corrupt_files_are_both_kept(self, tmp_path: Path) -> None:
        for content in ("{", "["):
            (tmp_path / "a.json").write_text(content)
            read_json(tmp_path / "a.json", None, identity)
        assert sorted(file.read_text() for file in tmp_path.iterdir()) == ["[", "{"]

    def test_a_folder_in_the_place_of_the_file_is_set_aside(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.mkdir()
        assert read_json(path, None, identity) is None
        write_json(path, 1)
        assert read_json(path, None, identity) == 1

    def test_a_failed_write_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        write_json(path, 1)
        with pytest.raises(TypeError):
            write_json(path, object())
        assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
        assert read_json(path, None, identity) == 1

    def test_a_write_does_not_follow_a_link_left_at_the_temporary_name(self, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("untouched")
        (tmp_path / ".a.json.tmp").symlink_to(victim)
        write_json(tmp_path / "a.json", 1)
        assert victim.read_text() == "untouched"

    def test_a_writer_killed_at_any_moment_leaves_a_whole_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        for delay_ms in range(15):
            kill_a_writer(path, delay_ms / 1000)
            content = json.loads(path.read_bytes())
            assert content["filler"] == [content["number"]] * 2000
        write_json(path, 1)
        assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def kill_a_writer(path: Path, delay: float) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        try:
            assert writer.stdout.readline() == b"writing\n"
            with pytest.raises(subprocess.TimeoutExpired):
                writer.wait(delay)
        finally:
            writer.send_signal(signal.SIGKILL)


class TestBreakpoints:
    def test_an_unknown_project_has_none_and_gets_no_file(self, store: BreakpointStore, project: Path) -> None:
        assert store.load(project) == []
        assert not store.folder.exists()

    def test_what_was_set_is_there_for_the_next_relay(self, store: BreakpointStore, project: Path) -> None:
        definitions = [line_breakpoint(line=3, condition="x > 1", enabled=False), function_breakpoint("main")]
        store.change(project, definitions, [])
        assert BreakpointStore(store.folder).load(project) == definitions

    def test_a_definition_may_leave_out_what_is_not_set(self, store: BreakpointStore, project: Path) -> None:
        store.change(project, [{"source": {"path": "/p/a.py"}, "line": 1}], [])
        assert store.load(project) == [line_breakpoint()]

    def test_what_only_an_answer_has_is_not_kept(self, store: BreakpointStore, project: Path) -> None:
        store.change(project, [line_breakpoint(id="bp_1", verified=True, hit_count=3)], [])
        assert store.load(project) == [line_breakpoint()]

    def test_the_same_place_is_replaced_and_others_stay(self, store: BreakpointStore, project: Path) -> None:
        store.change(project, [line_breakpoint(line=1), line_breakpoint(line=2)], [])
        store.change(project, [line_breakpoint(line=1, condition="x")], [])
        assert store.load(project) == [line_breakpoint(line=1, condition="x"), line_breakpoint(line=2)]

    def test_the_same_line_of_another_file_is_another_place(self, store: BreakpointStore, project: Path) -> None:
        store.change(project, [line_breakpoint("/p/a.py"), line_breakpoint("/p/b.py")], [])
        store.change(project, [], [line_breakpoint("/p/a.py")])
        assert store.load(project) == [line_breakpoint("/p/b.py")]

    def test_a_removed_one_is_gone_and_an_unknown_one_is_ignored(self, store: BreakpointStore, project: Path) -> None:
        store.change(project, [line_breakpoint(line=1), function_breakpoint("main")], [])
        store.change(project, [], [function_breakpoint("main"), line_breakpoint(line=99)])
        assert places(store, project) == [1]

    def test_the_file_goes_with_the_last_breakpoint(self, store: BreakpointStore, project: Path) -> None:
        store.change(project, [line_breakpoint()], [])
        assert mode(store.path_of(project)) == 0o600
        store.change(project, [], [line_breakpoint()])
        assert list(store.folder.iterdir()) == []

    def test_projects_are_apart(self, store: BreakpointStore, project: Path, tmp_path: Path) -> None:
        store.change(project, [line_breakpoint()], [])
        assert store.load(tmp_path) == []

    def test_a_link_to_a_project_is_the_project(self, store: BreakpointStore, project: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(project)
        store.change(tmp_path / "link", [line_breakpoint(line=1)], [])
        store.change(str(project) + "/", [line_breakpoint(line=2)], [])
        assert places(store, tmp_path / "link") == [1, 2]
        assert json.loads(store.path_of(project).read_bytes())["project_root"] == str(project)

    def test_nothing_is_written_when_nothing_changes(self, store: BreakpointStore, project: Path) -> None:
        store.change(project, [line_breakpoint()], [])
        before = store.path_of(project).stat().st_ino
        store.change(project, [line_breakpoint()], [])
        assert store.path_of(project).stat().st_ino == before

    @pytest.mark.parametrize(
        "content",
        [
            "{",
            "[]",
            "{}",
            '{"version": 1}',
            '{"version": "1", "breakpoints": []}',
            '{"version": 1, "breakpoints": [{}]}',
        ],
    )
    def test_a_corrupt_file_is_set_aside_and_a_new_one_begun(
        self, content: str, store: BreakpointStore, project: Path
    ) -> None:
        store.folder.mkdir(parents=True)
        store.path_of(project).write_text(content)
        assert store.load(project) == []
        store.change(project, [line_breakpoint()], [])
        assert store.load(project) == [line_breakpoint()]
        assert [file.read_text() for file in store.folder.glob("*.corrupt-*")] == [content]

    def test_a_file_of_a_newer_version_is_left_alone(
        self, store: BreakpointStore, project: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        content = '{"version": 2, "groups": []}'
        store.folder.mkdir(parents=True)
        store.path_of(project).write_text(content)
        assert store.load(project) == []
        store.change(project, [line_breakpoint()], [])
        store.change(project, [], [line_breakpoint()])
        assert store.load(project) == []
        assert [file.read_text() for file in store.folder.iterdir()] == [content]
        assert "newer version" in caplog.text

    def test_a_disk_that_refuses_is_only_logged(
        self, tmp_path: Path, project: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("")
        store = BreakpointStore(tmp_path / "file" / "breakpoints")
        with caplog.at_level(logging.WARNING):
            store.change(project, [line_breakpoint()], [])
        assert "could not be saved" in caplog.text

    def test_a_project_path_that_is_not_utf8_is_kept_too(self, store: BreakpointStore, tmp_path: Path) -> None:
        root = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
        store.change(root, [line_breakpoint()], [])
        assert store.load(root) == [line_breakpoint()]

    @settings(max_examples=50, deadline=None)
    @given(data=st.data())
    def test_any_text_and_any_order_of_changes_round_trips(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("any")
        store = BreakpointStore(root / "data")
        text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
        maybe = st.none() | text
        definition = st.builds(
            line_breakpoint,
            st.sampled_from(["/p/a.py", "/p/ä \n.py"]),
            st.integers(1, 3),
            condition=maybe,
            hit_condition=maybe,
            log_message=maybe,
            enabled=st.booleans(),
        ) | st.builds(function_breakpoint, text)
        expected: dict[Any, dict[str, Any]] = {}
        for adding, item in data.draw(st.lists(st.tuples(st.booleans(), definition), max_size=8)):
            key = item["function"] if item["source"] is None else (item["source"]["path"], item["line"])
            if adding:
                store.change(root, [item], [])
                expected[key] = item
            else:
                store.change(root, [], [item])
                expected.pop(key, None)
        assert BreakpointStore(root / "data").load(root) == list(expected.values())


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class TestTombstones:
    def test_an_unknown_session_has_none(self, tmp_path: Path) -> None:
        assert TombstoneStore(tmp_path).get("sess_x") is None
        assert list(tmp_path.iterdir()) == []

    def test_an_expired_session_is_remembered_across_restarts(self, tmp_path: Path) -> None:
        clock = Clock()
        TombstoneStore(tmp_path / "sessions", clock).add("sess_x", "paused", "breakpoint", "mine")
        found = TombstoneStore(tmp_path / "sessions", clock).get("sess_x")
        assert found
        assert (found.status, found.reason, found.expired_at, found.name) == ("paused", "breakpoint", clock.now, "mine")

    def test_it_is_remembered_for_a_day(self, tmp_path: Path) -> None:
        clock = Clock()
        store = TombstoneStore(tmp_path, clock)
        store.add("sess_x", "paused", None)
        clock.now += KEPT_SECONDS
        assert store.get("sess_x")
        clock.now += 1
        assert store.get("sess_x") is None
        store.add("sess_y", "paused", None)
        assert list(json.loads(store.path.read_bytes())) == ["sess_y"]

    def test_only_the_last_thousand_are_kept(self, tmp_path: Path) -> None:
        store = TombstoneStore(tmp_path)
        for number in range(KEPT_SESSIONS + 1):
            store.add(f"sess_{number}", "terminated", None)
        assert store.get("sess_0") is None
        assert store.get("sess_1")
        assert len(json.loads(store.path.read_bytes())) == KEPT_SESSIONS

    @pytest.mark.parametrize("content", ["{", "[]", '{"sess_x": {"status": 1}}'])
    def test_a_corrupt_file_is_set_aside(self, content: str, tmp_path: Path) -> None:
        (tmp_path / "expired.json").write_text(content)
        store = TombstoneStore(tmp_path)
        store.add("sess_y", "paused", None)
        assert TombstoneStore(tmp_path).get("sess_y")
        assert [file.read_text() for file in tmp_path.glob("*.corrupt-*")] == [content]

    def test_a_disk_that_refuses_is_only_logged(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "file").write_text("")
        store = TombstoneStore(tmp_path / "file" / "sessions")
        store.add("sess_x", "paused", None)
        assert store.get("sess_x")
        assert "could not be saved" in caplog.text
