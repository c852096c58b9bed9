"""Prints all that a program can know of how its interpreter was started, except for what no two starts share."""

import sys

MODULES = sorted(sys.modules)

import atexit  # noqa: E402
import builtins  # noqa: E402
import contextlib  # noqa: E402
import gc  # noqa: E402
import json  # noqa: E402
import locale  # noqa: E402
import logging  # noqa: E402
import multiprocessing  # noqa: E402
import os  # noqa: E402
import resource  # noqa: E402
import signal  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402

OWN = ("OPENCODE_DEBUG_LAUNCH", "OPENCODE_DEBUG_SESSION", "DEBUG_SESSION_TOKEN", "DEBUG_SESSION_URI")
STATUS = ("Name", "Umask", "Uid", "Gid", "Groups", "Threads", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp")


def read(name):
    with open("/proc/self/" + name, "rb") as file:
        return file.read().decode("latin-1")


def variables():
    """Return names in their order, and the values of those that sessions share."""
    pairs = [pair.partition("=") for pair in read("environ").split("\0")[:-1]]
    return [name if name in OWN else name + "=" + value for name, _, value in pairs]


def descriptors():
    found = {}
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself is gone
            found[number] = os.readlink("/proc/self/fd/" + number).partition(":")[0]
    return found


def process_facts():
    lines = dict(line.split(":\t", 1) for line in read("status").splitlines())
    return {
        "cmdline": read("cmdline"),
        "environ": variables(),
        "status": {name: lines.get(name) for name in STATUS},
        "exe": os.readlink("/proc/self/exe"),
        "cwd": [os.getcwd(), os.readlink("/proc/self/cwd")],
        "fds": descriptors(),
        "limits": [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")],
        "leads": [os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()],
        "priority": [os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0)), read("oom_score_adj")],
        "signals": [str(signal.getsignal(number)).partition(" at 0x")[0] for number in sorted(signal.valid_signals())],
    }


def interpreter_facts():
    names = ("argv", "orig_argv", "executable", "prefix", "path", "warnoptions", "_xoptions", "dont_write_bytecode")
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return {
        "modules": MODULES,
        "sys": {name: repr(getattr(sys, name, None)) for name in names},
        "flags": repr(sys.flags),
        "hooks": [repr(sys.excepthook), len(sys.meta_path), len(sys.path_hooks), sorted(sys.path_importer_cache)],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval()],
        "builtins": sorted(vars(builtins)),
        "streams": [[s.encoding, s.errors, s.line_buffering, s.write_through, s.mode] for s in streams],
        "environ": [name if name in OWN else [name, value] for name, value in os.environ.items()],
        "warnings": [repr(each) for each in warnings.filters],
        "atexit": atexit._ncallbacks(),
        "gc": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug()],
        "threads": [[t.name, t.daemon] for t in threading.enumerate()],
        "next thread": threading.Thread().name,
        "start method": multiprocessing.get_start_method(),
        "locale": [locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding(), time.tzname],
        "main": sorted(vars(sys.modules["__main__"])),
    }


gc.collect()  # what the kernel shows of us must not be garbage
logged = logging.LogRecord("x", 20, "x", 1, "x", (), None).relativeCreated
facts = {"process": process_facts(), "interpreter": interpreter_facts()}
print(json.dumps({"pid": os.getpid(), "logs since": logged < 60000, **facts}))
