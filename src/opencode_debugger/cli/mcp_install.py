"""`ocdb mcp install CLIENT`: registers the MCP server in the configuration of a client."""

from __future__ import annotations

import os
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ..client.address import Problem
from .command_table import Command
from .mcp_clients import CLIENTS, NAME


def install(command: Command, given: dict[str, Any]) -> int:
    client = CLIENTS[given["client"]]
    path = client.path
    is_toml = path.suffix == ".toml"
    server = client.describe_server()
    shown = _toml_table(client.section, server) if is_toml else _json_text({client.section: {NAME: server}})
    if given.get("only_print"):
        print(f"{path}:\n{shown}", end="")
        return 0
    old = _read_text(path)
    new = (_add_to_toml if is_toml else _add_to_json)(old or "", client.section, server, path)
    if new == old:
        print(f"{path} has it already")
        return 0
    try:
        backup = _replace_file(path, new, is_there=old is not None)
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error}") from None
    print(f"wrote to {path}" + (f" (as it was: {backup.name})" if backup else "") + f":\n{shown}", end="")
    return 0


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{path} cannot be read, and was not changed: {error}") from None


def _add_to_json(text: str, section: str, server: dict[str, Any], path: Path) -> str:
    try:
        config = msgspec.json.decode(text) if text.strip() else {}
    except msgspec.DecodeError as error:
        raise _unusable(path, f"is not JSON, or has comments ({error})") from None
    servers = config.setdefault(section, {}) if isinstance(config, dict) else None
    if not isinstance(servers, dict):
        raise _unusable(path, f"has no object {section!r}")
    if servers.get(NAME) == server:
        return text
    servers[NAME] = server
    return _json_text(config)


def _add_to_toml(text: str, section: str, server: dict[str, Any], path: Path) -> str:
    """Replace the server's table, or add it at the end: the rest stays as it is written, with its comments."""
    config = _parse_toml(text, path)
    if not isinstance(config.get(section, {}), dict):
        raise _unusable(path, f"has {section}, which is not a table")
    if config.get(section, {}).get(NAME) == server:
        return text
    header = _toml_header(section)
    kept: list[str] = []
    is_ours = False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            is_ours = line.strip() == header
        if not is_ours:
            kept.append(line)
    new = "\n".join([*kept, *([""] if kept and kept[-1].strip() else []), _toml_table(section, server)])
    expected = {**config, section: {**config.get(section, {}), NAME: server}}
    try:
        is_right = tomllib.loads(new) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise _unusable(path, f"spells {section}.{NAME} in a way that is not understood")
    return new


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        config = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unusable(path, f"is not TOML ({error})") from None
    return config


def _unusable(path: Path, problem: str) -> Problem:
    return Problem(f"{path} {problem}, and was not changed: correct it, or add by hand what --print shows")


def _json_text(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _toml_header(section: str) -> str:
    return f"[{section}.{NAME}]"


def _toml_table(section: str, server: dict[str, Any]) -> str:
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in server.items()]
    return "\n".join([_toml_header(section), *lines, ""])


def _replace_file(path: Path, text: str, is_there: bool) -> Path | None:
    """Write the file whole or not at all, where a link leads; return where the old one is kept."""
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if is_there else 0o644
    backup = None
    if is_there:
        backup = real.with_name(f"{real.name}.bak-{datetime.now():%Y%m%dT%H%M%S%f}")
        _write_new(backup, real.read_bytes(), mode)
    temp = real.with_name(f".{real.name}.{os.getpid()}.tmp")
    try:
        _write_new(temp, text.encode(), mode)
        temp.replace(real)
    finally:
        temp.unlink(missing_ok=True)
    return backup


def _write_new(path: Path, content: bytes, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        os.fsync(file.fileno())
