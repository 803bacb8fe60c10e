"""The interruption contract as it is declared in one reviewed file, and as it holds once its tier has filled the gaps.

`ContractFile` is what a person writes; `Contract` is what everybody else reads. A contract states identity, where the
work runs, the size of one unit, where it may run, and seven promises.
"""

from __future__ import annotations

import enum
from typing import Literal

from pydantic import Field

from contracts.fields import Bytes, ClockField, Count, Declared, MoneyField, Name, Positive, Rate, Seconds

API_VERSION = "ebbtide/v1"


class Tier(enum.Enum):
    """The five presets, strictest first; `rank` 1 is served first when capacity is short."""

    ANCHORED = "anchored"
    RESUMABLE = "resumable"
    STAGED = "staged"
    REQUEUED = "requeued"
    SCAVENGER = "scavenger"

    @property
    def rank(self) -> int:
        """1 (strictest) to 5."""
        return list(Tier).index(self) + 1


class KubernetesPlace(Declared):
    """Pods of one namespace that carry every label of `selector`."""

    cluster: Name
    namespace: Name
    selector: dict[str, str] = Field(min_length=1)


class SlurmPlace(Declared):
    """Jobs of one account in one partition."""

    cluster: Name
    partition: Name
    account: Name


class RunsOn(Declared):
    """Exactly one scheduler."""

    kubernetes: KubernetesPlace | None = None
    slurm: SlurmPlace | None = None


class Unit(Declared):
    """One replica-sized share of the workload."""

    vcpu: Positive
    memory: Bytes
    gpu: Count = 0
    local_disk: Bytes = 0


class Gang(Declared):
    """Units that are useful only together, and how close they have to stay."""

    size: Positive
    within: Literal["aggregate", "hall"] = "hall"


class Eligibility(Declared):
    """What a pool must offer."""

    architecture: Literal["x86_64", "arm64"] = "x86_64"
    gpu_family: Name | None = None
    network: Literal["any", "25g", "100g", "infiniband"] = "any"
    avoid_halls: tuple[Name, ...] = ()
    gang: Gang | None = None


class Drain(Declared):
    """Promise 1: how much of the notice the work needs, and how it is ended."""

    budget: Seconds
    how: Literal["evict", "signal-and-wait", "command", "nothing"]
    command: tuple[str, ...] = ()


class Checkpoint(Declared):
    """Promise 2: what survives; sizes are of one unit."""

    mode: Literal["none", "periodic", "on-notice", "both"]
    interval: Seconds | None = None
    size: Bytes | None = None
    bucket: str | None = None
    key: str | None = None
    start_up: Seconds = 0


class Deadline(Declared):
    """Promise 6: none, a time of day, or a duration from submission; `work` in unit-hours when it is known."""

    at: ClockField | None = None
    after: Seconds | None = None
    work: Positive | None = None


class Fallback(Declared):
    """Promise 7: guaranteed capacity beyond the floor, in one person's authority."""

    allowed: bool
    authority: Name | None = None
    limit_per_day: MoneyField | None = None
    approver: Name | None = None


Restart = Literal["from-scratch", "from-checkpoint", "requeue", "never"]


class ContractFile(Declared):
    """`contracts/<team>/<workload>.yaml` as written; absent promises come from the tier."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Contract"]
    name: Name
    team: Name
    owner: Name
    contact: Name
    tier: Literal["anchored", "resumable", "staged", "requeued", "scavenger"]
    runs_on: RunsOn
    unit: Unit
    maximum: Positive
    eligibility: Eligibility = Eligibility()
    drain: Drain | None = None
    checkpoint: Checkpoint | None = None
    restart: Restart | None = None
    tolerance: Rate | None = None
    floor: Count | None = None
    minimum: Count | None = None
    deadline: Deadline | None = None
    fallback: Fallback | None = None
    expected_run: Seconds | None = None
    reason: str | None = Field(default=None, max_length=400)


class Contract(Declared):
    """One workload's contract with every promise filled in.

    `tolerance` is in interruptions per unit-hour; `expected_run` is the length of one uninterrupted run of a unit, used
    by the ranking for work that starts from scratch.
    """

    name: Name
    team: Name
    owner: Name
    contact: Name
    tier: Tier
    runs_on: RunsOn
    unit: Unit
    maximum: Positive
    eligibility: Eligibility
    drain: Drain
    checkpoint: Checkpoint
    restart: Restart
    tolerance: Rate
    floor: Count
    minimum: Count
    deadline: Deadline
    fallback: Fallback
    expected_run: Seconds

    @property
    def cluster(self) -> str:
        """The scheduler cluster the work runs on."""
        place = self.runs_on.kubernetes or self.runs_on.slurm
        return place.cluster if place else ""

    @property
    def gang_size(self) -> int:
        """Units that are useful only together; 1 when the work has no gangs."""
        return self.eligibility.gang.size if self.eligibility.gang else 1
