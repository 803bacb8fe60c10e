"""The nodes and schedulers of a simulated region: what happens to servers, and what the reconciler sees of it.

Turns what the cloud and the nodes report into drains, units that start and stop, and ledger events; plays
`reconciler.ports.Schedulers` and `Nodes`. Driven by `simulation.world`, which owns time; decides nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from agent.deadline import Notice as NodeNotice
from agent.deadline import NoticeKind, honest_deadline
from contracts.errors import Gone
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Notice
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance
from reconciler.ports import Demand, NodeView, SchedulerView
from simulation.chronicle import NodeWord
from simulation.cloud_model import EndCause, Happening, HappeningKind
from simulation.nodes import Drained, SimulatedNodes, notice_of
from simulation.work import Slots, Work, marked

JOIN_MS = (15_000, 50_000)
"""From ACTIVE to a registered node: uniform; cloud-init and the join, measured on pre-baked images."""

NEVER_JOINS = 0.002
"""Share of servers that boot and never register."""

ENDINGS = {"verified": Cause.DRAINED, "withdrawn": Cause.NOTICE_WITHDRAWN, "overrun": Cause.BUDGET_EXCEEDED}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the site needs of its world: the time, a timer, a place for events, the fleet, whether a server with an id
    is there, and a word to the loop.
    """

    now: Callable[[], int]
    at: Callable[[int, Callable[[], None]], None]
    emit: Callable[[Event], None]
    scribe: Callable[[int], Scribe]
    instance: Callable[[str], Instance | None]
    stands: Callable[[str], bool]
    poke: Callable[[], None]


