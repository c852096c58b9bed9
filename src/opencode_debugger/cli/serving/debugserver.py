"""`opencode-debugger debugserver` and `stdio`: the EZ protocol on standard input and output."""

import os
import signal
import stat
import sys

from .failure import fail

# asyncio loads OpenSSL if it is there: 10 ms for nothing, while an IDE waits.
if "ssl" not in sys.modules:
    sys.modules["ssl"] = None  # type: ignore[assignment]


def debugserver(file: str | None, args: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nobody reads a traceback
    # The others wait until the server can tell the client of its end.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
    if file is not None and (why := _why_unreadable(file)) is not None:
        return fail(f"Error reading file: open {file}: {why}")  # the words that IDEs look for
    from ...doors.stdio.stdio_server import Unusable, run_server

    try:
        return run_server(file, args)
    except Unusable as problem:
        return fail(str(problem))


def _why_unreadable(path: str) -> str | None:
    """Why a file cannot be read: IDEs try a debugger out with one that does not exist, and wait for its end."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return "not a file"
        with open(path, "rb"):
            return None
    except (OSError, ValueError) as error:
        return (getattr(error, "strerror", None) or str(error)).lower()


def run_quickly(argv: list[str]) -> int | None:
    """Run what an IDE starts, without loading what other commands need; return None if it is another command."""
    if argv[:1] == ["stdio"] and len(argv) == 1:
        return debugserver(None, [])
    if argv[:1] == ["debugserver"] and len(argv) > 1 and not argv[1].startswith("-"):
        file, args = argv[1], argv[2:]
        return debugserver(file, args[1:] if args[:1] == ["--"] else args)
    return None
