"""One relay for the whole run, programs written on the spot, and nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import breadth
import hypothesis
import pytest
from forked_relays import RELAY_FORKS
from native import build
from places import ROOT
from relays import Api, Relay, Session, left_running
from waiting import wait_until

__all__ = ["build"]

# So that `python3`, which sessions use by default, is an interpreter that starts at once: no shim that looks for it,
# and no packages of this machine, some of which are loaded at every start.
BARE = ROOT / ".venv" / "bare" / "bin"
os.environ["PATH"] = os.pathsep.join([str(BARE), str(Path(sys.base_prefix) / "bin"), os.environ["PATH"]])

os.environ.pop("VIRTUAL_ENV", None)

# A run in the background of a shell has it ignored, and so would have all that is started here.
signal.signal(signal.SIGINT, signal.default_int_handler)


# On a busy machine a draw may take seconds: whatever is said of its speed says nothing of the code.
hypothesis.settings.register_profile(
    "any-speed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any-speed")

LONG_FILES = Path(__file__).with_name("long.txt").read_text(encoding="utf-8").split()
"""What takes long is begun first, so that at the end no worker is left alone with it."""


SAMPLED = frozenset(Path(__file__).with_name("sampled.txt").read_text(encoding="utf-8").split())
"""Tests of many cases that differ little: the first and the last are tried, all of them with `BREADTH=all`."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not breadth.ALL:
        take_samples(config, items)
    places = {name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def take_samples(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in SAMPLED:
            cases.setdefault(name, []).append(item)
    left = {item for those in cases.values() for item in those[1:-1]}
    left |= {item for item in items if item.get_closest_marker("wide")}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    yield
    RELAY_FORKS.close()
    wait_until(lambda: not left_running(), left_running)


@pytest.fixture(scope="session")
def relay(nothing_is_left_running: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    relay = Relay(tmp_path_factory.mktemp("relay") / "data").start()
    yield relay
    assert relay.stop() == 0


@pytest.fixture(scope="session")
def api(relay: Relay) -> Iterator[Api]:
    with Api(relay.base_url) as api:
        yield api


@pytest.fixture
def session(api: Api) -> Iterator[Session]:
    with api.session() as session:
        yield session


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Writes a program and gives its path."""

    def write(text: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    return write
