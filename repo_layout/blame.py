"""Whose change a finding across files is: which reviewed things it rests on, and whether a change touches one of them.

A rule that weighs other people's files, the calendar or what was observed attributes each finding; the table of rules
asks `Changes` whether the change in hand is to blame. Pure: it compares keys, and must not know what a rule says.

Keys are those of `Estate.sources`. One may also name a field below (`contract/nightly-features/floor`) or the shelf
above (`aggregate/north`: any aggregate of that region, those taken away included). In doubt a change is blamed: where
it is told as a whole thing, every field of it counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from contracts.findings import Finding
from repo_layout.model import Estate


@dataclass(frozen=True, slots=True)
class Attributed:
    """A finding, and the keys of what could have caused it by being as it is, or by being gone."""

    finding: Finding
    to: frozenset[str]


@dataclass(frozen=True, slots=True)
class Changes:
    """The keys of one change, and the shelves and things around them."""

    named: frozenset[str]
    around: frozenset[str]

    @classmethod
    def of(cls, changed: Iterable[str], estate: Estate) -> Changes:
        """The change that led to `estate`, told by the keys of what differs; what is gone is told by its old key."""
        named = frozenset(changed)
        named |= _aggregates_of_rows(named, estate)
        return cls(named, frozenset(above for key in named for above in _above(key)))

    def cause(self, found: Attributed) -> bool:
        """Whether the change touches what the finding rests on: the thing itself, a part of it, or what holds it."""
        return any(
            key in self.named or key in self.around or any(above in self.named for above in _above(key))
            for key in found.to
        )


def _aggregates_of_rows(named: frozenset[str], estate: Estate) -> frozenset[str]:
    """The aggregates of the rows that changed: findings rest on aggregates. A row that is gone tells none, so unless
    some aggregate is told to have changed, it stands for all of them.
    """
    rows = [key.split("/")[1] for key in named if key.startswith("pool/")]
    there = [pool for name in rows if (pool := estate.pool_by_name.get(name)) is not None]
    told = {f"aggregate/{pool.region}/{pool.aggregate}" for pool in there}
    if len(there) < len(rows) and not any(key.startswith("aggregate/") for key in named):
        told.add("aggregate")
    return frozenset(told)


def _above(key: str) -> Iterator[str]:
    """`a/b/c` -> `a/b`, `a`."""
    while key := key.rpartition("/")[0]:
        yield key
