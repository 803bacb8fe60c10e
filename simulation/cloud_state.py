"""The state of the simulated cloud and the life of one server: booted, active, failed, moved, ended.

Mutable, single-threaded, advanced by `simulation.cloud`; `simulation.reclaims` and `simulation.disturbances` change it
too. Events lie in a heap as (instant, order, action); an action that finds its server or host changed does nothing.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from pools.model import Pool
from pools.provider import (
    Advisory,
    FaultKind,
    Lifecycle,
    LifecycleKind,
    Mark,
    Notice,
    NoticeKind,
    Reclaim,
    Server,
    Status,
    VictimHint,
)
from pools.script import Boot, Script, SignalLog
from simulation.cloud_model import (
    CloudParameters,
    EndCause,
    Happening,
    HappeningKind,
    InvoiceLine,
    ProjectLimit,
    ReclaimAccount,
    stream,
)
from simulation.hosts import Domain, Host, HostState
from simulation.tariffs import Tariff

FAULTS = {
    Boot.NO_HOST: (FaultKind.NO_HOST, "No valid host was found."),
    Boot.QUOTA: (FaultKind.QUOTA, "Quota exceeded for cores."),
    Boot.OTHER: (FaultKind.OTHER, "The boot failed."),
}


@dataclass(slots=True, eq=False)
class Record:
    """One server while it is there: its row, its place, its bill so far and the notice that stands. `let_go` is when
    our mark came off it.
    """

    server: Server
    pool: Pool
    host: Host | None
    started: int | None = None
    ended: int | None = None
    notice: Notice | None = None
    places: list[tuple[int, str]] = field(default_factory=list)
    let_go: int | None = None


class CloudState:
    """Everything that the cloud knows at `now`. While `tokens` is False it takes no client token: a create that is
    asked again makes another server.
    """

    def __init__(
        self, pools: Iterable[Pool], *, region: str, start: int, seed: int, parameters: CloudParameters
    ) -> None:
        self.region, self.start, self.now, self.seed, self.parameters = region, start, start, seed, parameters
        rows = sorted((pool for pool in pools if pool.region == region), key=lambda pool: pool.name)
        self.pools = {pool.name: pool for pool in rows}
        by_domain: defaultdict[str, list[Pool]] = defaultdict(list)
        for pool in rows:
            by_domain[pool.domain].append(pool)
        self.domains = {name: Domain(name, members) for name, members in sorted(by_domain.items())}
        self.tariffs = {
            pool.name: Tariff(pool, region=region, start=start, seed=seed, parameters=parameters) for pool in rows
        }
        self.projects = tuple(sorted({pool.project for pool in rows}))
        self.limits = {project: parameters.quota.get(project) or _limit(project, self) for project in self.projects}
        self.used: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self.records: dict[str, Record] = {}
        self.past: list[Record] = []
        self.by_key: dict[tuple[str, tuple[str, str, str]], str] = {}
        self.created = 0
        self.version = 0
        self.tokens = True
        self.reclaims: dict[str, Reclaim] = {}
        self.accounts: defaultdict[str, ReclaimAccount] = defaultdict(ReclaimAccount)
        self.advisories: dict[str, Advisory] = {}
        self.hints: dict[str, VictimHint] = {}
        self.log = SignalLog()
        self.script = Script()
        self.forecasts: dict[str, tuple[int, float, float]] = {}
        self.happened: list[Happening] = []
        self.waves = itertools.count(1)
        self.heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def push(self, at: int, action: Callable[[], None]) -> None:
        """Puts an action at an instant, never before now; equal instants keep the order in which they were put."""
        heapq.heappush(self.heap, (max(at, self.now), next(self._order), action))

    def happen(
        self,
        kind: HappeningKind,
        record: Record | None = None,
        *,
        pool: str = "",
        reclaim: str = "",
        notice: Notice | None = None,
        cause: EndCause | None = None,
        told: bool = True,
    ) -> None:
        """Reports one thing to whoever drives the cloud."""
        row = record.server if record is not None else None
        self.happened.append(
            Happening(
                at=self.now,
                kind=kind,
                server=row.id if row else "",
                name=row.name if row else "",
                pool=record.pool.name if record is not None else pool,
                reclaim=notice.reclaim if notice is not None else reclaim,
                notice=notice,
                cause=cause,
                told=told,
            )
        )

    def tell(self, kind: LifecycleKind, record: Record, reason: str = "", *, taken: bool = False) -> None:
        """Says one lifecycle event in the provider's stream."""
        row = record.server
        where = row.project, row.mark
        self.log.say(Lifecycle(self.now, kind, row.id, row.name, record.pool.name, reason, *where, taken))

    def change(self, record: Record, row: Server) -> None:
        """Gives the record a new row; the next listing is built anew."""
        record.server = row
        self.version += 1


