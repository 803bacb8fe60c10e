"""A small region for the reconciler's tests: the minimal estate of the samples, one instance holding one unit.

Eight reclaimable pools (two in each of four halls) and a committed one; `forecast` runs on Kubernetes (floor 4,
minimum 8, maximum 40, fallback allowed), `hindcast` on Slurm (maximum 24, no floor).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from contracts.approval import SignedApproval
from contracts.model import Contract
from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from pools.fake import FakeCloud, FakeProvider
from pools.provider import Listing, Mark, Part, Server, Signals, Status
from reconciler.appraisal import Appraiser
from reconciler.breakers import Order
from reconciler.cycle import Decision, Memory
from reconciler.desired import Partition, partition
from reconciler.drafts import Scribe
from reconciler.fakes import FakeDesired, FakeJournal, FakeNodes, FakeRecorder, FakeSchedulers, FakeStop
from reconciler.fleet import Fleet, Instance, Phase
from reconciler.loop import Ports, Reconciler
from reconciler.opening import open_day
from reconciler.ports import NodeView
from reconciler.sight import Sight
from reconciler.steps import Step, StepKind
from reconciler.store_memory import MemoryStore
from repo_layout.model import Estate
from tests.checks.estates import changed, judged, minimal

START = 1_767_225_600_000  # 2026-01-01T00:00:00Z; any instant does
SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
ESTATE, REGION, PROJECT = "minimal", "north", "ebbtide-north"
FORECAST, HINDCAST = "forecast", "hindcast"
SETTINGS = "ebbtide.yaml"
GENERAL_FILE = "pools/north/h1-general-a.yaml"
ADOPTION_FILE = "adoptions/north/old-forecast.yaml"
KEPT = "h1-committed-4x16"
POOL, OTHER_POOL = "h1-general-a-4x16", "h2-general-a-4x16"
KUBERNETES, SLURM = "north-k8s", "north-slurm"
ADOPTED_SERVER = "5f0c6a52-54d6-4a0c-9a80-7f2a9c6f1a11"


@cache
def _estate(swaps: tuple[tuple[str, str, str], ...]) -> Estate:
    files = minimal()
    for path, old, new in swaps:
        files = changed(path, (old, new), files=files)
    estate = judged(files).estate
    assert estate is not None
    return estate


def estate(*swaps: tuple[str, str, str]) -> Estate:
    """The minimal estate with some text of some files swapped: (path, old, new)."""
    return _estate(swaps)


def with_settings(lines: str) -> tuple[str, str, str]:
    """A swap that adds lines to the end of the settings."""
    return SETTINGS, 'spendCeilingPerDay: "50.00 EUR"', 'spendCeilingPerDay: "50.00 EUR"\n' + lines


def with_region(lines: str) -> tuple[str, str, str]:
    """A swap that adds lines to the region's settings."""
    return SETTINGS, "    timeZone: Europe/Oslo", "    timeZone: Europe/Oslo\n" + lines


def part(*swaps: tuple[str, str, str]) -> Partition:
    return partition(estate(*swaps), REGION)


def contract(name: str = FORECAST, **changes: object) -> Contract:
    return estate().contract_by_name[name].model_copy(update=changes)


def name(number: int, epoch: int = 1) -> str:
    return f"eb-{REGION}-{epoch}-{number:06d}"


