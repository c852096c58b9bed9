"""What a recorded run answers: calls, call trees, exceptions, where the time went, where values come from."""

from __future__ import annotations

from typing import Annotated

from .shape import UNSET, Answer, Maybe, said


class NamedValue(Answer):
    name: Annotated[str, said("Name of the argument, variable or attribute.", "order")]
    value: Annotated[str, said("Its value as text, as far as it was kept.", "Order(id=3, total=12.5)")]


class CaughtError(Answer):
    error: Annotated[str, said("The exception.", "KeyError: 'vat'")]
    line: Annotated[int, said("Line that handled it.", 27)]


class RecordedCall(Answer):
    call: Annotated[int, said("Number of the call, to ask further about it.", 41)]
    function: Annotated[str, said("Qualified name of the function.", "Cart.total")]
    path: Annotated[str, said("File of the function.", "/home/dev/shop/cart.py")]
    line: Annotated[int, said("First line of the function.", 12)]
    arguments: Annotated[list[NamedValue], said("With which it was called, without self and cls.")]
    outcome: Annotated[str, said("returned, raised, running, or unseen (its end was not recorded).", "returned")]
    value: Annotated[str | None, said("What it returned, or the exception that left it.", "14.4")]
    raised_line: Annotated[Maybe[int], said("Line at which the exception left it.", 17)] = UNSET
    caught: Annotated[Maybe[list[CaughtError]], said("Exceptions that it handled.")] = UNSET
    yielded: Annotated[Maybe[int], said("How many values it yielded.", 3)] = UNSET
    caller: Annotated[int | None, said("Number of the call that made it.", 40)]
    caller_line: Annotated[int | None, said("Line of the caller from which it was made.", 31)]
    thread: Annotated[str, said("Thread or asyncio task.", "thread MainThread")]
    started_ms: Annotated[float, said("When it began, from the beginning of the recording on.", 120.5)]
    duration_ms: Annotated[float | None, said("How long it took.", 0.8)]


class RecordedAnswer(Answer):
    """Facts about the recording that every answer has."""

    recording: Annotated[str, said("The recording that was asked: process id and number.", "4711-1")]
    recorded_calls: Annotated[int, said("How many calls it has.", 1200)]
    notes: Annotated[list[str], said("What one should know of it: what is missing, and why.")]


class OutcomeCount(Answer):
    outcome: Annotated[str, said("returned, raised, running or unseen.", "returned")]
    value: Annotated[str | None, said("What was returned, or the exception.", "True")]
    count: Annotated[int, said("How many calls.", 90)]


class FoldedCalls(Answer):
    functions: Annotated[list[str], said("What was called, in turn.", ["parse_line"])]
    count: Annotated[int, said("How many calls there are.", 997)]
    first: Annotated[int, said("Number of the first.", 43)]
    last: Annotated[int, said("Number of the last.", 3031)]
    outcomes: Annotated[list[OutcomeCount], said("How they ended, the most frequent first; not of very many calls.")]


class TraceRow(Answer):
    depth: Annotated[int, said("How many calls it is below the first.", 2)]
    call: Annotated[Maybe[RecordedCall], said("The call.")] = UNSET
    inside: Annotated[int, said("How many calls within it are not shown.", 0)]
    folded: Annotated[Maybe[FoldedCalls], said("In place of a call: several that are alike.")] = UNSET


class CallTrace(RecordedAnswer):
    rows: Annotated[list[TraceRow], said("The call tree, each call before those that it made.")]


class CallTable(RecordedAnswer):
    functions: Annotated[list[str], said("The functions that were asked for, each with its place.",
        ["Cart.total /home/dev/shop/cart.py:12"])]
    total: Annotated[int, said("How many calls of them were recorded.", 1000)]
    matching: Annotated[int, said("How many of these fulfil the condition.", 3)]
    offset: Annotated[int, said("How many were skipped.", 0)]
    calls: Annotated[list[RecordedCall], said("The calls.")]
    has_more: Annotated[bool, said("Whether there are more.", False)]


class ErrorGroup(Answer):
    error: Annotated[str, said("Class of the exception.", "ValueError")]
    function: Annotated[str, said("Function that raised it, or got it from code that is not recorded.", "parse_line")]
    path: Annotated[str, said("Its file.", "/home/dev/shop/parse.py")]
    line: Annotated[int | None, said("Line that raised it.", 17)]
    count: Annotated[int, said("How often.", 3)]
    fate: Annotated[str, said("Where it was handled, or that it was not.", "caught in read_all at parse.py:31")]
    way: Annotated[list[str], said("The functions that it left, from the inside out.", ["parse_line", "read_all"])]
    first: Annotated[RecordedCall, said("The call that raised the first of them.")]
    locals: Annotated[list[NamedValue], said("Variables of that call where it raised.")]
    last: Annotated[Maybe[int], said("Number of the call that raised the last of them.", 4041)] = UNSET


class ErrorList(RecordedAnswer):
    errors: Annotated[list[ErrorGroup], said(
        "Exceptions by the place that raised them; those that nothing handled first.")]
    total: Annotated[int, said("How many places there are.", 2)]


