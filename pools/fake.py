"""A scriptable cloud for tests: a small true model behind `pools.provider.Provider`, with a memory.

`FakeCloud` is the stage: what is there, and what tests make happen. `FakeProvider` is the seam over it. Time comes from
the clock that is passed in; what falls due (boots, ends of notices and holds) happens when somebody looks. Capacity is
one sum per domain: it knows no hosts, tenants or bills. Failures, boot outcomes and latencies stand in `script`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from pools.model import Pool
from pools.ownership import check_create, check_delete, check_mark
from pools.paging import Page, read_part
from pools.provider import (
    Advisory,
    CreateRequest,
    FaultKind,
    ForwardCapacities,
    ForwardCapacity,
    Lifecycle,
    LifecycleKind,
    Listing,
    Mark,
    Notice,
    NoticeKind,
    Part,
    ProjectQuota,
    Quota,
    QuotaExhausted,
    RateCard,
    Reclaim,
    Server,
    Signals,
    Status,
    VictimHint,
)
from pools.script import Boot, Script, SignalLog

FORECAST_MS = 3_600_000
"""How far the fake's forward capacity looks: an hour, like the simulation's."""

FAULTS = {
    Boot.NO_HOST: (FaultKind.NO_HOST, "No valid host was found."),
    Boot.QUOTA: (FaultKind.QUOTA, "Quota exceeded for cores: requested 8, used 396 of 400"),
    Boot.OTHER: (FaultKind.OTHER, "Build of instance aborted."),
}


@dataclass(frozen=True, slots=True)
class Room:
    """What a domain holds: vCPU, memory in bytes, GPUs."""

    vcpu: int
    memory: int
    gpu: int


@dataclass(slots=True)
class Due:
    """How a building server's boot ends, and when; `at` None is never."""

    at: int | None
    outcome: Boot


class FakeCloud:
    """The stage. Everything may be read; change it through the methods, or set `capacity`, `quota` and `rates`."""

    def __init__(
        self,
        pools: Iterable[Pool],
        *,
        estate: str,
        region: str,
        clock: Callable[[], int],
        projects: Collection[str] = (),
        boot_s: int = 30,
        fail_s: int = 5,
        page_limit: int = 1000,
    ) -> None:
        self.pools = {pool.name: pool for pool in pools}
        self.estate, self.region, self.clock = estate, region, clock
        self.projects = tuple(sorted(projects or {pool.project for pool in self.pools.values()}))
        self.boot_s, self.fail_s, self.page_limit = boot_s, fail_s, page_limit
        self.capacity = {pool.domain: _room_of(pool) for pool in self.pools.values()}
        self.quota: dict[str, ProjectQuota] = {}
        self.currency = "EUR"
        self.guaranteed = {name: Decimal(pool.instance.vcpu) / 10 for name, pool in self.pools.items()}
        self.rates = {
            name: rate * (1 if self.pools[name].committed else Decimal("0.4")) for name, rate in self.guaranteed.items()
        }
        self.servers: dict[str, Server] = {}
        self.broken_rows: list[Server] = []
        self.due: dict[str, Due] = {}
        self.notices: dict[str, Notice] = {}
        self.reclaims: dict[str, Reclaim] = {}
        self.advisories: dict[str, Advisory] = {}
        self.hints: dict[str, VictimHint] = {}
        self.log = SignalLog()
        self.script = Script()
        self.created = 0

    def plant(
        self,
        name: str,
        pool: str,
        *,
        mark: Mark | None = None,
        project: str | None = None,
        status: Status = Status.ACTIVE,
        tags: tuple[tuple[str, str], ...] = (),
    ) -> Server:
        """A server that is simply there, whoever made it; capacity and quota count it."""
        self.created += 1
        owner = project if project is not None else self.pools[pool].project
        row = Server(f"server-{self.created:06d}", name, owner, pool, status, self.clock(), mark, tags=tags)
        self.servers[row.id] = row
        self.tell(LifecycleKind.CREATED, row)
        return row

    def break_row(self, name: str, project: str, *, mark: Mark | None = None) -> None:
        """The listing carries one row without an id from now on."""
        self.broken_rows.append(Server("", name, project, "", Status.ERROR, self.clock(), mark))

    def notify(self, server: str, *, seconds: int, kind: NoticeKind = NoticeKind.RECLAIM, reclaim: str = "") -> Notice:
        """Gives a server notice: it goes away in `seconds` unless that is withdrawn."""
        row = self.servers[server]
        now = self.clock()
        id_ = f"{reclaim or kind.value}/{server}/{now}"
        notice = Notice(id_, server, row.name, row.pool, reclaim, kind, now, now + seconds * 1000)
        self.notices[server] = notice
        self.log.say(notice)
        return notice

    def repeat(self, notice: Notice) -> None:
        """Says a notice again, exactly as it was."""
        self.log.say(notice)

    def withdraw(self, server: str) -> Notice:
        """Takes the server's notice back."""
        self.settle()
        notice = replace(self.notices.pop(server), withdrawn=True, withdrawn_at=self.clock())
        self.log.say(notice)
        return notice

    def open_reclaim(self, id_: str, domains: tuple[str, ...], *, hold_s: int, reason: str = "capacity needed") -> None:
        """Opens a reclaim; the notices that belong to it are given by `notify`."""
        now = self.clock()
        self.reclaims[id_] = Reclaim(id_, reason, domains, now, now + hold_s * 1000)

    def advise(self, pool: str, *, seconds: int, reason: str = "demand is rising") -> None:
        """Warns of a pool for a while."""
        now = self.clock()
        self.advisories[pool] = Advisory(pool, now, now + seconds * 1000, reason)

    def move(self, server: str, pool: str) -> None:
        """The server runs in another pool from now on; "" when the provider does not say where."""
        row = replace(self.servers[server], pool=pool, status=Status.MOVED)
        self.servers[server] = row
        self.tell(LifecycleKind.MOVED, row)

    def lose(self, server: str, *, reason: str | None = None) -> None:
        """The server is gone without notice; with a reason a lifecycle event explains it."""
        row = self.remove(server)
        if reason is not None:
            self.tell(LifecycleKind.FAILED, row, reason, taken=True)

    def remove(self, server: str) -> Server:
        """Takes the server out of every book."""
        self.due.pop(server, None)
        self.notices.pop(server, None)
        self.hints.pop(server, None)
        return self.servers.pop(server)

    def tell(self, kind: LifecycleKind, row: Server, reason: str = "", *, taken: bool = False) -> None:
        """Says one lifecycle event."""
        where = row.project, row.mark
        self.log.say(Lifecycle(self.clock(), kind, row.id, row.name, row.pool, reason, *where, taken))

    def settle(self) -> int:
        """Lets everything happen that is due; the present instant."""
        now = self.clock()
        for server, due in list(self.due.items()):
            if due.at is not None and due.at <= now:
                del self.due[server]
                self._end_boot(server, due.outcome)
        for server, notice in list(self.notices.items()):
            if notice.ends_at <= now:
                self.tell(LifecycleKind.DELETED, self.remove(server), notice.kind.value, taken=True)
        self.reclaims = {id_: reclaim for id_, reclaim in self.reclaims.items() if reclaim.hold_until > now}
        self.advisories = {pool: advisory for pool, advisory in self.advisories.items() if advisory.until > now}
        return now

    def _end_boot(self, server: str, outcome: Boot) -> None:
        row = self.servers[server]
        if outcome is Boot.ACTIVE:
            self.servers[server] = replace(row, status=Status.ACTIVE)
            self.tell(LifecycleKind.ACTIVE, row)
            return
        kind, text = FAULTS[outcome]
        self.servers[server] = replace(row, status=Status.ERROR, fault=kind, fault_text=text)
        self.tell(LifecycleKind.FAILED, row, kind.value)


