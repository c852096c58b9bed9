"""Answers about source, modules, completions, hovers and exceptions."""

from __future__ import annotations

from typing import Annotated

from .inspection import Value
from .sessions import Location
from .shape import UNSET, Answer, Maybe, Paged, said
from .stop_reports import SourceLine


class FoundFile(Answer):
    path: Annotated[str, said("The file, as `source` takes it.", "/home/dev/myproject/shop/cart.py")]
    name: Annotated[str, said("The same in short: from the project's root, or from its package on.", "shop/cart.py")]
    is_loaded: Annotated[bool, said("Whether the program is known to have it: a frame, the script, a module.", True)]


class FileList(Answer):
    files: Annotated[list[FoundFile], said("Files that match, the best first.")]
    total: Annotated[int, said("How many match in all.", 3)]
    is_complete: Annotated[bool, said("Whether all of the project was looked at: very large ones are not.", True)]


class Source(Answer):
    path: Annotated[str | None, said("The file, or the name that the code has instead.", "/home/dev/myproject/main.py")]
    origin: Annotated[str, said(
        "file; program (only the program has it: generated code, a module in an archive); code (launched as "
        "text); exec (text given to exec); frozen (part of the interpreter).", "file")]
    source_changed: Annotated[Maybe[bool], said(
        "True when the file was changed after the program had loaded it: these lines are those of the file, and the "
        "program runs others.", True)] = UNSET
    lines: Annotated[list[SourceLine], said("The lines.")]
    start_line: Annotated[int, said("First line returned.", 1)]
    end_line: Annotated[int, said("Last line returned.", 40)]
    total_lines: Annotated[int, said("How many lines there are.", 40)]
    has_more: Annotated[bool, said("Whether more lines were asked for than returned.", False)]
    current_line: Annotated[int | None, said("Where the frame is, or the program if it is stopped in this file.", 12)]
    frame_id: Annotated[Maybe[int], said("Frame whose source it is.", 0)] = UNSET
    function: Annotated[Maybe[str], said("Function of the frame.", "process_data")] = UNSET


class Module(Answer):
    name: Annotated[str, said("Name of the module.", "json.decoder")]
    path: Annotated[Maybe[str | None], said("Its file, if it has one.", "/usr/lib/python3.11/json/decoder.py")] = UNSET
    version: Annotated[Maybe[str | None], said("Its __version__, if it says.", "2.0.9")] = UNSET
    is_user_code: Annotated[bool, said("Whether it is the program's own, not a library.", False)]


class ModuleList(Paged):
    modules: Annotated[list[Module], said("Modules by name.")]


class Completion(Answer):
    label: Annotated[str, said("What may stand there.", "items")]
    type: Annotated[str, said("variable, function, class, module, property, key or keyword.", "variable")]
    start: Annotated[int, said("Column at which it replaces what is typed.", 7)]
    length: Annotated[int, said("How many characters it replaces.", 2)]


class CompletionList(Answer):
    items: Annotated[list[Completion], said("The best first.")]
    total: Annotated[int, said("How many fit.", 1)]
    has_more: Annotated[bool, said("Whether some were left out.", False)]


class TextRange(Answer):
    line: Annotated[int, said("Line (1-indexed).", 12)]
    column: Annotated[int, said("Where it begins (1-indexed).", 9)]
    end_column: Annotated[int, said("Where it has ended.", 14)]


class Hover(Value):
    expression: Annotated[str, said("What was looked at.", "order.total")]
    value: Annotated[str | None, said("Its value as text; null if it raised.", "12.5")]
    type: Annotated[str | None, said("Type of the value.", "float")]
    variables_reference: Annotated[Maybe[int], said("Ask variables with it to see inside.", 0)] = UNSET
    error: Annotated[Maybe[str], said("What it raised.", "NameError: name 'order' is not defined")] = UNSET
    documentation: Annotated[Maybe[str], said("How its documentation begins.", "Add two numbers.")] = UNSET
    has_side_effects: Annotated[bool, said("Always false: a hover runs nothing of the program.", False)]
    range: Annotated[Maybe[TextRange], said("Where it is written.")] = UNSET


class ExceptionFrame(Answer):
    path: Annotated[str, said("Source file.", "/home/dev/myproject/main.py")]
    line: Annotated[int | None, said("Line.", 42)]
    function: Annotated[str, said("Function.", "process_item")]
    text: Annotated[str, said("The line's text.", "total += item.price")]


class ExceptionLink(Answer):
    relation: Annotated[Maybe[str], said(
        "cause (raised from it) or context (raised while it was handled).", "cause")] = UNSET
    type: Annotated[str, said("Class of the exception.", "KeyError")]
    full_type: Annotated[Maybe[str], said("With its module.", "builtins.KeyError")] = UNSET
    message: Annotated[str | None, said("Its text.", "'price'")]
    frames: Annotated[Maybe[list[ExceptionFrame]], said("Its traceback, where it was raised last.")] = UNSET
    notes: Annotated[Maybe[list[str]], said("Notes that were added to it.", ["while reading line 3"])] = UNSET
    exceptions: Annotated[Maybe[list[ExceptionLink]], said("Members of an exception group.")] = UNSET


class ExceptionDetails(ExceptionLink):
    """The exception of the current stop in full."""

    args: Annotated[Maybe[list[str]], said("Its arguments.", ["'price'"])] = UNSET
    traceback: Annotated[Maybe[str | None], said(
        "As Python prints it.", "Traceback (most recent call last):\n  ...")] = UNSET
    break_mode: Annotated[str, said("always (raised), unhandled, or user_unhandled.", "unhandled")]
    variables_reference: Annotated[Maybe[int], said("Ask variables with it for its attributes.", 1002)] = UNSET
    chain: Annotated[Maybe[list[ExceptionLink]], said("What led to it, the nearest first.")] = UNSET
    location: Annotated[Location | None, said("Where the program stopped.")]
    thread_id: Annotated[int, said("Thread that stopped.", 1)]
