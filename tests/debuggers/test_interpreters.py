"""Programs run as they would without the relay, on every interpreter and however they are started."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import RUN_MARKER, Api, Session, line_of, pythons

PYTHONS = pythons()
FEW = pythons("3.8", "3.11", "3.13")
TUNNEL = ("DEBUG_SESSION_URI", "DEBUG_SESSION_TOKEN")
OWN = ("OPENCODE_DEBUG_SESSION", "PYTHONUNBUFFERED", "PYTEST_CURRENT_TEST", RUN_MARKER, *TUNNEL)

EVERYTHING = """
import sys


def total(items):
    result = 0
    for item in items:
        result += item  # @add
    return result  # @return


print("begin", sys.version_info[:2])
print(total([1, 2, 3]))
print("to stderr", file=sys.stderr)
try:
    {}["missing"]
except KeyError:
    pass
raise ValueError("at the end")  # @raise
"""

ABOUT = """
import json
import os
import sys

OBSERVED = "__main__", "program", "about", "xmlrpc", "http", "ssl"
if __name__ == "__main__":
    about = {
        "argv": sys.argv,
        "path": sys.path,
        "file": globals().get("__file__"),
        "name": __name__,
        "package": __package__ or None,
        "cwd": os.getcwd(),
        "environ": dict(os.environ),
        "optimize": sys.flags.optimize,
        "utf8": sys.flags.utf8_mode,
        "warnings": sys.warnoptions,
        "debug": __debug__,
        "stdout": [sys.stdout.encoding, sys.stdout.errors],
        "modules": sorted(name for name in sys.modules if name.split(".")[0] in OBSERVED),
        "rpc": __import__("xmlrpc.server").server.SimpleXMLRPCServer.__module__,
        "globals": sorted(name for name in globals() if not name.startswith("__") and name != "about"),
        "spec": str(__spec__ and __spec__.name),
        "trace": sys.excepthook is sys.__excepthook__,
        "executable": sys.executable,
    }
    print(json.dumps(about))
"""


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def python(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(params=FEW.values(), ids=FEW.keys())
def a_few(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(
    params=[
        pytest.param(path, id=version, marks=[] if version == list(FEW)[-1] else pytest.mark.wide)
        for version, path in FEW.items()
    ]
)
def newest(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture
def any_python() -> Path:
    return PYTHONS.get("3.11", Path(sys.executable))


@pytest.fixture
def here(api: Api, any_python: Path) -> Iterator[Session]:
    with api.session(python_path=str(any_python)) as session:
        yield session


def plain(
    python: Path, *command: str | Path, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """The same without the relay."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **env}
    return subprocess.run([python, *command], capture_output=True, cwd=cwd, env=environment, timeout=30, check=False)


def assert_same_run(session: Session, end: dict[str, Any], expected: subprocess.CompletedProcess[bytes]) -> None:
    assert (end["status"], end["exit_code"]) == ("terminated", expected.returncode)
    assert session.output("stdout") == expected.stdout.decode("utf-8", "backslashreplace")
    assert session.output("stderr") == expected.stderr.decode("utf-8", "backslashreplace")
    assert session.output("console") == ""


def test_everything_works_on_every_version(api: Api, python: Path, program: Callable[..., Path]) -> None:
    path = program(EVERYTHING)
    with api.session(python_path=str(python)) as session:
        session.break_at(path, "add", condition="item == 2")
        session.break_at(path, "return", log_message="result is {result!r:>3}")
        stop = session.launch(path)
        assert stop["current_location"]["line"] == line_of(path, "add")
        assert stop["hit_breakpoint_ids"] == ["bp_1"]
        assert session.locals() == {"items": "[1, 2, 3]", "result": "1", "item": "2"}
        assert session.evaluate("[x * 2 for x in items if x != item]")["result"] == "[2, 6]"
        assert session.evaluate("result = 100")["result"] == ""
        step = session.step("over")
        assert step["current_location"]["line"] == line_of(path, "add") - 1
        assert session.locals()["result"] == "102"
        names = [frame["name"] for frame in session.get("/stacktrace")["frames"]]
        assert names == ["total", "<module>"]
        caught = session.resume()
        assert (caught["status"], caught["stop_reason"]) == ("paused", "exception")
        assert caught["current_location"]["line"] == line_of(path, "raise")
        assert (caught["exception"]["type"], caught["exception"]["message"]) == ("ValueError", "at the end")
        assert [row["hit_count"] for row in session.get("/breakpoints")["breakpoints"]] == [1, 1]
        end = session.resume()
        assert (end["status"], end["exit_code"]) == ("terminated", 1)
        assert session.output("console") == "result is 105\n"
        alone = plain(python, path)
        assert session.output("stdout") == alone.stdout.decode().replace("6\n", "105\n")
        assert session.output("stderr") == alone.stderr.decode()


