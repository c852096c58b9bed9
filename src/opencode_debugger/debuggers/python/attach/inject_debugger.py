"""Brings the debugger into a program that runs already, by its process id, without doing it any harm.

gdb stops the program for a moment and makes it do one of two things, both of which are allowed at any point of any
program: it notes a call for the interpreter to make between two instructions (Py_AddPendingCall), or, where its main
thread waits in the kernel and would not get to it, starts a thread that waits for its turn like any other. What then
runs fetches the rest from us, once each has shown the other who it is. If we have given up by then, it finds nobody,
and ends without a trace.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import struct
from typing import cast

import msgspec

from ....errors import RelayError
from ....files import read_file
from ... import trusted_gdb
from ..launch.callback_socket import CallBack
from ..launch.start_program import INSIDE, debugpy_folder
from . import memory_symbols

INJECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "injected.py")
REACHING = os.path.join(INSIDE, "rpc/runner_connection.py")

FUNCTIONS = (
    "Py_AddPendingCall", "PyRun_SimpleString", "PyGILState_Ensure", "PyGILState_Release",
    "mmap", "mprotect", "pthread_create", "pthread_self", "pthread_detach",
)  # fmt: skip
ALWAYS = FUNCTIONS[:2]

PAGE = 4096
TEXT_AT = 256
"""Place in the pages at which the text begins; the machine code is before it."""

BLOCKING = (
    0, 7, 23, 34, 35, 42, 43, 45, 47, 61, 128, 130, 202, 230, 232, 247, 270, 271, 281, 288, 299, 441,
)  # fmt: skip
"""Calls to the kernel (x86-64) in which programs wait for long, none of them made while memory is allocated: read,
poll, select, pause, nanosleep, connect, accept, recvfrom, recvmsg, wait4, rt_sigtimedwait, rt_sigsuspend, futex,
clock_nanosleep, epoll_wait, waitid, pselect6, ppoll, epoll_pwait, accept4, recvmmsg, epoll_pwait2."""

FETCH = """
def fetch():
    try:
        sock = reach(**%(way)r)
        text = b""
        while True:
            data = sock.recv(65536)
            if not data:
                break
            text += data
        config, _, code = text.partition(b"\\n")
        reaching = {"instead_of_tcp": instead_of_tcp, "end_late_threads": end_late_threads}
        names = {"__name__": "_ocdb_injected", "sock": sock, "config": eval(config), "reaching": reaching}
        exec(compile(code, "<ocdb injected>", "exec"), names)
    except BaseException:
        pass
import _thread
_thread.start_new_thread(fetch, ())
"""

SCRIPT = """\
set pagination off
set confirm off
set width 0
set auto-load no
set auto-solib-add off
set unwindonsignal on
handle all nostop noprint pass
attach %(pid)d
set $waits = %(waits)s
set $page = ((long (*)(long, long, long, long, long, long)) %(mmap)d)(0, %(size)d, 3, 34, -1, 0)
if $page > 0
  restore {page} binary $page
  if $waits
    set $waits = ((int (*)(long, long, long)) %(mprotect)d)($page, %(end)d, 5) == 0
  end
  if $waits
    printf "OCDB thread %%d\\n", ((int (*)(long, long, long, long)) %(pthread_create)d)($page + %(end)d, 0, $page, 0)
  else
    set $text = $page + %(text_at)d
    printf "OCDB call %%d\\n", ((int (*)(long, long)) %(Py_AddPendingCall)d)(%(PyRun_SimpleString)d, $text)
  end
