"""The state directory of a running reconciler: everything that it keeps between two cycles, and what stops it.

    reconciler.json  whose it is: estate, region, and the name under which it holds a lease
    journal          what it was about to do and what it remembers, replaced before each cycle's first call
    spool/           every event, durable, in the order in which it was told
    store/           lease and reservations, unless replicas share a folder (--store)
    stop             a person's stop, read before each action; stop.accepted-listing beside it
    accepted         the newest bundle that was taken
    lock             held by the one process that runs here

It outlives the process, whatever ends it; docs/state.md says what each is worth.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ebbtide.advice import Advice
from repo_layout.adapters.durable import replace_file

FORMAT = 1
LONGEST_HOST = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """`reconciler.json`."""

    format: int
    estate: str
    region: str
    holder: str


@dataclass(frozen=True, slots=True)
class ReconcilerState:
    """The paths of one state directory."""

    folder: Path

    @property
    def identity(self) -> Path:
        """Whose it is."""
        return self.folder / "reconciler.json"

    @property
    def journal(self) -> Path:
        """Intents and memory."""
        return self.folder / "journal"

    @property
    def spool(self) -> Path:
        """The events."""
        return self.folder / "spool"

    @property
    def store(self) -> Path:
        """Lease and reservations of a reconciler without replicas."""
        return self.folder / "store"

    @property
    def stop(self) -> Path:
        """A person's stop."""
        return self.folder / "stop"

    @property
    def accepted(self) -> Path:
        """The newest bundle that was taken."""
        return self.folder / "accepted"

    def is_ours(self) -> bool:
        """Whether a reconciler left it."""
        return self.identity.is_file()

    def identified(self, estate: str, region: str) -> Identity:
        """Who runs here, as the first start wrote it down. `Advice` where it is another estate's or region's."""
        if not self.identity.exists():
            made = Identity(FORMAT, estate, region, f"{socket.gethostname()[:LONGEST_HOST]}-{secrets.token_hex(4)}")
            replace_file(self.identity, (json.dumps(asdict(made), indent=2) + "\n").encode())
            return made
        try:
            known = Identity(**json.loads(self.identity.read_bytes()))
        except (ValueError, TypeError):
            known = Identity(0, "", "", "")
        if known.format != FORMAT or not known.holder:
            raise Advice(
                f"{self.identity} is damaged, or another version's", hint="bring it back from a copy; do not make it up"
            )
        if (known.estate, known.region) != (estate, region):
            raise Advice(
                f"{self.folder} belongs to region {known.region} of estate {known.estate}, not {region} of {estate}",
                hint="name another --state folder",
            )
        return known


@contextlib.contextmanager
def running_in(folder: Path) -> Iterator[ReconcilerState]:
    """A state directory for the one process that runs in it; what is there stays.

    `Advice` when another process runs there, or when something else than a reconciler left it.
    """
    state = ReconcilerState(folder)
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in there if name not in OURS]
    if foreign and not state.is_ours():
        raise Advice(
            f"{folder} holds what no reconciler left ({', '.join(foreign[:3])})", hint="name another --state folder"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Advice(
                f"another reconciler runs in {folder}",
                hint="stop it first, or name another --state; a standby has its own, and the leader's --store",
            ) from None
        yield state
    finally:
        os.close(descriptor)


OURS = frozenset(
    {"reconciler.json", "reconciler.json.new", "journal", "journal.new", "spool", "store", "stop", "stop.new"}
    | {"stop.accepted-listing", "stop.accepted-listing.new", "accepted", "accepted.new", "accepted.lock", "lock"}
)