def test_a_program_sees_what_it_would_see_alone(api: Api, a_few: Path, program: Callable[..., Path]) -> None:
    path = program(ABOUT)
    with api.session(python_path=str(a_few)) as session:
        assert session.launch(path, args=["one", "--two"], cwd=str(path.parent))["exit_code"] == 0
        about = json.loads(session.output())
    expected = json.loads(plain(a_few, path, "one", "--two", cwd=path.parent).stdout)
    for mine in (about, expected):
        for name in OWN:
            mine["environ"].pop(name, None)
    assert set(about["environ"].items()) ^ set(expected["environ"].items()) == set()
    assert about == expected


def test_a_venv_without_debugpy_is_enough(api: Api, tmp_path: Path, program: Callable[..., Path]) -> None:
    venv = tmp_path / "a venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=60)
    (package,) = venv.glob("lib/python*/site-packages")
    (package / "only_here.py").write_text("value = 'from the venv'\n")
    path = program(
        """
        import sys

        import only_here

        print(only_here.value, sys.prefix)  # @print
        """
    )
    with api.session(python_path=str(venv / "bin" / "python")) as session:
        session.break_at(path, "print")
        assert session.launch(path)["status"] == "paused"
        assert session.evaluate("only_here.value")["result"] == "'from the venv'"
        assert session.resume()["exit_code"] == 0
        assert session.output() == f"from the venv {venv}\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a package in it that can be run."""
    folder = tmp_path / "work"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "__init__.py").write_text("")
    (folder / "shop" / "prices.py").write_text("def price(n):\n    return n * 3\n")
    text = "from .prices import price\n\nimport sys\n\nprint(__name__, price(2), sys.argv[1:])\n"
    (folder / "shop" / "__main__.py").write_text(text)
    (folder / "shop" / "about.py").write_text(ABOUT)
    (folder / "test_shop.py").write_text(
        "import unittest\n\nfrom shop.prices import price\n\n\nclass Prices(unittest.TestCase):\n"
        "    def test_three(self):\n        self.assertEqual(price(3), 9)\n\n"
        "    def test_wrong(self):\n        self.assertEqual(price(1), 4)\n"
    )
    return folder


def test_a_package_runs_as_with_dash_m(here: Session, package: Path, any_python: Path) -> None:
    here.break_at(package / "shop" / "prices.py", 2)
    stop = here.launch(module="shop", args=["a b", "-x"], cwd=str(package))
    assert (stop["stop_reason"], stop["current_location"]["function"]) == ("breakpoint", "price")
    frames = here.get("/stacktrace")["frames"]
    assert [frame["name"] for frame in frames][:2] == ["price", "<module>"]
    assert frames[1]["source"]["path"] == str(package / "shop" / "__main__.py")
    assert_same_run(here, here.resume(), plain(any_python, "-m", "shop", "a b", "-x", cwd=package))


def test_a_module_sees_what_it_would_see_alone(api: Api, newest: Path, package: Path) -> None:
    with api.session(python_path=str(newest)) as session:
        assert session.launch(module="shop.about", args=["x"], cwd=str(package))["exit_code"] == 0
        about = json.loads(session.output())
    expected = json.loads(plain(newest, "-m", "shop.about", "x", cwd=package).stdout)
    del about["environ"], expected["environ"]
    assert about == expected


def test_unit_tests_are_debugged_as_a_module(here: Session, package: Path) -> None:
    here.break_at(package / "shop" / "prices.py", 2, condition="n == 3")
    stop = here.launch(module="unittest", args=["-q", "test_shop"], cwd=str(package), stop_on_exception=False)
    assert stop["current_location"]["function"] == "price"
    assert here.locals() == {"n": "3"}
    end = here.resume()
    assert (end["status"], end["exit_code"]) == ("terminated", 1)
    assert "AssertionError: 3 != 4" in here.output("stderr")
    assert "FAILED (failures=1)" in here.output("stderr")


def test_code_sees_what_it_would_see_alone(api: Api, newest: Path, tmp_path: Path) -> None:
    with api.session(python_path=str(newest)) as session:
        assert session.launch(code=ABOUT, args=["x"], cwd=str(tmp_path))["exit_code"] == 0
        about = json.loads(session.output())
    expected = json.loads(plain(newest, "-c", ABOUT, "x", cwd=tmp_path).stdout)
    del about["environ"], expected["environ"]
    assert about == expected


