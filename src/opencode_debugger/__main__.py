"""`python -m opencode_debugger`: the command."""

from __future__ import annotations

import sys


def main() -> None:
    """Importing what the other commands need takes longer than an IDE likes to wait."""
    if sys.argv[1:2] in (["debugserver"], ["stdio"]):
        from .cli.debugserver import quickly

        code = quickly(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    from .cli.main import run

    run()


if __name__ == "__main__":
    main()
