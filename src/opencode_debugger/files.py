"""JSON files that survive crashes: written whole or not at all, set aside when they cannot be read."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

log = logging.getLogger(__name__)

T = TypeVar("T")

UNREADABLE = (OSError, msgspec.MsgspecError, ValueError, TypeError, KeyError, RecursionError)


def is_inside(path: str, folder: str) -> bool:
    """Whether it is the folder, or in it, as both are spelled."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def make_folder(path: Path) -> None:
    """Make the folder and its missing parents, for the user's eyes only."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def write_json(path: Path, data: Any) -> None:
    """Replace the file; whoever reads it, at whatever moment, sees the old or the new content, never less."""
    content = msgspec.json.format(msgspec.json.encode(data), indent=2)
    make_folder(path.parent)
    # One name per file: what a killed process left behind is used again by the next write.
    temp = path.with_name(f".{path.name}.tmp")
    temp.unlink(missing_ok=True)
    try:
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temp.replace(path)
    except OSError:
        temp.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_json(path: Path, default: T, check: Callable[[Any], T]) -> T:
    """What `check` makes of the file; the default if it is missing or unusable (then it is set aside)."""
    try:
        return check(msgspec.json.decode(path.read_bytes()))
    except FileNotFoundError:
        return default
    except UNREADABLE as error:
        _set_aside(path, error)
        return default


def delete_file(path: Path) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        _sync_folder(path.parent)


def _set_aside(path: Path, error: Exception) -> None:
    aside = path.with_name(f"{path.name}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    try:
        path.replace(aside)
    except OSError as failure:
        log.warning("%s is unusable (%s) and cannot be set aside (%s): going on without it", path, error, failure)
    else:
        log.warning("%s is unusable (%s): set aside as %s, going on without it", path, error, aside.name)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
