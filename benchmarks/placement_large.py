"""Placement at ten times a region's size, 1,400 pools x 2,200 workloads; see `benchmarks.placement`.

`python -m benchmarks.placement_large`. HiGHS gets a time limit on the whole program; where it is reached, its seconds
are a lower bound.
"""

from __future__ import annotations

from benchmarks.placement import Size, run

LARGE = Size("placement-large", 1400, 2200, seeds=(1,), runs=3, solver="choose", limit_s=60.0, rounds=12)

if __name__ == "__main__":
    run(LARGE)
