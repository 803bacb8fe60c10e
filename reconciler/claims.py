"""How much each workload needs now: level-triggered, from what schedulers show, at most the contract's maximum.

Pure. How much work there is stays the schedulers' word; what already boots is supply and never bought again (the
planner sees it as held). A silent scheduler keeps the workload's last claim, so that silence moves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.frozen import quick, replace
from contracts.model import Contract
from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.drafts import Scribe
from reconciler.ports import Demand, SchedulerView


@quick
@dataclass(frozen=True, slots=True)
class Claim:
    """One workload's need in units: `floor` on committed capacity, `interruptible` beyond it.

    `desired` is what bounds are shares of: the interruptible claim, never shrunk by losses. `held` says that its
    scheduler is silent and the claim is the last one known. While less is asked for than is claimed, `lower_since` and
    `lower` remember since when, and the most that was asked for meanwhile.
    """

    workload: str
    floor: int
    interruptible: int
    held: bool = False
    lower_since: int = 0
    lower: int = 0

    @property
    def desired(self) -> int:
        """D of every bound."""
        return self.interruptible

    @property
    def total(self) -> int:
        """All units claimed."""
        return self.floor + self.interruptible


SHRINK_AFTER_MS = 600_000
"""A claim shrinks when less has been asked for over ten minutes: what is given back and asked for again at once costs a
boot and a join. The wait is what node autoscalers use by default."""


def claim_of(contract: Contract, wanted: int) -> Claim:
    """The claim for `wanted` units: the floor first, gangs whole, never more than the maximum.

    A floor stands even when less work is there: floors are kept at all times. A started gang is claimed whole where it
    fits under the maximum, and left out where it does not.
    """
    floor, gang = contract.floor, contract.gang_size
    beyond = min(-(-max(0, wanted - floor) // gang) * gang, _most(contract))
    return Claim(contract.name, floor, beyond)


def _most(contract: Contract) -> int:
    """The units beyond the floor that the contract allows, in whole gangs."""
    gang = contract.gang_size
    return max(0, contract.maximum - contract.floor) // gang * gang if contract.restart != "never" else 0


def settle(before: Claim | None, fresh: Claim, now: int) -> Claim:
    """The claim that holds: growth at once, shrinking after a wait and then to the most asked for meanwhile."""
    if before is None or fresh.interruptible >= before.interruptible or fresh.floor != before.floor:
        return fresh
    since = before.lower_since or now
    lower = max(before.lower, fresh.interruptible) if before.lower_since else fresh.interruptible
    if now - since >= SHRINK_AFTER_MS:
        return Claim(fresh.workload, fresh.floor, lower)
    return Claim(fresh.workload, before.floor, before.interruptible, lower_since=since, lower=lower)


def _kept(contract: Contract, before: Claim | None) -> Claim:
    """The claim of a workload whose scheduler is silent: the last one, and that less was asked for when it last spoke.
    Silence ends no wait, and begins none anew.
    """
    kept = claim_of(contract, before.total if before else 0)
    if before is None or not before.lower_since:
        return replace(kept, held=True)
    return replace(kept, held=True, lower_since=before.lower_since, lower=min(before.lower, kept.interruptible))


def claims(
    contracts: tuple[Contract, ...],
    view: SchedulerView,
    last: Mapping[str, Claim],
    now: int,
    *,
    others: bool = False,
) -> dict[str, Claim]:
    """Every contract's claim at `now`, by workload.

    A workload whose cluster answered and showed no work comes down to its floor; one whose cluster is silent keeps the
    claim in `last`, as far as its contract still allows it. Demand that contradicts itself (its objects outlived what
    they stood for) is no demand to wait for: the claim comes down at once. So does one that is remembered from before
    another's term (`others`): whoever led meanwhile saw less asked for, and placed by it.
    """
    result: dict[str, Claim] = {}
    for contract in contracts:
        before = last.get(contract.name)
        if contract.cluster in view.silent_clusters:
            result[contract.name] = _kept(contract, before)
            continue
        if before is not None:
            ceiling = _most(contract)
            if before.interruptible > ceiling:
                before = replace(before, interruptible=ceiling)
        demand = view.demands.get(contract.name)
        wanted = demand.running + demand.starting + demand.pending if demand else 0
        fresh = claim_of(contract, wanted)
        contradicted = demand is not None and bool(demand.contradiction)
        result[contract.name] = fresh if contradicted or others else settle(before, fresh, now)
    return result


def tell(
    claimed: Mapping[str, Claim],
    before: Mapping[str, Claim],
    told: Mapping[str, str],
    view: SchedulerView,
    scribe: Scribe,
) -> tuple[dict[str, str], list[Event]]:
    """The event behind each claim, as `told` had it of those `before`, and one for each claim that changed."""
    behind = dict(told)
    events = []
    for name, claim in claimed.items():
        last = before.get(name)
        if last is not None and last.total == claim.total:
            continue
        grew = last is None or claim.total > last.total
        event = scribe.event(
            EventType.CLAIM_CHANGED,
            f"{name}/{scribe.now}",
            Cause.CLAIM_GREW if grew else Cause.CLAIM_SHRANK,
            workload=name,
            data=_said(claim, view.demands.get(name)),
        )
        events.append(event)
        behind[name] = event.id
    return behind, events


def _said(claim: Claim, demand: Demand | None) -> dict[str, str | int]:
    """What is written down of a claim that changed."""
    said: dict[str, str | int] = {"units": claim.total}
    if demand is not None and demand.contradiction:
        said["contradiction"] = demand.contradiction
    return said
