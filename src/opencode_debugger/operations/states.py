"""The states of a session."""

from enum import StrEnum


class State(StrEnum):
    CREATED = "created"
    LAUNCHING = "launching"
    RUNNING = "running"
    PAUSED = "paused"
    TERMINATED = "terminated"
    FAILED = "failed"


ENDED = frozenset({State.TERMINATED, State.FAILED})
LIVE = frozenset({State.RUNNING, State.PAUSED})

ONLY_CREATED = frozenset({State.CREATED})
ONLY_RUNNING = frozenset({State.RUNNING})
ONLY_PAUSED = frozenset({State.PAUSED})
STANDING = frozenset({State.PAUSED, State.TERMINATED})
"""in which a recorded program can be gone back in: it does not move"""
