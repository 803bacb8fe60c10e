"""What one simulated day came to: every figure of the screen and the report, from its events and samples alone.

Called by the demo, by `ebbtide replay` and by the HTML report. It measures every planner against the estate's own
bounds, whatever that planner obeyed, and counts from events, not from what the planner believed. Pure: money arrives
as the ledger's rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ledger.causes import Cause
from ledger.events import Event, EventType
from ledger.reports import NetSaving, Period, Reconciliation, by_tier, summed
from reconciler.desired import Partition
from simulation.concentration import Concentration, concentration
from simulation.floors import Floors, Shortfall, floors, shortfalls


@dataclass(frozen=True, slots=True)
class Losses:
    """Instances that the provider took, each counted once.

    `noticed` had a notice that stood; of them `given_back` were drained and returned before their time was up, `early`
    ended before the time that the notice gave. `unnoticed` fell without a word. `withdrawn` notices took nothing;
    `reclaims` counts distinct reclaims.
    """

    noticed: int = 0
    given_back: int = 0
    early: int = 0
    unnoticed: int = 0
    withdrawn: int = 0
    reclaims: int = 0

    @property
    def total(self) -> int:
        """All instances that the provider took."""
        return self.noticed + self.unnoticed


@dataclass(frozen=True, slots=True)
class Drains:
    """How drains ended: seen empty, out of time, taken back, or unknown because the node was gone first."""

    verified: int = 0
    overrun: int = 0
    withdrawn: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """Drains that began."""
        return self.verified + self.overrun + self.withdrawn + self.unknown

    @property
    def overrun_ppm(self) -> int:
        """Overruns and unknown ends over all drains that were not withdrawn, in millionths."""
        ended = self.total - self.withdrawn
        return (self.overrun + self.unknown) * 1_000_000 // ended if ended else 0


@dataclass(frozen=True, slots=True)
class Money:
    """The ledger's verdict: the sum over workloads, by tier (strictest first), and terms less invoice in ticks."""

    currency: str
    total: NetSaving
    tiers: Mapping[str, NetSaving]
    invoice_ticks: int
    difference_ticks: int
    consistent: bool


@dataclass(frozen=True, slots=True)
class DaySummary:
    """One planner's day.

    `on_notice` are drains that a provider's notice began, `returns` those that we asked for. `first_action_ms` are the
    median and the 99th percentile from a notice's arrival to the node's first action. `acquired`, `replaced` and
    `released` count what was asked for; `failed` those that could not be had or never joined. `excluded` counts
    exclusions of a pool that began, `refused` the guard's refusals by cause.
    """

    policy: str
    region: str
    period: Period
    losses: Losses
    on_notice: Drains
    returns: Drains
    first_action_ms: tuple[int, int]
    acquired: int
    replaced: int
    released: int
    failed: int
    excluded: int
    floors: Floors
    shortfalls: tuple[Shortfall, ...]
    concentration: Concentration
    money: Money
    refused: Mapping[str, int] = field(default_factory=dict)


def summary(
    events: Sequence[Event],
    *,
    policy: str,
    part: Partition,
    period: Period,
    first_action_ms: Sequence[int],
    money: Money,
    refused: Mapping[str, int],
) -> DaySummary:
    """The day's figures; `events` may hold more than the period, only what happened in it counts.

    `part` is the estate's own partition, with its bounds, also for a planner that had none.
    """
    inside = [event for event in events if period.from_ms <= event.occurred_at < period.to_ms]
    requested = [event for event in inside if event.type is EventType.INSTANCE_REQUESTED]
    replacing = sum(1 for event in requested if event.cause.value in REPLACING)
    return DaySummary(
        policy=policy,
        region=part.region,
        period=period,
        losses=losses(inside),
        on_notice=drains(events, period, asked=False),
        returns=drains(events, period, asked=True),
        first_action_ms=(quantile(first_action_ms, 500), quantile(first_action_ms, 990)),
        acquired=len(requested) - replacing,
        replaced=replacing,
        released=_count(inside, EventType.RELEASE_ASKED),
        failed=_count(inside, EventType.INSTANCE_FAILED),
        excluded=_count(inside, EventType.POOL_EXCLUDED),
        floors=floors(events, part, period),
        shortfalls=shortfalls(events, part, period),
        concentration=concentration(events, part, period),
        money=money,
        refused=dict(refused),
    )


REPLACING = frozenset(
    {"notice", "lost_after_notice", "lost_without_notice", "ended_before_its_time", "never_joined", "create_failed"}
)
"""Causes of a request that makes good a loss; any other asks for something new."""


def losses(events: Iterable[Event]) -> Losses:
    """Instances taken, by what the provider said before."""
    lost: dict[str, Cause] = {}
    noticed: set[str] = set()
    withdrawn: set[str] = set()
    reclaims: set[str] = set()
    for event in events:
        if event.type is EventType.INSTANCE_LOST:
            lost[event.instance] = event.cause
        elif event.type is EventType.NOTICE_WITHDRAWN:
            withdrawn.add(event.instance)
        elif event.type is EventType.NOTICE_RECEIVED:
            noticed.add(event.instance)
            reclaims.add(str(event.data["reclaim"]))
    stood = noticed - (withdrawn - lost.keys())
    return Losses(
        noticed=len(stood),
        given_back=len(stood - lost.keys()),
        early=sum(1 for cause in lost.values() if cause is Cause.ENDED_BEFORE_ITS_TIME),
        unnoticed=sum(1 for cause in lost.values() if cause is Cause.LOST_WITHOUT_NOTICE),
        withdrawn=len(withdrawn),
        reclaims=len(reclaims),
    )


def drains(events: Iterable[Event], period: Period, *, asked: bool) -> Drains:
    """Drains that began in the period: those that we `asked` for, or those that a notice began."""
    began: dict[str, Event] = {}
    ended: dict[str, str] = {}
    for event in events:
        if event.type is EventType.DRAIN_STARTED and period.from_ms <= event.occurred_at < period.to_ms:
            if event.caused_by.startswith(EventType.RELEASE_ASKED.value) is asked:
                began[event.id] = event
        elif event.type is EventType.DRAIN_ENDED:
            ended[event.caused_by] = str(event.data["outcome"])
    counts = {"verified": 0, "overrun": 0, "withdrawn": 0, "unknown": 0}
    for name, event in began.items():
        outcome = ended.get(name, "unknown")
        open_still = outcome == "unknown" and int(event.data["ends_at"]) >= period.to_ms
        if not open_still:
            counts[outcome] += 1
    return Drains(**counts)


def quantile(values: Iterable[int], permille: int) -> int:
    """The smallest value that at least `permille` thousandths do not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * permille // 1000) - 1)] if ordered else 0


def money(
    rows: Sequence[NetSaving], reconciled: Reconciliation, *, region: str, currency: str, tier_of: Mapping[str, str]
) -> Money:
    """The ledger's rows as the sums that a screen shows."""
    return Money(
        currency=currency,
        total=summed(rows, region=region),
        tiers=by_tier(rows, tier_of),
        invoice_ticks=reconciled.invoice_ticks,
        difference_ticks=reconciled.difference,
        consistent=reconciled.consistent,
    )


def _count(events: Iterable[Event], kind: EventType) -> int:
    return sum(1 for event in events if event.type is kind)
