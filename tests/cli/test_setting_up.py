"""What the command line does besides debugging: doctor, registering MCP, completion, help."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command import Ocdb, own_ocdb
from places import DOCS

from opencode_debugger import __version__
from opencode_debugger.cli.command_line import help_text
from opencode_debugger.cli.command_table import COMMANDS, COMMON, GROUPS, Command
from opencode_debugger.cli.dispatch import run
from opencode_debugger.cli.mcp_clients import CLIENTS

NAME = "opencode-debugger"
ALL = [command for group in GROUPS.values() for command in group]


@pytest.fixture
def at_home(ocdb: Ocdb, tmp_path: Path) -> Ocdb:
    """The command line of somebody whose home is the folder of the test."""
    return ocdb.within(tmp_path, HOME=str(tmp_path))


def find_server(config: object) -> dict[str, object]:
    """Return what a configuration says about our server, wherever it says it."""
    assert isinstance(config, dict)
    (found,) = [section[NAME] for section in config.values() if isinstance(section, dict) and NAME in section]
    return dict(found)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_server_is_registered_once_and_what_was_there_stays(at_home: Ocdb, tmp_path: Path, client: str) -> None:
    place = Path(CLIENTS[client].place.replace("~", str(tmp_path)))
    path = place if place.is_absolute() else tmp_path / place
    section = CLIENTS[client].section
    path.parent.mkdir(parents=True, exist_ok=True)
    is_toml = path.suffix == ".toml"
    old = f'# mine\nmodel = "x"\n[{section}.other]\ncommand = "y"\n' if is_toml else json.dumps(
        {"theme": "dark", section: {"other": {"command": "y"}}})
    path.write_text(old, encoding="utf-8")
    path.chmod(0o640)
    assert f"wrote to {path}" in at_home("mcp", "install", client)
    text = path.read_text(encoding="utf-8")
    config = tomllib.loads(text) if is_toml else json.loads(text)
    server = find_server(config)
    command = server["command"] if isinstance(server["command"], list) else [server["command"], *server["args"]]
    assert (command[-1], Path(command[0]).is_absolute()) == ("mcp", True)
    assert config[section]["other"] == {"command": "y"}
    assert ("# mine" in text) if is_toml else (config["theme"] == "dark")
    assert path.stat().st_mode & 0o777 == 0o640
    (backup,) = path.parent.glob(f"{path.name}.bak-*")
    assert backup.read_text(encoding="utf-8") == old
    assert "has it already" in at_home("mcp", "install", client)
    assert len(list(path.parent.glob(f"*{path.name}*"))) == 2


def test_a_registration_with_another_command_is_replaced(at_home: Ocdb, tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(f'[mcp_servers.{NAME}]\ncommand = "old"\n\n[other]\nx = 1\n', encoding="utf-8")
    at_home("mcp", "install", "codex")
    config = tomllib.loads(path.read_text(encoding="utf-8"))
    assert config["other"] == {"x": 1}
    assert find_server(config)["args"] == ["mcp"]


def test_what_is_registered_can_be_started(at_home: Ocdb, tmp_path: Path) -> None:
    at_home("mcp", "install", "claude-code")
    server = find_server(json.loads((tmp_path / ".mcp.json").read_text(encoding="utf-8")))
    command = [str(server["command"]), "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"ocdb {__version__}\n"


@pytest.mark.parametrize("content", ['{"mcpServers": ', '// comment\n{}', "[]", '{"mcpServers": []}', "\udcff"])
def test_a_configuration_that_is_not_understood_is_not_changed(at_home: Ocdb, tmp_path: Path, content: str) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    before = path.read_bytes()
    assert "was not changed" in at_home.refuse("mcp", "install", "claude-code")
    assert (path.read_bytes(), [each.name for each in tmp_path.glob("*.mcp.json*")]) == (before, [".mcp.json"])


def test_a_table_that_is_none_is_not_changed(at_home: Ocdb, tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text("mcp_servers = 3\n", encoding="utf-8")
    assert "mcp_servers, which is not a table" in at_home.refuse("mcp", "install", "codex")
    assert path.read_text(encoding="utf-8") == "mcp_servers = 3\n"


def test_a_registration_is_printed_without_writing_anything(at_home: Ocdb, tmp_path: Path) -> None:
    assert "[mcp_servers.opencode-debugger]" in at_home("mcp", "install", "codex", "--print")
    assert not (tmp_path / ".codex").exists()


def test_a_link_to_a_configuration_stays_a_link(at_home: Ocdb, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    (tmp_path / ".mcp.json").symlink_to(real)
    at_home("mcp", "install", "claude-code")
    assert (tmp_path / ".mcp.json").is_symlink()
    assert NAME in real.read_text(encoding="utf-8")


def test_the_doctor_says_what_works(ocdb: Ocdb) -> None:
    told = ocdb("doctor")
    assert re.search(rf"^ok +relay: {re.escape(__version__)} answers at http://127.0.0.1:\d+/", told, re.MULTILINE)
    assert re.search(r"^ok +debugpy: \d", told, re.MULTILINE)
    assert re.search(r"^ok +Python 3\.\d+\.\d+: /", told, re.MULTILINE)


def test_the_doctor_finds_what_is_broken(ocdb: Ocdb, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    answer = ocdb.ask("doctor", "--data-dir", tmp_path / "open")
    assert answer.code == 1
    assert re.search(r"^broken +data folder: .*chmod 700", answer.text, re.MULTILINE)
    environment = tmp_path / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = /nowhere\n", encoding="utf-8")
    (environment / "bin" / "python").write_text("#!/nowhere/python\n", encoding="utf-8")
    (environment / "bin" / "python").chmod(0o755)
    findings = {each["name"]: each for each in ocdb.json("doctor")}
    assert findings["data folder"]["text"] == str(ocdb.data_dir)
    assert findings["project environment"]["state"] == "broken"
    assert all(each["state"] == "ok" or each["remedy"] for each in findings.values()), findings


def test_the_doctor_says_what_a_missing_gdb_means(tmp_path: Path) -> None:
    with own_ocdb(tmp_path, OPENCODE_DEBUG_GDB_PATH="/nowhere/gdb") as ocdb:
        findings = {each["name"]: each for each in ocdb.json("doctor")}
    assert {findings[name]["state"] for name in ("gdb", "attaching by process id")} == {"missing"}


def complete_in_bash(ocdb: Ocdb, *words: str) -> list[str]:
    script = f"""
        {ocdb("completion", "bash")}
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
        _ocdb
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-u", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_choices(ocdb: Ocdb) -> None:
    assert complete_in_bash(ocdb, "ocdb", "st") == ["step", "stack", "stdio"]
    assert complete_in_bash(ocdb, "ocdb", "bt", "--t") == ["--threads", "--tasks", "--thread", "--task", "--token-file"]
    assert complete_in_bash(ocdb, "ocdb", "completion", "z") == ["zsh"]
    assert complete_in_bash(ocdb, "ocdb", "mcp", "claude-d") == ["claude-desktop"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_understand_their_scripts(ocdb: Ocdb, shell: str, tmp_path: Path) -> None:
    text = ocdb("completion", shell)
    assert all(name in text for name in COMMANDS if " " not in name)
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    script = tmp_path / "script"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    if shell == "fish":
        asked = [program, "--no-config", "-c", f"source {script}; complete -C 'ocdb st'"]
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        assert [line.split("\t")[0] for line in found.splitlines()] == ["stack", "stdio", "step"]


def test_the_help_lists_every_command_and_every_exit_code(ocdb: Ocdb) -> None:
    told = ocdb("--help")
    assert told == ocdb("help") == ocdb() == help_text() + "\n"
    assert all("|".join(command.names) in told for command in ALL)


@pytest.mark.parametrize("command", [each for each in ALL if not each.is_serving], ids=lambda each: each.name)
def test_each_command_explains_itself(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run([*command.name.split(), "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(flag in told for argument in command.arguments if argument.is_option for flag in argument.flags)
    assert all(f"ocdb {example}" in told for example in command.examples)


def test_commands_of_the_relay_are_what_they_were(shell: Ocdb) -> None:
    assert shell("version") == f"{__version__}\n"
    assert shell("--version") == f"ocdb {__version__}\n"
    assert "--require-token" in shell("serve", "--help")
    assert "revoke" in shell("token", "--help")


def test_the_page_has_the_help_and_every_option() -> None:
    page = (DOCS / "command.md").read_text(encoding="utf-8")
    assert f"```text\n{help_text()}\n```\n" in page
    for command in ALL:
        if not command.is_serving:
            (row,) = re.findall(rf"^\| `{re.escape(command.name)}`[^\n]*$", page, flags=re.MULTILINE)
            options = [argument for argument in command.arguments if argument.is_option]
            assert [flag for each in options for flag in each.flags if f"`{flag}" not in row] == [], command.name
    assert [flag for each in COMMON for flag in each.flags if f"| `{flag}" not in page] == []


def test_asking_loads_nothing_heavy(ocdb: Ocdb) -> None:
    ocdb("call", "health")
    code = "import sys; from opencode_debugger.cli.dispatch import run; run(['call', 'health']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ocdb.folder, env=ocdb.env, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert "opencode_debugger" in loaded
    assert loaded & {"typer", "rich", "pydantic", "starlette", "uvicorn", "asyncio", "ssl", "mcp", "psutil"} == set()
