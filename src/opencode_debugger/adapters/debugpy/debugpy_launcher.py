"""Started in the program's own interpreter: connects its debugger back to the runner, then runs the program.

Runs on Python 3.8 and newer. debugpy hides files with this name from stacks and stepping. The program must not be able
to tell the difference: its own __main__, sys.argv, sys.path, environment and tracebacks are what plain Python gives it.
"""

from __future__ import annotations

import functools
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
from typing import Any

NOWHERE = ("127.0.0.1", 0)
"""What debugpy is told for an address, and nobody uses."""
OWN_FILES = (os.path.basename(__file__), "child_debugpy_launcher.py")


def load_package(name: str, folder: str) -> Any:
    """Makes a folder importable under a name of ours, without touching sys.path."""
    return load_file(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])


def load_file(name: str, path: str, **more: Any) -> Any:
    spec = importlib.util.spec_from_file_location(name, path, **more)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_debugpy(folder: str) -> Any:
    """The relay's own debugpy, whether or not the interpreter has one."""
    sys.path.insert(0, os.path.dirname(folder))
    try:
        import debugpy
        from debugpy.common import log

        # It lists every installed package: 0.3 s before the first line runs.
        log.describe_environment = lambda *args, **kwargs: None
        import debugpy.server.api  # the rest of it, while its folder can be found
    finally:
        del sys.path[0]
    return debugpy


class NoNap:
    """The time module without sleep(): pydevd sleeps 0.1 s after connecting, for nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        pass


class Impatient:
    """Stands in for the event on which pydevd's last thread waits 0.2 s at a time while the program ends."""

    def wait(self, timeout: float | None = None) -> None:
        time.sleep(0.01)

    def set(self) -> None:
        pass


class Gone:
    """Ends the wait for the runner's word when it has gone without one: the program runs without a debugger then."""

    def __init__(self, py_db: Any) -> None:
        self.py_db = py_db
        self.is_over = False

    def is_set(self) -> bool:
        return self.is_over or bool(self.py_db.pydb_disposed)

    def set(self) -> None:
        self.is_over = True


def end_quickly(pydevd: Any) -> None:
    """pydevd waits half a second for a reader that cannot end; only the writer has something left to do."""

    def wait_for_writer(self: Any, timeout: float) -> None:
        writer = self.writer
        if writer is not None:
            writer.join(timeout)

    name = "_PyDB__wait_for_threads_to_finish"
    if hasattr(pydevd.PyDB, name):
        setattr(pydevd.PyDB, name, wait_for_writer)


def connect(debugpy: Any, pydevd: Any, inside: Any, config: Any) -> None:
    """Returns when the runner has set its breakpoints and lets the program go."""
    pydevd.time = NoNap()
    try:
        debugpy.configure(subProcess=False)  # children are ours to start
        inside.reaching.instead_of_tcp(pydevd, config["way"])
        debugpy.connect(NOWHERE)
    finally:
        pydevd.time = time
    for name in config["remove_environment"]:
        os.environ.pop(name, None)
    if sys.version_info >= (3, 12):  # it counts the debugger's threads
        warnings.filterwarnings("ignore", r"This process \(pid=\d+\) is multi-threaded", DeprecationWarning)
    threading._counter = itertools.count(1).__next__  # type: ignore[attr-defined]  # the debugger's threads took numbers
    if not config.get("command"):
        py_db = pydevd.get_global_debugger()
        if py_db is not None:
            py_db.block_until_configuration_done(cancel=Gone(py_db))
        # Only without a debugger: with one, a stop on entry would be in this function, not in the program.
        if py_db is None or py_db.pydb_disposed:
            inside.reaching.end_late_threads()


