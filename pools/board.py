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

from contracts.model import Contract
from pools.eligibility import eligible, units_per_instance
from pools.kinds import Assumptions, Kind, kind_of
from pools.model import Pool

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
