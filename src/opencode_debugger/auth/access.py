"""Who calls, and what they may do: one way for every door."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Protocol

from ..errors import RelayError
from ..persistence.tokens import Token
from .scopes import ALL_SCOPES, TABLE, WRITE
from .tokens import hash_of, is_same

RawHeaders = Iterable[tuple[bytes, bytes]]
"""As ASGI has them in `scope["headers"]`: lower-case names, one entry per line."""


class Tokens(Protocol):
    """What is needed of the store."""

    def find(self, hash: str) -> Token | None: ...
    def note_use(self, token: Token) -> None: ...
    def clock(self) -> float: ...


class Access:
    def __init__(self, tokens: Tokens, is_required: bool) -> None:
        self.tokens = tokens
        self.is_required = is_required

    def caller(self, headers: RawHeaders, always: bool = False) -> Caller:
        """Whoever sent these headers. A token that is sent must be good; `always` needs one in any case."""
        given = [value for name, value in headers if name == b"authorization"]
        if given:
            return Caller(self, hash_of(sent_token(given)))
        if always or self.is_required:
            raise RelayError("UNAUTHORIZED", "This needs a token, and none was sent")
        return ANYBODY

    def token(self, hash: str) -> Token:
        """The token with this hash, if it is still good."""
        found = self.tokens.find(hash)
        if found is None or not is_same(found.hash, hash):
            raise RelayError("UNAUTHORIZED", "The token is not one of this relay: it is wrong, or was revoked")
        if found.is_expired(self.tokens.clock()):
            ended = datetime.fromtimestamp(found.expires_at or 0, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            raise RelayError("UNAUTHORIZED", f"The token '{found.name}' expired at {ended}", expired_at=ended)
        return found


class Caller:
    """Somebody with a token. Ask before each thing that they do: it may have been revoked or expired meanwhile."""

    def __init__(self, access: Access, hash: str) -> None:
        self._access = access
        self._hash = hash
        access.tokens.note_use(access.token(hash))

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset(self._access.token(self._hash).scopes)

    def may(self, operation: str) -> bool:
        return TABLE[operation] <= self.scopes

    @property
    def may_run(self) -> bool:
        """Whether what they ask may run code of programs and debuggers."""
        return WRITE in self.scopes

    def require(self, operation: str) -> None:
        """Returns, or says what is missing."""
        needed, scopes = TABLE[operation], self.scopes
        if needed <= scopes:
            return
        missing = sorted(needed - scopes)
        raise RelayError(
            "FORBIDDEN",
            f"The token lacks the scope {' and '.join(missing)}",
            operation=operation,
            required_scopes=sorted(needed),
            missing_scopes=missing,
        )


class Anybody(Caller):
    """Who reaches a relay that asks for no token."""

    def __init__(self) -> None:
        pass

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset(ALL_SCOPES)

    def require(self, operation: str) -> None:
        TABLE[operation]


ANYBODY = Anybody()


def sent_token(given: list[bytes]) -> bytes:
    """The token of the Authorization header, of which there may be one."""
    scheme, _, token = given[0].strip().partition(b" ")
    token = token.strip()
    if len(given) != 1 or scheme.lower() != b"bearer" or not token:
        raise RelayError("UNAUTHORIZED", "There must be one Authorization header, and it must be: Bearer TOKEN")
    return token
