"""A door that asks for tokens, and a token of each kind."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stub_relay import Door, served

from opencode_debugger.auth.access import Access
from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.operations.scopes import ALL_SCOPES
from opencode_debugger.persistence.token_store import TokenStore


@dataclass
class Locked:
    """A door that asks for tokens, and one token of each kind."""

    door: Door
    tokens: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, kind: str) -> Any:
        headers = {} if kind == "none" else {"Authorization": f"Bearer {self.tokens[kind]}"}
        path = re.sub(r"\{\w+\}", "1", path.replace("{session_id}", "unknown"))
        return self.door.client.request(method, path, headers=headers)


def one_of_each_kind(folder: Path) -> dict[str, str]:
    store = TokenStore(folder)
    kinds = {"expired": ALL_SCOPES, "revoked": ALL_SCOPES, "all": ALL_SCOPES} | {name: (name,) for name in ALL_SCOPES}
    tokens = {"wrong": new_token(), **{kind: new_token() for kind in kinds}}
    for kind, scopes in kinds.items():
        store.add(kind, hash_of(tokens[kind]), list(scopes), expires_at=1.0 if kind == "expired" else None)
    store.remove("revoked")
    return tokens


@contextmanager
def locked_door(folder: Path, is_required: bool = True) -> Iterator[Locked]:
    tokens = one_of_each_kind(folder)
    with served(Access(TokenStore(folder), is_required)) as door:
        yield Locked(door, tokens)
    for thread in threading.enumerate():
        if thread.name == "token-use":
            thread.join(10)
