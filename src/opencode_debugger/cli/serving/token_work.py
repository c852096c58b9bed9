"""The work of `opencode-debugger token`."""

import functools
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ParamSpec

from ...auth import local
from ...auth.tokens import PREFIX, hash_of, new_token
from ...config import ConfigError, load_settings
from ...files import NotPrivate
from ...operations.scopes import ALL_SCOPES
from ...persistence.token_store import NameTaken, Token, TokenStore
from ...timestamps import whole_seconds
from .failure import fail

LONGEST_NAME = 100
LONGEST_YEARS = 10
SECONDS = {"m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
EVERYTHING = "all"
COLUMNS = ("ID", "NAME", "SCOPES", "CREATED", "EXPIRES", "LAST USED")

P = ParamSpec("P")


class Refused(Exception):
    """The request cannot be granted: why, in one line, and what to do."""


def one_line(work: Callable[P, None]) -> Callable[P, int]:
    """The exit code; what went wrong is said in one line."""

    @functools.wraps(work)
    def run(*args: P.args, **options: P.kwargs) -> int:
        try:
            work(*args, **options)
        except (Refused, ConfigError, NotPrivate) as error:
            return fail(str(error))
        except BrokenPipeError:
            return 1  # whoever read it has seen enough
        except OSError as error:
            return fail(f"{error.filename}: {error.strerror}. Check the data folder, or name another with --data-dir")
        return 0

    return run


@one_line
def create_token(name: str, scopes: Sequence[str], expires: str, as_json: bool, data_dir: Path | None) -> None:
    checked, wanted, lifetime = checked_name(name), checked_scopes(scopes), seconds_of(expires)
    tokens, token = store_of(data_dir), new_token()
    try:
        made = tokens.add(checked, hash_of(token), wanted, None if lifetime is None else time.time() + lifetime)
    except NameTaken:
        instead = f"choose another --name, or: opencode-debugger token revoke {checked}"
        raise Refused(f"there is a token '{checked}' already: {instead}") from None
    if as_json:
        print(json.dumps({**shown_token(made), "token": token}, indent=2))
        return
    print(token)
    until = f"until {shown_moment(made.expires_at)}" if made.expires_at else "until it is revoked"
    print(f"{made.id} '{made.name}' may {', '.join(wanted)} {until}. It is not shown again.", file=sys.stderr)


@one_line
def show_tokens(as_json: bool, data_dir: Path | None) -> None:
    tokens = [shown_token(token) for token in store_of(data_dir).all()]
    if as_json:
        print(json.dumps(tokens, indent=2))
        return
    rows = [COLUMNS, *(row_of(token) for token in tokens)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@one_line
def revoke_token(id_or_name: str, data_dir: Path | None) -> None:
    if id_or_name.startswith(PREFIX):
        raise Refused("that is a token: give its id or name, which `opencode-debugger token list` shows")
    tokens = store_of(data_dir)
    found = tokens.remove(id_or_name)
    if found is None:
        raise Refused(f"there is no token '{id_or_name:.100}': see opencode-debugger token list")
    print(f"revoked {found.id} '{found.name}'")
    if found.name == local.NAME:
        local.forget_local_token(tokens)
        print("The relay makes a new local token when it starts again.", file=sys.stderr)


def store_of(data_dir: Path | None) -> TokenStore:
    tokens = TokenStore(load_settings(data_dir=data_dir).data_dir)
    tokens.check()
    return tokens


def checked_name(given: str) -> str:
    name = given.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused(f"--name {given[:LONGEST_NAME]!r}: give 1 to {LONGEST_NAME} printable characters")
    if name == local.NAME or name.startswith(("tok_", PREFIX)):
        raise Refused(f"--name {name}: that is kept for the relay's own use, choose another")
    return name


def checked_scopes(given: Sequence[str]) -> list[str]:
    wanted = [part.strip() for text in given for part in text.split(",")]
    for scope in wanted:
        if scope not in (*ALL_SCOPES, EVERYTHING):
            nearest = get_close_matches(scope, [*ALL_SCOPES, EVERYTHING], n=1)
            meant = f" Did you mean {nearest[0]}?" if nearest else ""
            raise Refused(f"--scope {scope[:LONGEST_NAME]}: choose from {', '.join((*ALL_SCOPES, EVERYTHING))}.{meant}")
    return [scope for scope in ALL_SCOPES if scope in wanted or EVERYTHING in wanted]


def seconds_of(given: str) -> int | None:
    """How long a token lasts; nothing if for ever."""
    if given == "never":
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,8})([mhdw])", given)
    seconds = int(found[1]) * SECONDS[found[2]] if found else 0
    if not 0 < seconds <= LONGEST_YEARS * 365 * SECONDS["d"]:
        allowed = f"30m, 12h, 30d, 8w (at most {LONGEST_YEARS} years) or never"
        raise Refused(f"--expires {given[:LONGEST_NAME]}: give {allowed}")
    return seconds


def shown_token(token: Token) -> dict[str, Any]:
    moments = {name: shown_moment(getattr(token, name)) for name in ("created_at", "expires_at", "last_used_at")}
    about = {"id": token.id, "name": token.name, "scopes": token.scopes}
    return {**about, **moments, "expired": token.is_expired(time.time())}


def row_of(token: dict[str, Any]) -> tuple[str, ...]:
    scopes = EVERYTHING if len(token["scopes"]) == len(ALL_SCOPES) else ",".join(token["scopes"])
    expires = f"{token['expires_at'] or 'never'}{' (expired)' if token['expired'] else ''}"
    return (token["id"], token["name"], scopes, token["created_at"], expires, token["last_used_at"] or "never")


def shown_moment(seconds: float | None) -> str | None:
    return None if seconds is None else whole_seconds(seconds)
