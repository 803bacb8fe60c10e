"""Pods and what has to become of them, told once: asked of the API server's own policies and of Kyverno alike.

`TABLE` is the view that both are rendered from. A case is refused with the words that it names, or admitted.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

from repo_layout.admission import CONTRACT_ANNOTATION, TAINT_KEY, WORKLOAD_LABEL, AdmissionView, Admitted

GIB = 1 << 30
VERSION = 7
FAR_MS = 4_102_444_800_000  # the year 2100
PAST_MS = 1_577_836_800_000  # the year 2020
DIGEST = "5e" * 32
Json = dict[str, object]


def contract(workload: str, **changes: object) -> Admitted:
    """One line of the table: four vCPU and 8 GiB in namespace `astro`, for pods labelled `app=<workload>`."""
    settings: dict[str, object] = {
        "workload": workload, "digest": DIGEST, "team": "astronomy", "tier": "staged", "restart": "requeue",
        "drain_budget_s": 60, "gang": 1, "maximum": 10, "vcpu": 4, "memory": 8 * GIB, "gpu": 0, "namespace": "astro",
        "selector": {"app": workload}, "expires_ms": 0,
    }  # fmt: skip
    return Admitted(**{**settings, **changes})  # type: ignore[arg-type]  # each test names fields of `Admitted`


def view(*, version: int = VERSION, expires_ms: int = FAR_MS, extra: tuple[Admitted, ...] = ()) -> AdmissionView:
    """The cluster of these tests."""
    table = (
        contract("nightly"),
        contract("training", gpu=2, selector={"app": "training", "team.example/part": "fit"}),
        contract("ended", expires_ms=PAST_MS),
        contract("odd-size", vcpu=1, memory=1_288_490_189),  # 1.2 GiB, rounded up to the byte
    )
    return AdmissionView("research-cloud", "aarhus", "k8s-a", "kubernetes", version, expires_ms, (*table, *extra))


@dataclass(frozen=True, slots=True)
class Case:
    """One pod; `refused` holds words of the refusal, none where it is admitted."""

    name: str
    pod: Json
    refused: str = ""
    namespace: str = "astro"
    extra: Json = field(default_factory=dict)


LANDS: dict[str, list[Json]] = {
    "tolerations": [{"key": TAINT_KEY, "operator": "Exists", "effect": "NoSchedule"}],
}


def requests(cpu: object = "1", memory: object = "1Gi", **more: object) -> Json:
    """The resources of a container that asks for so much."""
    asked = {"cpu": cpu, "memory": memory, **{name.replace("__", "/").replace("_", "."): n for name, n in more.items()}}
    limits = {name: amount for name, amount in asked.items() if "/" in name}
    resources: Json = {"requests": {name: amount for name, amount in asked.items() if amount is not None}}
    return {**resources, "limits": limits} if limits else resources


def container(name: str = "main", **resources: object) -> Json:
    """A container that asks for a vCPU and a GiB unless told otherwise."""
    return {"name": name, "image": "registry.example/work:1", "resources": requests(**resources)}


def pod(
    workload: str = "",
    *,
    name: str = "one",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    lands: bool = True,
    **spec: object,
) -> Json:
    """A pod of a workload, with the labels of its contract and what lands it on its instances unless told otherwise."""
    own = {WORKLOAD_LABEL: workload, "app": workload} if workload else {}
    placed: Json = {**copy.deepcopy(LANDS), "nodeSelector": {WORKLOAD_LABEL: workload}} if workload and lands else {}
    metadata: Json = {"name": name, "labels": {**own, **(labels or {})} if labels != {} else {}}
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container()], **placed, **spec},
    }


def tolerates(toleration: Mapping[str, object], workload: str) -> bool:
    """Whether it is of the taint `ebbtide/reclaimable=<workload>:NoSchedule`, as the scheduler reads it."""
    named = toleration.get("key", "") in ("", TAINT_KEY) and toleration.get("effect", "") in ("", "NoSchedule")
    return named and (toleration.get("operator") == "Exists" or toleration.get("value", "") == workload)


def landed(drawn: Json) -> Json:
    """The pod as the mutation leaves it: what is there already stays."""
    changed = copy.deepcopy(drawn)
    spec, metadata = changed["spec"], changed["metadata"]
    assert isinstance(spec, dict)
    assert isinstance(metadata, dict)
    if label := metadata["labels"].get(WORKLOAD_LABEL):
        spec["nodeSelector"] = {WORKLOAD_LABEL: label, **spec.get("nodeSelector", {})}
        if not any(tolerates(one, label) for one in spec.get("tolerations", [])):
            spec["tolerations"] = [*spec.get("tolerations", []), LANDS["tolerations"][0]]
    return changed


def templated(kind: str, template: Json, *, name: str = "many", replicas: int = 1) -> Json:
    """An object of this kind that makes pods from a template."""
    metadata = template["metadata"]
    assert isinstance(metadata, dict)
    bare = {"metadata": {key: value for key, value in metadata.items() if key != "name"}, "spec": template["spec"]}
    once = {"metadata": bare["metadata"], "spec": {**template["spec"], "restartPolicy": "Never"}}  # type: ignore[dict-item]  # a pod's spec is a mapping
    selector = {"matchLabels": {"app": metadata["labels"]["app"]}}
    specs: dict[str, tuple[str, Json]] = {
        "Deployment": ("apps/v1", {"replicas": replicas, "selector": selector, "template": bare}),
        "ReplicaSet": ("apps/v1", {"replicas": replicas, "selector": selector, "template": bare}),
        "StatefulSet": ("apps/v1", {"replicas": replicas, "selector": selector, "template": bare, "serviceName": "s"}),
        "DaemonSet": ("apps/v1", {"selector": selector, "template": bare}),
        "ReplicationController": ("v1", {"replicas": replicas, "selector": metadata["labels"], "template": bare}),
        "Job": ("batch/v1", {"backoffLimit": 0, "template": once}),
        "CronJob": ("batch/v1", {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": once}}}),
    }
    version, spec = specs[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "astro"}, "spec": spec}


def _selecting(operator: str, *, required: bool = True) -> Json:
    term = {"matchExpressions": [{"key": WORKLOAD_LABEL, "operator": operator, "values": ["nightly"]}]}
    if operator in ("Exists", "DoesNotExist"):
        term["matchExpressions"][0].pop("values")
    if required:
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    weighted = {"weight": 1, "preference": term}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}


_NO_LABEL = f"has no label {WORKLOAD_LABEL}"
_LINES = f"nodeSelector: {{{WORKLOAD_LABEL}: nightly}}"

ASKS = (
    Case("asks for nothing of ours", pod()),
    Case("tolerates another taint", pod(tolerations=[{"key": "dedicated", "operator": "Exists"}])),
    Case("tolerates every taint that throws out", pod(tolerations=[{"operator": "Exists", "effect": "NoExecute"}])),
    Case("tolerates our taint without a contract", pod(tolerations=[{"key": TAINT_KEY, "operator": "Exists"}]),
         f"tolerates the taint {TAINT_KEY} and {_NO_LABEL}"),
    Case("tolerates our taint with a value", pod(tolerations=[{"key": TAINT_KEY, "value": "yes"}]), _NO_LABEL),
    Case("tolerates every taint", pod(tolerations=[{"operator": "Exists"}]), f"tolerates every taint and {_NO_LABEL}"),
    Case("tolerates every taint that keeps out", pod(tolerations=[{"operator": "Exists", "effect": "NoSchedule"}]),
         "contracts/<team>/<workload>.yaml"),
    Case("selects our nodes", pod(nodeSelector={WORKLOAD_LABEL: "nightly"}), f"selects nodes by {WORKLOAD_LABEL}"),
    Case("carries our label without a name", pod(labels={WORKLOAD_LABEL: ""}, tolerations=[{"operator": "Exists"}]),
         _NO_LABEL),
    Case("selects other nodes", pod(nodeSelector={"zone": "a"})),
    Case("requires our nodes", pod(affinity=_selecting("In")), _NO_LABEL),
    Case("requires any of our nodes", pod(affinity=_selecting("Exists")), _NO_LABEL),
    Case("prefers our nodes", pod(affinity=_selecting("In", required=False)), _NO_LABEL),
    Case("keeps away from our nodes", pod(affinity=_selecting("DoesNotExist"))),
    Case("names one of our instances", pod(nodeName="eb-aarhus-3-000017"), "names the instance eb-aarhus-3-000017"),
    Case("names another node", pod(nodeName="rack-7-node-3")),
)  # fmt: skip

CONTRACTS = (
    Case("has an admitted contract", pod("nightly")),
    Case("has no contract of that name", pod("moonlight"), "no contract admits workload moonlight in namespace astro"),
    Case("says which file is missing", pod("moonlight"), "add contracts/<team>/moonlight.yaml to the estate"),
    Case("stands in another namespace", pod("nightly"), "is for namespace astro, not other", "other"),
    Case("lacks a label of the selector", pod("training"), "lacks team.example/part=fit"),
    Case("carries the whole selector", pod("training", labels={"team.example/part": "fit"})),
    Case("says the digest in force", pod("nightly", annotations={CONTRACT_ANNOTATION: DIGEST})),
    Case("was written for an altered contract", pod("nightly", annotations={CONTRACT_ANNOTATION: "ab" * 32}),
         "read contracts/astronomy/nightly.yaml again"),
    Case("has a contract that ended", pod("ended"), "the contract of workload ended ended at 2020-01-01T00:00:00.000Z"),
    Case("names a node by hand", pod("nightly", nodeName="eb-aarhus-3-000017"), "take nodeName out"),
    Case("selects the nodes of another workload", pod("nightly", nodeSelector={WORKLOAD_LABEL: "training"}), _LINES),
)  # fmt: skip

SIZES = (
    Case("is one unit exactly", pod("nightly", containers=[container(cpu="4", memory="8Gi")])),
    Case("asks for a thousandth too much", pod("nightly", containers=[container(cpu="4001m")]),
         "asks for cpu 4.001, and one unit of workload nightly has 4"),
    Case("asks for a byte too much", pod("nightly", containers=[container(memory=str(8 * GIB + 1))]),
         "asks for memory"),
    Case("is one unit in two containers",
         pod("nightly", containers=[container(cpu="1.5", memory="3Gi"), container("b", cpu="2500m", memory="5Gi")])),
    Case("is too large in two containers",
         pod("nightly", containers=[container(cpu="3"), container("b", cpu="1100m")]), "asks for cpu 4.1"),
    Case("prepares within one unit",
         pod("nightly", containers=[container(cpu="3")], initContainers=[container("prepare", cpu="4")])),
    Case("prepares with more than a unit",
         pod("nightly", containers=[container(cpu="3")], initContainers=[container("prepare", cpu="5")]), "cpu 5"),
    Case("has a companion beyond the unit",
         pod("nightly", containers=[container(cpu="3")],
             initContainers=[{**container("mesh", cpu="2"), "restartPolicy": "Always"}]), "asks for cpu 5"),
    Case("has a companion within the unit",
         pod("nightly", containers=[container(cpu="3")],
             initContainers=[{**container("mesh", cpu="1"), "restartPolicy": "Always"}])),
    Case("says half a byte of memory", pod("nightly", containers=[container(memory="512m")]), "did you mean Mi?"),
    Case("says nothing of its memory", pod("nightly", containers=[container(memory=None)]),
         "container main of workload nightly does not say how large it is"),
    Case("says nothing of its processors", pod("nightly", containers=[container(cpu=None)]), "resources.requests"),
    Case("says no memory at all", pod("nightly", containers=[container(memory="0")]), "less than 1Ki bytes"),
    Case("says its memory in thousandths", pod("odd-size", containers=[container(memory="1288490188800m")])),
    Case("says its memory with an exponent", pod("nightly", containers=[container(memory="129e6")])),
    Case("says its memory in plain bytes", pod("nightly", containers=[container(memory="128974848")])),
    Case("says more memory in thousandths than the unit", pod("odd-size", containers=[container(memory="1.5Gi")]),
         "asks for memory 1536Mi, and one unit of workload odd-size has 1228Mi"),
    Case("says its size as a whole",
         pod("nightly", containers=[container(cpu=None, memory=None)], resources=requests("2", "4Gi"))),
    Case("says a size as a whole that is too large",
         pod("nightly", containers=[container()], resources=requests("5", "4Gi")), "asks for cpu 5"),
    Case("takes a GPU that its unit has not", pod("nightly", containers=[container(nvidia_com__gpu="1")]),
         "asks for gpu 1, and one unit of workload nightly has 0"),
    Case("takes the GPUs of its unit",
         pod("training", labels={"team.example/part": "fit"}, containers=[container(nvidia_com__gpu="2")])),
    Case("takes slices of more GPUs than its unit has",
         pod("training", labels={"team.example/part": "fit"},
             containers=[container(**{"nvidia_com__mig-1g": "3"})]), "asks for gpu 3"),
)  # fmt: skip

PODS = (*ASKS, *CONTRACTS, *SIZES)
