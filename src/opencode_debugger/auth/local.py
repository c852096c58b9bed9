"""The token of whoever owns the data folder: all scopes, made by the relay, read by local clients."""

from __future__ import annotations

import os
from pathlib import Path

from ..files import NotPrivate, delete_file, make_folder, open_private, write_file
from ..persistence.tokens import TokenStore
from .scopes import ALL_SCOPES
from .tokens import hash_of, new_token

NAME = "local"
VARIABLE = "OPENCODE_DEBUG_TOKEN"
"""For clients; the relay drops it, so that no program inherits it."""
LONGEST = 1000


class NoToken(Exception):
    """There is no token to use, or it is not safe to use, said in one line."""


def token_file(folder: Path) -> Path:
    return folder / "local-token"


def own_token(folder: Path) -> str:
    """The token that a client here sends: the environment's, else the one that the relay left in its data folder."""
    return os.environ.get(VARIABLE, "").strip() or read_local_token(folder)


def read_local_token(folder: Path) -> str:
    path = token_file(folder)
    try:
        with open(open_private(path), "rb") as file:
            token = file.read(LONGEST).decode("ascii").strip()
    except FileNotFoundError:
        raise NoToken(
            f"there is no {path}: start the relay (opencode-debugger serve), which makes it, or set {VARIABLE}"
        ) from None
    except (NotPrivate, OSError, UnicodeDecodeError) as error:
        raise NoToken(str(error)) from None
    if not token:
        raise NoToken(f"{path} is empty: remove it and start the relay again, which makes a new one")
    return token


def ensure_local_token(store: TokenStore) -> None:
    """At the start of the relay: the file has a token that is known, or gets a new one."""
    make_folder(store.folder)
    store.check()
    path = token_file(store.folder)
    try:
        with open(open_private(path), "rb") as file:
            is_known = store.find(hash_of(file.read(LONGEST).strip())) is not None
    except FileNotFoundError:
        is_known = False
    if not is_known:
        forget_local_token(store)
        token = new_token()
        store.add(NAME, hash_of(token), list(ALL_SCOPES))
        write_file(path, token.encode() + b"\n")


def forget_local_token(store: TokenStore) -> None:
    store.remove(NAME)
    delete_file(token_file(store.folder))
