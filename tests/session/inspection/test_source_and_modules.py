"""The source of any frame, wherever its code comes from, and the modules that the program has loaded."""

from __future__ import annotations

import os
import py_compile
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from breadth import first_of
from places import ROOT
from relays import Api, Relay, Session, pythons, refusal

Write = Callable[..., Path]


VERSIONS = pythons("3.8", "3.11", "3.12", "3.13")


def of_file(session: Session, path: str | Path, more: str = "") -> Any:
    return session.get(f"/source?path={quote(str(path))}{more}")


def texts(answer: dict) -> list[str]:
    return [line["text"] for line in answer["lines"]]


def test_the_source_of_every_frame_is_retrievable_across_files(session: Session, program: Write) -> None:
    helper = program("def twice(x):\n    return x * 2  # @here\n", "helper.py")
    path = program("import helper\n\ndef main():\n    return helper.twice(4)\n\nmain()\n")
    session.break_at(helper, "here")
    session.launch(path)
    top = session.get("/source")
    assert (top["path"], top["origin"], top["current_line"], top["total_lines"]) == (str(helper), "file", 2, 2)
    assert top["lines"] == [
        {"line": 1, "text": "def twice(x):"},
        {"line": 2, "text": "    return x * 2  # @here"},
    ]
    caller = session.get("/frames/1/source")
    assert (caller["path"], caller["function"], caller["current_line"]) == (str(path), "main", 4)
    assert session.get("/source", frame_id=1) == caller
    part = session.get("/source", frame_id=1, start_line=3, end_line=4)
    assert (texts(part), part["start_line"], part["end_line"], part["has_more"]) == (
        ["def main():", "    return helper.twice(4)"],
        3,
        4,
        False,
    )
    refusal(404, "FRAME_NOT_FOUND", session.get, "/source", frame_id=99)
    refusal(404, "THREAD_NOT_FOUND", session.get, "/frames/0/source", thread_id=99)
    assert refusal(400, "INVALID_PARAMETER", session.get, "/source", start_line=7).details["max_line"] == 2
    refusal(400, "INVALID_PARAMETER", session.get, "/source", start_line=2, end_line=1)
    refusal(400, "INVALID_PARAMETER", session.get, "/source", start_line=0)
    refusal(400, "INVALID_PARAMETER", of_file, session, path, "&frame_id=0")


def test_a_long_file_comes_in_pages_around_the_line(session: Session, program: Write) -> None:
    lines = [f"x{n} = {n}" for n in range(1, 3001)]
    lines[1999] += "  # @here"
    path = program("\n".join(lines))
    session.break_at(path, "here")
    session.launch(path)
    page = session.get("/source")
    assert (page["start_line"], page["end_line"], len(page["lines"])) == (1500, 2499, 1000)
    assert (page["total_lines"], page["has_more"], page["current_line"]) == (3000, True, 2000)
    first = session.get("/source", start_line=1)
    assert (first["start_line"], first["end_line"], first["has_more"]) == (1, 1000, True)
    assert texts(session.get("/source", start_line=2999)) == ["x2999 = 2999", "x3000 = 3000"]
    assert of_file(session, str(path), "&end_line=2")["end_line"] == 2


