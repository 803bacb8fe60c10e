"""What the provider suite needs from a cloud in order to put it into a state; one stage per adapter.

A stage that cannot bring something about skips the test through `pytest.skip` and says why.
"""

from __future__ import annotations

from typing import Protocol

from pools.model import Attributes, HostShape, InstanceShape, Pool
from pools.provider import (
    CreateRequest,
    ForwardCapacity,
    Listing,
    Mark,
    Provider,
    Server,
    VictimHint,
)
from pools.script import Script

GIB = 1024**3
ESTATE, REGION = "tide", "west"
START = 1_767_225_600_000  # 2026-01-01T00:00:00Z; any instant does

WIDE, ALSO, NARROW = "wide-m8", "also-m8", "narrow-m8"
WIDE_DOMAIN, ALSO_DOMAIN, NARROW_DOMAIN = "wide", "also", "narrow"
FIRST, SECOND = "lent-one", "lent-two"
ROOM_IN_NARROW = 8
ELSEWHERE = "payroll"


def pool(name: str, *, domain: str, project: str, hosts: int, committed: bool = False, vcpu: int = 8) -> Pool:
    """One pool of 64-vCPU hosts, 4 GiB a vCPU; its aggregate is its domain."""
    return Pool(
        name=name,
        region=REGION,
        hall="hall-a",
        aggregate=domain,
        domain=domain,
        project=project,
        join_profile="kubeadm",
        flavor=f"m{vcpu}",
        committed=committed,
        notice_window_s=120,
        user_data_limit=65_535,
        hosts=HostShape(count=hosts, vcpu=64, memory=256 * GIB),
        attributes=Attributes(architecture="x86_64"),
        instance=InstanceShape(vcpu=vcpu, memory=4 * vcpu * GIB),
    )


POOLS = (
    pool(WIDE, domain=WIDE_DOMAIN, project=FIRST, hosts=140),
    pool(ALSO, domain=ALSO_DOMAIN, project=FIRST, hosts=4),
    pool(NARROW, domain=NARROW_DOMAIN, project=SECOND, hosts=1),
)


def mark(name: str, *, estate: str = ESTATE, region: str = REGION, epoch: int = 3) -> Mark:
    """A mark of ours unless something else is said."""
    return Mark(estate, region, name, epoch, workload="nightly", units=1, paid="reclaimable")


class Stage(Protocol):
    """A cloud with `POOLS` in which we own `FIRST` and `SECOND`; pages hold 1,000 servers."""

    @property
    def provider(self) -> Provider:
        """The adapter under test."""

    @property
    def script(self) -> Script:
        """What the provider is told to do wrong."""

    def wait(self, seconds: int) -> None:
        """Lets time pass; boots take at most 300 s here."""

    def plant(self, name: str, pool: str = WIDE, *, mark: Mark | None = None, project: str | None = None) -> str:
        """A running server, whoever made it; its id."""

    def break_row(self) -> None:
        """From now on the listing carries one row of ours without an id."""

    def set_instances(self, project: str, instances: int) -> None:
        """The project's quota, in instances; nothing else limits it."""

    def notify(self, server: str, *, seconds: int) -> None:
        """Gives the server, and perhaps others, notice of a reclaim."""

    def repeat(self, server: str) -> None:
        """Says the server's notice again."""

    def withdraw(self, server: str) -> None:
        """Takes the server's notice back."""

    def open_reclaim(self, domain: str, *, hold_s: int) -> None:
        """Opens a reclaim in the domain."""

    def advise(self, pool: str, *, seconds: int) -> None:
        """Warns of the pool for a while."""

    def move(self, server: str, pool: str) -> None:
        """Migrates the server."""

    def hint(self, server: str) -> VictimHint | None:
        """The hint that the provider holds about a server."""


def create(stage: Stage, name: str, pool: str = WIDE) -> Server:
    project = next(row.project for row in POOLS if row.name == pool)
    return stage.provider.create(CreateRequest(pool, project, mark(name)))


def row_of(listing: Listing, server: str) -> Server | None:
    return next((row for row in listing.servers if row.id == server), None)


def offer(stage: Stage, domain: str) -> ForwardCapacity | None:
    return next((row for row in stage.provider.forward_capacity().domains if row.domain == domain), None)
