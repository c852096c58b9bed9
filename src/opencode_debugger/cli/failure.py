"""How a command says that it could not do it."""

from __future__ import annotations

import sys


def fail(message: str) -> int:
    print(f"opencode-debugger: {message}", file=sys.stderr)
    return 1
