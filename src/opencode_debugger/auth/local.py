"""The token of whoever owns the data folder: all scopes, made by the relay, read by local clients."""

from ..files import delete_file, make_folder, open_private, write_file
from ..operations.scopes import ALL_SCOPES
from ..persistence.local_token import LONGEST, token_file
from ..persistence.token_store import TokenStore
from .tokens import hash_of, new_token

NAME = "local"


def ensure_local_token(store: TokenStore) -> str:
    """At the start of the relay: the file has a token that is known, or gets a new one. Return its hash."""
    make_folder(store.folder)
    store.check()
    path = token_file(store.folder)
    try:
        with open(open_private(path), "rb") as file:
            known = hash_of(file.read(LONGEST).strip())
            if store.find(known) is not None:
                return known
    except FileNotFoundError:
        pass
    forget_local_token(store)
    token = new_token()
    store.add(NAME, hash_of(token), list(ALL_SCOPES))
    write_file(path, token.encode() + b"\n")
    return hash_of(token)


def forget_local_token(store: TokenStore) -> None:
    store.remove(NAME)
    delete_file(token_file(store.folder))
