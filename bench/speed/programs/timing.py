"""Runs a program's work several times and writes what each took into the file that is named on its command line."""

import json
import sys
import time


def repeat(work):
    """Take the arguments FILE SIZE REPEATS SECONDS: repeat work of that size until the seconds are over."""
    path, size, repeats, seconds = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    end = time.perf_counter() + seconds
    wall, cpu = [], []
    while len(wall) < repeats and (not wall or time.perf_counter() < end):
        cpu_before, wall_before = time.process_time(), time.perf_counter()
        work(size)
        wall.append(time.perf_counter() - wall_before)
        cpu.append(time.process_time() - cpu_before)
    with open(path, "w") as file:
        json.dump({"wall": wall, "cpu": cpu}, file)


def counted(work, filename, line):
    """Return how often a line is reached, as a trace function sees it."""
    import threading

    hits = []

    def trace(frame, event, argument):
        if frame.f_code.co_filename != filename:
            return None
        if event == "line" and frame.f_lineno == line:
            hits.append(None)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return len(hits)
