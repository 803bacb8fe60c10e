"""A deliberately simple second planner and a checker, written from the design and not from the planner.

The checker recounts everything from the problem and the counts alone. The twin adds one lot at a time; the exact one
tries every combination of a tiny problem.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from reconciler.problem import Count, Need, Placement, PoolSupply, Problem

Counts = dict[tuple[str, str], int]


def as_counts(placement: Placement) -> Counts:
    return {(c.workload, c.pool): c.instances for c in placement.counts}


def held_counts(problem: Problem) -> Counts:
    counts: Counts = Counter()
    for held in problem.held:
        counts[held.workload, held.pool] += held.instances
    return counts


def units_per_instance(problem: Problem, need: Need, pool: str) -> Fraction:
    """Units of a gang are spread over its instances, so that bounds and supply count whole gangs."""
    units = next((o.units for o in need.offers if o.pool == pool), None)
    if units is None:
        units = next(h.units for h in problem.held if h.workload == need.workload and h.pool == pool)
    if need.gang <= 1:
        return Fraction(units)
    if units >= need.gang:
        return Fraction(units // need.gang * need.gang)
    return Fraction(need.gang, ceil(Fraction(need.gang, units)))


def quantum(problem: Problem, need: Need, pool: str) -> int:
    return max(int(units_per_instance(problem, need, pool)), need.gang)


def lot_instances(problem: Problem, need: Need, pool: str) -> int:
    return int(quantum(problem, need, pool) / units_per_instance(problem, need, pool))


def violations(problem: Problem, placement: Placement) -> list[str]:
    """Everything that the plan breaks and that was not already so in what is held."""
    counts = as_counts(placement)
    return [
        *_capacity(problem, counts),
        *_additions(problem, counts),
        *(text for need in problem.needs for text in _bounds(problem, need, counts)),
        *(text for need in problem.needs for text in _amounts(problem, need, counts)),
        *_teams(problem, counts),
    ]


def _capacity(problem: Problem, counts: Counts) -> Iterator[str]:
    before = _use(problem, held_counts(problem))
    after = _use(problem, counts)
    for domain in problem.domains:
        have = domain.capacity
        for i, most in enumerate((have.vcpu, have.memory_mib, have.gpu, have.disk_gib)):
            used = after[domain.name][i]
            if used > most and used > before[domain.name][i]:
                yield f"domain {domain.name} holds {used} of {most} in dimension {i}"


def _use(problem: Problem, counts: Counts) -> dict[str, list[int]]:
    pools = {p.name: p for p in problem.pools}
    use: dict[str, list[int]] = {d.name: [0, 0, 0, 0] for d in problem.domains}
    for (_, name), n in counts.items():
        if name in pools:
            size = pools[name].instance
            for i, amount in enumerate((size.vcpu, size.memory_mib, size.gpu, size.disk_gib)):
                use[pools[name].domain][i] += n * amount
    return use


def _additions(problem: Problem, counts: Counts) -> Iterator[str]:
    held = held_counts(problem)
    offered = {(n.workload, o.pool) for n in problem.needs for o in n.offers}
    added: Counter[str] = Counter()
    for key, n in counts.items():
        more = n - held.get(key, 0)
        if more > 0:
            added[key[1]] += more
            if key not in offered:
                yield f"{key} was added to and is not offered"
    for pool in problem.pools:
        if added[pool.name] > pool.headroom:
            yield f"pool {pool.name} got {added[pool.name]} of {pool.headroom}"


def _bounds(problem: Problem, need: Need, counts: Counts) -> Iterator[str]:
    """15 % and 30 %: a scope that the plan adds to is within its bound; any other is no fuller than before."""
    pools = {p.name: p for p in problem.pools}
    mine = {pool: n for (workload, pool), n in counts.items() if workload == need.workload and n}
    held = {pool: n for (workload, pool), n in held_counts(problem).items() if workload == need.workload and n}
    unknown = sum(h.instances * h.units for h in problem.held if h.workload == need.workload and h.pool not in pools)
    for kind, share in (("domain", need.shares.pool_permille), ("group", need.shares.group_permille)):
        scopes: dict[str, list[PoolSupply]] = defaultdict(list)
        for pool in problem.pools:
            if not pool.committed:
                for scope in (pool.domain,) if kind == "domain" else pool.groups:
                    scopes[scope].append(pool)
        for scope, members in scopes.items():
            if not any(mine.get(p.name, 0) > held.get(p.name, 0) for p in members):
                continue
            used = unknown + sum(
                mine.get(p.name, 0) * units_per_instance(problem, need, p.name) for p in members if mine.get(p.name)
            )
            largest = max(quantum(problem, need, p.name) for p in members if mine.get(p.name))
            bound = max(largest, ceil(Fraction(share * need.desired, 1000)))
            if used > bound:
                yield f"{need.workload} has {used} units in {kind} {scope}, bound {bound}"


def _amounts(problem: Problem, need: Need, counts: Counts) -> Iterator[str]:
    """No more than wanted but for one lot, whole gangs only, and the count of domains at the full claim."""
    pools = {p.name: p for p in problem.pools}
    floor = rest = Fraction(0)
    domains = set()
    largest = max((quantum(problem, need, o.pool) for o in need.offers if not pools[o.pool].committed), default=1)
    for (workload, name), n in counts.items():
        if workload != need.workload or name not in pools or not n:
            continue
        if n % lot_instances(problem, need, name):
            yield f"{workload} keeps a broken gang in {name}"
        units = n * units_per_instance(problem, need, name)
        if pools[name].committed:
            floor += units
        else:
            rest += units
            domains.add(pools[name].domain)
    held = held_counts(problem)
    grew = any(n > held.get(key, 0) for key, n in counts.items() if key[0] == need.workload)
    if grew and rest >= need.claimed + largest:
        yield f"{need.workload} has {rest} interruptible units for {need.claimed}"
    if not any(h.workload == need.workload for h in problem.held):
        asked = min(need.shares.pools, need.claimed // largest) if need.claimed else 0
        if rest >= need.claimed and len(domains) < asked:
            yield f"{need.workload} uses {len(domains)} domains of {asked}"


def _teams(problem: Problem, counts: Counts) -> Iterator[str]:
    def use(which: Counts, team: str) -> Fraction:
        needs = {n.workload: n for n in problem.needs if n.team == team}
        return sum(
            (
                k * units_per_instance(problem, needs[w], p) * needs[w].milli_ncu
                for (w, p), k in which.items()
                if w in needs
            ),
            Fraction(0),
        )

    for team in problem.teams:
        if team.limit_milli_ncu is not None:
            used = use(counts, team.name)
            if used > team.limit_milli_ncu and used > use(held_counts(problem), team.name):
                yield f"team {team.name} holds {used} of {team.limit_milli_ncu}"


def served(problem: Problem, placement: Placement) -> dict[str, tuple[Fraction, Fraction]]:
    """Floor and interruptible units of each workload that the counts carry, at most what is wanted."""
    pools = {p.name: p for p in problem.pools}
    result = {}
    for need in problem.needs:
        floor = rest = Fraction(0)
        for c in placement.counts:
            if c.workload == need.workload:
                units = c.instances * units_per_instance(problem, need, c.pool)
                if c.pool in pools and pools[c.pool].committed:
                    floor += units
                else:
                    rest += units
        result[need.workload] = (min(floor, Fraction(need.floor)), min(rest, Fraction(need.claimed)))
    return result


def cost(problem: Problem, counts: Counts) -> int:
    needs = {n.workload: n for n in problem.needs}
    total = Fraction(0)
    for (workload, pool), n in counts.items():
        need = needs[workload]
        price = next(o.cost_micro for o in need.offers if o.pool == pool)
        total += n * units_per_instance(problem, need, pool) * price
    return int(total)


def twin(problem: Problem) -> Counts:
    """One lot at a time, cheapest allowed first, workload after workload; starts from nothing held."""
    counts: Counts = {}
    for need in sorted(problem.needs, key=lambda n: (n.tier, n.workload)):
        while _units(problem, need, counts) < need.claimed:
            options = sorted(need.offers, key=lambda o: (o.cost_micro, o.pool))
            for offer in options:
                trial = dict(counts)
                key = (need.workload, offer.pool)
                trial[key] = trial.get(key, 0) + lot_instances(problem, need, offer.pool)
                if not violations(problem, answer(trial)) and _leaves_domains(problem, need, trial):
                    counts = trial
                    break
            else:
                break
    return counts


def _units(problem: Problem, need: Need, counts: Counts) -> Fraction:
    return sum(
        (n * units_per_instance(problem, need, p) for (w, p), n in counts.items() if w == need.workload), Fraction(0)
    )


def _leaves_domains(problem: Problem, need: Need, counts: Counts) -> bool:
    pools = {p.name: p for p in problem.pools}
    largest = max(quantum(problem, need, o.pool) for o in need.offers)
    asked = min(need.shares.pools, need.claimed // largest)
    used = len({pools[p].domain for (w, p), n in counts.items() if w == need.workload and n})
    return used >= asked or _units(problem, need, counts) + (asked - used) * largest <= need.claimed


def answer(counts: Counts) -> Placement:
    rows = tuple(Count(w, p, n) for (w, p), n in sorted(counts.items()) if n)
    return Placement(rows, (), (), (), (), 0, "twin")


def exact(problem: Problem, most: int = 3) -> tuple[int, int] | None:
    """Fewest unplaced units and then least cost over every combination of at most `most` lots per offer."""
    keys = [(n.workload, o.pool) for n in problem.needs for o in n.offers]
    needs = {n.workload: n for n in problem.needs}
    best: tuple[int, int] | None = None
    for numbers in itertools.product(range(most + 1), repeat=len(keys)):
        counts = {k: v * lot_instances(problem, needs[k[0]], k[1]) for k, v in zip(keys, numbers, strict=True) if v}
        if violations(problem, answer(counts)):
            continue
        if not all(_leaves_domains(problem, n, counts) for n in problem.needs):
            continue
        missing = sum(max(0, int(n.claimed - _units(problem, n, counts))) for n in problem.needs)
        value = (missing, cost(problem, counts))
        best = value if best is None else min(best, value)
    return best
