"""Finds the relay and the token for it: those that were given, else those of the relay that runs here, which is started
if there is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from .. import __version__
from ..default_settings import DATA_FOLDER, PREFIX
from ..persistence.local_token import VARIABLE, NoToken, own_token
from .address import API, HERE, RENEWAL, Address, Problem, address_of

SERVER = PREFIX + "SERVER"
"""For clients: the address of a relay, as --server gives it."""
WILDCARDS = ("0.0.0.0", "::", "")


def find_relay(
    server: str | None = None, token_file: Path | None = None, data_dir: Path | None = None, cafile: Path | None = None,
) -> Address:
    """Return the address that was given, else where the relay of the data folder is, or would be."""
    folder = data_folder(data_dir)
    server = server or os.environ.get(SERVER)
    address = address_of(server) if server else address_in(folder)
    is_local = goes_local_token(token_file, folder, address)
    token = read_own_token(folder) if is_local else chosen_token(token_file, address)
    if not address.is_here and address.url.startswith("http:"):
        host = address.host
        print(f"opencode-debugger: the token goes to {host} unencrypted; use https:// if you can", file=sys.stderr)
    trusted = str(cafile.expanduser()) if cafile else address.cafile
    return address._replace(token=token, has_local_token=is_local, cafile=trusted)


def running_or_started(
    server: str | None = None, token_file: Path | None = None, data_dir: Path | None = None, cafile: Path | None = None,
) -> Address:
    """Return the address that was given, else where the relay of the data folder is, which is started if need be."""
    folder = data_folder(data_dir)
    if not (server or os.environ.get(SERVER)) and not is_running(folder):
        from .starting import start_relay

        start_relay(folder)
    return find_relay(server, token_file, data_dir, cafile)


def version_note(address: Address) -> str | None:
    """Say in one line that the relay has another version than this client; they still understand each other."""
    if address.version in ("", __version__):
        return None
    versions = f"the relay at {address.shown_url} has version {address.version}, this client {__version__}"
    return f"{versions}: if that matters, {RENEWAL}"


def data_folder(data_dir: Path | None) -> Path:
    return (data_dir or Path(os.environ.get(PREFIX + "DATA_DIR") or DATA_FOLDER)).expanduser().absolute()


def read_lock(folder: Path) -> dict[str, Any]:
    """Return what the relay that holds the data folder, or held it last, says there about itself."""
    try:
        return msgspec.json.decode((folder / "relay.lock").read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return {}


def address_in(folder: Path) -> Address:
    """Return where the relay of a data folder is. If none has run there, the settings are as good as anything."""
    about = read_lock(folder)
    version = str(about.get("version", ""))
    if "uds" in about:
        return Address(HERE, uds=str(about["uds"]), version=version, is_own=True)
    host = str(about.get("host") or os.environ.get(PREFIX + "HOST") or "127.0.0.1")
    port = about.get("port") or os.environ.get(PREFIX + "PORT") or 5679
    host = "127.0.0.1" if host in WILDCARDS else host
    url = f"{about.get('scheme', 'http')}://{f'[{host}]' if ':' in host else host}:{port}{API}"
    return Address(url, about.get("certfile"), version=version, is_own=True)


def is_running(folder: Path) -> bool:
    """Tell whether a relay of ours listens where the data folder says."""
    try:
        pid = int(read_lock(folder)["pid"])
        if pid <= 0:  # a group of processes
            return False
        os.kill(pid, 0)
        address_in(folder).open_socket().close()
    except (OSError, KeyError, ValueError, TypeError, OverflowError, Problem):
        return False
    return True


def goes_local_token(token_file: Path | None, folder: Path, address: Address) -> bool:
    """Tell whether the local token is to be sent: if no other is given, and to the relay of its folder alone."""
    is_other = token_file is not None or bool(os.environ.get(VARIABLE, "").strip())
    return not is_other and address.is_here and _is_same_place(address, address_in(folder))


def chosen_token(token_file: Path | None, address: Address) -> str:
    """Return the token that was given; relays here may do without."""
    if token_file is not None:
        try:
            token = token_file.expanduser().read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(f"--token-file {token_file} cannot be read: {error}") from None
        if not token:
            raise Problem(f"--token-file {token_file} is empty")
        return token
    token = os.environ.get(VARIABLE, "").strip()
    if not token and not address.is_here:
        make = "make one there with `opencode-debugger token create`"
        raise Problem(f"{address.host} needs a token of its own: {make}, and give it with --token-file or {VARIABLE}")
    return token


def read_own_token(folder: Path) -> str:
    try:
        return own_token(folder)
    except NoToken as error:
        raise Problem(str(error)) from None


def _is_same_place(one: Address, other: Address) -> bool:
    """Tell whether two addresses on this machine lead to the same relay."""
    one_path, other_path = (each.uds and os.path.realpath(each.uds) for each in (one, other))
    return one_path == other_path and (bool(one_path) or (other.is_here and one.port == other.port))
