"""The environment of a project is found by itself, and answers say which Python it was and why."""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from relays import Api, Session

from opencode_debugger.debuggers.python.interpreters import project_environment


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With an environment of its own, which has a module that no other has."""
    folder = tmp_path_factory.mktemp("project")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True, timeout=60)
    (site,) = folder.glob(".venv/lib/python*/site-packages")
    (site / "only_here.py").write_text("value = 6 * 7\n")
    inner = folder / "src" / "shop"
    inner.mkdir(parents=True)
    (inner / "main.py").write_text("import os, only_here\nprint(only_here.value, os.environ['VIRTUAL_ENV'])\n")
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Callable[[str | Path], Path]:
    """Makes what looks like an environment: nothing of it is run."""

    def make(name: str | Path) -> Path:
        folder = tmp_path / name
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").symlink_to(sys.executable)
        (folder / "pyvenv.cfg").touch()
        return folder

    return make


def paths(folder: Path) -> list[str]:
    return [found.path for found in project_environment.find_all(str(folder))]


def test_a_launch_runs_in_the_environment_of_its_project(api: Api, project: Path) -> None:
    script, python = project / "src" / "shop" / "main.py", str(project / ".venv/bin/python")
    for options in ({"project_root": str(project / "src")}, {}):
        with api.session(**options) as session:
            end = session.launch(script)
            assert (end["exit_code"], session.output()) == (0, f"42 {project / '.venv'}\n"), session.output(None)
            assert end["program"]["interpreter"] == python
            assert end["program"]["interpreter_reason"] == f".venv in {project}"
            assert session.get()["program"] == end["program"]


def test_another_python_is_used_if_asked_for_and_a_missing_module_names_both(api: Api, project: Path) -> None:
    script = project / "src" / "shop" / "main.py"
    with api.session(project_root=str(project)) as session:
        stop = session.launch(script, python_path=sys.executable)
        assert (stop["status"], stop["exception"]["type"]) == ("paused", "ModuleNotFoundError")
        for word in (sys.executable, "python_path of the launch", f"{project / '.venv'} (which has it)"):
            assert word in stop["note"]
        assert stop["program"]["interpreter"] == sys.executable
    with api.session(project_root=str(project), python_path=sys.executable) as session:
        end = session.launch(None, module="only_here")
        assert (end["exit_code"], end["program"]["interpreter_reason"]) == (1, "python_path of the session")
        assert "only_here was not found" in end["note"] and str(project / ".venv") in end["note"]


def test_without_an_environment_the_default_is_used_and_said(api: Api, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import not_there_at_all\n")
    with api.session(project_root=str(tmp_path)) as session:
        end = session.launch(tmp_path / "main.py", stop_on_exception=False)
        assert f"no environment was found in or above {tmp_path}" in end["program"]["interpreter_reason"]
        assert "not_there_at_all was not found" in end["note"] and "install it there" in end["note"]


def test_a_missing_module_is_told_of_the_run_that_missed_it(api: Api, project: Path) -> None:
    (project / "fails.py").write_text("raise SystemExit(3)\n")
    with api.session(project_root=str(project), python_path=sys.executable) as session:
        assert "only_here was not found" in session.launch(None, module="only_here")["note"]
        end = session.launch(project / "fails.py")
        assert (end["exit_code"], end.get("note")) == (3, None)


def test_the_nearest_environment_comes_first_and_a_repository_ends_the_search(
    tmp_path: Path, environment: Callable[[str | Path], Path]
) -> None:
    outer, middle, inner = environment("env"), environment("a/venv"), environment("a/b/.venv")
    assert paths(tmp_path / "a" / "b") == [str(inner), str(middle), str(outer)]
    (tmp_path / "a" / ".git").mkdir()
    assert paths(tmp_path / "a" / "b") == [str(inner), str(middle)]
    (tmp_path / "a" / "b" / ".venv" / "pyvenv.cfg").unlink()  # a folder that only has a bin/python
    assert paths(tmp_path / "a" / "b") == [str(middle)]


def test_what_others_can_write_to_is_not_taken(tmp_path: Path, environment: Callable[[str | Path], Path]) -> None:
    shared = environment("shared/.venv").parent
    (shared / "mine").mkdir()
    assert paths(shared / "mine") == [str(shared / ".venv")]
    shared.chmod(0o777)
    assert paths(shared / "mine") == []


def test_environments_of_poetry_pipenv_uv_and_the_terminal(
    tmp_path: Path, environment: Callable[[str | Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / ".git").mkdir()

    def hashed(path: Path) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(os.fsencode(path)).digest()).decode()[:8]

    terminal = environment("terminal")
    monkeypatch.setenv("VIRTUAL_ENV", str(terminal))
    assert paths(folder) == [str(terminal)]
    monkeypatch.setenv("WORKON_HOME", str(tmp_path / "pipenv"))
    (folder / "Pipfile").touch()
    pipenv = environment(f"pipenv/shop-{hashed(folder / 'Pipfile')}")
    assert paths(folder) == [str(pipenv), str(terminal)]
    monkeypatch.setenv("POETRY_VIRTUALENVS_PATH", str(tmp_path / "poetry"))
    (folder / "pyproject.toml").write_text('[tool.poetry]\nname = "My Shop"\n')
    poetry = environment(f"poetry/my_shop-{hashed(folder)}-py3.11")
    assert paths(folder) == [str(poetry), str(pipenv), str(terminal)]
    monkeypatch.setenv("UV_PROJECT_ENVIRONMENT", "../uv")
    (folder / "uv.lock").touch()
    environment("uv")
    assert paths(folder)[0] == str(tmp_path / "uv")


def test_a_session_lives_in_the_environment_that_its_client_sends(api: Api, project: Path, tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "greet"
    tool.parent.mkdir()
    tool.write_text(f"#!{sys.executable}\nimport os\nprint(sorted(os.environ.keys() - {{'LC_CTYPE'}}))\n")
    tool.chmod(0o755)
    sent = {"PATH": f"{tool.parent}:/usr/bin:/bin", "VIRTUAL_ENV": str(project / ".venv"), "OPENCODE_DEBUG_PORT": "1"}
    with api.session(environment=sent, project_root=str(tmp_path)) as session:
        end = session.launch(program="greet")
        assert end["exit_code"] == 0, session.output(None)
        names = set(ast.literal_eval(session.output()))
        assert {"PATH", "VIRTUAL_ENV"} <= names
        assert not names & {"HOME", "USER", "OPENCODE_DEBUG_PORT"}
        assert "environment" not in str(session.get()).replace("environments", "")
        with Session(api, session.post("/clone")["session_id"]) as clone:
            clone.launch(code="import os; print(os.environ['VIRTUAL_ENV'], 'HOME' in os.environ)")
            assert clone.output() == f"{project / '.venv'} False\n"
            assert str(tool.parent) not in str(clone.get("/export", include_env="true"))
        end = session.launch(code="import only_here; print(only_here.value)")
        assert end["program"]["interpreter"] == str(project / ".venv/bin/python"), end
    with api.session() as session:  # the next one has the relay's again
        session.launch(code="import os; print(os.environ['HOME'])")
        assert session.output() == os.environ["HOME"] + "\n"