def test_files_are_shown_that_belong_to_the_session_and_no_others(api: Api, program: Write, tmp_path: Path) -> None:
    root = program("import json\nx = 1  # @here\n", "project/main.py").parent
    program("secret = 1\n", "outside.py")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "notes.txt").write_text("hello\n")
    locked = program("y = 2\n", "project/locked.py")
    locked.chmod(0)
    with api.session(project_root=str(root)) as session:
        assert texts(of_file(session, "main.py")) == ["import json", "x = 1  # @here"]
        refusal(409, "INVALID_SESSION_STATE", session.get, "/source")
        refusal(404, "SOURCE_NOT_FOUND", of_file, session, "nowhere.py")
        refusal(404, "SOURCE_NOT_FOUND", of_file, session, str(root))
        if os.geteuid() != 0:
            assert "Permission" in refusal(404, "SOURCE_NOT_FOUND", of_file, session, "locked.py").message
        for path in ("/etc/passwd", str(tmp_path / "outside.py"), "link.py", "../outside.py", "/dev/zero"):
            error = refusal(403, "FORBIDDEN", of_file, session, path)
            assert "secret" not in str(error)
            assert "project_root" in error.details["suggestion"]
        session.break_at(root / "main.py", "here")
        session.launch(root / "main.py")
        library = session.get("/modules", filter="json.decoder")["modules"][0]["path"]
        assert "class JSONDecoder" in "\n".join(texts(of_file(session, library)))
        refusal(403, "FORBIDDEN", of_file, session, "/etc/passwd")
        assert of_file(session, "main.py")["current_line"] == 2
        assert texts(of_file(session, "notes.txt")) == ["hello"]
    with api.session() as session:
        refusal(400, "INVALID_PARAMETER", of_file, session, "main.py")
        refusal(403, "FORBIDDEN", of_file, session, str(root / "main.py"))


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS)
def test_code_without_a_file_has_its_source_too(api: Api, program: Write, tmp_path: Path, python: Path) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed.py", "def run(go):\n    return go()\n")
    path = program(
        """
        import dataclasses
        import linecache
        import sys

        sys.path.insert(0, __file__.replace("program.py", "packed.zip"))
        import packed

        def stop():
            return 1  # @here

        TEXT = "def made():\\n    return stop()\\nmade()\\n"
        packed.run(lambda: exec(TEXT))

        generated = "def generated():\\n    return stop()\\n"
        linecache.cache["<generated 1>"] = (len(generated), None, generated.splitlines(True), "<generated 1>")
        scope = {"stop": stop}
        exec(compile(generated, "<generated 1>", "exec"), scope)
        scope["generated"]()
        """
    )
    with api.session(python_path=str(python)) as session:
        session.break_at(path, "here")
        session.launch(path)
        frames = {frame["name"]: frame["id"] for frame in session.get("/stacktrace")["frames"]}
        made = session.get(f"/frames/{frames['made']}/source")
        assert (texts(made), made["origin"], made["current_line"]) == (
            ["def made():", "    return stop()", "made()"],
            "exec",
            2,
        )
        packed = session.get(f"/frames/{frames['run']}/source")
        assert (texts(packed), packed["origin"]) == (["def run(go):", "    return go()"], "program")
        assert packed["path"].endswith("packed.zip/packed.py")
        assert texts(of_file(session, packed["path"])) == texts(packed)
        session.resume()
        generated = session.get("/frames/1/source")
        assert (generated["origin"], generated["path"]) == ("program", "<generated 1>")
        assert texts(generated) == ["def generated():", "    return stop()"]
        report = session.step("out")
        assert report["current_location"]["path"] == "<generated 1>"
        assert [line["text"] for line in report["source"]] == texts(generated), "the report has it as well"


def test_a_program_launched_as_text_has_its_source(api: Api) -> None:
    with api.session() as session:
        code = "x = 1\ndef f():\n    return 2\nf()\nexec('y = f()')\n"
        report = session.launch(code=code, stop_on_entry=True)
        assert report["source"][0] == {"line": 1, "text": "x = 1"}
        source = session.get("/source")
        assert (source["origin"], texts(source)) == ("code", code.splitlines())
        assert texts(of_file(session, "<string>")) == code.splitlines()


def test_what_has_no_source_says_why(session: Session, program: Write, tmp_path: Path) -> None:
    gone = program("def call(f):\n    return f()\n", "gone.py")
    py_compile.compile(str(gone), cfile=str(tmp_path / "gone.pyc"))
    gone.unlink()
    path = program(
        """
        import dataclasses
        import gone

        @dataclasses.dataclass
        class Point:
            x: int

            def __post_init__(self):
                self.y = 1  # @here

        gone.call(lambda: Point(1))
        """
    )
    session.break_at(path, "here")
    session.launch(path, python_path=sys.executable)
    frames = {frame["name"]: frame["id"] for frame in session.get("/stacktrace")["frames"]}
    error = refusal(404, "SOURCE_NOT_FOUND", session.get, f"/frames/{frames['call']}/source")
    assert str(gone) in error.message
    error = refusal(404, "SOURCE_NOT_FOUND", session.get, f"/frames/{frames['__init__']}/source")
    assert "<string>" in error.message
    assert texts(session.get("/source"))[8] == "        self.y = 1  # @here"


