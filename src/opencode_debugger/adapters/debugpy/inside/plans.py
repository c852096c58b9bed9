"""How a process is started so that it is debugged.

In place of a Python program our launcher is started. What is no Python gets an environment by which the Pythons that it
starts hand themselves over: see ../below/sitecustomize.py.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List

from . import commands

LAUNCH = "OPENCODE_DEBUG_LAUNCH"
"""The variable in which a launcher is told what to do."""
LONGEST_LAUNCH = 100000
"""characters of a variable in the environment: the system takes no more than about 128,000"""
BELOW = "OPENCODE_DEBUG_BELOW"
"""The variable that names the file with the same for whatever Python is started below."""
IMPORTS = "PYTHONPATH"
SEPARATOR = os.pathsep.encode()
ALONE = os.sep.encode()
"""how our folder ends there if there was nothing before, so that what others make of that can be told"""

Environment = Dict[bytes, bytes]


class Plan:
    """For a Python program."""

    def __init__(self, command: commands.Command, environment: Environment, config: Dict[str, Any]) -> None:
        program = command.program
        assert program is not None
        marker = os.fsencode(config["marker"][0])
        is_script = program.interpreter != command.executable  # one that names its interpreter in its first line
        named = [program.interpreter, *program.options, program.target, *program.args]
        told = {
            **config,
            "kind": program.kind,
            "target": program.target,
            "args": program.args,
            "executable": command.executable,
            "command": command.argv,
            "orig_argv": named if is_script else command.argv,
            "is_marked": marker in environment,
        }
        options = [] if _says_frozen(program.options) else ["-Xfrozen_modules=off"]
        first = program.interpreter if is_script else command.argv[0]
        self.executable = program.interpreter
        self.argv: List[str] = [first, *options, *program.options, config["launcher"], *program.args]
        self.environment = {**environment, marker: os.fsencode(config["marker"][1])}
        self.environment[LAUNCH.encode()] = json.dumps(told).encode()
        self.is_too_long = len(self.environment[LAUNCH.encode()]) > LONGEST_LAUNCH


def _says_frozen(options: List[str]) -> bool:
    return any("frozen_modules" in option for option in options)


def handed_down(environment: Environment, below: Dict[str, str]) -> Environment:
    """Return it with what makes the Pythons below hand themselves over; `below` is our folder, and a file for them."""
    folder, before = os.fsencode(below["folder"]), environment.get(IMPORTS.encode(), b"")
    # An empty entry after ours would be the working directory, from which nothing of ours is imported.
    imports = b"%b%b%b" % (folder, SEPARATOR, before) if before else folder + ALONE
    return {**environment, IMPORTS.encode(): imports, BELOW.encode(): os.fsencode(below["file"])}


def taken_back(environment: Environment, folder: str) -> Environment:
    """Return it as it would be without `handed_down`, whatever somebody has added to it in between."""
    left = {name: value for name, value in environment.items() if name not in (IMPORTS.encode(), BELOW.encode())}
    mine, imports = os.fsencode(folder), environment.get(IMPORTS.encode(), b"")
    imports = imports.replace(mine + ALONE, b"").replace(mine + SEPARATOR, b"")
    return {**left, IMPORTS.encode(): imports} if imports else left
