"""Whose looks count: what a client was told is no news in its next report."""

from ...debuggers.run_permission import may_run
from ...operations.asking_client import asking_client


def is_remembered() -> bool:
    """Tell whether what the client is told now is to be remembered as told.

    Not for those who may only read, who leave no mark, nor for who looks by himself: the page sees every stop, and
    what it has seen is still news to the agent."""
    return may_run.get() and not asking_client.get().looks_by_itself
