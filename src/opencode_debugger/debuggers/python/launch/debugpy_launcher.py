"""Runs in the program's own interpreter: connects its debugger back to the runner, then runs the program.

Runs on Python 3.8 and newer. debugpy hides files with this name from stacks and stepping. The program must not be able
to tell the difference: its own __main__, sys.argv, sys.path, environment and tracebacks are what plain Python gives it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import io
import itertools
import json
import linecache
import os
import sys
import threading
import time
import types
import warnings
from typing import Any, Callable, Dict, Iterator, Tuple

NOWHERE = ("127.0.0.1", 0)
"""The address that debugpy is told, and nobody uses."""
Program = Callable[[], object]
Debugger = Tuple[Any, Any, Any]
"""The modules debugpy and pydevd, and our own package."""
OWN_FILES = (os.path.basename(__file__), "child_debugpy_launcher.py")


def load_file(name: str, path: str, **more: Any) -> types.ModuleType:
    """Load a file, or the folder of a package, under a name of ours, without touching sys.path."""
    spec = importlib.util.spec_from_file_location(name, path, **more)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def describe_nothing(*args: Any, **kwargs: Any) -> None:
    """Stand in for functions that only write to a log: one lists every installed package, one starts a process."""


UNUSED_MODULES = {
    "importlib.metadata": [],
    "xmlrpc": [],
    "xmlrpc.client": ["ServerProxy", "Marshaller", "Server", "Transport"],
    "xmlrpc.server": ["SimpleXMLRPCServer"],
    "http": [],
    "http.server": ["BaseHTTPRequestHandler"],
}
"""What debugpy imports and nothing of ours uses, with the names that it looks for: a third of the time to load it."""


@contextlib.contextmanager
def without_unused_modules() -> Iterator[None]:
    """Give whoever imports one of these modules an empty one, unless the interpreter has it already.

    Afterwards they are as unknown as before: a program that imports one gets the real one."""
    empty = {name: types.ModuleType(name) for name in UNUSED_MODULES if name not in sys.modules}
    for name, module in empty.items():
        module.__dict__.update(dict.fromkeys(UNUSED_MODULES[name], object))
        package, _, part = name.rpartition(".")
        if package in empty:
            setattr(empty[package], part, module)
    sys.modules.update(empty)
    try:
        yield
    finally:
        for name in empty:
            del sys.modules[name]


@contextlib.contextmanager
def without_description() -> Iterator[None]:
    """Spare debugpy's log its first line, for which `uname` would be started."""
    import platform

    platform_text, platform.platform = platform.platform, describe_nothing  # type: ignore[assignment]
    try:
        yield
    finally:
        platform.platform = platform_text


def load_debugpy(folder: str) -> types.ModuleType:
    """Load the relay's own debugpy, whether or not the interpreter has one."""
    sys.path.insert(0, os.path.dirname(folder))
    try:
        with without_unused_modules(), without_description():
            import debugpy
            from debugpy.common import log

            log.describe_environment = describe_nothing
            import debugpy.server.api  # the rest of it, while its folder can be found
    finally:
        del sys.path[0]
    return debugpy


class ShortWait:
    """Stands in for the event on which pydevd's last thread waits 0.2 s at a time while the program ends."""

    def wait(self, timeout: float | None = None) -> None:
        time.sleep(0.01)

    def set(self) -> None:
        pass


class RunnerGone:
    """Ends the wait for the runner's word when it is gone: the program runs without a debugger then."""

    def __init__(self, py_db: Any) -> None:
        self.py_db = py_db
        self.is_over = False

    def is_set(self) -> bool:
        return self.is_over or bool(self.py_db.pydb_disposed)

    def set(self) -> None:
        self.is_over = True


def end_quickly(pydevd: Any) -> None:
    """Wait for the writer only: pydevd waits half a second for a reader that cannot end."""

    def wait_for_writer(self: Any, timeout: float) -> None:
        writer = self.writer
        if writer is not None:
            writer.join(timeout)

    name = "_PyDB__wait_for_threads_to_finish"
    if hasattr(pydevd.PyDB, name):
        setattr(pydevd.PyDB, name, wait_for_writer)


