"""Reads the command line: which command it is, which words are ours, and which are the program's."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any, NoReturn

from .command_arguments import WrongUsage
from .command_table import BREAK, COMMANDS, COMMON, GROUPS, Argument, Command
from .exit_codes import MEANINGS
from .terminal import tell

ANYWHERE = BREAK.flags
"""Options that are ours also among the program's arguments, unless `--` comes before them."""
NAME = "ocdb"
WIDTH = 100
INSTALL = ("mcp", "install")


class HelpText(argparse.RawDescriptionHelpFormatter):
    """Of a width that nobody has to be asked for: that takes long, for each argument anew."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=WIDTH)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise WrongUsage(f"{message}\n→ {self.prog} --help shows what it takes")


def find_command(argv: list[str]) -> tuple[Command, list[str]]:
    """Return the command, and the other words. Options of every command may come before it."""
    before, rest = split_words(argv, COMMON, at_most=0)
    if not rest:
        raise WrongUsage(f"give a command\n→ {NAME} --help lists them")
    name, *words = rest
    if tuple(rest[:2]) == INSTALL:
        name, words = " ".join(INSTALL), rest[2:]
    if name in COMMANDS:
        return COMMANDS[name], [*before, *words]
    import difflib  # here, because it is seldom needed

    near = difflib.get_close_matches(name, COMMANDS, 2, 0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise WrongUsage(f"there is no command {name!r}\n→ {meant}{NAME} --help lists them")


def read_arguments(command: Command, words: list[str]) -> dict[str, Any]:
    """Return what the command line gives, by name; what it does not give is left out."""
    parser = parser_for(command)
    if not command.starts:
        found = vars(parser.parse_args(words))
    else:
        ours, theirs = split_words(words, (*command.arguments, *COMMON), at_most=1)
        _warn_of_options(command, theirs, words)
        found = vars(parser.parse_args(ours)) | {"command": theirs}
    return {name: value for name, value in found.items() if value is not None and value is not False}


def split_words(words: Iterable[str], options: Iterable[Argument], at_most: int) -> tuple[list[str], list[str]]:
    """Tell our options from the program and its arguments.

    Ours come before the program, or right after it; from its first argument on, or from `--`, all is the program's."""
    flags = {flag: option.has_value for option in options if option.is_option for flag in option.flags}
    ours: list[str] = []
    theirs: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return ours, [*theirs, *rest]
        flag = word.partition("=")[0] if word.startswith("--") else word[:2]
        has_program = bool({"-m", "-c", "--test"} & set(ours))
        if flag in flags and (len(theirs) + has_program <= at_most or flag in ANYWHERE):
            ours.append(word)
            if flags[flag] and word == flag and rest:
                ours.append(rest.pop(0))
        elif not theirs and not has_program and word.startswith("-"):
            ours.append(word)  # the parser says that there is no such option, or shows the help
        elif at_most == 0:
            return ours, [word, *rest]
        else:
            theirs.append(word)
    return ours, theirs


def _warn_of_options(command: Command, theirs: list[str], words: list[str]) -> None:
    """Say which options of ours go to the program, unless `--` shows that this is meant."""
    names = {flag for each in (*command.arguments, *COMMON) for flag in each.flags if flag.startswith("--")}
    given = [word for word in theirs if word.partition("=")[0] in names]
    if given and "--" not in words:
        told = f"{' and '.join(given)} after the program's arguments: it is the program's"
        tell(f"{told}; put it before the program if it is for ocdb")


def parser_for(command: Command) -> Parser:
    examples = "\n".join(f"  {NAME} {example}" for example in command.examples)
    parser = Parser(
        f"{NAME} {command.name}", description=f"{command.summary.capitalize()}.", allow_abbrev=False,
        epilog=f"examples:\n{examples}" if examples else None, formatter_class=HelpText,
        usage=_usage(command))
    for argument in command.arguments:
        parser.add_argument(*argument.flags, **argument.options)
    common = parser.add_argument_group("options of every command")
    for argument in COMMON if command.asks_relay else ():
        common.add_argument(*argument.flags, **argument.options)
    return parser


def _usage(command: Command) -> str:
    places = [each for each in command.arguments if not each.is_option]
    shown = " ".join(each.options["metavar"] if "nargs" not in each.options else f"[{each.options['metavar']}]"
        for each in places)
    also = f" (also: {', '.join(command.aliases)})" if command.aliases else ""
    return " ".join(filter(None, (NAME, command.name, "[OPTIONS]", shown))) + also


def help_text() -> str:
    """Return the list of all commands, in groups."""
    lines = [f"usage: {NAME} COMMAND [OPTIONS] …", "", "Debug programs with single calls; a relay keeps the sessions."]
    for title, commands in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {'|'.join(command.names):<15} {command.summary}" for command in commands]
    lines += ["", "Exit codes:", *(f"  {code:<15} {meaning}" for code, meaning in MEANINGS.items())]
    return "\n".join([*lines, "", f"{NAME} COMMAND --help shows options and examples; --version the version."])
