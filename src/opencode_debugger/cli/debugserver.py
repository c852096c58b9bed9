"""`opencode-debugger debugserver` and `stdio`: the EZ protocol on standard input and output."""

from __future__ import annotations

import signal
import sys

from .failure import fail

# asyncio loads OpenSSL if it is there: 10 ms for nothing, while an IDE waits.
if "ssl" not in sys.modules:
    sys.modules["ssl"] = None  # type: ignore[assignment]


def debugserver(file: str | None, args: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until it is heard: nothing has begun, and nobody reads a traceback
    from ..stdio.server import run
    from ..stdio.settings import Unusable

    try:
        return run(file, args)
    except Unusable as problem:
        return fail(str(problem))


def quickly(argv: list[str]) -> int | None:
    """What an IDE starts, without all that other commands need; nothing, if it is something else."""
    if argv[:1] == ["stdio"] and len(argv) == 1:
        return debugserver(None, [])
    if argv[:1] == ["debugserver"] and len(argv) > 1 and not argv[1].startswith("-"):
        file, args = argv[1], argv[2:]
        return debugserver(file, args[1:] if args[:1] == ["--"] else args)
    return None