def connect_debugger(debugpy: Any, pydevd: Any, inside: Any, config: Any) -> None:
    """Return when the runner has set its breakpoints and lets the program go."""
    pydevd.time = inside.joining.TimeWithoutSleep()
    try:
        debugpy.configure(subProcess=False)  # children are ours to start
        inside.runner_connection.instead_of_tcp(pydevd, config["way"])
        debugpy.connect(NOWHERE)
    finally:
        pydevd.time = time
    for name in config["remove_environment"]:
        os.environ.pop(name, None)
    if inside.python_versions.FORK_WARNS_OF_THREADS:
        warnings.filterwarnings("ignore", r"This process \(pid=\d+\) is multi-threaded", DeprecationWarning)
    threading._counter = itertools.count(1).__next__  # type: ignore[attr-defined]  # the debugger's threads took numbers
    if not config.get("command"):
        py_db = pydevd.get_global_debugger()
        if py_db is not None:
            py_db.block_until_configuration_done(cancel=RunnerGone(py_db))
        # Only without a debugger: with one, a stop on entry would be in this function, not in the program.
        if py_db is None or py_db.pydb_disposed:
            inside.runner_connection.end_late_threads()


def new_main(inside: Any, **attributes: Any) -> types.ModuleType:
    """Make a __main__ as an interpreter starts with."""
    main = types.ModuleType("__main__")
    main.__dict__.update(attributes, __builtins__=sys.modules["builtins"])
    if inside.python_versions.MAIN_HAS_ANNOTATIONS:
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def has_own_folder() -> bool:
    """Tell whether imports look first into the folder of the program: the interpreter may be told not to."""
    return not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated


def import_from(folder: str) -> None:
    if has_own_folder():
        sys.path.insert(0, folder)


def run_from_pydevd(code: Any, scope: Any) -> Program:
    """Return a call that runs it from a file of pydevd, which by that tells that nothing handled an exception."""
    from _pydevd_bundle import pydevd_runpy

    bottom: Dict[str, Any] = {}
    exec(compile("def run(code, scope):\n    exec(code, scope)", pydevd_runpy.__file__, "exec"), bottom)
    run, prepare = bottom["run"], sys.modules["_ocdb"].full_speed.prepare_code
    return functools.partial(run, code, scope) if prepare is None else lambda: run(prepare(code), scope)


