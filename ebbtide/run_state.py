"""The state directory of a running reconciler: everything that it keeps between two cycles, and what stops it.

    reconciler.json  whose it is: estate, region, partition, and the name under which it holds a lease
    journal          what it was about to do and what it remembers, replaced before each cycle's first call
    spool/           every event, durable, in the order in which it was told
    store/           lease and reservations, unless replicas share a folder (--store)
    stop             a person's stop, read before each action; stop.accepted-listing beside it
    accepted         the newest bundle that was taken, and bundle, its files; accepted.commit, that of a branch
    approvals/       signed approvals of large removals
    journal.lock     held by the one process that runs here

It outlives the process, whatever ends it; docs/state.md says what each is worth.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from contracts.errors import Refused
from ebbtide.advice import Advice
from reconciler.adapters.journal_file import JournalFile
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
    partition: str = ""


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

    @property
    def commit(self) -> Path:
        """The newest commit of a followed branch that was taken."""
        return self.folder / "accepted.commit"

    @property
    def bundle(self) -> Path:
        """The files of the newest bundle, to go on from while nobody offers it."""
        return self.folder / "bundle"

    def is_ours(self) -> bool:
        """Whether a reconciler left it."""
        return self.identity.is_file()

    def identified(self, estate: str, region: str, partition: str = "") -> Identity:
        """Who runs here, as the first start wrote it down. `Advice` where it is another partition's."""
        if not self.identity.exists():
            holder = f"{socket.gethostname()[:LONGEST_HOST]}-{secrets.token_hex(4)}"
            made = Identity(FORMAT, estate, region, holder, partition)
            replace_file(self.identity, (json.dumps(asdict(made), indent=2) + "\n").encode())
            return made
        known = self.known()
        if (known.estate, known.region, known.partition) != (estate, region, partition):
            raise Advice(
                f"{self.folder} belongs to {_place(known.estate, known.region, known.partition)}, not to "
                f"{_place(estate, region, partition)}",
                hint="name another --state folder",
            )
        return known

    def known(self) -> Identity:
        """Who runs here. `Advice` where that cannot be read."""
        try:
            known = Identity(**json.loads(self.identity.read_bytes()))
        except (ValueError, TypeError):
            known = Identity(0, "", "", "")
        if known.format != FORMAT or not known.holder:
            raise Advice(
                f"{self.identity} is damaged, or another version's", hint="bring it back from a copy; do not make it up"
            )
        return known


def _place(estate: str, region: str, partition: str) -> str:
    of = f"region {region} of estate {estate}"
    return f"partition {partition} of {of}" if partition else of


def running_in(folder: Path) -> ReconcilerState:
    """A state directory to run in; what is there stays. `Advice` when something else than a reconciler left it."""
    state = ReconcilerState(folder)
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in there if name.split(".")[0] not in OURS]
    if foreign and not state.is_ours():
        raise Advice(
            f"{folder} holds what no reconciler left ({', '.join(foreign[:3])})", hint="name another --state folder"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return state


@contextlib.contextmanager
def alone_in(state: ReconcilerState) -> Iterator[JournalFile]:
    """The journal of a state directory, for the one process that runs there; `Advice` while another does."""
    try:
        journal = JournalFile(state.folder)
    except Refused as error:
        raise Advice(
            str(error), hint="stop that one first, or name another --state; a standby shares the --store alone"
        ) from error
    with journal:
        yield journal


OURS = frozenset({"reconciler", "journal", "spool", "store", "stop", "accepted", "bundle", "approvals"})
"""How names in a state directory begin; what follows a dot is a draft, a lock, or people's orders beside the stop."""
