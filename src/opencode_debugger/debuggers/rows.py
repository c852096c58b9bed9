"""What debuggers tell of a program, row by row: dicts as they come over a wire, with names for what is in them.

Keys that a debugger does not know are left out."""

from __future__ import annotations

from typing import Any, TypedDict


class SourceRow(TypedDict, total=False):
    path: str | None
    name: str


class FrameRow(TypedDict, total=False):
    """A frame, as DAP describes it."""

    id: int
    name: str
    source: SourceRow | None
    line: int
    column: int
    presentationHint: str
    instructionPointerReference: str | None
    address: str | None


class ThreadRow(TypedDict, total=False):
    id: int
    name: str
    halted: bool
    """it waits for us"""
    marked: bool
    """it halts at its next line"""
    top: FrameRow | None
    own: FrameRow | None
    """the program's own line that called it, if it is in a library"""


class ScopeRow(TypedDict, total=False):
    name: str
    presentation_hint: str | None
    variables_reference: int
    named_variables: int
    indexed_variables: int
    expensive: bool


class HintRow(TypedDict, total=False):
    kind: str
    attributes: list[str]


class ValueRow(TypedDict, total=False):
    """What can be said of any value."""

    type: str | None
    variables_reference: int
    named_variables: int
    indexed_variables: int
    presentation_hint: HintRow | None
    index: int
    length: int
    truncated: bool
    expandable: bool
    circular: bool
    shape: list[int]
    dtype: str
    columns: list[dict[str, str]]
    """name and dtype of each"""
    index_type: str
    memory_bytes: int
    base64: str
    encoding: str
    signature: str
    state: str
    line: int | None
    """where a generator or coroutine is, null if it has ended"""
    memory_reference: str


class VariableRow(ValueRow, total=False):
    name: str
    value: str


class VariablePage(TypedDict, total=False):
    """What is under a reference, or the locals of a frame."""

    missing: bool
    """nothing has this reference"""
    variables_reference: int
    variables: list[VariableRow]
    total: int
    has_more: bool
    incomplete: bool
    text: str
    base64: str
    encoding: str
    length: int


class PageWish(TypedDict, total=False):
    """Which rows of many, and how long they may be."""

    start: int | None
    count: int | None
    filter: str | None
    name: str | None
    summary: bool
    budget: int | None
    limit_total: int


class SyntaxProblem(TypedDict, total=False):
    message: str
    line: int | None
    offset: int | None
    text: str | None


class PrintedRow(TypedDict):
    category: str
    output: str


class EvaluationRow(ValueRow, total=False):
    """The value of an expression, or why it has none."""

    result: str | None
    error: str | None
    traceback: Any
    syntax_error: SyntaxProblem | None
    timed_out: bool
    output: list[PrintedRow]
    output_truncated: bool
    elsewhere: bool
    expression: str
    has_side_effects: bool


class HoverRow(EvaluationRow, total=False):
    place: dict[str, int] | None
    """where it is written"""
    nothing: str
    """why there is nothing to look up"""
    beyond: str
    """what of it would run code"""
    documentation: str | None


class AssignmentRow(VariableRow, total=False):
    """A variable as it reads now, or why nothing was assigned."""

    taken: bool
    """it was assigned"""
    not_set: str
    """why it cannot be assigned to"""
    missing: str
    """reference or name: which of the two there is not"""
    is_global: bool
    part: str
    """value or expression: which of the two failed"""
    old: str | None
    old_type: str | None
    note: str | None
    error: str | None
    syntax_error: SyntaxProblem | None
    timed_out: bool
    traceback: Any


class WatchRow(ValueRow, total=False):
    value: str
    error: str


class ReturnRow(VariableRow, total=False):
    """A value that a function has returned; of those that a step ran, `name` is the function."""
    function: str | None
    yielded: bool


class LineRow(TypedDict):
    line: int
    text: str


class StopRow(TypedDict, total=False):
    """What there is to say of a frame at a stop, in one answer."""

    variables: list[VariableRow]
    omitted: int
    left: dict[str, str | None] | None
    """the function that a step has just left, and how: return, yield or raise"""
    returned: list[VariableRow]
    return_value: list[VariableRow]
    watches: list[WatchRow]
    source: list[LineRow]
    calls: bool
    natives: list[str]


