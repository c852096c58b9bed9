"""`python -m opencode_debugger.runner FOLDER`: the process of one session."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

from .server import Server


def main() -> None:
    os.umask(0o077)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(Server(Path(sys.argv[1])).run())


if __name__ == "__main__":
    main()
