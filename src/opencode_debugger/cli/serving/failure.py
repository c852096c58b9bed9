"""How a command says that it could not do it."""

import sys


def fail(message: str) -> int:
    print(f"opencode-debugger: {message}", file=sys.stderr)
    return 1
