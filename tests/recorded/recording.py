"""Recordings of what the doors answer: exchanges in order, made comparable, kept as JSON and compared.

A recording is a list of exchanges: what was asked, and all that was answered; keys are sorted, for their order means
nothing. Only what must differ from run to run is replaced, by `Comparable`; the same value has the same placeholder all
over a recording.
"""

from __future__ import annotations

import difflib
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from opencode_debugger.debuggers.native.lldb import lldb_program
from opencode_debugger.errors import RelayError

ANSWERS = Path(__file__).parent / "answers"
MACHINE = Path(__file__).parent / "machine.json"
REWRITE = bool(os.environ.get("RECORD"))
"""Write the recordings instead of comparing with them."""

Exchange = dict[str, Any]


class Recording:
    """The exchanges of one flow."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.exchanges: list[Exchange] = []

    def add(self, asked: str, **what: Any) -> None:
        self.exchanges.append({"asked": asked, **what})

    def check(self, comparable: Comparable) -> None:
        """Compare with what was recorded before, or write it down."""
        path = ANSWERS / f"{self.name}.json"
        text = as_text(comparable(self.exchanges))
        if REWRITE:
            path.write_text(text, encoding="utf-8")
            MACHINE.write_text(json.dumps(this_machine(), indent=1) + "\n", encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing: make record"
        before = as_text(json.loads(path.read_text(encoding="utf-8")))
        if text != before:
            lines = difflib.unified_diff(before.splitlines(), text.splitlines(), "recorded", "now", "", "", 8, "")
            said = f"{self.name} is answered in another way (if it should be: make record):"
            pytest.fail("\n".join([said, *lines]), pytrace=False)


@cache
def this_machine() -> dict[str, str]:
    """Return what shows in answers and is not ours: versions of Python, of compilers and of the other debuggers."""

    def first_line(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.partition("\n")[0]

    try:
        lldb = first_line(lldb_program.find(None), "--version")
    except RelayError as error:
        lldb = error.message
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "gcc": first_line("gcc", "--version"),
        "lldb": lldb,
        "libc": " ".join(platform.libc_ver()),
    }


@cache
def difference_of_machines() -> str | None:
    """Say why recordings cannot be compared here, if they cannot."""
    if not MACHINE.exists():
        return None
    then, now = json.loads(MACHINE.read_text(encoding="utf-8")), this_machine()
    changed = [f"{name} {then.get(name)!r} is {now[name]!r} here" for name in now if now[name] != then.get(name)]
    return f"recorded on another machine: {'; '.join(changed)}" if changed else None


def recorded() -> dict[str, list[Exchange]]:
    """Return all recordings as they were kept."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(ANSWERS.glob("*.json"))}


def as_text(exchanges: list[Exchange]) -> str:
    return laid_out(exchanges) + "\n"


