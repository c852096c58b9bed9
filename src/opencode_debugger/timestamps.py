"""Times as answers and files have them, in UTC."""

import time
from datetime import UTC, datetime
from functools import lru_cache


def current_time() -> str:
    return timestamp(time.time())


def timestamp(seconds: float) -> str:
    return _timestamp(int(seconds * 1000))


@lru_cache(1000)
def _timestamp(milliseconds: int) -> str:
    """Format a time, remembered: most of what happens when much happens is in the same milliseconds."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix('+00:00')}.{rest:03d}Z"


def whole_seconds(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
