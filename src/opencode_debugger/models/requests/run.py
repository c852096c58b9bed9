"""Requests that create a session and start or attach to its program in one call."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from ..fields import PathText, ShortText, Wait, optional, preset, problem
from .base import one_given
from .breakpoints import Breakpoint
from .expressions import WatchExpression
from .program import PROGRAMS, AttachRequest, Environment, LaunchRequest, check_one_interpreter
from .sessions import ENVIRONMENT

RUNNABLE = [*PROGRAMS, "test"]
ONE_OF = "Provide exactly one of script, program, module, code and test"
OF_SESSION = ("name", "project_root", "timeout_minutes", "restore_breakpoints", "environment")

Name = Annotated[ShortText | None, Field(description="Human-readable session name; made up if left out.")]
TimeoutMinutes = Annotated[int | None, Field(
    ge=1, le=1440, description="Minutes without activity after which the session expires (default 60).")]
FirstWait = Annotated[Wait, Field(
    description="Seconds to wait for the first stop, or the end: 30 if left out; false answers at once.")]
RestoreBreakpoints = Annotated[bool, Field(
    description="Set the breakpoints saved for this project_root again, and save those of this session.")]
Breakpoints = Annotated[list[Breakpoint], Field(max_length=1000)]
Watches = Annotated[list[WatchExpression], Field(max_length=50)]
BREAKPOINTS = (
    "Breakpoints to set before it runs; each spelled as one text, or an object. Relative files are meant from cwd, "
    "else from project_root.")
WATCHES = "Expressions whose values every stop report has."


def split_params(given: dict[str, Any], breakpoints: list[Any]) -> dict[str, object]:
    """Return what is of the session apart from the rest, and breakpoints in the form in which they are set."""
    session = {name: given.pop(name) for name in OF_SESSION if name in given}
    return {**given, "session": session, "breakpoints": [each.item() for each in breakpoints]}


class RunRequest(LaunchRequest):
    model_config = ConfigDict(json_schema_extra={
        "examples": [
            {"script": "/home/dev/myproject/main.py", "breakpoints": ["main.py:42 if x > 3"]},
            {"test": "tests/test_cart.py::test_total", "cwd": "/home/dev/myproject"},
        ],
        "oneOf": one_given(*RUNNABLE),
    })

    wait: FirstWait = None
    test: PathText | None = optional(
        "Test to run, as pytest takes it: a file or folder, or tests/test_cart.py::test_total; or a dotted name, which "
        "unittest takes. It stops where a test fails, unless stop_on_exception says otherwise.")
    runner: Literal["pytest", "unittest"] | None = optional(
        "What runs the test. Left out: unittest for a dotted name and in an environment without pytest, else pytest; "
        "`program` of the answer says which.")
    breakpoints: Breakpoints = preset([], BREAKPOINTS)
    watches: Watches = preset([], WATCHES)
    name: Name = None
    project_root: PathText | None = optional(
        "Root directory of the project: its own environment runs the program. Left out: cwd, else the folder of an "
        "absolute script or program, or the project folder above an absolute test.")
    timeout_minutes: TimeoutMinutes = None
    restore_breakpoints: RestoreBreakpoints = False
    environment: Environment | None = optional(ENVIRONMENT)

    @model_validator(mode="after")
    def one_program(self) -> Self:
        if len(self.named()) + (self.test is not None) != 1:
            raise problem(ONE_OF)
        if self.runner is not None and self.test is None:
            raise problem("A runner goes with test", "runner")
        return check_one_interpreter(self)

    def params(self) -> dict[str, object]:
        given = self.model_dump(exclude_none=True, exclude={"breakpoints"})
        return split_params(given, self.breakpoints)


class AttachProgramRequest(AttachRequest):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"pid": 12345, "breakpoints": ["server.py:87"]}, {"pid": 12345, "pause": True}],
        "oneOf": one_given("pid", "port"),
    })

    wait: Annotated[Wait, Field(
        description="Seconds to wait for the first stop; left out: 30 with breakpoints, two with pause, else none.")
    ] = None
    pause: bool = preset(False, "Stop it where it is, and answer with the report of that stop.")
    breakpoints: Breakpoints = preset([], BREAKPOINTS)
    watches: Watches = preset([], WATCHES)
    name: Name = None
    project_root: PathText | None = optional(
        "Root directory of the project. Left out: the working directory of the process, if it is named by its pid.")
    timeout_minutes: TimeoutMinutes = None
    restore_breakpoints: RestoreBreakpoints = False

    def params(self) -> dict[str, object]:
        given = super().params()
        given.pop("breakpoints")
        return split_params(given, self.breakpoints)