class SlowLine(Answer):
    line: Annotated[int, said("Line of the function from which calls were made.", 31)]
    ms: Annotated[float, said("How long these calls took together.", 210.4)]
    count: Annotated[int, said("How many.", 1000)]


class SlowFunction(Answer):
    function: Annotated[str, said("Qualified name.", "Cart.total")]
    path: Annotated[str, said("Its file.", "/home/dev/shop/cart.py")]
    line: Annotated[int, said("Its first line.", 12)]
    count: Annotated[int, said("How many calls.", 1000)]
    own_ms: Annotated[float, said("Time in the function itself and in code that is not recorded.", 120.3)]
    total_ms: Annotated[float, said("Time from beginning to end, with what it called; recursion counts once.", 330.7)]
    waited_ms: Annotated[float, said("Time in which it was suspended, at an await or yield; in no other figure.", 0.0)]
    slowest: Annotated[int, said("Number of its slowest call.", 812)]
    slowest_ms: Annotated[float, said("How long that one took.", 7.9)]
    lines: Annotated[list[SlowLine], said("Its lines from which the slowest calls were made.")]


class SlowList(RecordedAnswer):
    span_ms: Annotated[float, said("From the first call to the last end.", 1530.2)]
    functions: Annotated[list[SlowFunction], said("Those with the most time of their own first.")]
    total: Annotated[int, said("How many functions were called.", 40)]


class LifeLine(Answer):
    line: Annotated[int, said("Line that was run; 0 for rounds that are not shown.", 13)]
    source: Annotated[str, said("Its text, as the file has it now.", "amount += price_of(item)")]
    changes: Annotated[list[NamedValue], said("What it changed: variables, and attributes that it assigns to.")]
    calls: Annotated[list[RecordedCall], said("Calls that it made, the first ones.")]
    more_calls: Annotated[int, said("How many more it made.", 0)]
    skipped_rounds: Annotated[int, said(
        "In place of a line: rounds of a loop that took the same way as the one before.", 87)]


class CallLife(RecordedAnswer):
    call: Annotated[RecordedCall, said("The call.")]
    lines_recorded: Annotated[bool, said("Whether the lines that it took were recorded.", True)]
    lines: Annotated[list[LifeLine], said("The lines in order.")]
    calls: Annotated[list[RecordedCall], said("Where lines were not recorded: the calls that it made.")]
    more_calls: Annotated[int, said("How many more calls it made.", 0)]
    locals: Annotated[list[NamedValue], said("Its variables where an exception left it.")]


class Sighting(Answer):
    how: Annotated[str, said("given to, returned by, set in, or local of (where an exception left it).", "returned by")]
    name: Annotated[str | None, said("Name of the argument, variable or attribute.", "amount")]
    value: Annotated[str, said("The value.", "195.0")]
    was: Annotated[Maybe[str], said("Of an attribute: what it was when the object was seen before.", "0")] = UNSET
    line: Annotated[int | None, said("Line that set it, or from which the call was made.", 13)]
    call: Annotated[RecordedCall, said("The call, the first of them.")]
    count: Annotated[int, said("How often it was seen there.", 181)]
    last_value: Annotated[Maybe[str], said("The value that was seen there last.", "195.0")] = UNSET
    last_call: Annotated[Maybe[int], said("Number of the call in which it was seen there last.", 908)] = UNSET


class ValueOrigin(RecordedAnswer):
    asked: Annotated[str, said("What was asked for.", "195.0")]
    kind: Annotated[str, said("value: where it was seen; name: each change of what has this name.", "value")]
    total: Annotated[int, said("How often it was seen, or changed.", 12)]
    places: Annotated[int, said("At how many places.", 3)]
    sightings: Annotated[list[Sighting], said("The places, in the order in which it was seen there first.")]
    way: Annotated[list[str], said(
        "The call in which it was seen first, and those that led there, from the inside out.", ["price_of #1272"])]


class ValueChange(Answer):
    moment: Annotated[int, said("Number of the moment from which on it is known; goto takes it as #57.", 57)]
    how: Annotated[str, said("given to, returned by, set in, or local of (where an exception left it).", "set in")]
    name: Annotated[str | None, said("Of which variable, or of which object the attribute.", "amount")]
    value: Annotated[str, said("The value.", "195.0")]
    was: Annotated[Maybe[str], said("Of an attribute: what it was when the object was seen before.", "0")] = UNSET
    call: Annotated[int, said("Number of the call.", 12)]
    function: Annotated[str, said("Its function.", "Cart.total")]
    path: Annotated[str, said("Its file.", "/home/dev/shop/cart.py")]
    line: Annotated[int, said("Line that set it; else the first of the function.", 13)]


class ValueHistory(RecordedAnswer):
    name: Annotated[str, said("What was asked for.", "amount")]
    total: Annotated[int, said("How often it was given, or came to have another value.", 12)]
    offset: Annotated[int, said("How many were skipped.", 0)]
    changes: Annotated[list[ValueChange], said("Each of them, in the order in which they happened.")]
    has_more: Annotated[bool, said("Whether there are more.", False)]


