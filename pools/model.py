"""Pools as data: what one file of the catalogue declares, and the flat row that everybody else reads.

A pool is one row: an aggregate's flavor under one rate class. Rows of one capacity domain share hosts; spread is
counted over domains. Rates are not here: they come from the provider's rate card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from contracts.fields import Bytes, ClockField, Count, Declared, Name, Positive, Seconds, SomeBytes

CHECKPOINT_THROUGHPUT = 200 * 2**20
"""Bytes a second that an instance is taken to write to the object store at least, where neither pool nor region says:
about a fifteenth of a 25 Gbit/s port, which a host's instances share. The ranking assumes the same."""


class HostShape(Declared):
    """What one host of the aggregate offers, and how many there are."""

    count: Positive
    vcpu: Positive
    memory: SomeBytes
    gpu: Count = 0
    local_disk: Bytes = 0


class Attributes(Declared):
    """What eligibility is decided on."""

    architecture: Literal["x86_64", "arm64"]
    gpu_family: Name | None = None
    network: Literal["25g", "100g", "infiniband"] = "25g"


class InstanceShape(Declared):
    """What one instance of the flavor holds."""

    vcpu: Positive
    memory: SomeBytes
    gpu: Count = 0
    local_disk: Bytes = 0


class MaintenanceWindow(Declared):
    """A daily time in which nothing new is placed here."""

    start: ClockField
    length: Seconds


class PoolRow(Declared):
    """One row as written."""

    name: Name
    flavor: Name
    rate_class: Literal["reclaimable", "committed"]
    instance: InstanceShape


class PoolFile(Declared):
    """`pools/<region>/<aggregate>.yaml` as written."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["Pools"]
    region: Name
    hall: Name
    aggregate: Name
    domain: Name | None = None
    project: Name
    join_profile: Name
    notice_window: Seconds | None = None
    checkpoint_throughput: SomeBytes | None = None
    user_data_limit: Positive = 65_535
    hosts: HostShape
    attributes: Attributes
    maintenance: tuple[MaintenanceWindow, ...] = ()
    rows: tuple[PoolRow, ...] = Field(min_length=1, max_length=64)


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool, complete.

    `notice_window_s` is what the provider promises here; memory and disk in bytes; `user_data_limit` in bytes after
    base64; `checkpoint_throughput` is what one instance is sure to write to the object store, in bytes a second.
    """

    name: str
    region: str
    hall: str
    aggregate: str
    domain: str
    project: str
    join_profile: str
    flavor: str
    committed: bool
    notice_window_s: int
    user_data_limit: int
    hosts: HostShape
    attributes: Attributes
    instance: InstanceShape
    maintenance: tuple[MaintenanceWindow, ...] = ()
    checkpoint_throughput: int = CHECKPOINT_THROUGHPUT


def rows_of(
    declared: PoolFile, *, default_window_s: int, default_throughput: int = CHECKPOINT_THROUGHPUT
) -> tuple[Pool, ...]:
    """The flat rows of one file; the region's notice window and throughput hold where the file names none."""
    window = declared.notice_window if declared.notice_window is not None else default_window_s
    return tuple(
        Pool(
            name=row.name,
            region=declared.region,
            hall=declared.hall,
            aggregate=declared.aggregate,
            domain=declared.domain or declared.aggregate,
            project=declared.project,
            join_profile=declared.join_profile,
            flavor=row.flavor,
            committed=row.rate_class == "committed",
            notice_window_s=window,
            user_data_limit=declared.user_data_limit,
            hosts=declared.hosts,
            attributes=declared.attributes,
            instance=row.instance,
            maintenance=declared.maintenance,
            checkpoint_throughput=declared.checkpoint_throughput or default_throughput,
        )
        for row in declared.rows
    )
