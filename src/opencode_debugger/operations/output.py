"""Output of the program, and events of the session."""

from .operation import Operation, delete, get
from .scopes import ARTIFACTS, READ, WRITE

TAG = "Output"

OPERATIONS = (
    Operation("output", "Get output",
        "What the program wrote, from a cursor on. A page has about 1 MB of text at most: see `has_more`.",
        by_session="log_pages.read_output", scopes=(READ, ARTIFACTS), takes="queries:OutputQuery",
        answer="output:OutputPage",
        command="ocdb output --last {tail}", tool="debug_output last={tail}",
        routes=(get("output", "getOutput"),)),
    Operation("clear_output", "Clear output",
        "Remove what the program wrote so far, for everybody. Cursors stay good: they go on after it.",
        by_session="log_pages.clear_output", scopes=(WRITE,), answer="output:OutputCleared",
        routes=(delete("output", "clearOutput"),)),
    Operation("follow_output", "Stream output",
        """What the program wrote and writes, as server-sent events, until it ends.

        Events: `output` (its `id` is a cursor), `dropped`, `cleared`, `terminated`, and `error` if the session is
        gone.""",
        by_session="log_pages.follow_output", scopes=(READ, ARTIFACTS), takes="queries:OutputStreamQuery",
        outcome="Events, until the program ends", errors=("INVALID_SESSION_STATE",), is_passive=True, is_stream=True,
        routes=(get("output/stream", "streamOutput"),)),
    Operation("events", "Poll events",
        """What happened, from a cursor on. With `timeout` it waits for the next event.

        A page has about 1 MB at most: see `has_more`.""",
        by_session="log_pages.read_events", scopes=(READ, ARTIFACTS), takes="queries:EventsQuery",
        answer="output:EventPage", is_routine=True, routes=(get("events", "pollEvents"),)),
    Operation("follow_events", "Stream events",
        """What happened and happens, as server-sent events, until the session is gone: the program may be restarted.

        Each event is named by its type and has the same data as over the WebSocket `/debug`; its `id` is a cursor.
        Besides these there are `dropped`, `cleared`, and `error` if the session is gone. With `timeline=true` the
        entries of the timeline are among them, as events `timeline`; such a stream has cursors of its own.""",
        by_session="log_pages.follow_events", scopes=(READ, ARTIFACTS), takes="queries:EventStreamQuery",
        outcome="Events, until the session is gone", errors=("INVALID_SESSION_STATE",), is_passive=True, is_stream=True,
        routes=(get("events/stream", "streamEvents"),)),
    Operation("timeline", "Get the timeline",
        """What every client asked of the session, what came of it, and every stop, log point, exception and end, oldest
        first. Looks of the page and of editors, which they take by themselves, and mere polling are left out.""",
        by_session="timeline_pages.read_page", scopes=(READ, ARTIFACTS), takes="queries:TimelineQuery",
        answer="timeline:TimelinePage", is_passive=True, routes=(get("timeline", "getTimeline"),)),
    Operation("export_timeline", "Export the timeline",
        """The whole timeline with its reports, as one HTML file that can be read without a relay; as JSON for clients
        that say `Accept: application/json` or `format=json`.""",
        by_session="timeline_pages.export_all", scopes=(READ, ARTIFACTS), answer="timeline:TimelineDocument",
        is_passive=True, routes=(get("timeline/export", "exportTimeline"),)),
    Operation("timeline_entry", "Get an entry of the timeline",
        "One entry with its `report`: what was answered then, or what the first report of a stop said.",
        by_session="timeline_pages.read_entry", scopes=(READ, ARTIFACTS), answer="timeline:TimelineEntry",
        errors=("ENTRY_NOT_FOUND",), is_passive=True, routes=(get("timeline/{entry_id}", "getTimelineEntry"),)),
    Operation("logs", "Follow output over a WebSocket", "Lines that the program wrote, then those that it writes.",
        scopes=(READ, ARTIFACTS)),
    Operation("debug", "Drive a session over a WebSocket", "Commands that are carried out, and events as they happen.",
        scopes=(WRITE,)),
    Operation("tunnel", "Enter the tunnel of a session",
        "Bytes to and from the session's debugger, for editors and debuggers.", scopes=(WRITE,)),
)
