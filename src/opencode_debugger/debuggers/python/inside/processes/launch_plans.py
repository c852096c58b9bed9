"""Plans how a process is started so that it is debugged.

In place of a Python program our launcher is started. What is no Python gets an environment by which the Pythons that it
starts hand themselves over: see ../../launch/below/sitecustomize.py.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, NamedTuple, Optional, Sequence

from .command_lines import Command, Program

LAUNCH = "OPENCODE_DEBUG_LAUNCH"
"""The variable in which a launcher is told what to do."""
LONGEST_LAUNCH = 100000
"""characters of a variable in the environment: the system takes no more than about 128,000"""
BELOW = "OPENCODE_DEBUG_BELOW"
"""The variable that names the file which tells the same to each Python that is started below."""
IMPORT_PATH = "PYTHONPATH"
SEPARATOR = os.pathsep.encode()
ALONE = os.sep.encode()
"""The end of our folder in the path if it was empty before, so that this can be told afterwards."""

Environment = Dict[bytes, bytes]


class Plan(NamedTuple):
    """The way to start a process."""

    executable: Any
    argv: Sequence[Any]
    environment: Environment
    is_debugged: bool
    """it is started by our launcher; else it is no Python, and may start some"""


def plan_launch(command: Command, program: Program, environment: Environment, config: Dict[str, Any]) -> Optional[Plan]:
    """Return how a Python program is started by our launcher; None if that would take too long a command line."""
    marker = os.fsencode(config["marker"][0])
    is_script = program.interpreter != command.executable  # one that names its interpreter in its first line
    named = [program.interpreter, *program.options, program.target, *program.args]
    told = dict(config, kind=program.kind, target=program.target, args=program.args, executable=command.executable)
    told.update(command=command.argv, orig_argv=named if is_script else command.argv, is_marked=marker in environment)
    says_frozen = any("frozen_modules" in option for option in program.options)
    options = [] if says_frozen else ["-Xfrozen_modules=off"]
    first = program.interpreter if is_script else command.argv[0]
    argv = [first, *options, *program.options, config["launcher"], *program.args]
    launch = json.dumps(told).encode()
    if len(launch) > LONGEST_LAUNCH:
        return None
    own = {marker: os.fsencode(config["marker"][1]), LAUNCH.encode(): launch}
    return Plan(program.interpreter, argv, {**environment, **own}, True)


def handed_down(environment: Environment, below: Dict[str, str]) -> Environment:
    """Return the environment with what makes the Pythons below hand themselves over.

    `below` is our folder, and a file for them."""
    folder, before = os.fsencode(below["folder"]), environment.get(IMPORT_PATH.encode(), b"")
    # An empty entry after ours would be the working directory, from which nothing of ours is imported.
    imports = b"%b%b%b" % (folder, SEPARATOR, before) if before else folder + ALONE
    return {**environment, IMPORT_PATH.encode(): imports, BELOW.encode(): os.fsencode(below["file"])}


def taken_back(environment: Environment, folder: str) -> Environment:
    """Return the environment as it would be without `handed_down`, whatever somebody has added to it in between."""
    left = {name: value for name, value in environment.items() if name not in (IMPORT_PATH.encode(), BELOW.encode())}
    mine, imports = os.fsencode(folder), environment.get(IMPORT_PATH.encode(), b"")
    imports = imports.replace(mine + ALONE, b"").replace(mine + SEPARATOR, b"")
    return {**left, IMPORT_PATH.encode(): imports} if imports else left
