"""Browsers that have signed in: each has a random id in a cookie, and the scopes of the token that it signed in with.

All of it is in memory: a relay that is started again asks again."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from ..errors import RelayError
from .tokens import hash_of

CODE_SECONDS = 600.0
SIGN_IN_SECONDS = 12 * 3600.0
RANDOM_BYTES = 32
MOST_CODES = 20
MOST_SIGN_INS = 100
"""Beyond that the oldest go."""
MOST_TRIES = 10
"""Codes that are wrong, after which no code is good any more: new ones are made by whoever has a token."""


class Granted(NamedTuple):
    token_hash: str
    """of the token whose scopes it has, as long as that is good"""
    expires_at: float


class SignIns:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._codes: dict[str, Granted] = {}
        """by the hash of the code"""
        self._sign_ins: dict[str, Granted] = {}
        """by the hash of the id in the cookie"""
        self._wrong_codes = 0

    def make_code(self, token_hash: str) -> tuple[str, float]:
        """Make a code that signs in once, with the scopes of a token. Return it, and when it expires."""
        code, granted = secrets.token_urlsafe(RANDOM_BYTES), Granted(token_hash, self._clock() + CODE_SECONDS)
        self._keep(self._codes, code, granted, MOST_CODES)
        self._wrong_codes = 0
        return code, granted.expires_at

    def take_code(self, code: str) -> str:
        """Return the hash of the token that a code stands for; it is good for nothing from now on."""
        granted = self._codes.pop(hash_of(code), None)
        if granted is None or granted.expires_at <= self._clock():
            self._note_wrong_code()
            suggestion = "Open the page with `ocdb open`, which makes a new code, or sign in with a token"
            message = "The code was used already, has expired, or is wrong"
            raise RelayError("UNAUTHORIZED", message, suggestion=suggestion)
        return granted.token_hash

    def _note_wrong_code(self) -> None:
        self._wrong_codes += 1
        if self._wrong_codes >= MOST_TRIES:
            self._codes.clear()

    def sign_in(self, token_hash: str) -> tuple[str, float]:
        """Return the id for the cookie of a browser, and when it expires."""
        id, granted = secrets.token_urlsafe(RANDOM_BYTES), Granted(token_hash, self._clock() + SIGN_IN_SECONDS)
        self._keep(self._sign_ins, id, granted, MOST_SIGN_INS)
        return id, granted.expires_at

    def find(self, id_hash: str) -> str | None:
        """Return the hash of the token with which somebody has signed in, if that still holds."""
        granted = self._sign_ins.get(id_hash)
        if granted is not None and granted.expires_at <= self._clock():
            del self._sign_ins[id_hash]
            return None
        return granted.token_hash if granted else None

    def sign_out(self, id_hash: str) -> None:
        self._sign_ins.pop(id_hash, None)

    def _keep(self, kept: dict[str, Granted], secret: str, granted: Granted, most: int) -> None:
        while len(kept) >= most:
            del kept[next(iter(kept))]
        kept[hash_of(secret)] = granted


def cookie_name(port: int, is_tls: bool) -> str:
    """Return the name of the cookie: browsers send cookies to every port of a host, so each relay has its own."""
    return f"{'__Host-' if is_tls else ''}ocdb-{port}"


def set_cookie(name: str, id: str, seconds: float, is_tls: bool) -> bytes:
    """Return the header that has a browser keep the id: out of reach of scripts, and of requests from other sites."""
    secure = "; Secure" if is_tls else ""
    return f"{name}={id}; Max-Age={int(seconds)}; Path=/; HttpOnly; SameSite=Strict{secure}".encode()


def cookie_value(header: bytes, name: str) -> str:
    """Return the value of a cookie; nothing if there is none, or several of that name."""
    pairs = [part.strip().partition("=") for part in header.decode("latin-1").split(";")]
    found = [value for key, _, value in pairs if key == name]
    return found[0] if len(found) == 1 else ""
