"""Wires around what a replica asks of cloud, schedulers and nodes: they make faults happen and witness every effect.

Each plays a port of `reconciler.loop.Ports`. What took effect is written to the chronicle as an act at that instant,
whatever answer comes back; what the replica could see is told to its `Sight`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from contracts.errors import EbbtideError, Transient
from pools.provider import (
    CreateRequest,
    ForwardCapacities,
    Listing,
    Mark,
    ProjectQuota,
    Quota,
    RateCard,
    Server,
    Signals,
    Status,
    VictimHint,
)
from reconciler.ports import SchedulerView
from simulation.chronicle import Act, Call
from simulation.cloud_state import Record
from simulation.faults import Fault
from simulation.line import Line, Side
from simulation.listings import dimmed, distorted, garbled_signals, hidden_in, seen_whole
from simulation.scene import Scene


@dataclass
class Sight:
    """What one cycle brought, by the world's account; wires fill it in, the replica makes a `Look` of it."""

    whole: frozenset[str] = frozenset()
    listed_at: int = 0
    told: bool = False
    silent: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()


@dataclass
class Witness:
    """Who acts on a wire, and where that is written down; `epoch` is the one that the process believes in."""

    scene: Scene
    line: Line
    replica: str
    epoch: Callable[[], int]
    acting: Callable[[], None]
    sight: Sight = field(default_factory=Sight)
    _late: int | None = None

    def late(self, effect: Callable[[], object]) -> Callable[[], None]:
        """The effect for when its caller gave the call up: under the epoch of now, and nobody hears of it."""
        epoch = self.epoch()

        def come() -> None:
            self._late = epoch
            try:
                with contextlib.suppress(EbbtideError):
                    effect()
            finally:
                self._late = None

        return come

    def act(self, act: Act, side: Side) -> None:
        """One effect, now: written down, then its answer goes back."""
        acts = self.scene.chronicle.acts
        place = len(acts)
        acts.append(act)
        if self._late is not None:
            acts[place] = replace(act, answered=False)
            return
        try:
            self.line.answer(act.call.value, side)
        except BaseException:
            acts[place] = replace(act, answered=False)
            raise

    def new(self, call: Call, name: str, **about: object) -> Act:
        """An act of this replica, now."""
        if self._late is None:
            self.acting()
        epoch = self.epoch() if self._late is None else self._late
        return Act(self.scene.world.now, self.replica, epoch, call, name, **about)  # type: ignore[arg-type]  # the dataclass checks the names


