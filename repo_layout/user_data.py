"""User data: a join profile's template with an instance's facts filled in, and whether it fits its pool.

The compiler asks for the largest that a pool may be given; the reconciler renders the real one when it acquires. Pure.
It must not know how a provider takes user data, nor what a template may hold beside placeholders.

A placeholder is an upper-case name between at signs, such as `@NODE_BUNDLE@`: nothing that cloud-init, YAML, a shell or
a template language reads looks like it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from contracts.bundle import MAX_NODE_BUNDLE
from contracts.errors import Refused
from contracts.model import Contract
from pools.join_profiles import ClusterJoin, Enrolment, Join, JoinProfileFile
from pools.model import Pool
from repo_layout.admission import TAINT_EFFECT, TAINT_KEY, WORKLOAD_LABEL
from repo_layout.admission_slurm import features_of
from repo_layout.model import Estate

NODE_BUNDLE: Final = "NODE_BUNDLE"
ENROLMENT_TOKEN: Final = "ENROLMENT_TOKEN"  # noqa: S105 - the name of a placeholder
PLACEHOLDERS: Final[Mapping[str, str]] = {
    NODE_BUNDLE: "the signed node bundle, one line of JSON",
    "INSTANCE_NAME": "the instance's own name, given before it exists",
    ENROLMENT_TOKEN: "the single-use token that is exchanged for credentials and worthless after it",
    "ESTATE": "the estate's id",
    "REGION": "the region's name",
    "POOL": "the pool's name",
    "WORKLOAD": "the workload that the instance serves",
    "TAINT": "key, value and effect of the taint with which the node registers",
    "LABEL": "the label, or on Slurm the features, by which the workload finds its instances",
    "CLUSTER": "the scheduler cluster to join",
    "CLUSTER_ENDPOINT": "where that cluster answers",
    "CLUSTER_FINGERPRINT": "the fingerprint by which the node knows it",
    "ENROLMENT_ENDPOINT": "where the region's nodes enrol",
    "ENROLMENT_FINGERPRINT": "the fingerprint by which the node knows it",
}
"""Every placeholder, and what is filled in."""

NEEDED: Final[Mapping[str, frozenset[str]]] = {
    "kubernetes": frozenset({NODE_BUNDLE, "INSTANCE_NAME", "TAINT", "LABEL"}),
    "slurm": frozenset({NODE_BUNDLE, "INSTANCE_NAME", "LABEL"}),
}
"""What a template of a scheduler cannot do without: a node that lacks one is nobody's, or takes anybody's work."""

MAX_INSTANCE_NAME: Final = 63
"""A host name's label."""
MAX_TOKEN: Final = 64
"""Characters of an enrolment token: 256 random bits in hexadecimal."""

