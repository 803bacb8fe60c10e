"""Screens of hand-made days: the story of one instance, the savings, a plan's numbers, the one screen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from contracts.model import Tier
from ebbtide import render_action, render_savings
from ebbtide.render_demo import Screen, as_document, as_text
from ebbtide.state import PolicyRecord, RunRecord
from ebbtide.story import Life, causes_to_follow, life
from ebbtide.text import Paint
from ledger.causes import Cause
from ledger.events import Event, EventType
from ledger.money import TICKS
from ledger.reports import NetSaving, Period, Reconciliation, Waste
from ledger.story import told
from repo_layout.losses import LargestLoss
from simulation.concentration import Concentration, Fall
from simulation.floors import Floors, Shortfall
from simulation.summary import DaySummary, Drains, Losses, Money

DAY = 1_793_577_600_000
MINUTE = 60_000
PLAIN = Paint()


def event(kind: EventType, at: int, cause: Cause, caused_by: str = "", name: str = "", /, **data: str | int) -> Event:
    """One event about instance `a` (or `name`), `at` milliseconds into the day."""
    instance = name or ("" if kind is EventType.CLAIM_CHANGED else "a")
    return Event(
        id=f"{kind.value}/{instance}/{at}",
        occurred_at=DAY + at,
        recorded_at=DAY + at,
        type=kind,
        cause=cause,
        region="north",
        caused_by=caused_by,
        workload="render",
        pool="north-b" if name else "north-a",
        instance=instance,
        data=data,
    )


def usage(at: int, to: int, use: str, caused_by: str, name: str = "") -> Event:
    """Two slots of an instance in one state."""
    times: dict[str, str | int] = {"from_ms": DAY + at, "to_ms": DAY + to, "slot": 0, "units": 2, "of_units": 2}
    cause = Cause.RESTORED if use == "restarting" else Cause.ACCOUNTING
    return event(EventType.USAGE, to, cause, caused_by, name, use=use, paid="reclaimable", **times)


def history() -> tuple[Event, ...]:
    """A claim, an instance, its notice and drain, its replacement, and where its units went on."""
    claim = event(EventType.CLAIM_CHANGED, 0, Cause.CLAIM_GREW, units=2)
    asked = event(EventType.INSTANCE_REQUESTED, 1, Cause.CLAIM_GREW, claim.id, units=2, paid="reclaimable")
    started = event(EventType.INSTANCE_STARTED, 40_000, Cause.CLAIM_GREW, asked.id, units=2, paid="reclaimable")
    joined = event(EventType.INSTANCE_JOINED, 65_000, Cause.CLAIM_GREW, asked.id)
    served = usage(65_000, 90 * MINUTE, "serving", started.id)
    ends: dict[str, str | int] = {"ends_at": DAY + 92 * MINUTE}
    notice = event(EventType.NOTICE_RECEIVED, 90 * MINUTE, Cause.NOTICE, reclaim="rc-1", kind="reclaim", **ends)
    drain = event(EventType.DRAIN_STARTED, 90 * MINUTE, Cause.NOTICE, notice.id, units=2, **ends)
    ended = event(EventType.DRAIN_ENDED, 90 * MINUTE + 8_034, Cause.DRAINED, drain.id, outcome="verified", slow_unit="")
    redone = event(EventType.WORK_LOST, 90 * MINUTE + 8_034, Cause.DRAINED, ended.id, unit_ms=20 * MINUTE)
    empty = usage(90 * MINUTE + 8_034, 92 * MINUTE, "draining", drain.id)
    gone = event(EventType.INSTANCE_ENDED, 92 * MINUTE, Cause.NOTICE, notice.id)
    lost = event(EventType.INSTANCE_LOST, 92 * MINUTE, Cause.LOST_AFTER_NOTICE, notice.id, noticed=1)
    other = event(
        EventType.INSTANCE_REQUESTED, 90 * MINUTE + 5_000, Cause.NOTICE, notice.id, "b", units=2, paid="reclaimable"
    )
    there = event(EventType.INSTANCE_STARTED, 91 * MINUTE, Cause.NOTICE, other.id, "b", units=2, paid="reclaimable")
    ready = event(EventType.INSTANCE_JOINED, 91 * MINUTE + 30_000, Cause.NOTICE, other.id, "b")
    again = event(EventType.RESTORED, 91 * MINUTE + 30_000, Cause.RESTORED, redone.id, "b", duration_ms=45_000)
    loads = usage(91 * MINUTE + 30_000, 91 * MINUTE + 75_000, "restarting", redone.id, "b")
    return (
        claim, asked, started, joined, served, notice, drain, other, ended, redone, empty, gone, lost, there, ready,
        again, loads,
    )  # fmt: skip


COSTS = {"work.lost": TICKS // 20, "draining": TICKS // 100, "restarting": TICKS // 200, "serving": TICKS // 4}


def costs(events: tuple[Event, ...]) -> dict[str, int]:
    """What each of the events that money follows from cost."""
    found = {e.id: COSTS[e.type.value] for e in events if e.type is EventType.WORK_LOST}
    return found | {e.id: COSTS[str(e.data["use"])] for e in events if e.type is EventType.USAGE}


def lived() -> Life:
    """The life of instance `a`."""
    everything = history()
    own = tuple(e for e in everything if e.instance == "a")
    after = tuple(e for e in everything if e.instance == "b")
    return life("a", own, root=everything[:2], after=after, costs=costs(everything))


def test_a_lost_instance_reads_as_reviewed(golden: Callable[[str, str], None]) -> None:
    lines = render_action.as_text(lived(), currency="EUR", tier="tier 3, staged", paint=PLAIN)
    golden("explain_action", "\n".join(lines) + "\n")


def test_the_cost_of_an_end_is_work_redone_slots_drained_and_slots_loaded_elsewhere() -> None:
    cost = lived().cost
    assert (cost.redone, cost.draining, cost.restarting) == (TICKS // 20, TICKS // 100, TICKS // 200)
    assert cost.total == TICKS * 65 // 1000


def test_what_follows_an_end_is_sought_below_its_notice_its_loss_and_its_work() -> None:
    kinds = {name.partition("/")[0] for name in causes_to_follow(history())}
    assert kinds == {"notice.received", "instance.lost", "work.lost"}


def test_a_chain_of_causes_reads_as_reviewed(golden: Callable[[str, str], None]) -> None:
    steps = told(history(), costs(history()))
    lines = render_action.tree(steps, currency="EUR", asked=history()[5].id, paint=PLAIN)
    golden("explain_tree", "\n".join(lines) + "\n")


def test_usage_of_one_cause_is_told_once_with_its_sum() -> None:
    first, second = usage(0, MINUTE, "serving", "x"), usage(MINUTE, 3 * MINUTE, "serving", "x")
    merged = render_action.merged(told((first, second), {first.id: 5, second.id: 7}))
    assert [(step.what, step.ticks) for step in merged] == [("slots of a serving for 6 min 00 s in 2 lines", 12)]


def row(workload: str, net: int) -> NetSaving:
    """A workload that saved `net` whole units, after waste."""
    hour = 3_600_000 * 1_000_000
    return NetSaving(
        region="north",
        workload=workload,
        useful_unit_ms=10 * 3_600_000,
        useful_ns=9 * hour,
        redone_ns=hour // 4,
        idle_ns=hour // 2,
        draining_ns=hour // 4,
        useful_paid=9 * TICKS // 10,
        redone_paid=TICKS // 40,
        idle_paid=TICKS // 20,
        draining_paid=TICKS // 40,
        reclaimable_paid=TICKS,
        useful_value=(net + 1) * TICKS,
        interruptible_value=(net + 1) * TICKS,
    )


def test_the_savings_read_as_reviewed(golden: Callable[[str, str], None]) -> None:
    rows = {"render": row("render", 3), "train": row("train", 5)}
    total = dataclasses.replace(row("", 8), reclaimable_paid=2 * TICKS, useful_value=10 * TICKS)
    view = render_savings.SavingsView(
        subject="region north, under ebbtide",
        currency="EUR",
        rows=rows,
        total=total,
        waste=(Waste("north", "render", "north-a", "redone", "drained", 900_000_000_000_000, TICKS // 20, 3),),
        reconciled=Reconciliation(2 * TICKS, 2 * TICKS, 2 * TICKS, (), ()),
    )
    golden("savings", "\n".join(render_savings.as_text(view, PLAIN)) + "\n")


def test_terms_that_are_not_the_invoice_are_never_called_in_order() -> None:
    view = render_savings.SavingsView("x", "EUR", {}, row("", 1), (), Reconciliation(TICKS, TICKS + 1, TICKS, (), ()))
    last = " ".join(render_savings.as_text(view, PLAIN)[-2:])
    assert "do not sum to it" in last
    assert "1 tick of difference" in last


def day(policy: str, *, broken: int) -> DaySummary:
    """A planner's day by hand."""
    fall = Fall(DAY, "render", "north-a", 8, 4, 23, 8)
    saved = row("render", 3)
    return DaySummary(
        policy=policy,
        region="north",
        period=Period(DAY, DAY + 86_400_000),
        losses=Losses(noticed=12, given_back=9, unnoticed=1, withdrawn=1, reclaims=3),
        on_notice=Drains(verified=11, overrun=1, withdrawn=1),
        returns=Drains(verified=4),
        first_action_ms=(70, 120),
        acquired=40,
        replaced=12,
        released=33,
        failed=1,
        excluded=2,
        floors=Floors(2, 6, 2 - broken, {"api": 60_000} if broken else {}),
        shortfalls=(Shortfall("api", 1, DAY, DAY + 90_000, 2, "e"),),
        concentration=Concentration(52, broken, (), fall, fall, 3, broken),
        money=Money("EUR", saved, {"staged": saved, "": row("", 0)}, TICKS, 0, consistent=True),
    )


