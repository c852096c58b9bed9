"""Another user of this machine, who tries to get in: a process that has given up being root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from socket import AF_INET
from typing import Any

import psutil
import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
USER = 64_123
"""Of nobody: an account is not needed to be a user."""
PROGRAM = """
import encodings.idna, json, os, socket, sys
os.setgroups([])
os.setgid(USER)
os.setuid(USER)

def tried(address, sent):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    heard = b""
    with socket.socket(family) as connection:
        connection.settimeout(20)
        try:
            if len(address) == 3:
                connection.bind((address.pop(), 0))
            connection.connect(address if family == socket.AF_UNIX else tuple(address))
            connection.sendall(sent.encode())
            while data := connection.recv(65536):
                heard += data
        except OSError as error:
            if not heard:
                return type(error).__name__
    return heard.decode(errors="replace")

print(json.dumps([tried(*each) for each in json.load(sys.stdin)]))
"""
READER = """
import json, os, sys
os.setgroups([])
os.setgid(USER)
os.setuid(USER)

def read(path):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
        return True
    except OSError:
        return False

print(json.dumps([path for path in json.load(sys.stdin) if read(path)]))
"""


def own_address() -> str:
    """An address of this machine that is not loopback."""
    found = [each.address for several in psutil.net_if_addrs().values() for each in several if each.family == AF_INET]
    others = [ip for ip in found if not ip.startswith("127.")]
    if not others:
        pytest.skip("this machine has no address but loopback")
    return others[0]


def heard_by_another_user(*tries: tuple[Any, str]) -> list[str]:
    """What each address answers to what is sent to it, or the name of an exception. An address is a path, or a host and
    a port, and perhaps an address of this machine from which to come."""
    return _run(PROGRAM, tries)


def readable_for_another_user(paths: list[str]) -> list[str]:
    return _run(READER, paths)


def _run(program: str, given: Any) -> list[str]:
    command = [sys.executable, "-I", "-S", "-c", program.replace("USER", str(USER))]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found
