"""Choosing the Python that a program runs on, and explaining why a module is missing there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...debuggers.python.interpreters import project_environment
from ...debuggers.python.interpreters.virtual_environments import find_environment, interpreter_of
from ...operations.advice import advice
from ..session_settings import Config

if TYPE_CHECKING:
    from ...debuggers.rows import ProgramRow

MISSING = re.compile(r"(?:^|[ :])No module named '?([A-Za-z_][\w.]*)'?")
SHOWN = 3


@dataclass(frozen=True)
class Chosen:
    interpreter: str
    environment: str | None
    """to activate"""
    reason: str


def project_folder(config: Config, cwd: str | None, script: str | None) -> str | None:
    """Return the project's folder as far as the client has named it. The relay's own folder is nobody's project."""
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
    """Return the module that an error message says is not there."""
    found = MISSING.search(text or "")
    return found[1] if found else None


def explain_missing_module(module: str, program: ProgramRow, project: str | None) -> str:
    """Say which environment was used, and which others there are."""
    interpreter = program["interpreter"] or ""
    used = os.path.realpath(os.path.dirname(os.path.dirname(interpreter)))
    others = [each for each in project_environment.find_all(project) if os.path.realpath(each.path) != used]
    told = f"{module} was not found by {interpreter} ({program['interpreter_reason']})"
    choose = advice("{launch python_path=?}")
    if not others:
        return f"{told}. No other environment was found: install it there, or choose another Python: {choose}"
    with_it = [each.path for each in others[:SHOWN] if project_environment.has_module(each.path, module)]
    rows = [f"{each.path} (which has it)" if each.path in with_it else each.path for each in others[:SHOWN]]
    return f"{told}. Other environments, whose Python is chosen by {choose}: {', '.join(rows)}"
