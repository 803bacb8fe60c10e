"""The work that a replay places: synthetic contracts of all five tiers, their sizes, and what each pool asks.

Called by `simulation.replay`; everything follows from a seed and the window. Sizes sum to a stated share of the nodes
that are usually up. What an interruption costs comes from the tiers' presets through the ranking's own `board`, so that
planner and score read the same contract; see docs/replay.md for what is assumed.
"""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np

from contracts.model import Contract, ContractFile, RunsOn, SlurmPlace, Tier, Unit
from contracts.tiers import PRESETS, complete
from correlation_groups.spread import Shares, limit
from pools.board import Board, board
from pools.kinds import Assumptions, kind_of
from pools.model import Attributes, HostShape, InstanceShape, Pool
from pools.ranking import MICRO, Rates
from repo_layout.documents import SettingsFile
from simulation.replay_window import Window
from simulation.trace import Floats, TracePool

GIB: Final = 2**30
DEMAND_SHARE: Final = 0.30
"""Of the nodes that are usually up; the share that the traces' own README takes."""

TIERS: Final = (
    (Tier.ANCHORED, 4),
    (Tier.RESUMABLE, 5),
    (Tier.STAGED, 6),
    (Tier.REQUEUED, 6),
    (Tier.SCAVENGER, 3),
)
"""24 workloads in about the proportions of the reference estate."""

STRETCHES: Final = (0.5, 1.0, 2.0, 4.0)
"""A preset's interval between checkpoints, or its run from scratch, times one of these: unlike work, unlike losses."""

TOLERATED_LOSS: Final = 0.03
"""Of its work that interruptions may cost: the design's gate on wasted work. A contract of a replay tolerates as many
interruptions per unit-hour as come to that, at most `MOST_TOLERATED`. The presets' own tolerances are for calmer
machines: the compiler would refuse an anchored contract on one that loses 0.03 per node-hour."""
MOST_TOLERATED: Final = 0.5

LOST_HOUR_WEIGHT: Final = float(SettingsFile.model_fields["lost_hour_weight"].default)
"""The product's own: what an estate that says nothing gets; see docs/replay.md."""

MARGIN_S: Final = 5
GUARANTEED_MICRO: Final = MICRO
"""A guaranteed node-hour costs 1; money of a replay is in that unit."""

SAVINGS: Final = ((53, 5), (60, 5), (65, 10), (70, 45), (76, 10), (80, 15), (85, 6), (90, 4))
"""Percent saved against the guaranteed rate and its weight: the recorded advisor file's distribution in eight steps
(4,255 Linux rows: quantiles 5, 10, 25, 50, 75, 90 % are 60, 65, 70, 70, 76, 80)."""


class Prices(enum.Enum):
    """How savings are dealt out to pools."""

    NEUTRAL = "neutral"  # by chance
    ADVERSE = "adverse"  # the cheapest fifth are the pools that will be interrupted most


@dataclass(frozen=True)
class Work:
    """Contracts with their sizes, and rates; by workload index and by pool in the window's order.

    `desired` units each (one unit fills one node), `minimum` of strict ones: what a fall of one whole group must leave.
    """

    contracts: tuple[Contract, ...]
    desired: tuple[int, ...]
    minimum: tuple[int, ...]
    board: Board
    rates: Rates

    @property
    def units(self) -> int:
        """All units wanted."""
        return sum(self.desired)

    @property
    def strict(self) -> tuple[int, ...]:
        """Indices of the workloads of the two strict tiers."""
        return tuple(i for i, c in enumerate(self.contracts) if c.tier.rank <= Tier.RESUMABLE.rank)


