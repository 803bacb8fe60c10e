"""Rules about joining: every pool's instances can join what they serve, with user data that is whole, public and fits.

Called from the table in `repo_layout.feasibility`. How a template is filled in is `user_data`'s, what a secret looks
like `secret_patterns`'s; here they meet the estate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import yaml

from contracts.bundle import MAX_NODE_PAYLOAD, node_bytes
from contracts.findings import Finding
from contracts.model import Contract, Eligibility, Unit
from pools.eligibility import eligible
from pools.join_profiles import Join, JoinProfileFile
from pools.model import Pool
from repo_layout.known_names import at, unknown
from repo_layout.model import Estate
from repo_layout.payload import node_payload
from repo_layout.secret_patterns import secrets_in
from repo_layout.strict_yaml import LOADER
from repo_layout.user_data import (
    ENROLMENT_TOKEN,
    MAX_TOKEN,
    NEEDED,
    NODE_BUNDLE,
    PLACEHOLDERS,
    Size,
    filled,
    joining,
    largest,
    placeholders,
    too_large,
)

_FRAME = (yaml.StreamStartEvent, yaml.StreamEndEvent)
_SAMPLE_BUNDLE = '{"bundles":[{}],"format":1,"payload":""}'
_HEADS = ("#cloud-config\n", "#!")
_SMALL_COMMAND = 400
"""Bytes of command and selector below which no node payload comes near its limit; everything else in it is bounded."""


@dataclass(frozen=True, slots=True)
class Served:
    """One cluster's part of one aggregate: a row of it, and the work that may stand there, longest names first."""

    pool: Pool
    cluster: str
    contracts: tuple[Contract, ...]


def served(estate: Estate) -> Iterator[Served]:
    """Every aggregate with every cluster whose workloads may use one of its rows; the row with the longest name."""
    for region in estate.settings.regions:
        alike: dict[tuple[str, Eligibility, Unit, int], list[Contract]] = defaultdict(list)
        for contract in estate.contracts_of(region.name):
            alike[contract.cluster, contract.eligibility, contract.unit, contract.drain.budget].append(contract)
        work: dict[tuple[str, str], list[Contract]] = defaultdict(list)
        rows: dict[tuple[str, str], Pool] = {}
        for (cluster, *_), contracts in alike.items():
            may_use = [
                pool
                for pool in estate.pools_of(region.name)
                if eligible(contracts[0], pool, verification_margin_s=region.verification_margin)
            ]
            for pool in may_use:
                key = (pool.aggregate, cluster)
                rows[key] = max(rows.get(key, pool), pool, key=lambda row: (len(row.name), row.name))
            for key in {(pool.aggregate, cluster) for pool in may_use}:
                work[key].extend(contracts)
        for key in sorted(work):
            yield Served(rows[key], key[1], tuple(sorted(work[key], key=_longest_first)))


