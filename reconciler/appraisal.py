"""What pools are worth this cycle: offers and prices, usable room, exclusions, and what an interruption would cost.

Called once a cycle by `cycle.decide`. It learns from the census (exposure, losses, failures), ranks every five minutes,
judges exclusion every time, and keeps all it knows in one frozen value, so that a rehearsal (`ebbtide plan`) leaves no
trace. It places nothing and moves nothing.

What counts as an interruption: a reclaim or host-failure notice when it is heard (taken back when it is withdrawn),
and a loss without notice when it is believed. Maintenance, drills, our own releases and unknown pools teach nothing.
Exposure is the time that instances were booting, joined or serving.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from contracts.frozen import quick, replace
from ledger.causes import Cause
from ledger.events import Event, EventType
from pools import exclusion, forward
from pools.board import Board, board
from pools.interruption import Floats, Hazards, History, Outlook, Topology, hazards, observe_arrays
from pools.kinds import Assumptions
from pools.provider import RateCard
from pools.ranking import Ranking, Rates, guaranteed_micro, move_cost_micro, rank, settle
from reconciler import evidence
from reconciler.desired import Partition
from reconciler.drafts import Scribe
from reconciler.problem import Offers, Resources
from reconciler.sight import Census

if TYPE_CHECKING:
    from reconciler.cycle import Seen

RANK_MS = 300_000
"""Every five minutes, as the design asks; also the window in which losses of one pool count as one shock."""

RATE_AGE_MS = 3_600_000
"""A rate card older than this is no rate card: reclaimable pools get no new work."""

ToldRates = Mapping[str, tuple[Decimal, Decimal, int]]
"""Pool -> the rate and guaranteed rate that the ledger was last told, and since when that holds (0: nobody says)."""

LONGEST_STEP_MS = 3_600_000
"""Exposure is credited for at most this long between two calls: after an outage nobody knows who ran how long."""

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Appraisal:
    """One cycle's answers; maps are by workload, domain or pool.

    `room` is what may still be taken beyond what we hold, `admitted` how many more instances an excluded pool may take,
    `guaranteed_micro` the guaranteed rate of a unit-hour and `move_cost_micro` what interrupting one unit costs (1e-6).
    """

    offers: Mapping[str, Offers]
    room: Mapping[str, Resources]
    admitted: Mapping[str, int]
    move_cost_micro: Mapping[str, int]
    guaranteed_micro: Mapping[str, int]
    events: tuple[Event, ...]
    ranking: Ranking | None = None


@dataclass(frozen=True, slots=True)
class Priced:
    """What follows from one ranking, and the rates it was made with."""

    ranking: Ranking
    rates: Rates
    offers: Mapping[str, Offers]
    move_cost_micro: Mapping[str, int]
    guaranteed_micro: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Ground:
    """What holds for one commit."""

    part: Partition
    board: Board
    topology: Topology


@quick
@dataclass(frozen=True, slots=True)
class Learnt:
    """All that lasts between two calls.

    `published` are the hazards the ranking rests on (rows: mean, upper, slow mean, slow upper); `exposure` and `losses`
    have gathered since the last ranking, `heard` holds the pool of each noticed instance that was counted as a loss,
    `failed` the acquisitions that failed since the last call, `nodes` the instances that had
    joined by then.
    """

    ground: Ground | None = None
    history: History | None = None
    published: Floats | None = None
    exposure: Mapping[str, float] = field(default_factory=dict)
    losses: Mapping[str, float] = field(default_factory=dict)
    heard: Mapping[str, str] = field(default_factory=dict)
    failed: tuple[exclusion.Failed, ...] = ()
    nodes: frozenset[str] = frozenset()
    excluded: exclusion.State | None = None
    ahead: forward.Forward = field(default_factory=forward.Forward)
    called_at: int = 0
    ranked_at: int = 0
    card: RateCard | None = None
    told_rates: ToldRates = field(default_factory=dict)
    priced: Priced | None = None


@dataclass(frozen=True, slots=True)
class PastHour:
    """Instance-hours at risk and losses by pool in the hour that ended at `at`."""

    at: int
    exposure_hours: Mapping[str, float]
    losses: Mapping[str, float]


class Appraiser:
    """Holds what was learnt between cycles; everything else is a function of it and of what was seen."""

    def __init__(
        self, *, outlook: Outlook | None = None, assumptions: Assumptions | None = None, learnt: Learnt | None = None
    ) -> None:
        self._outlook = outlook or Outlook()
        self._assumptions = assumptions or Assumptions()
        self._learnt = learnt or Learnt()

    def rehearsal(self) -> Appraiser:
        """A second appraiser that knows the same and learns apart."""
        return Appraiser(outlook=self._outlook, assumptions=self._assumptions, learnt=self._learnt)

    @property
    def learnt(self) -> Learnt:
        """All that was learnt up to now."""
        return self._learnt

    @property
    def outlook(self) -> Outlook:
        """What is believed before anything is seen."""
        return self._outlook

    def take_up(self, learnt: Learnt) -> None:
        """Go on from what an earlier process had learnt."""
        self._learnt = learnt

    def remember(self, part: Partition, past: Iterable[PastHour]) -> None:
        """Learn from hours before the first cycle, in order of time: what a ledger or a record knows of these pools."""
        learnt = self._on(part)
        if learnt.ground is None or learnt.history is None:
            raise RuntimeError("laid over a partition before it is taught")
        pools, history = learnt.ground.board.pools, learnt.history
        for hour in past:
            history = observe_arrays(
                history,
                now=hour.at,
                exposure_hours=np.array([hour.exposure_hours.get(name, 0.0) for name in pools]),
                losses=np.array([hour.losses.get(name, 0.0) for name in pools]),
            )
        self._learnt = replace(learnt, history=history)

    def acquisition_failed(self, pool: str, workload: str, cause: Cause, now: int) -> None:  # noqa: ARG002 - held against the pool, whoever asked
        """A create call failed; it is judged in the next call, against the pool and not against `workload`."""
        self._learnt = replace(self._learnt, failed=(*self._learnt.failed, exclusion.Failed(pool, cause, now)))

    def appraise(self, part: Partition, counted: Census, seen: Seen, scribe: Scribe) -> Appraisal:
        """The appraisal of one cycle; what was seen is learnt."""
        before = self._on(part)
        tally = evidence.tally(part, counted.fleet, before.nodes)
        card = _fresh(seen.rates or before.card, seen.now)
        told, events = _rate_events(part, before.told_rates, card if card is not before.card else None, scribe)
        after = replace(_gather(before, tally, counted, seen), card=card, told_rates=told)
        known_again = (card is None) != (before.card is None)
        if after.priced is None or events or known_again or not 0 <= seen.now - after.ranked_at < RANK_MS:
            after = _ranked(after, seen.now)
        after, changes = _excluded(after, part, tally, counted, seen)
        after = _heard_ahead(after, part, tally, seen)
        self._learnt = replace(after, called_at=seen.now, failed=(), nodes=tally.nodes)
        priced, excluded = after.priced, after.excluded
        if priced is None or excluded is None:
            raise RuntimeError("a ranking and an exclusion follow from every call")
        limits = {name: exclusion.admitted(excluded, name, seen.now) for name in excluded.records}
        return Appraisal(
            offers=priced.offers,
            room=evidence.resources(forward.usable(after.ahead, tally.held, now=seen.now)),
            admitted={name: limit for name, limit in limits.items() if limit is not None},
            move_cost_micro=priced.move_cost_micro,
            guaranteed_micro=priced.guaranteed_micro,
            events=(*events, *(_standing_event(change, scribe) for change in changes)),
            ranking=priced.ranking,
        )

    def _on(self, part: Partition) -> Learnt:
        """What is known, laid over this commit's pools."""
        learnt = self._learnt
        if learnt.ground is not None and learnt.ground.part is part:
            return learnt
        ground = ground_of(part, self._assumptions)
        history = learnt.history.on(ground.topology) if learnt.history else None
        return replace(
            learnt,
            ground=ground,
            history=history or History.empty(ground.topology, self._outlook),
            excluded=learnt.excluded or exclusion.State(part.region, sum(1 for p in part.pools if not p.committed)),
            published=None,
            priced=None,
        )