def new_main(**attributes: Any) -> Any:
    """A __main__ as an interpreter starts with."""
    main = types.ModuleType("__main__")
    main.__dict__.update(attributes, __builtins__=sys.modules["builtins"])
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def import_from(folder: str) -> None:
    """Where imports look first, unless the interpreter was told not to look there."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path.insert(0, folder)


def runner(code: Any, scope: Any) -> Any:
    """Runs it from where pydevd expects it: it looks for that file to tell that nobody handled an exception."""
    from _pydevd_bundle import pydevd_runpy

    bottom: Any = {}
    exec(compile("def run(code, scope):\n    exec(code, scope)", pydevd_runpy.__file__, "exec"), bottom)
    return functools.partial(bottom["run"], code, scope)


def prepare_file(path: str) -> Any:
    from importlib.machinery import SourceFileLoader

    from _pydevd_bundle import pydevd_runpy

    if os.path.isdir(path):
        return functools.partial(pydevd_runpy.run_path, path, run_name="__main__")
    import_from(os.path.dirname(os.path.realpath(path)))
    with io.open_code(path) as file:
        source = file.read()
    if path.endswith(".pyc") or source[:2] == b"PK":
        return functools.partial(pydevd_runpy.run_path, path, run_name="__main__")
    if sys.version_info >= (3, 9):
        path = os.path.join(os.getcwd(), path)
    main = new_main(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    return runner(compile(source, path, "exec", dont_inherit=True), main.__dict__)


def prepare_module(name: str) -> Any:
    from _pydevd_bundle import pydevd_runpy

    import_from(os.getcwd())
    new_main()
    return functools.partial(pydevd_runpy._run_module_as_main, name, alter_argv=True)


def prepare_code(source: str) -> Any:
    import_from("")
    main = new_main()
    code = compile(source, "<string>", "exec", dont_inherit=True)
    sys.modules["_ocdb"].sources.remember(code, source)
    if sys.version_info >= (3, 13):  # it shows these lines in tracebacks
        lines = [line + "\n" for line in source.splitlines()]
        linecache.cache["<string>"] = (len(source), None, lines, "<string>")
    return runner(code, main.__dict__)


PREPARE = {"file": prepare_file, "module": prepare_module, "code": prepare_code}
"""All that can be done before the debugger looks, so that its first look sees the program."""
OPTION = {"file": [], "module": ["-m"], "code": ["-c"]}
ARGV_0 = {"file": None, "module": "-m", "code": "-c"}


def hide_own_frames(debugger_folder: str) -> None:
    """An uncaught exception is printed as if Python itself had run the program."""
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
    del sys.argv[1 : 1 + config["shown"]]
    if hasattr(sys, "orig_argv"):  # by which servers such as werkzeug start themselves again
        named = [*OPTION[config["kind"]], config["target"]]
        sys.orig_argv[1:] = [*config["options"], *named, *sys.argv[1:]]
    begin(config)()


def run_plain(config: Any) -> None:
    """debugpy's own command line, as it is, but for the way on which it connects."""
    forget_own_folder()
    load_debugpy(config["debugpy"])
    import pydevd
    from debugpy.server import cli

    reaching = load_file("_ocdb_reaching", os.path.join(config["inside"], "reaching.py"))
    reaching.instead_of_tcp(pydevd, config["way"])
    cli.main()  # type: ignore[no-untyped-call]


def forget_own_folder() -> None:
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        del sys.path[0]  # the folder of this file


def begin(config: Any) -> Any:
    """The program, with its debugger connected, ready to run."""
    forget_own_folder()
    debugpy = load_debugpy(config["debugpy"])
    import pydevd

    end_quickly(pydevd)
    inside = load_package("_ocdb", config["inside"])
    inside.prepare()
    inside.begin(config["first_reference"])
    inside.begin_family(config)
    kind, target = config["kind"], config["target"]
    sys.argv[0] = ARGV_0[kind] or target
    if kind == "file":
        inside.versions.remember(target)
    run = PREPARE[kind](target)
    begins = inside.program_starts()
    connect(debugpy, pydevd, inside, config)
    return functools.partial(run_to_the_end, run, begins, inside, pydevd, config)


def begin_child(config: Any) -> Any:
    """The same for a child of a debugged program. Raises if the runner does not want it."""
    os.environ.update(config["environment"])
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = config["orig_argv"]
    program = begin(config)
    if not sys.modules["_ocdb"].joining.is_debugged():
        raise RuntimeError("let go")
    return program


def run_to_the_end(run: Any, begins: Any, inside: Any, pydevd: Any, config: Any) -> None:
    try:
        begins()
        run()
        inside.joining.exit_code = 0
    except SystemExit as ending:
        inside.joining.exit_code = code_of(ending)
        raise
    except BaseException as error:
        inside.joining.exit_code = 1 if isinstance(error, Exception) else None
        if sys.gettrace() is None:  # else the debugger is about to stop, and would count this among the steps
            inside.overflow.uncaught(error)
        hide_own_frames(config["debugpy"])
        raise
    finally:
        alive = getattr(pydevd.get_global_debugger(), "check_alive_thread", None)
        if alive is not None:
            patient, alive._wait_event = alive._wait_event, Impatient()
            patient.set()


def code_of(ending: SystemExit) -> Any:
    """What the process ends with, if that is beyond doubt."""
    if ending.code is None:
        return 0
    return ending.code & 0xFF if isinstance(ending.code, int) else 1


if __name__ == "__main__":
    main()
