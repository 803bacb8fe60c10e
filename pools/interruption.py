"""How often a pool's instances are interrupted: a rate per instance-hour, how sure it is, and what it rests on.

Called by the appraisal once per ranking with the exposure and losses since the last time. Pure and frozen: a history
and an observation give the next history. Knows no contract, no rate card and no clock; what counts as a loss is the
caller's word (maintenance and drills are none).

Model. Losses of a pool in an hour of exposure are a compound Poisson process: shocks at an unknown rate, each taking
several instances at once. The index of dispersion phi = sum(k^2) / sum(k) over observations is the expected size of
the shock that a lost instance belongs to; counts and exposure divided by phi behave as independent shocks, so that a
wave of nine losses weighs as one piece of evidence and not as nine (quasi-Poisson: McCullagh and Nelder, Generalized
Linear Models, 2nd ed., 6.2.3). On them the Gamma is conjugate (Gelman et al., Bayesian Data Analysis, 3rd ed., 2.6):
prior Gamma(a, a / mu), posterior Gamma(a + K / phi, a / mu + E / phi).

The prior of a pool comes from its narrowest correlation group, that one's from the next wider, the widest's from the
region, the region's from `Outlook` (a hierarchy: BDA 5.5). The shape a of each level is estimated from how far its
members lie apart beyond chance (empirical Bayes: Robbins 1956; by moments). Evidence is forgotten exponentially. A
shorter memory starts from the longer one's posterior mean, so the last day moves the month's rate only as far as its
exposure carries (the power steady model: Smith 1979), and where nothing was observed nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contracts.frozen import quick, replace
from pools.gamma_table import quantile_over_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOUR_MS = 3_600_000

PROMISE_MS = 7 * 24 * HOUR_MS
"""A tolerance is a promise over weeks: what is not seen yet of the first one is taken to go as the outlook says, so
that one stormy first day does not bar a pool."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is believed before anything is seen, and how evidence ages. Tuned on the recorded trace (docs/ranking.md).

    `memories_h` are time constants in hours, longest first; `strength` is the shape, in shocks, with which each shorter
    memory holds on to the longer one's mean. `prior_rate` is losses per instance-hour, worth `prior_shape` shocks.
    `quantile` is the probability of `upper`.
    """

    memories_h: tuple[float, ...] = (720.0, 168.0, 24.0, 1.0)
    strength: tuple[float, ...] = (2.0, 1.0, 0.3)
    prior_rate: float = 0.005
    prior_shape: float = 1.0
    least_shape: float = 0.3
    most_shape: float = 30.0
    least_dispersion: float = 1.0
    quantile: float = 0.9


@dataclass(frozen=True)
class Topology:
    """Pools in a fixed order, and the groups of each from the widest to the narrowest.

    `members` is a 0/1 matrix, groups by pools; `level` holds for each depth the group of every pool, -1 where a pool
    has no group that deep.
    """

    pools: tuple[str, ...]
    groups: tuple[str, ...]
    members: Floats
    level: tuple[Ints, ...]

    @classmethod
    def of(cls, pools: Sequence[str], groups: Mapping[str, Iterable[str]]) -> Topology:
        """The topology of `pools` with `groups` as name -> member pools; groups of one pool or of none say nothing and
        are left out, and of two groups with the same members one is kept.
        """
        order = {name: i for i, name in enumerate(pools)}
        sets: dict[tuple[int, ...], str] = {}
        for name in sorted(groups):
            inside = tuple(sorted({order[p] for p in groups[name] if p in order}))
            if len(inside) >= 2:
                sets.setdefault(inside, name)
        ranked = sorted(sets, key=lambda inside: (-len(inside), sets[inside]))
        members = np.zeros((len(ranked), len(pools)))
        chains: list[list[int]] = [[] for _ in pools]
        for g, inside in enumerate(ranked):
            members[g, list(inside)] = 1.0
            for p in inside:
                chains[p].append(g)
        depth = max((len(chain) for chain in chains), default=0)
        level = tuple(np.array([c[d] if d < len(c) else -1 for c in chains], dtype=np.int64) for d in range(depth))
        return cls(tuple(pools), tuple(sets[inside] for inside in ranked), members, level)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The position of each pool."""
        return {name: i for i, name in enumerate(self.pools)}