def instance(number: int = 1, **changes: object) -> Instance:
    """A serving instance of `forecast`, an hour old."""
    made = Instance(
        name=name(number),
        pool=POOL,
        project=PROJECT,
        workload=FORECAST,
        units=1,
        paid=Paid.RECLAIMABLE,
        phase=Phase.SERVING,
        requested_at=START - HOUR,
        epoch=1,
        server=f"server-{number}",
        started_at=START - HOUR,
        joined_at=START - HOUR,
        busy_units=1,
        covered=True,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # the dataclass checks the names


def fleet(*instances: Instance) -> Fleet:
    return Fleet({i.name: i for i in instances}, sequence=1000)


def row(of: Instance, **changes: object) -> Server:
    """How a listing shows the instance."""
    mark = Mark(ESTATE, REGION, of.name, of.epoch, of.workload, of.units, of.paid.value)
    made = Server(of.server, of.name, of.project, of.pool, Status.ACTIVE, of.requested_at, mark)
    return replace(made, **changes)  # type: ignore[arg-type]  # the dataclass checks the names


def listing(*rows: Server, at: int = START, complete: bool = True) -> Listing:
    return Listing(at, rows, (Part(PROJECT, complete, "" if complete else "503 on page 2"),))


def node(of: Instance, **changes: object) -> NodeView:
    made = NodeView(of.name, of.joined_at or START, of.busy_units, covered=True)
    return replace(made, **changes)  # type: ignore[arg-type]  # the dataclass checks the names


def sight(
    *rows: Server,
    now: int = START,
    signals: Signals | None = None,
    nodes: Mapping[str, NodeView] | None = None,
    **more: object,
) -> Sight:
    """What a pass of the census is shown: these rows, completely listed now."""
    made = Sight(
        now=now,
        estate=ESTATE,
        region=REGION,
        join_timeout_s=600,
        signals=signals or Signals(as_of=now, cursor="1"),
        listing=listing(*rows, at=now),
        nodes=nodes or {},
        workloads=frozenset({FORECAST, HINDCAST}),
        projects=frozenset({PROJECT}),
    )
    return replace(made, **more)  # type: ignore[arg-type]  # the dataclass checks the names


def scribe(now: int = START) -> Scribe:
    return Scribe(REGION, now, "commit", 1)


def step(kind: StepKind = StepKind.ACQUIRE, number: int = 500, **changes: object) -> Step:
    made = Step(
        kind=kind,
        workload=FORECAST,
        pool=POOL,
        project=PROJECT,
        instance=name(number),
        units=1,
        paid=Paid.RECLAIMABLE,
        cause=Cause.CLAIM_GREW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # the dataclass checks the names


def local_day(now: int) -> str:
    return str(now // 86_400_000)


class Region:
    """The whole loop over fakes, on one clock that the test moves."""

    def __init__(self, *swaps: tuple[str, str, str], memory: Memory | None = None) -> None:
        self.now = START
        self.part = part(*swaps)
        self.cloud = FakeCloud(
            self.part.pools, estate=ESTATE, region=REGION, clock=lambda: self.now, projects=(PROJECT,)
        )
        self.schedulers = FakeSchedulers(lambda: self.now)
        self.nodes = FakeNodes(self.schedulers)
        self.recorder = FakeRecorder()
        self.stop = FakeStop()
        self.accepted_at = 0
        self.orders: list[Order] = []
        self.signed: list[SignedApproval] = []
        self.set_by = 0  # by how much somebody set the machine's clock
        self.desired = FakeDesired(self.part.estate)
        self.store = MemoryStore()
        open_day(self.store, key=f"reservations/{REGION}", day=local_day(self.now))
        self.journal = FakeJournal()
        self.reconciler = self.leader(memory)

    def leader(self, memory: Memory | None = None) -> Reconciler:
        """A reconciler over the same surroundings, with an empty memory unless one is given."""
        ports = Ports(
            provider=FakeProvider(self.cloud),
            schedulers=self.schedulers,
            nodes=self.nodes,
            recorder=self.recorder,
            stop=self.stop,
            desired=self.desired,
            store=self.store,
            journal=self.journal,
            clock=lambda: self.now + self.set_by,
            monotonic=lambda: self.now,
            local_day=local_day,
            user_data=lambda _: b"",
            accepted_at=lambda: self.accepted_at,
            orders=lambda after: [order for order in self.orders if order.number > after],
            signed=lambda: self.signed,
            sole=True,
        )
        return Reconciler(
            ports,
            Appraiser(),
            parted=lambda estate: partition(estate, REGION),
            memory=memory or Memory(listed_at=self.now),
        )

    def review(self, *swaps: tuple[str, str, str]) -> None:
        """Another commit of the estate is merged."""
        self.part = part(*swaps)
        self.desired.estate, self.desired.commit = self.part.estate, f"{self.desired.commit}+"

    def cycle(self, seconds: int = 60, **more: bool) -> Decision:
        """One cycle, so many seconds after the last."""
        self.now += seconds * SECOND
        return self.reconciler.cycle(**more)

    def cycles(self, count: int, seconds: int = 60) -> None:
        for _ in range(count):
            self.cycle(seconds)
            self.join()

    def join(self) -> None:
        """Everything of ours that is active becomes a busy node."""
        self.cloud.settle()
        for server in self.cloud.servers.values():
            if (
                server.mark is not None
                and server.status is Status.ACTIVE
                and server.mark.name not in self.schedulers.nodes
            ):
                self.schedulers.join(server.mark.name, busy=server.mark.units)

    def settled(self, forecast: int = 0, hindcast: int = 0) -> Region:
        """The region after everything that is wanted runs."""
        self.schedulers.want(FORECAST, forecast)
        self.schedulers.want(HINDCAST, hindcast)
        self.cycles(14)
        return self

    def ours(self, workload: str = FORECAST, phase: Phase | None = None) -> list[Instance]:
        instances = self.reconciler.memory.fleet.instances.values()
        return [i for i in instances if i.workload == workload and (phase is None or i.phase is phase)]

    def servers(self, workload: str = FORECAST) -> list[Server]:
        return [s for s in self.cloud.servers.values() if s.mark is not None and s.mark.workload == workload]

    def busy(self) -> str:
        """The name of a serving reclaimable instance of `forecast`."""
        return next(i.name for i in self.ours(phase=Phase.SERVING) if i.paid is Paid.RECLAIMABLE)

    def server_id(self, name: str) -> str:
        return self.reconciler.memory.fleet.instances[name].server

    def supply(self, workload: str = FORECAST) -> int:
        return sum(i.units for i in self.ours(workload) if i.supply)

    def told(self, type_: EventType) -> list[Event]:
        return [event for event in self.recorder.events if event.type is type_]


def of_kind(decision: Decision, kind: StepKind) -> list[Step]:
    return [s for s in decision.allowed if s.kind is kind]
