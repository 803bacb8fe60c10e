"""Commands with the network off: in a namespace that has none, and under a watch that ends whoever asks for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

CUT_OFF = ("unshare", "--map-root-user", "--net")
"""A network namespace of its own, without a route and without a loopback that is up."""
WATCH = """
import os, sys
CALLS = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"}
def watch(event, arguments):
    if event in CALLS:
        os.write(2, f"asked for the network: {event} {arguments!r}".encode())
        os._exit(99)
sys.addaudithook(watch)
from ebbtide.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
"""Our command in a process that ends with 99 when it asks for a name or an address."""


def _can_cut_off() -> bool:
    """Whether this machine lets us make a namespace; some containers and distributions do not."""
    try:
        return subprocess.run([*CUT_OFF, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


needs_namespace = pytest.mark.skipif(not _can_cut_off(), reason="unshare may not make a network namespace here")
OFFLINE = (
    pytest.param((*CUT_OFF, sys.executable, "-m", "ebbtide"), marks=needs_namespace, id="cut off"),
    pytest.param((sys.executable, "-c", WATCH), id="watched"),
)
"""Two ways to begin our command; the second runs everywhere."""
