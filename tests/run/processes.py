"""What tests start as processes of their own: the small region, and a run that stops itself at one named point.

python -m tests.run.processes region SOCKET SEED
python -m tests.run.processes run STAGE TIMES WORD...
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from ebbtide.__main__ import main as command
from ledger.spool import Spool
from simulation.adapters.sandbox_server import SandboxServer
from tests.run.points import Points, install
from tests.run.region import account_of, sandbox_at


def region(path: Path, seed: int) -> int:
    """Serve the small region; its time passes only when a test says so."""
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    with Spool(path.with_name(path.name + ".nodes")) as spool:
        server = SandboxServer(sandbox_at(seed, spool), path, account=account_of(path), speed=0.0, lockstep=False)
        server.serve(lambda: bool(ended))
    return 0


def stopping(stage: str, times: int, words: list[str]) -> int:
    """Run the command; at the point it stops as a machine's pause would stop it, until somebody continues it."""

    def stops(at: str, count: int) -> bool:
        if (at, count) == (stage, times):
            os.kill(os.getpid(), signal.SIGSTOP)
        return False

    install(Points(), stops)
    return command(words)


def main(argv: list[str]) -> int:
    """What the first word asks for."""
    if argv[0] == "region":
        return region(Path(argv[1]), int(argv[2]))
    return stopping(argv[1], int(argv[2]), argv[3:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
