"""Join profiles: how an instance becomes a node of its scheduler, as one reviewed file declares it.

A pool names one. It holds a cloud-init template for each scheduler that its instances can join, and the public
addresses and fingerprints that go into it; what fills the placeholders, and what a template may not hold, is
`repo_layout`'s.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from contracts.fields import Declared, Name, Prose

MAX_TEMPLATE = 60_000
"""Characters of a template: base64 makes 80,000 of them, more than any provider takes as user data."""

Endpoint = Annotated[
    str,
    Field(strict=True, pattern=r"^(https://)?([a-z0-9]([a-z0-9.-]{0,200}[a-z0-9])?|\[[0-9a-f:]{2,39}\]):[0-9]{1,5}$"),
]
"""Host and port, with `https://` where the client wants one; no user, no path."""

Fingerprint = Annotated[str, Field(strict=True, pattern=r"^sha256:[0-9a-f]{64}$")]
"""The SHA-256 of a public key (its SubjectPublicKeyInfo), as kubeadm writes it."""


class ClusterJoin(Declared):
    """Where one scheduler cluster answers, and the fingerprint by which a node knows it."""

    name: Name
    endpoint: Endpoint
    fingerprint: Fingerprint


class Enrolment(Declared):
    """Where a node of a region exchanges its single-use token for its credentials."""

    region: Name
    endpoint: Endpoint
    fingerprint: Fingerprint


class Join(Declared):
    """The template for one scheduler, and the clusters that it joins."""

    scheduler: Literal["kubernetes", "slurm"]
    clusters: tuple[ClusterJoin, ...] = Field(min_length=1, max_length=64)
    template: Annotated[str, Field(strict=True, min_length=1, max_length=MAX_TEMPLATE)]


class JoinProfileFile(Declared):
    """`join_profiles/<name>.yaml`."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["JoinProfile"]
    name: Name
    about: Prose | None = None
    enrolment: tuple[Enrolment, ...] = Field(min_length=1, max_length=64)
    joins: tuple[Join, ...] = Field(min_length=1, max_length=2)
