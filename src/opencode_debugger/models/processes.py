"""Answers about processes that one could attach to."""

from __future__ import annotations

from .documented import Described, Paged, doc


class Process(Described):
    pid: int = doc("Process id.", 12345, ...)
    ppid: int | None = doc("Process id of its parent.", 12300)
    name: str = doc("Script or module that it runs, else the interpreter.", "server.py", ...)
    command: str = doc("Command line, 1000 characters of it at most.", "python server.py --port 8000", ...)
    user: str = doc("Whose it is: always yours.", "dev", ...)
    interpreter: str | None = doc("Python that runs it; null for a native program.", "/usr/bin/python3.11")
    python_version: str | None = doc("Version of that Python, if it can be told from outside.", "3.11")
    cwd: str | None = doc("Its working directory.", "/home/dev/myproject")
    started_at: str | None = doc("When it was started.", "2026-01-13T10:30:00.000Z")
    debugpy_port: int | None = doc("Port on which its debugpy listens, if one does.", 5678)
    session_id: str | None = doc("Session that debugs or started it, or whose runner it is.", "sess_a1b2c3d4")
    attachable: bool = doc("Whether POST attach with its pid can work.", True, ...)
    reason: str | None = doc("Why not.", "process 4711 traces it already")


class ProcessList(Paged):
    items: list[Process] = doc("The processes of this page, by process id.", None, ...)
