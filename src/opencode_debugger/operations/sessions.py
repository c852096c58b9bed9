"""Sessions: created, listed, shown, changed, taken elsewhere, deleted."""

from .operation import ATTACH, NEW_SESSION, STATE, Operation, delete, get, patch, post
from .scopes import ARTIFACTS, READ, WRITE

TAG = "Sessions"

OPERATIONS = (
    Operation("create_session", "Create session",
        """Create a session: the context in which one program is launched or attached to. The body may be left out.

        With `"mode": "attach"` and `pid`, or `host` and `port`, it attaches in the same call.""",
        by_relay="create_session", scopes=(WRITE,), takes="sessions:CreateSessionRequest", may_be_empty=True,
        answer="sessions:SessionCreated", outcome="Session created", errors=(*NEW_SESSION, *ATTACH),
        command="ocdb run", tool="debug_run",
        routes=(post("/sessions", "createSession", status=201),)),
    Operation("import_session", "Import session",
        """Create a session from an exported one, of this relay or another.

        `project_root` and `path_map` say where things are here. `warnings` lists what could not be taken over.""",
        by_relay="import_session", scopes=(WRITE,), takes="documents:ImportSessionRequest",
        answer="sessions:SessionImported", outcome="Session created",
        errors=("BREAKPOINT_INVALID_CONDITION", *NEW_SESSION),
        routes=(post("/sessions/import", "importSession", status=201),)),
    Operation("list_sessions", "List sessions", "Sessions, oldest first, a page at a time.", by_relay="list_sessions",
        scopes=(READ,), takes="queries:PageQuery", answer="sessions:SessionList",
        command="ocdb sessions", tool="debug_sessions",
        routes=(get("/sessions", "listSessions"),)),
    Operation("follow_sessions", "Stream sessions",
        """The sessions and every change of them, as server-sent events.

        Events: `sessions` once (`items` as the list has them), then `session_changed` (one item) for sessions that
        are new or have changed, and `session_deleted` (`session_id`).""",
        by_relay="list_sessions", scopes=(READ,), outcome="Events, until somebody has had enough", is_passive=True,
        is_stream=True, routes=(get("/sessions/stream", "streamSessions"),)),
    Operation("info", "Get session",
        "Everything about a session; the token of its tunnel only for callers with the scope sessions:write.",
        by_session="info", scopes=(READ,), answer="sessions:Session", is_passive=True, is_told_of_lost=True,
        if_allowed={"with_token": "tunnel"},
        command="ocdb sessions", tool="debug_sessions",
        routes=(get("/sessions/{session_id}", "getSession"),)),
    Operation("update", "Change session",
        """Change the name, the idle time or `stop_on_entry` at any time; project and interpreter before the launch.

        All that is given is changed, or nothing.""",
        by_session="update_settings", by_relay="update_session", scopes=(WRITE,), takes="sessions:UpdateSessionRequest",
        answer="sessions:Session", errors=STATE, routes=(patch("/sessions/{session_id}", "updateSession"),)),
    Operation("delete_session", "Delete session",
        """End the session, its program and everything that it started. A program that was attached to runs on.

        Of a child's session (`parent_session_id`) only that child's process ends.""",
        by_relay="delete_session", scopes=(WRITE,), takes="queries:DeleteQuery", answer="sessions:SessionDeleted",
        also_called=("delete",),
        command="ocdb end --force{force:.0}", tool="debug_end force={force}",
        routes=(delete("/sessions/{session_id}", "deleteSession"),)),
    Operation("status", "Get status", "The state in short: cheap enough to poll.", by_session="status", scopes=(READ,),
        answer="sessions:SessionStatus", is_passive=True, is_told_of_lost=True,
        command="ocdb sessions", tool="debug_sessions",
        routes=(get("status", "getSessionStatus"),)),
    Operation("report", "Get stop report",
        """The report of the last stop again, as continue and the steps return it. With `wait`: of the next, if
        running.""",
        by_session="execution.report_now", scopes=(READ, ARTIFACTS), takes="queries:StopReportQuery",
        action_takes="base:ReportOptions", answer="stop_reports:StopReport", is_told_of_lost=True, errors=STATE,
        command="ocdb wait {wait}", tool="debug_continue action=wait wait={wait}",
        routes=(get("report", "getStopReport"),)),
    Operation("ping", "Keep alive", "Start the session's idle time anew.", by_session="ping", scopes=(READ,),
        answer="sessions:Pong", is_routine=True, routes=(get("ping", "pingSession"),)),
    Operation("clone_session", "Clone session",
        """A new session with the same configuration and breakpoints. Launched without a program, it runs the same
        again.""",
        by_relay="clone_session", scopes=(WRITE,), takes="sessions:CloneSessionRequest", may_be_empty=True,
        answer="sessions:SessionImported", outcome="Session created", also_called=("clone",), passes_wheel=True,
        errors=(*STATE, *NEW_SESSION), routes=(post("clone", "cloneSession", status=201),)),
    Operation("export", "Export session",
        "Configuration, launch and breakpoints as a document that `POST /sessions/import` takes, here or elsewhere.",
        by_session="export_session", by_relay="export_session", scopes=(READ,), takes="queries:ExportQuery",
        answer="documents:SessionDocument", errors=STATE, routes=(get("export", "exportSession"),)),
    Operation("wheel", "Take the wheel",
        """Take the wheel of a session, or give it back: while one has it, others may look but neither move nor change
        anything (423 WHEEL_TAKEN). It holds for processes that the program started too.

        The answer has `wheel_id`, a secret: the holder sends it with each request as the header X-Debug-Wheel. Whoever
        gives no sign for some time (setting wheel_idle_seconds) loses the wheel.""",
        by_session="wheel.turn", scopes=(WRITE,), takes="sessions:WheelRequest", answer="sessions:WheelTurned",
        errors=("WHEEL_TAKEN",), passes_wheel=True, is_passive=True, routes=(post("wheel", "turnWheel"),)),
    Operation("drive", "Check who drives", "Whether the client may drive: nobody else has the wheel.",
        by_session="wheel.describe_holder", scopes=(WRITE,), does="delete the session", is_passive=True),
    Operation("client_environment", "Tell the client's environment", "That in which a clone is to live, too.",
        by_session="client_environment", scopes=(WRITE,), is_passive=True, passes_wheel=True),
    Operation("summary", "Sum a session up", "The row of a session in the list of sessions.", by_session="summary",
        scopes=(READ,), is_passive=True),
    Operation("describe", "Describe a session", "All that a relay must know that finds a session again.",
        by_session="describe", scopes=(READ,), is_passive=True),
)