def screen(*days: DaySummary) -> Screen:
    """The one screen of hand-made days."""
    record = RunRecord(
        format=1,
        version="0",
        commit="6d359659f665" + "0" * 28,
        region="north",
        seed=7,
        hours=24,
        title="recorded day 2006-11-08",
        source="Cluster node availability.",
        recorded=True,
        period=days[0].period,
        policies=tuple(PolicyRecord(one, (), 300) for one in days),
        ranking={},
        standing=(),
        admitted={},
        claims={},
    )
    return Screen(record, "estate minimal", 19, ".demo", "eb-1", DAY + 5_000_000, ".demo/report.html", 31.0)


def test_the_one_screen_reads_as_reviewed(golden: Callable[[str, str], None]) -> None:
    lines = as_text(screen(day("ebbtide", broken=0), day("price-first", broken=1)), PLAIN)
    golden("demo", "\n".join(lines) + "\n")


def test_the_one_screen_is_one_screen() -> None:
    every = {tier.value: row("render", 3) for tier in Tier} | {"": row("", 0)}
    full = [
        dataclasses.replace(one, money=dataclasses.replace(one.money, tiers=every))
        for one in (day("ebbtide", broken=0), day("price-first", broken=1))
    ]
    lines = as_text(screen(*full), PLAIN)
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100