class FakeProvider:
    """The seam over the stage."""

    def __init__(self, cloud: FakeCloud) -> None:
        self.cloud = cloud

    def signals(self, cursor: str) -> Signals:
        """As the seam promises."""
        now = self._enter("signals")
        following, notices, lifecycle = self.cloud.log.since(cursor)
        return Signals(
            as_of=now,
            cursor=following,
            notices=notices,
            reclaims=tuple(self.cloud.reclaims.values()),
            advisories=tuple(self.cloud.advisories.values()),
            lifecycle=lifecycle,
        )

    def rates(self) -> RateCard:
        """As the seam promises; a pool taken out of `rates` has none."""
        now = self._enter("rates")
        return RateCard(now, self.cloud.currency, dict(self.cloud.rates), dict(self.cloud.guaranteed))

    def forward_capacity(self) -> ForwardCapacities:
        """As the seam promises; exact, and nothing in a domain under an open reclaim."""
        now = self._enter("forward_capacity")
        held = {domain for reclaim in self.cloud.reclaims.values() for domain in reclaim.domains}
        rows = []
        for domain in sorted(self.cloud.capacity):
            room = Room(0, 0, 0) if domain in held else _free(self.cloud, domain)
            rows.append(ForwardCapacity(domain, room.vcpu, room.memory, room.gpu, now + FORECAST_MS, 1.0))
        return ForwardCapacities(now, tuple(rows))

    def instances(self) -> Listing:
        """As the seam promises; one part per owned project."""
        now = self._enter("instances")
        rows: list[Server] = []
        parts: list[Part] = []
        for project in self.cloud.projects:
            found, part = read_part(project, _pages(self.cloud, project))
            rows.extend(found)
            parts.append(part)
        return Listing(now, tuple(rows), tuple(parts))

    def create(self, request: CreateRequest) -> Server:
        """As the seam promises; without room the server ends in ERROR."""
        now = self._enter("create")
        cloud = self.cloud
        pool = check_create(
            request, estate=cloud.estate, region=cloud.region, projects=cloud.projects, pools=cloud.pools
        )
        for row in cloud.servers.values():
            if row.project == request.project and row.mark is not None and row.mark.key == request.mark.key:
                return row
        outcome = cloud.script.on_create(request.pool) or Boot.ACTIVE
        _check_quota(cloud, request.project, pool)
        room, shape = _free(cloud, pool.domain), pool.instance
        fits = room.vcpu >= shape.vcpu and room.memory >= shape.memory and room.gpu >= shape.gpu
        if outcome is Boot.ACTIVE and not fits:
            outcome = Boot.NO_HOST
        row = cloud.plant(
            request.mark.name, pool.name, mark=request.mark, project=request.project, status=Status.BUILDING
        )
        wait_s = cloud.boot_s if outcome is Boot.ACTIVE else cloud.fail_s
        cloud.due[row.id] = Due(None if outcome is Boot.NEVER else now + wait_s * 1000, outcome)
        cloud.script.on_answer("create")
        return row

    def delete(self, server: str, *, expected: Mark) -> None:
        """As the seam promises, at once."""
        self._enter("delete")
        row = self.cloud.servers.get(server)
        check_delete(server, row, expected=expected, estate=self.cloud.estate, projects=self.cloud.projects)
        self.cloud.tell(LifecycleKind.DELETED, self.cloud.remove(server), "deleted")
        self.cloud.script.on_answer("delete")

    def quota(self) -> Quota:
        """As the seam promises; a project without a stated quota has one that no test reaches."""
        now = self._enter("quota")
        return Quota(now, tuple(_left(self.cloud, project) for project in self.cloud.projects))

    def mark(self, server: str, mark: Mark | None) -> None:
        """As the seam promises."""
        self._enter("mark")
        row = self.cloud.servers.get(server)
        row = check_mark(server, row, mark=mark, estate=self.cloud.estate, projects=self.cloud.projects)
        self.cloud.servers[server] = replace(row, mark=mark)

    def publish_hints(self, hints: tuple[VictimHint, ...]) -> None:
        """As the seam promises; hints about servers that are not there are dropped."""
        self._enter("publish_hints")
        self.cloud.hints.update({hint.server: hint for hint in hints if hint.server in self.cloud.servers})

    def _enter(self, call: str) -> int:
        """What every call begins with: what is due happens, then the script may raise."""
        now = self.cloud.settle()
        self.cloud.script.on_call(call, now)
        return now


