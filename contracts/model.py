"""The interruption contract as it is declared in one reviewed file, and as it holds once its tier has filled the gaps.

`ContractFile` is what a person writes; `Contract` is what everybody else reads. A contract states identity, where the
work runs, the size of one unit, where it may run, and seven promises.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from contracts.fields import (
    Bytes,
    ClockField,
    Count,
    Declared,
    Flag,
    Line,
    MoneyField,
    Name,
    Positive,
    Prose,
    Rate,
    Seconds,
    SomeBytes,
)
from contracts.findings import Fault

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
        return _RANKS[self.value]


_RANKS = {tier.value: rank for rank, tier in enumerate(Tier, start=1)}


Label = Annotated[str, Field(strict=True, max_length=63)]
"""A label's value, as Kubernetes bounds it."""


class KubernetesPlace(Declared):
    """Pods of one namespace that carry every label of `selector`."""

    cluster: Name
    namespace: Name
    selector: dict[str, Label] = Field(min_length=1)


class SlurmPlace(Declared):
    """Jobs of one account in one partition."""

    cluster: Name
    partition: Name
    account: Name


class RunsOn(Declared):
    """Exactly one scheduler."""

    kubernetes: KubernetesPlace | None = None
    slurm: SlurmPlace | None = None

    def faults(self) -> Iterator[Fault]:
        """Neither scheduler, or both."""
        if (self.kubernetes is None) == (self.slurm is None):
            which = "both kubernetes and slurm" if self.slurm else "no scheduler"
            yield Fault((), "EBT-154", f"runsOn names {which}", expected="exactly one of kubernetes and slurm")


class Unit(Declared):
    """One replica-sized share of the workload."""

    vcpu: Positive
    memory: SomeBytes
    gpu: Count = 0
    local_disk: Bytes = 0


class Gang(Declared):
    """Units that are useful only together, and how close they have to stay."""

    size: Positive
    within: Literal["aggregate", "hall"] = "hall"


class Eligibility(Declared):
    """What a pool must offer; `memory_per_vcpu` is what an instance offers at least, in bytes for each vCPU."""

    architecture: Literal["x86_64", "arm64"] = "x86_64"
    gpu_family: Name | None = None
    network: Literal["any", "25g", "100g", "infiniband"] = "any"
    memory_per_vcpu: SomeBytes | None = None
    avoid_halls: tuple[Name, ...] = ()
    gang: Gang | None = None


class Drain(Declared):
    """Promise 1: how much of the notice the work needs, and how it is ended."""

    budget: Seconds
    how: Literal["evict", "signal-and-wait", "command", "nothing"]
    command: tuple[Line, ...] = Field(default=(), max_length=32)

    def faults(self) -> Iterator[Fault]:
        """A command without its text, or a text that nothing runs."""
        if self.how == "command" and not self.command:
            yield Fault(("how",), "EBT-156", "the drain runs a command, and none is given", expected="a command")
        elif self.how != "command" and self.command:
            message = f"a command is given, and how is {self.how}"
            yield Fault(("how",), "EBT-156", message, self.how, "how: command, or no command")


class Checkpoint(Declared):
    """Promise 2: what survives; sizes are of one unit."""

    mode: Literal["none", "periodic", "on-notice", "both"]
    interval: Seconds | None = None
    size: Bytes | None = None
    bucket: Line | None = None
    key: Line | None = None
    start_up: Seconds = 0

    def faults(self) -> Iterator[Fault]:
        """What the mode cannot do without; none of it is nothing."""
        if self.mode in ("periodic", "both") and not self.interval:
            message = f"a checkpoint with mode {self.mode} needs an interval"
            yield Fault(("mode",), "EBT-155", message, self.mode, "interval, such as 15m")
        if self.mode in ("on-notice", "both") and not self.size:
            message = f"a checkpoint with mode {self.mode} needs a size: it has to fit the notice"
            yield Fault(("mode",), "EBT-157", message, self.mode, "size of one unit, such as 2GiB")


class Deadline(Declared):
    """Promise 6: none, a time of day, or a duration from submission; `work` in unit-hours when it is known."""

    at: ClockField | None = None
    after: Seconds | None = None
    work: Positive | None = None

    def faults(self) -> Iterator[Fault]:
        """Two deadlines at once, or work that is due at no time."""
        if self.at is not None and self.after is not None:
            yield Fault((), "EBT-159", "the deadline is both a time of day and a duration", expected="at or after")
        elif self.work is not None and self.at is None and self.after is None:
            yield Fault((), "EBT-159", "there is work to do and no time to do it by", expected="at or after")


class Fallback(Declared):
    """Promise 7: guaranteed capacity beyond the floor, in one person's authority."""

    allowed: Flag
    authority: Name | None = None
    limit_per_day: MoneyField | None = None
    approver: Name | None = None

    def faults(self) -> Iterator[Fault]:
        """Money without a person or a limit, or one person on both sides of it."""
        if self.allowed and (self.authority is None or self.limit_per_day is None):
            missing = " and ".join(
                name
                for name, value in (("authority", self.authority), ("limitPerDay", self.limit_per_day))
                if value is None
            )
            yield Fault(
                ("allowed",),
                "EBT-158",
                f"fallback is allowed without {missing}",
                "true",
                "authority and limitPerDay",
                "name the person who answers for the money and the limit a day, or set allowed: false",
            )
        if self.approver is not None and self.approver == self.authority:
            message = f"{self.approver} would approve what exceeds their own authority"
            yield Fault(("approver",), "EBT-160", message, self.approver, "somebody else than the authority")


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
    reason: Prose | None = None

    def faults(self) -> Iterator[Fault]:
        """The four counts in order, and a restart that the counts allow."""
        if self.floor is not None and self.floor > self.maximum:
            message = f"the floor of {self.floor} units is above the maximum of {self.maximum}"
            yield Fault(("floor",), "EBT-150", message, str(self.floor), f"at most {self.maximum}")
        if self.minimum is not None and self.minimum < (self.floor or 0):
            message = f"the minimum of {self.minimum} units is below the floor of {self.floor}"
            yield Fault(("minimum",), "EBT-151", message, str(self.minimum), f"at least {self.floor}")
        if self.minimum is not None and self.minimum > self.maximum:
            message = f"the minimum of {self.minimum} units is above the maximum of {self.maximum}"
            yield Fault(("minimum",), "EBT-152", message, str(self.minimum), f"at most {self.maximum}")
        if self.restart == "never" and (self.floor or 0) < self.maximum:
            message = (
                f"work that can never restart stands on the floor only: floor {self.floor or 0}, maximum {self.maximum}"
            )
            yield Fault(("restart",), "EBT-153", message, "never", f"floor: {self.maximum}, or another restart")
        gang = self.eligibility.gang
        if gang is not None and gang.size > self.maximum:
            message = f"a gang of {gang.size} units is larger than the maximum of {self.maximum}"
            yield Fault(("eligibility", "gang", "size"), "EBT-161", message, str(gang.size), f"at most {self.maximum}")


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