class ExceptionRow(TypedDict, total=False):
    type: str
    full_type: str
    message: str
    traceback: str | None
    break_mode: str
    rules: list[int]
    """our numbers of the rules for which it stopped"""
    is_in_library: bool
    relation: str
    args: list[str]
    notes: list[str]
    location: PlaceRow | None
    """of a member of a group: where it was raised"""
    frames: list[PlaceRow]
    chain: list[ExceptionRow]
    exceptions: list[ExceptionRow]
    variables_reference: int


class CompletionRow(TypedDict):
    label: str
    type: str
    start: int
    length: int


class CompletionPage(TypedDict):
    items: list[CompletionRow]
    total: int
    has_more: bool


class TargetRow(TypedDict):
    """A call on a line, into which one can step."""

    id: int
    name: str
    label: str
    line: int
    column: int


class TargetPage(TypedDict):
    line: int
    targets: list[TargetRow]


class JourneyStart(TypedDict, total=False):
    """Several steps that are about to be made."""

    token: int
    """says which they are"""
    unknown: bool
    """the call to step into is none of the targets"""
    targets: list[TargetRow]
    target: TargetRow
    error: str
    syntax_error: SyntaxProblem | None


class JourneyRow(TypedDict, total=False):
    """How several steps went."""

    steps: int
    met: bool
    error: str | None


class SlowRow(TypedDict):
    """Code of the program that does not run at full speed."""

    path: str
    function: str
    why: str


class SourceText(TypedDict, total=False):
    lines: list[str] | None
    origin: str
    total_lines: int


class ModuleRow(TypedDict, total=False):
    name: str
    path: str | None
    version: str | None
    is_user_code: bool


class ModulePage(TypedDict):
    modules: list[ModuleRow]
    total: int
    has_more: bool


class PlaceRow(TypedDict, total=False):
    path: str
    line: int
    function: str
    text: str
    """of a line of a traceback"""


class FunctionRow(TypedDict):
    """A function to stop in, as it was found in the program."""

    number: int
    places: list[PlaceRow]
    total: int
    filtered: bool
    """found only in files that are left out of debugging"""
    obstacle: str | None
    """what has that name instead of a function of Python"""


class TaskRow(TypedDict, total=False):
    id: int
    name: str
    state: str
    coroutine: str
    awaiting: list[PlaceRow]
    waits_for: str | None
    created: PlaceRow | None
    thread_id: int | None
    is_current: bool


class TaskPage(TypedDict, total=False):
    tasks: list[TaskRow]
    total: int


class TaskStack(TypedDict, total=False):
    thread_id: int | None
    frames: list[FrameRow] | None
    """None if there is no such task any more"""


class HolderRow(TypedDict, total=False):
    """A thread or a task."""

    thread_id: int
    task_id: int
    name: str
    since_line: int
    """the line since which it has what another waits for"""


class WaiterRow(HolderRow, total=False):
    waits_for: str
    held_by: list[HolderRow]
    location: PlaceRow
    locals: dict[str, str]


class DeadlockRow(TypedDict, total=False):
    members: list[HolderRow]
    text: str


class LockRow(TypedDict, total=False):
    waiting: list[WaiterRow]
    deadlocks: list[DeadlockRow]


class InstructionRow(TypedDict, total=False):
    address: str
    instruction: str
    bytes: str | None
    symbol: str | None
    path: str | None
    line: int | None


class ProgramRow(TypedDict, total=False):
    """What a process runs."""

    script: str
    program: str
    module: str
    code: str
    args: list[str]
    cwd: str | None
    env: dict[str, str]
    command: str | None
    interpreter: str | None
    interpreter_reason: str
    python_version: str | None


class ChildRow(TypedDict, total=False):
    """A child of the program, as it introduces itself."""

    pid: int
    ppid: int
    fork: bool
    command: list[str]
    adapter: str | None
    program: ProgramRow
    kind: str
    """file, module or code, of a Python program"""
    target: str
    args: list[str]
    cwd: str | None
    interpreter: str | None


class FileRow(TypedDict, total=False):
    """What can be said about breakpoints in a file."""

    max_line: int
    error: SyntaxProblem | None
    code_lines: list[int]
    definitions: dict[int, list[Any]]
    """by line that runs when something is defined: its kind, its name and its first line that runs inside"""
    docstrings: list[list[int]]
    """first and last lines"""
    functions: list[list[Any]]
    """qualified names, and first lines that run inside"""
    is_certain: bool