def admit(state: CloudState, *, pool: Pool, project: str, name: str, mark: Mark | None, boot: Boot | None) -> Record:
    """A new server, building: it gets a host where one has room, and its end of boot is planned.

    `boot` None lets capacity and the parameters decide. The caller has checked marks, projects and quota.
    """
    state.created += 1
    id_ = f"{state.region}-{state.created:07d}"
    host = None
    draw = stream(state.seed, "boot", name, state.created if mark is None else mark.name)
    fails = draw.random() < state.parameters.boot_failures
    outcome = boot or (Boot.OTHER if fails else Boot.ACTIVE)
    if outcome in (Boot.ACTIVE, Boot.NEVER):
        host = state.domains[pool.domain].place(id_, pool.instance, committed=pool.committed)
        if host is None:
            outcome = Boot.NO_HOST
    row = Server(id_, name, project, pool.name, Status.BUILDING, state.now, mark)
    record = Record(row, pool, host)
    state.records[id_] = record
    if mark is not None:
        state.by_key[project, mark.key] = id_
    _charge(state, record, +1)
    state.version += 1
    state.tell(LifecycleKind.CREATED, record)
    seconds = state.parameters.boot_median_s * math.exp(draw.gauss(0.0, state.parameters.boot_spread))
    if outcome is Boot.ACTIVE:
        state.push(state.now + max(1, int(seconds * 1000)), partial(activate, state, id_))
    elif outcome is not Boot.NEVER:
        state.push(state.now + state.parameters.fail_s * 1000, partial(fail, state, id_, outcome))
    return record


def activate(state: CloudState, server: str) -> None:
    """The boot ends well: billing starts."""
    record = state.records.get(server)
    if record is None or record.server.status is not Status.BUILDING:
        return
    record.started = state.now
    record.places.append((state.now, record.pool.name))
    state.change(record, replace(record.server, status=Status.ACTIVE))
    state.tell(LifecycleKind.ACTIVE, record)
    state.happen(HappeningKind.ACTIVE, record)


def fail(state: CloudState, server: str, outcome: Boot) -> None:
    """The boot ends in ERROR: the row stays and holds its quota until somebody deletes it; nothing is billed."""
    record = state.records.get(server)
    if record is None or record.server.status is not Status.BUILDING:
        return
    kind, text = FAULTS[outcome]
    state.change(record, replace(record.server, status=Status.ERROR, fault=kind, fault_text=text))
    state.tell(LifecycleKind.FAILED, record, kind.value)
    state.happen(HappeningKind.FAILED, record)


