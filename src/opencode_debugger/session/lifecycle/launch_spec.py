"""The launch that a client asked for, with every path made absolute and known to exist."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from ...debuggers.process.standard_input import LONGEST_QUEUE
from ...debuggers.python.interpreters.virtual_environments import ACTIVATED, activation, import_paths
from ...debuggers.registry import Programs, find_record
from ...debuggers.shapes import LaunchSpec
from ...errors import RelayError, invalid_parameter
from ...operations.advice import advice
from ..execution.recorder import asked_recording
from ..session_settings import Config
from .choose_debugger import adapter_for_launch
from .choose_python import Chosen, choose_python, project_folder
from .program_kinds import PYTHON_FILES, FoundProgram, find_program, is_native, script_program, search_path


class LaunchWish(msgspec.Struct, kw_only=True):
    """A launch as a client asks for it."""

    script: str | None = None
    program: str | None = None
    module: str | None = None
    code: str | None = None
    args: list[str] | None = None
    cwd: str | None = None
    env: dict[str, str] | None = None
    stop_on_entry: bool | None = None
    stop_on_exception: bool | str | None = None
    console: str = ""
    """has no effect"""
    python_args: list[str] | None = None
    python_path: str | None = None
    just_my_code: bool = False
    stop_scope: str | None = None
    debug_subprocesses: bool | None = None
    stdin_inputs: list[str] | None = None
    stdin_eof: bool = False
    venv: str | None = None
    pythonpath: list[str] | None = None
    adapter: str | None = None
    debugger: str | None = None
    core: str | None = None
    debugger_path: str | None = None
    tunnel_only: bool = False
    line_buffered: bool = True
    recordable: bool = False
    record: dict[str, Any] | bool | None = None


def launch_spec(config: Config, wish: LaunchWish) -> LaunchSpec:
    folder = os.path.normpath(os.path.join(config.project_root or os.getcwd(), wish.cwd or ""))
    if not os.path.isdir(folder):
        message = f"cwd {folder[:200]!r} is not an existing folder"
        raise invalid_parameter("cwd", folder, message, "Create it or choose another cwd")
    found = _find_what(config, wish, folder)
    kind, env = found.kind, wish.env or {}
    wanted = wish.adapter or config.adapter
    debugger_name = adapter_for_launch(wanted, wish.debugger, kind, found.target, config.limits)
    has_place = kind in ("file", "command") and (wish.script is not None or os.sep in (wish.program or ""))
    project = project_folder(config, folder if wish.cwd else None, found.target if has_place else None)
    is_python = find_record(debugger_name).programs is Programs.PYTHON
    chosen = choose_python(config, folder, wish.python_path, wish.venv, project if is_python else None)
    if found.interpreter is not None and wish.python_path is None:
        chosen = Chosen(found.interpreter, chosen.environment, found.reason)
    imports = import_paths(config.pythonpath if wish.pythonpath is None else wish.pythonpath, folder)
    path = wish.debugger_path  # or the name of a command
    spec = LaunchSpec(
        kind=kind, target=found.target, args=found.args, command=found.command, cwd=folder, env=env, project=project,
        interpreter=chosen.interpreter, interpreter_reason=chosen.reason if debugger_name == "debugpy" else "",
        interpreter_args=[*found.interpreter_args, *(wish.python_args or [])],
        stop_on_entry=config.stop_on_entry if wish.stop_on_entry is None else wish.stop_on_entry,
        just_my_code=wish.just_my_code, stop_scope=wish.stop_scope or config.stop_scope,
        debug_subprocesses=kind == "command" if wish.debug_subprocesses is None else wish.debug_subprocesses,
        stdin_inputs=wish.stdin_inputs or [], stdin_eof=wish.stdin_eof,
        added=_environment_variables(env, chosen.environment, imports),
        removed=ACTIVATED if chosen.environment else (),
        adapter=debugger_name, server=wish.debugger, core=_find_core(wish.core, folder),
        debugger_path=os.path.join(folder, os.path.expanduser(path)) if path and os.sep in path else path,
        tunnel_only=wish.tunnel_only, line_buffered=wish.line_buffered, recordable=wish.recordable,
        record=asked_recording(wish.record, folder),
    )
    _check_spec(spec, wish)
    return spec


def _find_what(config: Config, wish: LaunchWish, folder: str) -> FoundProgram:
    args, adapter = wish.args or [], wish.adapter or config.adapter
    if wish.program is not None:
        named = project_folder(config, folder if wish.cwd else None, None)
        search = search_path(choose_python(config, folder, wish.python_path, wish.venv, named), wish.env or {})
        wants_native = adapter is not None and find_record(adapter).programs is Programs.NATIVE
        wants_native = wants_native or bool(wish.debugger or wish.core or wish.tunnel_only)
        return find_program(wish.program, args, folder, search, wants_native, wish.debug_subprocesses)
    if wish.script is not None:
        path = _find_script(wish.script, folder)
        if is_native(path):
            return FoundProgram("program", path, args)
        if adapter is None and not path.endswith(PYTHON_FILES):  # its first line may name something else than Python
            found = script_program(path, args, folder, os.environ.get("PATH", ""), "script")
            if found is not None and found.kind == "command":
                return found
        return FoundProgram("file", path, args)
    if wish.module is not None:
        return FoundProgram("module", wish.module, args)
    return FoundProgram("code", wish.code or "", args)


def _check_spec(spec: LaunchSpec, wish: LaunchWish) -> None:
    """Refuse what does not go together."""
    record = find_record(spec.adapter)
    if wish.debugger_path is not None and spec.adapter != "ez":
        message = "A debugger that speaks the EZ protocol is for programs that are debugged with it"
        advised = 'Launch with "adapter": "ez", or without it'
        raise invalid_parameter("debugger_path", wish.debugger_path, message, advised)
    if spec.kind == "command":
        # What is for Python programs and does not reach those that a command starts is named.
        given = {"stop_on_entry": spec.stop_on_entry, "python_args": bool(spec.interpreter_args)}
        given |= {"python_path": wish.python_path is not None}
        if not spec.debug_subprocesses:
            given |= {"just_my_code": spec.just_my_code, "stop_scope": spec.stop_scope == "thread"}
        spec.without_effect = [name for name, is_given in given.items() if is_given]
    if spec.record is not None and (record.programs is not Programs.PYTHON or spec.tunnel_only):
        message = "Only Python programs are recorded from the start"
        advised = advice("Launch without record; {record} records a native program that is paused, with gdb")
        raise RelayError("NOT_SUPPORTED", message, parameter="record", suggestion=advised)
    if record.programs is Programs.FILES:
        pass  # its adapter says what it cannot do
    elif spec.kind == "program":
        _check_native(spec, record.capabilities)
    elif spec.kind == "command" and spec.tunnel_only:
        message = f"{spec.target} is no program that a debugger could be left with"
        raise invalid_parameter("tunnel_only", "true", message, "Launch it without tunnel_only")
    elif spec.recordable:
        message = "Only native programs are recorded, by gdb"
        raise RelayError("NOT_SUPPORTED", message, parameter="recordable", suggestion="Launch without recordable")
    elif wish.core is not None:
        raise invalid_parameter("core", wish.core, "A core file goes with a native program", "Give the program as well")
    if len(spec.stdin) > LONGEST_QUEUE:
        message = f"All of stdin_inputs together may have {LONGEST_QUEUE} bytes, not {len(spec.stdin)}"
        raise invalid_parameter("stdin_inputs", spec.stdin_inputs[0], message, advice("Send the rest with {stdin}"))


def _check_native(spec: LaunchSpec, capabilities: frozenset[str]) -> None:
    """Refuse by name what only Python programs have: nothing is left out in silence."""
    if spec.debug_subprocesses and "subprocesses" not in capabilities:
        message = f"{spec.adapter} debugs one process: it cannot follow a program's children"
        advice = 'Launch with "adapter": "gdb", or without debug_subprocesses: then events tell of the children'
        raise RelayError("NOT_SUPPORTED", message, parameter="debug_subprocesses", suggestion=advice)
    if spec.recordable and "reverse" not in capabilities:
        message, advice = f"{spec.adapter} records nothing", 'Launch with "adapter": "gdb", or without recordable'
        raise RelayError("NOT_SUPPORTED", message, parameter="recordable", suggestion=advice)
    refused = {"stop_scope": spec.stop_scope == "thread"}
    refused |= {"just_my_code": spec.just_my_code, "python_args": bool(spec.interpreter_args)}
    for name in (name for name, given in refused.items() if given):
        message, advice = f"{name} is for Python programs", f"Launch without {name}"
        raise RelayError("NOT_SUPPORTED", message, parameter=name, suggestion=advice)


def _find_core(core: str | None, folder: str) -> str | None:
    if core is None:
        return None
    path = os.path.normpath(os.path.join(folder, os.path.expanduser(core)))
    if is_native(path):
        return path
    what = "is not a core file" if os.path.isfile(path) else "does not exist"
    advice = "Give the file that the crash left: `coredumpctl dump` writes one, `ulimit -c unlimited` allows them"
    raise invalid_parameter("core", core, f"{path} {what}", advice)


def _environment_variables(env: dict[str, str], environment: str | None, imports: list[str]) -> dict[str, str]:
    """Put what follows from venv and pythonpath in front of what the client or the relay's environment has there."""
    variables: dict[str, str] = {}
    if environment is not None:
        variables = activation(environment, env.get("PATH", os.environ.get("PATH", "")))
    if imports:
        before = env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        variables["PYTHONPATH"] = os.pathsep.join([*imports, before] if before else imports)
    return variables


def _find_script(script: str, folder: str) -> str:
    path = os.path.normpath(os.path.join(folder, script))
    if os.path.isfile(path):
        return path
    what = "is a directory, not a script" if os.path.isdir(path) else "does not exist"
    error = RelayError("LAUNCH_SCRIPT_NOT_FOUND", f"Script {path} {what}", script=script, path=path)
    if (advised := _script_advice(script, folder)) is not None:
        error.details["suggestion"] = advised
    raise error


def _script_advice(script: str, folder: str) -> str | None:
    """Advise on a command line, or a module, where a file is expected."""
    first, *others = script.split() or [""]
    if others and first.startswith("python"):
        return "Give only the file as script, and what follows it as args; python_path is the interpreter"
    if others and os.path.isfile(os.path.join(folder, first)):
        return f"Give only {first} as script, and what follows it as args"
    if script.isidentifier():
        return advice(f"Give an existing script; what runs as `python -m {script}` is {{launch module={script}}}")
    return None
