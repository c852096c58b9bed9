"""The file with the token of whoever owns the data folder, as clients on this machine read it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..files import NotPrivate, open_private

if TYPE_CHECKING:
    from pathlib import Path

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
        start = "start the relay (opencode-debugger serve), which makes it"
        raise NoToken(f"there is no {path}: {start}, or set {VARIABLE}") from None
    except (NotPrivate, OSError, UnicodeDecodeError) as error:
        raise NoToken(str(error)) from None
    if not token:
        raise NoToken(f"{path} is empty: remove it and start the relay again, which makes a new one")
    return token
