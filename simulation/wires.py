"""Wires around what a replica changes at cloud, schedulers and nodes: they make faults happen and witness every effect.

Each plays a port of `reconciler.loop.Ports`. What took effect is written to the chronicle as an act at that instant,
whatever answer comes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from contracts.errors import EbbtideError
from pools.provider import CreateRequest, Mark, Server, Status
from reconciler.ports import SchedulerView
from simulation.chronicle import NEVER, Act, Call
from simulation.cloud_model import EndCause, Happening, HappeningKind
from simulation.cloud_state import Record, ours_since
from simulation.line import Side
from simulation.listings import dimmed
from simulation.wired_answers import WiredAnswers
from simulation.witness import Witness

RUNS = (Status.ACTIVE, Status.MOVED)


class WiredProvider(WiredAnswers):
    """`pools.provider.Provider` over the simulated cloud."""

    def create(self, request: CreateRequest) -> Server:
        """As the seam promises, or not; a lie is a server that never was."""

        def lie() -> Server:
            mark, now = request.mark, self._scene.world.now
            return Server(f"{NEVER}{mark.name}", mark.name, request.project, request.pool, Status.BUILDING, now, mark)

        late = self._witness.late(lambda: self._create(request))
        return self._line.change("create", Side.PROVIDER, lambda: self._create(request), lie, late)

    def _create(self, request: CreateRequest) -> Server:
        server, act = self._made(request)
        if self._scene.weather.strikes("create_doubled"):
            self._witness.unheard(act)
            server, act = self._made_again(request, server, act)
        self._witness.act(act, Side.PROVIDER)
        return server

    def _made_again(self, request: CreateRequest, server: Server, act: Act) -> tuple[Server, Act]:
        """Whoever carries the calls asks once more, without a token; where that is refused the first stands alone."""
        state = self._cloud.state
        tokens, state.tokens = state.tokens, False
        try:
            return self._made(request)
        except EbbtideError:
            return server, replace(act, fresh=False)
        finally:
            state.tokens = tokens

    def _made(self, request: CreateRequest) -> tuple[Server, Act]:
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
        return server, act

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
        if mark is not None:
            act = replace(act, workload=mark.workload, units=mark.units, paid=mark.paid)
        if record is not None and record.server.status in RUNS and (mark is None) != (stood is None):
            self._change_hands(record, act.pool, mark)
        self._witness.act(replace(act, fresh=stood != mark), Side.PROVIDER)

    def _change_hands(self, record: Record, pool: str, mark: Mark | None) -> None:
        """A server that runs becomes one of our nodes, or none any more; nothing else happens to it."""
        world, row, ours = self._scene.world, record.server, mark is not None
        kind, cause = (HappeningKind.ACTIVE, None) if ours else (HappeningKind.ENDED, EndCause.DELETED)
        world.site.on_cloud(
            Happening(ours_since(mark, world.now), kind, row.id, row.name, pool, cause=cause, told=ours)
        )

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


class WiredSchedulers:
    """`reconciler.ports.Schedulers` and `Nodes` over the simulated site."""

    def __init__(self, witness: Witness, clusters: Mapping[str, str]) -> None:
        self._witness, self._clusters = witness, clusters
        self._scene, self._line = witness.scene, witness.line
        self._site = witness.scene.world.site

    def view(self) -> SchedulerView:
        """As the seam promises, or not."""
        weather = self._scene.weather
        stale = weather.on("scheduler_stale")
        view = self._site.view() if stale is None else self._scene.register.viewed[stale.name]
        if weather.all_on("scheduler_silent") or weather.all_on("scheduler_forgets"):
            nodes, view = view.nodes, dimmed(view, weather, cluster=self._clusters, runs=self._runs)
            self._witness.sight.unseen = frozenset(
                name
                for name in nodes.keys() - view.nodes.keys()
                if self._clusters.get(self._runs(name)) not in view.silent_clusters
            )
        self._witness.sight.silent = self._silent(view)
        return view

    def _silent(self, view: SchedulerView) -> frozenset[str]:
        """Clusters that did not answer; what is older than the estate allows of any answer is none (DESIGN 10)."""
        setting = self._scene.world.setting
        oldest = self._scene.world.now - setting.estate.region(setting.region).guard.listing_age * 1000
        return view.silent_clusters if view.as_of >= oldest else frozenset(self._clusters.values())

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
        again = self._site.asked.get(name) == cause_event  # it may not have heard yet: its agent is dead
        fresh = slots is not None and not slots.draining and not again
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
