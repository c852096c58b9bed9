"""Has all that looks at frames do so where some are hidden: `python hidden_frames.py DEBUGPY_FOLDER INSIDE`.

Runs on Python 3.12 only.
"""

import faulthandler
import gc
import os
import signal
import sys
import threading
import tracemalloc

sys.path.insert(0, os.path.dirname(sys.argv[2]))
from inside.full_speed.hidden_frames import CAN_HIDE, hidden_code

assert CAN_HIDE
monitoring, events = sys.monitoring, sys.monitoring.events
OURS, THEIRS = 4, 3
kept = []


def hidden(function):
    function.__code__ = hidden_code(function.__code__)
    return function


class Odd:
    """Looks at the frames that compare it, and fails now and then."""

    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        assert sys._getframe(1).f_code is hot.__code__ and sys._getframe(1).f_locals["number"] is self
        if self.number % 97 == 0:
            raise KeyError(self.number)
        return False


def hot(number):
    return number


@hidden
def on_line(code, line):
    try:
        if not locals()["number"] < 0:
            return
    except KeyError as error:
        kept.append((error, error.__traceback__.tb_frame, sys._getframe(0), sys._getframe(1)))
        change_events()


def change_events():
    """Do what a stop does, below the hidden frame."""
    monitoring.set_events(THEIRS, events.LINE | events.INSTRUCTION | events.PY_START)
    monitoring.restart_events()
    monitoring.set_events(THEIRS, 0)
    sys.settrace(print)
    sys.settrace(None)


@hidden
def raising(number):
    return missing(number - 1) if number else missing_name  # noqa: F821


def missing(number):
    return raising(number)


def look_at_all():
    with open(os.devnull, "w") as nowhere:
        while not is_over.is_set():
            for frame in sys._current_frames().values():
                while frame is not None:
                    assert frame.f_code is not on_line.__code__ and frame.f_lineno
                    frame = frame.f_back
            faulthandler.dump_traceback(nowhere)
            gc.collect(0)


for tool in (OURS, THEIRS):
    monitoring.use_tool_id(tool, str(tool))
for event in (events.LINE, events.INSTRUCTION, events.PY_START):
    monitoring.register_callback(THEIRS, event, lambda *about: None)
monitoring.register_callback(OURS, events.LINE, on_line)
monitoring.set_local_events(OURS, hot.__code__, events.LINE)
tracemalloc.start(5)
signal.signal(signal.SIGALRM, lambda number, frame: frame.f_locals)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
is_over = threading.Event()
threads = [threading.Thread(target=lambda: [hot(Odd(n)) for n in range(3000)]) for _ in range(3)]
looking = threading.Thread(target=look_at_all)
for each in (looking, *threads):
    each.start()
for each in threads:
    each.join()
for depth in (*range(40), 100_000):
    try:
        missing(depth)
    except (NameError, RecursionError) as error:
        traceback, names = error.__traceback__.tb_next, set()
        while traceback is not None:
            names.add(traceback.tb_frame.f_code.co_name)
            traceback = traceback.tb_next
        assert names == {"missing"}, names
is_over.set()
looking.join()
signal.setitimer(signal.ITIMER_REAL, 0)
for _, *frames in kept:
    assert all(repr((frame, frame.f_back, frame.f_lineno, frame.f_locals)) for frame in frames)
print(len(kept), "looked at")
