"""What a workload can lose at once: the most units that its bounds let stand where one event takes them all.

Validation says it where a waiver widens the bounds, and so do the plan and the report of a day. Pure; it counts what
may stand, not what stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contracts.findings import Finding, Severity
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground, Reach


@dataclass(frozen=True, slots=True)
class LargestLoss:
    """The most units that can go at once, of `desired` interruptible ones, and the domain or group they go with."""

    workload: str
    units: int
    desired: int
    scope: str
    name: str

    @property
    def sentence(self) -> str:
        """The loss in words, with its share."""
        return (
            f"{self.workload} can lose {self.units} of {self.desired} interruptible units "
            f"({100 * self.units // self.desired} %) at once, with {self.scope} {self.name}"
        )

    @property
    def permille(self) -> int:
        """The share of its interruptible units, rounded up."""
        return -(-1000 * self.units // self.desired)

    def document(self) -> dict[str, str | int]:
        """The loss for machines."""
        return {
            "workload": self.workload,
            "units": self.units,
            "desired": self.desired,
            "scope": self.scope,
            "name": self.name,
        }


def largest_loss(ground: Ground, reach: Reach) -> LargestLoss:
    """The worst of every group, bounding or only reported, and of every domain alone, at the contract's maximum."""
    desired = reach.interruptible
    worst = LargestLoss(reach.contract.name, 0, desired, "capacity domain", "")
    domains = sorted({pool.domain for pool in reach.usable.fitting})
    scopes = [("capacity domain", name, frozenset({name})) for name in domains]
    scopes += [(one.kind, one.name, one.domains) for one in ground.together(reach.region.name)]
    for scope, name, inside in scopes:
        if (units := reach.most_in(inside)) > worst.units:
            worst = LargestLoss(reach.contract.name, units, desired, scope, name)
    return worst


def losses_under_waivers(estate: Estate, region: str = "") -> tuple[LargestLoss, ...]:
    """The largest loss of each workload whose bounds a waiver widens, of one region or all, by region and name."""
    ground = Ground(estate)
    return tuple(largest_loss(ground, reach) for reach in _waived(ground) if region in ("", reach.region.name))


def losses_shown(ground: Ground) -> Iterator[Finding]:
    """Where a waiver widens the bounds, the most that the workload can lose at once."""
    for reach in _waived(ground):
        place = at(ground.estate, f"contract/{reach.contract.name}")
        message = f"under its waiver {largest_loss(ground, reach).sentence}"
        yield Finding("EBT-220", place, message, severity=Severity.NOTE)


def _waived(ground: Ground) -> Iterator[Reach]:
    """The contracts that a waiver serves and that can be spread."""
    for reach in ground.reaches:
        usable = reach.usable
        if usable.waived and usable.fitting and reach.first_shortfall(usable.fitting) is None:
            yield reach
