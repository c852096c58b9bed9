"""Debugs a program of three processes with four threads each, all of them at once, by plain REST calls.

    python examples/three_processes.py [http://127.0.0.1:5679]

Needs a running relay (`make serve`) and nothing but the standard library.
"""

import json
import os
import sys
import time
import urllib.request

RELAY = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OPENCODE_DEBUG_API", "http://127.0.0.1:5679")
RELAY = RELAY.removesuffix("/api/v1")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "three_processes_program.py")
MARK = "# @here"
PATIENCE = 60


def call(method, path, body=None):
    request = urllib.request.Request(
        f"{RELAY}/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=PATIENCE) as answer:
        return json.load(answer)["data"]


def marked_line():
    with open(PROGRAM, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(MARK))


def whole_family(root):
    """The sessions of the program and of its two children, as soon as all three are paused."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        call("GET", f"/sessions/{root}/report?wait=10&fields=location")
        children = call("GET", f"/sessions?parent_session_id={root}")["items"]
        stops = [call("GET", f"/sessions/{child['session_id']}/report?wait=10") for child in children]
        if len(stops) == 2 and all(stop["status"] == "paused" for stop in stops):
            return [root, *(child["session_id"] for child in children)]
        time.sleep(0.1)
    raise SystemExit("the children did not stop")


def show(session):
    """Each thread of a paused process, with its place and a value that is computed there."""
    info = call("GET", f"/sessions/{session}")
    print(f"process {info['pid']} ({info['name']}) is {info['status']}")
    threads = call("GET", f"/sessions/{session}/threads")["threads"]
    for thread in threads:
        stack = call("GET", f"/sessions/{session}/threads/{thread['id']}/stacktrace")["frames"]
        frame = next((frame["id"] for frame in stack if frame["name"] == "count"), None)
        if frame is None:
            continue
        look = {"expression": "f'{process} {number}'", "frame_id": frame, "thread_id": thread["id"]}
        print(f"  {thread['name']}: counts as {call('POST', f'/sessions/{session}/evaluate', look)['result']}")
    return info["pid"]


def run_to_its_end(session):
    stops = 1
    while True:
        report = call("POST", f"/sessions/{session}/continue", {"wait": 30, "fields": ["location"]})
        if report["status"] != "paused":
            break
        stops += 1
    print(f"{session} stopped {stops} times, then {report['status']} with exit code {report.get('exit_code')}")


def main():
    root = call("POST", "/sessions", {"name": "family"})["session_id"]
    try:
        call("POST", f"/sessions/{root}/breakpoints", {"file": PROGRAM, "line": marked_line()})
        call("POST", f"/sessions/{root}/launch", {"script": PROGRAM, "debug_subprocesses": True, "wait": 30})
        sessions = whole_family(root)
        print(f"{len(sessions)} processes are paused at once")
        pids = [show(session) for session in sessions]
        for session in reversed(sessions):  # each by itself: the others stay where they are
            run_to_its_end(session)
        print(call("GET", f"/sessions/{root}/output")["entries"][-1]["output"], end="")
    finally:
        call("DELETE", f"/sessions/{root}")
    print("left running:", [pid for pid in pids if os.path.exists(f"/proc/{pid}")])


if __name__ == "__main__":
    main()