class Site:
    """All nodes of one region, their units, and the two healthy schedulers that started them.

    `carry` brings a notice or a withdrawal to its node (by `deliver`, at once), `joins` says whether a server that
    boots ever becomes a node; a world with faults gives both another answer. `say` hears what becomes of nodes: which
    server, its name, the word, and with some words an end and what was heard.
    """

    def __init__(self, *, region: str, seed: int, nodes: SimulatedNodes, work: Work, world: Surroundings) -> None:
        self._region = region
        self._random = random.Random(f"world/{seed}")
        self.nodes = nodes
        self.work = work
        self._world = world
        self._views: dict[str, NodeView] = {}
        self._drained: dict[str, str] = {}
        self._drains: dict[str, tuple[int, str]] = {}
        self._joined_at: dict[str, int] = {}
        self._servers: dict[str, str] = {}
        self._waiting: dict[str, Happening] = {}
        self._failed: set[str] = set()
        self._first: dict[str, str] = {}
        self._twinned: set[str] = set()
        self.asked: dict[str, str] = {}
        self._drained_for: dict[str, set[str]] = {}
        self._unheard: dict[str, list[Callable[[], None]]] = {}
        self.carry: Callable[[Notice, Callable[[Notice], None]], None] = _at_once
        self.joins: Callable[[str], bool] = lambda _: self._random.random() >= NEVER_JOINS
        self.say: Callable[[str, str, NodeWord, int, str], None] = _unsaid
        self.lost = 0
        self.first_action_ms: list[int] = []

    def view(self) -> SchedulerView:
        """Demand and nodes, as two healthy schedulers would show them."""
        for name in sorted(self.work.dirty):
            slots = self.work.by_instance.get(name)
            if slots is None or not slots.joined or name not in self._joined_at:
                self._views.pop(name, None)
                continue
            ends_at, for_ = self._drains.get(name, (0, ""))
            drains = name in self.nodes.draining
            self._views[name] = NodeView(
                name,
                self._joined_at[name],
                len(slots.runs),
                covered=name not in self.nodes.dead,
                drained=self._drained.get(name, ""),
                draining_until=ends_at if drains else 0,
                draining_for=for_,
                server=self._servers.get(name, ""),
            )
        self.work.dirty.clear()
        demands = {}
        for name, work in self.work.workloads.items():
            running = work.running
            demands[name] = Demand(name, running, 0, max(0, work.target - running))
        return SchedulerView(self._world.now(), demands, self._views)

    def remove_node(self, name: str) -> None:
        """A node that is gone leaves its scheduler."""
        if self._joined_at.pop(name, None) is None:
            raise Gone(name)
        self.work.dirty.add(name)

    def ask_return(self, name: str, *, ends_at: int, cause_event: str) -> None:
        """An agreed return: the node drains by `ends_at`."""
        slots = self.work.by_instance.get(name)
        if slots is None or not slots.joined:
            raise Gone(name)
        self.asked[name] = cause_event
        told = notice_of(name, reclaim="", kind=NoticeKind.RETURN, issued_at=self._world.now(), ends_at=ends_at)
        if name in self.nodes.dead:
            begin = partial(self._begin_drain, name, told, cause_event, cause_event, cause_event)
            self._unheard.setdefault(name, []).append(begin)
        else:
            self._begin_drain(name, told, cause_event, cause_event, cause_event)

    def on_cloud(self, happened: Happening) -> None:
        """One thing that the cloud did."""
        if happened.server and self._first.setdefault(happened.name, happened.server) != happened.server:
            self._twinned.add(happened.name)  # be it that one of the two never booted
        match happened.kind:
            case HappeningKind.ACTIVE:
                self._booted(happened)
            case HappeningKind.FAILED:
                self._failed.add(happened.server)
                self._hand_over(happened.name)
            case HappeningKind.NOTICED | HappeningKind.WITHDRAWN if happened.notice is not None:
                self._world.poke()
                self.carry(happened.notice, self.deliver)
            case HappeningKind.MOVED:
                self.work.moved(happened.name, happened.pool, happened.at)
            case HappeningKind.ENDED:
                self._ended(happened)
            case _:
                return

    def _booted(self, happened: Happening, *, alone: bool = False) -> None:
        """A server of ours begins to be billed, and becomes a node if all goes well; `alone` under its key it is the
        instance, whoever is known as that.
        """
        instance = self._world.instance(happened.name)
        if instance is None:
            return
        other = instance.server not in ("", happened.server)
        if other:
            self._twinned.add(happened.name)  # in the eyes of who leads, though an answer that lies named a server
        first = instance.server not in self._failed and self._world.stands(instance.server)
        second = other and not alone and first
        if second or happened.name in self.work.by_instance:
            self._waiting[happened.server] = happened  # a second server under one key: its node name is the other's
            return
        self._servers[happened.name] = happened.server
        self.work.booted(
            happened.name,
            workload=instance.workload,
            pool=happened.pool,
            paid=instance.paid,
            units=instance.units,
            cause=instance.cause,
            now=happened.at,
        )
        name = happened.name

        def join() -> None:
            if name in self.work.by_instance and name not in self._joined_at:
                self._joined_at[name] = self._world.now()
                self.work.joined(name, self._world.now())
                self._say(name, NodeWord.JOINED)
                self._say(name, NodeWord.COVERED)

        if self.joins(name):
            self._world.at(happened.at + self._random.randint(*JOIN_MS), join)

    def deliver(self, notice: Notice, node: str = "") -> None:
        """A node hears a notice or a withdrawal; `node` where it is another than the one that the notice names."""
        name = node or notice.name
        slots = self.work.by_instance.get(name)
        if slots is None or not slots.joined or (not node and self._servers[name] != notice.server):
            return  # what is said of a second server under its key is not said to this node
        if name in self.nodes.dead:
            self._unheard.setdefault(name, []).append(partial(self.deliver, notice, node))
            return
        told = notice_of(
            notice.name,
            reclaim=notice.reclaim,
            kind=NoticeKind(notice.kind.value),
            issued_at=notice.issued_at,
            ends_at=notice.ends_at,
            withdrawn=notice.withdrawn,
        )
        subject = f"{notice.id}/{notice.name}"
        if not notice.withdrawn:
            caused_by = event_id(EventType.NOTICE_RECEIVED, self._region, subject)
            self._begin_drain(name, told, caused_by, subject, notice.id)
            return
        contract = self.work.workloads[slots.workload].contract
        drains = name in self.nodes.draining
        self.nodes.hear(told, units=0, contract=contract, now=self._world.now(), node=name)
        if notice.name != name:
            return
        self._say(name, NodeWord.TAKEN_BACK, heard=notice.id)
        known = self.nodes.known.get(name)
        if not drains and slots.draining and not (known and known.standing):
            self._undrain(name, self._world.now())
            self._say(name, NodeWord.WITHDRAWN)

    def agent_died(self, name: str) -> None:
        """The node's agent dies; its drain stands still, and what is said to it waits."""
        self.nodes.kill(name)
        self.work.dirty.add(name)
        self._say(name, NodeWord.UNCOVERED)

    def agent_back(self, name: str) -> None:
        """The agent starts again: it goes on with the drain in its journal and hears what was said last."""
        self.nodes.restart(name, self._world.now())
        self.work.dirty.add(name)
        self._say(name, NodeWord.COVERED)
        for hear in self._unheard.pop(name, ()):
            if name in self.work.by_instance:
                hear()

    def _begin_drain(self, name: str, told: NodeNotice, caused_by: str, subject: str, heard: str) -> None:
        slots, now = self.work.by_instance[name], self._world.now()
        contract = self.work.workloads[slots.workload].contract
        began = name not in self.nodes.draining
        if name in self._drained and caused_by in self._drained_for.get(name, ()):
            return  # said again, and done
        if told.instance != name:  # another's notice: the agent tells, and nothing on the node changes
            self.nodes.hear(told, units=len(slots.runs), contract=contract, now=now, node=name)
            return
        self._say(name, NodeWord.HEARD, told.ends_at, heard)
        drill = told.kind is NoticeKind.DRILL
        if not self.nodes.hear(told, units=len(slots.runs), contract=contract, now=now):
            return  # a late copy of one that was withdrawn
        self._drained_for.setdefault(name, set()).add(caused_by)
        until = honest_deadline(told, now=now, wall=now)  # what the agent goes by, where it hears late
        known = self._drains.get(name)
        if known is None or until < known[0]:
            self._drains[name] = until, caused_by
            self.work.dirty.add(name)
        units = self.work.drain(name, now, subject if began else slots.notice, drill=drill)
        if began:
            self._world.emit(
                self._world.scribe(now).event(
                    EventType.DRAIN_STARTED,
                    f"{name}/{told.issued_at}",
                    Cause.NOTICE,
                    caused_by=caused_by,
                    workload=slots.workload,
                    pool=slots.pool,
                    instance=name,
                    data={"ends_at": until, "units": units, **marked(drill=drill)},
                )
            )
            slots.notice = f"{name}/{told.issued_at}"
            self._say(name, NodeWord.DRAINING, until)

    def on_drained(self, drained: Drained) -> None:
        """One drain that ended."""
        slots = self.work.by_instance.get(drained.instance)
        if slots is None:
            return
        self.first_action_ms.append(drained.first_action_ms)
        subject = slots.notice
        event = self._world.scribe(drained.at).event(
            EventType.DRAIN_ENDED,
            subject,
            ENDINGS[drained.outcome],
            caused_by=event_id(EventType.DRAIN_STARTED, self._region, subject),
            workload=slots.workload,
            pool=slots.pool,
            instance=drained.instance,
            data={"outcome": drained.outcome, "slow_unit": drained.slow_unit, **marked(drill=slots.drill)},
        )
        self._world.emit(event)
        self._say(drained.instance, NodeWord(drained.outcome))
        if drained.outcome == "withdrawn":
            self._undrain(drained.instance, drained.at)
            return
        self._drained[drained.instance] = drained.outcome
        self.work.dirty.add(drained.instance)
        self.work.stopped(drained.instance, drained.at, saved=drained.saved, cause=event.cause, caused_by=event.id)

    def _undrain(self, name: str, now: int) -> None:
        """The node takes work again."""
        self._drained.pop(name, None)
        self._drained_for.pop(name, None)
        self._drains.pop(name, None)
        self.asked.pop(name, None)
        self.work.undrain(name, now)

    def _ended(self, happened: Happening) -> None:
        name = happened.name
        slots = self.work.by_instance.get(name)
        second = self._waiting.pop(happened.server, None) is not None
        if second or self._servers.get(name, happened.server) != happened.server:
            return  # a second server under the same key, which never was the node
        if happened.cause is not EndCause.DELETED:
            self.lost += 1
            self._world.poke()
        self._drained.pop(name, None)
        self._drained_for.pop(name, None)
        self._drains.pop(name, None)
        self._say(name, NodeWord.LEFT)
        self._servers.pop(name, None)
        self.asked.pop(name, None)
        self._unheard.pop(name, None)
        if slots is not None:
            told = happened.told and name not in self._twinned
            ended_by = event_id(_ended_by(happened, self._world.instance(name), told=told), self._region, name)
            _empty(self.work, self.nodes, happened, slots, ended_by)
        self._hand_over(name)

    def _hand_over(self, name: str) -> None:
        """A second server that waits has the node's name for itself, once no other can have it."""
        left = next((one for one in self._waiting.values() if one.name == name), None)
        if left is not None and name not in self._servers:
            self._booted(self._waiting.pop(left.server), alone=True)

    def _say(self, name: str, word: NodeWord, ends_at: int = 0, heard: str = "") -> None:
        server = self._servers.get(name)
        if server is not None:
            self.say(server, name, word, ends_at, heard)


def _ended_by(happened: Happening, known: Instance | None, *, told: bool) -> EventType:
    """The event that says why what ran on a server ran no longer."""
    if not told:  # who tells an end of two servers, or believes in one, gives it an id that nobody knows here
        return EventType.INSTANCE_STARTED
    agreed = happened.cause is EndCause.DELETED or (known is not None and known.released)
    return EventType.INSTANCE_ENDED if agreed else EventType.INSTANCE_LOST


def _empty(work: Work, nodes: SimulatedNodes, happened: Happening, slots: Slots, ended_by: str) -> None:
    """What ran on a server that is gone is lost, and its usage ends."""
    name = happened.name
    if slots.runs:
        cause = Cause.LOST_AFTER_NOTICE if name in nodes.draining else Cause.LOST_WITHOUT_NOTICE
        work.stopped(name, happened.at, saved=False, cause=cause, caused_by=ended_by)
    nodes.lost(name)
    work.ended(name, happened.at)


def _at_once(notice: Notice, deliver: Callable[[Notice], None]) -> None:
    deliver(notice)


def _unsaid(_: str, __: str, ___: NodeWord, ____: int, _____: str) -> None:
    """Nobody listens to nodes."""