def _longest_first(contract: Contract) -> tuple[int, str]:
    partition = contract.runs_on.slurm.partition if contract.runs_on.slurm else ""
    return -len(contract.name) - len(partition), contract.name


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest user data of one aggregate and cluster, by the join profile of that name."""

    served: Served
    profile: str
    size: Size


def sizes(estate: Estate) -> Iterator[Largest]:
    """The largest user data of everything that is served and whose profile says how to join."""
    for one in served(estate):
        how = joining(estate, one.pool, one.cluster)
        if how is not None and not set(placeholders(how.join.template)) - set(PLACEHOLDERS):
            size = largest(estate, one.pool, how, contract=one.contracts[0])
            yield Largest(one, how.profile.name, size)


# ------------------------------------------------------------------------------------------------------------ the rules


def profiles_known(estate: Estate) -> Iterator[Finding]:
    """Every pool names a join profile that is declared."""
    told: set[tuple[str, str]] = set()
    for pool in estate.pools:
        if pool.join_profile not in estate.join_profile_by_name and (pool.region, pool.aggregate) not in told:
            told.add((pool.region, pool.aggregate))
            place = at(estate, f"aggregate/{pool.region}/{pool.aggregate}/joinProfile")
            yield unknown("EBT-230", place, "join profile", pool.join_profile, estate.join_profile_by_name)


def profiles_join(estate: Estate) -> Iterator[Finding]:
    """A profile joins every cluster whose work may stand on its pools; what it names there is."""
    for profile in estate.join_profiles:
        yield from _names(estate, profile)
    lacking: dict[tuple[str, str], list[Served]] = defaultdict(list)
    for one in served(estate):
        known = one.pool.join_profile in estate.join_profile_by_name
        if known and joining(estate, one.pool, one.cluster) is None:
            lacking[one.pool.join_profile, one.cluster].append(one)
    for (name, cluster), rows in sorted(lacking.items()):
        scheduler, region = _scheduler_of(estate, cluster), rows[0].pool.region
        joins = any(cluster == one.name for join in estate.join_profile_by_name[name].joins for one in join.clusters)
        lacks = f"enrolment of the region {region}" if joins else f"the {scheduler} cluster {cluster}"
        workloads = {contract.name for row in rows for contract in row.contracts}
        message = (
            f"{name} does not know {lacks}: {len(rows)} of its aggregates, such as {rows[0].pool.aggregate}, may serve "
            f"work of {cluster}, such as {min(workloads)} ({len(workloads)} in all)"
        )
        hint = "add it to the profile, or give the pools a profile that joins what they serve"
        key = f"join-profile/{name}/{'enrolment' if joins else 'joins'}"
        yield Finding(
            "EBT-231", at(estate, key), message, expected=f"{lacks}, with endpoint and fingerprint", hint=hint
        )


def templates_whole(estate: Estate) -> Iterator[Finding]:
    """A template has the placeholders that its scheduler needs, and none that nothing is filled in for."""
    for profile, n, join in _templates(estate):
        place = at(estate, f"join-profile/{profile.name}/joins/{n}/template")
        there = placeholders(join.template)
        for name in sorted(set(there) - set(PLACEHOLDERS)):
            yield unknown("EBT-232", place, "placeholder", f"@{name}@", [f"@{known}@" for known in PLACEHOLDERS])
        for name in sorted(NEEDED[join.scheduler] - set(there)):
            message = f"the {join.scheduler} template of {profile.name} lacks @{name}@: {PLACEHOLDERS[name]}"
            yield Finding("EBT-232", place, message, expected=f"@{name}@")
        lines = [line.strip() for line in join.template.split("\n") if f"@{NODE_BUNDLE}@" in line]
        if len(lines) > 1 or any(line != f"@{NODE_BUNDLE}@" for line in lines):
            message = f"@{NODE_BUNDLE}@ stands beside something else, or twice, in {profile.name}"
            hint = "give it one line of its own below `content: |`: it is one line of JSON with quotes in it"
            yield Finding("EBT-232", place, message, expected=f"one line that holds @{NODE_BUNDLE}@ alone", hint=hint)


def no_secret(code: str) -> Callable[[Estate], Iterator[Finding]]:
    """The rule that rendered user data holds no secret of one kind: anything on a node may read it."""
    return partial(_secrets, code)


def _secrets(code: str, estate: Estate) -> Iterator[Finding]:
    for profile, n, join in _templates(estate):
        text = _sample(estate, profile, join, token=f"@{ENROLMENT_TOKEN}@")
        for found in secrets_in(text, code):
            place = at(estate, f"join-profile/{profile.name}/joins/{n}/template")
            where = f"line {found.line} of the {join.scheduler} template of {profile.name}"
            behind = " behind base64" if found.encoded else ""
            hint = f"take it out and revoke it: secrets come by enrolment, in exchange for @{ENROLMENT_TOKEN}@"
            message = f"{where} holds {found.what}{behind}, and any process on the node reads user data"
            yield Finding(code, place, message, expected="public material only", hint=hint)


def user_data_fits(estate: Estate) -> Iterator[Finding]:
    """With the largest node bundle the user data of a pool is no longer than its provider takes: once an aggregate."""
    worst: dict[tuple[str, str], Largest] = {}
    for one in sizes(estate):
        key = (one.served.pool.region, one.served.pool.aggregate)
        if not one.size.fits and (key not in worst or one.size.raw > worst[key].size.raw):
            worst[key] = one
    for (region, aggregate), one in worst.items():
        place = at(estate, f"aggregate/{region}/{aggregate}/userDataLimit")
        message = too_large(one.served.pool, one.served.contracts[0].name, one.profile, one.size)
        hint = "shorten the template: what does not differ between instances belongs into the image"
        seen, expected = f"{one.size.encoded:,}", f"at most {one.size.limit:,}"
        yield Finding("EBT-237", place, message, seen, expected, hint)


def payloads_fit(estate: Estate) -> Iterator[Finding]:
    """A workload's node payload leaves room for its signatures in the node bundle."""
    for region in estate.settings.regions:
        pools = [pool for pool in estate.pools_of(region.name) if not pool.committed]
        for contract in estate.contracts_of(region.name):
            words = _words(contract)
            if sum(len(word.encode("utf-8", "replace")) + 3 for word in words) < _SMALL_COMMAND:
                continue
            size = len(node_bytes(node_payload(estate.settings.estate, region, contract, pools)))
            if size > MAX_NODE_PAYLOAD:
                what = "drain/command" if contract.drain.command else "runsOn"
                message = f"the node payload of {contract.name} has {size:,} bytes, more than {MAX_NODE_PAYLOAD:,}"
                hint = "keep a long command in the image and name it here"
                place = at(estate, f"contract/{contract.name}/{what}")
                yield Finding("EBT-238", place, message, f"{size:,}", f"at most {MAX_NODE_PAYLOAD:,}", hint)


