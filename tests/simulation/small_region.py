"""The small region that the simulation's tests let live for some hours: its estate, its waves, and what is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.events import Event
from pools.provider import NoticeKind
from reconciler.desired import partition
from simulation.cloud_model import CloudParameters, Wave
from simulation.policies import ours
from simulation.world import Setting, World
from tests.reconciler.builders import HOUR, MINUTE, REGION, START, estate, with_settings

HOURS = 4
END = START + HOURS * HOUR
LARGER = (
    ("contracts/tides/forecast.yaml", "maximum: 40", "maximum: 120"),
    ("contracts/tides/hindcast.yaml", "maximum: 24", "maximum: 96"),
    ("adoptions/north/old-forecast.yaml", "pool: h1-general-a-4x16", "pool: h1-general-b-4x16"),
    # So much is taken in these hours that with the weight of a real estate hardly a pool would be worth lending from.
    with_settings("lostHourWeight: 0"),
)


def waves() -> tuple[Wave, ...]:
    """A hall that is taken in two waves, a domain without notice, and maintenance that is no reclaim."""
    first, second = START + 80 * MINUTE, START + 150 * MINUTE
    hall = [
        Wave(at, domain, at + 40 * MINUTE, share=share, reclaim=f"rc-{at}")
        for at, share in ((first, 0.5), (second, 1.0))
        for domain in ("h2-general-a", "h2-general-b")
    ]
    dark = Wave(
        START + 110 * MINUTE, "h3-general-a", START + 170 * MINUTE, count=1, noticed=False, kind=NoticeKind.HOST_FAILURE
    )
    works = Wave(START + 190 * MINUTE, "h4-general-b", START + 220 * MINUTE, count=1, kind=NoticeKind.MAINTENANCE)
    return (*hall, dark, works)


class Ledger:
    """Keeps everything in the order in which it was recorded."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, events: Sequence[Event]) -> None:
        self.events += events


def small_world(cloud: CloudParameters, *, seed: int) -> tuple[World, Ledger]:
    """The region under our planner, ready to run, and the ledger that will hold its events."""
    made = estate(*LARGER)
    setting = Setting(
        estate=made,
        region=REGION,
        start=START,
        counts_from=START,
        days=HOURS / 24,
        seed=seed,
        cloud=cloud,
        waves=waves(),
    )
    ledger = Ledger()
    return World(setting, ours(partition(made, REGION)), ledger), ledger