def ground_of(part: Partition, assumptions: Assumptions) -> Ground:
    """Board and topology of one commit: declared groups of any kind, and the rows of one domain."""
    made = board(
        part.contracts,
        part.pools,
        verification_margin_s=part.estate.region(part.region).verification_margin,
        assumptions=replace(assumptions, lost_hour_weight=float(part.estate.settings.lost_hour_weight)),
    )
    by_domain: dict[str, list[str]] = {}
    for pool in part.pools:
        if not pool.committed:
            by_domain.setdefault(pool.domain, []).append(pool.name)
    groups = {f"domain/{domain}": names for domain, names in by_domain.items()}
    for group in part.estate.groups_of(part.region):
        groups[group.name] = [name for member in group.members for name in by_domain.get(member, ())]
    return Ground(part, made, Topology.of(made.pools, groups))


def _gather(learnt: Learnt, tally: evidence.Tally, counted: Census, seen: Seen) -> Learnt:
    """Exposure since the last call and losses that became known in this one."""
    hours = min(max(0, seen.now - learnt.called_at), LONGEST_STEP_MS) / HOUR_MS if learnt.called_at else 0.0
    exposure = dict(learnt.exposure)
    for pool, alive in tally.alive.items():
        exposure[pool] = exposure.get(pool, 0.0) + hours * alive
    told, heard = evidence.losses(counted, learnt.heard)
    losses = dict(learnt.losses)
    for pool, count in told.items():
        losses[pool] = losses.get(pool, 0.0) + count
    return replace(learnt, exposure=exposure, losses=losses, heard=heard)


