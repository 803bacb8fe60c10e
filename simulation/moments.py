"""Samples of a simulated region over time: what pictures and scores are made from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """One sample of the region, taken after each cycle, for pictures and scores."""

    at: int
    reclaimable: int
    floor: int
    fallback: int
    wanted_units: int
    running_units: int
    worst_domain_permille: int
    worst_group_permille: int
    excluded: int
