"""The ports of a running reconciler: a sandbox's socket on one side, the state directory on the other."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import SupportsBytes
from zoneinfo import ZoneInfo

from ebbtide.advice import Advice
from ebbtide.estate import at_hand, cache_folder, estate_of, is_repository
from ebbtide.run_state import ReconcilerState
from ebbtide.stop import LocalOrders, local_orders
from ebbtide.taken import estate_or_bundle
from ebbtide.trust import key_set_of, offered_at
from ledger.events import Event
from reconciler.acting import Ports
from reconciler.adapters.desired_bundle import DesiredBundle
from reconciler.adapters.desired_bundle import Kept as KeptBundle
from reconciler.adapters.desired_files import DesiredFiles
from reconciler.adapters.stop_store import EitherStop, StoreStop
from reconciler.adapters.store_file import FileStore
from reconciler.appraisal import Appraiser
from reconciler.cycle import Memory
from reconciler.lease import TERMS, Terms
from reconciler.lessons import learnt_of
from reconciler.ports import Desired, DesiredState, Journal, Recorder, StopSwitch, Store
from reconciler.resume import resume
from reconciler.saved import decode
from reconciler.steps import Step
from reconciler.store_memory import MemoryStore
from repo_layout.adapters.accepted_file import AcceptedFile
from repo_layout.adapters.clock import now_ms
from repo_layout.adapters.git_follow import brought, follow
from repo_layout.adapters.git_open import is_url
from repo_layout.model import Estate
from simulation.adapters.sandbox_client import SandboxLink, SandboxProvider, SandboxSite


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a reconciler lies on disk: where it tells, what it remembers, what it shares, and what people order.

    `sole` says that nobody shares the store: the journal's lock keeps every other process out of it.
    """

    recorder: Recorder
    journal: Journal
    store: Store
    orders: LocalOrders
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

    def save(self, content: SupportsBytes) -> None:
        """Nothing is remembered."""


class Unmoved:
    """`reconciler.ports.DesiredState` of reviewed files that were read and judged when the process began."""

    def __init__(self, estate: Estate) -> None:
        self._desired = Desired(estate, estate.commit)

    def look(self) -> Desired:
        """As the seam promises."""
        return self._desired


@dataclass(frozen=True, slots=True)
class Told:
    """A stop switch that asks a function."""

    why: Callable[[], str]

    def reason(self) -> str:
        """As the seam promises."""
        return self.why()


def kept_in(state: ReconcilerState, shared: str | None, recorder: Recorder, journal: Journal) -> Kept:
    """What lies in the state directory and, where replicas share one, in the store's folder."""
    store = FileStore(Path(shared) if shared else state.store)
    return Kept(recorder, journal, store, local_orders(state.folder), sole=shared is None)


def rehearsed(state: ReconcilerState) -> Kept:
    """The same for a look: people's orders hold, and nothing is written."""
    return Kept(Untouched(), Untouched(), MemoryStore(), local_orders(state.folder), sole=True)


def desired_in(args: argparse.Namespace, state: ReconcilerState, region: str, store: Store) -> DesiredState:
    """What the options name: a bundle is followed as it is published, a branch as it grows; files stay as they were."""
    if args.branch is not None:
        return _followed(args, state, region, store)
    if args.bundle is None or not args.trust:
        return Unmoved(estate_or_bundle(args).estate)
    accepted = AcceptedFile(Path(args.accepted) if args.accepted else state.accepted)
    return DesiredBundle(
        lambda: offered_at(args.bundle, region)[1].files,
        region=region,
        keys=key_set_of(args.trust),
        kept=KeptBundle(accepted, state.bundle),
        store=store,
        clock=now_ms,  # bundles are signed by the world's clock, whatever time it is in the sandbox
    )


def _followed(args: argparse.Namespace, state: ReconcilerState, region: str, store: Store) -> DesiredState:
    """The branch of a repository of reviewed files. `Advice` where there is no repository to follow."""
    where = at_hand(args.estate)
    if where is None or not (is_url(where) or is_repository(Path(where))):
        told = "--branch names no branch without a repository of reviewed files"
        raise Advice(told, hint="name it with --estate; a bundle is followed without --branch")
    return DesiredFiles(
        region=region,
        follow=lambda last: follow(where, args.branch, last, cache=cache_folder()),
        estate_at=lambda commit: estate_of(where, commit=commit)[0],
        kept=state.commit,
        store=store,
        brought=lambda tip, paths: brought(where, tip, paths, cache=cache_folder()),
    )


def ports_of(link: SandboxLink, desired: DesiredState, kept: Kept, *, holder: str, ending: Callable[[], str]) -> Ports:
    """All of them, for the region that the sandbox hosts."""
    greeting, site, orders = link.open(), SandboxSite(link), kept.orders
    zone = ZoneInfo(desired.look().estate.region(greeting.region).time_zone)
    switches: tuple[StopSwitch, ...] = (
        Told(ending),
        orders.stop,
        StoreStop(kept.store, region=greeting.region, monotonic=link.now),
    )
    return Ports(
        provider=SandboxProvider(link),
        schedulers=site,
        nodes=site,
        recorder=kept.recorder,
        stop=EitherStop(switches),
        desired=desired,
        store=kept.store,
        journal=kept.journal,
        clock=link.now,
        monotonic=link.now,
        local_day=lambda now: datetime.fromtimestamp(now / 1000, tz=zone).date().isoformat(),
        user_data=_user_data,
        accepted_at=orders.accepted_at,
        orders=orders.orders,
        signed=orders.signed,
        holder=holder,
        terms=terms_at(greeting.speed),
        sole=kept.sole,
    )


def remembered(state: ReconcilerState, appraiser: Appraiser) -> Memory:
    """The memory that the journal holds, for a look at it, and what was learnt of the pools into the appraiser: which
    of them are excluded, and what they cost. An empty one where there is none.
    """
    try:
        saved = decode(state.journal.read_bytes())
    except FileNotFoundError:
        return Memory()
    memory = resume(saved, position=saved.position).memory
    appraiser.take_up(learnt_of(saved.lessons, memory.fleet, appraiser.outlook))
    return memory


def terms_at(speed: float) -> Terms:
    """The lease's terms in the time of a sandbox that runs faster than its machine: a process needs as many of the
    machine's seconds to renew a lease, and as many of them must be allowed.
    """
    by = max(1.0, speed)
    return Terms(*(int(each * by) for each in (TERMS.term, TERMS.renew, TERMS.deadline, TERMS.call)))


def _user_data(step: Step) -> bytes:
    """What the sandbox's servers boot with: nothing reads it there."""
    return f"#cloud-config\n# {step.instance} {step.workload}\n".encode()