@pytest.mark.parametrize("python", first_of(VERSIONS))
def test_modules_are_listed_while_the_program_runs_and_while_it_is_paused(
    api: Api, program: Write, python: Path
) -> None:
    program('__version__ = "1.5"\n', "my_helper.py")
    path = program(
        """
        import my_helper, sys, time, types

        class Odd(types.ModuleType):
            def __getattr__(self, name):
                raise RuntimeError(name)

        sys.modules["odd_one"] = Odd("odd_one")
        sys.modules["not_a_module"] = 5
        print("ready")
        while True:
            time.sleep(0.01)  # @here
        """
    )
    with api.session(python_path=str(python)) as session:
        refusal(409, "INVALID_SESSION_STATE", session.get, "/modules")
        session.launch(path, wait=False)
        session.wait_for_output("ready")
        (helper,) = session.get("/modules", filter="my_helper")["modules"]
        assert helper == {
            "name": "my_helper",
            "path": str(path.with_name("my_helper.py")),
            "version": "1.5",
            "is_user_code": True,
        }
        session.post("/pause", {"wait": 10})
        everything = session.get("/modules", limit=1000)
        names = [module["name"] for module in everything["modules"]]
        assert names == sorted(names)
        assert len(names) == everything["total"]
        assert {"__main__", "sys", "time", "odd_one", "not_a_module"} <= set(names)
        assert not any(name.startswith(("debugpy", "pydevd", "_ocdb")) for name in names)
        by_name = {module["name"]: module for module in everything["modules"]}
        assert by_name["__main__"]["path"] == str(path)
        assert (by_name["sys"]["path"], by_name["sys"]["is_user_code"]) == (None, False)
        page = session.get("/modules", offset=2, limit=3)
        assert ([module["name"] for module in page["modules"]], page["has_more"]) == (names[2:5], True)
        assert session.get("/modules", filter="no such module")["modules"] == []


def spellings(relay: Relay, link: Path) -> list[str]:
    """Ways to say where the local token is, and other files that are none of a program."""
    token = relay.data_dir / "local-token"
    link.symlink_to(token)
    other = link.with_name("other.py")
    os.link(token, other)
    deeper = next((relay.data_dir / "sessions").glob("*/runner.log"))
    os.link(deeper, link.with_name("log.py"))
    inside = f"{relay.data_dir}/../{relay.data_dir.name}/tokens.json"
    ways = [token, link, other, inside, f"/proc/self/root{token}", f"/proc/self/cwd/../../../../../..{token}"]
    ways += [link.with_name("log.py"), relay.data_dir / "nothing"]
    ways += ["/proc/self/environ", "/proc/self/cmdline", "/sys/kernel/mm/ksm/run"]
    return [str(way) for way in ways]


@pytest.mark.parametrize("root", ["/", "~", "the data folder", "around it"])
def test_no_project_opens_the_data_folder_or_the_disk(
    relay: Relay, api: Api, program: Write, tmp_path: Path, root: str
) -> None:
    project = {"the data folder": relay.data_dir, "around it": relay.data_dir.parent}.get(root, Path(root).expanduser())
    token = (relay.data_dir / "local-token").read_text().strip()
    path = program("x = 1  # @here\n")
    ways = spellings(relay, tmp_path / "link.py")
    with api.session(project_root=str(project)) as session:
        session.break_at(path, "here")
        session.launch(path)
        assert texts(of_file(session, str(path))) == ["x = 1  # @here"]
        for way in ways:
            assert token not in str(refusal(403, "FORBIDDEN", of_file, session, way))
            refusal(403, "FORBIDDEN", session.post, "/hover", {"file": way, "line": 1, "column": 1})
        if root in ("/", "~"):
            refusal(403, "FORBIDDEN", of_file, session, str(Path("~/.bashrc").expanduser()))
            refusal(403, "FORBIDDEN", of_file, session, str(ROOT / "pyproject.toml"))
        for way in ways[:5]:
            items = [{"source": {"path": way}, "line": 1}, {"source": {"path": way}, "text": "ocdb_"}]
            for item in items:
                answer = session.api.http.post(f"/sessions/{session.id}/breakpoints", json={"breakpoints": [item]})
                assert token not in answer.text and answer.status_code < 500
        refusal(403, "FORBIDDEN", of_file, session, ways[0])
        assert token not in str(session.get("/breakpoints"))


def test_what_is_hidden_in_a_project_and_what_never_ends_is_not_shown(api: Api, program: Write) -> None:
    root = program("x = 1\n", "project/main.py").parent
    for name in (".env", ".git/config", "package/.secret"):
        program("SECRET=1\n", f"project/{name}")
        (root / "package").mkdir(exist_ok=True)
    os.mkfifo(root / "pipe.py")
    (root / "huge.py").touch()
    os.truncate(root / "huge.py", 40_000_000)
    with api.session(project_root=str(root)) as session:
        session.break_at(root / "main.py", 1)
        session.launch(root / "main.py")
        assert texts(of_file(session, "main.py")) == ["x = 1"]
        for name in (".env", ".git/config", "package/.secret", ".venv/nothing.py"):
            refusal(403, "FORBIDDEN", of_file, session, name)
        for name, why in (("pipe.py", "not a file"), ("huge.py", "larger than 32 MB")):
            assert why in refusal(404, "SOURCE_NOT_FOUND", of_file, session, name).message
            refusal(404, "SOURCE_NOT_FOUND", session.post, "/hover", {"file": name, "line": 1, "column": 1})
