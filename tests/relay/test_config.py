"""Settings: where they come from, what is refused and how, and that each is documented."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path

import pytest
from places import ROOT

from opencode_debugger.config import (
    FROM_START_FILE,
    PREFIX,
    RUNNER_FIELDS,
    ConfigError,
    Settings,
    allowed_values,
    check_bind,
    default_of,
    load,
    load_settings,
)

FIELDS = sorted(Settings.model_fields)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, an empty working folder, and no variables of ours."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    for name in FIELDS:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)
    return home


def write_config(folder: Path, content: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_defaults_listen_on_loopback_only() -> None:
    settings = load_settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 5679)
    check_bind(settings)


def test_data_folder_is_in_the_home_and_holds_the_stores(home: Path) -> None:
    settings = load_settings()
    assert settings.data_dir == home / ".opencode-debugger"
    assert settings.breakpoints_dir == home / ".opencode-debugger/breakpoints"
    assert settings.sessions_dir == home / ".opencode-debugger/sessions"


def test_loading_settings_makes_no_folder(home: Path) -> None:
    load_settings()
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(("given", "expected"), [("~/x", "home/x"), ("x", "work/x")])
def test_data_folder_is_expanded_and_absolute(given: str, expected: str, tmp_path: Path) -> None:
    assert load_settings(data_dir=given).data_dir == tmp_path / expected


def test_each_source_wins_over_the_next(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_config(home / ".opencode-debugger", {"max_sessions": 1})
    assert load_settings().max_sessions == 1
    Path(".env").write_text(f"{PREFIX}MAX_SESSIONS=2\n")
    assert load_settings().max_sessions == 2
    Path("mine").write_text(f"{PREFIX}MAX_SESSIONS=3\n")
    assert load_settings(Path("mine")).max_sessions == 3
    monkeypatch.setenv(f"{PREFIX}MAX_SESSIONS", "4")
    assert load_settings(Path("mine")).max_sessions == 4
    assert load_settings(Path("mine"), max_sessions=5).max_sessions == 5


def test_an_override_that_is_none_counts_as_not_given() -> None:
    assert load_settings(port=None).port == 5679


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}PORT", "")
    assert load_settings().port == 5679


@pytest.mark.parametrize("how", ["override", "environment", "env file"])
def test_config_json_is_read_from_the_data_folder_in_force(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    write_config(folder, {"max_sessions": 3})
    if how == "environment":
        monkeypatch.setenv(f"{PREFIX}DATA_DIR", str(folder))
    file = Path("mine") if how == "env file" else None
    if file is not None:
        file.write_text(f"{PREFIX}DATA_DIR={folder}\n")
    settings = load_settings(file, data_dir=folder if how == "override" else None)
    assert settings.max_sessions == 3


def test_unrelated_lines_in_dotenv_are_ignored() -> None:
    Path(".env").write_text("DATABASE=postgres\n")
    assert load_settings().port == 5679


@pytest.mark.parametrize("content", ["{", "[1]", "null", "", '{"port": 1' + "0" * 20])
def test_corrupt_config_json_is_set_aside_with_a_warning(
    content: str, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_config(home / ".opencode-debugger", content)
    assert load_settings().port == 5679
    (aside,) = path.parent.iterdir()
    assert aside.name.startswith("config.json.corrupt-")
    assert aside.read_text() == content
    assert "set aside" in caplog.text


def test_unknown_keys_in_config_json_are_named_and_ignored(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_config(home / ".opencode-debugger", {"prot": 1, "data_dir": "/elsewhere", "port": 4001})
    with caplog.at_level(logging.WARNING):
        settings = load_settings()
    assert settings.port == 4001
    assert settings.data_dir == path.parent
    assert [record.getMessage().split(": ")[1].split()[0] for record in caplog.records] == ["data_dir", "prot"]


BAD_VALUES = [
    ("port", "70000", "from 0 to 65535"),
    ("port", "http", "a whole number"),
    ("host", "a b", "an IP address"),
    ("log_level", "loud", "one of debug, info"),
    ("max_sessions", "0", "from 1 to 1000"),
    ("session_timeout_seconds", "-1", "a whole number from 1"),
    ("dap_timeout_seconds", "nan", "a number from 0.1"),
    ("evaluate_timeout_seconds", "inf", "a number from 0.1"),
    ("allowed_origins", "*", "origins such as"),
    ("allowed_origins", "https://ok.example,null", "origins such as"),
    ("require_token", "maybe", "true or false"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD_VALUES)
def test_bad_variable_is_named_with_what_is_allowed_in_one_line(
    name: str, value: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PREFIX + name.upper(), value)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value).startswith(f"{PREFIX}{name.upper()}: ")
    assert allowed in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_argument_is_named_as_the_option() -> None:
    with pytest.raises(ConfigError, match=r"^--port: -1 is not allowed"):
        load_settings(port=-1)


def test_bad_value_in_a_named_file_is_named_as_the_variable() -> None:
    Path("mine").write_text(f"{PREFIX}PORT=http\n")
    with pytest.raises(ConfigError, match=rf"^{PREFIX}PORT: 'http'"):
        load_settings(Path("mine"))


def test_the_file_of_the_start_folder_says_how_much_and_how_long_and_no_more() -> None:
    """Who may come, what runs and where data is kept is left out, whatever it is; so is what cannot be used."""
    harmless = {name: str(default_of(name)) for name in FROM_START_FILE}
    harmless |= {"event_log_max": "77", "max_sessions": "many"}
    others = dict.fromkeys(Settings.model_fields.keys() - FROM_START_FILE, "SECRET")
    lines = [f"{PREFIX}{name.upper()}={value}" for name, value in {**harmless, **others}.items()]
    Path(".env").write_text("\n".join(lines))
    found = load()
    assert found.settings == load_settings(event_log_max=77)
    assert found.sources == dict.fromkeys(FROM_START_FILE - {"max_sessions"}, ".env")
    left_out = sorted(note.split()[0].removeprefix(PREFIX).lower() for note in found.notes)
    assert left_out == sorted([*others, "max_sessions"])
    assert "SECRET" not in "".join(found.notes)
    assert {note for note in found.notes if "--env-file" not in note} == {
        f"{PREFIX}MAX_SESSIONS in .env is left out: it takes a whole number from 1 to 1000"
    }


def test_what_decides_who_may_come_and_what_runs_is_not_taken_from_the_start_folder() -> None:
    decides = {"host", "port", "data_dir", "default_python_path", "gdb_path", "lldb_path", "ez_path", "allowed_origins"}
    decides |= {"max_body_bytes", "require_token", "certfile", "keyfile"}
    assert decides <= Settings.model_fields.keys() - FROM_START_FILE


def test_a_named_file_says_everything_and_takes_the_place_of_the_other() -> None:
    Path(".env").write_text(f"{PREFIX}EVENT_LOG_MAX=77\n")
    Path("mine").write_text(f"{PREFIX}PORT=4001\n{PREFIX}GDB_PATH=/opt/gdb\nOTHER=1\n")
    found = load(Path("mine"))
    assert found.sources == {"port": "env file", "gdb_path": "env file"}
    assert (found.settings.port, found.settings.gdb_path, found.notes) == (4001, "/opt/gdb", [])
    assert load(Path("mine"), port=4002).sources["port"] == "command line"


def test_bad_value_in_config_json_is_named_as_such(home: Path) -> None:
    write_config(home / ".opencode-debugger", {"port": "http"})
    with pytest.raises(ConfigError, match=r"^port in config\.json: 'http'"):
        load_settings()


def test_all_bad_values_are_told_at_once() -> None:
    with pytest.raises(ConfigError, match=r"--port: .*; --max-sessions: "):
        load_settings(port=-1, max_sessions=0)


@pytest.mark.parametrize("name", ["data_dir", "uds"])
def test_home_of_an_unknown_user_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{PREFIX}{name.upper()}: "):
        load_settings(**{name: "~no-such-user-here/x"})


def test_an_address_on_the_command_line_wins_over_a_socket_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}UDS", "/run/relay.sock")
    assert load_settings().uds == "/run/relay.sock"
    assert load_settings(port=6000).uds == ""
    assert load_settings(port=6000, uds="/run/other.sock").uds == "/run/other.sock"


def test_a_file_that_cannot_be_read_stops_the_relay_only_if_it_was_named() -> None:
    Path("binary").write_bytes(b"\xff\xfe\x00")
    Path("endless").symlink_to("/dev/zero")
    Path("huge").write_bytes(b"#" * 1_000_000)
    Path("folder").mkdir()
    os.mkfifo("pipe")
    for name in ("binary", "endless", "huge", "folder", "pipe"):
        with pytest.raises(ConfigError, match=f"^--env-file {name} cannot be read"):
            load_settings(Path(name))
        Path(".env").symlink_to(name)
        assert load().notes[0].startswith(".env cannot be read and is left out")
        Path(".env").unlink()
    with pytest.raises(ConfigError, match=r"^--env-file missing cannot be read"):
        load_settings(Path("missing"))
    assert load().notes == []


def test_origins_are_separated_by_commas_and_normalised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}ALLOWED_ORIGINS", "https://A.example/, http://localhost:3000")
    assert load_settings().allowed_origins == ("https://a.example", "http://localhost:3000")


def test_origins_in_config_json_are_a_list(home: Path) -> None:
    write_config(home / ".opencode-debugger", {"allowed_origins": ["https://a.example"]})
    assert load_settings().allowed_origins == ("https://a.example",)


def test_log_level_is_taken_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}LOG_LEVEL", "DEBUG")
    assert load_settings().log_level == "debug"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_loopback_may_be_bound(host: str) -> None:
    check_bind(load_settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "localhost.example.org"])
def test_binding_elsewhere_without_tokens_is_refused_and_says_how_to_do_it(host: str) -> None:
    with pytest.raises(ConfigError, match=r"--require-token.*ssh -L 5000:127\.0\.0\.1:5000") as caught:
        check_bind(load_settings(host=host, port=5000))
    assert "\n" not in str(caught.value)
    check_bind(load_settings(host=host, port=5000, require_token=True))


def test_a_runner_gets_plain_json() -> None:
    values = load_settings(stop_budget_chars=999).settings_for_runner()
    assert set(values) == set(RUNNER_FIELDS)
    assert values["stop_budget_chars"] == 999
    assert json.loads(json.dumps(values)) == values


def documented_row(name: str) -> str:
    field = Settings.model_fields[name]
    default = {"data_dir": "~/.opencode-debugger", "allowed_origins": ""}.get(name, str(field.default))
    if isinstance(field.default, bool):
        default = default.lower()
    shown = f"`{default}`" if default else "none"
    return f"| `{PREFIX}{name.upper()}` | {shown} | {allowed_values(name)} | {field.description} |"


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_is_documented(name: str) -> None:
    assert documented_row(name) in (ROOT / "docs/settings.md").read_text().splitlines()


def test_the_documentation_has_no_setting_that_does_not_exist() -> None:
    documented = re.findall(rf"^\| `{PREFIX}(\w+)`", (ROOT / "docs/settings.md").read_text(), re.MULTILINE)
    assert sorted(name.lower() for name in documented) == FIELDS


def test_the_example_lists_every_setting_with_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = re.findall(rf"^# ({PREFIX}\w+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert sorted(name.removeprefix(PREFIX).lower() for name, _ in lines) == FIELDS
    expected = load_settings()
    for name, value in lines:
        monkeypatch.setenv(name, value)
    assert load_settings() == expected
