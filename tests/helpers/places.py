"""Where things of this project are."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DOCS = ROOT / "docs"
HELPERS = TESTS / "helpers"
PROGRAMS = TESTS / "programs"
STAND_IN = HELPERS / "ez_stand_in.py"
