"""What the ledger is told (DESIGN 9, 14): what is about to be done before it is done, every notice and loss once, no
event in two versions, nothing that did not happen, and nothing as lost that we let go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter

from ledger.events import Event, EventType
from pools.provider import Notice
from simulation.check_reading import Checker
from simulation.check_scene import LATE_MS, Scene, term_of
from simulation.chronicle import Act, Call, Ended, Look
from simulation.cloud_model import EndCause

LASTING = ("occurred_at", "type", "cause", "caused_by", "region", "workload", "pool", "instance", "data")
"""What an id says, by whoever it is told; the rest of an event says who told it, when and under which commit."""

_lasting = attrgetter(*LASTING)


class Requests(Checker):
    """Every new server was written down as requested, with its pool, workload and units, before it was asked for; and
    every return before the node heard of it.
    """

    name = "check_told.Requests"

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one act by what was durable before it."""
        if not act.fresh or act.call not in (Call.CREATE, Call.ASK_RETURN):
            return
        kind = "request" if act.call is Call.CREATE else "release"
        event = (scene.requests if act.call is Call.CREATE else scene.releases).get(act.name)
        if event is None:
            yield f"{act.call.value} of {act.name} at {act.at}: its {kind} was not written down before"
            return
        if act.call is Call.CREATE:
            said = event.pool, event.workload, event.data["units"], event.data["paid"]
            if said != (act.pool, act.workload, act.units, act.paid):
                done = f"{act.pool}, {act.workload}, {act.units}, {act.paid}"
                yield f"{act.name} was written down as {', '.join(map(str, said))} and created as {done}"


class Versions(Checker):
    """An id says one thing: told again, it is the same to the letter, but for who told it, when and in which epoch.

    What the provider's word on a loss was while its stream was disturbed went without words that came later.
    """

    name = "check_told.Versions"

    def __init__(self) -> None:
        self._told: dict[str, Event] = {}
        self._found: set[str] = set()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Compare with what the id said first; each id is found once."""
        first = self._told.setdefault(event.id, event)
        if first is event or first == event:
            return
        if _lasting(first) == _lasting(event):
            return
        corrected = event.type is EventType.INSTANCE_LOST and _disturbed(scene, scene.told.get(event.id, 0))
        if event.id not in self._found and not corrected:
            self._found.add(event.id)
            pairs = zip(LASTING, _lasting(first), _lasting(event), strict=True)
            parts = [f"{field} {before} / {now}" for field, before, now in pairs if before != now]
            yield f"{event.id} is told in two versions: {'; '.join(parts)}"


def _disturbed(scene: Scene, at: int) -> bool:
    """Whether the provider's stream said less then than what happened, or in another order."""
    faults = (fault for fault in scene.chronicle.faults if fault.kind.startswith("signals_"))
    return any(fault.at <= at <= fault.until + LATE_MS for fault in faults)


class Losses(Checker):
    """Every loss in the end has its event, once by the provider's word, and once by each term that believed it for want
    of that; and what stands was never told as lost, unless a listing hid it. Of a loss between two leaders that share
    no memory, and of which nothing else speaks, nobody can tell.
    """

    name = "check_told.Losses"
    hears = frozenset({EventType.INSTANCE_FAILED, EventType.INSTANCE_FOUND, EventType.INSTANCE_LOST})

    def __init__(self) -> None:
        self._ended: list[Ended] = []
        self._told: dict[str, set[str]] = defaultdict(set)
        self._believed: dict[tuple[str, tuple[int, int]], set[str]] = defaultdict(set)
        self._failed: set[str] = set()
        self._found: dict[str, set[str]] = defaultdict(set)
        self._hidden: set[str] = set()

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Remember what listings hid."""
        self._hidden.update(look.hidden)
        yield from ()

    def on_ended(self, scene: Scene, ended: Ended) -> Iterator[str]:
        """Remember what has to be told."""
        if ended.server in scene.servers and ended.cause is not EndCause.DELETED:
            self._ended.append(ended)
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Hold a loss that is told against what ended."""
        if event.type is EventType.INSTANCE_FAILED:
            self._failed.add(event.instance)
        if event.type is EventType.INSTANCE_FOUND:
            self._found[event.instance].add(event.id)
        if event.type is not EventType.INSTANCE_LOST or scene.events[event.id] is not event:
            return
        if event.id == f"{event.type.value}/{scene.region}/{event.instance}/{event.occurred_at}":
            self._believed[event.instance, term_of(scene, event.epoch)].add(event.id)
        else:
            self._told[event.instance].add(event.id)
        ever = scene.namesakes.get(event.instance, [])
        hidden = any(stand.server in self._hidden for stand in ever)
        if ever and not hidden and not any(stand.ended_at for stand in ever):
            yield f"{event.instance} is told as lost at {scene.now}, and it stands"

    def close(self, scene: Scene) -> Iterator[str]:
        """Ends without their event, and more than one of them."""
        for ended in self._ended:
            stand = scene.servers[ended.server]
            if stand.disowned:
                continue  # it ended as somebody else's
            told = ended.name in self._failed or ended.name in scene.lost
            if told or stand.asked_at or ended.name in scene.releases or ended.at > scene.now - LATE_MS:
                continue
            if ended.name in scene.unwitnessed:
                continue
            yield f"{ended.name} ended at {ended.at} ({ended.cause.value}), and the ledger has no loss of it"
        of_terms = ((name, ids) for (name, _), ids in self._believed.items())
        for name, ids in (*self._told.items(), *of_terms):
            if len(ids) > max(1, len(scene.namesakes.get(name, ()))) + len(self._found[name]):
                yield f"{name} is told as lost {len(ids)} times: {', '.join(sorted(ids))}"


