"""Relays that clients start by themselves, each in a data folder of its own, and their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from relays import RUN_ID, RUN_MARKER, free_port
from started_relays import end_relays


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data folder of clients here, for which no relay runs yet; the one that they start is ended."""
    data = tmp_path / "data"
    names = {"DATA_DIR": str(data), "PORT": str(free_port()), "IDLE_EXIT_MINUTES": "10"}
    for name, value in names.items():
        monkeypatch.setenv(f"OPENCODE_DEBUG_{name}", value)
    monkeypatch.setenv(RUN_MARKER, RUN_ID)
    yield data
    end_relays(data)
