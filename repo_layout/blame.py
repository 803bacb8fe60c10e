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
    """A finding and what could have caused it: `to` are keys of things by being as they are or by being gone, `absence`
    are shelves from which something was taken away (`pool`: any row).
    """

    finding: Finding
    to: frozenset[str]
    absence: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Changes:
    """The keys of one change, the shelves and things around them, and the shelves that lost an aggregate or a row."""

    named: frozenset[str]
    around: frozenset[str]
    emptied: frozenset[str]

    @classmethod
    def of(cls, changed: Iterable[str], estate: Estate) -> Changes:
        """The change that led to `estate`, told by the keys of what differs; what is gone is told by its old key."""
        named = frozenset(changed)
        gone = _gone(named, estate)
        named |= _aggregates_of_rows(named, gone, estate)
        return cls(named, _all_above(named), _all_above(gone))

    def cause(self, found: Attributed) -> bool:
        """Whether the change touches what the finding rests on (the thing itself, a part of it, or what holds it), or
        took away what could have prevented it.
        """
        return not found.absence.isdisjoint(self.emptied) or any(
            key in self.named or key in self.around or any(above in self.named for above in _above(key))
            for key in found.to
        )


def _gone(named: frozenset[str], estate: Estate) -> frozenset[str]:
    """The aggregates and rows of the change that the estate no longer has."""
    there = {f"aggregate/{pool.region}/{pool.aggregate}" for pool in estate.pools}
    there |= {f"pool/{name}" for name in estate.pool_by_name}
    whole = {"aggregate": 2, "pool": 1}  # the slashes in the key of a whole thing
    return frozenset(key for key in named - there if whole.get(key.partition("/")[0]) == key.count("/"))


def _aggregates_of_rows(named: frozenset[str], gone: frozenset[str], estate: Estate) -> frozenset[str]:
    """The aggregates of the rows that changed: findings rest on aggregates. A row that is gone tells none, so unless
    some aggregate is told to have changed, it stands for all of them.
    """
    rows = (estate.pool_by_name.get(key.split("/")[1]) for key in named if key.startswith("pool/"))
    told = {f"aggregate/{pool.region}/{pool.aggregate}" for pool in rows if pool is not None}
    if any(key.startswith("pool/") for key in gone) and not any(key.startswith("aggregate/") for key in named):
        told.add("aggregate")
    return frozenset(told)


def _all_above(keys: Iterable[str]) -> frozenset[str]:
    return frozenset(above for key in keys for above in _above(key))


def _above(key: str) -> Iterator[str]:
    """`a/b/c` -> `a/b`, `a`."""
    while key := key.rpartition("/")[0]:
        yield key
