"""Two real processes over a store on disk: one is stopped past its term and makes no call when it wakes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPLICA = """
import sys
import time
from pathlib import Path
from reconciler.adapters.store_file import FileStore
from reconciler.leadership import Leadership
from reconciler.lease import Terms

directory, holder = Path(sys.argv[1]), sys.argv[2]
leadership = Leadership(
    FileStore(directory / "store"), key="lease", holder=holder, monotonic=lambda: time.monotonic_ns() // 1_000_000,
    terms=Terms(term=600, renew=100, deadline=300, call=100),
)
log = (directory / "calls").open("a", buffering=1)
for word in sys.stdin:
    while word == "lead\\n" and not leadership.ensure():
        time.sleep(0.02)
    if word == "call\\n" and leadership.holds():
        log.write(f"{holder} {leadership.epoch}\\n")
    if word == "resign\\n":
        leadership.resign()
    print(leadership.epoch, flush=True)
"""


class Replica:
    """One process that does what its input says, one word at a time, and answers each with its epoch."""

    def __init__(self, directory: Path, holder: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", REPLICA, str(directory), holder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def answer(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def do(self, word: str) -> int:
        self.say(word)
        return self.answer()

    def end(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.kill()
        self.process.communicate()


def calls(directory: Path) -> list[str]:
    return (directory / "calls").read_text(encoding="ascii").splitlines()


def test_a_leader_that_is_stopped_past_its_term_makes_no_call_when_it_wakes(tmp_path: Path) -> None:
    first, second = Replica(tmp_path, "a"), Replica(tmp_path, "b")
    try:
        old = first.do("lead")
        os.kill(first.process.pid, signal.SIGSTOP)
        first.say("call")  # read when it wakes
        new = second.do("lead")  # answers once it leads, however long that takes
        assert new > old
        second.do("call")
        os.kill(first.process.pid, signal.SIGCONT)
        assert first.answer() == old
        assert not [call for call in calls(tmp_path) if call.startswith("a")]
        second.do("resign")
        assert first.do("lead") > new  # it leads again under a new epoch alone
    finally:
        first.end()
        second.end()


def test_a_leader_that_is_killed_is_followed_by_the_other(tmp_path: Path) -> None:
    first, second = Replica(tmp_path, "a"), Replica(tmp_path, "b")
    try:
        old = first.do("lead")
        first.end()
        assert second.do("lead") > old
    finally:
        second.end()
