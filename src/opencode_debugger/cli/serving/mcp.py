"""`opencode-debugger mcp`: the MCP server on stdin and stdout."""

from __future__ import annotations

import logging
import sys
from functools import partial
from pathlib import Path
from typing import Any

from ...client.address import Address, Problem
from ...client.discovery import running_or_started, version_note
from .failure import fail


def serve_mcp(server: str | None, token_file: Path | None, data_dir: Path | None, cafile: Path | None) -> int:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s", stream=sys.stderr)
    if sys.stdin.isatty():
        print("opencode-debugger: this speaks MCP; agents start it, see `ocdb mcp install --help`", file=sys.stderr)
    import uvloop  # both here, because they take long to load

    from ...doors.mcp.stdio_connection import serve_stdio

    try:
        uvloop.run(serve_stdio(partial(find_relay, server, token_file, data_dir, cafile)))
    except Problem as problem:
        return fail(str(problem))
    except KeyboardInterrupt:
        return 0
    return 0


def find_relay(*where: Any) -> Address:
    """Find the relay, or start one; that it has another version is for the log that clients keep of stderr."""
    address = running_or_started(*where)
    if note := version_note(address):
        print(f"opencode-debugger: {note}", file=sys.stderr, flush=True)
    return address
