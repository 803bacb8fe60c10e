"""A short history of a region over fakes, killed at any one of its effects: what happened, and what was written down.

Every call that changes something outside has a point after its effect and before its answer, and the first of each
cycle one before its effect as well. Those are all: between an effect and the next one nothing outside happens, whether
the answer was heard or not, and what the process knew dies with it. Reading calls change nothing and have no points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ledger.events import Event, EventType
from pools.provider import Status
from reconciler.appraisal import Appraiser
from reconciler.desired import partition
from reconciler.fakes import FakeJournal, FakeRecorder
from reconciler.loop import Ports, Reconciler
from tests.reconciler.builders import (
    ADOPTED_SERVER,
    ADOPTION_FILE,
    FORECAST,
    HINDCAST,
    POOL,
    PROJECT,
    REGION,
    SECOND,
    Region,
    with_region,
)

EFFECTS = {
    "provider": ("create", "delete", "mark"),
    "nodes": ("ask_return",),
    "schedulers": ("remove_node",),
    "recorder": ("record",),
    "journal": ("save",),
    "store": ("put",),
}
TICKS_AFTER = 5
"""Quiet cycles behind each play, so that whoever is killed in its last one has a few to find its way."""

NOT_ADOPTED = (ADOPTION_FILE, ADOPTED_SERVER, "00000000-0000-4000-8000-000000000000")
WIDE = with_region("    guard: {releaseShare: 100, acquireCount: 1000, callBurst: 200}")


class Killed(BaseException):
    """The process ends here: no handler of errors may catch it."""


@dataclass
class Fuse:
    """Counts the points of a history, and ends it at number `at` (-1: never)."""

    at: int = -1
    points: list[str] = field(default_factory=list)
    fresh: bool = True

    def pass_point(self, where: str) -> None:
        """One more point."""
        self.points.append(where)
        if len(self.points) - 1 == self.at:
            raise Killed(where)


class Wire:
    """A port whose effects pass the fuse."""

    def __init__(self, inner: object, effects: tuple[str, ...], fuse: Fuse) -> None:
        self._inner, self._effects, self._fuse = inner, effects, fuse

    def __getattr__(self, name: str) -> object:
        value = getattr(self._inner, name)
        if name not in self._effects:
            return value

        def call(*args: object, **more: object) -> object:
            if self._fuse.fresh:
                self._fuse.fresh = False
                self._fuse.pass_point(f"before {name}")
            answer = value(*args, **more)
            self._fuse.pass_point(f"after {name}")
            return answer

        return call


@dataclass
class History:
    """One run: the region, what stood in all its spools, and the order of what nodes were asked."""

    region: Region
    fuse: Fuse
    empty_disk: bool
    spools: list[FakeRecorder] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    restarts: int = 0

    @property
    def events(self) -> list[Event]:
        """Everything that was ever told, in order."""
        return [event for spool in self.spools for event in spool.events]

    def told(self, type_: EventType) -> list[Event]:
        return [event for event in self.events if event.type is type_]

    def start(self) -> None:
        """A process begins on what its disk holds."""
        region = self.region
        if self.restarts and self.empty_disk:
            region.journal, region.recorder = FakeJournal(), FakeRecorder()
        if not self.spools or self.spools[-1] is not region.recorder:
            self.spools.append(region.recorder)
        region.reconciler = Reconciler(self._ports(), Appraiser(), parted=lambda estate: partition(estate, REGION))

    def _ports(self) -> Ports:
        region = self.region
        ports = replace(
            region.reconciler.ports, journal=region.journal, recorder=region.recorder, clock=lambda: region.now
        )
        wired = {
            name: Wire(getattr(ports, name), effects, self.fuse)
            for name, effects in EFFECTS.items()
            if not isinstance(getattr(ports, name), Wire)
        }
        return replace(ports, **wired)  # type: ignore[arg-type]  # a wire passes everything through

    def tick(self, seconds: int = 60) -> None:
        """A cycle, which may end its process, and what the world does afterwards."""
        region = self.region
        region.now += seconds * SECOND
        self.fuse.fresh = True
        try:
            region.reconciler.cycle()
        except Killed:
            self.restarts += 1
            self.start()
        self.asked += [name for name in region.nodes.asked if name not in self.asked]
        region.join()
        for name in [*region.nodes.asked, *(n.name for n in region.cloud.notices.values())]:
            if name in region.schedulers.nodes and not region.schedulers.nodes[name].drained:
                region.nodes.finish(name)


def history(play: Callable[[History], None], *, at: int = -1, empty_disk: bool = False) -> History:
    """The play from its beginning, killed at point `at`."""
    region = Region(WIDE, *(() if play is adoption else (NOT_ADOPTED,)))
    run = History(region, Fuse(at), empty_disk)
    run.start()
    play(run)
    run.fuse.at = -1
    points = list(run.fuse.points)
    for _ in range(TICKS_AFTER):
        run.tick()
    run.fuse.points = points
    return run


# -- plays ------------------------------------------------------------------------------------------------------------


def growth(run: History) -> None:
    """Two workloads come to run, and one of the creates fails."""
    run.region.schedulers.want(FORECAST, 10)
    run.region.schedulers.want(HINDCAST, 2)
    for _ in range(8):
        run.tick()


def notice(run: History) -> None:
    """One of ten is noticed: replaced, drained, deleted, taken out of its scheduler."""
    calm(run)
    going = lent(run)
    run.region.cloud.notify(run.region.server_id(going), seconds=600)
    for _ in range(16):
        run.tick()


def loss(run: History) -> None:
    """One of ten is gone without a word."""
    calm(run)
    run.region.cloud.lose(run.region.server_id(lent(run)), reason="host failed")
    for _ in range(9):
        run.tick()


def release(run: History) -> None:
    """Two are needed less, and two stand empty."""
    calm(run)
    empty = [i.name for i in run.region.ours() if i.paid.value == "reclaimable"][-3:]
    for name in empty:
        run.region.schedulers.occupy(name, 0)
    run.region.schedulers.want(FORECAST, 8)
    for _ in range(18):
        run.tick()


def fallback(run: History) -> None:
    """Half of what is lent is gone and nothing else is to be had: the minimum is restored on committed capacity."""
    calm(run)
    cloud = run.region.cloud
    for domain in cloud.capacity:
        if "committed" not in domain:
            cloud.capacity[domain] = replace(cloud.capacity[domain], vcpu=0)
    for instance in [i for i in run.region.ours() if i.paid.value == "reclaimable"][:4]:
        cloud.lose(instance.server, reason="host failed")
    for _ in range(14):
        run.tick()


def adoption(run: History) -> None:
    """A server is handed over by review, and later taken back."""
    region = run.region
    row = region.cloud.plant("old-forecast-1", POOL, project=PROJECT, status=Status.ACTIVE)
    region.cloud.servers[ADOPTED_SERVER] = replace(region.cloud.servers.pop(row.id), id=ADOPTED_SERVER)
    region.schedulers.want(FORECAST, 5)
    for _ in range(5):
        run.tick()
    region.review(WIDE, NOT_ADOPTED)
    for _ in range(6):
        run.tick()


def calm(run: History) -> None:
    """Ten units run, and nothing is going on; no kill strikes before."""
    at, run.fuse.at = run.fuse.at, -1
    run.region.schedulers.want(FORECAST, 10)
    for _ in range(7):
        run.tick()
    run.fuse.at = at
    run.fuse.points.clear()


def lent(run: History) -> str:
    return next(i.name for i in run.region.ours() if i.paid.value == "reclaimable")


def outline(run: History) -> Counter[tuple[str, str, str]]:
    """What was told of instances, without names and times: an event told twice counts once."""
    said = {e.id: e for e in run.events if e.instance and e.type is not EventType.GUARD_REFUSED}
    return Counter((event.type.value, event.cause.value, event.workload) for event in said.values())
