"""Links to the page, in stop reports of clients that want them."""

import msgspec

from ...answers.stop_reports import StopReport
from ...text.render import answer_type


class ReportedSession(msgspec.Struct):
    session_id: str | None = None


def has_report(operation: str) -> bool:
    kind = answer_type(operation)
    return isinstance(kind, type) and issubclass(kind, StopReport)


def with_link(answer: bytes, base: str) -> bytes:
    """Return a stop report, as JSON, with the address of its session's page at the end."""
    session_id = msgspec.json.decode(answer, type=ReportedSession).session_id
    if session_id is None:
        return answer
    return answer[:-1] + b',"link":' + msgspec.json.encode(f"{base}/#/sessions/{session_id}") + b"}"
