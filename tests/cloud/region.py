"""A small region for tests of the simulated cloud, and a driver that keeps what happened."""

from __future__ import annotations

from dataclasses import replace

from pools.provider import CreateRequest, Mark, Server
from simulation.cloud import SimulatedCloud
from simulation.cloud_model import CloudParameters, Happening, HappeningKind, TenantParameters
from tests.conformance.stage import ESTATE, REGION, START, mark, pool

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

POOLS = (
    pool("d0-m8", domain="d0", project="lent", hosts=4),
    pool("d0-m16", domain="d0", project="lent", hosts=4, vcpu=16),
    pool("d1-m8", domain="d1", project="lent", hosts=3),
    pool("d2-m32", domain="d2", project="lent-too", hosts=5, vcpu=32),
    pool("kept-m8", domain="kept", project="kept", hosts=2, committed=True),
)
CALM = CloudParameters(estate=ESTATE, tenants=None, rate_changes_per_day=0)
BUSY = CloudParameters(
    estate=ESTATE,
    tenants=TenantParameters(load=0.5, batch_mean=1.5, stay_mean_s=5400),
    without_notice=0.1,
    unexplained=0.3,
    withdrawn=0.15,
    advised=0.5,
    silent_losses_per_day=6,
    moves_per_day=40,
    false_advisories_per_day=4,
    boot_failures=0.05,
    rate_changes_per_day=6,
)


class Driver:
    """A cloud and everything it has reported."""

    def __init__(self, parameters: CloudParameters = CALM, *, seed: int = 1) -> None:
        self.cloud = SimulatedCloud(POOLS, region=REGION, start=START, seed=seed, parameters=parameters)
        self.state = self.cloud.state
        self.happened: list[Happening] = []

    def wait(self, seconds: int) -> list[Happening]:
        """Lets time pass; what happened in it."""
        new = self.cloud.advance(self.state.now + seconds * 1000)
        self.happened += new
        return new

    def create(self, name: str, pool: str = "d0-m8") -> Server:
        """Asks for a server of ours."""
        project = self.state.pools[pool].project
        return self.cloud.create(CreateRequest(pool, project, mark(name)))

    def run(self, pool: str, count: int) -> list[Server]:
        """So many active servers in the pool."""
        made = [self.create(f"{pool}-{self.state.created}", pool) for _ in range(count)]
        self.wait(300)
        return made

    def delete(self, server: str) -> None:
        """Deletes a server with the mark it carries."""
        carried = self.state.records[server].server.mark
        assert isinstance(carried, Mark)
        self.cloud.delete(server, expected=carried)

    def kinds(self, kind: HappeningKind) -> list[Happening]:
        """What happened so far of one kind."""
        return [happening for happening in self.happened if happening.kind is kind]


def with_parameters(**changes: object) -> CloudParameters:
    """The calm cloud with some parameters changed."""
    return replace(CALM, **changes)  # type: ignore[arg-type]  # the names are checked by the dataclass itself
