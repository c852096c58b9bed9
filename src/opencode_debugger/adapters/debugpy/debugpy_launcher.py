"""Started in the program's own interpreter: connects its debugger back to the runner, then runs the program.

Runs on Python 3.8 and newer. debugpy hides files with this name from stacks and stepping.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from typing import Any


def load_package(name: str, folder: str) -> Any:
    """Makes a folder importable under a name of ours, without touching sys.path."""
    init = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_debugpy(folder: str) -> Any:
    """The relay's own debugpy, whether or not the interpreter has one."""
    sys.path.insert(0, os.path.dirname(folder))
    try:
        from debugpy.common import log

        # It lists every installed package, twice: 0.3 s before the first line runs.
        log.describe_environment = lambda *args, **kwargs: None
        from debugpy.server import cli
    finally:
        del sys.path[0]
    return cli


class NoNap:
    """The time module without sleep(): pydevd sleeps 0.1 s after connecting, for nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        pass


def connect_quickly(cli: Any, pydevd: Any) -> None:
    connect = cli.start_debugging

    def start_debugging(argv_0: str) -> None:
        pydevd.time = NoNap()
        try:
            connect(argv_0)
        finally:
            pydevd.time = time

    cli.start_debugging = start_debugging


class Impatient:
    """Stands in for the event on which pydevd's last thread waits 0.2 s at a time while the program ends."""

    def wait(self, timeout: float | None = None) -> None:
        time.sleep(0.01)

    def set(self) -> None:
        pass


def end_quickly(pydevd: Any) -> None:
    """pydevd waits half a second for a reader that cannot end; only the writer has something left to do."""

    def wait_for_writer(self: Any, timeout: float) -> None:
        writer = self.writer
        if writer is not None:
            writer.join(timeout)

    name = "_PyDB__wait_for_threads_to_finish"
    if hasattr(pydevd.PyDB, name):
        setattr(pydevd.PyDB, name, wait_for_writer)


def hide_own_frames(launcher_file: str, debugger_folder: str) -> None:
    """An uncaught exception is printed as if Python itself had run the program."""
    hook = sys.excepthook

    def excepthook(kind: Any, value: Any, trace: Any) -> None:
        first = trace
        while first is not None:
            name = first.tb_frame.f_code.co_filename
            if name != launcher_file and not name.startswith(debugger_folder):
                break
            first = first.tb_next
        hook(kind, value.with_traceback(first), first)

    sys.excepthook = excepthook


def main() -> None:
    config = json.loads(os.environ.pop("OPENCODE_DEBUG_LAUNCH"))
    for name in config["remove_environment"]:
        os.environ.pop(name, None)
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        del sys.path[0]  # the folder of this file
    cli = load_debugpy(config["debugpy"])
    import pydevd

    connect_quickly(cli, pydevd)
    end_quickly(pydevd)
    load_package("_ocdb", config["inside"]).prepare(config["first_reference"])
    options = cli.options
    options.mode = "connect"
    options.address = ("127.0.0.1", config["port"])
    options.adapter_access_token = config["token"]
    options.wait_for_client = True
    options.target = config["target"]
    options.config = {"subProcess": config["subprocesses"]}
    os.environ.pop("DEBUGPY_RUNNING", None)
    run = {"file": cli.run_file, "module": cli.run_module, "code": cli.run_code}[config["kind"]]
    try:
        run()
    except SystemExit:
        raise
    except BaseException:
        hide_own_frames(__file__, config["debugpy"])
        raise
    finally:
        py_db = pydevd.get_global_debugger()
        alive = getattr(py_db, "check_alive_thread", None)
        if alive is not None:
            patient, alive._wait_event = alive._wait_event, Impatient()
            patient.set()


if __name__ == "__main__":
    main()
