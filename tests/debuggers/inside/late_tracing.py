"""Ends while a daemon gives threads trace functions: `python late_tracing.py DEBUGPY_FOLDER INSIDE`.

Writes for each time that this was done. Runs on every Python from 3.8 on.
"""

import atexit
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.path.insert(0, os.path.dirname(sys.argv[2]))
import debugpy.server.api  # noqa: F401
import pydevd_tracing
from inside.pydevd_patches import late_tracing, pydevd_parts

begun = threading.Event()


def trace_slowly(name):
    begun.set()
    time.sleep(0.3)
    os.write(1, name.encode())


pydevd_parts.install()
pydevd_tracing.set_trace_to_threads = trace_slowly
atexit.register(lambda: pydevd_tracing.set_trace_to_threads("after the end "))  # called last: it was there first
late_tracing.install()
threading.Thread(target=lambda: pydevd_tracing.set_trace_to_threads("before the end "), daemon=True).start()
begun.wait()
