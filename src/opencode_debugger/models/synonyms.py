"""Names that clients use in place of ours: those of other debuggers, or simply the first that come to mind."""

_FIELDS: dict[tuple[str, ...], str] = {
    ("file", "script"): "path filename file_path",
    ("script", "path"): "file",
    ("file",): "source_path",
    ("line",): "lineno line_number",
    ("script",): "script_path command cmd",
    ("args",): "argv arguments",
    ("env",): "environment",
    ("cwd", "project_root"): "directory workdir working_directory",
    ("project_root",): "cwd root",
    ("python_path",): "python interpreter",
    ("wait",): "timeout",
    ("stdin_inputs", "input"): "stdin",
    ("input", "expression"): "text",
    ("input",): "data",
    ("expression",): "expr code condition",
    ("frame_id",): "frame",
    ("thread_id",): "thread",
    ("count", "max_steps"): "steps",
    ("cursor",): "since after",
    ("tail",): "last",
}
"""our names, of which the first is meant that the request has, and others for them"""
FIELDS = {other: ours for ours, others in _FIELDS.items() for other in others.split()}

_ROUTES = {
    "launch": "start run debug",
    "continue": "resume go",
    "step-over": "step next",
    "step-into": "stepin",
    "step-out": "finish",
    "run-to": "until",
    "pause": "interrupt",
    "breakpoints": "break",
    "terminate": "stop kill quit exit",
    "stacktrace": "stack backtrace bt frames",
    "frames/0/variables": "locals vars",
    "evaluate": "print exec eval",
    "output": "log logs stdout stderr console",
    "report": "wait",
    "status": "state",
}
"""the last part of a session's path, and others for it"""
ROUTES = {other: ours for ours, others in _ROUTES.items() for other in others.split()}
