"""What the provider and the schedulers showed in one cycle, as the census is given it.

Built by `cycle`, read by `census` and `absence`. It says what was shown and what was silent, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pools.provider import Listing, Signals
from reconciler.ports import NodeView


@dataclass(frozen=True)
class Sight:
    """What the provider and the schedulers showed; `listing` is None when the provider did not answer at all.

    `projects` are ours, `silent_workloads` those whose scheduler does not answer, and `accepted_at` is the time up to
    which a person accepted that what is missing is gone (0: none was).
    """

    now: int
    estate: str
    region: str
    join_timeout_s: int
    signals: Signals
    listing: Listing | None
    nodes: Mapping[str, NodeView]
    workloads: frozenset[str]
    projects: frozenset[str]
    silent_workloads: frozenset[str] = frozenset()
    improbable_percent: int = 10
    accepted_at: int = 0

    @cached_property
    def complete(self) -> frozenset[str]:
        """Projects that were listed to their end."""
        return frozenset(p.name for p in self.listing.parts if p.complete) if self.listing else frozenset()

    @cached_property
    def advised(self) -> frozenset[str]:
        """Pools that the provider warns of now."""
        return frozenset(advisory.pool for advisory in self.signals.advisories if advisory.until > self.now)

    @property
    def listed_at(self) -> int:
        """The time of the listing; 0 where none came."""
        return self.listing.as_of if self.listing else 0

    @property
    def heard(self) -> bool:
        """Whether the provider told what happened; silence is no word about anything."""
        return self.signals.as_of > 0

    @property
    def whole(self) -> bool:
        """Whether every project was."""
        return self.listing is not None and self.listing.complete
