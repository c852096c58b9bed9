"""Says what is not part of an answer: on stderr, in one line."""

from __future__ import annotations

import sys


def tell(note: str | None) -> None:
    if note is not None:
        print(f"ocdb: {note}", file=sys.stderr)
