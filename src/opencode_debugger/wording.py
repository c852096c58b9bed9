"""Words of messages that depend on a number."""


def counted(number: int, what: str, many: str | None = None) -> str:
    """`1 line`, `2 lines`; `many` where an s is not enough."""
    return f"{number} {what if number == 1 else many or what + 's'}"
