"""Who is admitted, written a second time in plain Python from docs/admission.md, and pods drawn to try it.

The properties hold the policies of the API server, and Kyverno's, against `refused`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from contracts.values import parse_quantity
from repo_layout.admission import CONTRACT_ANNOTATION, TAINT_KEY, WORKLOAD_LABEL, AdmissionView, Admitted
from tests.servers.admission_cases import DIGEST, LANDS, PAST_MS, tolerates

Pod = dict[str, Any]  # JSON as a server reads it


def refused(pod: Pod, namespace: str, view: AdmissionView) -> bool:
    """Whether this new pod is refused; `view` holds no bundle past its end."""
    spec, metadata = pod["spec"], pod["metadata"]
    label = metadata.get("labels", {}).get(WORKLOAD_LABEL, "")
    if not label:
        return _asks(spec, view.region)
    known = [one for one in view.table if one.workload == label]
    if not known or not _lands(spec, label) or spec.get("nodeName"):
        return True
    return not (_is_for(known[0], metadata, namespace) and _fits(known[0], spec))


def _asks(spec: Pod, region: str) -> bool:
    tolerates = any(
        one.get("key") == TAINT_KEY or (not one.get("key") and one.get("effect", "") in ("", "NoSchedule"))
        for one in spec.get("tolerations", [])
    )
    selects = WORKLOAD_LABEL in spec.get("nodeSelector", {})
    return tolerates or selects or spec.get("nodeName", "").startswith(f"eb-{region}-")


def _lands(spec: Pod, label: str) -> bool:
    tolerated = any(tolerates(one, label) for one in spec.get("tolerations", []))
    return tolerated and bool(spec.get("nodeSelector", {}).get(WORKLOAD_LABEL) == label)


def _is_for(one: Admitted, metadata: Pod, namespace: str) -> bool:
    labels = metadata.get("labels", {})
    seen = metadata.get("annotations", {}).get(CONTRACT_ANNOTATION, one.digest)
    return (
        one.namespace == namespace
        and all(labels.get(key) == value for key, value in one.selector.items())
        and seen == one.digest
        and one.expires_ms != PAST_MS
    )


def _fits(one: Admitted, spec: Pod) -> bool:
    containers, first = spec["containers"], spec.get("initContainers", [])
    for each in (*containers, *first):
        asked = each["resources"].get("requests", {})
        if not all(_amount(each, name) for name in ("cpu", "memory")) or parse_quantity(asked["memory"]).exact < 1024:
            return False
    aside = [each for each in first if each.get("restartPolicy") == "Always"]
    before = [each for each in first if each not in aside]
    return all(
        most
        >= sum((_amount(each, name) for each in aside), Fraction())
        + max(_sum(containers, name), *(_amount(each, name) for each in before), Fraction())
        for name, most in (("cpu", one.vcpu), ("memory", one.memory), ("nvidia.com/gpu", one.gpu))
    )


def _sum(containers: Sequence[Pod], name: str) -> Fraction:
    return sum((_amount(each, name) for each in containers), Fraction())


def _amount(container: Pod, name: str) -> Fraction:
    written = container["resources"].get("requests", {}).get(name)
    return Fraction() if written is None else parse_quantity(written).exact


# ------------------------------------------------------------------------------------------------------------- drawing

_WORKLOADS = ("nightly", "training", "ended", "odd-size", "moonlight")
_CPUS = ("100m", "0.3", "500m", "1", "1500m", "2", "3999m", "4", "4001m")
_MEMORY = ("512m", "0.001Mi", "129e6", "128974848", "1Gi", "1288490188800m", "1.5Gi", "4Gi", "8Gi", "8589934593")


@st.composite
def _containers(draw: st.DrawFn, name: str) -> Pod:
    requests = {"cpu": draw(st.sampled_from(_CPUS)), "memory": draw(st.sampled_from(_MEMORY))}
    if draw(st.integers(0, 9)) == 0:
        requests.pop(draw(st.sampled_from(("cpu", "memory"))))
    limits = {}
    if gpus := draw(st.sampled_from((0, 0, 0, 1, 2, 3))):
        requests["nvidia.com/gpu"] = limits["nvidia.com/gpu"] = str(gpus)
    return {"name": name, "image": "registry.example/work:1", "resources": {"requests": requests, "limits": limits}}


_TOLERATIONS: Sequence[Pod] = (
    {"key": TAINT_KEY, "operator": "Equal", "value": "nightly", "effect": "NoSchedule"},
    {"key": TAINT_KEY, "value": "moonlight"},
    {"operator": "Exists"},
    {"operator": "Exists", "effect": "NoExecute"},
    {"key": TAINT_KEY, "operator": "Exists"},
    {"key": TAINT_KEY, "operator": "Exists", "effect": "NoSchedule"},
    {"key": "dedicated", "operator": "Exists"},
)


@st.composite
def pods(draw: st.DrawFn) -> tuple[Pod, str]:
    """A pod and its namespace; about half of them name a workload and most of those carry what it needs."""
    workload = draw(st.sampled_from(("", "", *_WORKLOADS)))
    honest = draw(st.integers(0, 3)) > 0
    labels: dict[str, str] = {}
    spec: Pod = {"containers": [draw(_containers(f"c{n}")) for n in range(draw(st.sampled_from((1, 1, 2))))]}
    if first := [draw(_containers(f"i{n}")) for n in range(draw(st.sampled_from((0, 0, 1, 2))))]:
        spec["initContainers"] = [
            {**each, "restartPolicy": "Always"} if draw(st.booleans()) else each for each in first
        ]
    tolerations = draw(st.lists(st.sampled_from(_TOLERATIONS), max_size=2))
    selector = draw(st.sampled_from(({}, {}, {"zone": "a"}, {WORKLOAD_LABEL: "nightly"})))
    if workload:
        labels = {WORKLOAD_LABEL: workload, "app": workload, "team.example/part": "fit"}
        if honest:
            tolerations, selector = LANDS["tolerations"], {**selector, WORKLOAD_LABEL: workload}
        else:
            labels.pop(draw(st.sampled_from(("app", "team.example/part"))))
    if tolerations:
        spec["tolerations"] = tolerations
    if selector:
        spec["nodeSelector"] = selector
    if draw(st.integers(0, 9)) == 0:
        spec["nodeName"] = draw(st.sampled_from(("eb-aarhus-3-000017", "rack-7-node-3")))
    metadata: Pod = {"name": "drawn", "labels": labels}
    if draw(st.integers(0, 4)) == 0:
        metadata["annotations"] = {CONTRACT_ANNOTATION: draw(st.sampled_from((DIGEST, "ab" * 32)))}
    namespace = draw(st.sampled_from(("astro", "astro", "astro", "other")))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, namespace
