"""Projects as they are: environments, folders to import from, symlinks, odd names, programs that move about."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, pythons, refusal

FEW = pythons("3.8", "3.11", "3.12", "3.13")
OLD_AND_NEW = pythons("3.8", "3.13")
EITHER = [
    *(pytest.param(version, marks=pytest.mark.wide) for version in [*OLD_AND_NEW][:-1]), *[*OLD_AND_NEW][-1:]
]
"""For what is the same for both."""

ABOUT = """
import json
import os
import shutil
import sys

names = ("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONHOME", "PYTHONPATH", "MINE")
about = {name: os.environ.get(name) for name in names}
about.update(executable=sys.executable, prefix=sys.prefix, first=os.environ["PATH"].split(":")[0])
about.update(python=shutil.which("python"), path=sys.path)
print(json.dumps(about))
"""


def about(session: Session, path: Path, **options: Any) -> dict[str, Any]:
    assert session.launch(path, **options)["exit_code"] == 0, session.output(None)
    found: dict[str, Any] = json.loads(session.output())
    return found


@pytest.fixture(params=[
    pytest.param(path, id=version, marks=[] if version == [*FEW][-1] else pytest.mark.wide)
    for version, path in FEW.items()
])
def python(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


# Environments.


@pytest.fixture(scope="module", params=OLD_AND_NEW.values(), ids=OLD_AND_NEW.keys())
def venv(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made on the spot, with a module that only it has."""
    folder = tmp_path_factory.mktemp("with venv") / "my venv"
    subprocess.run([request.param, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "only_here.py").write_text("value = 'from the venv'\n")
    return folder


@pytest.fixture
def conda(tmp_path: Path) -> Path:
    folder = tmp_path / "envs" / "science"
    (folder / "bin").mkdir(parents=True)
    (folder / "conda-meta").mkdir()
    (folder / "bin" / "python").symlink_to(next(iter(pythons("3.12").values())))
    return folder


def test_a_venv_is_activated_for_a_launch(session: Session, venv: Path, program: Callable[..., Path]) -> None:
    path = program(f"import only_here  # @import\nassert only_here.value\n{ABOUT}")
    session.break_at(path, 2)
    stop = session.launch(path, venv=str(venv), env={"MINE": "1"})
    assert (stop["status"], session.evaluate("only_here.value")["result"]) == ("paused", "'from the venv'")
    assert session.resume()["exit_code"] == 0
    found = json.loads(session.output())
    assert (found["VIRTUAL_ENV"], found["prefix"], found["first"]) == (str(venv), str(venv), str(venv / "bin"))
    assert (found["executable"], found["python"]) == (str(venv / "bin/python"), str(venv / "bin/python"))
    assert (found["CONDA_PREFIX"], found["PYTHONHOME"], found["MINE"]) == (None, None, "1")


def test_a_venv_of_the_session_is_found_from_the_project(api: Api, venv: Path, program: Callable[..., Path]) -> None:
    path = program(ABOUT)
    with api.session(project_root=str(venv.parent), venv="my venv") as session:
        config = session.get()["config"]
        assert (config["venv"], config["python_path"]) == (str(venv), str(venv / "bin/python"))
        assert about(session, path)["VIRTUAL_ENV"] == str(venv)
    with api.session(venv=str(venv)) as session:  # a launch's own choice comes first, and is not activated
        found = about(session, path, python_path=sys.executable)
        assert found["executable"] == sys.executable
        assert found["VIRTUAL_ENV"] == os.environ.get("VIRTUAL_ENV")


def test_a_conda_prefix_is_activated(session: Session, conda: Path, program: Callable[..., Path]) -> None:
    found = about(session, program(ABOUT), venv=str(conda), env={"PATH": "/usr/bin:/bin"})
    assert (found["CONDA_PREFIX"], found["CONDA_DEFAULT_ENV"]) == (str(conda), "science")
    assert (found["VIRTUAL_ENV"], found["first"]) == (None, str(conda / "bin"))
    assert (found["executable"], found["python"]) == (str(conda / "bin/python"), str(conda / "bin/python"))


def test_what_is_no_environment_is_refused_with_what_to_do(
    session: Session, conda: Path, tmp_path: Path, program: Callable[..., Path]
) -> None:
    path = program("print('ran')")
    (tmp_path / "project").mkdir()
    shutil.copytree(conda, tmp_path / "project" / ".venv", symlinks=True)
    for given, said, advice in (
        (tmp_path / "none", "is not an existing folder", "-m venv"),
        (path, "is a file, not a folder", "folder"),
        (conda / "bin/python", "is a file, not a folder", f"Use venv {conda}"),
        (tmp_path / "envs", "has no Python in it", "bin/python"),
        (tmp_path / "project", "has no Python in it", str(tmp_path / "project/.venv")),
    ):
        error = refusal(400, "INVALID_PARAMETER", session.launch, path, venv=str(given))
        assert error.details["parameter"] == "venv"
        assert said in error.message and advice in error.details["suggestion"]
    both = {"venv": str(conda), "python_path": "python3"}
    error = refusal(400, "INVALID_REQUEST", session.launch, path, **both)
    assert error.details["errors"][0]["message"] == "Give venv or python_path, not both"
    refusal(400, "INVALID_REQUEST", session.api.session, **both)
    hint = refusal(400, "INVALID_PARAMETER", session.launch, path, python_path=str(conda))
    assert str(conda / "bin/python") in hint.details["suggestion"]
    assert session.launch(path)["exit_code"] == 0


# Imports.


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package with relative imports, next to folders with modules of their own."""
    folder = tmp_path / "my prøject"
    for name, text in {
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/base.py": "def base(n):\n    return n + 1  # @base\n",
        "pkg/sub/mod.py": "from ..base import base\nfrom . import near\n\nprint(__name__, base(1), near.value)\n",
        "pkg/sub/near.py": "value = 'near'\n",
        "lib one/shared.py": "value = 'one'\n",
        "lib2/shared.py": "value = 'two'\n",
        "lib2/other.py": "def twice(n):\n    return n * 2  # @twice\n",
        "main.py": "import shared, other\n\nprint(shared.value, other.twice(4))\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_pythonpath_comes_first_and_stops_in_its_modules(api: Api, project: Path, python: Path) -> None:
    with api.session(project_root=str(project), python_path=str(python)) as session:
        session.break_at(project / "lib2/other.py", "twice")
        stop = session.launch(
            Path("main.py"), pythonpath=["lib one", str(project / "lib2")], env={"PYTHONPATH": "/somewhere/else"}
        )
        assert stop["current_location"]["path"] == str(project / "lib2/other.py")
        paths = session.evaluate("__import__('os').environ['PYTHONPATH']")["result"]
        assert paths == repr(f"{project / 'lib one'}:{project / 'lib2'}:/somewhere/else")
        assert session.resume()["exit_code"] == 0
        assert session.output() == "one 8\n"
    options = {"python_path": str(python), "pythonpath": ["lib2", "lib one"], "restore_breakpoints": False}
    with api.session(project_root=str(project), **options) as session:
        assert session.launch(Path("main.py"))["exit_code"] == 0
        assert session.output() == "two 8\n"


def test_folders_to_import_from_must_exist(session: Session, project: Path) -> None:
    refused = {"script": str(project / "main.py"), "cwd": str(project), "pythonpath": ["lib2", "nolib"]}
    error = refusal(400, "INVALID_PARAMETER", session.post, "/launch", refused)
    assert error.details["parameter"] == "pythonpath[1]" and str(project / "nolib") in error.message
    odd = project / "a:b"
    odd.mkdir()
    refusal(400, "INVALID_PARAMETER", session.post, "/launch", {**refused, "pythonpath": ["a:b"]})
    refusal(400, "INVALID_PARAMETER", session.api.session, pythonpath=["relative"])
    assert session.get()["status"] == "created"


def test_a_module_with_relative_imports_runs_in_its_folder(api: Api, project: Path, python: Path) -> None:
    with api.session(python_path=str(python)) as session:
        session.break_at(project / "pkg/base.py", "base")
        stop = session.launch(module="pkg.sub.mod", cwd=str(project))
        assert stop["current_location"]["path"] == str(project / "pkg/base.py")
        frames = [frame["source"]["path"] for frame in session.get("/stacktrace")["frames"]][:2]
        assert frames == [str(project / "pkg/base.py"), str(project / "pkg/sub/mod.py")]
        assert session.resume()["exit_code"] == 0
        assert session.output() == "__main__ 2 near\n"


# Programs that move about.


def test_a_program_that_changes_its_directory(api: Api, project: Path, tmp_path: Path, python: Path) -> None:
    """Relative paths of requests mean the folder where it was started, before and after."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "helper.py").write_text("raise SystemExit('the wrong one')\n")
    (project / "helper.py").write_text("def help():\n    here = 1  # @here\n    return here\n")
    (project / "moving.py").write_text(
        "import os, sys\nsys.path.insert(0, 'lib2')\nimport other\n\nos.chdir(sys.argv[1])\n"
        "import helper\n\nhelper.help()  # @first\nother.twice(1)\nprint('done')  # @last\n"
    )
    with api.session(project_root=str(project), python_path=str(python)) as session:
        for file, marker in (("helper.py", "here"), ("moving.py", "first"), ("lib2/other.py", "twice")):
            placed = session.post("/breakpoints", {"file": file, "line": line_of(project / file, marker)})
            assert placed["verified"] is True
        stop = session.launch(Path("moving.py"), args=[str(elsewhere)])
        assert stop["current_location"]["path"] == str(project / "moving.py")
        assert session.evaluate("os.getcwd()")["result"] == repr(str(elsewhere))
        placed = session.post("/breakpoints", {"file": "moving.py", "line": line_of(project / "moving.py", "last")})
        assert placed["breakpoints"][0]["source"]["path"] == str(project / "moving.py")
        for path in ("helper.py", "lib2/other.py", "moving.py"):
            stop = session.resume()
            assert (stop["status"], stop["current_location"]["path"]) == ("paused", str(project / path))
            assert stop["source"], "its text is found, too"
        assert session.resume()["exit_code"] == 0
        assert session.get("/breakpoints", file="helper.py")["breakpoints"][0]["hit_count"] == 1


# Links and names.


@pytest.fixture
def linked(project: Path, tmp_path: Path) -> Path:
    link = tmp_path / "link"
    link.symlink_to(project, target_is_directory=True)
    (project / "program.py").write_text("import helper\n\nhelper.help()\nprint('end')  # @end\n")
    (project / "helper.py").write_text("def help():\n    here = 1  # @here\n    return here\n")
    return link


@pytest.mark.parametrize("version", EITHER)
def test_breakpoints_hit_through_the_link_and_through_the_folder(
    api: Api, project: Path, linked: Path, version: str
) -> None:
    for broken, run, kind in ((linked, project, "script"), (project, linked, "module"), (linked, linked, "script")):
        with api.session(python_path=str(OLD_AND_NEW[version])) as session:
            session.break_at(broken / "helper.py", "here")
            what: dict[str, Any] = {"module": "program"} if kind == "module" else {"script": str(run / "program.py")}
            stop = session.launch(**what, cwd=str(run))
            assert stop["hit_breakpoint_ids"] == ["bp_1"]
            assert stop["current_location"]["path"] == str(broken / "helper.py"), "as the breakpoint has it"
            frames = session.get("/stacktrace")["frames"]
            assert frames[1]["source"]["path"] == str(run / "program.py"), "as the launch has it"
            assert frames[0]["module_name"] == "helper"
            assert session.resume()["exit_code"] == 0
            (row,) = session.get("/breakpoints", file=str(project / "helper.py"))["breakpoints"]
            assert (row["hit_count"], row["source"]["path"]) == (1, str(broken / "helper.py"))


def test_paths_are_answered_as_the_project_is_spelled(api: Api, linked: Path) -> None:
    with api.session(project_root=str(linked)) as session:
        session.post("/breakpoints", {"file": "program.py", "line": 3})
        session.launch(Path("program.py"))
        step = session.step("into")
        assert step["current_location"]["path"] == str(linked / "helper.py")
        assert session.get()["current_location"]["path"] == str(linked / "helper.py")


@pytest.fixture(params=["spaces in it", "ünï çødé 中文", "quotes ' and \" ", "$HOME;&*(x)"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / str(request.param)
    folder.mkdir()
    yield folder


@pytest.mark.parametrize("version", OLD_AND_NEW)
def test_odd_names_of_files_and_folders(api: Api, odd: Path, version: str) -> None:
    path = odd / f"{odd.name[:8]} main.py"
    (odd / "hëlper.py").write_text("def hëlp(wörd):\n    return wörd * 2  # @here\n", encoding="utf-8")
    text = "import hëlper, sys\n\nprint(hëlper.hëlp(sys.argv[1]))\n"
    path.write_text(text, encoding="utf-8")
    with api.session(project_root=str(odd), python_path=str(OLD_AND_NEW[version])) as session:
        session.break_at(odd / "hëlper.py", "here")
        stop = session.launch(Path(path.name), args=["ä b"], env={"PYTHONIOENCODING": "utf-8"})
        assert stop["current_location"]["path"] == str(odd / "hëlper.py")
        assert stop["current_location"]["function"] == "hëlp"
        assert session.locals() == {"wörd": "'ä b'"}
        assert session.resume()["exit_code"] == 0
        assert session.output() == "ä bä b\n"
