"""What is launched as `program` is started as what it is: a Python program, a native one, or one that starts others."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, Session, line_of, pythons, refusal
from waiting import wait_until

from opencode_debugger.errors import RelayError
from opencode_debugger.session.lifecycle import program_kinds

BELOW = Path(program_kinds.__file__).parents[2] / "debuggers/python/launch/below"
Write = Callable[..., Path]

PLAIN_PYTEST = ["-q", "-p", "no:cacheprovider"]
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Those of this machine load for seconds."""

TESTS = """
def add(a, b):
    return a + b  # @add

def test_add():
    assert add(1, 2) == 3
"""
WORKER = """
import os, sys

def work(name):
    told = [name, *sys.argv[1:]]  # @work
    names = ("PYTHONPATH", "OPENCODE_DEBUG_BELOW", "OPENCODE_DEBUG_LAUNCH")
    print(told, [os.environ.get(each) for each in names], flush=True)

work(__name__)
"""


def go_on(session: Session, answer: Any, function: str) -> tuple[list[Any], Any]:
    """Lets each child go on that stops in the function, until the program ends: their reports, and that of the end."""
    reports = []
    while answer["status"] == "running":
        report = answer["child_report"]
        assert (report["status"], report["current_location"]["function"]) == ("paused", function), answer
        assert report["session_id"] == answer["paused_children"][0]
        reports.append(report)
        Session(session.api, report["session_id"]).resume(wait=0)
        answer = session.get("/report", wait=60)
    assert answer["status"] == "terminated", answer
    return reports, answer


def test_a_console_script_is_debugged_as_the_python_program_that_it_is(api: Api, tmp_path: Path) -> None:
    path = tmp_path / "test_add.py"
    path.write_text(TESTS)
    with api.session(project_root=str(tmp_path), venv=sys.prefix) as session:
        session.break_at(path, "add")
        stop = session.launch(program="pytest", args=[*PLAIN_PYTEST, str(path)], env=NO_PLUGINS, wait=60)
        assert (stop["status"], stop["current_location"]["function"]) == ("paused", "add")
        command = os.path.join(sys.prefix, "bin", "pytest")
        assert stop["program"]["script"] == command
        assert stop["program"]["interpreter_reason"] == f"the first line of {command}"
        assert session.resume()["exit_code"] == 0


def test_the_stop_of_a_test_that_make_runs_is_the_answer_to_its_launch(api: Api, relay: Relay, tmp_path: Path) -> None:
    path = tmp_path / "test_add.py"
    path.write_text(TESTS)
    (tmp_path / "Makefile").write_text(f"test:\n\t@pytest {' '.join(PLAIN_PYTEST)} test_add.py\n")
    with api.session(project_root=str(tmp_path), venv=sys.prefix) as session:
        session.break_at(path, "add")
        answer = session.launch(program="make", args=["test"], env=NO_PLUGINS, wait=60)
        assert answer["program"]["program"] == shutil.which("make")
        report = answer["child_report"]
        assert {row["name"]: row["value"] for row in report["locals"]} == {"a": "1", "b": "2"}
        assert f"POST /sessions/{report['session_id']}/continue" in answer["message"]
        child = Session(api, report["session_id"])
        assert child.get()["parent_session_id"] == session.id
        assert child.evaluate("__import__('os').environ['DEBUG_SESSION_URI']")["result"] == repr(
            child.get()["debugger"]["uri"]
        )
        assert child.get()["debugger"]["uri"] != session.get()["debugger"]["uri"]
        assert session.get()["debugger"]["adapter"] == "none"
        for operation in ("pause", "continue"):
            error = refusal(400, "NOT_SUPPORTED", session.post, f"/{operation}")
            assert "make is not debugged itself" in error.message
        assert session.get("/status")["status"] == "running"
        folder = relay.data_dir / "sessions" / session.id
        assert [stat.S_IMODE(path.stat().st_mode) for path in folder.glob("below-*")] == [0o600]
        reports, end = go_on(session, answer, "add")
        assert (len(reports), end["exit_code"]) == (1, 0)
        assert "1 passed" in session.output()
        wait_until(lambda: not list(folder.glob("below-*")))


def test_a_childs_report_keeps_to_the_fields_and_budget_of_the_call(session: Session, program: Write) -> None:
    path = program(
        """
        import os
        if os.fork() == 0:
            text = "x" * 5000
            os._exit(0)  # @child
        os.wait()
        """
    )
    session.break_at(path, "child")
    answer = session.launch(path, debug_subprocesses=True, fields=["source"], budget=1500, wait=60)
    report = answer["child_report"]
    assert "locals" not in report and any(row["line"] == line_of(path, "child") for row in report["source"])
    assert len(str(answer)) < 2000
    again = session.get("/report")
    assert again["paused_children"] == [report["session_id"]] and "child_report" not in again


