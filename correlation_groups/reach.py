"""Whether the spread that a workload is promised can be had at all, and what it can lose at once.

The compiler asks before anything is placed. Pure counting over capacity domains and bounding groups, with the limits of
`correlation_groups.spread`; it must not know pools, files or what runs now.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from correlation_groups.spread import Shares, limit, pools_required

EXACT_COUNTS = 2_000
"""Counts judged one by one from the smallest: past a few hundred the rounding of a percentage repeats itself."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A capacity domain that the workload may use.

    `quantum` is the largest lot it takes, in units; `capacity` what its hosts hold when empty; `groups` the bounding
    group of each kind that it belongs to.
    """

    name: str
    quantum: int
    capacity: int
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why `desired` units cannot be spread: `scope` is `pools`, `capacity`, a kind of group, or `all` of them at once.

    For `pools`, `asked` and `offered` are capacity domains; otherwise they are units.
    """

    scope: str
    desired: int
    asked: int
    offered: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """The bounds of one workload at one count: `room` is what each domain may hold, `homes` has for each kind the group
    of a domain and what that group may hold; in units.
    """

    desired: int
    room: Mapping[str, int]
    homes: tuple[Mapping[str, tuple[str, int]], ...]

    def most_in(self, names: Collection[str]) -> int:
        """The most units that the bounds let stand in some of the domains, whatever group those make up.

        Exact where each kind alone binds, and never too low: kinds that cross are judged one by one.
        """
        inside = [(name, self.room[name]) for name in names if name in self.room]
        most = min(self.desired, sum(room for _, room in inside))
        for home in self.homes:
            held: dict[str, int] = {}
            for name, room in inside:
                group, limit_of_group = home[name]
                held[group] = min(limit_of_group, held.get(group, 0) + room)
            most = min(most, sum(held.values()))
        return most


