"""One data folder, and one relay that has started by itself, for all tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Ocdb, own_ocdb


@pytest.fixture(scope="session")
def shared_ocdb(nothing_is_left_running: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ocdb]:
    with own_ocdb(tmp_path_factory.mktemp("ocdb")) as ocdb:
        yield ocdb


@pytest.fixture
def ocdb(shared_ocdb: Ocdb, tmp_path: Path) -> Iterator[Ocdb]:
    """The command line in the folder of the test; its current session is ended afterwards."""
    ocdb = shared_ocdb.within(tmp_path)
    yield ocdb
    ocdb.ask("end", "--force")