_PLACEHOLDER = re.compile(r"@([A-Z][A-Z0-9_]*)@")
_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_INSTANCE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Size:
    """User data in bytes: raw, and as the provider counts it; `bundle` is the node bundle's part of the raw ones."""

    raw: int
    bundle: int
    limit: int

    @property
    def encoded(self) -> int:
        """Bytes of base64, padding included."""
        return 4 * -(-self.raw // 3)

    @property
    def fits(self) -> bool:
        """Whether the provider takes it."""
        return self.encoded <= self.limit


@dataclass(frozen=True, slots=True)
class Joining:
    """One pool's way into one cluster: the template and the public facts that go into it."""

    profile: JoinProfileFile
    join: Join
    cluster: ClusterJoin
    enrolment: Enrolment


def joining(estate: Estate, pool: Pool, cluster: str) -> Joining | None:
    """How instances of a pool join a cluster; None where its profile does not say."""
    profile = estate.join_profile_by_name.get(pool.join_profile)
    if profile is None:
        return None
    enrolment = next((one for one in profile.enrolment if one.region == pool.region), None)
    for join in profile.joins:
        for one in join.clusters:
            if one.name == cluster and enrolment is not None:
                return Joining(profile, join, one, enrolment)
    return None


def user_data(
    estate: Estate, pool: Pool, contract: Contract, *, instance: str, node_bundle: bytes, token: str
) -> bytes:
    """What an instance of `pool` is booted with to serve `contract`.

    `node_bundle` is the file that CI published for the workload, `token` the single-use enrolment token. Raises
    `Refused` where the profile does not join the contract's cluster, for a token or a name that is none, and for more
    than the pool takes.
    """
    how = joining(estate, pool, contract.cluster)
    if how is None:
        raise Refused(
            f"{pool.name} does not join {contract.cluster}: the join profile {pool.join_profile} does not say how"
        )
    if not _INSTANCE.fullmatch(instance) or not _TOKEN.fullmatch(token):
        raise Refused(f"an instance of {pool.name} has no proper name, or an enrolment token that is none")
    if len(node_bundle) > MAX_NODE_BUNDLE or not node_bundle.isascii() or b"\n" in node_bundle:
        raise Refused(f"the node bundle of {contract.name} is no line of at most {MAX_NODE_BUNDLE:,} ASCII bytes")
    facts = facts_of(estate, pool, how, contract=contract, instance=instance, token=token)
    raw = filled(how.join.template, {**facts, NODE_BUNDLE: node_bundle.decode("ascii")}).encode("utf-8")
    size = Size(len(raw), len(node_bundle), pool.user_data_limit)
    if not size.fits:
        raise Refused(too_large(pool, contract.name, how.profile.name, size))
    return raw


def largest(estate: Estate, pool: Pool, how: Joining, *, contract: Contract) -> Size:
    """The most that user data of a pool can come to for a workload: with a node bundle of the largest size that any
    number of signatures may give it, and the longest instance name and token.
    """
    facts = facts_of(
        estate, pool, how, contract=contract, instance="x" * MAX_INSTANCE_NAME, token="x" * MAX_TOKEN
    )  # fmt: skip
    text = filled(how.join.template, {**facts, NODE_BUNDLE: ""})
    bundle = MAX_NODE_BUNDLE * how.join.template.count(f"@{NODE_BUNDLE}@")
    return Size(len(text.encode("utf-8")) + bundle, bundle, pool.user_data_limit)


def too_large(pool: Pool, workload: str, profile: str, size: Size) -> str:
    """Both sizes, the pool's name, and what they are made of."""
    return (
        f"user data of {pool.name} comes to {size.encoded:,} bytes in base64, and the pool takes {size.limit:,}: "
        f"{size.raw - size.bundle:,} bytes of the join profile {profile} for {workload} and up to {size.bundle:,} of "
        f"node bundle"
    )


def facts_of(
    estate: Estate, pool: Pool, how: Joining, *, contract: Contract, instance: str, token: str
) -> Mapping[str, str]:
    """What fills the placeholders, but for the node bundle."""
    workload, slurm = contract.name, contract.runs_on.slurm
    return {
        "INSTANCE_NAME": instance,
        ENROLMENT_TOKEN: token,
        "ESTATE": estate.settings.estate,
        "REGION": pool.region,
        "POOL": pool.name,
        "WORKLOAD": workload,
        "TAINT": f"{TAINT_KEY}={workload}:{TAINT_EFFECT}",
        "LABEL": ",".join(features_of(workload, slurm.partition)) if slurm else f"{WORKLOAD_LABEL}={workload}",
        "CLUSTER": how.cluster.name,
        "CLUSTER_ENDPOINT": how.cluster.endpoint,
        "CLUSTER_FINGERPRINT": how.cluster.fingerprint,
        "ENROLMENT_ENDPOINT": how.enrolment.endpoint,
        "ENROLMENT_FINGERPRINT": how.enrolment.fingerprint,
    }


def placeholders(template: str) -> list[str]:
    """The placeholders of a template, in the order in which they stand there."""
    return _PLACEHOLDER.findall(template)


def filled(template: str, facts: Mapping[str, str]) -> str:
    """The template with every placeholder filled in, once: nothing that is filled in is looked at again.

    Raises `Refused` for a placeholder that there is not.
    """

    def fact(found: re.Match[str]) -> str:
        if found[1] not in facts:
            raise Refused(f"nothing is filled in for the placeholder {found[0]}")
        return facts[found[1]]

    return _PLACEHOLDER.sub(fact, template)