def _excluded(
    learnt: Learnt, part: Partition, tally: evidence.Tally, counted: Census, seen: Seen
) -> tuple[Learnt, tuple[exclusion.Change, ...]]:
    """The exclusions after this call's evidence."""
    if learnt.ground is None or learnt.published is None or learnt.excluded is None:
        raise RuntimeError("ranked before exclusion is judged")
    upper = dict(zip(learnt.ground.board.pools, learnt.published[1].tolist(), strict=True))
    signs = evidence.signs(part, tally, counted, seen, failed=learnt.failed, hazard=upper)
    state, changes = exclusion.update(learnt.excluded, signs, seen.now)
    return replace(learnt, excluded=state), changes


def _heard_ahead(learnt: Learnt, part: Partition, tally: evidence.Tally, seen: Seen) -> Learnt:
    """Forward capacity after this call's announcement and outcomes."""
    ahead = learnt.ahead
    if seen.forward is not None:
        ahead = forward.hear(ahead, evidence.words(seen.forward), tally.held, as_of=seen.forward.as_of)
    refused: dict[str, int] = {}
    for failed in learnt.failed:
        pool = part.pool_by_name.get(failed.pool)
        if pool is not None and failed.cause is Cause.CREATE_FAILED:
            refused[pool.domain] = refused.get(pool.domain, 0) + 1
    kept: dict[str, int] = {}
    for name, joined in tally.joined.items():
        domain = part.pool_by_name[name].domain
        kept[domain] = kept.get(domain, 0) + joined
    return replace(learnt, ahead=forward.outcomes(ahead, kept, refused, now=seen.now))


STANDING_EVENTS = {
    exclusion.Standing.EXCLUDED: EventType.POOL_EXCLUDED,
    exclusion.Standing.PROBING: EventType.POOL_PROBED,
    exclusion.Standing.FREE: EventType.POOL_READMITTED,
}


