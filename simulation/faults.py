"""What can go wrong in a simulated region: a seed draws a list of faults, and any part of that list is a history too.

Drawn before time begins, one stream for each kind, so that leaving one out changes no other. A kind is named as
`--faults` takes it; `KIND#3` is the third of its kind in a seed's list, so that a shrunk list can be typed again.
The last part of every history is quiet: nothing goes wrong there, so that what was held up can be caught up with.
"""

from __future__ import annotations

import difflib
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from contracts.errors import Refused
from repo_layout.model import Estate
from simulation.cloud_model import stream
from simulation.fault_kinds import MINUTE_MS, RECIPES, Recipe

KINDS: Mapping[str, str] = {kind: recipe.about for kind, recipe in RECIPES.items()}
"""Every kind as `--faults` takes it, with what it does in a sentence; SIZE stands for the fault's `size`."""

DAY_MS = 86_400_000
QUIET_MS = 3 * 3_600_000
"""The quiet end of a history: an outage's ramp, a full rebuild of the small region and an hour's lifetime fit in."""

SETTLING_MS = 20 * MINUTE_MS
"""Nothing goes wrong before the first instances stand."""

MOST_OF_A_KIND = 40


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong in [at, until): `number` counts its kind from 1, `target` and `size` say where and how
    much, in the words of its kind.
    """

    kind: str
    number: int
    at: int
    until: int
    target: str = ""
    size: int = 0

    @property
    def name(self) -> str:
        """As `--faults` takes it."""
        return f"{self.kind}#{self.number}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What there is to hit in one region: `domains` are lent, `every` has the committed ones too, and `power` are the
    domains of each power domain, joined by commas.
    """

    domains: tuple[str, ...]
    every: tuple[str, ...]
    halls: tuple[str, ...]
    power: tuple[str, ...]
    projects: tuple[str, ...]
    clusters: tuple[str, ...]
    workloads: tuple[str, ...]

    def choose(self, word: str, draw: random.Random) -> str:
        """One target for the word of a recipe; every word draws once, so that streams stay alike."""
        if word == "two_halls":
            return ",".join(sorted(draw.sample(self.halls, min(2, len(self.halls)))))
        if word == "all_halls":
            return ",".join(self.halls)
        there: dict[str, tuple[str, ...]] = {
            "domain": self.domains,
            "any_domain": self.every,
            "hall": self.halls,
            "power": self.power or self.domains,
            "project": self.projects,
            "cluster": self.clusters,
            "workload": self.workloads,
            "side": ("before", "after"),
            "": ("",),
        }
        return draw.choice(there[word])


def facts_of(estate: Estate, region: str) -> Facts:
    """What a region of the estate has, sorted."""
    pools = [pool for pool in estate.pools_of(region) if not pool.committed]
    entry = estate.region(region)
    lent = {pool.domain for pool in pools}
    power = [
        ",".join(sorted(lent & set(group.members))) for group in estate.groups_of(region) if group.falls_with == "power"
    ]
    return Facts(
        domains=tuple(sorted(lent)),
        every=tuple(sorted({pool.domain for pool in estate.pools_of(region)})),
        halls=tuple(sorted({pool.hall for pool in pools})),
        power=tuple(sorted(filter(None, power))),
        projects=tuple(entry.projects),
        clusters=tuple(cluster.name for cluster in entry.clusters),
        workloads=tuple(contract.name for contract in estate.contracts_of(region)),
    )


def quiet_from(start: int, end: int) -> int:
    """When the quiet end of a history begins: three hours before its end, or with its last third."""
    return end - min(QUIET_MS, (end - start) // 3)


def draw(seed: int, kinds: Iterable[str], start: int, end: int, facts: Facts) -> tuple[Fault, ...]:
    """The faults of a history in [start, end), by time; numbers count each kind in that order.

    How many there are of a kind is Poisson by its recipe, a share of the seeds having none of it. Raises `KeyError` for
    a kind that there is not.
    """
    found: list[Fault] = []
    first, last = start + min(SETTLING_MS, (end - start) // 6), quiet_from(start, end)
    for kind in dict.fromkeys(kinds):
        recipe, draws = RECIPES[kind], stream(seed, "fault", kind)
        drawn = sorted(_one(recipe, draws, first, last, facts) for _ in range(_count(recipe, draws, last - first)))
        found += [
            Fault(kind, number, at, until, target, size)
            for number, (at, until, target, size) in enumerate(drawn, start=1)
        ]
    return tuple(sorted(found, key=lambda fault: (fault.at, fault.name)))


def _count(recipe: Recipe, draws: random.Random, ms: int) -> int:
    mean, count, product = recipe.per_day * ms / DAY_MS, 0, draws.random()
    while product > math.exp(-mean) and count < MOST_OF_A_KIND:
        count += 1
        product *= draws.random()
    return count


def _one(recipe: Recipe, draws: random.Random, first: int, last: int, facts: Facts) -> tuple[int, int, str, int]:
    """When, until when, where and how much; sizes over a wide range are drawn by their order of magnitude."""
    low, high = recipe.minutes
    length = min(int(draws.uniform(low, high) * MINUTE_MS), last - first)
    at = first + int(draws.random() * (last - first - length))
    target = facts.choose(recipe.target, draws)
    least, most = recipe.size
    if least and most > 100 * least:
        size = round(math.exp(draws.uniform(math.log(least), math.log(most))))
    else:
        size = draws.randint(least, most)
    return at, at + length, target, size


def chosen(text: str, drawn: Sequence[Fault]) -> tuple[Fault, ...]:
    """The faults of a seed's list that `--faults` names: `all`, `none`, or kinds and single faults with commas between.

    Raises `Refused` for a name that chooses nothing, with the names that there are.
    """
    names = {fault.name for fault in drawn}
    taken: set[str] = set()
    for word in (part.strip() for part in text.split(",")):
        kind = word.partition("#")[0]
        if word == "all":
            taken |= names
        elif word == "none" or not word:
            continue
        elif kind not in KINDS:
            near = difflib.get_close_matches(kind, KINDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise Refused(f"there is no fault {word!r}{hint} Kinds: {', '.join(KINDS)}")
        elif "#" not in word:
            taken |= {fault.name for fault in drawn if fault.kind == kind}
        elif word in names:
            taken.add(word)
        else:
            count = sum(fault.kind == kind for fault in drawn)
            raise Refused(f"this seed draws {count} of {kind}, and {word!r} is none of them")
    return tuple(fault for fault in drawn if fault.name in taken)
