"""Starting a program, attaching to one, and parting from it."""

from .operation import ATTACH, LAUNCH, NEW_SESSION, REFUSED_BREAKPOINT, STATE, Operation, get, post
from .scopes import WRITE
from .states import LIVE, ONLY_CREATED, State

TAG = "Program Control"
STARTED = ("SESSION_NOT_FOUND", "SESSION_EXPIRED", *STATE)
"""Errors of a session that is made and used in one call."""

OPERATIONS = (
    Operation("run_program", "Run program",
        """One call from nothing to the first stop: creates a session, sets breakpoints and watches, launches a program
        or a test, and answers with its first stop, or its end. Waits 30 seconds unless told otherwise.

        `session_id` is in the answer. If it fails before the program runs, there is no session afterwards.""",
        by_relay="runs.run", scopes=(WRITE,), takes="run:RunRequest", answer="stop_reports:ProgramRun",
        outcome="Program launched", errors=(
            *NEW_SESSION, *STARTED, *LAUNCH, *REFUSED_BREAKPOINT, "EVALUATE_ERROR", "DEBUGPY_ERROR",
            "DEBUGPY_TIMEOUT"),
        command="ocdb run", tool="debug_run",
        routes=(post("/run", "runProgram", query="queries:WaitQuery", status=201),)),
    Operation("attach_program", "Attach to a program",
        """One call from nothing to a program that runs already: creates a session, sets breakpoints and watches,
        attaches, and with `pause` stops it where it is. With breakpoints it waits 30 seconds for the first stop unless
        told otherwise.

        `session_id` is in the answer. If it fails, there is no session afterwards, and the program runs on.""",
        by_relay="runs.attach", scopes=(WRITE,), takes="run:AttachProgramRequest",
        answer="stop_reports:ProgramAttached", outcome="Attached",
        errors=(*NEW_SESSION, *STARTED, *ATTACH, *REFUSED_BREAKPOINT, "EVALUATE_ERROR"),
        command="ocdb attach {pid}", tool="debug_attach pid={pid}",
        routes=(post("/attach", "attachProgram", query="queries:WaitQuery", status=201),)),
    Operation("launch", "Launch program",
        """Start a script, a module or a piece of code. With `wait` the answer is its first stop.

        Without a program it starts the one that a cloned or imported session came with; other fields replace its own.

        Without `wait` it waits up to half a second for that stop if a breakpoint or `stop_on_entry` could cause
        one.""",
        by_session="starting.launch", scopes=(WRITE,), states=ONLY_CREATED | {State.TERMINATED},
        takes="program:LaunchRequest", may_be_empty=True, answer="stop_reports:Launched", outcome="Program launched",
        starts_program=True, errors=LAUNCH,
        command="ocdb run --python {python_path} -m {module}", tool="debug_run python={python_path} module={module}",
        routes=(post("launch", "launchProgram", query="queries:WaitQuery"),)),
    Operation("attach", "Attach to process",
        """Debug a program that runs already: by the port on which its debugpy listens, or by its process id.

        By process id, debugpy need not be installed there: it is brought in, with gdb, and the program runs on.""",
        by_session="starting.attach", scopes=(WRITE,), states=ONLY_CREATED, takes="program:AttachRequest",
        answer="stop_reports:Attached", outcome="Attached", errors=ATTACH,
        command="ocdb attach {pid}", tool="debug_attach pid={pid}",
        routes=(post("attach", "attachProcess"),)),
    Operation("restart", "Restart program",
        """Launch the program again as it was launched, ended or not. Ids and breakpoints stay, hit counts start at 0.

        What the restart could be refused for is checked first: then the program that runs is not touched.""",
        by_session="starting.restart", scopes=(WRITE,), states=LIVE | {State.TERMINATED},
        takes="program:RestartRequest", may_be_empty=True, answer="stop_reports:Restarted",
        outcome="Program launched again", starts_program=True, ends_though_stopped=True, errors=LAUNCH,
        command="ocdb restart", tool="debug_continue action=restart",
        routes=(post("restart", "restartProgram", query="queries:WaitQuery"),)),
    Operation("detach", "Detach from program",
        """Let the program run on, without breakpoints, whether it was launched or attached to.

        The session stays readable; deleting it no longer ends the program.""",
        by_session="detach", scopes=(WRITE,), states=LIVE, answer="sessions:Detached", outcome="Detached",
        ends_though_stopped=True,
        command="ocdb end --detach", tool="debug_end detach=true",
        routes=(post("detach", "detachProgram"),)),
    Operation("terminate", "Terminate program",
        "End the program, also one that was attached to, and keep the session: its output, events and breakpoints.",
        by_session="terminate", scopes=(WRITE,), states=LIVE, takes="program:TerminateRequest", may_be_empty=True,
        answer="sessions:Terminated", outcome="Program ended", ends_though_stopped=True,
        command="ocdb end", tool="debug_end",
        routes=(post("terminate", "terminateProgram"),)),
    Operation("list_processes", "List processes",
        """Your Python programs, or with `kind` others, and what stands in the way of attaching to each. They are
        looked at, never touched.""",
        by_relay="list_processes", scopes=(WRITE,), takes="queries:ProcessQuery", answer="server:ProcessList",
        command="ocdb processes {filter}", tool="debug_attach filter={filter}",
        routes=(get("/processes", "listProcesses"),)),
)