class LetGo(Checker):
    """What we deleted ourselves is not told as lost: not by the term that did it, and by no other that began to look
    after it was gone. One that may have been shown it before knows of its end by the provider's word alone; so does a
    later term of the same replica with nobody else's between, which goes on with that one's memory.
    """

    name = "check_told.LetGo"
    hears = frozenset({EventType.INSTANCE_LOST})

    def __init__(self) -> None:
        self._deleted: dict[str, Act] = {}
        self._listed: dict[int, int] = {}
        self._looked: dict[int, str] = {}

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Who looked in each term, and its oldest listing."""
        self._looked[look.epoch] = look.replica
        if look.listed_at:
            self._listed[look.epoch] = min(look.listed_at, self._listed.get(look.epoch, look.listed_at))
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Remember what was deleted."""
        if act.call is Call.DELETE and act.fresh:
            self._deleted[act.server] = act
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Hold a loss that is told against what became of each server of that name."""
        if scene.events[event.id] is not event:
            return
        ever = [self._deleted.get(stand.server) for stand in scene.namesakes.get(event.instance, ())]
        acts = [act for act in ever if act is not None]
        if not acts or len(acts) < len(ever):
            return
        last = max(acts, key=lambda act: act.at)
        if last.epoch == event.epoch or not self._shown(event.epoch, last):
            by = f"{last.replica} in epoch {last.epoch}"
            yield f"{event.instance} is told as lost in epoch {event.epoch}, and {by} deleted it at {last.at}"

    def _shown(self, epoch: int, last: Act) -> bool:
        """Whether the memory of a term may hold the server from a listing of before it was deleted. What the replica
        saw up to the term that deleted it is no excuse: others acted beyond that, or it did so itself.
        """
        terms = [epoch, *(term for term in sorted(self._looked, reverse=True) if last.epoch < term < epoch)]
        for term in terms:
            if self._looked.get(term) != self._looked.get(epoch):
                return False
            if self._listed.get(term, last.at) <= last.at:
                return True
        return False


class Notices(Checker):
    """Every notice that the provider's stream carried for an instance of ours is told, once, as it was said."""

    name = "check_told.Notices"
    hears = frozenset({EventType.NOTICE_RECEIVED, EventType.NOTICE_WITHDRAWN})

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], Notice] = {}
        self._said: set[tuple[str, str]] = set()
        self._told: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._withdrawn: set[tuple[str, str]] = set()
        self._at: dict[tuple[str, str], int] = {}

    def on_given(self, scene: Scene, notice: Notice) -> Iterator[str]:
        """Remember what was said."""
        key = notice.name, notice.reclaim
        self._said.add(key)  # also of what is adopted after it
        if notice.withdrawn:
            self._withdrawn.add(key)
        elif notice.server in scene.servers:
            self._given.setdefault(key, notice)
            self._at[key] = scene.now
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Hold a notice that is told against what was said."""
        key = event.instance, str(event.data.get("reclaim", ""))
        if event.type is EventType.NOTICE_RECEIVED:
            self._told[key].add(event.id)
            if key not in self._said:
                yield f"{event.instance} is told as noticed in {key[1] or 'no reclaim'}, which the provider never said"
        elif event.type is EventType.NOTICE_WITHDRAWN and key not in self._withdrawn:
            yield f"the notice of {event.instance} is told as withdrawn, which the provider never said"

    def close(self, scene: Scene) -> Iterator[str]:
        """Notices that nobody told; who gave a server back to its owner hears no more of it."""
        for key, notice in self._given.items():
            stand = scene.servers[notice.server]
            if stand.disowned and stand.ended_at <= self._at[key]:
                continue
            if key not in self._told and self._at[key] <= scene.now - LATE_MS:
                yield f"{notice.name} was noticed at {notice.issued_at} ({notice.id}), and the ledger does not have it"
