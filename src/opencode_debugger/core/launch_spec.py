"""The launch that a client asked for, with every path made absolute and known to exist."""

from __future__ import annotations

import os
from typing import Any

from ..adapters.base import LaunchSpec
from ..adapters.debugpy.environments import ACTIVATED, activation, import_paths
from ..adapters.stdin import LONGEST_QUEUE
from ..errors import RelayError, invalid_parameter
from .choosing import NATIVE, adapter_for_launch
from .choosing_python import Chosen, choose_python, project_folder
from .programs import PYTHON_FILES, Found, find_program, is_native, of_script, search_path
from .settings import Config


def launch_spec(
    config: Config,
    script: str | None = None,
    program: str | None = None,
    module: str | None = None,
    code: str | None = None,
    args: list[str] | None = None,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    stop_on_entry: bool | None = None,
    python_args: list[str] | None = None,
    python_path: str | None = None,
    just_my_code: bool = False,
    stop_scope: str | None = None,
    debug_subprocesses: bool | None = None,
    stdin_inputs: list[str] | None = None,
    stdin_eof: bool = False,
    venv: str | None = None,
    pythonpath: list[str] | None = None,
    adapter: str | None = None,
    debugger: str | None = None,
    core: str | None = None,
    debugger_path: str | None = None,
    tunnel_only: bool = False,
    line_buffered: bool = True,
    recordable: bool = False,
) -> LaunchSpec:
    folder = _working_folder(config.project_root or os.getcwd(), cwd)
    env, args, adapter = env or {}, args or [], adapter or config.adapter
    if program is not None:
        named = project_folder(config, folder if cwd else None, None)
        search = search_path(choose_python(config, folder, python_path, venv, named), env)
        wants_native = adapter in NATIVE or bool(debugger or core or tunnel_only)
        found = find_program(program, args, folder, search, wants_native, debug_subprocesses)
    elif script is not None:
        found = _of_script(_find_script(script, folder), args, folder, adapter)
    elif module is not None:
        found = Found("module", module, args)
    else:
        found = Found("code", code or "", args)
    kind = found.kind
    debugger_name = adapter_for_launch(adapter, debugger, kind, found.target, config.limits)
    is_python = debugger_name in ("debugpy", "none")
    has_place = kind in ("file", "command") and (script is not None or os.sep in (program or ""))
    project = project_folder(config, folder if cwd else None, found.target if has_place else None)
    chosen = choose_python(config, folder, python_path, venv, project if is_python else None)
    if found.interpreter is not None and python_path is None:
        chosen = Chosen(found.interpreter, chosen.environment, found.reason)
    spec = LaunchSpec(
        kind=kind,
        target=found.target,
        args=found.args,
        command=found.command,
        cwd=folder,
        env=env,
        interpreter=chosen.interpreter,
        interpreter_reason=chosen.reason if debugger_name == "debugpy" else "",
        project=project,
        interpreter_args=[*found.interpreter_args, *(python_args or [])],
        stop_on_entry=config.stop_on_entry if stop_on_entry is None else stop_on_entry,
        just_my_code=just_my_code,
        stop_scope=stop_scope or config.stop_scope,
        debug_subprocesses=kind == "command" if debug_subprocesses is None else debug_subprocesses,
        stdin_inputs=stdin_inputs or [],
        stdin_eof=stdin_eof,
        added=_variables(
            env, chosen.environment, import_paths(config.pythonpath if pythonpath is None else pythonpath, folder)
        ),
        removed=ACTIVATED if chosen.environment else (),
        adapter=debugger_name,
        server=debugger,
        core=_find_core(core, folder) if core is not None else None,
        debugger_path=_find_debugger(debugger_path, folder),
        tunnel_only=tunnel_only,
        line_buffered=line_buffered,
        recordable=recordable,
    )
    if debugger_path is not None and spec.adapter != "ez":
        message = "A debugger that speaks the EZ protocol is for programs that are debugged with it"
        raise invalid_parameter("debugger_path", debugger_path, message, 'Launch with "adapter": "ez", or without it')
    if kind == "command":
        spec.without_effect = _without_effect(spec, python_path)
    if spec.adapter == "ez":
        pass  # its adapter says what it cannot do
    elif kind == "program":
        _check_native(spec)
    elif kind == "command" and tunnel_only:
        message = f"{spec.target} is no program that a debugger could be left with"
        raise invalid_parameter("tunnel_only", "true", message, "Launch it without tunnel_only")
    elif recordable:
        message = "Only native programs are recorded, by gdb"
        raise RelayError("NOT_SUPPORTED", message, parameter="recordable", suggestion="Launch without recordable")
    elif core is not None:
        raise invalid_parameter("core", core, "A core file goes with a native program", "Give the program as well")
    if len(spec.stdin) > LONGEST_QUEUE:
        message = f"All of stdin_inputs together may have {LONGEST_QUEUE} bytes, not {len(spec.stdin)}"
        raise invalid_parameter(
            "stdin_inputs", spec.stdin_inputs[0], message, "Send the rest with POST /sessions/{id}/stdin"
        )
    return spec