@quick
@dataclass(frozen=True, slots=True)
class Evidence:
    """Forgotten sums of one memory: exposure in instance-hours, losses, and squares of the losses per observation, by
    pool and by group.
    """

    exposure: Floats
    losses: Floats
    squares: Floats
    group_squares: Floats
    region_squares: float


@quick
@dataclass(frozen=True, slots=True)
class History:
    """All that the estimate remembers. `at` is when it was last told something, `began` when first, 0 for never."""

    topology: Topology
    outlook: Outlook
    evidence: tuple[Evidence, ...]
    at: int = 0
    began: int = 0

    @classmethod
    def empty(cls, topology: Topology, outlook: Outlook | None = None) -> History:
        """Nothing seen yet."""
        chosen = outlook or Outlook()
        none, no_group = np.zeros(len(topology.pools)), np.zeros(len(topology.groups))
        return cls(topology, chosen, tuple(Evidence(none, none, none, no_group, 0.0) for _ in chosen.memories_h))

    def on(self, topology: Topology) -> History:
        """The same history for another topology: known pools and groups keep what they have, new ones start with none;
        a new group's shocks are taken as its pools' own.
        """
        old = self.topology
        place = [old.index.get(name, -1) for name in topology.pools]
        known = {name: g for g, name in enumerate(old.groups)}

        def carried(values: Floats) -> Floats:
            return np.array([values[i] if i >= 0 else 0.0 for i in place])

        kept = []
        for seen in self.evidence:
            squares = carried(seen.squares)
            apart = topology.members @ squares
            groups = [seen.group_squares[known[n]] if n in known else apart[g] for g, n in enumerate(topology.groups)]
            kept.append(
                Evidence(
                    exposure=carried(seen.exposure),
                    losses=carried(seen.losses),
                    squares=squares,
                    group_squares=np.array(groups, dtype=np.float64),
                    region_squares=seen.region_squares,
                )
            )
        return replace(self, topology=topology, evidence=tuple(kept))


@quick
@dataclass(frozen=True, slots=True)
class Hazards:
    """Estimates in the topology's order, in losses per instance-hour: the mean, its upper quantile, and the same two of
    the longest memory alone over at least `PROMISE_MS`, which is what a promise over weeks is held against.
    """

    topology: Topology
    mean: Floats
    upper: Floats
    slow_mean: Floats
    slow_upper: Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """One pool's rate in losses per instance-hour."""

    mean: float
    upper: float


def observe(history: History, *, now: int, exposure_hours: Mapping[str, float], losses: Mapping[str, float]) -> History:
    """The history after one more stretch of time that ends `now`; pools that the topology lacks are passed over."""
    pools = history.topology.pools
    return observe_arrays(
        history,
        now=now,
        exposure_hours=np.array([exposure_hours.get(p, 0.0) for p in pools]),
        losses=np.array([losses.get(p, 0.0) for p in pools]),
    )


def observe_arrays(history: History, *, now: int, exposure_hours: Floats, losses: Floats) -> History:
    """`observe` on arrays in the topology's order."""
    elapsed_h = max(0, now - history.at) / HOUR_MS if history.at else 0.0
    happened = bool(losses.any())
    squares = losses * losses
    in_groups = history.topology.members @ losses if happened else None
    total = float(losses.sum())
    kept = []
    for memory_h, old in zip(history.outlook.memories_h, history.evidence, strict=True):
        keep = float(np.exp(-elapsed_h / memory_h))
        kept.append(
            Evidence(
                exposure=old.exposure * keep + exposure_hours,
                losses=old.losses * keep + losses if happened else old.losses * keep,
                squares=old.squares * keep + squares if happened else old.squares * keep,
                group_squares=old.group_squares * keep + (0.0 if in_groups is None else in_groups * in_groups),
                region_squares=old.region_squares * keep + total * total,
            )
        )
    return replace(history, evidence=tuple(kept), at=max(now, history.at), began=history.began or now)