UNLIMITED = 1_000_000
"""Instances and vCPU of a project whose quota nobody stated; memory is counted in GiB of it."""


def _room_of(pool: Pool) -> Room:
    hosts = pool.hosts
    return Room(hosts.count * hosts.vcpu, hosts.count * hosts.memory, hosts.count * hosts.gpu)


def _counted(cloud: FakeCloud, row: Server) -> bool:
    """Whether a row takes room: not once its boot has failed, nor while it is known to fail."""
    due = cloud.due.get(row.id)
    return row.status is not Status.ERROR and (due is None or due.outcome in (Boot.ACTIVE, Boot.NEVER))


def _free(cloud: FakeCloud, domain: str) -> Room:
    room = cloud.capacity[domain]
    for row in cloud.servers.values():
        pool = cloud.pools.get(row.pool)
        if pool is not None and pool.domain == domain and _counted(cloud, row):
            shape = pool.instance
            room = Room(room.vcpu - shape.vcpu, room.memory - shape.memory, room.gpu - shape.gpu)
    return Room(max(0, room.vcpu), max(0, room.memory), max(0, room.gpu))


def _left(cloud: FakeCloud, project: str) -> ProjectQuota:
    """Quota less everything listed in the project, failed servers included."""
    limit = cloud.quota.get(project) or ProjectQuota(project, UNLIMITED, UNLIMITED, UNLIMITED * 1024**3)
    shapes = [
        cloud.pools[row.pool].instance
        for row in cloud.servers.values()
        if row.project == project and row.pool in cloud.pools
    ]
    return ProjectQuota(
        project=project,
        instances=limit.instances - len(shapes),
        vcpu=limit.vcpu - sum(shape.vcpu for shape in shapes),
        memory=limit.memory - sum(shape.memory for shape in shapes),
    )


def _check_quota(cloud: FakeCloud, project: str, pool: Pool) -> None:
    left, shape = _left(cloud, project), pool.instance
    if left.instances < 1 or left.vcpu < shape.vcpu or left.memory < shape.memory:
        raise QuotaExhausted(f"{project}: {left.instances} instances and {left.vcpu} vCPU left, {pool.name} needs one")


def _pages(cloud: FakeCloud, project: str) -> Callable[[str], Page]:
    """A function that fetches one page of a project, newest servers first; markers are page numbers."""
    rows = [row for row in (*cloud.servers.values(), *cloud.broken_rows) if row.project == project][::-1]
    limit = cloud.page_limit

    def fetch(marker: str) -> Page:
        number = int(marker or "1")
        cloud.script.on_page(project, number)
        more = str(number + 1) if number * limit < len(rows) else ""
        return Page(tuple(rows[(number - 1) * limit : number * limit]), more)

    return fetch
