"""The numbers of one run: wasted work, what one window took, shortfall of strict tiers, and money.

Called by `simulation.replay`; pure. Time before the score starts is cut off; a stay that spans the start counts from
it, and its redone work counts whole, because it is lost inside. docs/replay.md says what each number means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from correlation_groups.spread import Shares, limit
from pools.ranking import MICRO
from simulation.replay_run import Record, Stay
from simulation.replay_window import Window, groups_of
from simulation.replay_work import Work
from simulation.trace_measures import HOUR_MS, WAVE_MS

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Score:
    """One policy on one window, seed and kind of prices.

    Percentages: `wasted_pct` is redone and restarting time over useful time, `loss_pct` losses per placed node-hour,
    `placed_pct` paid over wanted node-hours, `net_saving_pct` of the guaranteed value of useful hours. Minutes:
    `shortfall_minutes` over all strict workloads, `longest_shortfall_minutes` without a break.
    `worst_share_over_bound` is the largest part of its bound that a workload lost in one pool, aggregate or hall within
    180 s, at most 1 where the bound holds; `several` counts windows and workloads that lost units in more than one hall
    at once, and `worst_several_pct` is the largest share of a workload lost in one of them.
    """

    policy: str
    prices: str
    seed: int
    day: int
    wasted_pct: float
    redone_pct: float
    loss_pct: float
    placed_pct: float
    net_saving_pct: float
    shortfall_minutes: float
    longest_shortfall_minutes: float
    worst_share_over_bound: float
    several: int
    worst_several_pct: float
    lost: int
    moved: int
    plans: int


def score(win: Window, work: Work, record: Record, *, policy: str, prices: str, seed: int) -> Score:
    """The score of one run."""
    times = _Times()
    for stay in record.stays:
        if stay.until > win.score_at:
            times.add(stay, win, work.rates.asked[stay.pool] / MICRO)
    shortfalls = [_shortfalls(win, record.stays, w, work.minimum[w]) for w in work.strict]
    worst, several, worst_several = _windows(win, work, record.stays)
    useful = max(1, times.working - times.redone)
    return Score(
        policy=policy,
        prices=prices,
        seed=seed,
        day=round((win.score_at - win.trace.starts_at) / HOUR_MS / 24),
        wasted_pct=100 * (times.redone + times.restarting) / useful,
        redone_pct=100 * times.redone / useful,
        loss_pct=100 * times.lost / max(1e-9, times.paid / HOUR_MS),
        placed_pct=100 * times.paid / HOUR_MS / (work.units * win.hours),
        net_saving_pct=100 * (1 - times.money / useful),
        shortfall_minutes=sum(sum(found) for found in shortfalls) / MINUTE_MS,
        longest_shortfall_minutes=max((t for found in shortfalls for t in found), default=0) / MINUTE_MS,
        worst_share_over_bound=worst,
        several=several,
        worst_several_pct=100 * worst_several,
        lost=times.lost,
        moved=record.moved,
        plans=record.plans,
    )


@dataclass(slots=True)
class _Times:
    """Sums over stays, in milliseconds; money in node-milliseconds at the guaranteed rate."""

    paid: int = 0
    working: int = 0
    redone: int = 0
    restarting: int = 0
    lost: int = 0
    money: float = 0.0

    def add(self, stay: Stay, win: Window, rate: float) -> None:
        """One stay, cut to the scored time."""
        begin, end = max(stay.at, win.score_at), min(stay.until, win.ends_at)
        paid = max(0, end - begin)
        self.paid += paid
        self.money += paid * float(rate)
        self.working += max(0, min(stay.works_until, end) - max(stay.works_from, begin))
        self.restarting += max(0, min(stay.works_from, end) - begin)
        self.redone += stay.redone_ms
        self.lost += stay.lost


def _shortfalls(win: Window, stays: Sequence[Stay], workload: int, minimum: int) -> list[int]:
    """Lengths in milliseconds of the times in which fewer than `minimum` units of a workload worked."""
    changes: list[tuple[int, int]] = []
    for stay in stays:
        begin, end = max(stay.works_from, win.score_at), min(stay.works_until, win.ends_at)
        if stay.workload == workload and begin < end:
            changes += [(begin, 1), (end, -1)]
    changes.sort()
    found: list[int] = []
    running, since, short_until = 0, win.score_at, -1
    for at, step in [*changes, (win.ends_at, 0)]:
        if running < minimum and at > since:
            if short_until == since:
                found[-1] += at - since
            else:
                found.append(at - since)
            short_until = at
        running += step
        since = at
    return found


def _windows(win: Window, work: Work, stays: Sequence[Stay]) -> tuple[float, int, float]:
    """Worst part of a bound in one group; windows with losses in several halls; the worst share in one of those."""
    groups = groups_of(win.pools)
    shares = Shares()
    worst, several, worst_several = 0.0, 0, 0.0
    for w, desired in enumerate(work.desired):
        lost = sorted(
            (s.until, s.pool)
            for s in stays
            if s.workload == w and s.lost and s.until >= win.score_at and s.works_until > s.works_from
        )
        pool_bound = limit(shares.pool_permille, desired, 1)
        group_bound = limit(shares.group_permille, desired, 1)
        for inside in _sliding(lost):
            worst = max(worst, _most(inside) / pool_bound)
            halls = [groups[p][1] for p in inside]
            for names in ([groups[p][0] for p in inside], halls):
                worst = max(worst, _most(names) / group_bound)
            if len(set(halls)) > 1:
                several += 1
                worst_several = max(worst_several, len(inside) / desired)
    return worst, several, worst_several


def _sliding(lost: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """The pools of the losses in each 180 s that open with a loss."""
    for first, (begin, _) in enumerate(lost):
        last = first
        while last < len(lost) and lost[last][0] < begin + WAVE_MS:
            last += 1
        yield [pool for _, pool in lost[first:last]]


def _most(names: Sequence[object]) -> int:
    return max(names.count(name) for name in set(names))