def templates_readable(estate: Estate) -> Iterator[Finding]:
    """Rendered user data is cloud-config that reads as YAML, or a script."""
    for profile, n, join in _templates(estate):
        place = at(estate, f"join-profile/{profile.name}/joins/{n}/template")
        text, which = (
            _sample(estate, profile, join, token="t" * MAX_TOKEN),
            f"the {join.scheduler} template of {profile.name}",
        )
        if not text.startswith(_HEADS):
            seen = text.split("\n", 1)[0][:40]
            expected = '"#cloud-config" or "#!" and an interpreter'
            yield Finding("EBT-239", place, f"{which} starts like nothing that cloud-init runs", seen, expected)
        elif not text.startswith("#!") and (problem := _unreadable(text)):
            message = f"{which} is no cloud-config once it is filled in: {problem}"
            yield Finding("EBT-239", place, message, expected="a mapping in YAML")


# --------------------------------------------------------------------------------------------------------------- parts


def _names(estate: Estate, profile: JoinProfileFile) -> Iterator[Finding]:
    schedulers = {c.name: c.scheduler for region in estate.settings.regions for c in region.clusters}
    key = f"join-profile/{profile.name}"
    first: set[str] = set()
    for n, join in enumerate(profile.joins):
        if join.scheduler in first:
            message = f"{profile.name} has a template for {join.scheduler} already"
            place = at(estate, f"{key}/joins/{n}/scheduler")
            yield Finding("EBT-231", place, message, join.scheduler, "one template a scheduler")
        first.add(join.scheduler)
        for m, cluster in enumerate(join.clusters):
            if schedulers.get(cluster.name) != join.scheduler:
                fitting = [name for name, kind in schedulers.items() if kind == join.scheduler]
                place = at(estate, f"{key}/joins/{n}/clusters/{m}/name")
                yield unknown("EBT-231", place, f"{join.scheduler} cluster", cluster.name, fitting)
    regions = [region.name for region in estate.settings.regions]
    for n, enrolment in enumerate(profile.enrolment):
        if enrolment.region not in regions:
            yield unknown("EBT-231", at(estate, f"{key}/enrolment/{n}/region"), "region", enrolment.region, regions)


def _scheduler_of(estate: Estate, cluster: str) -> str:
    return next(c.scheduler for r in estate.settings.regions for c in r.clusters if c.name == cluster)


def _templates(estate: Estate) -> Iterator[tuple[JoinProfileFile, int, Join]]:
    for profile in estate.join_profiles:
        for n, join in enumerate(profile.joins):
            yield profile, n, join


def _sample(estate: Estate, profile: JoinProfileFile, join: Join, *, token: str) -> str:
    """The template with facts of some instance and an empty node bundle."""
    cluster, enrolment = join.clusters[0], profile.enrolment[0]
    facts: Mapping[str, str] = {
        **{name: name.lower().replace("_", "-") for name in placeholders(join.template)},
        "ESTATE": estate.settings.estate,
        "CLUSTER": cluster.name,
        "CLUSTER_ENDPOINT": cluster.endpoint,
        "CLUSTER_FINGERPRINT": cluster.fingerprint,
        "ENROLMENT_ENDPOINT": enrolment.endpoint,
        "ENROLMENT_FINGERPRINT": enrolment.fingerprint,
        ENROLMENT_TOKEN: token,
        NODE_BUNDLE: _SAMPLE_BUNDLE,
    }
    return filled(join.template, facts)


def _unreadable(text: str) -> str:
    """What keeps the text from being one mapping; empty when nothing does. Nothing is built, so nothing can expand."""
    try:
        events = [event for event in yaml.parse(text, Loader=LOADER) if not isinstance(event, _FRAME)]
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "it cannot be read"
        mark = getattr(error, "problem_mark", None)
        return f"{problem}, line {mark.line + 1} of the template" if mark else str(problem)
    documents = sum(isinstance(event, yaml.DocumentStartEvent) for event in events)
    if documents != 1:
        return f"it holds {documents} documents"
    return "" if isinstance(events[1], yaml.MappingStartEvent) else "it holds no mapping"


def _words(contract: Contract) -> tuple[str, ...]:
    kubernetes = contract.runs_on.kubernetes
    labels = [word for pair in kubernetes.selector.items() for word in pair] if kubernetes else []
    return (*contract.drain.command, *labels)
