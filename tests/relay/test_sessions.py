"""Sessions that are changed, cloned, and taken from one relay to another."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, Session, line_of, pythons, refusal
from waiting import wait_until

PROGRAM = """
import os
import sys

def price(n):
    total = n * 3  # @total
    return total

print(price(2), sys.argv[1:], os.environ.get("API_KEY"))  # @print
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text(PROGRAM.lstrip())
    (folder / "lib").mkdir()
    return folder


@pytest.fixture
def rooted(api: Api, project: Path) -> Iterator[Session]:
    with api.session(project_root=str(project), name="prices", timeout_minutes=7) as session:
        yield session


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Another relay, as on another machine."""
    relay = Relay(tmp_path_factory.mktemp("other") / "data").start()
    with Api(relay.base_url) as api:
        yield api
    assert relay.stop() == 0


def imported(api: Api, document: dict[str, Any], **more: Any) -> tuple[Session, dict[str, Any]]:
    answer = api.post("/sessions/import", {**document, **more})
    return Session(api, answer["session_id"]), answer


# Changing.


def test_name_timeout_and_entry_change_at_any_time(session: Session, program: Callable[..., Path]) -> None:
    path = program("x = 1\ny = 2\n")
    changed = session.patch("", {"name": "new name", "timeout_minutes": 2, "stop_on_entry": True})
    assert (changed["session_id"], changed["name"], changed["status"]) == (session.id, "new name", "created")
    assert (changed["config"]["timeout_minutes"], changed["config"]["stop_on_entry"]) == (2, True)
    assert changed["created_at"][:10] <= changed["expires_at"][:10]
    assert session.launch(path)["stop_reason"] == "entry"
    assert session.patch("", {"name": "while paused"})["name"] == "while paused"
    assert session.get()["name"] == "while paused"
    assert session.resume()["exit_code"] == 0
    assert session.patch("", {"timeout_minutes": 60})["config"]["timeout_minutes"] == 60


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="only Linux tells which libraries a process has")
def test_a_runner_has_uvloop_and_not_openssl(relay: Relay, session: Session) -> None:
    maps = Path(f"/proc/{relay.runner_of(session).pid}/maps").read_text()
    assert "uvloop" in maps
    assert "libssl" not in maps and "libcrypto" not in maps


def test_project_and_interpreter_change_before_the_launch_only(api: Api, project: Path) -> None:
    python = pythons("3.8", "3.12").popitem()[1]
    with api.session() as session:
        changed = session.patch("", {"project_root": str(project), "python_path": str(python), "pythonpath": ["lib"]})
        assert changed["config"]["project_root"] == str(project)
        assert changed["config"]["python_path"] == str(python)
        assert changed["config"]["pythonpath"] == [str(project / "lib")]
        session.post("/breakpoints", {"file": "src/main.py", "line": line_of(project / "src/main.py", "total")})
        stop = session.launch(Path("src/main.py"))
        assert stop["current_location"]["function"] == "price"
        assert session.evaluate("sys.executable")["result"] == repr(str(python))
        for name, value in (("project_root", "/tmp"), ("python_path", "python3"), ("pythonpath", [])):
            error = refusal(409, "INVALID_SESSION_STATE", session.patch, "", {"name": "not this either", name: value})
            assert error.details["fields"] == [name]
            assert (error.details["current_state"], error.details["required_state"]) == ("paused", "created")
            assert "clone" in error.details["suggestion"]
        assert session.get()["name"] != "not this either"


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"status": "running"}, "status", "follows from"),
        ({"session_id": "x"}, "session_id", "never changes"),
        ({"args": []}, "args", "launch"),
        ({"nam": "x"}, "nam", "Did you mean 'name'"),
        ({"timeout_minutes": 0}, "timeout_minutes", "greater than"),
        ({"timeout_minutes": 2.5}, "timeout_minutes", "integer"),
        ({"name": ""}, "name", "at least 1"),
        ({"venv": "/x", "python_path": "/y"}, "venv", "not both"),
    ],
)
def test_what_cannot_be_changed_is_refused_by_name(
    session: Session, body: dict[str, Any], field: str, said: str
) -> None:
    before = session.get()["config"]
    error = refusal(400, "INVALID_REQUEST", session.patch, "", {"stop_on_entry": True, **body})
    (problem,) = error.details["errors"]
    assert problem["field"] == field and said in problem["message"]
    assert session.get()["config"] == before


@pytest.mark.parametrize(
    "body",
    [
        {"project_root": "/no/such"},
        {"python_path": "/no/such"},
        {"python_path": "/bin/ls"},
        {"venv": "/tmp"},
        {"venv": "relative"},
        {"pythonpath": ["/no/such"]},
    ],
)
def test_paths_that_lead_nowhere_change_nothing(session: Session, body: dict[str, Any]) -> None:
    before = session.get()["config"]
    refusal(400, "INVALID_PARAMETER", session.patch, "", {"name": "x", **body})
    assert session.get()["config"] == before and session.get()["name"] != "x"


def test_changes_outlive_the_relay(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data").start()
    with Api(relay.base_url) as api:
        session = api.session()
        session.patch("", {"name": "kept", "timeout_minutes": 3})
    relay.kill()
    relay.start()
    with Api(relay.base_url) as api:
        info = api.get(f"/sessions/{session.id}")
        assert (info["name"], info["config"]["timeout_minutes"]) == ("kept", 3)
    assert relay.stop() == 0


# Cloning.


def test_a_clone_has_everything_and_runs_the_same_without_a_body(rooted: Session, project: Path) -> None:
    script = project / "src/main.py"
    rooted.break_at(script, "total", condition="n == 2", hit_condition=">=1")
    rooted.break_at(script, "print", enabled=False)
    rooted.launch(Path("main.py"), cwd="src", args=["a b"], env={"API_KEY": "s3cret"})
    answer = rooted.post("/clone")
    assert (answer["name"], answer["status"], answer["breakpoint_count"]) == ("prices (copy)", "created", 2)
    assert answer["config"] == rooted.get()["config"]
    with Session(rooted.api, answer["session_id"]) as clone:
        assert clone.id != rooted.id
        shown = [{**bp, "hit_count": 0} for bp in rooted.get("/breakpoints")["breakpoints"]]
        assert clone.get("/breakpoints")["breakpoints"] == shown
        stop = clone.post("/launch", None, wait="30")
        assert stop["current_location"]["line"] == line_of(script, "total")
        assert stop["program"] == rooted.get()["program"]
        assert clone.resume()["exit_code"] == 0
        assert clone.output() == "6 ['a b'] s3cret\n"
        again = Session(clone.api, clone.post("/clone", {"name": "third"})["session_id"])
    with again:  # of a session that is gone by now
        assert again.get()["name"] == "third"
        again.delete("/breakpoints/bp_1")
        assert again.launch(args=["other"], env={})["exit_code"] == 0
        assert again.output() == "6 ['other'] None\n"
    assert rooted.get()["status"] == "paused"


def test_without_a_remembered_launch_a_program_must_be_named(session: Session, program: Callable[..., Path]) -> None:
    bad = program("x = = 1\n")
    for body in (None, {}, {"args": ["x"]}):
        error = refusal(400, "INVALID_REQUEST", session.post, "/launch", body)
        assert error.details["errors"][0]["message"] == "Provide exactly one of script, program, module and code"
    refusal(400, "LAUNCH_SYNTAX_ERROR", session.launch, bad)
    refusal(400, "INVALID_REQUEST", session.post, "/launch")
    with Session(session.api, session.post("/clone")["session_id"]) as clone:
        refusal(400, "INVALID_REQUEST", clone.post, "/launch")


def test_a_session_whose_process_died_cannot_be_cloned(relay: Relay, api: Api) -> None:
    with api.session() as session:
        relay.runner_of(session).kill()
        failed = partial(api.get, "/sessions", status="failed")
        wait_until(lambda: session.id in [item["session_id"] for item in failed()["items"]])
        for method, path in (("POST", "/clone"), ("GET", "/export"), ("PATCH", "")):
            url = f"/sessions/{session.id}{path}"
            error = refusal(409, "INVALID_SESSION_STATE", api.request, method, url, {} if method == "PATCH" else None)
            assert error.details["current_state"] == "failed"


def test_a_clone_and_a_program_that_is_launched_again_need_a_place(
    tmp_path: Path, program: Callable[..., Path]
) -> None:
    short, long = program("print(1)"), program("input()", "long.py")
    relay = Relay(tmp_path / "data", max_sessions=1).start()
    with Api(relay.base_url) as api:
        session = api.session()
        refusal(429, "SESSION_LIMIT_REACHED", session.post, "/clone")
        refusal(429, "SESSION_LIMIT_REACHED", api.post, "/sessions/import", session.get("/export"))
        assert api.get("/sessions")["total"] == 1
        assert session.launch(short)["status"] == "terminated"
        other = api.session()
        assert other.launch(long)["status"] == "running"
        for again in ({"script": str(short)}, None):
            refusal(429, "SESSION_LIMIT_REACHED", session.post, "/launch", again)
        error = refusal(429, "SESSION_LIMIT_REACHED", session.post, "/restart")
        assert error.details["active_sessions"] == 1 and session.get("")["status"] == "terminated"
        assert other.post("/restart")["status"] == "running"  # it has the place
        other.post("/terminate")
        assert session.post("/restart", {"wait": 20})["status"] == "terminated"
    assert relay.stop() == 0


# Taking elsewhere.


def test_a_session_goes_to_another_relay_and_another_folder(
    rooted: Session, project: Path, other: Api, tmp_path: Path
) -> None:
    script = project / "src/main.py"
    outside = tmp_path / "outside" / "tool.py"
    outside.parent.mkdir()
    outside.write_text("x = 1\n")
    rooted.break_at(script, "total", condition="n == 2")
    rooted.break_at(outside, 1, log_message="x is {x}")
    rooted.launch(script, args=["-v"], pythonpath=["lib"], env={"API_KEY": "s3cret", "OTHER": ""})
    document = rooted.get("/export")
    assert (document["format"], document["version"], document["name"]) == ("opencode-debugger/session", 1, "prices")
    assert document["config"]["project_root"] == str(project)
    assert document["config"]["timeout_minutes"] == 7
    assert document["launch"]["script"] == "src/main.py" and document["launch"]["pythonpath"] == ["lib"]
    assert document["launch"]["env"] == {"API_KEY": None, "OTHER": None}
    assert "s3cret" not in json.dumps(document)
    assert [bp["source"]["path"] for bp in document["breakpoints"]] == ["src/main.py", str(outside)]
    assert rooted.get("/export", include_env="true")["launch"]["env"]["API_KEY"] == "s3cret"

    elsewhere = project.rename(tmp_path / "élsewhere")
    moved = outside.parent.rename(tmp_path / "moved")
    where = {"project_root": str(elsewhere), "path_map": {str(outside.parent): str(moved)}}
    session, answer = imported(other, document, name="over there", **where)
    with session:
        assert answer["warnings"] == ["launch.env has no value for API_KEY, OTHER: give it when you launch"]
        assert (answer["name"], answer["status"]) == ("over there", "created")
        listed = session.get("/breakpoints")["breakpoints"]
        assert [bp["source"]["path"] for bp in listed] == [str(elsewhere / "src/main.py"), str(moved / "tool.py")]
        assert [bp["verified"] for bp in listed] == [True, True]
        stop = session.post("/launch", {"env": {"API_KEY": "mine"}, "wait": 30})
        assert stop["current_location"]["path"] == str(elsewhere / "src/main.py")
        assert session.resume()["exit_code"] == 0
        assert session.output() == "6 ['-v'] mine\n"
        again = session.get("/export", include_env="true")
        assert again["breakpoints"][0] == document["breakpoints"][0]
        assert again["launch"] == {**document["launch"], "env": {"API_KEY": "mine"}}
    with other.session(project_root=str(elsewhere)) as next_one:
        assert next_one.get()["breakpoint_count"] == 2  # saved, as those that are set


def test_everything_that_was_set_comes_along_in_an_export_and_a_clone(api: Api, rooted: Session, project: Path) -> None:
    """Also after the program has run: what was found out meanwhile does not."""
    script = project / "src/main.py"
    rooted.post("/breakpoints", {"function": "main", "condition": "True"})
    rooted.post("/breakpoints", {"file": "src/main.py", "text": "total", "occurrence": 1, "enabled": False})
    rooted.post("/exception-breakpoints", {"exceptions": ["KeyError"], "condition": "exc.args"})
    rooted.post("/watch", {"expression": "n + 1", "name": "next"})
    rooted.launch(script)
    document = rooted.get("/export")
    assert document["watches"] == [{"expression": "n + 1", "name": "next"}]
    assert document["exception_breakpoints"] == [
        {"filters": ["raised"], "exceptions": ["KeyError"], "condition": "exc.args"}
    ]
    assert [sorted(bp) for bp in document["breakpoints"]] == [
        ["condition", "enabled", "function", "hit_condition", "log_message"],
        ["condition", "enabled", "hit_condition", "line", "log_message", "source"],
    ]
    session, answer = imported(api, document)
    assert answer["warnings"] == []
    copy = Session(api, rooted.post("/clone")["session_id"])
    with session, copy:
        for other in (session, copy):
            again = other.get("/export")
            assert [again[name] for name in ("breakpoints", "watches", "exception_breakpoints")] == [
                document[name] for name in ("breakpoints", "watches", "exception_breakpoints")
            ]


def test_what_is_not_here_is_told_and_left_out(api: Api, project: Path, tmp_path: Path) -> None:
    document = {
        "format": "opencode-debugger/session",
        "version": 1,
        "config": {"project_root": str(project), "python_path": "/no/python", "pythonpath": ["lib", "nolib"]},
        "launch": {"script": "src/gone.py", "venv": "novenv"},
        "breakpoints": [
            {"file": "src/later.py", "line": 1},
            {"source": {"path": "src/main.py"}, "line": 999},
            {"source": {"path": "src/main.py"}, "line": 5},
        ],
    }
    session, answer = imported(api, document)
    with session:
        told = "\n".join(answer["warnings"])
        for word in ("/no/python", "nolib", "gone.py", "novenv", "later.py:1 waits", "main.py:999 was left out"):
            assert word in told
        assert len(answer["warnings"]) == 6
        assert answer["config"]["python_path"] == "python3"
        assert answer["config"]["pythonpath"] == [str(project / "lib")]
        pending, placed = session.get("/breakpoints")["breakpoints"]
        assert (pending["verified"], placed["verified"]) == (False, True)
        refusal(400, "LAUNCH_SCRIPT_NOT_FOUND", session.post, "/launch")


GOOD: dict[str, Any] = {"format": "opencode-debugger/session", "version": 1}
BAD: list[tuple[str, Any, str]] = [
    ("no format", {}, "format"),
    ("another format", {**GOOD, "format": "vscode/launch"}, "format"),
    ("the whole answer", {"success": True, "data": GOOD}, "format"),
    ("a newer version", {**GOOD, "version": 2}, "version"),
    ("a version that is none", {**GOOD, "version": True}, "version"),
    ("a list", [GOOD], ""),
    ("an unknown field", {**GOOD, "brakpoints": []}, "brakpoints"),
    ("a line of zero", {**GOOD, "breakpoints": [{"file": "/a.py", "line": 0}]}, "breakpoints[0].line"),
    ("a huge line", {**GOOD, "breakpoints": [{"file": "/a.py", "line": 10**18}]}, "breakpoints[0].line"),
    ("a relative path", {**GOOD, "breakpoints": [{"file": "a.py", "line": 1}]}, "breakpoints[0].source.path"),
    ("too many", {**GOOD, "breakpoints": [{"file": "/a.py", "line": 1}] * 10_001}, "breakpoints"),
    ("a launch of nothing", {**GOOD, "launch": {"args": []}}, "launch"),
    ("a launch of two", {**GOOD, "launch": {"script": "/a.py", "code": "pass"}}, "launch"),
    ("a long path", {**GOOD, "launch": {"script": "/" + "x" * 5000}}, "launch.script"),
    ("a map that is relative", {**GOOD, "path_map": {"a": "/b"}}, "path_map"),
    ("minutes of text", {**GOOD, "config": {"timeout_minutes": "60"}}, "config.timeout_minutes"),
]


@pytest.mark.parametrize(("body", "field"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_damaged_document_makes_no_session(api: Api, body: Any, field: str) -> None:
    before = api.get("/sessions")["total"]
    error = refusal(400, "INVALID_REQUEST", api.post, "/sessions/import", body)
    assert error.details["errors"][0]["field"] == field
    assert api.get("/sessions")["total"] == before


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"breakpoints": [{"file": "../../etc/x.py", "line": 1}]}, "breakpoints[0].source.path"),
        ({"launch": {"script": "src/../../x.py"}}, "launch.script"),
        ({"launch": {"code": "pass", "cwd": ".."}}, "launch.cwd"),
        ({"launch": {"code": "pass", "pythonpath": ["lib", "../lib"]}}, "launch.pythonpath[1]"),
    ],
)
def test_a_path_that_leads_out_of_the_project_makes_no_session(
    api: Api, project: Path, part: dict[str, Any], field: str
) -> None:
    before = api.get("/sessions")["total"]
    body = {**GOOD, "config": {"project_root": str(project)}, **part}
    error = refusal(400, "INVALID_REQUEST", api.post, "/sessions/import", body)
    assert error.details["errors"][0]["field"] == field
    assert error.details["errors"][0]["message"] == "The path leads out of the project"
    assert api.get("/sessions")["total"] == before


def test_a_condition_that_does_not_parse_makes_no_session(relay: Relay, api: Api, project: Path) -> None:
    script = str(project / "src/main.py")
    folders = set(os.listdir(relay.data_dir / "sessions"))
    items = [{"file": script, "line": 5}, {"file": script, "line": 8, "condition": "n >"}]
    error = refusal(400, "BREAKPOINT_INVALID_CONDITION", api.post, "/sessions/import", {**GOOD, "breakpoints": items})
    assert error.details["breakpoint"] == "breakpoints[1]"
    with api.session():  # by now the runner that was used up is gone
        assert len(set(os.listdir(relay.data_dir / "sessions")) - folders) <= 2


def test_a_project_that_is_not_here_must_be_named(api: Api) -> None:
    body = {**GOOD, "config": {"project_root": "/no/such/project"}}
    error = refusal(400, "INVALID_PARAMETER", api.post, "/sessions/import", body)
    assert error.details["parameter"] == "project_root" and "project_root" in error.details["suggestion"]


def test_the_smallest_document_makes_a_session(api: Api) -> None:
    session, answer = imported(api, {**GOOD, "name": "small"})
    with session:
        assert (answer["name"], answer["status"], answer["warnings"]) == ("small", "created", [])
        assert session.launch(code="print(1)")["exit_code"] == 0


@pytest.mark.parametrize("field", ["python_path", "venv"])
def test_importing_runs_no_interpreter_that_a_document_names(api: Api, project: Path, field: str) -> None:
    """Nor does anything else before a launch: breakpoints, a clone, a new name, a profile."""
    trace, interpreter = project / "trace", project / "env" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f"#!/bin/sh\necho >> {trace}\nexec {sys.executable} \"$@\"\n")
    interpreter.chmod(0o700)
    document = {
        "format": "opencode-debugger/session",
        "version": 1,
        "config": {"project_root": str(project), field: "env" if field == "venv" else "env/bin/python"},
        "launch": {"script": "src/main.py", "python_path": "env/bin/python"},
        "breakpoints": [{"source": {"path": "src/main.py"}, "line": 5, "condition": f"open({str(trace)!r}, 'w')"}],
    }
    session, answer = imported(api, document)
    with session:
        assert answer["config"][field] == str(project / "env" if field == "venv" else interpreter)
        session.break_at(project / "src" / "main.py", "print")
        session.patch("", {"name": "renamed"})
        api.post("/breakpoint-profiles", {"name": f"seen-{field}", "session_id": session.id})
        with Session(api, session.post("/clone")["session_id"]) as clone:
            api.post(f"/breakpoint-profiles/seen-{field}/apply", {"session_id": clone.id})
            assert len(clone.get("/breakpoints")["breakpoints"]) == 2
        assert not trace.exists()
        session.delete("/breakpoints")
        session.break_at(project / "src" / "main.py", "total")
        assert session.launch()["status"] == "paused"
        assert trace.exists()
    api.delete(f"/breakpoint-profiles/seen-{field}")


@pytest.mark.skipif("3.8" not in pythons("3.8"), reason="needs a Python 3.8")
def test_lines_of_an_imported_session_are_judged_by_its_own_interpreter_at_launch(api: Api, project: Path) -> None:
    path = project / "newer.py"
    path.write_text("x = 1\nmatch x:\n    case 1:\n        y = 2\n")
    document = {
        "format": "opencode-debugger/session",
        "version": 1,
        "config": {"project_root": str(project), "python_path": str(pythons("3.8")["3.8"])},
        "launch": {"script": "src/main.py", "args": ["1"]},
        "breakpoints": [{"source": {"path": "newer.py"}, "line": 4}, {"source": {"path": "src/main.py"}, "line": 5}],
    }
    session, _ = imported(api, document)
    with session:
        assert [bp["verified"] for bp in session.get("/breakpoints")["breakpoints"]] == [True, True]
        assert session.launch()["status"] == "paused"
        assert [bp["verified"] for bp in session.get("/breakpoints")["breakpoints"]] == [False, True]


def test_importing_reads_no_pipes_devices_or_endless_files(api: Api, project: Path) -> None:
    for name in ("pipe.py", "pipe.ez", "pipe.c"):
        os.mkfifo(project / name)
    (project / "zero.py").symlink_to("/dev/zero")
    for name in ("huge.py", "huge.ez", "huge.c"):
        (project / name).touch()
        os.truncate(project / name, 40_000_000)
    names = sorted(path.name for path in project.iterdir() if path.suffix)
    document = {
        "format": "opencode-debugger/session",
        "version": 1,
        "config": {"project_root": str(project)},
        "breakpoints": [{"source": {"path": name}, "line": 1} for name in names],
    }
    session, _ = imported(api, document)
    with session:
        listed = session.get("/breakpoints")["breakpoints"]
        assert [(bp["source"]["path"], bp["verified"]) for bp in listed] == [(str(project / n), False) for n in names]
        told = {os.path.basename(bp["source"]["path"]): bp["message"] or "" for bp in listed}
        assert [name for name in names if "cannot be read: It is larger" in told[name]] == ["huge.c", "huge.py"]
        for name in names:
            code = "BREAKPOINT_INVALID_LINE" if name.startswith("huge") else "BREAKPOINT_FILE_NOT_FOUND"
            item = {"source": {"path": str(project / name)}, "text": "x"}
            refusal(400, code, session.post, "/breakpoints", {"breakpoints": [item]})
