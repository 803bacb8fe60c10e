"""Reads a growing chronicle once, in order of time, and lets each checker hear every moment of it.

`Reader.see` takes what is new since the last call, keeps the `Scene` true and asks the checkers; its cost follows what
is new. Checkers say in sentences what is broken. Called by `simulation.checking` and by tests; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ledger.events import Event, EventType
from pools.provider import Notice, Reclaim
from simulation.check_ground import Ground
from simulation.check_scene import EARLIER, Scene, Stand
from simulation.chronicle import (
    DRAIN_ENDS,
    Act,
    Call,
    Chronicle,
    Ended,
    Led,
    Look,
    Moved,
    Node,
    NodeWord,
    Reviewed,
    Stopped,
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that did not hold: who says so (module.name, as in docs/invariants.md), when, and what happened."""

    at: int
    checker: str
    sentence: str


class Checker:
    """One promise. Each method hears a moment after the scene has taken it in, and yields what that breaks."""

    name = ""
    hears: frozenset[EventType] | None = None
    """The types of event that `on_event` has an ear for; all where it is None. Most events concern few checkers."""

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """A call took effect."""
        yield from ()

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """A replica looked."""
        yield from ()

    def on_led(self, scene: Scene, led: Led) -> Iterator[str]:
        """A lease was taken or renewed."""
        yield from ()

    def on_node(self, scene: Scene, node: Node) -> Iterator[str]:
        """Something happened on a node."""
        yield from ()

    def on_ended(self, scene: Scene, ended: Ended) -> Iterator[str]:
        """A server is gone."""
        yield from ()

    def on_given(self, scene: Scene, notice: Notice) -> Iterator[str]:
        """The provider said or withdrew a notice."""
        yield from ()

    def on_reviewed(self, scene: Scene, reviewed: Reviewed) -> Iterator[str]:
        """A commit was merged."""
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """An event became durable; `scene.now` is when."""
        yield from ()

    def on_reserved(self, scene: Scene, day: str, totals: dict[str, int]) -> Iterator[str]:
        """The day's reservations changed in the store."""
        yield from ()

    def close(self, scene: Scene) -> Iterator[str]:
        """The history is over."""
        yield from ()


Moment = tuple[int, int, int, str, object]
"""When, order among equal times, order within its list, kind, and the thing itself."""

# What the world does comes before what a replica sees of it, and what is written down before what is done.
KINDS = (
    "reviewed",
    "wanted",
    "given",
    "reclaim",
    "moved",
    "node",
    "ended",
    "stop",
    "led",
    "room",
    "look",
    "reserved",
    "event",
    "act",
)
ASKED_MS = 20 * 60_000
"""Requests are remembered so long: a cycle carries out its list in less."""

RANK = {kind: rank for rank, kind in enumerate(KINDS)}


class Reader:
    """The chronicle read so far, for these checkers."""

    def __init__(self, region: str, checkers: Sequence[Checker]) -> None:
        self.scene = Scene(region)
        self.checkers = tuple(checkers)
        self._read: dict[str, int] = {}
        self._listeners = {kind: _listening(kind, checkers) for kind in KINDS}
        self._hearers = {
            type_: _listening("event", [one for one in checkers if one.hears is None or type_ in one.hears])
            for type_ in EventType
        }

    def see(self, chronicle: Chronicle) -> list[Broken]:
        """What the new part of the chronicle breaks, in order of time."""
        scene = self.scene
        scene.chronicle = chronicle
        broken: list[Broken] = []
        for at, _, _, kind, thing in sorted(self._new(chronicle), key=lambda moment: moment[:3]):
            scene.now = at
            TAKE[kind](scene, thing)
            said = thing if isinstance(thing, tuple) else (thing,)
            for name, listener in self._hearers[thing.type] if isinstance(thing, Event) else self._listeners[kind]:
                for sentence in listener(scene, *said):  # most say nothing, a hundred thousand times a day
                    broken.append(Broken(at, name, sentence))  # noqa: PERF401 - a list of its own costs more
        return broken

    def close(self, chronicle: Chronicle) -> list[Broken]:
        """What the rest breaks, and what the end shows to be missing."""
        broken = self.see(chronicle)
        self.scene.now = max(self.scene.now, chronicle.end)
        for checker in self.checkers:
            broken += [Broken(self.scene.now, checker.name, sentence) for sentence in checker.close(self.scene)]
        return broken

    def _new(self, chronicle: Chronicle) -> Iterator[Moment]:
        timed: tuple[tuple[str, Sequence[Act | Look | Led | Node | Moved | Ended | Reviewed | Stopped]], ...] = (
            ("reviewed", chronicle.reviewed),
            ("moved", chronicle.moved),
            ("ended", chronicle.ended),
            ("node", chronicle.nodes),
            ("stop", chronicle.stops),
            ("led", chronicle.led),
            ("look", chronicle.looks),
            ("act", chronicle.acts),
        )
        for kind, things in timed:
            for number in self._fresh(kind, len(things)):
                yield things[number].at, RANK[kind], number, kind, things[number]
        pairs: tuple[tuple[str, Sequence[tuple[object, ...]]], ...] = (
            ("wanted", chronicle.wanted),
            ("given", chronicle.given),
            ("reclaim", chronicle.reclaims),
            ("reserved", chronicle.reserved),
            ("room", chronicle.room),
        )
        for kind, rows in pairs:
            for number in self._fresh(kind, len(rows)):
                at, *rest = rows[number]
                yield int(str(at)), RANK[kind], number, kind, tuple(rest)
        for replica, events in chronicle.events.items():
            times = chronicle.recorded.get(replica, ())
            for number in self._fresh(f"event of {replica}", len(events)):
                at = times[number] if number < len(times) else events[number].recorded_at
                yield at, RANK["event"], number, "event", events[number]

    def _fresh(self, what: str, length: int) -> range:
        done = self._read.get(what, 0)
        self._read[what] = max(done, length)
        return range(done, length)