class CallSpan(Answer):
    call: Annotated[int, said("Number of the call; of several, of the first.", 41)]
    function: Annotated[str, said("Its function.", "Cart.total")]
    depth: Annotated[int, said("In how many other calls of its thread or task it is.", 2)]
    start_ms: Annotated[float, said("When it began, from the beginning of the recording on.", 120.5)]
    duration_ms: Annotated[float, said(
        "How long it took; of several, from the beginning of the first to the end of the last.", 0.8)]
    count: Annotated[int, said("How many calls it stands for: those that are too short to be told apart.", 1)]
    raised: Annotated[bool, said("Whether one of them raised an exception.", False)]


class ThreadSpans(Answer):
    thread: Annotated[str, said("Thread or asyncio task.", "thread MainThread")]
    depth: Annotated[int, said("How many calls deep it went.", 7)]
    spans: Annotated[list[CallSpan], said("Its calls, those of one depth in the order in which they began.")]


class CallSpans(RecordedAnswer):
    first_ms: Annotated[float, said("When the first call of the recording began.", 0.0)]
    last_ms: Annotated[float, said("When something was recorded last.", 1530.2)]
    start_ms: Annotated[float, said("From when on calls are told.", 100.0)]
    end_ms: Annotated[float, said("Until when.", 200.0)]
    part_ms: Annotated[float, said("Calls of one depth that end within so long are told as one.", 0.2)]
    threads: Annotated[list[ThreadSpans], said("Those that called something then.")]
    total: Annotated[int, said("How many of them there are.", 1)]


class DifferingValue(Answer):
    name: Annotated[str, said("Name of the argument or variable.", "price")]
    a: Annotated[str | None, said("Its value in the first run; null: it has none there.", "3.0")]
    b: Annotated[str | None, said("Its value in the second run.", "4.0")]


class RunDifference(Answer):
    kind: Annotated[str, said(
        "arguments, outcome (what it returned or raised), line (what a recorded line changed, or which was taken), "
        "only_a or only_b (a call that only this run made).", "outcome")]
    function: Annotated[str, said("Qualified name of the function.", "price_of")]
    path: Annotated[str, said("Its file.", "/home/dev/shop/shop.py")]
    count: Annotated[int, said("How many calls of the function differ so; of those, the first is told.", 1)]
    a: Annotated[Maybe[RecordedCall], said("The call in the first run.")] = UNSET
    b: Annotated[Maybe[RecordedCall], said("The call in the second run.")] = UNSET
    same_arguments: Annotated[Maybe[bool], said("Of an outcome: whether the arguments are the same.", True)] = UNSET
    values: Annotated[list[DifferingValue], said("Arguments that differ; of a line, variables that it set otherwise.")]
    line_a: Annotated[Maybe[int | None], said("Of a line: the one that the first run took.", 14)] = UNSET
    line_b: Annotated[Maybe[int | None], said("The one that the second run took.", 14)] = UNSET
    source: Annotated[Maybe[str], said("Text of that line.", "amount += price_of(item)")] = UNSET
    way: Annotated[list[str], said("The call and those that led to it, from the inside out.", ["total #8"])]


class CalledFunction(Answer):
    function: Annotated[str, said("Qualified name.", "Cart.discount")]
    path: Annotated[str, said("Its file.", "/home/dev/shop/cart.py")]
    line: Annotated[int, said("Its first line.", 30)]
    count: Annotated[int, said("How many calls.", 3)]


class RunComparison(RecordedAnswer):
    """Of `recording`, the first run, called A, and `other`, the second, called B."""

    other: Annotated[str, said("The recording with which it was compared.", "sess_0a1b2c3d/4712-1")]
    other_calls: Annotated[int, said("How many calls that one has.", 1180)]
    matched: Annotated[int, said("How many calls of both were compared with each other.", 1170)]
    first: Annotated[RunDifference | None, said("The first difference; null: there is none.")]
    parting: Annotated[Maybe[RunDifference], said(
        "If the first is one of values only: where the runs go other ways first, by a call that only one makes, or an "
        "exception.")] = UNSET
    further: Annotated[list[RunDifference], said("Further differences, by function, in the order of the first run.")]
    total: Annotated[int, said("How many differences by function there are, the first included.", 4)]
    only_a: Annotated[list[CalledFunction], said("Functions that only the first run called.")]
    only_b: Annotated[list[CalledFunction], said("Functions that only the second run called.")]


class OpenedRecording(RecordedAnswer):
    file: Annotated[str, said("The file that was opened.", "/home/dev/shop.ocrec")]
    functions: Annotated[int, said("How many functions it knows.", 12)]
    session_id: Annotated[Maybe[str], said("The session that answers questions about it.", "sess_a1b2c3d4")] = UNSET


class ExportedRecording(RecordedAnswer):
    """Of use to the relay alone, which sends the file."""

    path: Annotated[str, said("The file that was written.", "/home/dev/.opencode-debugger/sessions/…")]
    bytes: Annotated[int, said("How large it is.", 20480)]
