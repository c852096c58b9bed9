"""Looks up every name of pydevd that our code uses or replaces: `python pydevd_names.py DEBUGPY_FOLDER FILE...`.

Writes a line for each that is not there, with the file that leans on it. Runs on every Python from 3.8 on.
"""

import ast
import importlib
import inspect
import os
import sys

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import debugpy
import debugpy.server.api
import pydevd
import pydevd_file_utils
import pydevd_tracing
from _pydev_bundle import pydev_monkey
from _pydevd_bundle import (
    pydevd_additional_thread_info,
    pydevd_api,
    pydevd_breakpoints,
    pydevd_comm,
    pydevd_comm_constants,
    pydevd_frame_utils,
    pydevd_net_command_factory_json,
    pydevd_process_net_command_json,
    pydevd_thread_lifecycle,
    pydevd_vars,
    pydevd_xml,
)
from _pydevd_bundle._debug_adapter import pydevd_base_schema

PYDEVD = ("pydevd", "_pydev", "debugpy")
MONITORING = "pydevd_sys_monitoring"
"""There from Python 3.12 on, and used only there."""
debugger = pydevd.PyDB(set_as_global=False)
VARIABLES = {
    "alive": pydevd.CheckAliveThread(debugger),
    "api": pydevd_api.PyDevdAPI,
    "commands": pydevd_comm_constants,
    "debugger": debugger,
    "debugpy_api": debugpy.server.api,
    "factory": pydevd_net_command_factory_json.NetCommandFactoryJson,
    "frames": pydevd_frame_utils.FramesList(),
    "handler": pydevd_xml._TYPE_RESOLVE_HANDLER,
    "info": pydevd_additional_thread_info.PyDBAdditionalThreadInfo(),
    "lifecycle": pydevd_thread_lifecycle,
    "monkey": pydev_monkey,
    "notifier": debugger.threads_suspended_single_notification,
    "plugin": debugger.get_plugin_lazy_init(),
    "processor": pydevd_process_net_command_json.PyDevJsonCommandProcessor,
    "py_db": debugger,
    "pydevd": pydevd,
    "writer": pydevd_comm.WriterThread(None, debugger),
}
"""What our code calls its variables that hold parts of pydevd."""
PARTS = {
    "BaseSchema": pydevd_base_schema.BaseSchema,
    "FramesList": pydevd_frame_utils.FramesList,
    "commands": pydevd_comm_constants,
    "file_utils": pydevd_file_utils,
    "pydevd": pydevd,
    "tracing": pydevd_tracing,
}
"""What pydevd_parts.py imports for others."""
PARAMETERS = {
    pydevd.PyDB.consolidate_breakpoints: (
        "self canonical_normalized_filename id_to_breakpoint file_to_line_to_breakpoints"
    ),
    pydevd.PyDB.do_wait_suspend: "self thread frame event arg exception_type",
    pydevd.PyDB.exclude_exception_by_filter: "self exception_breakpoint trace",
    # Its variables are read from its frame: see hit_function.
    pydevd.PyDB.handle_breakpoint_condition: "self info pybreakpoint new_frame",
    pydevd.PyDB.set_suspend: (
        "self thread stop_reason suspend_other_threads is_pause original_step_cmd suspend_requested"
    ),
    pydevd.ThreadsSuspendedSingleNotification.notify_thread_suspended: "self thread_id thread stop_reason",
    pydevd.ThreadsSuspendedSingleNotification.on_thread_resume: "self thread_id thread",
    pydevd.ThreadsSuspendedSingleNotification.on_thread_suspend: "self thread_id thread stop_reason",
    pydevd_api.PyDevdAPI.remove_all_breakpoints: "self py_db received_filename",
    pydevd_api.PyDevdAPI.request_resume_thread: "self thread_id",
    pydevd_api.PyDevdAPI.request_smart_step_into: "self py_db seq thread_id offset child_offset",
    pydevd_api.PyDevdAPI.request_step: "self py_db thread_id step_cmd_id",
    pydevd_api.PyDevdAPI.request_suspend_thread: "self py_db thread_id",
    pydevd_breakpoints.stop_on_unhandled_exception: "py_db thread additional_info arg",
    pydevd_thread_lifecycle.mark_thread_suspended: "thread stop_reason original_step_cmd main_suspend",
    # Its frame is found by this name, and what it was given by the name of its parameter: see asked_frame.
    pydevd_vars.evaluate_expression: "py_db frame expression is_exec",
}
"""Parameters of functions that are replaced or looked into."""


class Names(ast.NodeVisitor):
    """Collects what one file takes from pydevd: (line, how it is written, whether it is there)."""

    def __init__(self, path):
        self.path = path
        self.known = {}
        self.missing = []

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.startswith(PYDEVD):
                importlib.import_module(alias.name)
                self.known[alias.asname or alias.name.partition(".")[0]] = sys.modules[alias.name.partition(".")[0]]

    def visit_ImportFrom(self, node):
        if node.level or not (node.module or "").startswith(PYDEVD):
            return
        for alias in node.names:
            try:
                module = importlib.import_module(node.module)
                if not hasattr(module, alias.name):
                    importlib.import_module(node.module + "." + alias.name)
                self.known[alias.asname or alias.name] = getattr(module, alias.name)
            except ImportError:
                self.missing.append((node.lineno, f"{node.module}.{alias.name}"))

    def visit_Attribute(self, node):
        self.generic_visit(node)
        chain = [node.attr]
        owner = node.value
        while isinstance(owner, ast.Attribute):
            chain.insert(0, owner.attr)
            owner = owner.value
        if not isinstance(owner, ast.Name):
            return
        if owner.id == "pydevd_parts":
            found = PARTS.get(chain.pop(0))
        else:
            found = self.known.get(owner.id, VARIABLES.get(owner.id))
        if MONITORING in chain and not hasattr(sys, "monitoring"):
            return
        for name in chain[:-1]:
            found = getattr(found, name, None)
        if found is not None and chain and not hasattr(found, chain[-1]):
            self.missing.append((node.lineno, ".".join([owner.id, *chain])))


def check_names(path):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    names = Names(path)
    names.visit(tree)  # twice: a function may use what a later line imports
    del names.missing[:]
    names.visit(tree)
    for line, text in names.missing:
        print(f"{path}:{line} leans on {text}")
    return bool(names.known)


def check_parameters():
    for function, expected in PARAMETERS.items():
        found = " ".join(inspect.signature(function).parameters)
        if found != expected:
            print(f"{function.__qualname__} takes ({found}), and we expect ({expected})")


if sum(check_names(path) for path in sys.argv[2:]) < 15:
    print("this looks at too little: names of pydevd are in fewer than 15 files")
check_parameters()