def _listening(kind: str, checkers: Iterable[Checker]) -> list[tuple[str, Callable[..., Iterator[str]]]]:
    """Names and methods of those that listen to this kind of moment."""
    return [
        (checker.name, getattr(checker, f"on_{kind}"))
        for checker in checkers
        if getattr(type(checker), f"on_{kind}", None) is not getattr(Checker, f"on_{kind}", None)
    ]


def _take_act(scene: Scene, act: Act) -> None:
    stand = scene.servers.get(act.server)
    if act.call in (Call.CREATE, Call.MARK) and act.answered:
        scene.unnamed.discard(act.server)
    if act.call in (Call.CREATE, Call.MARK) and act.fresh:
        _stands(scene, act)
    elif act.call is Call.ASK_RETURN and stand is None:
        stand = next(iter(scene.by_name[act.name].values()), None)
    if stand is not None and act.call is Call.ASK_RETURN and not stand.asked_at:
        stand.asked_at, stand.agreed = act.at, act.ends_at
    elif stand is not None and act.call in (Call.DELETE, Call.UNMARK) and act.fresh:
        stand.disowned = act.call is Call.UNMARK
        _gone(scene, stand, act.at)


def _stands(scene: Scene, act: Act) -> None:
    known = scene.servers.get(act.server)
    if known is not None and not known.ended_at:
        return
    stand = Stand(
        server=act.server,
        name=act.name,
        project=act.project,
        workload=act.workload,
        units=act.units,
        paid=act.paid,
        created_at=act.at,
        by=(act.replica, act.epoch),
        places=[(act.at, act.pool)],
    )
    scene.servers[act.server] = scene.standing[act.server] = stand
    if act.call is Call.CREATE and not act.answered:
        scene.unnamed.add(act.server)
    scene.namesakes[act.name].append(stand)
    scene.by_workload[act.workload][act.server] = scene.by_name[act.name][act.server] = stand


def _gone(scene: Scene, stand: Stand, at: int) -> None:
    if not stand.ended_at:
        stand.ended_at = at
        scene.departed.append(stand)
    scene.standing.pop(stand.server, None)
    scene.by_workload[stand.workload].pop(stand.server, None)
    scene.by_name[stand.name].pop(stand.server, None)


def _take_ended(scene: Scene, ended: Ended) -> None:
    stand = scene.servers.get(ended.server)
    if stand is not None:
        _gone(scene, stand, ended.at)
        if not ended.told and scene.led_look is not None:
            scene.silent_ends[stand.name] = scene.led_look.replica


def _take_look(scene: Scene, look: Look) -> None:
    if look.replica in scene.looks:
        scene.earlier[look.replica] = [*scene.earlier[look.replica], scene.looks[look.replica]][-EARLIER:]
    scene.looks[look.replica] = look
    scene.asked = [(at, event) for at, event in scene.asked if at > look.at - ASKED_MS]
    scene.closing = {key: (since, until) for key, (since, until) in scene.closing.items() if until > look.at}
    if look.leads:
        scene.led_look = look
        unnamed = scene.unnamed & scene.standing.keys()
        scene.unnamed = {server for server in unnamed if not _shows(scene.standing[server], look)}
        others = [name for name, replica in scene.silent_ends.items() if replica != look.replica]
        scene.unwitnessed.update(name for name in others if name not in scene.lost)
        for name in others:
            del scene.silent_ends[name]
    if look.told:
        scene.told_at = look.at
    if not (look.leads and look.clock):
        return  # what such a look showed is not remembered
    contracts = scene.ground.contracts.values() if scene.reviewed else ()
    scene.wants.looked(look.at, [c.name for c in contracts if c.cluster not in look.silent])


