"""The settings that concern a session, read without what the relay reads its own with, which takes its time."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from ..core.settings import Limits

PREFIX = "OPENCODE_DEBUG_"
FOLDER = "~/.opencode-debugger"


class Unusable(Exception):
    """A setting that cannot be used, in one line."""


def limits() -> Limits:
    """The environment over config.json over the defaults."""
    names = [field.name for field in fields(Limits)]
    stored = _stored()
    given: dict[str, Any] = {name: stored[name] for name in names if name in stored}
    given |= {name: value for name in names if (value := os.environ.get(PREFIX + name.upper()))}
    try:
        return msgspec.convert(given, Limits, strict=False)
    except msgspec.ValidationError as error:
        raise Unusable(f"a setting cannot be used: {error}") from None


def data_folder() -> Path:
    return Path(os.environ.get(PREFIX + "DATA_DIR") or FOLDER).expanduser()


def _stored() -> dict[str, Any]:
    try:
        stored = json.loads((data_folder() / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}
