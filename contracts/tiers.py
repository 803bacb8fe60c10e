"""The five presets, and how a declared contract becomes a complete one.

A tier fills in what the file leaves out; a field that is written always wins, whole promise by whole promise (a written
`checkpoint` replaces the preset's checkpoint entirely, so that nobody has to know the preset to read the file).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from contracts.model import Checkpoint, Contract, ContractFile, Deadline, Drain, Fallback, Restart, Tier


@dataclass(frozen=True, slots=True)
class Preset:
    """What a tier promises where its contract is silent.

    `tolerance` in interruptions per unit-hour, `expected_run_s` the length of one uninterrupted run of a unit.
    """

    drain: Drain
    checkpoint: Checkpoint
    restart: Restart
    tolerance: Decimal
    expected_run_s: int


PRESETS: dict[Tier, Preset] = {
    # a service with a floor
    Tier.ANCHORED: Preset(
        drain=Drain(budget=60, how="evict"),
        checkpoint=Checkpoint(mode="both", interval=300, size=256 * 2**20, start_up=30),
        restart="from-checkpoint",
        tolerance=Decimal("0.05"),
        expected_run_s=86_400,
    ),
    # training
    Tier.RESUMABLE: Preset(
        drain=Drain(budget=90, how="signal-and-wait"),
        checkpoint=Checkpoint(mode="both", interval=900, size=2 * 2**30, start_up=120),
        restart="from-checkpoint",
        tolerance=Decimal("0.10"),
        expected_run_s=43_200,
    ),
    # pipelines that are redone from their last stage
    Tier.STAGED: Preset(
        drain=Drain(budget=60, how="evict"),
        checkpoint=Checkpoint(mode="periodic", interval=1800, size=2**30, start_up=60),
        restart="from-checkpoint",
        tolerance=Decimal("0.20"),
        expected_run_s=14_400,
    ),
    # jobs that are started again
    Tier.REQUEUED: Preset(
        drain=Drain(budget=30, how="signal-and-wait"),
        checkpoint=Checkpoint(mode="none"),
        restart="requeue",
        tolerance=Decimal("0.40"),
        expected_run_s=3_600,
    ),
    # anything goes
    Tier.SCAVENGER: Preset(
        drain=Drain(budget=10, how="nothing"),
        checkpoint=Checkpoint(mode="none"),
        restart="from-scratch",
        tolerance=Decimal("1.00"),
        expected_run_s=1_800,
    ),
}


def complete(declared: ContractFile) -> Contract:
    """The contract that holds: the declared fields, and the tier's preset for what is absent.

    A floor that is absent is 0, a minimum that is absent equals the floor, a deadline that is absent is none, and
    fallback that is absent is not allowed: money is never spent by default.
    """
    tier = Tier(declared.tier)
    preset = PRESETS[tier]
    floor = declared.floor if declared.floor is not None else 0
    return Contract(
        name=declared.name,
        team=declared.team,
        owner=declared.owner,
        contact=declared.contact,
        tier=tier,
        runs_on=declared.runs_on,
        unit=declared.unit,
        maximum=declared.maximum,
        eligibility=declared.eligibility,
        drain=declared.drain or preset.drain,
        checkpoint=declared.checkpoint or preset.checkpoint,
        restart=declared.restart or preset.restart,
        tolerance=declared.tolerance if declared.tolerance is not None else preset.tolerance,
        floor=floor,
        minimum=declared.minimum if declared.minimum is not None else floor,
        deadline=declared.deadline or Deadline(),
        fallback=declared.fallback or Fallback(allowed=False),
        expected_run=declared.expected_run if declared.expected_run is not None else preset.expected_run_s,
    )