def test_what_was_kept_and_what_was_broken_differ_in_colour() -> None:
    painted = "\n".join(as_text(screen(day("ebbtide", broken=0), day("price-first", broken=1)), Paint(on=True)))
    assert "\x1b[32m0 of 52\x1b[0m" in painted
    assert "\x1b[31m1 of 52\x1b[0m" in painted


def test_a_waiver_shows_what_it_puts_at_stake_and_the_screen_stays_one_screen() -> None:
    losses = (LargestLoss("train", 2, 8, "hall", "h1"), LargestLoss("reward-model", 2, 4, "capacity domain", "h2-gpu"))
    every = {tier.value: row("render", 3) for tier in Tier} | {"": row("", 0)}
    full = [
        dataclasses.replace(one, money=dataclasses.replace(one.money, tiers=every))
        for one in (day("ebbtide", broken=0), day("price-first", broken=1))
    ]
    shown = dataclasses.replace(screen(*full), waived=losses)
    lines = as_text(shown, PLAIN)
    assert (
        "largest loss under a waiver, of 2 workloads: reward-model can lose 2 of 4 interruptible units (50 %) at once,"
        in " ".join(lines)
    )
    assert "capacity domain h2-gpu" in " ".join(lines)
    assert len(lines) <= 45
    assert as_document(shown, [])["waived_losses"] == [loss.document() for loss in losses]