def _shows(stand: Stand, look: Look) -> bool:
    """Whether the look's listing has a server that stood when it was made."""
    return stand.project in look.whole and stand.created_at <= look.listed_at and stand.server not in look.hidden


def _take_led(scene: Scene, led: Led) -> None:
    scene.epochs.setdefault((led.replica, led.epoch), led.at)


def _take_node(scene: Scene, node: Node) -> None:
    stand = scene.servers.get(node.server)
    if stand is None:
        return
    if node.word is NodeWord.JOINED:
        stand.joined_at, stand.bare_since = node.at, node.at
    elif node.word in (NodeWord.COVERED, NodeWord.UNCOVERED):
        stand.covered = node.word is NodeWord.COVERED
        stand.bare_since = 0 if stand.covered else node.at
    elif node.word in DRAIN_ENDS:
        if node.word is NodeWord.WITHDRAWN and stand.drained:
            stand.undrained_at = node.at
        stand.drained = "" if node.word is NodeWord.WITHDRAWN else node.word.value
        stand.drained_at = node.at if stand.drained else stand.drained_at


def _take_moved(scene: Scene, moved: Moved) -> None:
    stand = scene.servers.get(moved.server)
    if stand is not None:
        stand.places.append((moved.at, moved.pool))


def _take_reviewed(scene: Scene, reviewed: Reviewed) -> None:
    if reviewed.commit not in scene.grounds:
        scene.grounds[reviewed.commit] = Ground(reviewed.estate, scene.region)
    scene.reviewed.append(reviewed)


def _take_given(scene: Scene, said: tuple[Notice]) -> None:
    (notice,) = said
    stand = scene.servers.get(notice.server)
    if stand is None:
        return
    key = notice.reclaim or notice.kind.value
    if notice.withdrawn:
        stand.notices.pop(key, None)
    else:
        stand.notices[key] = scene.now, notice.ends_at


def _take_event(scene: Scene, event: Event) -> None:
    if event.id in scene.events:
        return
    scene.events[event.id] = event
    scene.told[event.id] = scene.now
    _take_word(scene, event)
    if event.type is EventType.INSTANCE_REQUESTED:
        scene.requests.setdefault(event.instance, event)
        scene.asked.append((scene.now, event))
    elif event.type is EventType.INSTANCE_LOST:
        scene.lost.add(event.instance)
    elif event.type is EventType.INSTANCE_FAILED:
        scene.failed.add(event.instance)
    elif event.type is EventType.RELEASE_ASKED:
        scene.releases.setdefault(event.instance, event)
    elif event.type is EventType.POOL_EXCLUDED:
        scene.excluded.add(event.pool)
    elif event.type in (EventType.POOL_READMITTED, EventType.POOL_PROBED):
        scene.excluded.discard(event.pool)


def _take_word(scene: Scene, event: Event) -> None:
    """What the ledger says of who is counted on no more."""
    if event.type is EventType.INSTANCE_LOST:
        scene.given_up.setdefault(event.instance, scene.now)
    elif event.type is EventType.INSTANCE_FOUND:
        scene.given_up.pop(event.instance, None)
    elif event.type is EventType.NOTICE_RECEIVED:
        scene.heard[event.instance].add(str(event.data.get("reclaim", "")))
    elif event.type is EventType.NOTICE_WITHDRAWN:
        scene.heard[event.instance].discard(str(event.data.get("reclaim", "")))


def _take_wanted(scene: Scene, said: tuple[str, int]) -> None:
    scene.wants.changed(*said)


def _take_reclaim(scene: Scene, said: tuple[Reclaim]) -> None:
    reclaim = said[0]
    for domain in reclaim.domains:
        since, _ = scene.closing.get((reclaim.id, domain), (scene.now, 0))
        scene.closing[reclaim.id, domain] = since, reclaim.hold_until


def _take_room(scene: Scene, said: tuple[dict[str, int]]) -> None:
    scene.room = scene.now, said[0]


def _take_nothing(scene: Scene, said: Iterable[object]) -> None:
    """Heard by checkers alone."""


TAKE: dict[str, Callable[[Scene, Any], None]] = {
    "reviewed": _take_reviewed,
    "wanted": _take_wanted,
    "given": _take_given,
    "reclaim": _take_reclaim,
    "moved": _take_moved,
    "ended": _take_ended,
    "node": _take_node,
    "stop": _take_nothing,
    "led": _take_led,
    "room": _take_room,
    "look": _take_look,
    "reserved": _take_nothing,
    "event": _take_event,
    "act": _take_act,
}
