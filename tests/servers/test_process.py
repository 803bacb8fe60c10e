"""The launcher: what it starts answers, what it stops is gone, and what fails says why."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from tools.servers.process import NotReadyError, Server, free_ports, listens, start, wait_until

LISTENER = """
import socket, sys, time
with socket.socket() as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen()
    print("listening", flush=True)
    time.sleep(600)
"""


def listener(folder: Path) -> tuple[Server, int]:
    (port,) = free_ports(1)
    command = [sys.executable, "-c", LISTENER, str(port)]
    return start("listener", command, log=folder / "log", ready=lambda: listens(port)), port


def test_a_started_server_listens_and_a_stopped_one_is_gone_with_its_pid(tmp_path: Path) -> None:
    server, port = listener(tmp_path)
    with server:
        assert server.alive()
        assert Path(f"/proc/{server.pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable))
        assert "listening" in server.tail()
    assert not server.alive()
    assert not listens(port)
    server.stop()


def test_a_frozen_server_takes_connections_and_is_ended_all_the_same(tmp_path: Path) -> None:
    server, port = listener(tmp_path)
    server.freeze()
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    server.stop()
    assert not server.alive()


def test_a_server_that_ends_early_is_reported_with_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such disk')"]
    with pytest.raises(NotReadyError, match=r"(?s)broken ended with 1.*no such disk"):
        start("broken", command, log=tmp_path / "log", ready=lambda: False)


def test_a_server_that_never_answers_is_ended_at_the_limit(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(NotReadyError, match="did not answer within"):
        start("silent", [sys.executable, "-c", program], log=tmp_path / "log", ready=lambda: False, within_s=1.0)
    assert mark.is_file()
    assert not Path(f"/proc/{mark.read_text()}").exists()


def test_an_error_of_the_system_counts_as_not_yet() -> None:
    tries = iter((OSError("refused"), False, True))

    def ready() -> bool:
        now = next(tries)
        if isinstance(now, OSError):
            raise now
        return now

    assert wait_until(ready, within_s=60.0)


def test_free_ports_are_different_and_nobody_listens_on_them() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert not any(map(listens, ports))
