"""The rule about history: a tolerance is not below what the eligible pools were observed to do.

Called from the table in `repo_layout.feasibility`. The history is a reviewed file of the estate; nothing else is asked.
A pool counts against a contract only when it surely was worse than the contract tolerates, and a contract is refused
only when what is left does not give it the spread: the ranking passes such pools over as well. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache

from contracts.findings import Finding, listed
from contracts.model import Contract
from pools.eligibility import class_of, units_per_instance
from pools.gamma import quantile
from pools.model import Pool
from repo_layout.blame import SPREAD_BY, Attributed, fields_of
from repo_layout.documents import HistoryFile, HistoryRow
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground, Reach

CREDIBLE = 0.05
"""A pool counts as worse when the chance that it is not is at most one in twenty."""

SHOWN = 4
"""Pools that a message names; it says how many more there are."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one pool did: interruptions an hour of an instance, as observed and at least (with 95 %)."""

    row: HistoryRow
    mean: float
    least: float


def seen_of(row: HistoryRow) -> Seen:
    """The rate of one row, with its lower credible bound.

    Instances are taken in reclaims, several at once, so that the reclaims are what is counted: a Poisson number of them
    with Jeffreys' prior, whose posterior is Gamma(reclaims + 1/2) over the exposure (Gelman et al., Bayesian Data
    Analysis, sections 2.6 and 2.8), each taking its mean number of instances. Where little was observed the bound is
    near nothing: it cannot refuse.
    """
    if not row.reclaims or not row.exposure_hours:
        return Seen(row, 0.0, 0.0)
    each = row.interruptions / row.reclaims
    return Seen(row, row.interruptions / row.exposure_hours, _least(row.reclaims) * each / row.exposure_hours)


@lru_cache(maxsize=4096)
def _least(reclaims: int) -> float:
    return quantile(reclaims + 0.5, CREDIBLE)


def tolerances_hold(ground: Ground) -> Iterator[Attributed]:
    """The eligible pools that were not observed to interrupt more often than tolerated give the contract its spread."""
    estate = ground.estate
    if not estate.history:
        return
    seen = {history.region: {row.pool: seen_of(row) for row in history.rows} for history in estate.history}
    worst = {region: max((one.least for one in rows.values()), default=0.0) for region, rows in seen.items()}
    periods = {history.region: history for history in estate.history}
    for reach in ground.reaches:
        known = seen.get(reach.region.name)
        if known is None or not reach.usable.fitting:
            continue
        if worst[reach.region.name] * reach.contract.gang_size <= float(reach.contract.tolerance):
            continue  # no pool is too bad, whatever its instances hold
        worse = _worse(reach, known)
        if not worse:
            continue
        left = tuple(pool for pool in reach.usable.fitting if pool.name not in worse)
        if left and reach.first_shortfall(left) is None:
            continue
        if reach.first_shortfall(reach.usable.fitting) is not None:
            continue  # the spread lacks in any case, which EBT-202 says
        found = _refused(estate, reach, worse, known, periods[reach.region.name])
        yield Attributed(found, *_causes(reach))


def _causes(reach: Reach) -> tuple[frozenset[str], frozenset[str]]:
    """The contract and what its bounds are, and a pool taken away; never the history, for what was observed cannot be
    refused, and no other edit of a pool, or a bad month would close the catalogue to everybody.
    """
    region, name = reach.region.name, class_of(reach.contract.eligibility)
    own = fields_of(reach.contract, ("tolerance", *SPREAD_BY))
    to = {*own, f"waiver/{region}/{name}", "settings/bounds"}
    return frozenset(to), frozenset({f"aggregate/{region}", "pool"})


def _worse(reach: Reach, known: Mapping[str, Seen]) -> tuple[str, ...]:
    """The eligible pools that surely interrupt a gang or unit of the contract more often than it tolerates."""
    tolerance = float(reach.contract.tolerance)
    return tuple(
        pool.name
        for pool in reach.usable.fitting
        if (seen := known.get(pool.name)) is not None
        and seen.least * instances_of_a_gang(reach.contract, pool) > tolerance
    )


def instances_of_a_gang(contract: Contract, pool: Pool) -> int:
    """Instances that one gang stands on, any of which interrupts it; 1 without gangs, as the ranking counts."""
    return max(1, -(-contract.gang_size // max(1, units_per_instance(contract, pool))))


def _refused(
    estate: Estate, reach: Reach, worse: tuple[str, ...], known: Mapping[str, Seen], period: HistoryFile
) -> Finding:
    contract, usable = reach.contract, reach.usable
    pools = {pool.name: pool for pool in usable.fitting}
    rates = {name: known[name].least * instances_of_a_gang(contract, pools[name]) for name in worse}
    ordered = sorted(worse, key=lambda name: (-rates[name], name))
    told = [
        f"{name} {known[name].row.interruptions} in {known[name].row.exposure_hours} h, at least {rates[name]:.4g}/h"
        for name in ordered
    ]
    message = (
        f"{contract.name} tolerates {contract.tolerance} interruptions a unit-hour, and from {period.since} to "
        f"{period.until} {len(worse)} of its {len(pools)} eligible pools did more ({listed(told, SHOWN)}); the "
        f"{len(pools) - len(worse)} that are left do not give the spread for {reach.interruptible} units"
    )
    place = at(estate, f"contract/{contract.name}/tolerance")
    hint = "tolerate more, widen the eligibility, or move the work to its floor"
    # up, so that the tolerance that is named does hold
    enough = Context(prec=4, rounding=ROUND_UP).create_decimal(Decimal(max(rates.values())))
    expected = f"at least {enough:f} for all of these pools"
    return Finding("EBT-219", place, message, str(contract.tolerance), expected, hint)