def test_python_is_debugged_however_a_script_starts_it(api: Api, tmp_path: Path) -> None:
    """And sees what it would see without a debugger; the others run as ever."""
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    tool = tmp_path / "tool"
    tool.write_text("#!/usr/bin/env python3\nimport runpy\nrunpy.run_path('worker.py', run_name='tool')\n")
    old = next(iter(pythons("3.8").values()))
    script = tmp_path / "run"
    script.write_text(
        f"""#!/bin/bash
set -e
PYTHONPATH=lib:$PYTHONPATH python3 worker.py "a b" ''
env python3 -m worker
bash -c 'echo shell; exec {old} -X dev worker.py old'
./tool
printf 'print("from stdin")' | python3 -
python3 -I -c 'print("isolated")'
python3 --version
exit 3
"""
    )
    for file in (tool, script):
        file.chmod(0o755)
    plain_path = os.pathsep.join((os.path.join(sys.prefix, "bin"), os.environ["PATH"]))
    plain = subprocess.run([script], cwd=tmp_path, env={"PATH": plain_path}, capture_output=True, text=True, timeout=60)
    with api.session(project_root=str(tmp_path), venv=sys.prefix) as session:
        session.break_at(worker, "work")
        answer = session.launch(program="./run", wait=60)
        reports, end = go_on(session, answer, "work")
        assert (len(reports), end["exit_code"], plain.returncode) == (4, 3, 3)
        assert session.output() == plain.stdout
        assert session.output("stderr") == plain.stderr == ""
        spawned = [event["body"] for event in session.events("subprocess_spawned")]
        assert [body["command"].partition(" ")[2] for body in spawned[:2]] == ["worker.py a b ", "-m worker"]


def test_what_python_starts_by_way_of_a_shell_is_debugged(session: Session, program: Write) -> None:
    child = program("import sys\ndef work():\n    return sys.argv[1]  # @work\nprint(work(), flush=True)\n", "child.py")
    path = program(
        """
        import os, subprocess, sys
        command = f"{sys.executable} {sys.argv[1]}"
        subprocess.run(f"{command} run; true", shell=True)
        os.system(f"{command} system; true")
        print(os.popen(f"{command} popen").read(), end="", flush=True)
        os.spawnlp(os.P_WAIT, "sh", "sh", "-c", f"{command} spawn; true")
        subprocess.run([sys.executable, "-c", f"import os; os.system('{command} deep; true')"])
        print("PYTHONPATH" in os.environ, "OPENCODE_DEBUG_BELOW" in os.environ, flush=True)
        os.system("echo $OPENCODE_DEBUG_BELOW | wc -l")
        """
    )
    session.break_at(child, "work")
    answer = session.launch(path, args=[str(child)], debug_subprocesses=True, wait=60, python_path=sys.executable)
    reports, end = go_on(session, answer, "work")
    assert end["exit_code"] == 0
    assert session.output().split() == ["run", "system", "popen", "spawn", "deep", "False", "False", "1"]
    parents = [session.api.get(f"/sessions/{report['session_id']}")["parent_session_id"] for report in reports]
    assert [parent == session.id for parent in parents] == [True, True, True, True, False]
    shell = next(event["body"] for event in session.events("subprocess_spawned") if event["body"]["session_id"] is None)
    assert shell["message"].endswith("it is a shell; Python programs that it starts are debugged.")


def test_without_child_debugging_a_script_runs_freely(api: Api, tmp_path: Path) -> None:
    script = tmp_path / "free.sh"
    script.write_text("echo $PYTHONPATH$OPENCODE_DEBUG_BELOW; read name; echo hello $name; exit 4\n")  # no first line
    script.chmod(0o755)
    with api.session(project_root=str(tmp_path)) as session:
        freely: dict[str, Any] = {"program": "free.sh", "debug_subprocesses": False, "env": {"PYTHONPATH": ""}}
        refusal(400, "INVALID_PARAMETER", session.launch, **freely, python_path="/no/such/python")
        ignored = {"stop_on_entry": True, "python_args": ["-u"], "python_path": sys.executable}
        ignored |= {"just_my_code": True, "stop_scope": "thread"}
        waits = session.launch(**freely, **ignored, wait=60)
        assert waits["waiting_for_input"] == {"prompt": ""}
        assert "runs without a debugger" in waits["warnings"][0]
        assert [text.partition(" has no effect")[0] for text in waits["warnings"][1:]] == list(ignored)
        assert session.post("/stdin", {"input": "you\n", "wait": 60})["exit_code"] == 4
        assert session.output() == "\nhello you\n"
        again = session.post("/restart", {"wait": 60})
        assert again["waiting_for_input"] == {"prompt": ""}
        assert session.post("/terminate")["reason"] == "terminated"


