"""Generated documents of every kind: whole ones that use every field, changed in a few places."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from repo_layout.layout import Kind

Step = str | int
CLOCK = "22:22 Europe/Berlin"
FINGERPRINT = "sha256:" + "0a" * 32

WHOLE: Mapping[Kind, tuple[dict[str, object], ...]] = {
    Kind.CONTRACT: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Contract",
            "name": "forecast",
            "team": "tides",
            "owner": "lead",
            "contact": "oncall",
            "tier": "anchored",
            "runsOn": {"kubernetes": {"cluster": "k", "namespace": "n", "selector": {"app": "forecast"}}},
            "unit": {"vcpu": 4, "memory": "16GiB", "gpu": 1, "localDisk": "20GiB"},
            "maximum": 40,
            "eligibility": {
                "architecture": "arm64",
                "gpuFamily": "l40s",
                "network": "100g",
                "memoryPerVcpu": "4GiB",
                "avoidHalls": ["h1", "h2"],
                "gang": {"size": 4, "within": "aggregate"},
            },
            "drain": {"budget": "1m30s", "how": "command", "command": ["stop", "--now"]},
            "checkpoint": {
                "mode": "both",
                "interval": "15m",
                "size": "1.5GiB",
                "bucket": "b",
                "key": "k",
                "startUp": "0s",
            },
            "restart": "from-checkpoint",
            "tolerance": 0.05,
            "floor": 4,
            "minimum": 8,
            "deadline": {"at": CLOCK, "work": 12},
            "fallback": {"allowed": True, "authority": "lead", "limitPerDay": "12.50 EUR", "approver": "head"},
            "expectedRun": "12h",
            "reason": "because",
        },
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Contract",
            "name": "a",
            "team": "b",
            "owner": "c",
            "contact": "d",
            "tier": "scavenger",
            "runsOn": {"slurm": {"cluster": "s", "partition": "p", "account": "a"}},
            "unit": {"vcpu": 1, "memory": "1B"},
            "maximum": 1,
            "restart": "never",
            "floor": 1,
            "deadline": {"after": "4h"},
            "checkpoint": {"mode": "none"},
            "fallback": {"allowed": False},
        },
    ),
    Kind.POOL: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Pools",
            "region": "north",
            "hall": "h1",
            "aggregate": "general",
            "domain": "general",
            "project": "p",
            "joinProfile": "j",
            "noticeWindow": "120s",
            "checkpointThroughput": "1.5GiB",
            "userDataLimit": 65535,
            "hosts": {"count": 4, "vcpu": 64, "memory": "256GiB", "gpu": 0, "localDisk": "1TiB"},
            "attributes": {"architecture": "x86_64", "gpuFamily": "h100", "network": "infiniband"},
            "maintenance": [{"start": CLOCK, "length": "1h"}],
            "rows": [
                {
                    "name": "r",
                    "flavor": "f",
                    "rateClass": "reclaimable",
                    "instance": {"vcpu": 4, "memory": "16GiB", "gpu": 0, "localDisk": "0B"},
                }
            ],
        },
    ),
    Kind.CORRELATION_GROUP: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "CorrelationGroup",
            "region": "north",
            "name": "hall-1",
            "fallsWith": "observed",
            "bounding": False,
            "members": ["a", "b"],
            "evidence": {"waves": 3, "first": "2026-01-31", "last": "2026-02-28", "note": ""},
        },
    ),
    Kind.SETTINGS: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Settings",
            "estate": "e",
            "currency": "EUR",
            "regions": [
                {
                    "name": "north",
                    "timeZone": "Europe/Oslo",
                    "halls": ["h1"],
                    "projects": ["p"],
                    "clusters": [{"name": "k", "scheduler": "kubernetes"}],
                    "noticeWindow": "120s",
                    "verificationMargin": "5s",
                    "joinTimeout": "10m",
                    "checkpointGateway": "10GiB",
                    "checkpointThroughput": "200MiB",
                    "guard": {"window": "10m", "releaseShare": 5, "releaseCount": 25, "callRate": 20},
                }
            ],
            "bounds": {"pools": 8, "poolShare": 15, "groupShare": 30, "boundingKinds": ["hall", "power"]},
            "movement": {"minimumLifetime": "1h", "horizon": "4h", "perCycleShare": 5},
            "gpuFactors": [{"family": "l40s", "ncu": 12}],
            "lostHourWeight": 30,
            "storageRatePerGibMonth": "0.018",
            "footprintPerDay": "46.00 EUR",
            "teams": [
                {"name": "t", "weight": 2, "ncuLimit": 100, "tiers": ["staged"], "spendCeilingPerDay": "1.00 EUR"}
            ],
            "pauses": [{"scope": "pool", "name": "r", "reason": "switches"}, {"scope": "estate", "reason": "audit"}],
        },
    ),
    Kind.DIRECTORY: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Directory",
            "entries": [
                {
                    "id": "lead",
                    "name": "A Lead",
                    "address": "lead@tides.example",
                    "kind": "person",
                    "deputies": ["other"],
                    "spendAuthorityPerDay": "40.00 EUR",
                    "validUntil": "2027-12-31",
                }
            ],
        },
    ),
    Kind.APPROVAL: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Approval",
            "subject": "forecast",
            "statement": "yes",
            "approver": "head",
            "requester": "lead",
            "granted": "2026-03-01",
            "expires": "2026-03-02",
            "commit": "0" * 40,
        },
    ),
    Kind.ADOPTION: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Adoption",
            "region": "north",
            "name": "old",
            "pool": "r",
            "workload": "forecast",
            "servers": ["5f0c6a52"],
        },
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Adoption",
            "region": "north",
            "name": "old",
            "pool": "r",
            "workload": "forecast",
            "selector": {"role": "forecast"},
        },
    ),
    Kind.WAIVER: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "Waiver",
            "region": "north",
            "class": "gpu-h100",
            "pools": 4,
            "poolShare": 30,
            "groupShare": 60,
            "reason": "four halls",
            "approver": "head",
            "expires": "2027-12-31",
        },
    ),
    Kind.HISTORY: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "History",
            "region": "north",
            "since": "2026-02-28",
            "until": "2026-03-01",
            "rows": [
                {"pool": "r", "exposureHours": 8, "interruptions": 2, "reclaims": 1},
                {"pool": "s", "exposureHours": 0, "interruptions": 0, "reclaims": 0},
            ],
        },
    ),
    Kind.JOIN_PROFILE: (
        {
            "apiVersion": "ebbtide/v1",
            "kind": "JoinProfile",
            "name": "kubeadm-join",
            "about": "two words",
            "enrolment": [{"region": "north", "endpoint": "https://enrol.example:443", "fingerprint": FINGERPRINT}],
            "joins": [
                {
                    "scheduler": "kubernetes",
                    "clusters": [{"name": "k", "endpoint": "[fd00::1]:6443", "fingerprint": FINGERPRINT}],
                    "template": "#cloud-config\n",
                }
            ],
        },
    ),
}

# Whether a zone exists only the database of zones knows; so zones here exist, or are no zone by their form.
SCALARS: tuple[object, ...] = (
    *("", " ", "a", "a-b", "-a", "a-", "A", "a_b", "a" * 63, "a" * 64, "ä", "a\n", "a b", "0", "x86_64"),
    *("0s", "90s", "59m", "1h", "1h30m", "1h0m0s", "1h60m", "1m60s", "01s", "1d", "90", "s", "1m30", "9999999s", "h"),
    *("0B", "1B", "1.5B", "1KiB", "1.4GiB", "0.0GiB", "0.000001KiB", "1.0000001GiB", "512m", "1Gi", "01GiB", "1GB"),
    *("0 EUR", "0.00 EUR", "12.50 EUR", "-1 EUR", "1.0000001 EUR", "1 eur", "1  EUR", "01 EUR", "1 EURO", "12.50"),
    *("2026-02-28", "2026-02-29", "2028-02-29", "2026-13-01", "0000-01-01", "2026-1-1", "2026-03-01", "9999-12-31"),
    *(CLOCK, "24:00 Europe/Berlin", "2:00 Europe/Berlin", "02:00", "02:00 UTC", "UTC", "Europe/Oslo", "Europe", "a/"),
    *("0.05", "1e3", ".5", "5.", "00.5", "0.0000000001", "999999999", "1000000000", "-1", "EUR", "eur", "f" * 40),
    *("anchored", "staged", "never", "requeue", "none", "both", "periodic", "on-notice", "command", "evict"),
    *("observed", "hall", "person", "estate", "pool", "slurm", "arm64", "25g", "any", "ebbtide/v1", "ebbtide/v2"),
    *(0, 1, 2, 4, 5, 8, 14, 16, 29, 31, 39, 40, 41, 100, 101, 10_000_000, 10_000_001, -1, 10**30, True, False),
    *(0.5, 1.0, -0.1, 1e9, "x" * 200, "x" * 201, "x" * 401),
    *(
        FINGERPRINT,
        FINGERPRINT.upper(),
        "api.example:6443",
        "https://a:1",
        "a:b@c:1",
        "http://a:1",
        "[::1]:1",
        "x" * 60_001,
    ),
    *("é" * 200, "é" * 201, "\u2028", "=", "null", "true"),
)


def paths(value: object, path: tuple[Step, ...] = ()) -> list[tuple[Step, ...]]:
    """The path of every value in a document, but for the root."""
    below: list[tuple[Step, ...]] = []
    if isinstance(value, dict):
        below = [p for name, item in value.items() for p in paths(item, (*path, name))]
    elif isinstance(value, list):
        below = [p for at, item in enumerate(value) for p in paths(item, (*path, at))]
    return [path, *below] if path else below


def emptied(whole: dict[str, object], path: tuple[Step, ...]) -> list[dict[str, object]]:
    """The document with one value taken away, and with a list, a mapping and a text of nothing in its place."""
    changed: list[dict[str, object]] = []
    nothing: tuple[object, ...] = (None, [], {}, "")
    for instead in nothing:
        document = copy.deepcopy(whole)
        holder = _holder(document, path)
        if isinstance(holder, dict):
            holder[str(path[-1])] = instead
            if instead is None:
                del holder[str(path[-1])]
        elif isinstance(holder, list):
            holder[int(path[-1]) : int(path[-1]) + 1] = [] if instead is None else [instead]
        changed.append(document)
    return changed


def _holder(document: object, path: tuple[Step, ...]) -> object:
    for step in path[:-1]:
        document = document[step]  # type: ignore[index]  # paths come from the document itself
    return document


_values = st.one_of(
    st.sampled_from(SCALARS),
    st.sampled_from(SCALARS),
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.from_regex(r"\A[0-9]{0,3}(h|m|s|B|KiB|GiB|%| EUR|\.[0-9])\Z"),
    st.integers(-2, 60),
    st.sampled_from(([], {}, [1], ["a"], {"a": "b"}, [[]], {"size": 1})).map(copy.deepcopy),
)


@st.composite
def documents(draw: Callable[..., object]) -> tuple[Kind, dict[str, object]]:
    """A document of some kind with up to three changes: a value replaced, a field dropped, added or listed twice."""
    kind = draw(st.sampled_from(sorted(WHOLE, key=lambda k: k.value)))
    assert isinstance(kind, Kind)
    whole = draw(st.sampled_from(WHOLE[kind]))
    assert isinstance(whole, dict)
    document: dict[str, object] = copy.deepcopy(whole)
    for _ in range(int(str(draw(st.integers(0, 3))))):
        there = paths(document)
        if not there:
            break
        path: tuple[Step, ...] = draw(st.sampled_from(there))  # type: ignore[assignment]  # drawn from the list
        holder = _holder(document, path)
        change = draw(st.sampled_from(["replace", "replace", "replace", "drop", "add"]))
        if isinstance(holder, dict):
            name = str(path[-1])
            if change == "drop":
                del holder[name]
            elif change == "add":
                holder[str(draw(st.sampled_from(["flor", "spec", "a b", "x-y", "_need", "#Contract"])))] = draw(_values)
            else:
                holder[name] = draw(_values)
        elif isinstance(holder, list):
            at = int(path[-1])
            if change == "drop":
                del holder[at]
            elif change == "add":
                holder.append(copy.deepcopy(holder[at]))
            else:
                holder[at] = draw(_values)
    return kind, document
