"""The state directory that `demo` and `run` leave and `explain`, `savings` and the report read.

    estate.git/      the estate, one commit
    region.json      in its place, the payload of the bundle that the day was made from
    spool/           every event of the day, durable, in the order in which it was told
    price-first/     the spool of the planner that was compared
    ledger/          the in-process ClickHouse engine: database `ebbtide`, and `price_first` beside it
    drains.journal   what each node saw during a drain on notice, one line an input
    run.json         how the day was made, its summaries, samples, last ranking and last standing
    report.html      the same as pictures

One command writes it at a time (`lock`); readers wait for nobody and say so when the ledger is busy.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agent.drain import Entry
from agent.inputs import Began
from agent.journal import decode, encode
from ebbtide.advice import Advice
from ebbtide.estate import PAYLOAD
from ebbtide.grammar import DEFAULT_STATE, VERSION
from ledger.adapters.clickhouse import ClickHouseLedger, embedded
from ledger.reports import Period
from pools.ranking import Ranked
from simulation.moments import Moment
from simulation.summary import DaySummary

DATABASES = {"ebbtide": "ebbtide", "price-first": "price_first"}
FORMAT = 1


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """One planner's day: its figures and samples."""

    summary: DaySummary
    moments: tuple[Moment, ...]
    cycles: int


@dataclass(frozen=True, slots=True)
class Standing:
    """One instance at the end of the day."""

    name: str
    workload: str
    pool: str
    units: int
    busy_units: int
    paid: str
    phase: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`run.json`. The first of `policies` is ours; `ranking` (by workload), `standing` and `admitted` (pools that an
    exclusion holds, with how many instances they may take) are those of the last cycle.
    """

    format: int
    version: str
    commit: str
    region: str
    seed: int
    hours: float
    title: str
    source: str
    recorded: bool
    period: Period
    policies: tuple[PolicyRecord, ...]
    ranking: Mapping[str, tuple[Ranked, ...]]
    standing: tuple[Standing, ...]
    admitted: Mapping[str, int]
    claims: Mapping[str, int]


_RECORD = TypeAdapter(RunRecord)


@dataclass(frozen=True, slots=True)
class State:
    """The paths of one state directory."""

    folder: Path

    @property
    def estate(self) -> Path:
        """The estate's repository."""
        return self.folder / "estate.git"

    @property
    def payload(self) -> Path:
        """The region's payload, where the day was made from a bundle and there are no reviewed files."""
        return self.estate.with_name(PAYLOAD)

    @property
    def spool(self) -> Path:
        """Our spool."""
        return self.folder / "spool"

    @property
    def record(self) -> Path:
        """How the day was made and what came of it."""
        return self.folder / "run.json"

    @property
    def journal(self) -> Path:
        """What the nodes saw."""
        return self.folder / "drains.journal"

    @property
    def report(self) -> Path:
        """The pictures."""
        return self.folder / "report.html"

    def spool_of(self, policy: str) -> Path:
        """A planner's spool."""
        return self.spool if policy == "ebbtide" else self.folder / policy / "spool"

    @contextlib.contextmanager
    def ledger(self, policy: str = "ebbtide") -> Iterator[ClickHouseLedger]:
        """A planner's ledger. `Advice` when another command holds it (the engine serves one process at a time), or when
        a run that is recorded has lost it: an empty one would answer every question with nothing.
        """
        if self.record.exists() and not (self.folder / "ledger").is_dir():
            raise Advice(
                f"there is no ledger in {self.folder}", hint=f"ebbtide demo --state {self.folder} makes it anew"
            )
        busy = f"the ledger in {self.folder} is in use by another ebbtide command"
        with (
            _held(self.folder / "ledger.lock", busy),
            embedded(self.folder / "ledger", database=DATABASES[policy]) as ledger,
        ):
            yield ledger

    def read(self) -> RunRecord:
        """What the last run wrote; `Advice` when there is none or another version wrote it."""
        try:
            record = _RECORD.validate_json(self.record.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise Advice(
                f"there is no run in {self.folder}", hint=f"ebbtide demo --state {self.folder}, or name its --state"
            ) from None
        except ValidationError:
            record = None
        if record is None or record.format != FORMAT:
            raise Advice(
                f"{self.record} is damaged or was written by another version than {VERSION}",
                hint=f"ebbtide demo --state {self.folder} makes it anew",
            )
        return record

    def write(self, record: RunRecord) -> None:
        """Leave the record, whole or not at all."""
        draft = self.record.with_suffix(".draft")
        draft.write_bytes(_RECORD.dump_json(record))
        draft.replace(self.record)

    def write_journals(self, journals: Mapping[str, Iterable[Entry]]) -> None:
        """Keep what the nodes saw in drains on notice; agreed returns are told by their events alone."""
        with self.journal.open("wb") as file:
            for instance, entries in journals.items():
                kept = list(entries)
                if any(isinstance(e.said, Began) and e.said.notice.reclaim for e in kept):
                    file.writelines(instance.encode() + b"\t" + encode(entry) for entry in kept)

    def journal_of(self, instance: str) -> list[Entry]:
        """What one node saw; empty when it never drained on notice."""
        key = instance.encode() + b"\t"
        if not self.journal.exists():
            return []
        with self.journal.open("rb") as file:
            mine = b"".join(line[len(key) :] for line in file if line.startswith(key))
        return decode(mine)[0]


def options_of(state: State) -> str:
    """What a command needs behind it to read this state: nothing for the default one."""
    return "" if str(state.folder) == DEFAULT_STATE else f" --state {shlex.quote(str(state.folder))}"


@contextlib.contextmanager
def being_written(folder: Path) -> Iterator[State]:
    """A state directory, emptied, for the one command that writes it.

    Only what such a command leaves is removed; `Advice` when the folder holds anything else, or another command writes.
    """
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    # every run of ours left its lock; what people ordered may be there before the first, and outlives them all
    foreign = [name for name in there if name not in ORDERS and (name not in OURS or "lock" not in there)]
    if foreign:
        raise Advice(
            f"{folder} holds what no run of ours left ({', '.join(foreign[:3])})", hint="name another --state folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _held(folder / "lock", f"another command writes {folder}"):
        for name in OURS - {"lock"}:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        yield State(folder)


@contextlib.contextmanager
def _held(path: Path, busy: str) -> Iterator[None]:
    """A lock that ends with the process, whatever ends it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Advice(busy, hint="try again when it is done, or name another --state") from None
    finally:
        os.close(descriptor)


ORDERS = frozenset({"stop", "stop.orders", "stop.accepted-listing", "approvals"})
"""What `ebbtide stop` and `ebbtide approve` leave in a state directory; no run removes it."""

OURS = frozenset(
    {
        "estate.git", PAYLOAD, "spool", "price-first", "ledger", "drains.journal", "run.json", "run.draft",
        "report.html", "report.draft", "lock", "ledger.lock", ".gitignore",
    }
)  # fmt: skip
