"""Real interpreters, and things that are none, asked who they are and what they make of source code."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from waiting import soon

from opencode_debugger.debuggers.python.interpreters import breakable_lines
from opencode_debugger.debuggers.python.interpreters import interpreter as interpreters
from opencode_debugger.debuggers.python.interpreters.interpreter import (
    Interpreter,
    check_code,
    check_syntax,
    examine,
    identify,
)
from opencode_debugger.debuggers.python.python_expressions import check_expression
from opencode_debugger.errors import RelayError

INSTALLED = {
    tuple(int(part) for part in path.parent.parent.name.split(".")): str(path)
    for path in sorted(Path.home().glob(".pyenv/versions/*/bin/python"))
    if path.parent.parent.name.replace(".", "").isdigit()
}
DEBUGGABLE = {version: path for version, path in INSTALLED.items() if version >= (3, 8)}
TOO_OLD = {version: path for version, path in INSTALLED.items() if version < (3, 8)}
OURS = Interpreter(sys.executable, sys.version_info[:3], sys.implementation.name)


def refusal(path: str) -> RelayError:
    with pytest.raises(RelayError) as caught:
        asyncio.run(identify(path))
    assert caught.value.code == "INVALID_PARAMETER"
    assert caught.value.details["parameter"] == "python_path"
    assert caught.value.details["suggestion"]
    caught.value.message.encode()
    return caught.value


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def other() -> Interpreter:
    """An interpreter of another version than ours."""
    for version, path in DEBUGGABLE.items():
        if version[:2] != sys.version_info[:2]:
            return asyncio.run(identify(path))
    pytest.skip("no other Python here")


@pytest.mark.parametrize("version", DEBUGGABLE, ids=str)
def test_an_interpreter_says_its_version(version: tuple[int, ...]) -> None:
    assert asyncio.run(identify(DEBUGGABLE[version])) == Interpreter(DEBUGGABLE[version], version, "cpython")  # type: ignore[arg-type]


@pytest.mark.parametrize("version", TOO_OLD, ids=str)
def test_an_old_interpreter_is_refused_by_its_version(version: tuple[int, ...]) -> None:
    message = refusal(TOO_OLD[version]).message
    assert message == f"Python {version[0]}.{version[1]} cannot be debugged: debugpy needs 3.8 or newer"


def test_a_virtual_environment_keeps_its_own_python(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True, timeout=60)
    python = str(tmp_path / "env" / "bin" / "python")
    assert asyncio.run(identify(python)).path == python


def test_a_shim_is_skipped(tmp_path: Path) -> None:
    shim = script(tmp_path / "python", f'echo rehashing >&2; exec "{sys.executable}" "$@"')
    assert asyncio.run(identify(shim)) == OURS


def test_a_bare_name_is_looked_up_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.symlink(sys.executable, tmp_path / "mypython")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert asyncio.run(identify("mypython")).version == OURS.version


def test_a_relative_path_is_meant_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "py", f'exec "{sys.executable}" "$@"')
    monkeypatch.chdir(tmp_path)
    assert asyncio.run(identify("./py")) == OURS


def test_a_path_with_odd_characters_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "a b'c\"é"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    assert asyncio.run(identify(f"{folder}/bin/python")).path == f"{folder}/bin/python"


def test_modules_in_the_current_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sys", "os", "ast", "json", "codecs", "site", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    for path in DEBUGGABLE.values():
        interpreters._interpreters.clear()
        assert asyncio.run(identify(path)).path == path


def test_an_answer_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    shim = script(tmp_path / "python", f'echo >> "{tmp_path}/calls"; exec "{sys.executable}" "$@"')
    calls = tmp_path / "calls"
    asyncio.run(identify(shim))
    asyncio.run(identify(shim))
    assert calls.read_text() == "\n"
    os.utime(shim, (1, 1))
    asyncio.run(identify(shim))
    assert calls.read_text() == "\n\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/no/such/python", "does not exist"),
        ("no-such-python", "was not found on PATH"),
        ("/etc/passwd", "is not executable"),
        ("/", "is a directory"),
        ("", "is empty"),
        ("a\0b", "null byte"),
        ("/a\0b", "null byte"),
        ("\ud800", "was not found"),
        ("/\ud800/python", "does not exist"),
        ("/" + "x" * 10_000, "does not exist"),
        ("/bin/ls", "is not a Python interpreter"),
        ("/bin/cat", "is not a Python interpreter"),
        ("/bin/sh", "is not a Python interpreter"),
        ("/bin/true", "is not a Python interpreter"),
    ],
)
def test_what_is_no_interpreter_is_refused(path: str, message: str) -> None:
    assert message in refusal(path).message


def test_a_virtual_environment_given_as_a_folder_is_answered_with_its_python(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = script(tmp_path / "bin" / "python", "")
    assert refusal(str(tmp_path)).details["suggestion"] == f"Use {python}"


def test_a_broken_executable_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elf").write_bytes(b"\x7fELF and nothing more")
    (tmp_path / "elf").chmod(0o755)
    assert "cannot be executed" in refusal(str(tmp_path / "elf")).message


def test_a_program_that_never_stops_writing_is_cut_off(tmp_path: Path) -> None:
    with soon(9):
        assert "is not a Python interpreter" in refusal(script(tmp_path / "flood", "exec yes")).message


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "_IDENTIFY_SECONDS", 0.5)
    pids = tmp_path / "pids"
    hanging = script(tmp_path / "hang", f'sleep 60 & echo $! $$ > "{pids}"; cat; wait')
    assert "did not answer" in refusal(hanging).message
    for pid in pids.read_text().split():
        wait_until_gone(int(pid))


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    pytest.fail(f"{pid} still runs")


def test_the_same_version_and_another_agree_on_simple_code(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("def f():\n    '''Doc.'''\n    return 1\n\nprint(f())\n")
    ours = asyncio.run(examine(str(path), OURS))
    assert ours["code_lines"] == [1, 3, 5]
    assert ours["definitions"] == {1: ["function", "f", 3]}
    assert asyncio.run(examine(str(path), other())) == ours


def test_an_examination_is_repeated_when_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("x = 1\n")
    first = asyncio.run(examine(str(path), OURS))
    assert asyncio.run(examine(str(path), OURS)) is first
    path.write_text("x = 1\ny = 2\n")
    assert asyncio.run(examine(str(path), OURS))["code_lines"] == [1, 2]


def test_a_large_file_does_not_block_the_event_loop(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("x = 1\n" * 50_000)

    async def longest_pause() -> tuple[float, float]:
        examining = asyncio.create_task(examine(str(path), OURS))
        began, longest = time.monotonic(), 0.0
        while not examining.done():
            before = time.monotonic()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - before)
        assert len((await examining)["code_lines"]) == 50_000
        return longest, time.monotonic() - began

    longest, whole = asyncio.run(longest_pause())
    assert longest < max(0.2, whole / 2)


def test_a_file_name_that_is_not_unicode_is_examined(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.py")
    with open(path, "w") as file:
        file.write("x = 1\n")
    assert asyncio.run(examine(path, other()))["code_lines"] == [1]


def test_an_interpreter_that_is_gone_is_told_and_not_raised(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("x = 1\n")
    gone = Interpreter("/no/such/python", (3, 8, 0), "cpython")
    found = asyncio.run(examine(str(tmp_path / "program.py"), gone))
    assert "/no/such/python" in found["error"]["message"]


def syntax_error(path: str, interpreter: Interpreter) -> dict[str, Any]:
    with pytest.raises(RelayError) as caught:
        asyncio.run(check_syntax(path, interpreter))
    assert caught.value.code == "LAUNCH_SYNTAX_ERROR"
    assert caught.value.message == "Python syntax error in script"
    details = dict(caught.value.details)
    assert details.pop("suggestion")
    return details


def test_a_syntax_error_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("x = 1\nif x == 1\n    pass\n")
    assert syntax_error(str(path), OURS) == {
        "file": str(path),
        "line": 2,
        "offset": 10,
        "error_message": "expected ':'",
        "text": "if x == 1",
    }


def test_syntax_is_that_of_the_interpreter_that_will_run_it(tmp_path: Path) -> None:
    old = next((path for version, path in DEBUGGABLE.items() if version < (3, 10)), None)
    if old is None:
        pytest.skip("no Python before 3.10 here")
    path = tmp_path / "program.py"
    path.write_text("match 1:\n    case 1: pass\n")
    asyncio.run(check_syntax(str(path), OURS))
    details = syntax_error(str(path), asyncio.run(identify(old)))
    assert (details["line"], details["error_message"], details["text"]) == (1, "invalid syntax", "match 1:")


def test_folders_archives_and_compiled_files_may_be_launched(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("x = 1\n")
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("__main__.py", "x = 1\n")
    (tmp_path / "app.pyc").write_bytes(b"\xa7\r\r\n\0\0\0\0")
    for path in (tmp_path, archive, tmp_path / "app.pyc"):
        asyncio.run(check_syntax(str(path), OURS))


def test_a_script_that_cannot_be_read_is_not_called_a_syntax_error(tmp_path: Path) -> None:
    with pytest.raises(RelayError) as caught:
        asyncio.run(check_syntax(str(tmp_path / "missing.py"), OURS))
    assert caught.value.code == "LAUNCH_SCRIPT_NOT_FOUND"


@pytest.mark.parametrize("source", ["x = (", "x = '\0'", "x = '\ud800'", "-" * 100_000 + "1"])
def test_code_given_as_text_is_checked_too(source: str) -> None:
    for interpreter in (OURS, other()):
        with pytest.raises(RelayError) as caught:
            asyncio.run(check_code(source, interpreter))
        assert caught.value.code == "LAUNCH_SYNTAX_ERROR"
        assert caught.value.details["file"] == "<string>"
        assert caught.value.details["error_message"]


def test_good_code_given_as_text_passes() -> None:
    for interpreter in (OURS, other()):
        asyncio.run(check_code("import sys\nprint('é', '''\n''')\n", interpreter))


@pytest.mark.parametrize("text", ["x > 5", "  x", "(a and\n b)", "x is 5", "(n := 1)", "[y for y in z]", "f'{x}'"])
def test_a_good_expression_passes(text: str) -> None:
    assert check_expression(text) is None


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("x >", 4),
        ("  x >", 6),
        ("x = 5", 3),
        ("(x,\n y z", 1),
        ("(x,\n y +)", 9),
        ("", 1),
        ("import os", 1),
        ("x\0", 2),
        ("\ud800", None),
        ("(" * 10_000, 201),
        ("-" * 50_000 + "1", None),
        ("a" + ".b" * 30_000, None),
        ("x" * 100_000, None),
    ],
)
def test_a_bad_expression_is_explained(text: str, offset: int | None) -> None:
    error = check_expression(text)
    assert error is not None
    assert error.message.startswith("SyntaxError: ")
    assert error.offset == offset


def test_nothing_but_the_standard_library_is_needed_by_the_line_table() -> None:
    text = Path(breakable_lines.__file__).read_text()
    assert "from ." not in text
    for path in DEBUGGABLE.values():
        subprocess.run([path, "-I", "-S", "-W", "error", breakable_lines.__file__], input=b"[]", check=True, timeout=30)
