"""Making the program run and stop."""

from .operation import FRAME, STATE, Operation, get, post
from .scopes import READ, WRITE
from .states import ONLY_PAUSED, ONLY_RUNNING

TAG = "Execution"

OPERATIONS = (
    Operation("continue", "Continue execution",
        """Run to the next stop or the end. With `wait` the answer is that stop. With a `thread_id` only that thread
        runs: the others stay halted.""",
        by_session="execution.continue_program", scopes=(WRITE,), states=ONLY_PAUSED, takes="execution:ResumeRequest",
        may_be_empty=True, answer="stop_reports:Continued", outcome="Execution resumed", errors=("THREAD_NOT_FOUND",),
        command="ocdb continue --thread {thread_id} --wait {wait}",
        tool="debug_continue thread={thread_id} wait={wait}",
        routes=(
            post("continue", "continueExecution", query="queries:WaitQuery"),
            post("threads/{thread_id}/continue", "continueThread", query="queries:WaitQuery",
                takes="execution:ContinueThreadRequest", summary="Continue one thread",
                description="Only this thread runs on; the others stay halted and can be looked at. The session stays "
                "paused while one is."),
        )),
    Operation("pause", "Pause execution",
        """Stop the running program at the next line that it reaches: all threads together, or with `stop_scope` thread
        the one in `thread_id`. Waits two seconds unless told otherwise; if a thread is busy in a call, `message` says
        where.""",
        by_session="pausing.pause", scopes=(WRITE,), states=ONLY_RUNNING, takes="execution:PauseRequest",
        may_be_empty=True, answer="stop_reports:StopReport", outcome="Execution paused", errors=("THREAD_NOT_FOUND",),
        command="ocdb pause --thread {thread_id}", tool="debug_continue action=pause thread={thread_id}",
        routes=(post("pause", "pauseExecution", query="queries:WaitQuery"),)),
    Operation("step_over", "Step over",
        """Run the current line, calls included, and stop at the next. Other threads run meanwhile, unless
        `single_thread` is true. Waits unless told otherwise.""",
        by_session="stepping.step_over", scopes=(WRITE,), states=ONLY_PAUSED, takes="execution:StepRequest",
        may_be_empty=True, answer="stop_reports:Stepped",
        outcome="Step completed, or still running when the wait ended", also_called=("step",),
        errors=("THREAD_NOT_FOUND",),
        command="ocdb next {count} --thread {thread_id}", tool="debug_step count={count} thread={thread_id}",
        routes=(post("step-over", "stepOver", query="queries:WaitQuery"),)),
    Operation("step_into", "Step into",
        """Stop at the first line of the function that the current line calls, or of the one in `target`. Waits unless
        told otherwise.""",
        by_session="stepping.step_into", scopes=(WRITE,), states=ONLY_PAUSED, takes="execution:StepIntoRequest",
        may_be_empty=True, answer="stop_reports:Stepped",
        outcome="Step completed, or still running when the wait ended", errors=("THREAD_NOT_FOUND",),
        command="ocdb step {count} --target {target} --thread {thread_id}",
        tool="debug_step kind=into count={count} target={target} thread={thread_id}",
        routes=(post("step-into", "stepInto", query="queries:WaitQuery"),)),
    Operation("step_out", "Step out",
        "Run until the current function returns and stop there. Waits unless told otherwise.",
        by_session="stepping.step_out", scopes=(WRITE,), states=ONLY_PAUSED, takes="execution:StepRequest",
        may_be_empty=True, answer="stop_reports:Stepped",
        outcome="Step completed, or still running when the wait ended", errors=("THREAD_NOT_FOUND",),
        command="ocdb out {count} --thread {thread_id}", tool="debug_step kind=out count={count} thread={thread_id}",
        routes=(post("step-out", "stepOut", query="queries:WaitQuery"),)),
    Operation("stdin", "Send input",
        """Write to the program's stdin, while it runs or is paused: it need not wait for it yet.

        With `wait` the answer is what comes of it: the next stop, the next request for input, or the end.""",
        by_session="execution.send_input", scopes=(WRITE,), does="send input", takes="execution:SendInputRequest",
        answer="stop_reports:InputSent", outcome="Input sent", also_called=("input",),
        errors=(*STATE, "STDIN_CLOSED", "STDIN_FULL"),
        command="ocdb input {input}", tool="debug_continue input={input}",
        routes=(
            post("input", "sendInput", query="queries:WaitQuery"),
            post("stdin", "sendStdin", query="queries:WaitQuery"),
        )),
    Operation("step_targets", "Get step targets",
        "The calls on the line at which a frame is: step-into takes one as `target` or `target_id`.",
        by_session="stepping.step_targets", scopes=(READ,), states=ONLY_PAUSED, does="list step targets",
        takes="queries:ScopesQuery", answer="stop_reports:StepTargets", errors=FRAME,
        routes=(get("step-targets", "getStepTargets"),)),
    Operation("step_until", "Step until",
        "Step until an expression is true, in one call; breakpoints, exceptions and the end come first.",
        by_session="stepping.step_until", scopes=(WRITE,), states=ONLY_PAUSED, takes="execution:StepUntilRequest",
        answer="stop_reports:SteppedUntil", outcome="Stepped, and where it is now",
        errors=("THREAD_NOT_FOUND", "EVALUATE_ERROR"),
        command="ocdb until {expression}", tool="debug_step until={expression}",
        routes=(post("step-until", "stepUntil", query="queries:ReportQuery"),)),
    Operation("run_to", "Run to a line",
        """Continue to a line, once: no breakpoint is left there. Other breakpoints, exceptions and the end come first.
        Waits unless told otherwise.""",
        by_session="stepping.run_to", scopes=(WRITE,), states=ONLY_PAUSED, takes="execution:RunToRequest",
        answer="stop_reports:RanTo", outcome="Ran, and where it is now",
        errors=("THREAD_NOT_FOUND", "BREAKPOINT_INVALID_LINE", "BREAKPOINT_FILE_NOT_FOUND"),
        command="ocdb to {line}", tool="debug_step to={line}",
        routes=(post("run-to", "runTo", query="queries:WaitQuery"),)),
)
