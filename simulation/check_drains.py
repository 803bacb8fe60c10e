"""Drains (DESIGN 9, 11): every release is a drain first, every drain ends inside its window or is named an overrun,
each notice that reached a live agent opens one drain, and no node drains without a cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ledger.events import Event, EventType
from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import DRAIN_ENDS, Act, Call, Ended, Node, NodeWord

FIRST_ACTION_MS = 2_000
"""From notice to first action at most (DESIGN 11)."""

BEGIN_DRAINS = frozenset({EventType.NOTICE_RECEIVED, EventType.RELEASE_ASKED})

PROVEN_WRONG_MS = 60_000
"""A node that hears of its end so long after it has a wrong clock, or heard late: the remaining seconds count."""

REPORT_MS = 1_000
"""What a node may take to say how a drain ended whose time ran out."""


class BeforeDelete(Checker):
    """A server that is a node when its delete goes out is deleted only when its drain ended, or the end that it was
    told has passed, as far as who deletes it could see at its look: what is taken back later finds it drained. Of two
    servers under one key that holds for the one that is the node. No node is taken out of its scheduler while its
    server stands, or another of its key, and a row of that look says so.
    """

    name = "check_drains.BeforeDelete"

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one delete by what the node was told and did, and one removal of a node by what stands."""
        if act.call is Call.REMOVE_NODE:
            yield from _still_there(scene, act)
        stand = scene.servers.get(act.server)
        if act.call is not Call.DELETE or not act.fresh or stand is None or not stand.joined_at:
            return
        if stand.joined_at > (act.sent_at or act.at):
            return  # no node yet: it joined under a call in flight
        look = scene.look_of(act)
        twin = len(scene.by_name[stand.name]) > 0
        if twin and look is not None and stand.joined_at > look.listed_at:
            return  # no node yet when it was looked at, and asking would reach whichever server answers to the name
        if look is not None and stand.undrained_at > look.listed_at and 0 < stand.drained_at <= look.at:
            return  # it was drained when that was looked at
        ends = [end for end in (stand.agreed, *(end for _, end in stand.notices.values())) if end]
        if stand.drained in ("verified", "overrun") or any(end <= act.at for end in ends):
            return
        told = f"its end is {min(ends)}" if ends else "nobody asked it to drain"
        yield f"{act.name} was deleted at {act.at} by {act.replica} before it was drained: {told}"


def _still_there(scene: Scene, act: Act) -> Iterator[str]:
    """What a row shows of a node that is taken out of its scheduler, with an id or without; of what a listing hides
    nobody can tell, and a person may have accepted that it lacks what has no id.
    """
    look = scene.look_of(act)
    if look is None:
        return
    accepted = any(act.name in lacked for _, lacked in scene.chronicle.accepted)
    for stand in scene.by_name[act.name].values():
        shown = stand.server not in look.hidden or (act.name in look.half_shown and not accepted)
        if shown and stand.project in look.whole and stand.created_at <= look.listed_at:
            yield f"{act.name} was taken out of its scheduler by {act.replica}, and {stand.server} is listed"


@dataclass
class _Drain:
    """One drain under way: when it has to end."""

    began_at: int
    ends_at: int
    heard: list[str] = field(default_factory=list)

    @property
    def over_at(self) -> int:
        """When it has to be over: a call that lands late may ask for an end that had passed when the drain began."""
        return max(self.began_at, self.ends_at)


class Windows(Checker):
    """A drain says how it ended before its end, *verified* only inside it; who heard a notice drains within seconds,
    unless it was taken back, until no later than the earliest honest end (DESIGN 11): the one that was told, or as long
    from then as a notice is where that had passed when it was heard.
    """

    name = "check_drains.Windows"

    def __init__(self) -> None:
        self._open: dict[str, _Drain] = {}
        self._heard: dict[str, Node] = {}
        self._taken_back: set[tuple[str, str]] = set()

    def on_node(self, scene: Scene, node: Node) -> Iterator[str]:
        """Follow one node's drain."""
        if node.word is NodeWord.HEARD:
            if node.server not in self._open and (node.server, node.notice) not in self._taken_back:
                self._heard.setdefault(node.server, node)
        elif node.word is NodeWord.TAKEN_BACK:
            self._taken_back.add((node.server, node.notice))
            if node.server in self._heard and self._heard[node.server].notice == node.notice:
                del self._heard[node.server]
        elif node.word is NodeWord.DRAINING:
            yield from self._began(scene, node)
        elif node.word in DRAIN_ENDS:
            yield from _judged(node, self._open.pop(node.server, None))
        elif node.word is NodeWord.LEFT:
            self._open.pop(node.server, None)
            self._heard.pop(node.server, None)

    def _began(self, scene: Scene, node: Node) -> Iterator[str]:
        heard, drain = self._heard.pop(node.server, None), self._open.get(node.server)
        if drain is not None:
            if node.ends_at > drain.ends_at:
                yield f"{node.name} drains until {node.ends_at}, it was told {drain.ends_at} before"
            drain.ends_at = min(drain.ends_at, node.ends_at)
            return
        if heard is None:
            yield f"{node.name} began to drain at {node.at} and had heard nothing"
        elif node.at - heard.at > FIRST_ACTION_MS:
            yield f"{node.name} began to drain {node.at - heard.at} ms after it had heard"
        elif node.ends_at > _honest(scene, heard):
            yield f"{node.name} drains until {node.ends_at}, it was told {heard.ends_at} at {heard.at}"
        self._open[node.server] = _Drain(node.at, node.ends_at)

    def on_ended(self, scene: Scene, ended: Ended) -> Iterator[str]:
        """The server is gone: what it had not begun by then it need not any more."""
        heard = self._heard.pop(ended.server, None)
        self._open.pop(ended.server, None)
        if heard is not None and ended.at - heard.at > FIRST_ACTION_MS:
            yield f"{ended.name} heard a notice at {heard.at} and had not begun to drain when it ended at {ended.at}"

    def close(self, scene: Scene) -> Iterator[str]:
        """Drains that never ended, and notices that opened none."""
        for server, drain in self._open.items():
            if drain.over_at + REPORT_MS < scene.now:
                yield f"{_name(scene, server)} drains since {drain.began_at}, its end was {drain.ends_at}"
        for server, heard in self._heard.items():
            if heard.at + FIRST_ACTION_MS < scene.now:
                yield f"{_name(scene, server)} heard a notice at {heard.at} and never drained"


