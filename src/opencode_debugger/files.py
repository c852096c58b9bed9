"""Files that survive crashes and are the user's alone: written whole or not at all, set aside when unusable."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import msgspec

if TYPE_CHECKING:
    from pathlib import Path  # which a runner does without: it brings much along

T = TypeVar("T")

LARGEST_SOURCE = 32 * 1024 * 1024
KERNEL = ("/proc", "/sys")
"""Where files are made up as they are read."""
UNREADABLE = (OSError, msgspec.MsgspecError, ValueError, TypeError, KeyError, RecursionError)
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
LARGEST = 64 * 1024 * 1024
"""Bytes of a file of ours; what is longer is not ours."""


def is_inside(path: str, folder: str) -> bool:
    """Tell whether a path is the folder, or in it, as both are spelled."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def read_source(path: str) -> bytes:
    """All of a source file. Raises OSError for what cannot be read, or is not to be shown: see `refused_source`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if problem := refused_source(path, descriptor):
            raise PermissionError(errno.EACCES, problem, path)
        return file.read(LARGEST_SOURCE)


def refused_source(path: str, descriptor: int | None = None) -> str | None:
    """Why a file that is there is not shown: it would block or never end, or belongs to the relay or the system."""
    try:
        status = os.stat(path if descriptor is None else descriptor)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return "It is not a file"
    if status.st_size > LARGEST_SOURCE:
        return f"It is larger than {LARGEST_SOURCE >> 20} MB"
    # What was opened is judged, if it was: a path may lead elsewhere the next time.
    is_ours = is_withheld(path if descriptor is None else f"/proc/self/fd/{descriptor}")
    return "It is not a file of the program" if is_ours else None


def withhold_folder(folder: Path | str) -> None:
    """Whatever asks for a source file does not get one of this folder: the relay's own, with its tokens."""
    _withheld.add(os.path.realpath(folder))


def is_withheld(path: str) -> bool:
    """Tell whether it leads into such a folder, to a file of it under another name, or to what the kernel makes up."""
    real = os.path.realpath(path)
    is_below = any(is_inside(real, folder) for folder in (*KERNEL, *_withheld))
    return is_below or any(_is_linked(real, folder) for folder in _withheld)


def _is_linked(path: str, folder: str) -> bool:
    """By a hard link, from anywhere below the folder. Only what has several names is looked for."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    if status.st_nlink < 2:
        return False
    for below in (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names):
        with contextlib.suppress(OSError):  # it has just gone
            if os.path.samestat(status, os.lstat(below)):
                return True
    return False


_withheld: set[str] = set()


def find_executable(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program, given by a path or by its name on PATH. What an empty or relative entry of PATH
    finds depends on the working directory, where anybody may have put it."""
    folders = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    places = [name] if os.path.dirname(name) else [os.path.join(each, name) for each in folders if os.path.isabs(each)]
    there = (each for each in places if os.path.exists(each) and not os.path.isdir(each))
    return next((os.path.abspath(each) for each in there if os.access(each, os.X_OK)), None)


def unnamed_file() -> BinaryIO:
    """An empty file that is in no folder, and gone when it is closed."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("opencode-debugger"), "w+b")
    import tempfile  # here, because a runner would carry it and all that it brings along

    return cast(BinaryIO, tempfile.TemporaryFile())


def see_that_streams_are_open() -> None:
    """Somebody may have started us without some of them: then there is nothing to read, and nobody to tell.

    Else the next file that is opened would take such a number, and get what is said there."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(fd)
        except OSError:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != fd:
                os.dup2(nothing, fd)
                os.close(nothing)
            os.set_inheritable(fd, True)
            setattr(sys, name, os.fdopen(fd, "w" if fd else "r", closefd=False))


def make_folder(path: Path) -> None:
    """Make the folder and its missing parents, for the user's eyes only."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


def claim_folder(path: Path) -> None:
    """Make the folder; what stands in its place is set aside."""
    if path.is_symlink() or path.exists():
        if path.is_dir():
            return
        set_aside(path, NotADirectoryError(errno.ENOTDIR, "not a folder"))
    make_folder(path)


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


def read_file(path: Path | str) -> bytes:
    """Raises OSError for what is no file of a sensible size: nobody waits for the other end of a pipe."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a file", str(path))
        if found.st_size > LARGEST:
            raise OSError(errno.EFBIG, "too large", str(path))
        return file.read(LARGEST)


def read_json(path: Path, default: T, check: Callable[[Any], T]) -> T:
    """Return what `check` makes of the file; the default if it is missing or unusable (then it is set aside).

    Raises OSError while the system has nothing left to read it with.
    """
    try:
        return check(msgspec.json.decode(read_file(path)))
    except FileNotFoundError:
        return default
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno in EXHAUSTED:
            raise  # the file may be as good as ever
        set_aside(path, error)
        return default


def take_lock(descriptor: int, patience: float, why_not: str = "somebody keeps it locked") -> None:
    """Lock a file or folder; raise TimeoutError if somebody else keeps it locked for so many seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, why_not) from None
            time.sleep(0.01)


def delete_file(path: Path) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        _sync_folder(path.parent)


def set_aside(path: Path, error: Exception) -> None:
    import logging  # here, because it takes long to load, and a command has no use for it

    log = logging.getLogger(__name__)
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


LONGEST_SOCKET_PATH = 100
"""Bytes: the kernel takes no more than 108, of which the last is 0; other systems a little less."""


@contextlib.contextmanager
def socket_address(folder: str, name: str) -> Iterator[str]:
    """A path of the socket that is short enough for the kernel, however deep the folder is."""
    path = os.path.join(folder, name)
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
