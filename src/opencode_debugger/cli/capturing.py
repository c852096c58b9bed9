"""`ocdb capture`: runs a program or test, and writes one report of its stops."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from ..agents.capture import Capture, capture
from ..agents.capture_report import write_report
from ..agents.conversation import LastSession, run_now
from ..client.address import Problem
from .command_arguments import WrongUsage, run_arguments, test_run
from .command_table import Command
from .dispatch import convert_arguments
from .exit_codes import DONE, INTERRUPTED
from .relay_access import RelayOptions, open_conversation
from .terminal import tell


def capture_program(command: Command, given: dict[str, Any]) -> int:
    options, reveal = RelayOptions.take_from(given), given.pop("reveal", False)
    form = given.pop("format", "json" if given.pop("json", False) else "text")
    path = given.pop("output", None)
    arguments = convert_arguments(command, capture_arguments(given), Capture)
    conversation = open_conversation(options, LastSession(), reveal)
    try:
        recording = run_now(capture(conversation, arguments))
    except KeyboardInterrupt:
        tell("stopped capturing: there is no report; `ocdb ls` lists what still runs")
        return INTERRUPTED
    report = write_report(recording, _title(arguments), form)
    if path is None:
        sys.stdout.write(report)
        return DONE
    try:
        Path(path).write_text(report, "utf-8")
    except OSError as error:
        raise Problem(f"the report cannot be written to {path}: {error}") from None
    tell(f"wrote {len(recording.stops)} stops to {path}")
    return DONE


def capture_arguments(given: dict[str, Any]) -> dict[str, Any]:
    if "time" in given:
        given["seconds"] = given.pop("time")
    test = given.pop("test", None)
    if test is None:
        return run_arguments(given)
    if "module" in given or "code" in given:
        raise WrongUsage("give a test or a program, not both")
    return test_run(given, test, given.pop("command"))


def _title(arguments: Capture) -> str:
    program = arguments.test or arguments.command or arguments.module or "code"
    return f"{program} {shlex.join(arguments.args)}".strip()
