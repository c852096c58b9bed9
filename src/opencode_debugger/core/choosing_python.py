"""Which Python a program runs on, and why; and what to say when a module is missing there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from ..adapters.debugpy import project_environment
from ..adapters.debugpy.environments import find_environment, interpreter_of
from .settings import Config

MISSING = re.compile(r"(?:^|[ :])No module named '?([A-Za-z_][\w.]*)'?")
SHOWN = 3


@dataclass(frozen=True)
class Chosen:
    interpreter: str
    environment: str | None
    """to activate"""
    reason: str


def project_folder(config: Config, cwd: str | None, script: str | None) -> str | None:
    """Where the project is, as far as the client has named it. The relay's own folder is nobody's project."""
    return config.project_root or cwd or (os.path.dirname(script) if script else None)


def choose_python(
    config: Config, folder: str, python_path: str | None, venv: str | None, project: str | None
) -> Chosen:
    """Choose what was asked for by the launch, then by the session, then what the project has, then the default."""
    whose = "the launch"
    if python_path is None and venv is None:
        python_path, venv, whose = config.python_path, config.venv, "the session"
    if python_path is not None:
        return Chosen(python_path, None, f"python_path of {whose}")
    if venv is not None:
        environment = find_environment(venv, folder)
        return Chosen(interpreter_of(environment), environment, f"venv of {whose}")
    for found in project_environment.find_all(project):
        return Chosen(interpreter_of(found.path), found.path, found.why)
    where = f"in or above {project}" if project else "(no project_root)"
    return Chosen(config.interpreter, None, f"default_python_path of the relay: no environment was found {where}")


def missing_module(text: str | None) -> str | None:
    """The module that an error message says is not there."""
    found = MISSING.search(text or "")
    return found[1] if found else None


def about_missing(module: str, program: dict[str, Any], project: str | None) -> str:
    """Say which environment was used, and which others there are."""
    used = os.path.realpath(os.path.dirname(os.path.dirname(program["interpreter"])))
    others = [each for each in project_environment.find_all(project) if os.path.realpath(each.path) != used]
    told = f"{module} was not found by {program['interpreter']} ({program['interpreter_reason']})"
    if not others:
        return f"{told}. No other environment was found: install it there, or give venv or python_path"
    rows = [f"{each.path}{_has(each.path, module)}" for each in others[:SHOWN]]
    return f"{told}. Other environments, to be given as venv: {', '.join(rows)}"


def _has(environment: str, module: str) -> str:
    return " (which has it)" if project_environment.has_module(environment, module) else ""