@pytest.mark.parametrize("kind", ["script", "module", "code"])
def test_stop_on_entry_is_before_the_first_line(here: Session, tmp_path: Path, kind: str) -> None:
    text = "# a comment\nfirst = 1\nsecond = first + 1\nprint(second)\n"
    (tmp_path / "entry.py").write_text(text)
    target = {"script": str(tmp_path / "entry.py"), "module": "entry", "code": text}[kind]
    stop = here.launch(**{kind: target}, cwd=str(tmp_path), stop_on_entry=True)
    assert (stop["status"], stop["stop_reason"]) == ("paused", "entry")
    assert stop["current_location"]["line"] == 2
    assert (stop["current_location"]["function"], here.locals()) == ("<module>", {})
    assert here.step("over")["current_location"]["line"] == 3
    assert here.locals() == {"first": "1"}
    assert here.resume()["exit_code"] == 0
    assert here.output() == "2\n"


def test_arguments_arrive_as_they_were_given(here: Session, program: Callable[..., Path]) -> None:
    path = program("import json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    given = ["a b", "", "-c", "--help", "naïve", "日本", "🐍", '"quoted"', "$HOME", "*", "new\nline", "--", "-m"]
    assert here.launch(path, args=given)["exit_code"] == 0
    assert json.loads(here.output()) == given


def test_environment_and_folder_are_the_program_s(here: Session, package: Path) -> None:
    script = package / "main.py"
    text = "print(os.environ['GREETING'], os.getcwd(), shop.prices.price(1), os.environ['HOME'])"
    script.write_text(f"import os, shop.prices\n{text}\n")
    env = {"GREETING": "grüß dich = yes", "HOME": ""}
    assert here.launch(script, cwd=str(package / "shop"), env=env)["exit_code"] == 0
    assert here.output() == f"grüß dich = yes {package / 'shop'} 3 \n"


@pytest.mark.parametrize(
    "options", [["-O"], ["-OO", "-B"], ["-X", "utf8"], ["-W", "error"], ["-I"], ["-S", "-s", "-E"]], ids=" ".join
)
def test_options_of_the_interpreter_have_their_effect(
    here: Session, any_python: Path, program: Callable[..., Path], options: list[str]
) -> None:
    path = program(ABOUT)
    assert here.launch(path, python_args=options)["exit_code"] == 0
    about = json.loads(here.output())
    expected = json.loads(plain(any_python, *options, path).stdout)
    del about["environ"], expected["environ"], about["cwd"], expected["cwd"]
    assert about == expected


RAISES = """
def inner():
    raise LookupError("caught")  # @caught


def outer():
    try:
        inner()
    except LookupError:
        return 1


outer()
print("going on")
int("x")  # @uncaught
"""


@pytest.mark.parametrize(
    ("choice", "expected"),
    [(False, []), ("uncaught", ["uncaught"]), ("raised", ["caught", "uncaught"]), (True, ["caught", "uncaught"])],
    ids=str,
)
def test_exceptions_stop_as_chosen(
    api: Api, a_few: Path, program: Callable[..., Path], choice: bool | str, expected: list[str]
) -> None:
    """The debugger stops again in each caller while the exception unwinds: here only the first stop of each counts."""
    path = program(RAISES)
    types = {"LookupError": "caught", "ValueError": "uncaught"}
    seen: list[str] = []
    with api.session(python_path=str(a_few)) as session:
        stop = session.launch(path, stop_on_exception=choice)
        while stop["status"] == "paused":
            assert stop["stop_reason"] == "exception"
            assert stop["current_location"]["path"] == str(path), "stopped where the program is not"
            marker = types[stop["exception"]["type"]]
            if marker not in seen:
                assert stop["current_location"]["line"] == line_of(path, marker)
                seen.append(marker)
            stop = session.resume()
        assert stop["exit_code"] == 1
        assert session.output() == "going on\n"
        assert session.output("stderr") == plain(a_few, path).stderr.decode()
    assert seen == expected


def test_just_my_code_decides_whether_the_library_is_stepped_into(
    here: Session, api: Api, any_python: Path, program: Callable[..., Path]
) -> None:
    path = program(
        """
        import textwrap

        text = textwrap.dedent("  a")  # @call
        print(text)
        """
    )
    here.break_at(path, "call")
    here.launch(path, just_my_code=False)
    inside = here.step("into")["current_location"]
    assert (inside["function"], Path(inside["path"]).name) == ("dedent", "textwrap.py")
    with api.session(python_path=str(any_python)) as other:
        other.break_at(path, "call")
        other.launch(path, just_my_code=True)
        outside = other.step("into")["current_location"]
        assert (outside["path"], outside["line"]) == (str(path), line_of(path, "call") + 1)


def test_output_is_exact_and_in_order(api: Api, a_few: Path, program: Callable[..., Path]) -> None:
    path = program(
        r"""
        import os
        import sys

        for number in range(3000):
            print("out", number)
            print("err", number, file=sys.stderr)
        sys.stdout.write("no newline")
        sys.stdout.flush()
        os.write(1, b"\xff\xfe raw \x00 bytes \xe2\x82")
        os.write(1, b"\xac split euro\r\n")
        os.write(2, b"\xe2\x28 broken\n")
        print("x" * 100_000)
        print("ünï 日本 🐍")
        os.write(1, b"half \xe2\x82")
        """
    )
    with api.session(python_path=str(a_few)) as session:
        end = session.launch(path, env={"PYTHONIOENCODING": "utf-8"})
        assert_same_run(session, end, plain(a_few, path, PYTHONIOENCODING="utf-8"))
        assert r"\xff\xfe raw" in session.output()
        assert session.output().endswith(r"half \xe2\x82")


@pytest.mark.parametrize(
    "text",
    [
        'def f():\n    1 / 0\n\n\nf()\n',
        'try:\n    {}["a"]\nexcept KeyError as e:\n    raise RuntimeError("b") from e\n',
        'import json\njson.loads("{")\n',
        'raise SystemExit("a message")\n',
        'import sys\nsys.exit(3)\n',
        'raise KeyboardInterrupt\n',
        'class Odd(Exception):\n    def __str__(self):\n        raise ValueError\n\n\nraise Odd\n',
    ],
    ids=["function", "chained", "library", "exit message", "exit code", "interrupt", "bad str"],
)  # fmt: skip
def test_an_uncaught_exception_is_printed_as_python_prints_it(
    here: Session, any_python: Path, program: Callable[..., Path], text: str
) -> None:
    path = program(text)
    end = here.launch(path, stop_on_exception=False)
    expected = plain(any_python, path)
    assert here.output("stderr") == expected.stderr.decode()
    code = -2 if "KeyboardInterrupt" in text else expected.returncode
    assert end["exit_code"] == code == expected.returncode


def without_runpy(traceback: str) -> str:
    """Its frames are in a traceback of `python -m` too, but their file is named differently without frozen modules."""
    return re.sub(r'  File "[^"]*runpy[^"]*".*\n(    .*\n)*', "", traceback)


def test_tracebacks_of_modules_and_code_are_the_same(api: Api, newest: Path, package: Path) -> None:
    (package / "shop" / "__main__.py").write_text("def f():\n    return 1 / 0\n\n\nf()\n")
    with api.session(python_path=str(newest)) as session:
        end = session.launch(module="shop", cwd=str(package), stop_on_exception=False)
        expected = plain(newest, "-m", "shop", cwd=package)
        assert end["exit_code"] == expected.returncode == 1
        assert without_runpy(session.output("stderr")) == without_runpy(expected.stderr.decode())
    with api.session(python_path=str(newest)) as session:
        end = session.launch(code="def f():\n    return 1 / 0\nf()\n", stop_on_exception=False)
        assert_same_run(session, end, plain(newest, "-c", "def f():\n    return 1 / 0\nf()\n"))


@pytest.mark.parametrize("folder", ["with spaces", "ünï 日本", "quote's", "a%20b", "#hash"])
def test_paths_of_any_spelling_work(here: Session, program: Callable[..., Path], folder: str) -> None:
    path = program("import sys\nx = 1\nprint(__file__)  # @print\n", f"{folder}/my prögram.py")
    (bp,) = here.break_at(path, "print")
    assert bp["verified"]
    stop = here.launch(path)
    assert (stop["status"], stop["current_location"]["path"]) == ("paused", str(path))
    assert here.locals()["x"] == "1"
    assert here.resume()["exit_code"] == 0
    assert here.output() == f"{path}\n"


def test_a_symlinked_script_stops_by_either_name(api: Api, any_python: Path, program: Callable[..., Path]) -> None:
    real = program("import sys\nprint(__file__, sys.path[0])  # @print\n", "real/real.py")
    link = real.parent.parent / "link.py"
    link.symlink_to(real)
    expected = plain(any_python, link).stdout.decode()
    for name in (real, link):
        with api.session(python_path=str(any_python)) as session:
            session.break_at(name, "print")
            stop = session.launch(link)
            assert (stop["stop_reason"], stop["current_location"]["line"]) == ("breakpoint", 2)
            assert stop["hit_breakpoint_ids"] == ["bp_1"]
            assert session.resume()["exit_code"] == 0
            assert session.output() == expected


def test_exit_codes_are_exact(api: Api, any_python: Path) -> None:
    ends = {
        "import sys; sys.exit(3)": (3, None),
        "import sys; sys.exit(0)": (0, None),
        "import os; os._exit(9)": (9, None),
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": (-9, "SIGKILL"),
        "import os; os.abort()": (-6, "SIGABRT"),
        "import sys; sys.exit('text')": (1, None),
    }
    for code, expected in ends.items():
        with api.session(python_path=str(any_python)) as session:
            end = session.launch(code=code, stop_on_exception=False)
            assert (end["status"], end["exit_code"], end.get("signal")) == ("terminated", *expected), code
