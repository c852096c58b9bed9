"""One data folder, and one relay that has started by itself, for all tests of the command line."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from unittest.mock import patch

import pytest
from command import Answer, Ocdb, own_ocdb

from opencode_debugger.cli.dispatch import run


class OcdbHere(Ocdb):
    """Carries commands out in the process of the tests, where everything is loaded already."""

    def ask(self, *words: str | Path) -> Answer:
        text, errors = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.folder), patch.dict(os.environ, self.env, clear=True), warnings.catch_warnings(),
            contextlib.redirect_stdout(text), contextlib.redirect_stderr(errors),
        ):
            warnings.simplefilter("ignore", ResourceWarning)  # connections end with the command's process
            try:
                code = copy_context().run(run, [*map(str, words)])
            except SystemExit as ended:
                code = int(ended.code or 0)
        return Answer(code, text.getvalue(), errors.getvalue())

    def within(self, folder: Path, **env: str) -> OcdbHere:
        return OcdbHere(self.data_dir, folder, {**self.env, **env})


@pytest.fixture(scope="session")
def shared_ocdb(nothing_is_left_running: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ocdb]:
    with own_ocdb(tmp_path_factory.mktemp("ocdb")) as ocdb:
        ocdb("ls")
        yield ocdb


@pytest.fixture
def ocdb(shared_ocdb: Ocdb, tmp_path: Path) -> Iterator[Ocdb]:
    """The command line in the folder of the test; its current session is ended afterwards."""
    ocdb = OcdbHere(shared_ocdb.data_dir, tmp_path, shared_ocdb.env)
    yield ocdb
    ocdb.ask("end", "--force")


@pytest.fixture
def shell(ocdb: Ocdb) -> Ocdb:
    """The same as one types it: every command is a process of its own."""
    return Ocdb(ocdb.data_dir, ocdb.folder, ocdb.env)
