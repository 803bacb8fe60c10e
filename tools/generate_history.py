"""The history of the reference estate's pools, drawn from one seed: what `generate_estate` lays below `history/`.

Three months in which reclaims come to a pool as a Poisson process and take a few instances each; general aggregates on
the oldest switches (`c`) are taken back most often. Invented, in the order of size that the simulation's tenants have.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

SEED = 20_261
SINCE, UNTIL, HOURS = "2026-06-01", "2026-08-31", 91 * 24
RECLAIMS_PER_INSTANCE_HOUR = {"general-c": 0.004, "general": 0.002, "arm": 0.0015, "l40s": 0.0015, "h100": 0.001}
"""The rate of a pool by a part of its name, the first that fits."""

ROW = re.compile(r"name: ([a-z0-9-]+), flavor: [a-z0-9-]+, rateClass: reclaimable, instance: {vcpu: ([0-9]+)")
HOSTS = re.compile(r"hosts: {count: ([0-9]+), vcpu: ([0-9]+)")


def histories(pool_files: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """`history/<region>.yaml` of each region, from the text of its pool files by aggregate."""
    rng = random.Random(SEED)
    return {f"history/{region}.yaml": _history(region, files, rng) for region, files in sorted(pool_files.items())}


def _history(region: str, files: Mapping[str, str], rng: random.Random) -> str:
    lines = [
        "apiVersion: ebbtide/v1",
        "kind: History",
        f"region: {region}",
        f"since: {SINCE}",
        f"until: {UNTIL}",
        "rows:",
    ]
    for text in (files[name] for name in sorted(files)):
        hosts = HOSTS.search(text)
        for name, vcpu in ROW.findall(text):
            most = int(hosts[1]) * int(hosts[2]) // int(vcpu) if hosts else 1
            lines.append(_row(name, most, rng))
    return "\n".join(lines) + "\n"


def _row(pool: str, most: int, rng: random.Random) -> str:
    """One pool: it held a tenth to a third of what its hosts hold."""
    exposure = max(1, round(most * rng.uniform(0.1, 0.33))) * HOURS
    each = rng.uniform(1.5, 4.0)
    rate = next(rate for part, rate in RECLAIMS_PER_INSTANCE_HOUR.items() if part in pool)
    reclaims = round(exposure * rate * rng.uniform(0.6, 1.4) / each)
    interruptions = round(reclaims * each)
    return f"  - {{pool: {pool}, exposureHours: {exposure}, interruptions: {interruptions}, reclaims: {reclaims}}}"