def work_of(win: Window, *, seed: int, prices: Prices) -> Work:
    """The work and the rates of one seed; sizes and contracts are the same for both kinds of prices."""
    rng = random.Random(f"replay-work/{seed}")
    tiers = [tier for tier, count in TIERS for _ in range(count)]
    total = max(len(tiers), round(DEMAND_SHARE * win.usual_up))
    desired = _sizes(rng, len(tiers), total)
    contracts = tuple(_contract(rng, i, tier, desired[i]) for i, tier in enumerate(tiers))
    assumed = Assumptions(lost_hour_weight=LOST_HOUR_WEIGHT)
    made = board(contracts, [_pool(p) for p in win.pools], verification_margin_s=MARGIN_S, assumptions=assumed)
    saved = savings(win.rate, seed=seed, prices=prices)
    asked = np.rint((1 - saved / 100) * GUARANTEED_MICRO).astype(np.int64)
    group = Shares().group_permille
    return Work(
        contracts=contracts,
        desired=tuple(desired),
        minimum=tuple(size - limit(group, size, 1) for size in desired),
        board=made,
        rates=Rates(asked, np.full(len(win.pools), GUARANTEED_MICRO, dtype=np.int64)),
    )


def savings(rate: Floats, *, seed: int, prices: Prices) -> Floats:
    """Percent saved by pool; adverse: the fifth of the pools with the highest `rate` are the fifth that is cheapest."""
    rng = random.Random(f"replay-prices/{seed}")
    drawn = rng.choices([s for s, _ in SAVINGS], weights=[w for _, w in SAVINGS], k=len(rate))
    # no two rates are equal, so that price-first has an order of its own
    spread = np.array([s + rng.uniform(-1, 1) for s in drawn])
    if prices is Prices.NEUTRAL:
        return spread
    best = np.sort(spread)[::-1]
    order = np.argsort(-rate, kind="stable")
    fifth = len(rate) // 5
    rest = list(best[fifth:])
    rng.shuffle(rest)
    dealt = np.empty(len(rate))
    dealt[order[:fifth]] = best[:fifth]
    dealt[order[fifth:]] = rest
    return dealt


def _sizes(rng: random.Random, count: int, total: int) -> list[int]:
    """Sizes from about a third to about twice the mean that sum to `total`, at least one unit each."""
    weights = [rng.uniform(1, 6) for _ in range(count)]
    shares = [total * w / sum(weights) for w in weights]
    sizes = [max(1, int(share)) for share in shares]
    by_rest = sorted(range(count), key=lambda i: int(shares[i]) - shares[i])
    i = 0
    while sum(sizes) < total:
        sizes[by_rest[i % count]] += 1
        i += 1
    return sizes


def _contract(rng: random.Random, number: int, tier: Tier, units: int) -> Contract:
    preset = PRESETS[tier]
    stretch = rng.choice(STRETCHES)
    checkpoint = preset.checkpoint
    if checkpoint.interval:
        checkpoint = checkpoint.model_copy(update={"interval": round(checkpoint.interval * stretch)})
    declared = ContractFile(
        api_version="ebbtide/v1",
        kind="Contract",
        name=f"{tier.value}-{number:02d}",
        team="replay",
        owner="replay",
        contact="replay",
        tier=tier.value,
        runs_on=RunsOn(slurm=SlurmPlace(cluster="replay", partition="replay", account="replay")),
        unit=Unit(vcpu=1, memory=4 * GIB),
        maximum=units,
        checkpoint=checkpoint,
        expected_run=round(preset.expected_run_s * stretch) if checkpoint.mode == "none" else None,
    )
    contract = complete(declared)
    kind = kind_of(contract, Assumptions())
    cost_h = kind.restart_h + (kind.run_h / 2 if kind.from_scratch else kind.lost_h)
    tolerated = min(MOST_TOLERATED, TOLERATED_LOSS / cost_h)
    return contract.model_copy(update={"tolerance": Decimal(f"{tolerated:.4f}")})


def _pool(pool: TracePool) -> Pool:
    return Pool(
        name=pool.name,
        region="replay",
        hall=pool.hall,
        aggregate=pool.aggregate,
        domain=pool.name,
        project="replay",
        join_profile="replay",
        flavor="node",
        committed=False,
        notice_window_s=120,
        user_data_limit=65_535,
        hosts=HostShape(count=pool.size, vcpu=1, memory=4 * GIB),
        attributes=Attributes(architecture="x86_64"),
        instance=InstanceShape(vcpu=1, memory=4 * GIB),
    )
