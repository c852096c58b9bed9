"""Decides whose code is recorded: the project's own, and of it what was asked for."""

from __future__ import annotations

import os
import sys
from inspect import CO_OPTIMIZED
from types import CodeType
from typing import Dict, List

from ..frames import is_foreign_file
from ..python_versions import STDLIB_FOLDER

INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
UNNAMED = frozenset(("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"))
"""Code that is a part of the function around it, to whoever reads it."""
MODULE = "<module>"


class RecordedScope:
    """Knows the folders whose code is recorded, and the functions whose lines are."""

    def __init__(self, folders: List[str], lines: List[str], only_lines: bool) -> None:
        self._folders = [os.path.join(os.path.realpath(folder), "") for folder in folders]
        self._chosen = ["." + name.replace(":", ".") for name in lines]
        self._only_lines = only_lines
        self._has_texts = sys.argv[:1] == ["-c"]
        """The program itself has no file."""
        self._files: Dict[str, bool] = {}

    def is_recorded(self, code: CodeType, qualified_name: str) -> bool:
        name = code.co_name
        if name in UNNAMED or not (code.co_flags & CO_OPTIMIZED or name == MODULE):
            return False
        found = self._files.get(code.co_filename)
        if found is None:
            found = self._has_file(code.co_filename) and not _is_entry_script(code)
            self._files[code.co_filename] = found
        return found and (not self._only_lines or self.has_lines(code, qualified_name))

    def _has_file(self, name: str) -> bool:
        if is_foreign_file(name):
            return False
        if name.startswith("<"):
            return self._has_texts and name == "<string>"
        path = os.path.realpath(name)
        for folder in self._folders or [""]:
            if path.startswith(folder):
                return not _is_installed(path[max(0, len(folder) - 1) :]) and (
                    bool(self._folders) or not path.startswith(os.path.join(os.path.realpath(STDLIB_FOLDER), ""))
                )
        return False

    def has_lines(self, code: CodeType, qualified_name: str) -> bool:
        """Tell whether the lines of a function are recorded: it is named by the end of module and qualified name."""
        if not self._chosen:
            return False
        folder, file = os.path.split(os.path.abspath(code.co_filename))
        module = folder if file == "__init__.py" else os.path.join(folder, file[:-3] if file.endswith(".py") else file)
        whole = ".%s.%s" % (module.replace(os.sep, "."), qualified_name.replace("<locals>.", ""))
        return whole.endswith(tuple(self._chosen))


def _is_entry_script(code: CodeType) -> bool:
    """Tell whether a file is a script that an installer has made of a package's function: it defines nothing."""
    if code.co_name != MODULE or not sys.executable:
        return False
    scripts, folder = os.path.dirname(sys.executable), os.path.dirname(code.co_filename)
    is_script = os.path.realpath(folder) == os.path.realpath(scripts)
    return is_script and not any(type(each) is CodeType for each in code.co_consts)


def _is_installed(path: str) -> bool:
    return any(part in path for part in INSTALLED)
