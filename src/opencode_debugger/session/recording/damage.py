"""What reading something else than a recording may raise, and how it is told."""

from __future__ import annotations

import struct

MALFORMED = (EOFError, ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError, struct.error)
"""what reading something else than a recording may raise"""


class Damaged(Exception):
    """A file is not what a recording has, told in words."""
