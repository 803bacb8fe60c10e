"""Closes a day: its events into the ledger, its figures and its record into the state directory.

`demo` and `run` call it after the day has passed. It wires the ledger's engine to the summary and renders nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ebbtide.day import Order, Passed
from ebbtide.grammar import VERSION
from ebbtide.state import FORMAT, PolicyRecord, RunRecord, Standing, State
from ledger.delivery import deliver
from ledger.events import Event, EventType, from_line
from ledger.reports import Period, Reconciliation, Waste
from ledger.spool import Spool
from pools.ranking import Drop, Ranked
from reconciler.cycle import Decision
from reconciler.desired import Partition
from reconciler.fleet import Phase
from simulation.day import DEMO_DAY, Day
from simulation.summary import money, summary
from simulation.trace_measures import HOUR_MS


@dataclass(frozen=True, slots=True)
class Booked:
    """One planner's day in the books: its record, its events, what was wasted, and the invoice's verdict."""

    record: PolicyRecord
    events: tuple[Event, ...]
    waste: tuple[Waste, ...]
    reconciliation: Reconciliation


def period_of(hours: float) -> Period:
    """The time that counts."""
    return Period(DEMO_DAY, DEMO_DAY + int(hours * HOUR_MS))


def booked(
    state: State, part: Partition, passed: Passed, events: Sequence[Event], *, policy: str, period: Period
) -> Booked:
    """The day's events in the planner's ledger, and its figures."""
    with Spool(state.spool_of(policy)) as spool, state.ledger(policy) as ledger:
        deliver(spool, ledger)
        rows = ledger.savings(period)
        verdict = ledger.reconcile_invoice(period)
        waste = ledger.waste(period)
        currency = ledger.currency(period)
    figures = summary(
        events,
        policy=policy,
        part=part,
        period=period,
        first_action_ms=passed.first_action_ms,
        money=money(
            rows,
            verdict,
            region=part.region,
            currency=currency or part.estate.settings.currency,
            tier_of={c.name: c.tier.value for c in part.contracts},
        ),
        refused=passed.refusals,
    )
    return Booked(PolicyRecord(figures, passed.moments, passed.cycles), tuple(events), waste, verdict)


def costs_of(state: State, ids: Iterable[str]) -> dict[str, int]:
    """Ticks that were paid for events of our day."""
    with state.ledger() as ledger:
        return ledger.history.costs(ids)


def spooled_events(state: State, policy: str) -> list[Event]:
    """Every event of a planner's spool, in the order in which it was told."""
    with Spool(state.spool_of(policy)) as spool:
        return [from_line(entry.line) for entry in spool.read(spool.start)]


def recorded(
    order: Order, part: Partition, day: Day, last: Decision | None, policies: Sequence[PolicyRecord]
) -> RunRecord:
    """What `run.json` says."""
    ranking = last.appraisal.ranking if last else None
    return RunRecord(
        format=FORMAT,
        version=VERSION,
        commit=order.commit,
        region=order.region,
        seed=order.seed,
        hours=order.hours,
        title=day.title,
        source=day.source,
        recorded=order.losses.recorded,
        period=period_of(order.hours),
        policies=tuple(policies),
        ranking={c.name: _usable(ranking.rows(c.name)) for c in part.contracts} if ranking else {},
        standing=_standing(last) if last else (),
        admitted=dict(last.appraisal.admitted) if last else {},
        claims={name: claim.total for name, claim in last.memory.claims.items()} if last else {},
    )


def telling_loss(events: Sequence[Event], period: Period) -> str:
    """The lost instance whose story has the most to tell: notice, drain, work lost, a replacement asked for at once; of
    equal ones the one that cost the most work. Empty when none was lost.
    """
    noticed: dict[str, Event] = {}
    told: dict[str, set[EventType]] = {}
    cost: dict[str, int] = {}
    for event in events:
        if event.type is EventType.NOTICE_RECEIVED and period.from_ms <= event.occurred_at < period.to_ms:
            noticed[event.id] = event
        notice = noticed.get(event.caused_by)
        if event.type is EventType.INSTANCE_REQUESTED:
            if notice is not None and event.occurred_at - notice.occurred_at <= AT_ONCE_MS:
                told.setdefault(notice.instance, set()).add(event.type)
        else:
            told.setdefault(event.instance, set()).add(event.type)
        if event.type is EventType.WORK_LOST:
            cost[event.instance] = int(event.data["unit_ms"])
    lost = {event.instance for event in noticed.values()}
    return max(lost, key=lambda name: (len(told[name] & TELLING), cost.get(name, 0), name), default="")


def noticed_at(events: Iterable[Event], instance: str) -> int:
    """When an instance first had notice; 0 when it never had."""
    told = (e.occurred_at for e in events if e.instance == instance and e.type is EventType.NOTICE_RECEIVED)
    return next(told, 0)


AT_ONCE_MS = 60_000
"""A replacement asked for later than this waited for room."""

TELLING = frozenset(
    {
        EventType.NOTICE_RECEIVED, EventType.DRAIN_STARTED, EventType.DRAIN_ENDED, EventType.WORK_LOST,
        EventType.INSTANCE_REQUESTED, EventType.INSTANCE_LOST,
    }
)  # fmt: skip


def _usable(rows: Iterable[Ranked]) -> tuple[Ranked, ...]:
    """The pools whose attributes fit, offered or not."""
    return tuple(row for row in rows if row.reason is not Drop.NOT_ELIGIBLE)


def _standing(last: Decision) -> tuple[Standing, ...]:
    return tuple(
        Standing(
            i.name, i.workload, i.pool, i.units, i.busy_units, i.paid.value, i.phase.value
        )
        for i in sorted(last.memory.fleet.instances.values(), key=lambda i: i.name)
        if i.phase is not Phase.GONE
    )  # fmt: skip