# What a program is, before anything runs.


def found(
    program: str, *args: str, folder: Path, path: Path | str = os.defpath, **wants: Any
) -> program_kinds.FoundProgram:
    how = {"wants_native": False, "wants_children": None, **wants}
    return program_kinds.find_program(program, list(args), str(folder), str(path), **how)


def test_each_kind_of_program_is_told_apart(tmp_path: Path) -> None:
    bin = tmp_path / "bin"
    bin.mkdir()
    long_python = "'''exec' \"/a path/python3\" -E \"$0\" \"$@\"\n' '''"
    files = {
        "pytest": f"#!{sys.executable} -s\n",
        "installed": f"#!/bin/sh\n{long_python}\n",
        "split": "#!/usr/bin/env -S python3 -u\n",
        "run": "#!/bin/bash\n",
        "plain": "echo\n",
    }
    for name, text in files.items():
        (bin / name).write_text(text)
        (bin / name).chmod(0o755)
    (bin / "python3").symlink_to(sys.executable)
    (tmp_path / "pytest").write_text("#!/bin/sh\nfalse\n")  # not what is meant by the name
    (tmp_path / "code.py").write_text("")

    def told(*words: str, **wants: Any) -> tuple[str, str, list[str], str | None, list[str]]:
        one = found(*words, folder=tmp_path, path=f"{bin}:{os.defpath}", **wants)
        return one.kind, os.path.basename(one.target), one.args, one.interpreter, one.interpreter_args

    assert told("pytest", "-q") == ("file", "pytest", ["-q"], sys.executable, ["-s"])
    assert told("installed") == ("file", "installed", [], "/a path/python3", ["-E"])
    assert told("split") == ("file", "split", [], str(bin / "python3"), ["-u"])
    assert told("code.py") == ("file", "code.py", [], None, [])
    python = str(bin / "python3")
    assert told("python3", "-u", "code.py", "x") == ("file", "code.py", ["x"], python, ["-u"])
    assert told("python3", "-m", "http.server") == ("module", "http.server", [], python, [])
    assert told("python3", "-m", "x", wants_native=True)[0] == "program"
    assert told("run")[0] == told("plain")[0] == told("make")[0] == told("sh")[0] == "command"
    make = shutil.which("make", path=os.defpath) or ""
    assert told(make)[0] == "program" and told(make, wants_children=True)[0] == "command"
    assert found("plain", folder=tmp_path, path=bin).command == ["/bin/sh", str(bin / "plain")]


