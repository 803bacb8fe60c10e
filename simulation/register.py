"""Writes down what cloud and nodes really do in one history: the chronicle's part that no replica has a hand in.

Told by the world of every happening; decides nothing. What the provider's stream loses while `signals_lost` is on is
drawn here, so that what was given and what can be heard agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ledger.events import Event
from pools.provider import Listing, Notice
from reconciler.ports import SchedulerView
from simulation.chronicle import Chronicle, Ended, Moved, Node, NodeWord, Stopped
from simulation.cloud_model import EndCause, Happening, HappeningKind
from simulation.faults import Fault
from simulation.weather import Weather, hit
from simulation.world import World


class Register:
    """The world's own account of one history.

    `lost` are notices and withdrawals that the stream never carries, `listed` and `viewed` what stood when a fault
    began that shows it from then on.
    """

    def __init__(self, world: World, weather: Weather, chronicle: Chronicle) -> None:
        self._world, self._weather, self._chronicle = world, weather, chronicle
        self._standing: dict[str, Notice] = {}
        self.lost: set[tuple[str, bool]] = set()
        self.listed: dict[str, Listing] = {}
        self.viewed: dict[str, SchedulerView] = {}
        self._thrown: list[Fault] = []
        world.hear = self._hear
        world.wanted = lambda workload, units: chronicle.wanted.append((world.now, workload, units))
        world.site.say = self._say
        weather.begins["people_stop"] = weather.ends["people_stop"] = self._stop
        weather.begins["listing_stale"] = weather.begins["listing_lying"] = self._keep_listing
        weather.begins["scheduler_stale"] = self._keep_view

    def record(self, events: Sequence[Event]) -> None:
        """What the nodes tell themselves."""
        self._chronicle.events.setdefault("", []).extend(events)
        self._chronicle.recorded.setdefault("", []).extend([self._world.now] * len(events))

    def room(self) -> Mapping[str, int]:
        """How many more instances each pool could take, by hosts and quota."""
        state = self._world.cloud.state
        found = {}
        for pool in state.pools.values():
            limit, used, shape = state.limits[pool.project], state.used[pool.project], pool.instance
            left = min(
                limit.instances - used[0],
                (limit.vcpu - used[1]) // shape.vcpu,
                (limit.memory - used[2]) // shape.memory,
            )
            found[pool.name] = max(0, min(left, state.domains[pool.domain].fits(shape)))
        return found

    def _hear(self, happened: Happening) -> None:
        notice, chronicle, at = happened.notice, self._chronicle, happened.at
        if notice is not None:
            self._given(at, notice)
        elif happened.kind is HappeningKind.MOVED:
            chronicle.moved.append(Moved(at, happened.server, happened.name, happened.pool))
        elif happened.kind in (HappeningKind.RECLAIM_OPENED, HappeningKind.RECLAIM_WIDENED):
            reclaim = self._world.cloud.state.reclaims.get(happened.reclaim)
            if reclaim is not None:
                chronicle.reclaims.append((at, reclaim))
        elif happened.kind is HappeningKind.ENDED:
            past = reversed(self._world.cloud.state.past)
            record = next(record for record in past if record.server.id == happened.server)
            chronicle.ended.append(
                Ended(
                    at=at,
                    server=happened.server,
                    name=happened.name,
                    mark=record.server.mark,
                    cause=happened.cause or EndCause.LOST,
                    noticed=self._standing.pop(happened.server, None),
                    told=happened.told,
                )
            )

    def _given(self, at: int, notice: Notice) -> None:
        fault = self._weather.on("signals_lost")
        if fault is not None and hit(fault, notice.id):
            self.lost.add((notice.id, notice.withdrawn))
        else:
            self._chronicle.given.append((at, notice))
        if notice.withdrawn:
            self._standing.pop(notice.server, None)
        else:
            self._standing[notice.server] = notice

    def _say(self, server: str, name: str, word: NodeWord, ends_at: int, heard: str) -> None:
        self._chronicle.nodes.append(Node(self._world.now, server, name, word, ends_at, heard))

    def _keep_listing(self, fault: Fault) -> None:
        self.listed[fault.name] = self._world.cloud.instances()

    def _keep_view(self, fault: Fault) -> None:
        view = self._world.site.view()
        self.viewed[fault.name] = replace(view, demands=dict(view.demands), nodes=dict(view.nodes))

    @property
    def stopped_by(self) -> str:
        """The fault by which people hold the region stopped now; empty while nobody does."""
        on = self._weather.on("people_stop") or next(iter(self._thrown), None)
        return on.name if on is not None else ""

    def throw(self, fault: Fault) -> None:
        """People stop the region now, in the middle of what the leader does, unless this was over before."""
        if fault in self._weather.all_on(fault.kind):
            self._thrown.append(fault)
            self._stop(fault)

    def let_go_on(self, fault: Fault) -> None:
        """They let it go on, where they stopped it at all."""
        self._thrown = [other for other in self._thrown if other != fault]
        self._stop(fault)

    def _stop(self, _: Fault) -> None:
        """The stop switch was thrown or taken off, unless another still holds it."""
        reason = self.stopped_by
        if (self._chronicle.stops[-1].reason if self._chronicle.stops else "") != reason:
            self._chronicle.stops.append(Stopped(self._world.now, reason))
