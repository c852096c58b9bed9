"""Notices which processes the program starts, and has the Python ones among them debugged if that is wanted.

What starts a process and returns its id is wrapped. A wrapper calls what it wraps with the same arguments, or, for a
Python child that is to be debugged, with a command line on which our launcher stands before the program. What is no
Python, such as a shell, gets an environment by which the Pythons that it starts are debugged as well.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from types import FrameType, FunctionType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .. import recording
from ..frames import LAUNCHER
from ..python_versions import FORK_EXEC_USER
from ..rpc.event_sending import send_event, send_now
from . import command_lines
from .launch_plans import BELOW, IMPORT_PATH, Plan, handed_down, plan_launch

ITS_OWN = "; Python programs that it starts are debugged"
LONGEST_COMMAND = 1000
"""characters of a command that an event shows"""
UNREADABLE = command_lines.Command("", False, [], None, "its command could not be read")


class SpawnState:
    """Settings that a process is told once, for all that it starts."""

    def __init__(self) -> None:
        self.config: Optional[Dict[str, Any]] = None
        """The way in which children are started; None if they are not debugged."""
        self.rejoin: Callable[[], None] = lambda: None
        """Runs in a forked child that is to be debugged."""


STATE = SpawnState()
_originals: Dict[str, Any] = {}


def install(rejoin: Callable[[], None]) -> None:
    """Wrap what starts processes, once per process; debugging children is switched on later, by `STATE.config`."""
    STATE.rejoin = rejoin
    # In a program that was attached to, pydevd may have wrapped these functions too: its children would wait for ever.
    monkey = sys.modules.get("_pydev_bundle.pydev_monkey")
    if monkey is not None:
        monkey._get_apply_arg_patching = bool  # type: ignore[attr-defined]  # which says no
    _replace_function("_posixsubprocess", "fork_exec", _fork_exec)
    subprocess = sys.modules.get("subprocess")
    if hasattr(subprocess, "_fork_exec"):
        subprocess._fork_exec = sys.modules["_posixsubprocess"].fork_exec  # type: ignore[union-attr]
    for name, replacement in (("fork", _fork), ("forkpty", _forkpty), ("system", _system)):
        _replace_function("os", name, replacement)
    for name in ("posix_spawn", "posix_spawnp"):
        _replace_function("os", name, _stand_in_for_spawn(name))
    for name in ("execv", "execve"):
        _replace_function("os", name, _stand_in_for_exec(name))


def _replace_function(module_name: str, name: str, replacement: Callable[..., Any]) -> None:
    try:
        module = __import__(module_name)
        original = getattr(module, name)
    except (ImportError, AttributeError):
        return  # not on this system
    _originals[name] = original
    wrapped = functools.wraps(original)(hidden_from_debugger(replacement))
    del wrapped.__wrapped__
    setattr(module, name, wrapped)


def hidden_from_debugger(function: Any) -> FunctionType:
    """Return the function with the name of a file that debugpy leaves out of stacks and steps."""
    code = function.__code__.replace(co_filename=os.path.join(os.sep, "ocdb", LAUNCHER))
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


# What stands in for the functions that start processes. Each calls the original itself: what it calls is not hidden.


def _fork_exec(*args: Any) -> int:
    folder, environment = 4, 5  # their places among the arguments: the same from 3.8 on
    command, plan = _make_plan(lambda: (args[1], args[0], args[environment], False))
    if plan is not None and args[FORK_EXEC_USER : FORK_EXEC_USER + 1] not in ((), (None,), (os.geteuid(),)):
        command, plan = command._replace(why_not="it runs as another user, who cannot reach the session"), None
    if plan is not None:
        changed = list(args)
        if plan.is_debugged:
            changed[0], changed[1] = plan.argv, (os.fsencode(plan.executable),)
        changed[environment] = [b"%b=%b" % item for item in plan.environment.items()]
        args = tuple(changed)
    pid: int = _originals["fork_exec"](*args)
    if command is UNREADABLE or command.is_there or args[folder] is not None:
        _report_child(pid, command, plan)
    return pid


def _stand_in_for_spawn(name: str) -> Callable[..., int]:
    def posix_spawn(*args: Any, **options: Any) -> int:
        command, plan = _make_plan(lambda: ([args[0]], args[1], args[2], name == "posix_spawnp"))
        pid: int = _originals[name](*(args if plan is None else plan[:3]), **options)
        _report_child(pid, command, plan)
        return pid

    return posix_spawn


def _fork() -> int:
    caller = sys._getframe(1)
    execs = caller.f_code.co_name == "_spawnvef"  # a function of os that calls exec at once
    pid: int = _originals["fork"]()
    if pid:
        _report_fork(pid, caller if execs else None)
    elif not execs:
        _rejoin_after_fork()
    return pid


def _forkpty() -> Tuple[int, int]:
    pid, descriptor = _originals["forkpty"]()
    if pid:
        _report_fork(pid, None)
    else:
        _rejoin_after_fork()
    return pid, descriptor


def _stand_in_for_exec(name: str) -> Callable[..., None]:
    def execute(*args: Any) -> None:
        command, plan = _make_plan(lambda: ([args[0]], args[1], args[2] if name == "execve" else None, False))
        _report_replacing(command)
        if plan is None:
            _originals[name](*args)
        else:
            _originals["execve"](*plan[:3])

    return execute


def _system(*args: Any, **options: Any) -> int:
    """Stand in for os.system, which gives its shell the environment as C knows it: `os.environ` stays as it is."""
    with _handed_to_shell():
        status: int = _originals["system"](*args, **options)
        return status


# What they do besides.


def _make_plan(arguments: Callable[[], Any]) -> Tuple[command_lines.Command, Optional[Plan]]:
    """Return the command, and how to start it if not as it is. Whatever is odd about it is left to the original."""
    try:
        executables, argv, environment, search = arguments()
        command = command_lines.read_command(executables, argv, search)
        config = STATE.config
        if config is None:
            return command._replace(why_not="") if command.why_not == command_lines.A_SHELL else command, None
        if any(word.endswith((LAUNCHER, "pydevd.py")) for word in command.argv[1:]):  # the debugger's own
            return command, None
        if command.program is not None:
            plan = plan_launch(command, command.program, _environment_bytes(environment), config)
            return command if plan else command._replace(why_not="its command line is too long"), plan
        if command_lines.is_python(command.executable):
            return command, None
        below = handed_down(_environment_bytes(environment), config["below"])
        return command._replace(why_not=command.why_not + ITS_OWN), Plan(executables[0], argv, below, False)
    except Exception:
        return UNREADABLE, None


def _environment_bytes(environment: Any) -> Dict[bytes, bytes]:
    if environment is None:
        environment = os.environ
    if hasattr(environment, "items"):
        return {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
    return dict(item.split(b"=", 1) for item in environment)


_c_environment = threading.Lock()
_calls_of_system = 0


@contextlib.contextmanager
def _handed_to_shell() -> Iterator[None]:
    """Change the environment that C knows for as long as one of the calls that need it lasts."""
    global _calls_of_system
    config = STATE.config
    if config is None:
        yield
        return
    names = (IMPORT_PATH, BELOW)
    with _c_environment:
        _calls_of_system += 1
        below = handed_down(_environment_bytes(None), config["below"])
        for name in names:
            os.putenv(name, below[name.encode()])
    try:
        yield
    finally:
        with _c_environment:
            _calls_of_system -= 1
            for name in names if not _calls_of_system else ():
                if name in os.environ:
                    os.putenv(name, os.environ[name])
                else:
                    os.unsetenv(name)


def _rejoin_after_fork() -> None:
    if STATE.config is not None:
        STATE.rejoin()


def _report_child(pid: int, command: command_lines.Command, plan: Optional[Plan]) -> None:
    comes, through = (plan.is_debugged, not plan.is_debugged) if plan is not None else (False, False)
    _send_spawned(pid, _shown_command(command.argv), command.why_not, comes, through)


def _report_fork(pid: int, spawning: Optional[FrameType]) -> None:
    """Report a fork; `spawning` is the frame of a function that calls exec at once."""
    if spawning is None:
        _send_spawned(pid, "fork of %d" % os.getpid(), "", STATE.config is not None)
        return
    asked = spawning.f_locals
    _report_child(pid, *_make_plan(lambda: ([asked["file"]], asked["args"], asked["env"], True)))


def _send_spawned(pid: int, command: str, why_not: str, comes: bool, through: bool = False) -> None:
    told = {"pid": pid, "command": command, "why_not": why_not, "comes": comes, "through": through}
    with contextlib.suppress(Exception):
        send_event("spawned", told)


def _report_replacing(command: command_lines.Command) -> None:
    with contextlib.suppress(Exception):
        if command.is_there:
            recording.stop("exec")
            send_now("replacing", {"command": _shown_command(command.argv)})


def _shown_command(argv: List[str]) -> str:
    text = " ".join(argv).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST_COMMAND else text[: LONGEST_COMMAND - 1] + "…"
