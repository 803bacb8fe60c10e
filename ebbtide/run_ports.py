"""The ports of a running reconciler: a sandbox's socket on one side, the state directory on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from ebbtide.run_state import ReconcilerState
from ledger.events import Event
from reconciler.acting import Ports
from reconciler.adapters.stop_file import StopFile
from reconciler.adapters.store_file import FileStore
from reconciler.cycle import Memory
from reconciler.desired import Partition
from reconciler.lease import TERMS, Terms
from reconciler.ports import Desired, Journal, Recorder, Store
from reconciler.resume import resume
from reconciler.saved import decode
from reconciler.steps import Step
from repo_layout.model import Estate
from simulation.adapters.sandbox_client import SandboxLink, SandboxProvider, SandboxSite


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a reconciler lies on disk: where it tells, what it remembers, what it shares, and what stops it."""

    recorder: Recorder
    journal: Journal
    store: Store
    stops: tuple[StopFile, ...]
    sole: bool


class Untouched:
    """Recorder and journal of a rehearsal: nothing is kept, because nothing happened."""

    def record(self, events: Sequence[Event]) -> None:
        """Nothing happened."""

    def position(self) -> int:
        """Nowhere."""
        return 0

    def pending_bytes(self) -> int:
        """Nothing is told."""
        return 0

    def load(self) -> bytes | None:
        """Nothing was kept."""
        return None

    def save(self, content: bytes) -> None:
        """Nothing is remembered."""


class Unmoved:
    """`reconciler.ports.DesiredState` of reviewed files that were read and judged when the process began."""

    def __init__(self, estate: Estate) -> None:
        self._desired = Desired(estate, estate.commit)

    def look(self) -> Desired:
        """As the seam promises."""
        return self._desired


class Switch:
    """`reconciler.ports.StopSwitch`: a person's stop in any of the places, or this process's own end."""

    def __init__(self, stops: Sequence[StopFile], ending: Callable[[], str]) -> None:
        self._stops, self._ending = stops, ending

    def reason(self) -> str:
        """As the seam promises."""
        return next((why for why in (self._ending(), *(stop.reason() for stop in self._stops)) if why), "")


def ports_of(link: SandboxLink, part: Partition, kept: Kept, *, holder: str, ending: Callable[[], str]) -> Ports:
    """All of them, for one partition."""
    site = SandboxSite(link)
    zone = ZoneInfo(part.estate.region(part.region).time_zone)
    return Ports(
        provider=SandboxProvider(link),
        schedulers=site,
        nodes=site,
        recorder=kept.recorder,
        stop=Switch(kept.stops, ending),
        desired=Unmoved(part.estate),
        store=kept.store,
        journal=kept.journal,
        clock=link.now,
        monotonic=link.now,
        local_day=lambda now: datetime.fromtimestamp(now / 1000, tz=zone).date().isoformat(),
        user_data=_user_data,
        accepted_at=lambda: max(stop.accepted_at() for stop in kept.stops),
        holder=holder,
        terms=terms_at(link.open().speed),
        sole=kept.sole,
    )


def _user_data(step: Step) -> bytes:
    """What the sandbox's servers boot with: nothing reads it there."""
    return f"#cloud-config\n# {step.instance} {step.workload}\n".encode()


def stops_of(state: ReconcilerState, shared: str | None) -> tuple[StopFile, ...]:
    """Where a person may stop this reconciler: in its own directory, and in the folder that it shares."""
    return (StopFile(state.stop), *((StopFile(Path(shared) / "stop"),) if shared else ()))


def kept_in(state: ReconcilerState, shared: str | None, recorder: Recorder, journal: Journal) -> Kept:
    """What lies in the state directory and, where replicas share one, in the store's folder."""
    return Kept(
        recorder=recorder,
        journal=journal,
        store=FileStore(Path(shared) if shared else state.store),
        stops=stops_of(state, shared),
        sole=shared is None,
    )


def remembered(state: ReconcilerState, region: str) -> Memory:
    """The memory that the journal holds, for a look at it; an empty one where there is none."""
    try:
        saved = decode(state.journal.read_bytes())
    except FileNotFoundError:
        return Memory()
    return resume(saved, region=region, position=saved.position).memory


def terms_at(speed: float) -> Terms:
    """The lease's terms in the time of a sandbox that runs faster than its machine: a process needs as many of the
    machine's seconds to renew a lease, and as many of them must be allowed.
    """
    by = max(1.0, speed)
    return Terms(*(int(each * by) for each in (TERMS.term, TERMS.renew, TERMS.deadline, TERMS.call)))
