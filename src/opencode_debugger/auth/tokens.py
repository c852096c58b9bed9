"""Tokens: 256 random bits behind a prefix by which they are recognised, known to the relay by their hash only."""

import hashlib
import secrets

PREFIX = "ocdb_"
RANDOM_BYTES = 32


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def hash_of(token: str | bytes) -> str:
    """Guessing 256 random bits is hopeless however quick the hash is."""
    return hashlib.sha256(token.encode() if isinstance(token, str) else token).hexdigest()


def is_same(one: str, other: str) -> bool:
    return secrets.compare_digest(one, other)
