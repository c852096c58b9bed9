"""Hands each Python below a debugged program over to our launcher, whatever is between them, such as a shell or make.

Its folder comes first in their PYTHONPATH. A Python that runs a program becomes our launcher, in the same process, and
that gives the program the environment which it would have had. All others go on as if this file were not here. It is
understood by every Python, 2 included.
"""

import os
import sys

OLDEST = (3, 8)
FOLDER = os.path.dirname(os.path.abspath(__file__))


def become_launcher():  # type: ignore[no-untyped-def]
    """Return only if this Python is not to be debugged."""
    note = os.environ.get("OPENCODE_DEBUG_BELOW")
    implementation = getattr(getattr(sys, "implementation", None), "name", "")
    if not note or sys.version_info < OLDEST or implementation != "cpython":
        return
    words = command_line()  # type: ignore[no-untyped-call]
    if not words:
        return
    try:
        import json

        with open(note) as file:
            config = json.load(file)
    except (OSError, ValueError):
        return  # the session is gone, or another user's
    commands, plans = load_inside(config["inside"])  # type: ignore[no-untyped-call]
    command = commands.read_command([sys.executable], words)
    if command.program is None:
        return
    environment = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    plan = plans.plan_launch(command, command.program, plans.taken_back(environment, FOLDER), config)
    if plan is not None:
        os.execve(plan.executable, plan.argv, plan.environment)


def command_line():  # type: ignore[no-untyped-def]
    """Return nothing in a program that has Python built in, such as gdb: that cannot be started again as a Python."""
    try:
        if not sys.executable or os.path.realpath("/proc/self/exe") != os.path.realpath(sys.executable):
            return []
        if hasattr(sys, "orig_argv"):
            return sys.orig_argv
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def load_inside(folder):  # type: ignore[no-untyped-def]
    """Return the two modules that are needed of the code for debugged programs, without loading the rest of it."""
    from importlib import import_module
    from types import ModuleType

    package = ModuleType("_ocdb_below")
    package.__path__ = [folder]
    sys.modules["_ocdb_below"] = package
    names = "_ocdb_below.processes.command_lines", "_ocdb_below.processes.launch_plans"
    return import_module(names[0]), import_module(names[1])


def make_way():  # type: ignore[no-untyped-def]
    """Import the file of the same name that Python would have found without us."""
    own = sys.modules.pop(__name__)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != FOLDER]
    try:
        __import__(__name__)
    except ImportError as error:
        if getattr(error, "name", __name__) != __name__:
            raise
        sys.modules[__name__] = own  # who imports expects to find something


if __name__ == "sitecustomize":
    try:
        become_launcher()  # type: ignore[no-untyped-call]
    except Exception:
        pass  # the program comes first
    make_way()  # type: ignore[no-untyped-call]
