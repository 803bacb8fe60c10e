"""What stays the same from cycle to cycle: the rows of a region by number, and the columns of each eligibility class.

Names become numbers here, once for as long as the region's rows, the day's tie-break and the classes stay what they
are; capacity, headroom, claims and costs are not part of it. Kept by equality of everything that it is made of, so
that a kept answer is the answer.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

from correlation_groups.spread import lot
from reconciler.problem import Offers, PoolSupply, Resources

Row = tuple[str, str, tuple[str, ...], Resources, bool]
"""Name, domain, bounding groups, instance and commitment of one pool."""

_KEPT_REGIONS = 4
"""Regions kept by one process: the loop has one per partition, and a day's change makes a second."""

_KEPT_SHAPES = 1_000
"""Classes kept per region; a class changes when the eligible pools of a workload do."""


_KEPT_MOSTS = 1_000
"""Pairs of shares kept per class: one for each size of a workload of it."""

_KEPT_SALTS = 20_000
"""Hashes of names kept per region: workloads and teams of a large one, some MiB."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that all workloads of one eligibility class share; `offers` are their numbers in the offers.

    `all_offered` tells that the columns are the offers, one for one.
    """

    offers: list[int]
    all_offered: bool
    column: dict[int, int]
    pools: list[int]
    quanta: list[int]
    per_lot: list[int]
    sizes: list[tuple[int, ...]]
    domains: list[int]
    groups: list[tuple[int, ...]]
    ties: list[int]
    largest: int
    smallest: int
    _most: dict[tuple[int, int], int] = field(default_factory=dict)

    def most(self, pool_share: int, group_share: int) -> int:
        """The most units that the shares allow over all columns, which must be some; what no exchange can exceed.

        Domains cover all columns, and so do the groups of one rank where every column has that many; each bounds the
        sum.
        """
        key = pool_share, group_share
        most = self._most.get(key)
        if most is None:
            if len(self._most) >= _KEPT_MOSTS:
                self._most.clear()
            ranks = range(min(len(groups) for groups in self.groups))
            covers = [self._covered(self.domains, pool_share)]
            covers += [self._covered([groups[rank] for groups in self.groups], group_share) for rank in ranks]
            most = self._most[key] = min(covers)
        return most

    def _covered(self, places: list[int], share: int) -> int:
        """The sum of the places' shares, none less than the largest lot of its columns."""
        most: dict[int, int] = {}
        for place, quantum in zip(places, self.quanta, strict=True):
            most[place] = max(most.get(place, share), quantum)
        return sum(most.values())


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The rows of a region by number, in the order of their names."""

    tie_break: int
    domain_names: list[str]
    group_names: list[str]
    pool_index: dict[str, int]
    pool_domain: list[int]
    pool_groups: list[tuple[int, ...]]
    domain_pools: list[list[int]]
    pool_size: list[tuple[int, int, int, int]]
    committed: list[bool]
    ties: list[int]
    _shapes: dict[tuple[tuple[str, ...], tuple[int, ...], int, bool], Shape] = field(default_factory=dict)
    _salts: dict[str, int] = field(default_factory=dict)

    def shape(self, offers: Offers, gang: int, *, is_floor: bool) -> Shape:
        """The columns of one eligibility class: its committed pools for a floor, the others for the rest."""
        key = (offers.pools, offers.units, gang, is_floor)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _KEPT_SHAPES:
                self._shapes.clear()
            shape = self._shapes[key] = self._shape(offers, gang, is_floor=is_floor)
        return shape

    def salt(self, name: str) -> int:
        """The day's tie-break of a name."""
        salt = self._salts.get(name)
        if salt is None:
            if len(self._salts) >= _KEPT_SALTS:
                self._salts.clear()
            salt = self._salts[name] = _mix(self.tie_break, name)
        return salt

    def _shape(self, offers: Offers, gang: int, *, is_floor: bool) -> Shape:
        chosen: list[int] = []
        pools: list[int] = []
        for k, name in enumerate(offers.pools):
            pool = self.pool_index.get(name)
            if pool is not None and self.committed[pool] == is_floor:
                chosen.append(k)
                pools.append(pool)
        lots = [lot(offers.units[k], gang) for k in chosen]
        column: dict[int, int] = {}
        for k, pool in enumerate(pools):
            column.setdefault(pool, k)
        return Shape(
            offers=chosen,
            all_offered=len(chosen) == len(offers),
            column=column,
            pools=pools,
            quanta=[one.units for one in lots],
            per_lot=[one.instances for one in lots],
            sizes=[tuple(r * one.instances for r in self.pool_size[p]) for p, one in zip(pools, lots, strict=True)],
            domains=[self.pool_domain[p] for p in pools],
            groups=[self.pool_groups[p] for p in pools],
            ties=[self.ties[p] for p in pools],
            largest=max((one.units for one in lots), default=1),
            smallest=min((one.units for one in lots), default=1),
        )


def region_of(domains: tuple[str, ...], pools: tuple[PoolSupply, ...], tie_break: int) -> Region:
    """The region of these domains and pools, both in the order of their names."""
    return _region(domains, tuple((p.name, p.domain, p.groups, p.instance, p.committed) for p in pools), tie_break)


@lru_cache(maxsize=_KEPT_REGIONS)
def _region(domains: tuple[str, ...], rows: tuple[Row, ...], tie_break: int) -> Region:
    index = {name: i for i, name in enumerate(domains)}
    group_index: dict[str, int] = {}
    groups = [tuple(group_index.setdefault(g, len(group_index)) for g in row[2]) for row in rows]
    domain_pools: list[list[int]] = [[] for _ in domains]
    for i, row in enumerate(rows):
        domain_pools[index[row[1]]].append(i)
    return Region(
        tie_break=tie_break,
        domain_names=list(domains),
        group_names=list(group_index),
        pool_index={row[0]: i for i, row in enumerate(rows)},
        pool_domain=[index[row[1]] for row in rows],
        pool_groups=groups,
        domain_pools=domain_pools,
        pool_size=[sizes(row[3]) for row in rows],
        committed=[row[4] for row in rows],
        ties=[_mix(tie_break, row[0]) for row in rows],
    )


def sizes(resources: Resources) -> tuple[int, int, int, int]:
    """The four dimensions in one order."""
    return (resources.vcpu, resources.memory_mib, resources.gpu, resources.disk_gib)


def _mix(tie_break: int, name: str) -> int:
    """A 32-bit hash of a name that changes with the day's seed."""
    return int.from_bytes(hashlib.blake2b(f"{tie_break}/{name}".encode(), digest_size=4).digest(), "big")
