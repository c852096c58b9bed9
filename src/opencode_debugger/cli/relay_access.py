"""The way of a command to the relay: its options, the relay that is found or started, the session that is meant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from ..agents.conversation import Conversation, SessionMemory
from ..client.address import Address
from ..client.discovery import SERVER, data_folder, find_relay, is_running, read_lock, running_or_started, version_note
from ..client.http import HttpAsker
from ..operations.door_words import COMMAND_LINE, set_door
from .session_memory import FolderMemory
from .terminal import tell


class RelayOptions(msgspec.Struct, frozen=True):
    """What the command line says about the relay to ask."""

    server: str | None = None
    token_file: Path | None = None
    data_dir: Path | None = None
    cafile: Path | None = None

    @classmethod
    def take_from(cls, given: dict[str, Any]) -> RelayOptions:
        """Take the options of the relay out of what a command was given."""
        paths = {name: Path(given.pop(name)) for name in ("token_file", "data_dir", "cafile") if name in given}
        return cls(given.pop("server", None) or os.environ.get(SERVER), **paths)

    @property
    def folder(self) -> Path:
        return data_folder(self.data_dir)

    def memory(self, named: str | None = None, is_starting: bool = False) -> FolderMemory:
        """Return what is remembered of this folder; a session that is named does not become the current one."""
        return FolderMemory(self.folder, Path(os.getcwd()), self.server, named, is_starting)

    def find(self) -> Address:
        """Return where the relay is: as its data folder says, which is not looked into further."""
        if self.server or read_lock(self.folder):
            address = find_relay(self.server, self.token_file, self.data_dir, self.cafile)
            tell(version_note(address))
            return address
        return self.find_or_start()

    def find_or_start(self) -> Address:
        """Return where a relay answers; if none does here, one is started, which is said."""
        was_running = bool(self.server) or is_running(self.folder)
        address = running_or_started(self.server, self.token_file, self.data_dir, self.cafile)
        if not was_running:
            tell(f"started a relay at {address.shown_url}; it ends when it has been idle for a while")
        return address

    def asker(self, base: str | None = None) -> HttpAsker:
        """Return who asks it. A relay that has gone is found or started again."""
        set_door(COMMAND_LINE)
        return HttpAsker(self.find(), base, COMMAND_LINE, self.find_or_start, "ocdb")


def open_conversation(options: RelayOptions, memory: SessionMemory, reveal: bool) -> Conversation:
    """Begin to talk with the relay."""
    return Conversation(options.asker(os.getcwd()), memory, reveal)
