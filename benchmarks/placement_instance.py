"""Seeded placement problems of a believable region, for the benchmarks and for tests of their size.

Six hardware families, lognormal domain sizes, one or two flavors per domain, halls and power domains as bounding groups
(plus aggregates of four domains), workloads that accept one to four families and differ in how much an interruption
costs them. Demand is `load` of what the region holds; floors are left out, as they are settled before.
"""

from __future__ import annotations

import math
import random

from reconciler.problem import DomainSupply, Need, Offers, PoolSupply, Problem, Resources, Team

FAMILIES = {
    # vCPU rate in 1e-6 of the currency per hour, GiB per vCPU, GPUs per 8 vCPU, share of the domains (per cent)
    "general": (21_000, 4, 0, 30),
    "dense": (17_000, 4, 0, 20),
    "compute": (26_000, 2, 0, 18),
    "memory": (31_000, 8, 0, 14),
    "gpu-a": (90_000, 8, 1, 10),
    "gpu-b": (140_000, 8, 1, 8),
}
CLASSES = (
    # families that a class of workloads accepts, and its weight among the workloads
    (("general", "dense", "compute", "memory"), 38),
    (("general", "dense", "memory"), 22),
    (("general", "compute"), 16),
    (("memory", "general"), 10),
    (("gpu-a", "gpu-b"), 14),
)
TEAMS = 25


def instance(pools: int, workloads: int, *, seed: int = 1, load: float = 0.62) -> Problem:
    """A problem of `pools` rows and `workloads` needs with nothing held; the same for the same arguments."""
    rng = random.Random(seed)
    domains, rows, family_of = _supply(rng, pools)
    capacity = dict.fromkeys(FAMILIES, 0)
    for domain in domains:
        capacity[family_of[domain.name]] += domain.capacity.vcpu
    hazard = {row.name: rng.lognormvariate(math.log(0.02), 0.8) for row in rows}
    needs: list[Need] = []
    kinds = rng.choices(range(len(CLASSES)), [w for _, w in CLASSES], k=workloads)
    demand = _demand(kinds, capacity, load)
    offered: dict[tuple[int, int], tuple[tuple[str, ...], tuple[int, ...], list[tuple[float, float]]]] = {}
    sizes = [rng.lognormvariate(0, 0.9) for _ in kinds]
    totals = [sum(s for s, k in zip(sizes, kinds, strict=True) if k == kind) for kind in range(len(CLASSES))]
    for number, kind in enumerate(kinds):
        unit = rng.choice((2, 4)) if kind < len(CLASSES) - 1 else 8
        shape = offered.setdefault((kind, unit), _columns(rows, family_of, hazard, kind, unit))
        names, units, terms = shape
        lost_h = rng.uniform(0.1, 4.0)
        amount = max(10, round(demand[kind] * sizes[number] / totals[kind] / unit))
        needs.append(
            Need(
                workload=f"w{number:04}",
                team=f"team-{number % TEAMS:02}",
                tier=rng.choices((1, 2, 3, 4, 5), (1, 3, 3, 2, 1))[0],
                desired=amount,
                claimed=amount,
                floor=0,
                offers=Offers(names, units, tuple(round(r * unit / (1 - min(0.9, h * lost_h))) for r, h in terms)),
                milli_ncu=unit * 1000,
            )
        )
    teams = tuple(Team(f"team-{i:02}") for i in range(TEAMS))
    return Problem(domains=domains, pools=rows, teams=teams, needs=tuple(needs))


def _supply(rng: random.Random, pools: int) -> tuple[tuple[DomainSupply, ...], tuple[PoolSupply, ...], dict[str, str]]:
    domains: list[DomainSupply] = []
    rows: list[PoolSupply] = []
    family_of: dict[str, str] = {}
    names = list(FAMILIES)
    shares = [FAMILIES[f][3] for f in names]
    scale = 8 if pools > 500 else 1  # a region ten times as large has more halls, and each is larger
    while len(rows) < pools:
        number = len(domains)
        name = f"d{number:04}"
        # The first domains are dealt round, so that small regions have every family in eight domains.
        family = names[number % len(names)] if number < 8 * len(names) else rng.choices(names, shares)[0]
        _, gib, gpus, _ = FAMILIES[family]
        vcpu = max(64, int(rng.lognormvariate(math.log(900), 0.7)) // 8 * 8)
        domains.append(DomainSupply(name, Resources(vcpu, vcpu * gib * 1024, vcpu // 8 * gpus, vcpu * 40)))
        family_of[name] = family
        groups = (f"hall-{number % (4 * scale)}", f"power-{rng.randrange(6 * scale)}", f"aggregate-{number // 4}")
        for size in (8, 16)[: min(pools - len(rows), rng.choice((1, 1, 2)))]:
            take = Resources(size, size * gib * 1024, size // 8 * gpus, size * 40)
            rows.append(PoolSupply(f"{name}-{family}-{size}", name, groups, take, vcpu // size))
            family_of[rows[-1].name] = family
    return tuple(domains), tuple(rows), family_of


def _demand(kinds: list[int], capacity: dict[str, int], load: float) -> list[float]:
    """VCPU wanted by each class: `load` of each family, shared over the classes that accept it by their numbers."""
    wanted = [0.0] * len(CLASSES)
    for family, vcpu in capacity.items():
        takers = [k for k, (accepted, _) in enumerate(CLASSES) if family in accepted]
        total = sum(kinds.count(k) for k in takers)
        for kind in takers:
            wanted[kind] += load * vcpu * kinds.count(kind) / max(1, total)
    return wanted


def _columns(
    rows: tuple[PoolSupply, ...], family_of: dict[str, str], hazard: dict[str, float], kind: int, unit: int
) -> tuple[tuple[str, ...], tuple[int, ...], list[tuple[float, float]]]:
    chosen = [row for row in rows if family_of[row.name] in CLASSES[kind][0]]
    terms = [(float(FAMILIES[family_of[row.name]][0]), hazard[row.name]) for row in chosen]
    return tuple(r.name for r in chosen), tuple(r.instance.vcpu // unit for r in chosen), terms
