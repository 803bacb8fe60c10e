"""How much a workload's spread can spare before and after a change: where a bound becomes tight, or stops being so.

`repo_layout.change` asks. The spare of a scope (capacity domains, or the groups of one kind) is how many of them can
go, the roomiest first, with the bounds still kept; 0 is tight. Pure; limits are `correlation_groups`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from correlation_groups.reach import Domain, Field
from repo_layout.model import Estate
from repo_layout.reach import Ground

DOMAINS = "capacity domain"


@dataclass(frozen=True, slots=True)
class Slack:
    """How many domains or groups of one scope a workload may use, and the fewest that still keep its bounds."""

    there: int
    needed: int

    @property
    def spare(self) -> int:
        """How many can go; 0 is tight."""
        return self.there - self.needed


@dataclass(frozen=True, slots=True)
class SlackChange:
    """A scope of both sides that became tight, or stopped being so."""

    workload: str
    scope: str
    before: Slack
    after: Slack

    @property
    def tight(self) -> bool:
        """Whether nothing can be spared any more."""
        return self.after.spare == 0

    def mirrored(self) -> SlackChange:
        """The same change, undone."""
        return SlackChange(self.workload, self.scope, self.after, self.before)


def slack_changes(base: Estate, head: Estate, changed: frozenset[str]) -> Iterator[SlackChange]:
    """Each scope of each workload in which one side has something to spare and the other has nothing, by name.

    A workload whose bounds cannot be kept at all on one side is not listed: that is a finding.
    """
    had, has = _fields(base, changed), _fields(head, changed)
    known = _Known()
    for workload in sorted(had.keys() & has.keys()):
        before, after = had[workload], has[workload]
        if before == after:
            continue
        left, right = known.tight(before), known.tight(after)
        for scope in sorted(left.keys() & right.keys()):
            if left[scope] != right[scope]:
                yield SlackChange(workload, scope, before.slack(scope), after.slack(scope))


@dataclass(frozen=True, slots=True)
class _Spread:
    """What a workload may use, and the most units that have to be spread over it."""

    field: Field
    largest: int

    @property
    def shape(self) -> tuple[object, ...]:
        """Equal for workloads of which the same holds."""
        domains = tuple((d.name, d.quantum, d.capacity, *sorted(d.groups.items())) for d in self.field.domains)
        return (domains, self.field.shares, self.field.gang, self.largest)

    def scopes(self) -> Mapping[str, Mapping[str, tuple[Domain, ...]]]:
        """What can be lost together, by scope: each domain, and each group of each kind."""
        return {DOMAINS: {domain.name: (domain,) for domain in self.field.domains}, **self.field.kinds}

    def kept_without(self, members: Mapping[str, tuple[Domain, ...]], number: int) -> bool:
        """Whether the bounds are kept without the roomiest members of a scope."""
        order = sorted(members, key=lambda name: (-sum(domain.capacity for domain in members[name]), name))
        gone = {domain.name for name in order[:number] for domain in members[name]}
        left = replace(self.field, domains=tuple(domain for domain in self.field.domains if domain.name not in gone))
        # the largest count fails at a glance where every small one has to be judged in full
        return bool(left.domains) and not left.shortfall(self.largest) and not left.first_shortfall(self.largest)

    def slack(self, scope: str) -> Slack:
        """The most that can go, found by halving: what cannot spare some cannot spare more."""
        members = self.scopes()[scope]
        kept, lost = 0, len(members)  # so many can go for sure, so many cannot
        while lost - kept > 1:
            middle = (kept + lost) // 2
            if self.kept_without(members, middle):
                kept = middle
            else:
                lost = middle
        return Slack(len(members), len(members) - kept)


@dataclass(slots=True)
class _Known:
    """What was counted already: most workloads of a class differ in nothing that counts here."""

    by_shape: dict[tuple[object, ...], Mapping[str, bool]] = field(default_factory=dict)

    def tight(self, spread: _Spread) -> Mapping[str, bool]:
        """Whether each scope has nothing to spare; empty where the bounds cannot be kept at all, or bind nothing."""
        shape = spread.shape
        if shape not in self.by_shape:
            gang = spread.field.gang
            bound = not (gang > 1 and spread.largest <= gang)  # a workload of one gang is exempt
            kept = bound and spread.field.first_shortfall(spread.largest) is None
            scopes = spread.scopes() if kept else {}
            self.by_shape[shape] = {scope: not spread.kept_without(members, 1) for scope, members in scopes.items()}
        return self.by_shape[shape]


def _fields(estate: Estate, changed: frozenset[str]) -> dict[str, _Spread]:
    """What each workload that the change can concern has to spread, and over what."""
    wide = "settings/bounds" in changed
    regions = {key.split("/")[1] for key in changed if key.startswith(("region/", "aggregate/", "group/", "waiver/"))}
    return {
        reach.contract.name: _Spread(reach.field_of(reach.usable.fitting), reach.interruptible)
        for reach in Ground(estate).reaches
        if reach.usable.fitting
        and (wide or reach.region.name in regions or f"contract/{reach.contract.name}" in changed)
    }