def laid_out(value: Any, depth: int = 0, width: int = 120) -> str:
    """Write JSON with what fits on a line on one, and the rest a step deeper."""
    plain = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not value or not isinstance(value, (dict, list)) or (depth > 1 and len(plain) + depth <= width):
        return plain
    blanks = "\n" + " " * (depth + 1)
    if isinstance(value, dict):
        named = [(json.dumps(name, ensure_ascii=False), laid_out(item, depth + 1)) for name, item in value.items()]
        parts = [f"{name}: {text}" for name, text in sorted(named)]
    else:
        parts = [laid_out(item, depth + 1) for item in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + blanks + f",{blanks}".join(parts) + blanks[:-1] + last


def as_json(text: str) -> Any:
    """Return the JSON of an answer; one that is written in an unusual way (blanks, doubled keys) stays text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value if plain == text or (json.loads(plain) == value and is_spelled_alike(plain, text)) else {"text": text}


def is_spelled_alike(ours: str, theirs: str) -> bool:
    """Numbers may be written in two ways, and so may the delete character: nothing else may differ."""
    numbers = re.compile(r"\d+\.\d+(e[-+]?\d+)?|\d+e[-+]?\d+|\\u007f|\x7f")
    return numbers.sub("", ours) == numbers.sub("", theirs)


# What must differ from run to run.

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
CLOCK = re.compile(r"(?m)^(\d+) \d\d:\d\d:\d\d ")
"""An entry of the timeline as text begins with its number, and the time of day."""
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
SESSION = re.compile(r"\bsess_[0-9a-z]+\b")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
MADE_UP_NAME = re.compile(r"\bsession-[0-9a-f]{8}\b")
LOCAL_PORT = re.compile(r"\b(127\.0\.0\.1|localhost|port|ocdb)(?: ?:? ?|-)(\d{4,5})\b")
"""The cookie of a relay is called after its port."""
PROCESS = re.compile(r"(?i)(?<![\w])(process|pid|processes|tracer|-CONT) (\d+)\b")
CHILD_NAME = re.compile(r"/(\d+)$")
"""The name of a child's session ends in its process id."""

VERSION = re.compile(r"\d+\.\d+\.\d+\S*")
LLDB = re.compile(r"(/[\w.-]+)+/lldb-dap(-\d+)?")

VERSION_KEYS = {"version", "python_version", "debugpy_version"}
SECONDS = {
    "uptime_seconds", "runtime_seconds", "duration_ms", "started_ms", "span_ms", "own_ms", "total_ms", "waited_ms",
    "slowest_ms", "ms", "first_ms", "last_ms", "start_ms", "end_ms", "part_ms",
}
PROCESS_KEYS = {"pid", "ppid", "systemProcessId"}
PORT_KEYS = {"port", "debugpy_port"}
LAST_WELL_KNOWN = 1023
USER_KEYS = {"user"}
RECORDING_KEYS = {"recording", "other", "suggestion"}
RECORDING_NAME = re.compile(r"\b\d+-\d+\b")
"""A recording is called after its process."""
SECRET_KEYS = {"token", "wheel_id"}
THREAD_KEYS = {"thread_id", "threadId", "stopped_thread_id"}
FIRST_OF_SYSTEM = 100
"""Threads have small numbers, but for lldb, which has those of the system: the first one is the process."""
CURSOR_KEYS = {"next_cursor", "cursor", "Last-Event-ID"}


class Comparable:
    """Replaces what must differ; `places` are folders by the names that stand for them, the longest first."""

    def __init__(self, places: dict[str, str | Path], relay_port: int) -> None:
        self._places = sorted(((str(path), name) for name, path in places.items()), key=lambda pair: -len(pair[0]))
        self._relay_port = relay_port
        self._seen: dict[str, dict[Any, int]] = {}

    def __call__(self, exchanges: list[Exchange]) -> Any:
        self._learn(exchanges)
        return self._replaced(exchanges)

    def _learn(self, value: Any, key: str = "") -> None:
        """Number the process ids in their order, so that they are known where they are part of a text."""
        if isinstance(value, dict):
            for name, item in value.items():
                self._learn(item, name)
        elif isinstance(value, list):
            for item in value:
                self._learn(item)
        elif isinstance(value, int) and (
            (key in PROCESS_KEYS and value > 1) or (key in THREAD_KEYS and value > FIRST_OF_SYSTEM)
        ):
            self._placed("process", value)

    def _replaced(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            if value.get("presentation_hint") == "registers":
                value = {**value, "named_variables": "<registers of the processor>"}
            return {self._text(name): self._replaced(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._replaced(item, key) for item in in_steady_order(value)]
        if isinstance(value, str):
            return self._placed("token", value) if key in SECRET_KEYS else self._text(value, key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return self._number(value, key)

    def _number(self, value: float, key: str) -> Any:
        if key in SECONDS:
            return "<seconds>"
        if value == self._relay_port:
            return "<port of the relay>"
        if key in PROCESS_KEYS | THREAD_KEYS | {"id"} and value in self._seen.get("process", {}):
            return self._placed("process", value)
        if key in PORT_KEYS and value > LAST_WELL_KNOWN:
            return self._placed("port", value)
        return value

    def _text(self, text: str, key: str = "") -> str:
        if key in USER_KEYS:
            return "<user>"
        if key in CURSOR_KEYS and text != "nonsense":
            return self._placed("cursor", text)
        if key in RECORDING_KEYS:
            text = RECORDING_NAME.sub("<recording>", text)
        if key in VERSION_KEYS and VERSION.fullmatch(text):
            return "<version>"
        for path, name in self._places:
            text = text.replace(path, f"<{name}>")
        text = text.replace(f":{self._relay_port}", ":<port of the relay>")
        text = LLDB.sub("<lldb-dap>", text)
        text = TIME.sub("<time>", text)
        text = CLOCK.sub(r"\1 <clock> ", text)
        text = UUID.sub("<uuid>", text)
        text = SESSION.sub(lambda found: self._placed("session", found[0]), text)
        text = MADE_UP_NAME.sub(lambda found: self._placed("name", found[0]), text)
        text = ADDRESS.sub(lambda found: self._placed("address", found[0]), text)
        text = LOCAL_PORT.sub(lambda found: found[0].replace(found[2], self._placed("port", int(found[2]))), text)
        text = PROCESS.sub(lambda found: f"{found[1]} {self._placed('process', int(found[2]))}", text)
        return CHILD_NAME.sub(lambda found: self._of_child(found[1]), text)

    def _of_child(self, number: str) -> str:
        is_known = int(number) in self._seen.get("process", {})
        return f"/{self._placed('process', int(number))}" if is_known else f"/{number}"

    def _placed(self, kind: str, value: Any) -> str:
        numbers = self._seen.setdefault(kind, {})
        return f"<{kind} {numbers.setdefault(value, len(numbers) + 1)}>"


COUNTED = ("seq", "cursor", "id")


def in_steady_order(items: list[Any]) -> list[Any]:
    """Put what the program wrote behind the rest, by its category, and join what came in pieces.

    Both its streams are pipes, and what the debugger tells comes on a third way: in which order the relay reads them is
    chance, and so is where a text is cut. What counts them is left out."""
    written = [item for item in items if part_written(item) is not None]
    if not written:
        return items
    rest = [item for item in items if part_written(item) is None]
    joined: dict[str, Any] = {}
    for item in sorted(deepcopy(written), key=category_of):
        part = part_written(item) or {}
        first = joined.setdefault(category_of(item), item)
        if first is not item:
            (part_written(first) or {})[text_key(part)] += part[text_key(part)]
    return [uncounted(item) for item in (*rest, *joined.values())]


def part_written(item: Any) -> dict[str, Any] | None:
    """Return the part of an entry or event that has a text of the program: REST, WebSocket and server-sent events."""
    if not isinstance(item, dict):
        return None
    for part in (item, item.get("body"), item.get("payload"), item.get("data"), deeper(item, "data", "payload")):
        if (isinstance(part, dict) and {"category", "output"} <= set(part)) or is_log(part):
            return part
    return None


def is_log(part: Any) -> bool:
    return isinstance(part, dict) and {"stream", "text"} <= set(part)


def deeper(item: dict[str, Any], *names: str) -> Any:
    for name in names:
        item = item.get(name) or {} if isinstance(item, dict) else {}
    return item


def text_key(part: dict[str, Any]) -> str:
    return "output" if "output" in part else "text"


def category_of(item: Any) -> str:
    part = part_written(item) or {}
    return str(part.get("category") or part.get("stream"))


def uncounted(item: Any) -> Any:
    return {name: part for name, part in item.items() if name not in COUNTED} if isinstance(item, dict) else item


def settled(ask: Callable[[], Any], is_so: Callable[[Any], bool]) -> Any:
    """Ask, without recording, until it is so."""

    def found() -> list[Any]:
        answer = ask()
        return [answer] if is_so(answer) else []

    return wait_until(found)[0]