def estimates(history: History) -> Mapping[str, Estimate]:
    """Every pool's rate: mean and upper quantile."""
    found = hazards(history)
    return {
        name: Estimate(float(mean), float(upper))
        for name, mean, upper in zip(history.topology.pools, found.mean, found.upper, strict=True)
    }


def hazards(history: History) -> Hazards:
    """`estimates` on arrays, with those of the longest memory beside them."""
    outlook = history.outlook
    typical = _region_dispersion(history)
    shape, rate = _longest(history, typical)
    slow_mean = shape / rate
    slow_upper = slow_mean * np.maximum(1.0, quantile_over_mean(shape, outlook.quantile))
    mean, slow_shape = slow_mean, shape
    for strength, evidence in zip(outlook.strength, history.evidence[1:], strict=True):
        phi = _dispersion(outlook, evidence.losses, evidence.squares, typical)
        shape = strength + evidence.losses / phi
        rate = strength / mean + evidence.exposure / phi
        mean = shape / rate
    if len(history.evidence) > 1:
        # relative variances add: what the coming hours do around the mean, and how well the mean is known
        shape = 1.0 / (1.0 / shape + 1.0 / slow_shape)
    upper = mean * np.maximum(1.0, quantile_over_mean(shape, outlook.quantile))
    known = min(1.0, (history.at - history.began) / PROMISE_MS)
    rest = (1.0 - known) * outlook.prior_rate
    return Hazards(history.topology, mean, upper, known * slow_mean + rest, known * slow_upper + rest)


def _region_dispersion(history: History) -> float:
    """The size of the shock that a lost instance belongs to, over all pools of the region in the longest memory."""
    longest = history.evidence[0]
    lost = float(longest.losses.sum())
    # three losses on their own stand for what is not known yet
    return max(history.outlook.least_dispersion, (float(longest.squares.sum()) + 3.0) / (lost + 3.0))


def _dispersion(outlook: Outlook, losses: Floats, squares: Floats, typical: float) -> Floats:
    """Each unit's dispersion, held near the typical one by as many losses as that one's shock has."""
    return np.maximum((squares + typical * typical) / (losses + typical), outlook.least_dispersion)


def _longest(history: History, typical: float) -> tuple[Floats, Floats]:
    """Shape and rate of every pool's posterior in the longest memory, down from the region; its shock is `typical`."""
    topology, outlook, seen = history.topology, history.outlook, history.evidence[0]
    lost, hours = float(seen.losses.sum()), float(seen.exposure.sum())
    phi = max(outlook.least_dispersion, (seen.region_squares + typical * typical) / (lost + typical))
    mean: Floats = np.full(
        len(topology.pools),
        (outlook.prior_shape + lost / phi) / (outlook.prior_shape / outlook.prior_rate + hours / phi),
    )
    if topology.level:
        group_lost, group_hours = topology.members @ seen.losses, topology.members @ seen.exposure
        group_phi = _dispersion(outlook, group_lost, seen.group_squares, phi)
        for group in topology.level:
            inside = np.maximum(group, 0)
            of = (group_lost[inside], group_hours[inside], group_phi[inside])
            shape, rate = _posterior(outlook, mean, *of, weight=(group >= 0).astype(np.float64))
            mean = np.where(group >= 0, shape / rate, mean)
    pool_phi = _dispersion(outlook, seen.losses, seen.squares, typical)
    return _posterior(outlook, mean, seen.losses, seen.exposure, pool_phi, weight=np.ones(len(mean)))


def _posterior(
    outlook: Outlook, mean: Floats, losses: Floats, hours: Floats, phi: Floats, *, weight: Floats
) -> tuple[Floats, Floats]:
    """Shape and rate after `losses` in `hours`, from a prior whose shape is how alike the members of this level are.

    E[(K - mu E)^2] = phi mu E + (mu E)^2 / a for a Gamma prior of shape a: what the squares leave over is 1 / a.
    """
    expected = mean * hours
    spread = float(np.sum(weight * ((losses - expected) ** 2 - phi * expected)))
    base = float(np.sum(weight * expected * expected))
    a = outlook.most_shape if spread <= 0 else min(outlook.most_shape, max(outlook.least_shape, base / spread))
    return a + losses / phi, a / mean + hours / phi
