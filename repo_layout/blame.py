"""Whose change a finding across files is: which reviewed things it rests on, and whether a change touches one of them.

A rule that weighs other people's files, the calendar or what was observed attributes each finding; the table of rules
asks `Changes` whether the change in hand is to blame. Pure: it compares keys, and must not know what a rule says.

Keys are those of `Estate.sources`. One may also name a field below (`contract/nightly-features/floor`) or the shelf
above (`aggregate/north`: any aggregate of that region, those taken away included). In doubt a change is blamed: where
it is told as a whole thing, as new ones are, every field of it counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from contracts.findings import Finding
from contracts.model import Contract
from repo_layout.model import Estate

SIZED_BY = ("unit", "maximum", "floor", "eligibility", "runsOn")
"""The fields of a contract that say how many units it asks for, how large, and where."""

SPREAD_BY = (*SIZED_BY, "drain", "checkpoint")
"""Those that its spread comes from: its size, and what has to fit the notice."""


def fields_of(contract: Contract, names: Iterable[str]) -> Iterator[str]:
    """The keys of some fields of a contract; with `runsOn` comes its cluster, which may move to another region."""
    for name in names:
        yield f"contract/{contract.name}/{name}"
        if name == "runsOn":
            yield f"cluster/{contract.cluster}"


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
    """The keys of one change as they were told and with the aggregates of rows, the shelves and things around them, and
    the shelves that lost an aggregate or a row.
    """

    told: frozenset[str]
    named: frozenset[str]
    around: frozenset[str]
    emptied: frozenset[str]

    @classmethod
    def of(cls, changed: Iterable[str], estate: Estate) -> Changes:
        """The change that led to `estate`, told by the keys of what differs; what is gone is told by its old key."""
        told = frozenset(changed)
        gone = _gone(told, estate)
        named = told | _aggregates_of_rows(told, gone, estate)
        return cls(told, named, _all_above(named), _all_above(gone))

    def behind(self, found: Attributed) -> tuple[str, ...]:
        """The things of the change, in order, for which it is to blame for the finding."""
        wholes = _all_above(found.to)
        return tuple(
            sorted(
                key
                for key in self.told
                if key in found.to
                or key in wholes
                or any(above in found.to or above in found.absence for above in _above(key))
            )
        )

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
