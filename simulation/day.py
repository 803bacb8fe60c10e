"""One day of losses for one region: a recorded day, or one that the region model draws, laid onto the region's pools.

Used by the demo, by `ebbtide plan` and `run` on the simulated provider, and by the day benchmark. A recorded site
becomes a hall, its pools are spread over the hall's capacity domains in order, and what fell there falls here as the
same share of hosts at the same second of the day. Neither kind of day records notices: by a stated rule five losses in
a hundred come without one, the others with the pool's own notice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pools.model import Pool
from pools.provider import NoticeKind
from reconciler.appraisal import PastHour
from repo_layout.model import Estate
from simulation.cloud_model import CloudParameters, TenantParameters
from simulation.cloud_model import Wave as CloudWave
from simulation.region_model import AggregateShape, HallShape, PoolShape, sample
from simulation.region_parameters import packaged
from simulation.trace import Outage, OutageKind, Trace
from simulation.trace_measures import (
    HOUR_MS,
    Grouping,
    cut,
    exposure_hours,
    hour_edges,
    lose_notice,
    losses,
    outages_in,
    waves,
)
from simulation.world import Setting

DAY_MS = 24 * HOUR_MS
WARM_UP_MS = 3 * HOUR_MS
"""Before the day counts, the region fills: an empty region says nothing about lending."""

DEMO_DAY = 1_793_577_600_000
"""2026-11-02T00:00Z, a Monday: where every simulated day is laid, so that its results can be compared."""

PAST_DAYS = 60
"""What the ranking has learnt when the day begins: a region is not lent out on the first day of its life."""

NO_NOTICE_SHARE = 0.05
SAME_WAVE_MS = 180_000
LONGEST_HOLD_MS = 12 * HOUR_MS
"""An absence of days is a repair, not a reclaim; the domain is held for at most half a day."""


@dataclass(frozen=True, slots=True)
class Day:
    """A day's disturbances for one region, and where they come from in one sentence."""

    title: str
    source: str
    waves: tuple[CloudWave, ...]
    past: tuple[PastHour, ...] = ()


def recorded_day(trace: Trace, pools: Sequence[Pool], *, seed: int, date: int | None = None) -> Day:
    """The recorded day that starts at `date` (ms), by default the one with the largest wave of a whole hall.

    Only days count on which every hall of the record exists.
    """
    day = date if date is not None else hall_wave_day(trace)
    part = lose_notice(cut(trace, day, day + DAY_MS), share=NO_NOTICE_SHARE, seed=seed)
    return Day(
        title=f"recorded day {_iso(day)}",
        source=f"{trace.source} Laid onto {_iso(DEMO_DAY)}.",
        waves=laid_on(part, pools, shift=DEMO_DAY - day),
        past=past_of(trace, pools, day),
    )


def modelled_day(pools: Sequence[Pool], *, seed: int) -> Day:
    """A day that the region model draws for these pools: of thirty, the one with the largest wave of a whole hall.

    The sixty days before the thirty are its past.
    """
    drawn = sample(packaged(), _topology(pools), start=DEMO_DAY - PAST_DAYS * DAY_MS, days=PAST_DAYS + 30, seed=seed)
    trace = lose_notice(drawn, share=NO_NOTICE_SHARE, seed=seed)
    day = hall_wave_day(cut(trace, DEMO_DAY, DEMO_DAY + 30 * DAY_MS))
    part = cut(trace, day, day + DAY_MS)
    return Day(
        title=f"day {(day - DEMO_DAY) // DAY_MS + 1} of 30 drawn by the region model, seed {seed}",
        source=trace.source,
        waves=laid_on(part, pools, shift=DEMO_DAY - day),
        past=past_of(trace, pools, day),
    )