end
detach
quit
"""

_RESULT = re.compile(r"^OCDB (thread|call) (-?\d+)$", re.MULTILINE)
_PTRACE = re.compile(r"ptrace: (.*)")


class LoadResult(msgspec.Struct):
    """The answer of a program that has got our code: nothing in it if the debugger was loaded."""

    refused: str | None = None
    failed: str | None = None


class Delivery(asyncio.Protocol):
    """Gives the program our code when it calls, and hears from it how that went."""

    def __init__(self, callback: CallBack) -> None:
        config = {"way": callback.way(), "debugpy": debugpy_folder()}
        self._code = repr(config).encode() + b"\n" + read_file(INJECTED)
        self._transport: asyncio.Transport | None = None
        self._said = b""
        self.answer: asyncio.Future[LoadResult] = asyncio.get_running_loop().create_future()
        self.way = callback.way(callback.expect(self._called))

    def _called(self) -> Delivery | None:
        return self if self._transport is None else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._code)
        self._transport.write_eof()

    def data_received(self, data: bytes) -> None:
        self._said += data
        if len(self._said) > PAGE:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        with contextlib.suppress(msgspec.DecodeError):
            said = msgspec.json.decode(self._said, type=LoadResult)
            if not self.answer.done():
                self.answer.set_result(said)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def inject(pid: int, gdb_path: str | None, delivery: Delivery, seconds: float) -> None:
    """Return when the program is going to fetch the code, or has begun to."""
    found = memory_symbols.function_addresses(pid, FUNCTIONS)
    missing = [name for name in ALWAYS if name not in found]
    if missing:
        raise RelayError("ATTACH_FAILED", f"Process {pid} has no {missing[0]}: it is not a Python that can be debugged")
    text = read_file(REACHING).decode() + FETCH % {"way": delivery.way}
    # What the program runs first; all of it in a scope of its own.
    pages = machine_code(found).ljust(TEXT_AT, b"\0") + f"exec({text!a}, {{}})\n\0".encode()
    end = -(-len(pages) // PAGE) * PAGE
    waits = "0"  # tells gdb whether the main thread waits in the kernel, where it can safely start a thread
    if platform.machine() == "x86_64" and all(name in found for name in FUNCTIONS):
        waits = " || ".join(f"$orig_rax == {number}" for number in BLOCKING)
    places = {"pid": pid, "waits": waits, "end": end, "size": end + PAGE, "text_at": TEXT_AT}
    script = SCRIPT % {**dict.fromkeys(FUNCTIONS, 0), **found, **places}
    gdb = await asyncio.to_thread(trusted_gdb.find, gdb_path)
    work = asyncio.create_task(asyncio.to_thread(trusted_gdb.run_script, gdb, script, pages))
    _at_work.add(work)
    work.add_done_callback(_at_work.discard)
    # Whoever waits may give up; gdb is not to be disturbed: it lets the program go as soon as it is through.
    await asyncio.wait([work], timeout=seconds)
    if not work.done():
        raise TimeoutError
    check_result(pid, *work.result())


_at_work: set[asyncio.Task[tuple[int | None, str]]] = set()


def machine_code(found: dict[str, int]) -> bytes:
    """Return a thread (x86-64): pthread_detach(pthread_self()), with the interpreter's lock, PyRun_SimpleString."""

    def call(name: str) -> bytes:
        return b"\x48\xb8" + struct.pack("<Q", found.get(name, 0)) + b"\xff\xd0"  # mov rax, address; call rax

    before = b"\xf3\x0f\x1e\xfa\x53"  # endbr64; push rbx
    before += call("pthread_self") + b"\x48\x89\xc7" + call("pthread_detach")  # mov rdi, rax
    before += call("PyGILState_Ensure") + b"\x89\xc3"  # mov ebx, eax
    text = b"\x48\x8d\x3d" + struct.pack("<i", TEXT_AT - len(before) - 7)  # lea rdi, [rip + to the text]
    after = b"\x89\xdf" + call("PyGILState_Release") + b"\x31\xc0\x5b\xc3"  # mov edi, ebx; xor eax, eax; pop rbx; ret
    return before + text + call("PyRun_SimpleString") + after


def check_result(pid: int, code: int | None, said: str) -> None:
    result = _RESULT.search(said)
    if result is not None and result[2] == "0":
        return
    if code is None:
        raise RelayError("ATTACH_TIMEOUT", f"gdb got stuck with process {pid}")
    refused = _PTRACE.search(said)
    if refused is not None:
        message = f"The system does not let us look into process {pid}: {refused[1]}"
        instead = "Attach as the same user, and see docs/troubleshooting.md on ptrace"
        raise RelayError("ATTACH_FAILED", message, suggestion=instead)
    raise RelayError("ATTACH_FAILED", f"gdb could not reach process {pid}; it runs on", output=said[-1000:])
