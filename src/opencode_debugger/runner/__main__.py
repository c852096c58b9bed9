"""`python -m opencode_debugger.runner FOLDER`: the process of one session."""

from __future__ import annotations

import sys

# asyncio loads OpenSSL if it is there: 5 MB and 10 ms in each runner for nothing. (So do hashlib and secrets.)
sys.modules["ssl"] = None  # type: ignore[assignment]

import asyncio  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
from pathlib import Path  # noqa: E402

from ..adapters.processes import adopt_orphans  # noqa: E402
from ..files import withhold  # noqa: E402
from .paths import OWN_PATH  # noqa: E402
from .server import Server  # noqa: E402


def main() -> None:
    os.umask(0o077)
    restore_environment()
    folder = Path(sys.argv[1])
    withhold(folder.parents[1])
    adopt_orphans()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(Server(folder).run())


def restore_environment() -> None:
    """Programs inherit what the user has: see `spawn`."""
    os.environ.pop("PYTHONPATH", None)
    if OWN_PATH in os.environ:
        os.environ["PYTHONPATH"] = os.environ.pop(OWN_PATH)


if __name__ == "__main__":
    main()
