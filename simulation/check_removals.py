"""Reviewed files and what they may remove (DESIGN 3.2, 10): no return to an older commit, and a large removal waits."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.causes import Cause
from ledger.events import Event, EventType
from simulation.check_ground import Ground
from simulation.check_purse import Purse
from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import Act, Call, Reviewed

LARGE_PERCENT = 10
"""Commits that together remove more than this of the desired units since the last approval wait for one (DESIGN 10)."""


class Waits(Checker):
    """While a large removal is not approved, nothing is released that only the removal makes superfluous."""

    name = "check_removals.Waits"
    hears = Purse.hears

    def __init__(self) -> None:
        self._approved: Ground | None = None
        self._purse = Purse()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """What is reserved for fallback."""
        if scene.told.get(event.id, scene.now) == scene.now:
            self._purse.hear(scene, event)
        yield from ()

    def on_reviewed(self, scene: Scene, reviewed: Reviewed) -> Iterator[str]:
        """The first commit, and each that somebody approved, is what removals are counted from."""
        if self._approved is None or reviewed.approved:
            self._approved = scene.grounds[reviewed.commit]
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one release by what the approved estate would still claim."""
        before, stands = self._approved, scene.namesakes.get(act.name)
        if act.call is not Call.ASK_RETURN or not act.fresh or before is None or not stands:
            return
        release = scene.releases.get(act.name)
        if release is not None and release.cause is Cause.REBALANCE:
            return  # its work goes on elsewhere
        if stands[-1].paid == "fallback" and self._purse.lacks(scene, stands[-1].workload, act):
            return  # an authority is never exceeded, whatever waits
        look = scene.looks.get(act.replica)
        if look is None or before is scene.ground or removed_percent(scene, before) <= LARGE_PERCENT:
            return
        workload = stands[-1].workload
        least = min(before.claim(workload, units) for units in scene.wants.believable(workload))
        left = scene.supply(workload, look.at) + scene.departed_since(workload, look.listed_at)
        if left < least and scene.ground.claim(workload, scene.wants.now.get(workload, 0)) < least:
            yield (
                f"{act.name} was asked back at {act.at}: {workload} keeps {left} of {least} units claimed by the last "
                f"approved commit, and nobody approved {scene.reviewed[-1].commit}"
            )


def removed_percent(scene: Scene, before: Ground) -> int:
    """Percent of desired units that the newest estate takes away from the approved one, counted at present claims and
    at maxima: the smaller of the two.
    """
    shares = []
    for wanted in (scene.wants.now, {name: contract.maximum for name, contract in before.contracts.items()}):
        old = {name: before.claim(name, wanted.get(name, 0)) for name in before.contracts}
        gone = sum(max(0, units - scene.ground.claim(name, wanted.get(name, 0))) for name, units in old.items())
        shares.append(gone * 100 // max(1, sum(old.values())))
    return min(shares)


BEGINS = frozenset({EventType.INSTANCE_REQUESTED, EventType.RELEASE_ASKED})
"""What is written down before something is begun."""


class NeverBack(Checker):
    """What leaders begin rests on reviewed commits, and never on an older one after a newer that any leader rested on.
    One that holds nothing newer may say so, finish what was agreed, and give back what nobody's money is behind: an
    authority is never exceeded, whatever commit is in hand (DESIGN 12). Where a site went with every replica, disk and
    store, nothing is left that tells which commit was accepted (docs/state.md).
    """

    name = "check_removals.NeverBack"

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._newest = (0, 0)
        self._newest_at = 0
        self._found: set[int] = set()

    def on_reviewed(self, scene: Scene, reviewed: Reviewed) -> Iterator[str]:
        """Know the commit's place in history."""
        self._versions.setdefault(reviewed.commit, reviewed.version)
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Judge the commit on one event of a leader."""
        if event.actor != "reconciler" or not event.commit or scene.told.get(event.id, scene.now) < scene.now:
            return
        version = self._versions.get(event.commit)
        if version is None:
            yield f"{event.id} names commit {event.commit}, which nobody reviewed"
            return
        if _forgotten(scene, self._newest_at):
            self._newest = (0, 0)
        newest, epoch = self._newest
        begins = event.type in BEGINS and event.cause is not Cause.AUTHORITY_SPENT
        if begins and version < newest and event.epoch >= epoch and event.epoch not in self._found:
            self._found.add(event.epoch)
            yield f"{event.id} in epoch {event.epoch} rests on version {version}, after version {newest} was in force"
        if (version, event.epoch) >= self._newest:
            self._newest, self._newest_at = (version, event.epoch), scene.now


def _forgotten(scene: Scene, since: int) -> bool:
    """Whether everything that remembers what was accepted has gone since."""
    if since == scene.now:  # as for most events
        return False
    return any(fault.kind == "site_lost" and since < fault.at <= scene.now for fault in scene.chronicle.faults)
