"""The environment of a program that a session starts."""

from __future__ import annotations

import os

from .base import LaunchSpec
from .processes import MARKER


def program_environment(spec: LaunchSpec, session_id: str) -> dict[str, str]:
    """The relay's own environment without its settings, then the client's."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OPENCODE_DEBUG_") and name not in spec.removed
    }
    return {**inherited, **spec.env, **spec.added, MARKER: session_id}