def _standing_event(change: exclusion.Change, scribe: Scribe) -> Event:
    return scribe.event(
        STANDING_EVENTS[change.standing],
        f"{change.pool}/{scribe.now}",
        change.cause,
        pool=change.pool,
        data={"until": change.until} if change.standing is exclusion.Standing.EXCLUDED else {},
    )


def _fresh(card: RateCard | None, now: int) -> RateCard | None:
    return card if card is not None and now - card.as_of <= RATE_AGE_MS else None


def _rate_events(
    part: Partition, before: ToldRates, card: RateCard | None, scribe: Scribe
) -> tuple[ToldRates, list[Event]]:
    """What has been told of each pool up to now, and an event for each whose rate or guaranteed rate is new; a
    committed pool's rate is the guaranteed one. A rate that is heard again after a silence is not new, unless the card
    says that it came into force since: another may have held, and been told, between.
    """
    if card is None:
        return before, []
    told = dict(before)
    events = []
    for pool in part.pools:
        sure = card.guaranteed.get(pool.name)
        asked = sure if pool.committed else card.rates.get(pool.name)
        if asked is None or sure is None:
            continue
        since = card.effective_from.get(pool.name, card.as_of)
        rate = asked, sure, card.effective_from.get(pool.name, 0)
        if told.get(pool.name) == rate:
            continue
        told[pool.name] = rate
        events.append(
            scribe.event(
                EventType.RATE_KNOWN,
                f"{pool.name}/{since}",
                Cause.RATE_CHANGED,
                at=since,
                pool=pool.name,
                data={"rate": str(asked), "guaranteed": str(sure), "currency": card.currency, "effective_from": since},
            )
        )
    return told, events


def _ranked(learnt: Learnt, now: int) -> Learnt:
    """The history told of what has gathered, and the ranking that follows; the same inputs keep the same ranking."""
    ground, history = learnt.ground, learnt.history
    if ground is None or history is None:
        raise RuntimeError("laid over a partition before it is ranked")
    pools = ground.board.pools
    history = observe_arrays(
        history,
        now=now,
        exposure_hours=np.array([learnt.exposure.get(name, 0.0) for name in pools]),
        losses=np.array([learnt.losses.get(name, 0.0) for name in pools]),
    )
    fresh = hazards(history)
    published = settle(learnt.published, np.stack((fresh.mean, fresh.upper, fresh.slow_mean, fresh.slow_upper)))
    told = replace(learnt, history=history, exposure={}, losses={}, ranked_at=now, published=published)
    card = learnt.card
    rates = Rates.of(ground.board, card.rates if card else {}, card.guaranteed if card else {})
    if learnt.priced is not None and learnt.priced.rates.same_as(rates) and _same(published, learnt.published):
        return told
    return replace(told, priced=_priced(rank(ground.board, Hazards(ground.topology, *published), rates), rates))


def _same(one: Floats, other: Floats | None) -> bool:
    return other is not None and np.array_equal(one, other)


def _priced(ranking: Ranking, rates: Rates) -> Priced:
    """Offers share their columns between the workloads of one class, and equal columns between classes."""
    shared: dict[tuple[object, ...], tuple[object, ...]] = {}
    by_class: dict[int, Offers] = {}
    for row in range(len(ranking.board.kinds)):
        pools, units, costs = ranking.columns(row)
        by_class[row] = Offers(
            pools=shared.setdefault(pools, pools),  # type: ignore[arg-type]  # what comes out is what went in
            units=shared.setdefault(units, units),  # type: ignore[arg-type]  # the same
            cost_micro=costs,
        )
    return Priced(
        ranking=ranking,
        rates=rates,
        offers={name: by_class[row] for name, row in ranking.board.class_of.items()},
        move_cost_micro=move_cost_micro(ranking),
        guaranteed_micro=guaranteed_micro(ranking),
    )
