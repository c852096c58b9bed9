"""Callers and what they may do: one way for every door."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import RelayError
from ..operations.scopes import ALL_SCOPES, WRITE
from ..operations.table import OPERATIONS
from ..persistence.token_store import Token, TokenStore
from ..timestamps import whole_seconds
from .sign_ins import SignIns
from .tokens import hash_of, is_same

SIGN_IN_AGAIN = "Sign in again: `ocdb open` opens the page with a new code, or enter a token"

RawHeaders = Iterable[tuple[bytes, bytes]]
"""As ASGI has them in `scope["headers"]`: lower-case names, one entry per line."""


class Access:
    def __init__(self, tokens: TokenStore, is_required: bool) -> None:
        self.tokens = tokens
        self.is_required = is_required
        self.sign_ins = SignIns()

    def find_caller(self, headers: RawHeaders, always: bool = False) -> Caller:
        """Return who sent these headers. A token that is sent must be good; `always` needs one in any case."""
        given = [value for name, value in headers if name == b"authorization"]
        if given:
            scheme, _, token = given[0].strip().partition(b" ")
            if len(given) != 1 or scheme.lower() != b"bearer" or not token.strip():
                raise RelayError("UNAUTHORIZED", "There must be one Authorization header, and it must be: Bearer TOKEN")
            return Caller(self, hash_of(token.strip()))
        if always or self.is_required:
            raise RelayError("UNAUTHORIZED", "This needs a token, and none was sent")
        return ANYBODY

    def find_browser(self, id: str) -> Caller:
        """Return the browser that has this id in its cookie."""
        return SignedInBrowser(self, hash_of(id))

    def good_token(self, hash: str) -> Token:
        """The token with this hash, if it is still good."""
        found = self.tokens.find(hash)
        if found is None or not is_same(found.hash, hash):
            raise RelayError("UNAUTHORIZED", "The token is not one of this relay: it is wrong, or was revoked")
        if found.is_expired(self.tokens.clock()):
            ended = whole_seconds(found.expires_at or 0)
            raise RelayError("UNAUTHORIZED", f"The token '{found.name}' expired at {ended}", expired_at=ended)
        return found


class Caller:
    """Somebody with a token. Ask before each thing that they do: it may have been revoked or expired meanwhile."""

    def __init__(self, access: Access, hash: str) -> None:
        self._access = access
        self._hash = hash
        access.tokens.note_use(access.good_token(hash))

    @property
    def identity(self) -> str:
        """Tell callers apart: the same token, the same caller."""
        return self._hash

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset(self._access.good_token(self._hash).scopes)

    @property
    def is_good(self) -> bool:
        """Tell whether the token is still good."""
        try:
            self._access.good_token(self._hash)
        except RelayError:
            return False
        return True

    def may_do(self, operation: str) -> bool:
        return self.scopes.issuperset(OPERATIONS[operation].scopes)

    @property
    def may_run(self) -> bool:
        """Tell whether the caller's requests may run code of programs and debuggers."""
        return WRITE in self.scopes

    def require(self, operation: str) -> None:
        """Returns, or says what is missing."""
        needed, scopes = frozenset(OPERATIONS[operation].scopes), self.scopes
        if needed <= scopes:
            return
        missing = sorted(needed - scopes)
        message = f"The token lacks the scope {' and '.join(missing)}"
        scoped: dict[str, Any] = {"required_scopes": sorted(needed), "missing_scopes": missing}
        raise RelayError("FORBIDDEN", message, operation=operation, **scoped)


class SignedInBrowser(Caller):
    """A browser that has signed in: it has the scopes of the token it did that with, until it signs out."""

    def __init__(self, access: Access, id_hash: str) -> None:
        self._id_hash = id_hash
        self._sign_ins = access.sign_ins
        super().__init__(access, self._require_token())

    @property
    def scopes(self) -> frozenset[str]:
        self._require_token()
        return super().scopes

    @property
    def is_good(self) -> bool:
        return self._sign_ins.find(self._id_hash) is not None and super().is_good

    def _require_token(self) -> str:
        token_hash = self._sign_ins.find(self._id_hash)
        if token_hash is None:
            raise RelayError("UNAUTHORIZED", "You are signed out: the sign-in has ended", suggestion=SIGN_IN_AGAIN)
        return token_hash


class Anybody(Caller):
    """The caller at a relay that asks for no token."""

    def __init__(self) -> None:
        pass

    @property
    def identity(self) -> str:
        return ""

    @property
    def is_good(self) -> bool:
        return True

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset(ALL_SCOPES)

    def require(self, operation: str) -> None:
        OPERATIONS[operation]


ANYBODY = Anybody()
