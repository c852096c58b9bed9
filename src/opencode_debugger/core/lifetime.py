"""How long a session lasts: idle time, age, and the warning before its end."""

from __future__ import annotations

import time

from .debuggee import Debuggee
from .settings import Config


class Lifetime:
    def __init__(self, debuggee: Debuggee, config: Config) -> None:
        self._debuggee = debuggee
        self.timeout = config.timeout_seconds or config.limits.session_timeout_seconds
        self._longest = config.limits.session_max_lifetime_seconds
        self._began = time.monotonic()

    def remaining(self) -> float:
        now = time.monotonic()
        remaining = self.timeout - (now - self._debuggee.last_activity)
        return min(remaining, self._longest - (now - self._began)) if self._longest else remaining

    def warning(self) -> str | None:
        """From half way on."""
        remaining = self.remaining()
        if remaining > self.timeout / 2:
            return None
        amount, unit = (remaining / 60, "minutes") if remaining >= 120 else (max(remaining, 0), "seconds")
        return f"Session will expire in {amount:.0f} {unit}"
