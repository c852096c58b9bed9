"""`ocdb completion SHELL`: a completion script, made from the table of commands."""

from __future__ import annotations

from typing import Any

from .command_table import COMMANDS, COMMON, Argument, Command
from .mcp_clients import CLIENTS

PROGRAMS = ("ocdb", "opencode-debugger")


def print_script(command: Command, given: dict[str, Any]) -> int:
    print({"bash": _bash_script, "zsh": _zsh_script, "fish": _fish_script}[given["shell"]](), end="")
    return 0


def _names() -> list[str]:
    """Return what may come first: every command and its aliases, in the order of the table."""
    return [name for name in COMMANDS if " " not in name]


def _words_after(command: Command) -> list[str]:
    """Return options, and the choices of what comes without a name."""
    options = [flag for argument in _arguments(command) if argument.is_option for flag in argument.flags]
    choices = [word for argument in command.arguments if not argument.is_option
        for word in argument.options.get("choices", ())]
    return choices + options


def _arguments(command: Command) -> tuple[Argument, ...]:
    if command.name == "mcp":
        return ()
    return (*command.arguments, *(COMMON if command.asks_relay else ()))


def _choices() -> dict[str, list[str]]:
    """Return what each command takes, by all its names."""
    found = {name: _words_after(COMMANDS[name]) for name in _names() if not COMMANDS[name].is_serving}
    return found | {"mcp": ["install", *CLIENTS]}


def _bash_script() -> str:
    cases = "\n".join(f"    {name}) words='{' '.join(words)}' ;;" for name, words in _choices().items())
    return f"""\
_ocdb() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(_names())} --help --version' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o bashdefault -F _ocdb {" ".join(PROGRAMS)}
"""


def _zsh_script() -> str:
    names = "\n".join(f"    '{name}:{_zsh_quote(COMMANDS[name].summary)}'" for name in _names())
    cases = "\n".join(f"    {name}) choices=({' '.join(words)}) ;;" for name, words in _choices().items())
    return f"""\
#compdef {" ".join(PROGRAMS)}
_ocdb() {{
  local -a commands choices
  commands=(
{names}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case ${{words[2]}} in
{cases}
  esac
  compadd -- $choices
  _files
}}
compdef _ocdb {" ".join(PROGRAMS)}
"""


def _fish_script() -> str:
    lines = []
    for program in PROGRAMS:
        for name in _names():
            summary = _fish_quote(COMMANDS[name].summary)
            lines.append(f"complete -c {program} -n __fish_use_subcommand -a {name} -d '{summary}'")
        for name, words in _choices().items():
            plain = [word for word in words if not word.startswith("-")]
            here = f"complete -c {program} -n '__fish_seen_subcommand_from {name}'"
            lines += [f"{here} -a '{' '.join(plain)}'"] if plain else []
            lines += [_fish_option(here, argument) for argument in _arguments(COMMANDS[name]) if argument.is_option]
    return "\n".join([*lines, ""])


def _fish_option(here: str, argument: Argument) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in argument.flags)
    value = " -r" if argument.has_value else ""
    return f"{here} {flags}{value} -d '{_fish_quote(argument.options.get('help', ''))}'"


def _fish_quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _zsh_quote(text: str) -> str:
    return text.replace(":", "\\:").replace("'", "'\\''")
