"""`ocdb export FILE`: writes the recording of a session to a file; `ocdb open FILE` opens it again, anywhere."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ..agents.conversation import Conversation, LastSession, Told, run_now
from ..client.address import Problem
from ..operations.operation import ID
from ..wording import counted
from .command_table import Command
from .dispatch import show
from .exit_codes import DONE
from .relay_access import RelayOptions, open_conversation

CHROME_FILES = ".json"


def export_recording(command: Command, given: dict[str, Any]) -> int:
    options, named, path = RelayOptions.take_from(given), given.get("session"), given["file"]
    asker, memory = options.asker(os.getcwd()), options.memory(named)
    session = run_now(Conversation(asker, memory).find_session(named))
    chosen = given.get("format") or ("chrome" if path.endswith(CHROME_FILES) else "recording")
    params = {ID: session, "format": chosen} | {name: given[name] for name in ("recording",) if name in given}
    content = run_now(asker.download("export_recording", params))
    try:
        _write(path, content)
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror or error}") from None
    print(f"{path}: {counted(len(content), 'byte')}; {_next_step(path, chosen)}")
    return DONE


def _write(path: str, content: bytes) -> None:
    """Write the file beside its place first, for the user alone: it has values of the program."""
    temporary = f"{path}.part"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _next_step(path: str, chosen: str) -> str:
    if chosen == "chrome":
        return "open it with chrome://tracing or https://ui.perfetto.dev"
    return f"`ocdb open {path}` opens it, on any machine"


def open_file(options: RelayOptions, path: str, as_json: bool) -> int:
    """Make an exported recording the current session of this folder: all questions are asked of it then."""
    told = _ask_to_open(open_conversation(options, LastSession(), False), path)
    options.memory().make_current(told.data[ID])
    show(told, as_json)
    return DONE


def opened_session(conversation: Conversation, path: str) -> str:
    """Return a session that answers for an exported recording."""
    return str(_ask_to_open(conversation, path).data[ID])


def _ask_to_open(conversation: Conversation, path: str) -> Told:
    return run_now(conversation.tell("open_recording", {"path": os.path.abspath(path)}))


def is_file_name(text: str) -> bool:
    """Tell whether a text names a file rather than a session."""
    return os.sep in text or text.endswith(".ocrec") or os.path.isfile(text)