@dataclass(frozen=True)
class Field:
    """The domains that one workload may use, and the lot (gang) that its units come in."""

    domains: Sequence[Domain]
    shares: Shares
    gang: int = 1

    @cached_property
    def largest_quantum(self) -> int:
        """The largest lot of any domain, in units."""
        return max((domain.quantum for domain in self.domains), default=1)

    @cached_property
    def kinds(self) -> Mapping[str, Mapping[str, tuple[Domain, ...]]]:
        """Domains by bounding group, by kind; a domain in no group of a kind stands for itself."""
        kinds: dict[str, dict[str, tuple[Domain, ...]]] = {}
        for kind in sorted({kind for domain in self.domains for kind in domain.groups}):
            groups = kinds.setdefault(kind, {})
            for domain in self.domains:
                name = _group(domain, kind)
                groups[name] = (*groups.get(name, ()), domain)
        return kinds

    def first_shortfall(self, largest: int) -> Shortfall | None:
        """The smallest count up to `largest` that cannot be spread as promised, None where all of them can."""
        if largest <= 0 or (self.gang > 1 and largest <= self.gang):
            return None  # a workload of one gang is exempt
        if self.gang == 1 and self._scales(largest):
            return None
        for desired in self._telling_counts(largest):
            if found := self.shortfall(desired):
                return found
        return None

    def shortfall(self, desired: int) -> Shortfall | None:
        """Why exactly `desired` units cannot be spread, None where they can."""
        room = {domain.name: self._room(domain, desired) for domain in self.domains}
        required = pools_required(desired, self.largest_quantum, self.shares.pools)
        if (usable := self._usable(desired, room)) < required:
            return Shortfall("pools", desired, required, usable)
        if (offered := sum(room.values())) < desired:
            return Shortfall("capacity", desired, desired, offered)
        for kind, groups in self.kinds.items():
            offered = sum(
                min(self._group_limit(members, desired), sum(room[d.name] for d in members))
                for members in groups.values()
            )
            if offered < desired:
                return Shortfall(kind, desired, desired, offered)
        one_each = {name: min(most, self.gang) for name, most in room.items()}
        if (usable := self._together(required * self.gang, desired, one_each) // self.gang) < required:
            return Shortfall("pools", desired, required, usable)
        offered = self._together(desired, desired, room)
        return Shortfall("all", desired, desired, offered) if offered < desired else None

    def crowd(self, desired: int) -> Crowd:
        """What the bounds let stand where, when exactly `desired` units are spread."""
        return Crowd(
            desired,
            {domain.name: self._room(domain, desired) for domain in self.domains},
            tuple(
                {
                    domain.name: (name, self._group_limit(members, desired))
                    for name, members in groups.items()
                    for domain in members
                }
                for groups in self.kinds.values()
            ),
        )

    def _room(self, domain: Domain, desired: int) -> int:
        most = min(domain.capacity, limit(self.shares.pool_permille, desired, domain.quantum))
        return most // self.gang * self.gang

    def _group_limit(self, members: Sequence[Domain], desired: int) -> int:
        most = limit(self.shares.group_permille, desired, max(domain.quantum for domain in members))
        return most // self.gang * self.gang

    def _usable(self, desired: int, room: Mapping[str, int]) -> int:
        """How many domains can hold a lot at once, under the tightest kind of group."""
        usable = {domain.name for domain in self.domains if room[domain.name]}
        counts = [
            sum(
                min(len([d for d in members if d.name in usable]), self._group_limit(members, desired) // self.gang)
                for members in groups.values()
            )
            for groups in self.kinds.values()
        ]
        return min([len(usable), *counts])

    def _counts_scale(self, required: int) -> bool:
        """Whether every number of domains up to `required` can be had at the smallest count that asks for it."""
        return all(
            sum(min(len(members), -(-self.shares.group_permille * asked // 1000)) for members in groups.values())
            >= asked
            for groups in self.kinds.values()
            for asked in range(1, required + 1)
        )

    def _scales(self, largest: int) -> bool:
        """Whether a spread of `largest` exists that keeps the unrounded bounds, counted in thousandths of a unit.

        Shrunk in proportion it keeps them at every smaller count, and rounding only ever widens a bound.
        """
        required = pools_required(largest, self.largest_quantum, self.shares.pools)
        if len(self.domains) < required or not self._counts_scale(required):
            return False
        pool, group = self.shares.pool_permille * largest, self.shares.group_permille * largest
        room = {domain.name: min(pool, domain.capacity * 1000) for domain in self.domains}
        total, wanted = sum(room.values()), largest * 1000
        if total < wanted:
            return False
        # each domain takes the same part of its room; where a group bursts at that, counts are judged one by one
        return all(
            sum(room[d.name] for d in members) * wanted <= group * total
            for groups in self.kinds.values()
            for members in groups.values()
        )

    def _telling_counts(self, largest: int) -> Iterator[int]:
        """Counts of which one fails if any fails.

        A limit is constant between its steps, so the last count before each step is the hardest; far up the steps
        repeat, so the first counts and the last ones tell.
        """
        step = self.gang
        seen: set[int] = set()
        for start, stop in ((1, min(largest, EXACT_COUNTS)), (max(1, largest - EXACT_COUNTS // 10), largest)):
            for count in range(start, stop + 1):
                last = count == largest or any(
                    -(-share * (count + 1) // 1000) > -(-share * count // 1000)
                    for share in (self.shares.pool_permille, self.shares.group_permille)
                )
                if count % step == 0 and (last or step > 1) and count not in seen:
                    seen.add(count)
                    yield count

    def _together(self, wanted: int, desired: int, room: Mapping[str, int]) -> int:
        """How many of `wanted` units fit under all kinds at once, with the limits of `desired`.

        Exact for two families of disjoint groups and for nested ones (a flow: first kinds before the domain, last kind
        behind it); further kinds that cross are judged alone only.
        """
        flow = _Flow()
        kinds = sorted(self.kinds, key=lambda kind: len(self.kinds[kind]))
        before, behind = _chains(self.kinds, kinds)
        for domain in self.domains:
            chain = [
                "source",
                *(f"{kind}/{_group(domain, kind)}" for kind in before),
                f"in/{domain.name}",
                f"out/{domain.name}",
                *(f"{kind}/{_group(domain, kind)}" for kind in behind),
                "sink",
            ]
            for start, end in pairwise(chain):
                flow.edge(start, end, wanted)
            flow.edge(f"in/{domain.name}", f"out/{domain.name}", room[domain.name])
        for kind in (*before, *behind):
            for name, members in self.kinds[kind].items():
                flow.through(f"{kind}/{name}", self._group_limit(members, desired))
        return flow.most("source", "sink", wanted)


def _group(domain: Domain, kind: str) -> str:
    """The domain's group of a kind, or itself where it has none."""
    return domain.groups.get(kind, f"domain {domain.name}")


def _chains(
    kinds: Mapping[str, Mapping[str, Sequence[Domain]]], order: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kinds that nest in each other, coarse first, and one kind (finest last) that crosses them."""
    before: list[str] = []
    crossing: list[str] = []
    for kind in order:
        if all(_nests(kinds[kind], kinds[coarser]) for coarser in before):
            before.append(kind)
        else:
            crossing.append(kind)
    return tuple(before), tuple(crossing[:1])


def _nests(fine: Mapping[str, Sequence[Domain]], coarse: Mapping[str, Sequence[Domain]]) -> bool:
    home = {domain.name: name for name, members in coarse.items() for domain in members}
    return all(len({home[domain.name] for domain in members}) == 1 for members in fine.values())


@dataclass(slots=True)
class _Flow:
    """Most flow from a source to a sink by shortest augmenting paths; tens of nodes, so nothing cleverer pays."""

    left: dict[str, dict[str, int]] = field(default_factory=dict)

    def edge(self, start: str, end: str, most: int) -> None:
        self.left.setdefault(start, {})[end] = most
        self.left.setdefault(end, {}).setdefault(start, 0)

    def through(self, node: str, most: int) -> None:
        """Bound what passes a node, by splitting it in two."""
        inner = f"{node}#"
        leaving = {end: most_out for end, most_out in self.left[node].items() if most_out}
        for end, most_out in leaving.items():
            del self.left[node][end]
            self.left[end].pop(node, None)
            self.edge(inner, end, most_out)
        self.edge(node, inner, most)

    def most(self, source: str, sink: str, enough: int) -> int:
        total = 0
        while total < enough and (path := self._path(source, sink)):
            part = min(self.left[start][end] for start, end in path)
            for start, end in path:
                self.left[start][end] -= part
                self.left[end][start] += part
            total += part
        return total

    def _path(self, source: str, sink: str) -> list[tuple[str, str]]:
        came: dict[str, str] = {source: source}
        queue = deque([source])
        while queue and sink not in came:
            start = queue.popleft()
            for end, left in self.left[start].items():
                if left > 0 and end not in came:
                    came[end] = start
                    queue.append(end)
        if sink not in came:
            return []
        path, end = [], sink
        while end != source:
            path.append((came[end], end))
            end = came[end]
        return path