class WiredProvider:
    """`pools.provider.Provider` over the simulated cloud."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._scene, self._line = witness.scene, witness.line
        self._cloud = witness.scene.world.cloud
        self._frozen: tuple[Fault, Listing] | None = None

    def signals(self, cursor: str) -> Signals:
        """As the seam promises, or not."""
        return self._line.read("signals", lambda: self._signals(cursor))

    def _signals(self, cursor: str) -> Signals:
        weather = self._scene.weather
        if weather.on("signals_silent"):
            raise Transient("signals: no answer")
        if weather.on("signals_late"):
            said = self._cloud.signals(cursor)
            said = replace(said, cursor=cursor, notices=(), lifecycle=())
        else:
            said = self._cloud.signals(cursor)
            again = self._cloud.signals("") if weather.on("signals_doubled") else None
            said = garbled_signals(said, again, weather, lost=self._scene.register.lost, names=self._strangers())
        self._witness.sight.told = True
        return said

    def _strangers(self) -> list[str]:
        if not self._scene.weather.on("signals_forged"):
            return []
        ours = self._cloud.state.parameters.estate, self._cloud.state.region
        rows = [record.server for record in self._cloud.state.records.values()]
        return sorted(r.name for r in rows if r.mark is None or (r.mark.estate, r.mark.region) != ours)

    def rates(self) -> RateCard:
        """As the seam promises, or not."""
        self._silent_while("rates_silent")
        return self._line.read("rates", self._cloud.rates)

    def forward_capacity(self) -> ForwardCapacities:
        """As the seam promises, or not."""
        self._silent_while("forward_silent")
        return self._line.read("forward_capacity", self._cloud.forward_capacity)

    def instances(self) -> Listing:
        """As the seam promises, or not."""
        return self._line.read("instances", self._instances)

    def _instances(self) -> Listing:
        weather = self._scene.weather
        true = self._cloud.instances()
        stale = weather.on("listing_lying") or weather.on("listing_stale")
        if stale is None:
            self._frozen = None
        elif self._frozen is None or self._frozen[0] is not stale:
            self._frozen = stale, true
        told = distorted(true, self._frozen[1] if self._frozen else None, weather)
        region = self._scene.world.setting.estate.region(self._cloud.state.region)
        sight = self._witness.sight
        sight.whole = seen_whole(true, told, region.guard.listing_age * 1000)
        sight.listed_at = self._frozen[1].as_of if self._frozen else true.as_of
        sight.hidden = hidden_in(true, told, sight.whole, sight.listed_at)
        return told

    def quota(self) -> Quota:
        """As the seam promises, or not."""
        self._silent_while("quota_silent")
        return self._line.read("quota", self._quota)

    def _quota(self) -> Quota:
        told = self._cloud.quota()
        return replace(told, projects=tuple(self._believed(project) for project in told.projects))

    def _believed(self, told: ProjectQuota) -> ProjectQuota:
        limit = self._scene.happenings.honest_limit(told.project)
        if limit is None:
            return told
        used = self._cloud.state.used[told.project]
        return ProjectQuota(told.project, limit.instances - used[0], limit.vcpu - used[1], limit.memory - used[2])

    def create(self, request: CreateRequest) -> Server:
        """As the seam promises, or not; a lie is a server that never was."""

        def lie() -> Server:
            mark, now = request.mark, self._scene.world.now
            return Server(f"never-{mark.name}", mark.name, request.project, request.pool, Status.BUILDING, now, mark)

        late = self._witness.late(lambda: self._create(request))
        return self._line.change("create", Side.PROVIDER, lambda: self._create(request), lie, late)

    def _create(self, request: CreateRequest) -> Server:
        created = self._cloud.state.created
        server = self._cloud.create(request)
        mark = request.mark
        act = self._witness.new(
            Call.CREATE,
            mark.name,
            server=server.id,
            project=request.project,
            pool=request.pool,
            workload=mark.workload,
            units=mark.units,
            paid=mark.paid,
            fresh=self._cloud.state.created > created,
        )
        self._witness.act(act, Side.PROVIDER)
        return server

    def delete(self, server: str, *, expected: Mark) -> None:
        """As the seam promises, or not."""
        late = self._witness.late(lambda: self._delete(server, expected))
        self._line.change("delete", Side.PROVIDER, lambda: self._delete(server, expected), lambda: None, late)

    def _delete(self, server: str, expected: Mark) -> None:
        record = self._cloud.state.records.get(server)
        self._cloud.delete(server, expected=expected)
        self._witness.act(self._about(Call.DELETE, expected.name, record), Side.PROVIDER)

    def mark(self, server: str, mark: Mark | None) -> None:
        """As the seam promises, or not."""
        late = self._witness.late(lambda: self._mark(server, mark))
        self._line.change("mark", Side.PROVIDER, lambda: self._mark(server, mark), lambda: None, late)

    def _mark(self, server: str, mark: Mark | None) -> None:
        record = self._cloud.state.records.get(server)
        stood = record.server.mark if record else None
        act = self._about(Call.UNMARK if mark is None else Call.MARK, record.server.name if record else "", record)
        self._cloud.mark(server, mark)
        self._witness.act(replace(act, fresh=stood != mark), Side.PROVIDER)

    def _about(self, call: Call, name: str, record: Record | None) -> Act:
        if record is None:
            return self._witness.new(call, name, fresh=False)
        row = record.server
        mark = row.mark
        return self._witness.new(
            call,
            name,
            server=row.id,
            project=row.project,
            pool=row.pool,
            workload=mark.workload if mark else "",
            units=mark.units if mark else 0,
            paid=mark.paid if mark else "",
            stood=mark,
        )

    def publish_hints(self, hints: tuple[VictimHint, ...]) -> None:
        """As the seam promises, or not."""
        self._line.read("publish_hints", lambda: self._cloud.publish_hints(hints))

    def _silent_while(self, kind: str) -> None:
        if self._scene.weather.on(kind):
            raise Transient(f"{kind.partition('_')[0]}: no answer")


class WiredSchedulers:
    """`reconciler.ports.Schedulers` and `Nodes` over the simulated site."""

    def __init__(self, witness: Witness, clusters: Mapping[str, str]) -> None:
        self._witness, self._clusters = witness, clusters
        self._scene, self._line = witness.scene, witness.line
        self._site = witness.scene.world.site
        self._frozen: tuple[Fault, SchedulerView] | None = None

    def view(self) -> SchedulerView:
        """As the seam promises, or not."""
        weather = self._scene.weather
        view = self._site.view()
        if weather.all_on("scheduler_silent") or weather.all_on("scheduler_forgets"):
            view = dimmed(view, weather, cluster=self._clusters, runs=self._runs)
        stale = weather.on("scheduler_stale")
        if stale is None:
            self._frozen = None
        elif self._frozen is None or self._frozen[0] is not stale:
            self._frozen = stale, replace(view, demands=dict(view.demands), nodes=dict(view.nodes))
        self._witness.sight.silent = view.silent_clusters
        return view if self._frozen is None else self._frozen[1]

    def _runs(self, node: str) -> str:
        slots = self._scene.world.work.by_instance.get(node)
        return slots.workload if slots else ""

    def remove_node(self, name: str) -> None:
        """As the seam promises, or not."""
        self._line.change("remove_node", Side.NODES, lambda: self._remove(name), lambda: None)

    def _remove(self, name: str) -> None:
        self._site.remove_node(name)
        self._witness.act(self._witness.new(Call.REMOVE_NODE, name, workload=self._runs(name)), Side.NODES)

    def ask_return(self, name: str, *, ends_at: int, cause_event: str) -> None:
        """As the seam promises, or not."""
        self._line.change("ask_return", Side.NODES, lambda: self._ask_return(name, ends_at, cause_event), lambda: None)

    def _ask_return(self, name: str, ends_at: int, cause_event: str) -> None:
        slots = self._scene.world.work.by_instance.get(name)
        fresh = slots is not None and not slots.draining
        self._site.ask_return(name, ends_at=ends_at, cause_event=cause_event)
        act = self._witness.new(
            Call.ASK_RETURN,
            name,
            pool=slots.pool if slots else "",
            workload=slots.workload if slots else "",
            units=slots.units if slots else 0,
            paid=slots.paid.value if slots else "",
            fresh=fresh,
            for_=cause_event,
            ends_at=ends_at,
        )
        self._witness.act(act, Side.NODES)