def test_what_cannot_be_started_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"\0\1\2")
    (tmp_path / "not-marked").write_text("#!/bin/sh\n")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    first_lines = {
        "lost": b"#! /no/such/shell -e",
        "kept": b"#!./data",
        "windows": b"#!/bin/sh\r",
        "nobody": b"#! ",
        "here": b"#!./shell\t-e",
    }
    for name, line in first_lines.items():
        (tmp_path / name).write_bytes(line + b"\nexit\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "shell").symlink_to("/bin/sh")
    assert found("./here", folder=tmp_path).command == [str(tmp_path / "here")]
    for name, code, said in (
        ("data", "INVALID_PARAMETER", "neither a native executable"),
        ("not-marked", "INVALID_PARAMETER", "is not executable"),
        ("main.c", "INVALID_PARAMETER", "is source that is compiled"),
        ("/proc/self/mem", "INVALID_PARAMETER", "cannot be read"),
        ("./lost", "INVALID_PARAMETER", "names '/no/such/shell', which does not exist"),
        ("./kept", "INVALID_PARAMETER", "names './data', which is not executable"),
        ("./windows", "INVALID_PARAMETER", r"names '/bin/sh\r', which does not exist"),
        ("./nobody", "INVALID_PARAMETER", "names no interpreter"),
        ("no_such_command", "LAUNCH_SCRIPT_NOT_FOUND", "does not exist"),
    ):
        with pytest.raises(RelayError) as error:
            found(name, folder=tmp_path)
        assert (error.value.code, said in error.value.message) == (code, True), error.value.message
        assert error.value.details["suggestion"]


@pytest.mark.parametrize("python", pythons("3.8", "3.11", "3.13").values(), ids=str)
def test_a_python_that_is_not_debugged_finds_its_own_sitecustomize(tmp_path: Path, python: Path) -> None:
    """There is no session to call: the program runs as if nothing of ours were there."""
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.mine = 1\n")
    code = "import sys, sitecustomize; print(mine, sitecustomize.__file__, sys.path[1] == sys.argv[1], sys.argv[2:])"
    paths = os.pathsep.join((str(BELOW), str(tmp_path)))
    env = {"PYTHONPATH": paths, "OPENCODE_DEBUG_BELOW": str(tmp_path / "gone.json")}
    done = subprocess.run([python, "-c", code, tmp_path, "x"], env=env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"1 {tmp_path / 'sitecustomize.py'} True ['x']\n", "")
    alone = subprocess.run(
        [python, "-c", "print('up')"], env={**env, "PYTHONPATH": str(BELOW)}, capture_output=True, text=True, timeout=60
    )
    assert (alone.stdout, alone.stderr) == ("up\n", "")


def test_a_program_can_start_itself_again_by_its_command_line(session: Session, program: Write) -> None:
    """As the reloaders of flask and django do: each debugged, or none."""
    path = program(
        """
        import os, subprocess, sys
        print(sys.orig_argv[1:], flush=True)
        if "AGAIN" not in os.environ:
            command = [sys.executable, *sys.orig_argv[1:]]
            sys.exit(subprocess.run(command, env={**os.environ, "AGAIN": "1"}).returncode)
        """
    )
    for wanted in ({"debug_subprocesses": True}, {}):
        end = session.launch(path, args=["-x", ""], python_args=["-W", "error"], python_path=sys.executable, **wanted)
        assert (end["exit_code"], session.output("stderr")) == (0, "")
    assert session.output().splitlines() == [str(["-W", "error", str(path), "-x", ""])] * 4


# Once more in the same session.


def test_a_session_whose_program_has_ended_launches_another(session: Session, program: Write, tmp_path: Path) -> None:
    first = program("import sys\ncode = 3\nsys.exit(code)  # @exit\n", "first.py")
    second = program("value = 2\nprint(value)  # @print\n", "second.py")
    session.break_at(first, "exit")
    (kept,) = session.break_at(second, "print")
    assert session.launch(first)["status"] == "paused"
    error = refusal(409, "INVALID_SESSION_STATE", session.launch, second)
    assert "POST /sessions/{id}/terminate" in error.details["suggestion"]
    assert session.resume()["exit_code"] == 3
    (tmp_path / "wrong.py").write_text("x = = 1\n")
    refusal(400, "LAUNCH_SYNTAX_ERROR", session.launch, tmp_path / "wrong.py")
    assert (session.get()["status"], session.get()["exit_code"]) == ("terminated", 3)
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"\x7fELF" + b"\xff" * 100)
    foreign.chmod(0o755)
    before = session.get()
    refusal(400, "LAUNCH_FAILED", session.launch, program=str(foreign), stop_on_entry=True)
    by_name = {"program": "foreign", "env": {"PATH": str(tmp_path)}}
    assert "Exec format error" in refusal(400, "LAUNCH_FAILED", session.launch, **by_name).message
    assert "too long" in refusal(400, "LAUNCH_FAILED", session.launch, second, args=["é" * 100_000]).message
    after = session.get()
    assert {name for name in before if before[name] != after[name]} <= {"expires_at"}
    at = {"file": str(second), "line": 1, "condition": "x =="}
    refusal(400, "BREAKPOINT_INVALID_CONDITION", session.post, "/breakpoints", at)
    assert session.post("/restart", {"wait": 60})["status"] == "paused"
    assert session.resume()["exit_code"] == 3
    stop = session.launch(second)
    assert (stop["hit_breakpoint_ids"], stop["previous"]["exit_code"]) == ([kept["id"]], 3)
    assert session.get()["program"]["script"] == str(second)
    assert session.resume()["exit_code"] == 0
    assert session.output() == "2\n"
    assert session.post("/restart", {"wait": 60})["status"] == "paused"
    session.post("/terminate")
    answer = session.launch(program="sh", args=["-c", "exit 5"])
    assert (answer["exit_code"], answer["previous"]["reason"]) == (5, "terminated")
