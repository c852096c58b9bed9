"""Files that survive crashes and are the user's alone: written whole or not at all, set aside when unusable."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
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


class NotPrivate(Exception):
    """A file or folder that others could have read or changed, said in one line."""


def check_private_folder(path: Path) -> None:
    """Ours, not a link, closed to everybody else."""
    _check_private(path, os.lstat(path), stat.S_ISDIR, "a folder", 0o700)


def open_private(path: Path) -> int:
    """A descriptor of a file that nobody but us can have written, or read."""
    check_private_folder(path.parent)
    _check_private(path, os.lstat(path), stat.S_ISREG, "a file", 0o600)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_private(path, os.fstat(descriptor), stat.S_ISREG, "a file", 0o600)
    except NotPrivate:
        os.close(descriptor)
        raise
    return descriptor


def _check_private(path: Path, found: os.stat_result, is_kind: Callable[[int], bool], kind: str, mode: int) -> None:
    refusing, real = f"refusing to use {path}:", path.resolve()
    if stat.S_ISLNK(found.st_mode):
        raise NotPrivate(f"{refusing} it is a symbolic link. Remove it, or use the folder of what it leads to: {real}")
    if not is_kind(found.st_mode):
        raise NotPrivate(f"{refusing} it is not {kind}. Move it away, or use another --data-dir")
    if found.st_uid != os.geteuid():
        raise NotPrivate(f"{refusing} it belongs to user {found.st_uid}. Move it away, or use another --data-dir")
    if found.st_mode & 0o077:
        is_open = f"its mode is {stat.S_IMODE(found.st_mode):04o}, so others may have access"
        raise NotPrivate(f"{refusing} {is_open}. If that was not meant: chmod {mode:o} {path}")


def write_json(path: Path, data: Any) -> None:
    write_file(path, msgspec.json.format(msgspec.json.encode(data), indent=2))


def write_file(path: Path, content: bytes) -> None:
    """Replace the file; whoever reads it, at whatever moment, sees the old or the new content, never less."""
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
        set_aside(path, error)
        return default


def delete_file(path: Path) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        _sync_folder(path.parent)


def set_aside(path: Path, error: Exception) -> None:
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