def end(state: CloudState, record: Record, cause: EndCause, *, reason: str = "", told: bool = True) -> None:
    """The server is gone: its room is free, its bill is closed, its row disappears, and unless `told` is False a
    lifecycle event says why.
    """
    row = record.server
    notice = record.notice
    record.ended, record.notice = state.now, None
    del state.records[row.id]
    if row.mark is not None and state.by_key.get((row.project, row.mark.key)) == row.id:
        del state.by_key[row.project, row.mark.key]
    if record.host is not None:
        domain, host = state.domains[record.pool.domain], record.host
        domain.release(host, row.id, committed=record.pool.committed)
        if host.state is HostState.CLOSING and not host.servers:
            domain.turn(host, HostState.TAKEN, host.holder)
    state.hints.pop(row.id, None)
    _charge(state, record, -1)
    state.past.append(record)
    state.version += 1
    kind = LifecycleKind.FAILED if cause in (EndCause.LOST, EndCause.HOST_FAILURE) else LifecycleKind.DELETED
    if told:
        state.tell(kind, record, reason or cause.value, taken=cause is not EndCause.DELETED)
    state.happen(HappeningKind.ENDED, record, cause=cause, reclaim=notice.reclaim if notice else "", told=told)
    if notice is not None and notice.kind is NoticeKind.RECLAIM:
        account = state.accounts[notice.reclaim]
        if cause is EndCause.DELETED:
            account.returned += 1
        else:
            account.taken += 1


def move(state: CloudState, server: str, pool: str) -> bool:
    """Migrates an active server that is under no notice to another pool of the same shape; False when that has no room.
    The listing says *moved* from then on, and the new pool's rate is billed.
    """
    record, target = state.records.get(server), state.pools[pool]
    if record is None or record.host is None or record.notice is not None:
        return False
    if record.server.status not in (Status.ACTIVE, Status.MOVED) or target.instance != record.pool.instance:
        return False
    host = state.domains[target.domain].place(server, target.instance, committed=target.committed, avoid=record.host)
    if host is None:
        return False
    state.domains[record.pool.domain].release(record.host, server, committed=record.pool.committed)
    record.pool, record.host = target, host
    record.places.append((state.now, pool))
    state.change(record, replace(record.server, status=Status.MOVED, pool=pool))
    state.tell(LifecycleKind.MOVED, record)
    state.happen(HappeningKind.MOVED, record)
    return True


def ours_since(mark: Mark | None, now: int) -> int:
    """When a server changes hands by a mark that is put on, or taken off, now: as the mark itself says, which is when
    the call went out.
    """
    return min(mark.since, now) if mark is not None and mark.since else now


def hand_over(record: Record, now: int, *, ours: bool) -> None:
    """A mark goes on a server or comes off: what it cost whoever had it before, or has it after, is not on our bill."""
    if ours and record.server.mark is None and record.started is not None:
        record.started, record.let_go = now, None
        record.places = [(now, record.pool.name)]
    elif not ours and record.server.mark is not None:
        record.let_go = now


def invoice_line(state: CloudState, record: Record) -> InvoiceLine | None:
    """What the server cost up to now; None when it never ran."""
    if record.started is None:
        return None
    ended = record.ended if record.let_go is None else record.let_go
    until = ended if ended is not None else state.now
    ends = [at for at, _ in record.places[1:]] + [until]
    periods = tuple(
        (pool, period)
        for (since, pool), stop in zip(record.places, ends, strict=True)
        for period in state.tariffs[pool].periods(since, stop)
    )
    row = record.server
    return InvoiceLine(row.id, row.name, row.project, record.started, ended, periods)


def _charge(state: CloudState, record: Record, sign: int) -> None:
    used, shape = state.used[record.server.project], record.pool.instance
    used[0] += sign
    used[1] += sign * shape.vcpu
    used[2] += sign * shape.memory


def _limit(project: str, state: CloudState) -> ProjectLimit:
    """The quota where none is given: twice the hosts behind the project's pools, so that hosts run out first."""
    domains = {pool.domain for pool in state.pools.values() if pool.project == project}
    shapes = [pool.instance for pool in state.pools.values() if pool.project == project]
    vcpu = 2 * sum(state.domains[name].capacity.vcpu for name in domains)
    memory = 2 * sum(state.domains[name].capacity.memory for name in domains)
    return ProjectLimit(vcpu // min(shape.vcpu for shape in shapes), vcpu, memory)