def hall_wave_day(trace: Trace) -> int:
    """The UTC day (its first millisecond) with the largest share of one hall lost in one wave, ties to the earlier.

    Waves of a hall with fewer than sixteen nodes up are no hall-scale waves.
    """
    complete = max((pool.joined_at for pool in trace.pools), default=trace.starts_at)
    complete = max(complete, trace.starts_at)  # pools of a part of a trace joined before it
    first = -(-complete // DAY_MS) * DAY_MS
    best, day = 0.0, first
    for wave in waves(trace, Grouping.HALL, least=16):
        start = wave.start // DAY_MS * DAY_MS
        whole = first <= start and start + DAY_MS <= trace.ends_at
        if whole and wave.up >= 16 and wave.share > best + 1e-9:
            best, day = wave.share, start
    return day


def laid_on(trace: Trace, pools: Sequence[Pool], *, shift: int) -> tuple[CloudWave, ...]:
    """The trace's losses as waves over the region's lent domains, `shift` milliseconds later."""
    domain_of, sizes = _mapping(trace, pools)
    together: dict[tuple[str, int, bool], list[Outage]] = defaultdict(list)
    for outage in outages_in(trace, trace.starts_at, trace.ends_at):
        key = domain_of[outage.pool], outage.start // 1000, outage.kind is not OutageKind.NO_NOTICE
        together[key].append(outage)
    found = []
    opened: dict[str, tuple[int, str]] = {}
    for (domain, second, noticed), outages in sorted(together.items(), key=lambda item: (item[0][1], item[0])):
        at = second * 1000 + shift
        hall = domain_hall(pools, domain)
        begun, reclaim = opened.get(hall, (0, ""))
        if at - begun > SAME_WAVE_MS:
            begun, reclaim = at, f"rc-{hall}-{second}"
            opened[hall] = begun, reclaim
        lengths = sorted((o.end if o.end is not None else trace.ends_at) - o.start for o in outages)
        hold = min(LONGEST_HOLD_MS, max(SAME_WAVE_MS, lengths[len(lengths) // 2]))
        found.append(
            CloudWave(
                at=at,
                domain=domain,
                hold_until=at + hold,
                share=min(1.0, len(outages) / sizes[domain]),
                noticed=noticed,
                kind=NoticeKind.RECLAIM if noticed else NoticeKind.HOST_FAILURE,
                reclaim=reclaim if noticed else "",
                reason="a guaranteed tenant needs the hosts" if noticed else "hosts failed",
            )
        )
    return tuple(found)


def past_of(trace: Trace, pools: Sequence[Pool], day: int) -> tuple[PastHour, ...]:
    """What the record knows of each pool's losses before the day, hour by hour, at most sixty days back.

    The warm-up hours are left out: the region lives through them. Rows of one domain share its nodes.
    """
    start = max(trace.starts_at, day - PAST_DAYS * DAY_MS)
    hours = max(0, (day - WARM_UP_MS - start) // HOUR_MS)
    if not hours:
        return ()
    domain_of, _ = _mapping(trace, pools)
    rows: dict[str, list[str]] = defaultdict(list)
    for pool in pools:
        rows[pool.domain].append(pool.name)
    edges = hour_edges(start, hours)
    exposure, lost = exposure_hours(trace, edges), losses(trace, edges)
    past = []
    for hour in range(hours):
        at_risk: dict[str, float] = defaultdict(float)
        fallen: dict[str, float] = defaultdict(float)
        for place, recorded in enumerate(trace.pools):
            names = rows[domain_of[recorded.name]]
            for name in names:
                at_risk[name] += float(exposure[hour, place]) / len(names)
                fallen[name] += float(lost[hour, place]) / len(names)
        past.append(PastHour(int(edges[hour + 1]) + DEMO_DAY - day, at_risk, fallen))
    return tuple(past)


def domain_hall(pools: Sequence[Pool], domain: str) -> str:
    """The hall that a domain stands in."""
    return next(pool.hall for pool in pools if pool.domain == domain)


def _mapping(trace: Trace, pools: Sequence[Pool]) -> tuple[dict[str, str], dict[str, int]]:
    """Recorded pool -> domain here, and how many recorded nodes stand behind each domain."""
    domains: dict[str, list[str]] = defaultdict(list)
    for pool in pools:
        if not pool.committed and pool.domain not in domains[pool.hall]:
            domains[pool.hall].append(pool.domain)
    halls = sorted(domains)
    sites = sorted({pool.hall for pool in trace.pools})
    domain_of: dict[str, str] = {}
    sizes: dict[str, int] = defaultdict(int)
    for number, site in enumerate(sites):
        here = domains[halls[number % len(halls)]] if site not in domains else domains[site]
        for place, recorded in enumerate(p for p in trace.pools if p.hall == site):
            domain = recorded.name if recorded.name in here else here[place % len(here)]
            domain_of[recorded.name] = domain
            sizes[domain] += recorded.size
    return domain_of, sizes


def _topology(pools: Sequence[Pool]) -> tuple[HallShape, ...]:
    halls: dict[str, dict[str, PoolShape]] = {}
    for pool in pools:
        if not pool.committed:
            halls.setdefault(pool.hall, {})[pool.domain] = PoolShape(pool.domain, pool.hosts.count)
    return tuple(
        HallShape(hall, tuple(AggregateShape(name, (shape,)) for name, shape in domains.items()))
        for hall, domains in halls.items()
    )


def setting(estate: Estate, region: str, day: Day, *, seed: int, hours: float = 24.0) -> Setting:
    """The run for one day: three hours in which the region fills, then `hours` that count."""
    return Setting(
        estate=estate,
        region=region,
        start=DEMO_DAY - WARM_UP_MS,
        counts_from=DEMO_DAY,
        days=(WARM_UP_MS + hours * HOUR_MS) / DAY_MS,
        seed=seed,
        cloud=CloudParameters(
            estate=estate.settings.estate,
            currency=estate.settings.currency,
            tenants=TenantParameters(load=0.30, batch_mean=1.0, swing=0.3),
            advised=0.3,
            false_advisories_per_day=1.0,
            boot_failures=0.004,
            withdrawn=0.02,
        ),
        waves=day.waves,
        past=day.past,
    )


def _iso(at: int) -> str:
    """The UTC date of an instant."""
    return datetime.fromtimestamp(at / 1000, tz=UTC).date().isoformat()
