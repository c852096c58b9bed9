"""Loads our debugger inside a program that is attached to by its process id, and connects it to the runner.

Comes as text (see inject_debugger.py), on a thread of its own, on Python 3.8 and newer. Its globals are `sock`,
`config` and `reaching`, the functions of inside/rpc/runner_connection.py by name. The program goes on meanwhile and
must not notice: nothing in sys.path, its environment, its output or its threads.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import time
import warnings
from types import ModuleType
from typing import Any, Dict, Iterator

HIDDEN = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYDEVD_USE_FRAME_EVAL": "NO"}
"""pydevd reads them when it is loaded; without the first it warns on the program's stderr."""


LEAVING_SECONDS = 2.0
"""Seconds that a debugger which was told to go may take."""

SWITCH_SECONDS = 0.0001


class Refused(Exception):
    pass


def load_package(name: str, folder: str) -> ModuleType:
    """Load a package by its folder, without touching sys.path: other threads may be importing."""
    init = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


@contextlib.contextmanager
def hidden_environment() -> Iterator[None]:
    """Set variables in os.environ only: changing the real environment of a program with threads is not safe."""
    environ: Any = os.environ
    added = {environ.encodekey(k): environ.encodevalue(v) for k, v in HIDDEN.items() if k not in environ}
    environ._data.update(added)
    try:
        yield
    finally:
        for name in added:
            environ._data.pop(name, None)


def load_threading(debugpy_folder: str) -> ModuleType:
    """Import threading so that we are not its main thread: up to Python 3.12 whoever imports it first is."""
    if "threading" not in sys.modules and sys.version_info < (3, 13):
        folder = os.path.join(debugpy_folder, "_vendored", "pydevd", "pydevd_attach_to_process")
        with open(os.path.join(folder, "attach_script.py"), encoding="utf-8") as file:
            namespace: Dict[str, Any] = {"__name__": "attach_script"}
            exec(compile(file.read(), file.name, "exec"), namespace)
        namespace["fix_main_thread_id"]()
    import threading

    return threading


def describe_nothing(*args: Any, **kwargs: Any) -> None:
    """Stand in for a function that lists every installed package."""


def load_debugpy(folder: str) -> ModuleType:
    with hidden_environment():
        if "debugpy" not in sys.modules:
            load_package("debugpy", folder)
        import debugpy
        from debugpy.common import log

        log.describe_environment = describe_nothing
        import debugpy.server.api  # the rest of it
    return debugpy


def check_nobody_debugs() -> None:
    pydevd = sys.modules.get("pydevd")
    patience = time.monotonic() + LEAVING_SECONDS
    while pydevd is not None and pydevd.get_global_debugger() is not None:
        if time.monotonic() > patience:
            raise Refused("it is being debugged already, by its own debugpy or by another session")
        time.sleep(0.01)
    if pydevd is None and getattr(sys, "gettrace", lambda: None)() is not None:
        raise Refused("another debugger or tracer is active in it")


@contextlib.contextmanager
def switch_faster() -> Iterator[None]:
    """Take turns faster: importing gives way at every file, which among busy threads would take a minute."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(min(interval, SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def connect_debugger(config: Dict[str, Any], reaching: Dict[str, Any]) -> None:
    check_nobody_debugs()
    breakpointhook = sys.breakpointhook
    with switch_faster():
        debugpy = load_debugpy(config["debugpy"])
    import pydevd
    from _pydev_bundle import pydev_log

    debugpy_api = debugpy.server.api
    pydev_log._LoggingGlobals._debug_stream = pydev_log.NULL  # it is the program's stderr otherwise
    pydev_log._LoggingGlobals._debug_stream_initialized = True
    pydevd.SetupHolder.setup = None  # an earlier session's
    if sys.version_info >= (3, 12):  # it counts the debugger's threads
        warnings.filterwarnings("ignore", r"This process \(pid=\d+\) is multi-threaded", DeprecationWarning)
    debugpy.configure(subProcess=False)
    start_client = pydevd.start_client

    @debugpy_api._starts_debugging  # type: ignore[untyped-decorator]
    def settrace(address: Any, options: Dict[str, Any]) -> None:
        host, port = address
        # As debugpy.connect, which would wait here for the runner, for ever if that has gone.
        debugpy_api._settrace(host=host, port=port, wait_for_ready_to_run=False, **options)

    try:
        reaching["instead_of_tcp"](pydevd, config["way"])
        settrace(("127.0.0.1", 0))
    except BaseException:
        pydevd.start_client = start_client
        debugger = pydevd.get_global_debugger()
        if debugger is not None:
            debugger.dispose_and_kill_all_pydevd_threads(wait=False)
        sys.breakpointhook = breakpointhook
        raise
    finally:
        reaching["end_late_threads"]()
    sys._ocdb_breakpointhook = breakpointhook  # type: ignore[attr-defined]  # for whoever lets the program go again


def connect_and_answer(sock: Any, config: Dict[str, Any], reaching: Dict[str, Any]) -> None:
    import threading

    answer: Dict[str, Any] = {"done": True}
    try:
        # One that was given up may be loading still.
        with sys.__dict__.setdefault("_ocdb_loading", threading.Lock()):
            connect_debugger(config, reaching)
    except Refused as error:
        answer = {"refused": str(error)}
    except BaseException as error:
        answer = {"failed": "%s: %s" % (type(error).__name__, error)}
    with contextlib.suppress(OSError):
        sock.sendall(json.dumps(answer).encode("ascii"))
        sock.close()


def main(sock: Any, config: Dict[str, Any], reaching: Dict[str, Any]) -> None:
    threading = load_threading(config["debugpy"])
    thread = threading.Thread(target=connect_and_answer, args=(sock, config, reaching), name="opencode-debugger")
    thread.daemon = thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True
    thread.start()


if __name__ == "_ocdb_injected":
    main(globals()["sock"], globals()["config"], globals()["reaching"])