def prepare_file(inside: Any, path: str) -> Program:
    from importlib.machinery import SourceFileLoader

    from _pydevd_bundle import pydevd_runpy

    if os.path.isdir(path):
        return functools.partial(pydevd_runpy.run_path, path, run_name="__main__")
    import_from(os.path.dirname(os.path.realpath(path)))
    with io.open_code(path) as file:
        source = file.read()
    if path.endswith(".pyc") or source[:2] == b"PK":
        return functools.partial(pydevd_runpy.run_path, path, run_name="__main__")
    if inside.python_versions.HAS_ABSOLUTE_MAIN_FILE:
        path = os.path.join(os.getcwd(), path)
    main = new_main(inside, __file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    return run_from_pydevd(compile(source, path, "exec", dont_inherit=True), main.__dict__)


def prepare_module(inside: Any, name: str) -> Program:
    from _pydevd_bundle import pydevd_runpy

    import_from(os.getcwd())
    new_main(inside)
    return functools.partial(pydevd_runpy._run_module_as_main, name, alter_argv=True)


def prepare_code(inside: Any, source: str) -> Program:
    import_from("")
    main = new_main(inside)
    code = compile(source, "<string>", "exec", dont_inherit=True)
    inside.source_text.remember_code(code, source)
    if inside.python_versions.SHOWS_LINES_OF_CODE:
        lines = [line + "\n" for line in source.splitlines()]
        linecache.cache["<string>"] = (len(source), None, lines, "<string>")
    return run_from_pydevd(code, main.__dict__)


PREPARE = {"file": prepare_file, "module": prepare_module, "code": prepare_code}
"""Does all that can be done before the debugger looks, so that its first look sees the program."""
OPTION = {"module": "-m", "code": "-c"}


def hide_own_frames(debugger_folder: str) -> None:
    """Print an uncaught exception as if Python itself had run the program."""
    hook = sys.excepthook

    def excepthook(kind: Any, value: Any, trace: Any) -> None:
        first = trace
        while first is not None:
            name = first.tb_frame.f_code.co_filename
            if not name.endswith(OWN_FILES) and not name.startswith(debugger_folder):
                break
            first = first.tb_next
        hook(kind, value.with_traceback(first), first)

    sys.excepthook = excepthook


def main() -> None:
    config = json.loads(os.environ.pop("OPENCODE_DEBUG_LAUNCH"))
    if config["kind"] == "plain":
        run_plain(config)
        return
    debugger = None
    if config["kind"] == "spare":
        debugger, config = wait_for_program(config)
    del sys.argv[1 : 1 + config["shown"]]
    if hasattr(sys, "orig_argv"):  # by which servers such as werkzeug start themselves again
        option = OPTION.get(config["kind"])
        sys.orig_argv[1:] = [*config["options"], *([option] if option else []), config["target"], *sys.argv[1:]]
    begin_program(config, debugger)()


def run_plain(config: Any) -> None:
    """Run debugpy's own command line, as it is, but for the way on which it connects."""
    forget_own_folder()
    load_debugpy(config["debugpy"])
    import pydevd
    from debugpy.server import cli

    path = os.path.join(config["inside"], "rpc", "runner_connection.py")
    load_file("_ocdb_runner_connection", path).instead_of_tcp(pydevd, config["way"])
    cli.main()  # type: ignore[no-untyped-call]


def forget_own_folder() -> None:
    if has_own_folder():
        del sys.path[0]  # the folder of this file


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Look for no garbage meanwhile: what is loaded is none, and looking for some takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@without_collector()
def load_debugger(config: Any) -> Debugger:
    """Load all that is the same for every program."""
    forget_own_folder()
    debugpy = load_debugpy(config["debugpy"])
    import pydevd

    end_quickly(pydevd)
    folder = config["inside"]
    inside: Any = load_file("_ocdb", os.path.join(folder, "entry.py"), submodule_search_locations=[folder])
    inside.prepare()
    return debugpy, pydevd, inside


def wait_for_program(config: Any) -> Tuple[Debugger, Any]:
    """Return the debugger, loaded ahead, and what the runner wants run with it. If it wants nothing any more, end."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spare_start.py")
    spare_start: Any = load_file("_ocdb_spare_start", path)
    del sys.modules["_ocdb_spare_start"]
    try:
        spare = spare_start.SpareStart(config["control"])
        return load_debugger(config), spare.await_launch()
    except spare_start.ChangedStart:
        os._exit(0)  # nothing of a program has run, so that nothing has to be said


def begin_program(config: Any, debugger: Debugger | None = None) -> Program:
    """Return the program, with its debugger connected, ready to run."""
    debugpy, pydevd, inside = debugger or load_debugger(config)
    inside.begin(config["first_reference"])
    inside.begin_family(config)
    inside.full_speed.leaving_exceptions.runs_main = True
    kind, target = config["kind"], config["target"]
    sys.argv[0] = OPTION.get(kind, target)
    if kind == "file":
        inside.file_versions.remember_file(target)
    run = PREPARE[kind](inside, target)
    inside.stop_events.current.program_runs.clear()  # pauses wait: the program has not begun yet
    connect_debugger(debugpy, pydevd, inside, config)
    return functools.partial(run_to_the_end, run, inside, pydevd, config)


def begin_child(config: Any) -> Program:
    """Return a child of a debugged program, ready to run. Raises if the runner does not want it."""
    os.environ.update(config["environment"])
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = config["orig_argv"]
    program = begin_program(config)
    if not sys.modules["_ocdb"].joining.is_debugged():
        raise RuntimeError("let go")
    return program


def run_to_the_end(run: Any, inside: Any, pydevd: Any, config: Any) -> None:
    try:
        py_db = pydevd.get_global_debugger()
        if py_db is not None:
            py_db.process_internal_commands(("*",))  # tells of the main thread, also if it ends at once
        inside.stop_events.current.program_runs.set()
        inside.recording.begin_program(config)
        run()
        inside.joining.exit_code = 0
    except SystemExit as ending:
        code = 0 if ending.code is None else ending.code
        inside.joining.exit_code = code & 0xFF if isinstance(code, int) else 1
        raise
    except BaseException as error:
        inside.joining.exit_code = 1 if isinstance(error, Exception) else None
        leaving = inside.full_speed.leaving_exceptions
        if leaving.is_used or sys.gettrace() is None:  # else the debugger will stop, and would count this as steps
            leaving.stop_in_main(error)
        hide_own_frames(config["debugpy"])
        raise
    finally:
        inside.recording.is_ending = True
        alive = getattr(pydevd.get_global_debugger(), "check_alive_thread", None)
        if alive is not None:
            patient, alive._wait_event = alive._wait_event, ShortWait()
            patient.set()


if __name__ == "__main__":
    main()
