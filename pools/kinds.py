"""What an interruption costs one contract: what is lost of its work and how long until it works again.

The ranking prices pools with it, the compiler holds deadlines against it. Pure arithmetic without arrays, so that
checking an estate loads no numerical package; `pools.ranking` has the same formulas over arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from contracts.model import Checkpoint, Contract
from pools.model import CHECKPOINT_THROUGHPUT

STRICT_RANK = 2
"""Tiers up to this rank are ranked, and held against their tolerance, by the upper quantile of the hazard."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What no contract declares; each is a stated guess until the ledger has measured it.

    `join_s` from asking for a replacement until it takes work (boot and join); `no_notice_share` of interruptions come
    without notice; `write_bytes_per_s` is what a node writes to the object store at least; `fallback_share` of
    interruptions lead to fallback, which is then held `fallback_hold_s` (the arbiter's least hold).

    `lost_hour_weight` is what an hour of work that has to be done again costs whoever waits for it, in guaranteed hours
    of the unit, beyond the hour that is paid twice; docs/replay.md has what a weight saves and costs.
    """

    join_s: int = 180
    no_notice_share: float = 0.05
    write_bytes_per_s: int = CHECKPOINT_THROUGHPUT
    fallback_share: float = 0.05
    fallback_hold_s: int = 1800
    lost_hour_weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Kind:
    """The cost parameters of one class of contracts; durations in hours.

    `lost_h` is the expected loss of an interruption (not for work from scratch, whose loss follows from the hazard),
    `drained_h` that of a drain of our own, which always has its notice, and the drain's own time.
    """

    from_scratch: bool
    never: bool
    strict: bool
    gang: int
    lost_h: float
    drained_h: float
    restart_h: float
    run_h: float
    fallback_h: float
    tolerance: float
    weight: float = 0.0

    def describe(self) -> str:
        """The parameters in words, with units."""
        loses = f"starts again, a run takes {self.run_h:.4g} h" if self.from_scratch else f"loses {self.lost_h:.4f} h"
        return (
            f"{loses}; restart {self.restart_h:.4f} h; tolerance {self.tolerance:.5g} interruptions/unit-h;"
            f" gang of {self.gang}; hazard at its {'upper quantile' if self.strict else 'mean'}"
        )


def kind_of(contract: Contract, assumed: Assumptions) -> Kind:
    """The cost parameters of one contract."""
    scratch = contract.restart in ("from-scratch", "requeue") or contract.checkpoint.mode == "none"
    run_h = contract.expected_run / 3600
    kept_h = run_h / 2 if scratch else _lost_h(contract.checkpoint, contract.drain.budget, run_h, assumed, share=0.0)
    return Kind(
        from_scratch=scratch,
        never=contract.restart == "never",
        strict=contract.tier.rank <= STRICT_RANK,
        gang=contract.gang_size,
        lost_h=0.0
        if scratch
        else _lost_h(contract.checkpoint, contract.drain.budget, run_h, assumed, share=assumed.no_notice_share),
        drained_h=kept_h + contract.drain.budget / 3600,
        restart_h=(contract.checkpoint.start_up + assumed.join_s) / 3600,
        run_h=run_h if scratch else 0.0,
        fallback_h=assumed.fallback_share * assumed.fallback_hold_s / 3600 if contract.fallback.allowed else 0.0,
        tolerance=float(contract.tolerance),
        weight=assumed.lost_hour_weight,
    )


def _lost_h(checkpoint: Checkpoint, budget_s: int, run_h: float, assumed: Assumptions, *, share: float) -> float:
    """Hours lost per interruption of which `share` come without notice.

    An interruption falls uniformly into the interval between two periodic checkpoints, so half of it is lost; without
    periodic ones, half of the run. An on-notice checkpoint that can be written within the drain budget loses nothing
    when there is a notice.
    """
    unwarned = checkpoint.interval / 7200 if checkpoint.interval and checkpoint.mode != "on-notice" else run_h / 2
    on_notice = checkpoint.mode in ("on-notice", "both")
    fits = (checkpoint.size or 0) <= budget_s * assumed.write_bytes_per_s
    return share * unwarned if on_notice and fits else unwarned


def useful_share(kind: Kind, hazard: float) -> float:
    """Useful hours per hour of a unit that is interrupted `hazard` times an hour, from 0 to 1.

    From a checkpoint 1 - h (L + R), the renewal-reward share of time that is not lost; from scratch the inverse of
    (e^(hT) - 1) / (hT) x (1 + hR) (Duda 1983, The effects of checkpointing on program execution time). `pools.ranking`
    divides rates by it.
    """
    if not kind.from_scratch:
        return max(0.0, 1.0 - hazard * (kind.lost_h + kind.restart_h))
    x = min(hazard * kind.run_h, 50.0)
    runs = math.expm1(x) / x if x > 0 else 1.0
    return 1.0 / (runs * (1.0 + hazard * kind.restart_h))
