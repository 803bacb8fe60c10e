"""The fake and the simulated cloud pass the provider suite."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pools.fake import FakeCloud, FakeProvider
from pools.provider import Mark, Notice, NoticeKind, ProjectQuota, Server, Status, VictimHint
from pools.script import Boot
from simulation.cloud import SimulatedCloud
from simulation.cloud_model import CloudParameters, ProjectLimit, Wave
from simulation.cloud_state import Record, activate, admit, move
from simulation.reclaims import Taking, advise, take, withdraw
from tests.conformance.provider_suite import ProviderSuite
from tests.conformance.stage import ESTATE, FIRST, POOLS, REGION, SECOND, START, WIDE, Stage

PLENTY = 10_000_000
HOUR_MS = 3_600_000


class FakeStage:
    """The fake, put into the states of the suite by its own methods."""

    def __init__(self) -> None:
        self.now = START
        self.cloud = FakeCloud(POOLS, estate=ESTATE, region=REGION, clock=lambda: self.now, projects=(FIRST, SECOND))
        self.provider = FakeProvider(self.cloud)
        self.script = self.cloud.script

    def wait(self, seconds: int) -> None:
        self.now += seconds * 1000

    def plant(self, name: str, pool: str = WIDE, *, mark: Mark | None = None, project: str | None = None) -> str:
        return self.cloud.plant(name, pool, mark=mark, project=project).id

    def break_row(self) -> None:
        self.cloud.break_row("broken", FIRST)

    def set_instances(self, project: str, instances: int) -> None:
        self.cloud.quota[project] = ProjectQuota(project, instances, PLENTY, PLENTY * 1024**3)

    def notify(self, server: str, *, seconds: int) -> None:
        self.cloud.notify(server, seconds=seconds)

    def repeat(self, server: str) -> None:
        self.cloud.repeat(self.cloud.notices[server])

    def withdraw(self, server: str) -> None:
        self.cloud.withdraw(server)

    def open_reclaim(self, domain: str, *, hold_s: int) -> None:
        self.cloud.open_reclaim("r1", (domain,), hold_s=hold_s)

    def advise(self, pool: str, *, seconds: int) -> None:
        self.cloud.advise(pool, seconds=seconds)

    def move(self, server: str, pool: str) -> None:
        self.cloud.move(server, pool)

    def hint(self, server: str) -> VictimHint | None:
        return self.cloud.hints.get(server)


class SimulatedStage:
    """The simulated cloud without tenants, put into the states of the suite by the actions its own events use."""

    def __init__(self) -> None:
        parameters = CloudParameters(estate=ESTATE, tenants=None, rate_changes_per_day=0)
        self.provider = SimulatedCloud(POOLS, region=REGION, start=START, seed=1, parameters=parameters)
        self.state = self.provider.state
        self.script = self.state.script
        self.taking: dict[str, Taking] = {}

    def wait(self, seconds: int) -> None:
        self.provider.advance(self.state.now + seconds * 1000)

    def plant(self, name: str, pool: str = WIDE, *, mark: Mark | None = None, project: str | None = None) -> str:
        row = self.state.pools[pool]
        owner = project if project is not None else row.project
        record = admit(self.state, pool=row, project=owner, name=name, mark=mark, boot=Boot.ACTIVE)
        activate(self.state, record.server.id)
        return record.server.id

    def break_row(self) -> None:
        row = Server("", "broken", FIRST, "", Status.ERROR, self.state.now)
        self.state.records["broken"] = Record(row, self.state.pools[WIDE], None)
        self.state.version += 1

    def set_instances(self, project: str, instances: int) -> None:
        self.state.limits[project] = ProjectLimit(instances, PLENTY, PLENTY * 1024**3)

    def notify(self, server: str, *, seconds: int) -> None:
        record = self.state.records[server]
        domain, until = self.state.domains[record.pool.domain], self.state.now + HOUR_MS
        taking = Taking(domain, "r1#1", "r1", NoticeKind.RECLAIM, "test", until, until, notice_s=seconds)
        self.taking[server] = taking
        assert record.host is not None
        take(self.state, taking, [record.host])

    def repeat(self, server: str) -> None:
        notice = self.state.records[server].notice
        assert isinstance(notice, Notice)
        self.state.log.say(replace(notice))

    def withdraw(self, server: str) -> None:
        host = self.state.records[server].host
        assert host is not None
        withdraw(self.state, self.taking[server], host)

    def open_reclaim(self, domain: str, *, hold_s: int) -> None:
        now = self.state.now
        self.provider.schedule([Wave(at=now, domain=domain, hold_until=now + hold_s * 1000, count=1)])
        self.provider.advance(now)

    def advise(self, pool: str, *, seconds: int) -> None:
        advise(self.state, self.state.pools[pool].domain, self.state.now + seconds * 1000)

    def move(self, server: str, pool: str) -> None:
        assert move(self.state, server, pool)

    def hint(self, server: str) -> VictimHint | None:
        return self.state.hints.get(server)


class TestFakeProvider(ProviderSuite):
    @pytest.fixture
    def stage(self) -> Stage:
        return FakeStage()


class TestSimulatedCloud(ProviderSuite):
    @pytest.fixture
    def stage(self) -> Stage:
        return SimulatedStage()
