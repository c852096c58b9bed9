"""Runs a child that shares its parent's memory, as after vfork, up to the program that it becomes, and holds it there.

Breakpoints would go into the parent's memory as well, and stay there. So nobody debugs it before it has its own.
Started as a script with the process id, the address at which it is held and what was there.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

SEIZE, INTERRUPT, CONT, DETACH, LISTEN = 0x4206, 0x4207, 7, 17, 0x4208
TRACE_EXEC = 1 << 4
EVENT_EXEC, EVENT_STOP = 4, 128
WALL = 0x40000000
STOPPING = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long


def ptrace(request: int, pid: int, data: int = 0) -> None:
    if _ptrace(request, pid, 0, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def swap(pid: int, address: int, code: bytes) -> bytes:
    """Write code into memory, and return what was there before."""
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        before = os.pread(memory.fileno(), len(code), address)
        os.pwrite(memory.fileno(), code, address)
        return before


def main(pid: int, address: int, code: bytes) -> None:
    ptrace(SEIZE, pid, TRACE_EXEC)
    ptrace(INTERRUPT, pid)
    os.waitpid(pid, WALL)
    trap = swap(pid, address, code)
    ptrace(CONT, pid)
    while True:
        _, status = os.waitpid(pid, WALL)
        if not os.WIFSTOPPED(status):
            return  # it ended without becoming a program
        number, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_EXEC:
            break
        if event == EVENT_STOP:
            ptrace(LISTEN if number in STOPPING else CONT, pid)
        else:
            ptrace(CONT, pid, number)
    with open(f"/proc/{pid}/syscall") as file:
        entry = int(file.read().split()[-1], 16)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(entry)
        # Told before it is done: whoever ends this process must know what to put back.
        print(entry, memory.read(len(trap)).hex(), file=sys.stderr, flush=True)
    swap(pid, entry, trap)
    ptrace(DETACH, pid)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3]))
    except OSError as error:
        sys.exit(f"{error.strerror}")
