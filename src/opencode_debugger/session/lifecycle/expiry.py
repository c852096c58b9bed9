"""The lifetime of a session: idle time, age, and the warning before its end."""

from __future__ import annotations

import time

from ..session_settings import Config
from .debuggee import Debuggee


class Lifetime:
    def __init__(self, debuggee: Debuggee, config: Config) -> None:
        self._debuggee = debuggee
        self.timeout = config.timeout_seconds or config.limits.session_timeout_seconds
        self._max_age = config.limits.session_max_lifetime_seconds
        self._began = time.monotonic()

    def seconds_left(self) -> float:
        now = time.monotonic()
        remaining = self.timeout - (now - self._debuggee.last_activity)
        return min(remaining, self._max_age - (now - self._began)) if self._max_age else remaining

    def warning(self) -> str | None:
        """Warn from half way on."""
        remaining = self.seconds_left()
        if remaining > self.timeout / 2:
            return None
        amount, unit = (remaining / 60, "minutes") if remaining >= 120 else (max(remaining, 0), "seconds")
        return f"Session will expire in {amount:.0f} {unit}"
