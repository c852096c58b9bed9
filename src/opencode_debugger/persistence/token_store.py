"""The tokens there are, as hashes. The command and a running relay share the file: each sees what the other does."""

import contextlib
import fcntl
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from ..files import UNREADABLE, NotPrivate, check_private_folder, make_folder, open_private, set_aside, write_json

log = logging.getLogger(__name__)

VERSION = 1
USE_RECORDED_EVERY = 60.0


class NameTaken(Exception):
    """There is a token of that name."""


class Token(msgspec.Struct, frozen=True):
    """A token as far as it is known; not the token itself."""

    id: str
    name: str
    hash: str
    scopes: list[str]
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None

    def is_expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now


class _Content(msgspec.Struct):
    tokens: list[Token]
    version: int = VERSION


class TokenStore:
    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self.path = folder / "tokens.json"
        self.clock = clock
        self._seen: tuple[int, ...] | None = None
        self._by_hash: dict[str, Token] = {}
        self._recorded: dict[str, float] = {}

    def check(self) -> None:
        """Raises NotPrivate if others may have had a hand in it; find() then knows no token."""
        if self.folder.exists() or self.folder.is_symlink():
            check_private_folder(self.folder)
            if self._file_stamp():
                os.close(open_private(self.path))

    def find(self, hash: str) -> Token | None:
        """The token with this hash, whoever made it, as of now."""
        if self._file_stamp() != self._seen:
            self._read_tokens()
        return self._by_hash.get(hash)

    def all(self) -> list[Token]:
        self._read_tokens()
        return sorted(self._by_hash.values(), key=lambda token: token.created_at)

    def add(self, name: str, hash: str, scopes: list[str], expires_at: float | None = None) -> Token:
        token = Token(f"tok_{secrets.token_hex(4)}", name, hash, scopes, self.clock(), expires_at)
        with self._changing_tokens() as tokens:
            if any(other.name == name for other in tokens):
                raise NameTaken(name)
            tokens.append(token)
        return token

    def remove(self, id_or_name: str) -> Token | None:
        """An id before a name, so that no name can stand in for another token."""
        with self._changing_tokens() as tokens:
            for key in ("id", "name"):
                for token in tokens:
                    if getattr(token, key) == id_or_name:
                        tokens.remove(token)
                        return token
        return None

    def note_use(self, token: Token) -> None:
        """Written now and then, and by another thread: nobody waits for a disk because of it."""
        now = self.clock()
        if now - max(self._recorded.get(token.id, 0.0), token.last_used_at or 0.0) >= USE_RECORDED_EVERY:
            self._recorded[token.id] = now
            threading.Thread(target=self._record_use, args=(token.id, now), name="token-use").start()

    def _record_use(self, token_id: str, now: float) -> None:
        try:
            with self._changing_tokens() as tokens:
                tokens[:] = [
                    msgspec.structs.replace(token, last_used_at=now) if token.id == token_id else token
                    for token in tokens
                ]
        except (OSError, NotPrivate) as error:
            log.warning("the use of token %s could not be recorded: %s", token_id, error)

    # The file.

    def _file_stamp(self) -> tuple[int, ...]:
        """Differs when the file does: it is only ever replaced as a whole."""
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

    def _read_tokens(self) -> None:
        """Read the tokens. What cannot be trusted or understood lets nobody in."""
        self._seen = self._file_stamp()
        try:
            tokens = self._load_file()
        except NotPrivate as error:
            log.error("no token is accepted: %s", error)
            tokens = []
        self._by_hash = {token.hash: token for token in tokens}

    def _load_file(self) -> list[Token]:
        try:
            with open(open_private(self.path), "rb") as file:
                content = msgspec.json.decode(file.read(), type=_Content)
            if content.version > VERSION:
                raise ValueError("a newer version of the relay wrote it")
        except FileNotFoundError:
            return []
        except UNREADABLE as error:
            set_aside(self.path, error)
            return []
        return content.tokens

    @contextlib.contextmanager
    def _changing_tokens(self) -> Iterator[list[Token]]:
        """The tokens, to be changed in place, while no other process changes them. Unchanged, nothing is written."""
        make_folder(self.folder)
        descriptor = os.open(self.folder / "tokens.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            tokens = self._load_file()
            before = list(tokens)
            yield tokens
            if tokens != before:
                write_json(self.path, _Content(tokens))
        finally:
            os.close(descriptor)
