"""Logs on stderr: lines for people on a terminal, else one JSON object a line, with the id of the request behind it."""

import logging
import re
import sys
from contextvars import ContextVar
from datetime import datetime
from typing import Any, TextIO

import msgspec

from .timestamps import timestamp

request_id: ContextVar[str] = ContextVar("request_id", default="")

ACCESS = logging.getLogger("opencode_debugger.access")
TOKEN = re.compile(rb"ocdb_[A-Za-z0-9_-]{43}")
POLLED = ("/health", "/status", "/ping")


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage(),
        }
        if current := request_id.get():
            line["request_id"] = current
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return without_tokens(msgspec.json.encode(line, enc_hook=repr)).decode()


class PlainLines(logging.Formatter):
    """For people who watch a terminal; what clients send cannot move its cursor or forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        level = "" if record.levelno <= logging.INFO else f"{record.levelname}: "
        line = f"{when}  {level}{visible_text(record.getMessage())}"
        fields = getattr(record, "fields", {})
        if "ms" in fields:
            line += f"  {fields['ms']:g} ms"
        current = request_id.get()
        if current and record.levelno > logging.INFO:
            line += f"  (request {visible_text(current)})"
        if record.exc_info:
            traceback = self.formatException(record.exc_info).splitlines()
            line += "".join(f"\n    {visible_text(each)}" for each in traceback)
        return without_tokens(line.encode("utf-8", "backslashreplace")).decode()


def visible_text(text: str) -> str:
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to whatever stderr is now, and never lets a closed one stop the server."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ValueError)):
            super().handleError(record)


def without_tokens(text: bytes) -> bytes:
    """For what is written down or told in an error: a token that was put in the wrong place goes no further."""
    return TOKEN.sub(b"ocdb_...", text) if b"ocdb_" in text else text


def configure_logs(level: str = "info", format: str = "auto") -> None:
    """Send every log of this process to stderr; uvicorn's own access lines are ours to write."""
    handler = StderrHandler()
    is_plain = format == "text" or (format == "auto" and sys.stderr.isatty())
    handler.setFormatter(PlainLines() if is_plain else JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.access").disabled = True
    set_level(level)


def set_level(level: str) -> None:
    """The server's own details stay out even when debugging: every header and every frame of a WebSocket."""
    logging.getLogger().setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel(max(logging.INFO, logging.getLogger().level))


def log_access(method: str, path: str, status: int, seconds: float) -> None:
    """One line per request; polls are only worth it when debugging."""
    level = logging.DEBUG if method == "GET" and path.endswith(POLLED) else logging.INFO
    if ACCESS.isEnabledFor(level):
        fields = {"method": method, "path": path, "status": status, "ms": round(seconds * 1000, 2)}
        ACCESS.log(level, "%s %s %d", method, path, status, extra={"fields": fields})
