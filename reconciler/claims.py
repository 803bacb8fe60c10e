"""How much each workload needs now: level-triggered, from what schedulers show, at most the contract's maximum.

Pure. How much work there is stays the schedulers' word; what already boots is supply and never bought again (the
planner sees it as held). A silent scheduler keeps the workload's last claim, so that nothing grows or shrinks on silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.model import Contract
from reconciler.ports import SchedulerView


@dataclass(frozen=True, slots=True)
class Claim:
    """One workload's need in units: `floor` on committed capacity, `interruptible` beyond it.

    `desired` is what bounds are shares of: the interruptible claim, never shrunk by losses. `held` says that its
    scheduler is silent and the claim is the last one known.
    """

    workload: str
    floor: int
    interruptible: int
    held: bool = False

    @property
    def desired(self) -> int:
        """D of every bound."""
        return self.interruptible

    @property
    def total(self) -> int:
        """All units claimed."""
        return self.floor + self.interruptible


def claim_of(contract: Contract, wanted: int) -> Claim:
    """The claim for `wanted` units: capped at the maximum, gangs whole, the floor first.

    A floor stands even when less work is there: floors are kept at all times.
    """
    capped = min(wanted, contract.maximum)
    floor = contract.floor
    beyond = max(0, capped - floor)
    gang = contract.gang_size
    if contract.restart == "never":
        beyond = 0
    return Claim(contract.name, floor, -(-beyond // gang) * gang if gang > 1 else beyond)


def claims(contracts: tuple[Contract, ...], view: SchedulerView, last: Mapping[str, Claim]) -> dict[str, Claim]:
    """Every contract's claim now, by workload.

    A workload whose cluster answered and showed no work claims its floor only; one whose cluster is silent keeps the
    claim in `last`.
    """
    result: dict[str, Claim] = {}
    for contract in contracts:
        if contract.cluster in view.silent_clusters:
            before = last.get(contract.name)
            kept = before or claim_of(contract, 0)
            result[contract.name] = Claim(contract.name, kept.floor, kept.interruptible, held=True)
            continue
        demand = view.demands.get(contract.name)
        wanted = demand.running + demand.starting + demand.pending if demand else 0
        result[contract.name] = claim_of(contract, wanted)
    return result
