"""Sees which processes the program starts, and has the Python ones among them debugged if that is wanted.

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
from types import FunctionType
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import commands
from .plans import BELOW, IMPORTS, Environment, Plan, handed_down

ITS_OWN = "; Python programs that it starts are debugged"
LONGEST = 1000
"""characters of a command that an event shows"""


Send = Callable[[str, Dict[str, Any]], None]


class State:
    """What a process and all that it starts are told once."""

    def __init__(self) -> None:
        self.installed = False
        self.config: Optional[Dict[str, Any]] = None
        """how children are to be started; None if they are not debugged"""
        self.send: Send = lambda kind, body: None
        self.send_now: Send = lambda kind, body: None
        self.rejoin: Callable[[], None] = lambda: None
        """run in a forked child that is to be debugged"""


STATE = State()
_originals: Dict[str, Any] = {}


def install(send: Send, send_now: Send) -> None:
    """Once per process; debugging children is switched on later, by `STATE.config`."""
    STATE.send, STATE.send_now = send, send_now
    if STATE.installed:
        return
    STATE.installed = True
    _quiet_pydevd()
    _wrap("_posixsubprocess", "fork_exec", _fork_exec)
    subprocess = sys.modules.get("subprocess")
    if hasattr(subprocess, "_fork_exec"):
        subprocess._fork_exec = sys.modules["_posixsubprocess"].fork_exec  # type: ignore[union-attr]
    for name, wrapper in (
        ("fork", _fork),
        ("forkpty", _forkpty),
        ("posix_spawn", _posix_spawn),
        ("posix_spawnp", functools.partial(_posix_spawn, search=True)),
        ("execv", _execv),
        ("execve", _execve),
        ("system", _system),
    ):
        _wrap("os", name, wrapper)


def _quiet_pydevd() -> None:
    """In a program that was attached to, pydevd may have wrapped them too: its children wait for an answer for ever."""
    monkey = sys.modules.get("_pydev_bundle.pydev_monkey")
    if monkey is not None:
        monkey._get_apply_arg_patching = lambda: False  # type: ignore[attr-defined]


def _wrap(module_name: str, name: str, wrapper: Callable[[Any], Any]) -> None:
    try:
        module = __import__(module_name)
        original = getattr(module, name)
    except (ImportError, AttributeError):
        return  # not on this system
    _originals[name] = original
    wrapped = functools.wraps(original)(hidden(wrapper(original)))
    del wrapped.__wrapped__
    setattr(module, name, wrapped)


def hidden(function: Any) -> Any:
    """With the name of a file that debugpy leaves out of stacks and steps."""
    code = function.__code__.replace(co_filename=os.path.join(os.sep, "ocdb", "debugpy_launcher.py"))
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


# The wrappers.


def _fork_exec(original: Any) -> Any:
    folder, environment = 4, 5  # their places among the arguments: the same from 3.8 on
    user = 19 if sys.version_info >= (3, 11) else 18  # not in 3.8

    def fork_exec(*args: Any) -> Any:
        command, plan = _plan(lambda: (args[1], args[0], args[environment], False))
        if plan is not None and args[user : user + 1] not in ((), (None,), (os.geteuid(),)):
            command, plan = command._replace(why_not="it runs as another user, who cannot reach the session"), None
        if plan is not None:
            changed = list(args)
            if isinstance(plan, Plan):
                changed[0], changed[1] = plan.argv, (os.fsencode(plan.executable),)
            changed[environment] = [b"%b=%b" % item for item in plan.environment.items()]
            args = tuple(changed)
        pid = original(*args)
        if command is None or command.is_there or args[folder] is not None:
            _tell(pid, command, plan)
        return pid

    return fork_exec


def _posix_spawn(original: Any, search: bool = False) -> Any:
    def posix_spawn(*args: Any, **options: Any) -> Any:
        command, plan = _plan(lambda: ([args[0]], args[1], args[2], search))
        if plan is not None:
            args = (plan.executable, plan.argv, plan.environment)
        pid = original(*args, **options)
        _tell(pid, command, plan)
        return pid

    return posix_spawn


def _fork(original: Any) -> Any:
    def fork() -> Any:
        caller = sys._getframe(1)
        execs = caller.f_code.co_name == "_spawnvef"  # of os: it calls exec at once
        pid = original()
        if pid:
            _tell_fork(pid, caller if execs else None)
        elif not execs:
            _after_fork()
        return pid

    return fork


def _forkpty(original: Any) -> Any:
    def forkpty() -> Any:
        pid, descriptor = original()
        if pid:
            _tell_fork(pid, None)
        else:
            _after_fork()
        return pid, descriptor

    return forkpty


def _execv(original: Any) -> Any:
    def execv(*args: Any) -> Any:
        command, plan = _plan(lambda: ([args[0]], args[1], None, False))
        _replacing(command)
        if plan is None:
            return original(*args)
        return _originals["execve"](plan.executable, plan.argv, plan.environment)

    return execv


def _execve(original: Any) -> Any:
    def execve(*args: Any) -> Any:
        command, plan = _plan(lambda: ([args[0]], args[1], args[2], False))
        _replacing(command)
        if plan is not None:
            args = (plan.executable, plan.argv, plan.environment)
        return original(*args)

    return execve


def _system(original: Any) -> Any:
    """It gives its shell the environment of the process itself, as C knows it: `os.environ` stays as it is."""

    def system(*args: Any, **options: Any) -> Any:
        with _handed_to_c():
            return original(*args, **options)

    return system


# What they do besides.


class Through:
    """How something is started that is no Python, and that may start some."""

    def __init__(self, executable: Any, argv: Any, environment: Environment) -> None:
        self.executable, self.argv, self.environment = executable, argv, environment


def _plan(arguments: Callable[[], Any]) -> Any:
    """The command, and how to start it if not as it is. Whatever is odd about it is left to what we wrap."""
    try:
        executables, argv, environment, search = arguments()
        command = commands.read(executables, argv, search)
        config = STATE.config
        if config is None:
            return command._replace(why_not="") if command.why_not == commands.A_SHELL else command, None
        if _pydevd_knows(command):
            return command, None
        if command.program is not None:
            plan = Plan(command, _bytes(environment), config)
            if plan.is_too_long:
                return command._replace(why_not="its command line is too long"), None
            return command, plan
        if commands.is_python(command.executable):
            return command, None
        below = handed_down(_bytes(environment), config["below"])
        return command._replace(why_not=command.why_not + ITS_OWN), Through(executables[0], argv, below)
    except Exception:
        return None, None


def _pydevd_knows(command: commands.Command) -> bool:
    return any(word.endswith(("debugpy_launcher.py", "pydevd.py")) for word in command.argv[1:])


def _bytes(environment: Any) -> Dict[bytes, bytes]:
    if environment is None:
        environment = os.environ
    if hasattr(environment, "items"):
        return {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
    return dict(item.split(b"=", 1) for item in environment)


_c_environment = threading.Lock()
_calls_of_system = 0


@contextlib.contextmanager
def _handed_to_c() -> Iterator[None]:
    """For as long as one of the calls that need it lasts."""
    global _calls_of_system
    config = STATE.config
    if config is None:
        yield
        return
    names = (IMPORTS, BELOW)
    with _c_environment:
        _calls_of_system += 1
        below = handed_down(_bytes(None), config["below"])
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


def _after_fork() -> None:
    if STATE.config is not None:
        STATE.rejoin()


def _tell(pid: int, command: Optional[commands.Command], plan: Any) -> None:
    if command is None:
        command = commands.Command("", False, [], None, "its command could not be read")
    _send(pid, _shown(command.argv), command.why_not, isinstance(plan, Plan), isinstance(plan, Through))


def _tell_fork(pid: int, spawning: Any) -> None:
    if spawning is None:
        _send(pid, "fork of %d" % os.getpid(), "", STATE.config is not None)
        return
    asked = spawning.f_locals
    command, plan = _plan(lambda: ([asked["file"]], asked["args"], asked["env"], True))
    _tell(pid, command, plan)


def _send(pid: int, command: str, why_not: str, comes: bool, through: bool = False) -> None:
    told = {"pid": pid, "command": command, "why_not": why_not, "comes": comes, "through": through}
    with contextlib.suppress(Exception):
        STATE.send("spawned", told)


def _replacing(command: Any) -> None:
    with contextlib.suppress(Exception):
        if command.is_there:
            STATE.send_now("replacing", {"command": _shown(command.argv)})


def _shown(argv: List[str]) -> str:
    text = " ".join(argv).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
