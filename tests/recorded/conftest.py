"""A relay for the flows alone, and for each a stage whose recording is compared at its end."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from clients import Stage
from native import SOURCES, Builder
from places import TESTS
from recording import REWRITE, Comparable, Recording, difference_of_machines
from relays import Relay


@pytest.fixture(scope="session")
def recorded_relay(nothing_is_left_running: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    relay = Relay(tmp_path_factory.mktemp("recorded") / "data")
    relay.env = {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    relay.cwd = relay.data_dir.parent
    relay.start()
    yield relay
    assert relay.stop() == 0


@pytest.fixture
def stage(request: pytest.FixtureRequest, recorded_relay: Relay, build: Builder) -> Iterator[Stage]:
    """Give a flow what it plays on; its recording is compared when it has ended, also if it broke off."""
    if not REWRITE and (difference := difference_of_machines()):
        pytest.skip(difference)
    recording = Recording(request.node.name.removeprefix("test_").replace("[", "_").rstrip("]"))
    folder = Path(tempfile.mkdtemp(prefix="recorded-", dir="/tmp"))  # of one length: reports are cut to a budget
    stage = Stage(recorded_relay, recording, folder, build)
    yield stage
    stage.clean()
    shutil.rmtree(folder)
    places = {
        "folder": folder,
        "data": recorded_relay.data_dir,
        "above data": recorded_relay.data_dir.parent,
        "sources": SOURCES,
        "tests": TESTS,
        "repository": TESTS.parent,
        "built": build.folder,
        "venv": sys.prefix,
        "python": sys.base_prefix,
    }
    recording.check(Comparable(places, recorded_relay.port))


@pytest.fixture
def own_relay(nothing_is_left_running: None, tmp_path: Path) -> Iterator[Relay]:
    """Start a relay that asks for tokens, for a flow that ends it."""
    relay = Relay(tmp_path / "data", require_token=True)
    relay.is_up = lambda: httpx2.get(f"{relay.base_url}/health", verify=False).status_code < 500
    relay.start()
    yield relay
    relay.stop()
