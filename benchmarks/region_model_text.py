"""Writes the region model's parameters as the YAML that people review: one comment a group, rows that fit a line.

Called by `benchmarks.fit_region_model`; the text reads back to equal parameters, which a test shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel

from simulation.region_parameters import RegionParameters

FITTED: Final = "2026-11-29"
"""The day of the last fit that was reviewed, so that the same record gives the same file."""

_HEAD: Final = f"""\
# Parameters of the region model: what simulation/region_model.py draws losses from.
# Source: Failure Trace Archive g5k06 (Grid'5000, May 2005 to November 2006: 621 nodes, 9 clusters, 4 sites), read as
# node availability: a loss is the start of an absence of 120 s or more. Last fit: {FITTED}.
# Repeat: EBBTIDE_TRACES=FOLDER python -m benchmarks.fit_region_model; meaning and units: region_parameters.py.
"""

_COMMENTS: Final = {
    "no_notice_share": "Assumed, not fitted: no public source records notices.",
    "episodes": "Runs of waves of one aggregate less than two hours apart. Hours are UTC, weeks open on Monday.",
    "ordinary": "Episodes of fewer than twenty waves: how many, how far apart, how large, how long.",
    "storms": "Episodes of twenty waves and more; the record holds fourteen, so this part is the least certain.",
    "waves": "Losses of one aggregate within 180 s. Joins are counted beyond what the record shifted by weeks shows.",
    "lengths": "Seconds away, for absences that the record sees to end.",
    "singles": "Losses that no other loss of the aggregate is within 180 s of.",
}


def render(parameters: RegionParameters) -> str:
    """The file's text."""
    lines = [_HEAD, *_block(parameters, 0)]
    return "\n".join(lines) + "\n"


def _block(model: BaseModel, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for key in type(model).model_fields:
        value: object = getattr(model, key)
        if depth == 0 and key in _COMMENTS:
            yield f"\n# {_COMMENTS[key]}"
        if isinstance(value, BaseModel):
            yield f"{pad}{key}:"
            yield from _block(value, depth + 1)
        elif isinstance(value, tuple):
            yield f"{pad}{key}: [{', '.join(_number(each) for each in value)}]"
        elif isinstance(value, str):
            yield f'{pad}{key}: "{value}"'
        else:
            yield f"{pad}{key}: {_number(value)}"


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.1f}"
    return str(value)