def _of_script(path: str, args: list[str], folder: str, adapter: str | None) -> Found:
    """Python runs it, unless its first line names something else."""
    if is_native(path):
        return Found("program", path, args)
    if adapter is None and not path.endswith(PYTHON_FILES):
        found = of_script(path, args, folder, os.environ.get("PATH", ""), "script")
        if found is not None and found.kind == "command":
            return found
    return Found("file", path, args)


def _check_native(spec: LaunchSpec) -> None:
    """What only Python programs have is refused by name: nothing is left out in silence."""
    if spec.debug_subprocesses and spec.adapter != "gdb":
        message = f"{spec.adapter} debugs one process: it cannot follow a program's children"
        advice = 'Launch with "adapter": "gdb", or without debug_subprocesses: then events tell of the children'
        raise RelayError("NOT_SUPPORTED", message, parameter="debug_subprocesses", suggestion=advice)
    if spec.recordable and spec.adapter != "gdb":
        message, advice = f"{spec.adapter} records nothing", 'Launch with "adapter": "gdb", or without recordable'
        raise RelayError("NOT_SUPPORTED", message, parameter="recordable", suggestion=advice)
    refused = {"stop_scope": spec.stop_scope == "thread"}
    refused |= {"just_my_code": spec.just_my_code, "python_args": bool(spec.interpreter_args)}
    for name in (name for name, given in refused.items() if given):
        raise RelayError(
            "NOT_SUPPORTED", f"{name} is for Python programs", parameter=name, suggestion=f"Launch without {name}"
        )


def _without_effect(spec: LaunchSpec, python_path: str | None) -> list[str]:
    """Name what is for Python programs and does not reach those that a command starts."""
    given = {"stop_on_entry": spec.stop_on_entry, "python_args": bool(spec.interpreter_args)}
    given |= {"python_path": python_path is not None}
    if not spec.debug_subprocesses:
        given |= {"just_my_code": spec.just_my_code, "stop_scope": spec.stop_scope == "thread"}
    return [name for name, is_given in given.items() if is_given]


def _find_debugger(path: str | None, folder: str) -> str | None:
    """A path, or the name of a command."""
    return os.path.join(folder, os.path.expanduser(path)) if path and os.sep in path else path


def _find_core(core: str, folder: str) -> str:
    path = os.path.normpath(os.path.join(folder, os.path.expanduser(core)))
    if is_native(path):
        return path
    what = "is not a core file" if os.path.isfile(path) else "does not exist"
    advice = "Give the file that the crash left: `coredumpctl dump` writes one, `ulimit -c unlimited` allows them"
    raise invalid_parameter("core", core, f"{path} {what}", advice)


def _variables(env: dict[str, str], environment: str | None, imports: list[str]) -> dict[str, str]:
    """What follows from venv and pythonpath, in front of what the client or the relay's environment has there."""
    variables: dict[str, str] = {}
    if environment is not None:
        variables = activation(environment, env.get("PATH", os.environ.get("PATH", "")))
    if imports:
        before = env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        variables["PYTHONPATH"] = os.pathsep.join([*imports, before] if before else imports)
    return variables


def _working_folder(root: str, cwd: str | None) -> str:
    folder = os.path.normpath(os.path.join(root, cwd or ""))
    if os.path.isdir(folder):
        return folder
    message = f"cwd {folder[:200]!r} is not an existing folder"
    raise invalid_parameter("cwd", folder, message, "Create it or choose another cwd")


def _find_script(script: str, folder: str) -> str:
    path = os.path.normpath(os.path.join(folder, script))
    if os.path.isfile(path):
        return path
    what = "is a directory, not a script" if os.path.isdir(path) else "does not exist"
    raise RelayError(
        "LAUNCH_SCRIPT_NOT_FOUND", f"Script {path} {what}", script=script, path=path, **_advice(script, folder)
    )


def _advice(script: str, folder: str) -> dict[str, Any]:
    """A command line where a file is expected, or a module."""
    first, *others = script.split() or [""]
    if others and first.startswith("python"):
        return {
            "suggestion": "Give only the file as script, and what follows it as args; python_path is the interpreter"
        }
    if others and os.path.isfile(os.path.join(folder, first)):
        return {"suggestion": f'Give arguments apart: {{"script": "{first}", "args": [...]}}'}
    if script.isidentifier():
        return {"suggestion": f'Give an existing script; what runs as `python -m {script}` is {{"module": "{script}"}}'}
    return {}
