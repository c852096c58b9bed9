"""How much is tried of what can be combined: a sample in every run; all of it with `BREADTH=all`."""

from __future__ import annotations

import os

ALL = os.environ.get("BREADTH") == "all"
