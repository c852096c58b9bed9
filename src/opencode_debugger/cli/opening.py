"""`ocdb open`: opens the relay's page, at a session if there is one."""

from __future__ import annotations

import os
import sys
from typing import Any
from urllib.parse import urlencode

import msgspec

from ..agents.conversation import run_now
from ..answers.server import SignInCode
from ..client.address import API, Address, Problem
from ..client.http import HttpAsker
from ..errors import RelayError
from ..operations.operation import ID
from .command_table import Command
from .exit_codes import DONE
from .exporting import is_file_name, open_file
from .relay_access import RelayOptions
from .terminal import tell

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables of which one is set where a browser can be shown."""
NO_BROWSER = (
    "the relay listens on a unix socket, which no browser can open: forward a port to it, as with "
    "socat TCP-LISTEN:5679,bind=127.0.0.1,fork UNIX-CONNECT:{uds}"
)


def open_page(command: Command, given: dict[str, Any]) -> int:
    """Print the address, and show it where there is a display. A code in it signs in, if the relay asks for tokens."""
    options, named = RelayOptions.take_from(given), given.get("named") or given.get("session")
    as_json = given.get("json", False)
    if named is not None and is_file_name(named):
        return open_file(options, named, as_json)
    asker = options.asker()
    if asker.address.uds:
        raise Problem(NO_BROWSER.format(uds=asker.address.uds))
    session = run_now(_find_session(asker, named, options.memory().recall()))
    made = msgspec.json.decode(run_now(asker.ask("make_sign_in_code", {})), type=SignInCode)
    address = page_address(asker.address, made.code, session)
    print(msgspec.json.encode({"url": address, "session_id": session}).decode() if as_json else address)
    if not given.get("only_print") and has_display():
        sys.stdout.flush()
        _show(address)
    return DONE


async def _find_session(asker: HttpAsker, named: str | None, current: str | None) -> str | None:
    """Return the session that is meant: one that is named must be there, the current one may be gone."""
    if named is not None:
        await asker.ask("status", {ID: named})
        return named
    try:
        if current is not None:
            await asker.ask("status", {ID: current})
    except RelayError:
        return None
    return current


def page_address(address: Address, code: str | None, session: str | None) -> str:
    query = f"?{urlencode({'code': code})}" if code else ""
    return f"{address.url.removesuffix(API)}/{query}" + (f"#/sessions/{session}" if session else "")


def has_display() -> bool:
    return sys.platform == "darwin" or any(os.environ.get(name) for name in DISPLAYS)


def _show(address: str) -> None:
    import webbrowser  # here, because it looks for browsers

    if not webbrowser.open(address):
        tell("no browser could be started: open the address yourself")