def _judged(node: Node, drain: _Drain | None) -> Iterator[str]:
    """How a drain ended, against its end."""
    if node.word is NodeWord.WITHDRAWN:
        return  # also after the drain had ended: the node takes work again
    if drain is None:
        yield f"{node.name} says {node.word.value} at {node.at} of a drain that never began"
    elif node.word is NodeWord.VERIFIED and node.at > drain.ends_at:
        yield f"{node.name} says verified at {node.at}, {node.at - drain.ends_at} ms after its end"
    elif node.at > drain.over_at + REPORT_MS:
        yield f"{node.name} says {node.word.value} {node.at - drain.ends_at} ms after its end"


def _honest(scene: Scene, heard: Node) -> int:
    """The latest end that a drain may work to which begins with this word."""
    if heard.at - heard.ends_at <= PROVEN_WRONG_MS:
        return max(heard.at, heard.ends_at)
    return heard.at + max(pool.notice_window_s for pool in scene.ground.pools.values()) * 1000


def _name(scene: Scene, server: str) -> str:
    stand = scene.servers.get(server)
    return stand.name if stand is not None else server


class Outcomes(Checker):
    """The ledger's drains: one at a time, each begun by a notice of that instance or by an agreed return, and
    *verified* only where the node said so in time. An instance that ends without it counts as overrun (`outcomes`).
    """

    name = "check_drains.Outcomes"
    hears = frozenset({EventType.DRAIN_STARTED, EventType.DRAIN_ENDED})

    def __init__(self) -> None:
        self._open: dict[str, Event] = {}
        self._causes: list[Event] = []
        self._heard: set[str] = set()
        self._verified: dict[str, int] = {}
        self._seen: set[str] = set()

    def on_node(self, scene: Scene, node: Node) -> Iterator[str]:
        """Remember what nodes really heard and said."""
        if node.word is NodeWord.HEARD:  # as the ledger would speak of it, if it is a notice
            self._heard.add(f"{EventType.NOTICE_RECEIVED.value}/{scene.region}/{node.notice}/{node.name}")
        elif node.word is NodeWord.VERIFIED:
            self._verified[node.name] = node.at
        yield from ()

    def on_ended(self, scene: Scene, ended: Ended) -> Iterator[str]:
        """No drain outlives its server."""
        self._open.pop(ended.name, None)
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Judge one drain event."""
        if event.type not in (EventType.DRAIN_STARTED, EventType.DRAIN_ENDED) or event.id in self._seen:
            return
        self._seen.add(event.id)
        if event.type is EventType.DRAIN_STARTED:
            before = self._open.get(event.instance)
            if before is not None:
                yield f"{event.instance} began to drain at {event.occurred_at}, and drained since {before.occurred_at}"
            self._open[event.instance] = event
            self._causes.append(event)
            return
        began = self._open.pop(event.instance, None)
        if event.data["outcome"] != "verified":
            return
        if event.instance not in self._verified and scene.chronicle.nodes:
            yield f"{event.instance} is told as verified, and its node never said so"
        if began is not None and event.occurred_at > int(began.data["ends_at"]):
            yield f"{event.instance} is told as verified at {event.occurred_at}, its end was {began.data['ends_at']}"

    def close(self, scene: Scene) -> Iterator[str]:
        """Drains for no notice and no return of that instance: the node may tell them before anybody tells why."""
        streamed = scene.streamed
        for event in self._causes:
            cause = scene.events.get(event.caused_by)
            if cause is None and event.caused_by not in streamed and event.caused_by in self._heard:
                continue  # a notice that reached the node and not the stream
            about = cause is not None and cause.type in BEGIN_DRAINS and cause.instance == event.instance
            if not about:
                yield f"{event.instance} drains for {event.caused_by or 'nothing'}, which is no notice or return of it"


def outcomes(events: Iterator[Event]) -> dict[str, int]:
    """How the drains of these events ended: verified, withdrawn, overrun, and unknown, which is an overrun as well: the
    ones that began and of which no end was received (DESIGN 11).
    """
    began: set[str] = set()
    counted = {"verified": 0, "withdrawn": 0, "overrun": 0, "unknown": 0}
    ended: dict[str, str] = {}
    for event in events:
        if event.type is EventType.DRAIN_STARTED:
            began.add(event.id)
        elif event.type is EventType.DRAIN_ENDED:
            ended[event.caused_by] = str(event.data["outcome"])
    for drain in began:
        counted[ended.get(drain, "unknown")] += 1
    return counted
