"""What the ranking knows of contracts and pools before any rate or hazard: who may go where, and what a loss costs it.

Built once per commit by the appraisal. Contracts whose cost parameters and eligibility are equal form one class, so
that a region's ranking is a few dozen rows of arrays. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contracts.model import Checkpoint, Contract
from pools.eligibility import eligible, units_per_instance
from pools.model import Pool

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

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
    write_bytes_per_s: int = 200 * 2**20
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


@dataclass(frozen=True, slots=True)
class Columns:
    """The kinds as columns, shape (classes, 1)."""

    from_scratch: Flags
    never: Flags
    strict: Flags
    gang: Ints
    lost_h: Floats
    restart_h: Floats
    run_h: Floats
    fallback_h: Floats
    tolerance: Floats
    weight: Floats


@dataclass(frozen=True)
class Board:
    """Classes by pools: `units` per instance and `eligible`; pools are in the order of their names."""

    pools: tuple[str, ...]
    committed: Flags
    kinds: tuple[Kind, ...]
    units: Ints
    eligible: Flags
    class_of: Mapping[str, int]

    @cached_property
    def columns(self) -> Columns:
        """The kinds as arrays that broadcast over pools."""
        kinds = self.kinds
        return Columns(
            from_scratch=np.array([[k.from_scratch] for k in kinds], dtype=np.bool_).reshape(-1, 1),
            never=np.array([[k.never] for k in kinds], dtype=np.bool_).reshape(-1, 1),
            strict=np.array([[k.strict] for k in kinds], dtype=np.bool_).reshape(-1, 1),
            gang=np.array([[k.gang] for k in kinds], dtype=np.int64).reshape(-1, 1),
            lost_h=_floats([k.lost_h for k in kinds]),
            restart_h=_floats([k.restart_h for k in kinds]),
            run_h=_floats([k.run_h for k in kinds]),
            fallback_h=_floats([k.fallback_h for k in kinds]),
            tolerance=_floats([k.tolerance for k in kinds]),
            weight=_floats([k.weight for k in kinds]),
        )


def _floats(values: list[float]) -> Floats:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def board(
    contracts: Sequence[Contract],
    pools: Sequence[Pool],
    *,
    verification_margin_s: int,
    assumptions: Assumptions | None = None,
) -> Board:
    """The board of one region. A pool is eligible as `pools.eligibility.eligible` says."""
    assumed = assumptions or Assumptions()
    ordered = sorted(pools, key=lambda pool: pool.name)
    rows: dict[tuple[Kind, tuple[int, ...], tuple[bool, ...]], int] = {}
    class_of: dict[str, int] = {}
    for contract in contracts:
        may = tuple(eligible(contract, p, verification_margin_s=verification_margin_s) for p in ordered)
        units = tuple(units_per_instance(contract, p) for p in ordered)
        class_of[contract.name] = rows.setdefault((kind_of(contract, assumed), units, may), len(rows))
    return Board(
        pools=tuple(pool.name for pool in ordered),
        committed=np.array([pool.committed for pool in ordered], dtype=np.bool_),
        kinds=tuple(kind for kind, _, _ in rows),
        units=np.array([units for _, units, _ in rows], dtype=np.int64).reshape(len(rows), len(ordered)),
        eligible=np.array([may for _, _, may in rows], dtype=np.bool_).reshape(len(rows), len(ordered)),
        class_of=class_of,
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
