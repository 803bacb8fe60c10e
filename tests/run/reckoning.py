"""What must hold after many deaths: the region's account, its signals and the spool tell one and the same story.

Written from the promises alone: each thing is asked for once, each effect and each thing that the provider said has its
event, each event stands once, and nothing that runs is forgotten.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.events import Event, EventType, from_line
from ledger.spool import Spool
from pools.provider import ForwardCapacities, LifecycleKind, Listing, Quota, RateCard, Signals
from reconciler.fleet import Phase
from reconciler.ports import SchedulerView
from reconciler.saved import decode
from simulation.adapters.sandbox_client import SandboxLink
from simulation.adapters.sandbox_server import read_account
from simulation.check_ground import Ground
from simulation.sandbox_desk import Effect
from tests.run.waiting import Region, doubted_in, stated_in, waits_wrongly

ENDS = frozenset({EventType.INSTANCE_ENDED, EventType.INSTANCE_LOST, EventType.INSTANCE_FAILED})


@dataclass(frozen=True)
class Reckoning:
    """What was counted, and a sentence for each thing that is wrong."""

    counts: dict[str, int]
    wrong: list[str]


@dataclass(frozen=True)
class Story:
    """Everything that is held against each other."""

    effects: list[Effect]
    events: list[Event]
    signals: Signals
    listing: Listing
    view: SchedulerView
    fleet: dict[str, Phase]
    region: Region


def reckon(
    socket: Path, state: Path, link: SandboxLink, *, plan: Mapping[str, Any], ground: Ground, settled: bool
) -> Reckoning:
    """Reads what was left and looks for what must not be. `plan` is what the product would do next, and says of itself,
    on this `ground`.
    """
    with Spool(state / "spool") as spool:
        events = [from_line(entry.line) for entry in spool.read(spool.start)]
    saved = decode((state / "journal").read_bytes())
    signals, listing = link.ask("signals", Signals, ""), link.ask("instances", Listing)
    story = Story(
        effects=read_account(socket.with_name(socket.name + ".account")),
        events=events,
        signals=signals,
        listing=listing,
        view=link.ask("view", SchedulerView),
        fleet={one.name: one.phase for one in saved.memory.fleet.instances.values()},
        region=Region(
            ground=ground,
            listing=listing,
            forward=link.ask("forward_capacity", ForwardCapacities),
            quota=link.ask("quota", Quota),
            rates=link.ask("rates", RateCard),
            signals=signals,
            closed=frozenset(domain for reclaim in signals.reclaims for domain in reclaim.domains),
            doubted=doubted_in(events, listing.as_of),
            stated=stated_in(plan),
        ),
    )
    wrong = [] if settled else ["the fleet did not come to rest within sixty cycles"]
    for check in (
        _once,
        _each_effect_told,
        _each_word_told,
        _each_event_once,
        _nothing_forgotten,
        _nobody_waits_wrongly,
    ):
        wrong += check(story)
    counts = Counter(effect.act for effect in story.effects if effect.changed)
    counts.update({f"{effect.act} again": 0 for effect in story.effects})
    counts.update(f"{effect.act} again" for effect in story.effects if not effect.changed)
    return Reckoning({**counts, "events": len(events), "notices": len(story.signals.notices)}, wrong)


def _once(story: Story) -> Iterator[str]:
    """Each key is created, deleted and asked to return at most once with effect, and never twice in one life."""
    changed = Counter((effect.act, effect.key) for effect in story.effects if effect.changed)
    yield from (f"{act} of {key} took effect {times} times" for (act, key), times in changed.items() if times > 1)
    asked = Counter((effect.client, effect.act, effect.key) for effect in story.effects if effect.act != "create")
    yield from (
        f"{who} asked {times} times for {act} of {key}" for (who, act, key), times in asked.items() if times > 1
    )


def _each_effect_told(story: Story) -> Iterator[str]:
    told = _by_instance(story.events)
    needed = {
        "create": frozenset({EventType.INSTANCE_REQUESTED}),
        "delete": ENDS | {EventType.RELEASE_ASKED},
        "return": frozenset({EventType.RELEASE_ASKED}),
    }
    for effect in story.effects:
        if effect.changed and effect.act in needed and not told[effect.key] & needed[effect.act]:
            yield f"{effect.act} of {effect.key} at {effect.at} has no event"


def _each_word_told(story: Story) -> Iterator[str]:
    """What the provider said of our servers stands in the ledger."""
    told = _by_instance(story.events)
    ours = {effect.key for effect in story.effects if effect.act == "create"}
    for happened in story.signals.lifecycle:
        if happened.name not in ours:
            continue
        if happened.kind is LifecycleKind.ACTIVE and EventType.INSTANCE_STARTED not in told[happened.name]:
            yield f"{happened.name} became active and nothing says so"
        # whose boot fails after it was let go failed nobody, and began no bill
        let_go = EventType.RELEASE_ASKED in told[happened.name]
        failed = happened.kind is LifecycleKind.FAILED and not let_go
        began = EventType.INSTANCE_STARTED in told[happened.name] or failed
        if happened.kind in (LifecycleKind.DELETED, LifecycleKind.FAILED) and began and not told[happened.name] & ENDS:
            yield f"{happened.name} ended ({happened.reason}) and nothing says so"
    for notice in story.signals.notices:
        kind = EventType.NOTICE_WITHDRAWN if notice.withdrawn else EventType.NOTICE_RECEIVED
        if kind not in told[notice.name]:
            yield f"notice {notice.id} of {notice.name} has no {kind.value}"


def _each_event_once(story: Story) -> Iterator[str]:
    times = Counter(event.id for event in story.events)
    yield from (f"event {id_} stands {count} times" for id_, count in times.items() if count > 1)


def _nothing_forgotten(story: Story) -> Iterator[str]:
    standing = {row.mark.name for row in story.listing.servers if row.mark is not None}
    known = {name for name, phase in story.fleet.items() if phase is not Phase.GONE}
    yield from (f"{name} runs and is forgotten" for name in sorted(standing - known))
    yield from (f"{name} is held to be there and is not" for name in sorted(known - standing))
    names = Counter(row.mark.name for row in story.listing.servers if row.mark is not None)
    yield from (f"{name} runs {count} times" for name, count in names.items() if count > 1)


def _nobody_waits_wrongly(story: Story) -> Iterator[str]:
    """Everybody has what was asked for, but for what a bound or a domain without room keeps out, and the product says
    so.
    """
    for demand in story.view.demands.values():
        yield from waits_wrongly(demand, story.region)


def _by_instance(events: Iterable[Event]) -> defaultdict[str, set[EventType]]:
    told: defaultdict[str, set[EventType]] = defaultdict(set)
    for event in events:
        told[event.instance].add(event.type)
    return told
