"""Questions to a recorded run of a Python program, while it runs and after its end."""

from .operation import NEW_SESSION, Operation, get, post
from .scopes import READ, WRITE

TAG = "Recordings"

ERRORS = ("RECORDING_NOT_FOUND", "CALL_NOT_FOUND")
STORING = ("STORAGE_FAILED", "NOT_SUPPORTED")

OPERATIONS = (
    Operation("trace", "Show the call tree",
        """The call tree of a recorded run, folded to the budget: loops and recursion are told once, and the way to
        exceptions is always there. With `call` or `function` only what is below; with `first` and `last` the calls
        that a folded row stands for.""",
        by_session="recorded_run.trace", scopes=(READ,), takes="recordings:TraceQuery", answer="recordings:CallTrace",
        errors=ERRORS, command="ocdb trace",
        tool="debug_trace",
        routes=(get("recording/trace", "traceRecording"),)),
    Operation("calls", "List calls of a function",
        """Each recorded call of a function: arguments, and what it returned or raised; with `where` those for which a
        condition on recorded values is true, such as `amount > 100 and result is None`. Nothing is evaluated in the
        program: a condition has names, attributes, items, constants, comparisons, and, or, not, arithmetic, len, abs
        and str.""",
        by_session="recorded_run.calls", scopes=(READ,), takes="recordings:CallsQuery", answer="recordings:CallTable",
        errors=ERRORS, command="ocdb calls {function} where {where}",
        tool="debug_trace question=calls of={function} where={where}",
        routes=(get("recording/calls", "listRecordedCalls"),)),
    Operation("life", "Show the life of a call",
        """One recorded call: the lines that it took with what each changed and called, if lines of its function were
        recorded; else the calls that it made, and its variables where an exception left it.""",
        by_session="recorded_run.life", scopes=(READ,), takes="recordings:RecordingQuery", answer="recordings:CallLife",
        errors=ERRORS, command="ocdb life {call_id}", tool="debug_trace question=life of={call_id}",
        routes=(get("recording/calls/{call_id}", "showRecordedCall"),)),
    Operation("origin", "Find where a value comes from",
        """Of a value, such as 195.0 or "abc": where it was seen first, and where after that. Of a name or attribute,
        such as amount or order.total: each call that was given another value of it, and each recorded line that
        changed it.""",
        by_session="recorded_run.origin", scopes=(READ,), takes="recordings:OriginQuery",
        answer="recordings:ValueOrigin", errors=ERRORS, command="ocdb origin {value}",
        tool="debug_trace question=origin of={value}", routes=(get("recording/origin", "findOrigin"),)),
    Operation("values", "Show a value over time",
        """Of a variable or attribute: each value that it was given or came to have, in order, with the moment, the call
        and the line. Of an attribute, for each object.""",
        by_session="recorded_run.values", scopes=(READ,), takes="recordings:ValuesQuery",
        answer="recordings:ValueHistory", errors=ERRORS, routes=(get("recording/values", "listRecordedValues"),)),
    Operation("spans", "Show calls over time",
        """The calls of a time, by thread and task, as a flame chart shows them: each with its depth, beginning and
        duration; calls of one depth that are too short to be told apart are one.""",
        by_session="recorded_run.spans", scopes=(READ,), takes="recordings:SpansQuery", answer="recordings:CallSpans",
        errors=ERRORS, routes=(get("recording/spans", "showCallsOverTime"),)),
    Operation("errors", "List recorded exceptions",
        """Every exception that left a function or was handled in one, by the place that raised it: how often, which
        functions it left, and where it was caught.""",
        by_session="recorded_run.errors", scopes=(READ,), takes="recordings:ErrorsQuery",
        answer="recordings:ErrorList", errors=ERRORS, command="ocdb errors", tool="debug_trace question=errors",
        routes=(get("recording/errors", "listRecordedErrors"),)),
    Operation("slow", "Show where the time went",
        """Recorded functions by the time that they took themselves, with their total time, their slowest call, and the
        lines from which most time was spent in calls.""",
        by_session="recorded_run.slow", scopes=(READ,), takes="recordings:SlowQuery", answer="recordings:SlowList",
        errors=ERRORS, command="ocdb slow", tool="debug_trace question=slow",
        routes=(get("recording/slow", "showRecordedTime"),)),
    Operation("diff", "Compare two recorded runs",
        """Where this run, called A, and another one, called B, part first: calls are matched by function and call path
        in each thread and task; arguments, results, exceptions and recorded lines are compared, whichever objects they
        are. Then further differences by function, and functions that only one of both has called.""",
        by_session="recorded_run.diff", by_relay="recordings.diff", scopes=(READ,), takes="recordings:DiffQuery",
        answer="recordings:RunComparison", errors=ERRORS, command="ocdb diff {session_id} {other}",
        tool="debug_trace question=diff of={other}", routes=(get("recording/diff", "compareRecordings"),)),
    Operation("export_recording", "Download a recording",
        """A recording as one file, which opens anywhere: with `POST /recordings/open`, or in Chrome's trace event
        format (`format=chrome`) with chrome://tracing and Perfetto.""",
        by_session="recorded_run.export", scopes=(READ,), takes="recordings:RecordingExportQuery",
        errors=(*ERRORS, *STORING),
        outcome="The file", is_stream=True, is_file=True, command="ocdb export FILE",
        routes=(get("recording/export", "exportRecording"),)),
    Operation("open_recording", "Open an exported recording",
        """Create a session that answers questions about an exported recording, of this machine or another. It has no
        program; deleting it leaves the file.""",
        by_session="recorded_run.open_file", by_relay="recordings.open_file", scopes=(WRITE,),
        takes="recordings:OpenRecordingRequest", answer="recordings:OpenedRecording", outcome="Session created",
        errors=("RECORDING_NOT_FOUND", *NEW_SESSION), command="ocdb open {path}",
        routes=(post("/recordings/open", "openRecording", status=201),)),
    Operation("locate_recording", "Tell where a recording is", "For a session that compares it with one of its own.",
        by_session="recorded_run.locate", scopes=(READ,), errors=ERRORS, is_passive=True),
)
