"""Whose a server is (DESIGN 1, 9): one owner for each instance, one server for each key, and none of ours forgotten."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ledger.events import Event, EventType
from simulation.check_reading import Checker
from simulation.check_scene import LATE_MS, SETTLED_LOOKS, Scene, Stand
from simulation.chronicle import NEVER, Act, Call, Look


class Mixed(Checker):
    """An instance belongs to one workload for ever, is requested once, and changes its pool only by a move."""

    name = "check_owners.Mixed"

    def __init__(self) -> None:
        self._owner: dict[str, str] = {}
        self._pools: dict[str, set[str]] = {}
        self._requests: dict[str, str] = {}
        self._told: set[str] = set()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Judge who one event says it is about."""
        name = event.instance
        if not name or not event.workload or event.id in self._told:
            return
        self._told.add(event.id)
        owner = self._owner.setdefault(name, event.workload)
        if owner != event.workload:
            yield f"{name} belongs to {owner} and, by {event.id}, to {event.workload}"
        if event.type is EventType.INSTANCE_REQUESTED:
            first = self._requests.setdefault(name, event.id)
            if first != event.id:
                yield f"{name} was requested twice: {first} and {event.id}"
        pools = self._pools.setdefault(name, set())
        if event.pool and pools and event.pool not in pools and not _moved(scene, event):
            yield f"{name} is in {', '.join(sorted(pools))} and, by {event.id}, in {event.pool}"
        if event.pool:
            pools.add(event.pool)


def _moved(scene: Scene, event: Event) -> bool:
    """Whether the event tells a move, or the provider moved a server of that name."""
    stands = scene.namesakes.get(event.instance, ())
    return event.type is EventType.INSTANCE_MOVED or any(len(stand.places) > 1 for stand in stands)


class Twins(Checker):
    """Two servers under one key: once whole listings show both, one of them goes, and never both. Where there are many
    pairs the guard's pace lets them go a few at a time: only looks after which no pair was parted count.
    """

    name = "check_owners.Twins"
    hears = frozenset({EventType.INSTANCE_FAILED})

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._deleted: set[str] = set()
        self._parted = False
        self._failed: set[str] = set()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Remember what was told as failed: that goes, whether it had a twin or not."""
        if event.type is EventType.INSTANCE_FAILED:
            self._failed.add(event.instance)
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge the deletion of what was left of a pair."""
        stand = scene.servers.get(act.server)
        if act.call is not Call.DELETE or not act.fresh or stand is None:
            return
        # the world's word on an end comes before the act that caused it: both may be gone by now
        others = [s for s in scene.namesakes[stand.name] if s is not stand and not 0 < s.ended_at <= stand.created_at]
        self._parted |= any(not other.ended_at for other in others)
        halved = any(other.server in self._deleted for other in others)
        self._deleted.add(act.server)
        agreed = stand.drained or stand.notices or stand.name in scene.releases or stand.name in self._failed
        if halved and all(other.ended_at for other in others) and not agreed:
            yield f"both servers under the key {stand.name} were deleted, the last at {act.at} by {act.replica}"

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count the clear looks that could see each pair."""
        twins = {
            name: stands
            for name, stands in scene.by_name.items()
            if len(stands) > 1 and max(s.created_at for s in stands.values()) <= look.listed_at
        }
        self._seen = {name: count for name, count in self._seen.items() if name in twins}
        parted, self._parted = self._parted, False
        if parted:
            self._seen.clear()
        if parted or scene.trouble(look):
            return
        for name, stands in twins.items():
            self._seen[name] = self._seen.get(name, 0) + 1
            if self._seen[name] == SETTLED_LOOKS:
                yield f"{name} is the key of {', '.join(sorted(stands))}, after {SETTLED_LOOKS} clear looks still"


class Forgotten(Checker):
    """In the end the servers with our mark are those that the last leader knows, no more and no fewer. It can know of
    another's only what a whole listing of its term showed it: any, or the last one of what it told as lost since. A
    second server under a key whose other one is known is `Twins`' matter.
    """

    name = "check_owners.Forgotten"

    def __init__(self) -> None:
        self._leader = ("", 0)
        self._whole: dict[str, list[Look]] = defaultdict(list)

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """The whole listings of each project that the leader had in its term."""
        if look.leads:
            if self._leader != (look.replica, look.epoch):
                self._leader = look.replica, look.epoch
                self._whole.clear()
            for project in look.whole:
                self._whole[project].append(look)
        yield from ()

    def close(self, scene: Scene) -> Iterator[str]:
        """Compare what stands with what is known."""
        known = scene.chronicle.known
        if known is None:
            return
        names = {scene.servers[server].name for server in known & scene.standing.keys()}
        for server, stand in scene.standing.items():
            lost = stand.name in scene.lost
            if stand.name not in names and stand.created_at <= scene.now - LATE_MS and self._listed(stand, lost=lost):
                yield f"{stand.name} ({server}) stands since {stand.created_at}, and the leader does not know it"
        for server in sorted(known - scene.standing.keys()):
            gone = scene.servers.get(server)
            request = scene.requests.get(server.removeprefix(NEVER)) if server.startswith(NEVER) else None
            if request is not None and scene.told[request.id] > scene.now - LATE_MS:
                continue  # the provider's lie, which no listing had the time to show as one
            if gone is None:
                yield f"the leader knows {server}, which never was ours"
            elif gone.ended_at <= scene.now - LATE_MS:
                yield f"the leader knows {gone.name} ({server}), which ended at {gone.ended_at}"

    def _listed(self, stand: Stand, *, lost: bool) -> bool:
        looks = self._whole[stand.project][-1 if lost else 0 :]
        shown = any(stand.created_at < look.listed_at and stand.server not in look.hidden for look in looks)
        return shown or stand.by == self._leader
