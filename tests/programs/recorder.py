"""Runs a script under sys.settrace alone and writes every event of its own files as JSON: recorder.py SCRIPT OUT."""

import dis
import json
import sys

GENERATORS = 0x20 | 0x80 | 0x200


def is_shown(name):
    """Not what every module has, and not the `.0` of comprehensions, which no source can name."""
    return name.isidentifier() and not name.startswith("__")


def opname(frame):
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def snapshot(frame):
    return {
        "path": frame.f_code.co_filename,
        "line": frame.f_lineno,
        "function": frame.f_code.co_name,
        "locals": {name: repr(value) for name, value in frame.f_locals.items() if is_shown(name)},
    }


def return_lines(code):
    """Lines on which the code can end."""
    found = set()
    line = None
    for instruction in dis.get_instructions(code):
        starts = instruction.starts_line
        if starts is True:  # 3.13: a flag, and the line is elsewhere
            line = instruction.line_number
        elif starts:
            line = starts
        if instruction.opname.startswith("RETURN_") and instruction.opname != "RETURN_GENERATOR":
            found.add(line)
    return found


def record(script):
    events = []
    depths = {}

    def own(frame):
        return frame is not None and frame.f_code.co_filename == script

    def trace(frame, kind, arg):
        if not own(frame):
            return None
        event = {"kind": kind, "frame": depths.setdefault(frame, len(depths))}
        event["generator"] = bool(frame.f_code.co_flags & GENERATORS)
        if kind == "line":
            event["here"] = snapshot(frame)
            event["jumps_back"] = opname(frame).startswith("JUMP_BACKWARD")
        if kind == "return":
            event["value"] = repr(arg)
            event["ends"] = opname(frame).startswith("RETURN_")
            event["on_return_line"] = frame.f_lineno in return_lines(frame.f_code)
            event["back"] = snapshot(frame.f_back) if own(frame.f_back) else None
            event["back_frame"] = depths.get(frame.f_back)
        events.append(event)
        return trace

    with open(script, encoding="utf-8") as file:
        code = compile(file.read(), script, "exec")
    sys.argv = [script]
    namespace = {"__name__": "__main__", "__file__": script, "__builtins__": __builtins__}
    sys.settrace(trace)
    try:
        exec(code, namespace)
    finally:
        sys.settrace(None)
    return events


if __name__ == "__main__":
    script, out = sys.argv[1:3]
    found = record(script)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(found, file)
