"""Admission by the API server's own policies, on a real API server with real controllers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from ebbtide.estate import estate_of
from repo_layout.admission import TAINT_KEY, WORKLOAD_LABEL
from repo_layout.admission import view as view_of
from repo_layout.admission_kubernetes import NAMESPACE, TABLE, line, render
from repo_layout.admission_policies import SYSTEM_NAMESPACES
from repo_layout.model import Estate
from tests.servers import admission_twin
from tests.servers.admission_cases import (
    LANDS,
    PAST_MS,
    PODS,
    VERSION,
    Case,
    Json,
    container,
    contract,
    landed,
    pod,
    requests,
    templated,
    view,
)
from tests.servers.admission_twin import pods
from tests.servers.cluster import NAMESPACES, Cluster
from tools.servers.control_plane import BINARIES, control_plane
from tools.servers.kubernetes_api import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Answer

FILES = ("table.yaml", "land.yaml", "admission.yaml")
PODS_HERE = "/api/v1/namespaces/astro/pods"


@pytest.fixture(name="cluster", scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with control_plane(tmp_path_factory.mktemp("control-plane"), controllers=True) as plane, plane.api() as api:
        cluster = Cluster(plane, api)
        cluster.namespaces(*NAMESPACES)
        cluster.namespaces("monitoring", labels={"ebbtide/infrastructure": "true"})
        cluster.install(view(), files=FILES)
        cluster.until(lambda: cluster.judged(pod("nightly", lands=False)).accepted)
        yield cluster


KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob")


def refused(answer: Answer, words: str) -> None:
    assert answer.status in (403, 422), (answer.status, answer.text[:400])
    assert words in answer.message, answer.message


def pods_of(cluster: Cluster, owner: str) -> list[Json]:
    """What the controller of `owner` made: it names its pods after it. Those of an owner before may still be ending."""
    items = cluster.api.get(PODS_HERE).field("items")
    assert isinstance(items, list)
    return [one for one in items if one["metadata"]["name"].startswith(f"{owner}-")]


# -------------------------------------------------------------------------------------------------------------- pods


@pytest.mark.parametrize("case", PODS, ids=lambda case: case.name)
def test_a_pod_is_admitted_or_told_what_is_missing(cluster: Cluster, case: Case) -> None:
    answer = cluster.judged(case.pod, case.namespace)
    if case.refused:
        refused(answer, case.refused)
    else:
        assert answer.accepted, answer.message


def test_a_pod_that_names_its_workload_lands_on_its_own_instances(cluster: Cluster) -> None:
    answer = cluster.judged(pod("nightly", lands=False, tolerations=[{"key": "dedicated", "operator": "Exists"}]))
    assert answer.accepted, answer.message
    assert answer.field("spec", "nodeSelector") == {WORKLOAD_LABEL: "nightly"}
    tolerated = answer.field("spec", "tolerations")
    assert isinstance(tolerated, list)
    assert {"key": TAINT_KEY, "operator": "Exists", "effect": "NoSchedule"} in tolerated
    assert {"key": "dedicated", "operator": "Exists"} in tolerated


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": TAINT_KEY, "operator": "Equal", "value": "training", "effect": "NoSchedule"},
        {"key": TAINT_KEY, "operator": "Exists", "effect": "NoExecute"},
        {"key": TAINT_KEY, "operator": "Equal", "value": "nightly", "effect": "NoSchedule"},
    ],
)
def test_a_toleration_of_another_taint_with_our_key_is_none_of_ours(cluster: Cluster, toleration: Json) -> None:
    tolerated = cluster.judged(pod("nightly", lands=False, tolerations=[toleration])).field("spec", "tolerations")
    assert isinstance(tolerated, list)
    assert (LANDS["tolerations"][0] in tolerated) is (toleration.get("value") != "nightly")


def test_a_pod_keeps_its_own_selector_beside_the_one_that_it_is_given(cluster: Cluster) -> None:
    answer = cluster.judged(pod("nightly", lands=False, nodeSelector={"zone": "a"}))
    assert answer.field("spec", "nodeSelector") == {"zone": "a", WORKLOAD_LABEL: "nightly"}


def test_no_expression_contradicts_the_kinds_that_it_is_asked_about(cluster: Cluster) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

    def checked() -> list[object]:
        items = cluster.api.get(path).field("items")
        assert isinstance(items, list)
        return [item.get("status", {}).get("typeChecking") for item in items]

    cluster.until(lambda: all(one is not None for one in checked()))
    assert checked() == [{}] * 5


@settings(max_examples=150)
@given(drawn=pods())
def test_the_policies_agree_with_the_twin_on_drawn_pods(cluster: Cluster, drawn: tuple[Json, str]) -> None:
    drawn_pod, namespace = drawn
    answer = cluster.judged(drawn_pod, namespace)
    assert answer.accepted or "ValidatingAdmissionPolicy" in answer.message, answer.message
    assert answer.accepted is not admission_twin.refused(landed(drawn_pod), namespace, view()), answer.message


def test_the_reference_estate_is_taken_and_one_unit_of_each_of_its_contracts_admitted(
    cluster: Cluster, reference: Estate
) -> None:
    digests = dict.fromkeys(reference.contract_by_name, "00" * 32)
    names = [one.name for region in reference.settings.regions for one in region.clusters]
    views = [view_of(reference, name, version=9, expires_ms=0, digests=digests) for name in names]
    on_kubernetes = [one for one in views if one.scheduler == "kubernetes"]
    assert len(on_kubernetes) >= 3
    for one in on_kubernetes:
        for text in render(one).values() if one is on_kubernetes[0] else (render(one)["table.yaml"],):
            answers = cluster.api.apply(text, dry=True) if "policies.kyverno.io" not in text else []
            assert [answer.message for answer in answers if not answer.accepted] == []
    seen = on_kubernetes[0]
    for namespace in sorted({one.namespace for one in seen.table}):
        cluster.namespaces(namespace)
    cluster.table(seen)
    for entry in seen.table:
        resources = requests(cpu=str(entry.vcpu), memory=str(entry.memory), nvidia_com__gpu=str(entry.gpu))
        whole = pod(entry.workload, labels=dict(entry.selector), containers=[{**container(), "resources": resources}])
        answer = cluster.judged(whole, entry.namespace)
        assert answer.accepted, answer.message
    cluster.table(view())


def test_a_table_of_thousands_is_applied_as_the_document_says(cluster: Cluster, tmp_path: Path) -> None:
    many = tuple(contract(f"workload-{number}") for number in range(4_500))
    rendered = render(view(version=VERSION + 4, extra=many))
    for name in FILES:
        (tmp_path / name).write_text(rendered[name], encoding="utf-8")
    words = ["apply", "--server-side", "--force-conflicts", *(f"-f={tmp_path / name}" for name in FILES)]
    applied = subprocess.run([*kubectl(cluster), *words], check=False, capture_output=True, text=True)
    assert applied.returncode == 0, applied.stderr
    cluster.until_version(VERSION + 4)
    assert cluster.judged(pod("workload-4499")).accepted
    cluster.table(view())


def kubectl(cluster: Cluster) -> list[str]:
    return [str(BINARIES / "kubectl"), "--kubeconfig", str(cluster.plane.kubeconfig)]


@pytest.fixture(name="reference", scope="module")
def _reference() -> Estate:
    return estate_of(None)[0]


# ---------------------------------------------------------------------------------------------------------- templates


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_is_refused_early_with_the_words_that_its_pods_would_get(cluster: Cluster, kind: str) -> None:
    unknown = cluster.asked(templated(kind, pod("moonlight", lands=False)), dry=True)
    refused(unknown, "no contract admits workload moonlight in namespace astro: add contracts/<team>/moonlight.yaml")
    unlabelled = pod(labels={"app": "x"}, tolerations=[{"operator": "Exists"}])
    refused(cluster.asked(templated(kind, unlabelled), dry=True), "this template tolerates every taint")
    large = pod("nightly", lands=False, containers=[container(cpu="5")])
    refused(cluster.asked(templated(kind, large), dry=True), "this template asks for cpu 5")


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_with_a_contract_or_without_our_capacity_is_admitted(cluster: Cluster, kind: str) -> None:
    for template in (pod("nightly", lands=False), pod(labels={"app": "x"})):
        answer = cluster.asked(templated(kind, template), dry=True)
        assert answer.accepted, answer.message


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
def test_pods_that_a_controller_makes_are_admitted_and_land(cluster: Cluster, kind: str) -> None:
    name = f"made-{kind.lower()}"
    cluster.made(templated(kind, pod("nightly", lands=False), name=name))
    cluster.until(lambda: bool(pods_of(cluster, name)))
    first = pods_of(cluster, name)[0]
    assert first["spec"]["nodeSelector"] == {WORKLOAD_LABEL: "nightly"}  # type: ignore[index]  # JSON
    plural = f"{kind.lower()}s"
    group = "batch" if kind == "Job" else "apps"
    cluster.api.delete(f"/apis/{group}/v1/namespaces/astro/{plural}/{name}?propagationPolicy=Background")
    cluster.until(lambda: _emptied(cluster, name))


def _emptied(cluster: Cluster, owner: str) -> bool:
    """End what is left: no kubelet runs here that would."""
    left = pods_of(cluster, owner)
    for one in left:
        cluster.api.delete(f"{PODS_HERE}/{one['metadata']['name']}")  # type: ignore[index]  # JSON
    return not left


def test_a_refusal_of_a_controllers_pod_stands_in_the_deployments_condition(cluster: Cluster) -> None:
    silent = pod("nightly", lands=False, containers=[container(cpu=None, memory=None)])
    cluster.made(templated("Deployment", silent, name="silent"))
    path = "/apis/apps/v1/namespaces/astro/deployments/silent"

    def told() -> bool:
        conditions = cluster.api.get(path).field("status", "conditions")
        failed = [one for one in conditions if one["type"] == "ReplicaFailure"] if isinstance(conditions, list) else []
        return any("does not say how large it is" in one["message"] for one in failed)

    cluster.until(told)
    cluster.api.delete(path)


def test_a_deployments_template_cannot_be_changed_to_what_is_not_admitted(cluster: Cluster) -> None:
    cluster.made(templated("Deployment", pod("nightly", lands=False), name="patched", replicas=0))
    path = "/apis/apps/v1/namespaces/astro/deployments/patched"
    large = {"spec": {"template": {"spec": {"containers": [container(cpu="64")]}}}}
    refused(cluster.api.patch(path, large), "this template asks for cpu 64")
    elsewhere = {"spec": {"template": {"metadata": {"labels": {WORKLOAD_LABEL: "training"}}}}}
    refused(cluster.api.patch(path, elsewhere), "the contract of workload training is for pods labelled")
    assert cluster.api.patch(path, {"metadata": {"labels": {"note": "fine"}}}).accepted
    cluster.api.delete(path)


def test_scaling_is_not_refused_because_the_reconciler_lends_at_most_the_maximum(cluster: Cluster) -> None:
    cluster.made(templated("Deployment", pod("nightly", lands=False), name="scaled", replicas=0))
    scale = ["scale", "deployment/scaled", "--replicas=12", "--namespace=astro"]
    subprocess.run([*kubectl(cluster), *scale], check=True, capture_output=True)
    cluster.until(lambda: len(pods_of(cluster, "scaled")) == 12)
    cluster.api.delete("/apis/apps/v1/namespaces/astro/deployments/scaled?propagationPolicy=Background")
    cluster.until(lambda: _emptied(cluster, "scaled"))


# --------------------------------------------------------------------------------------------- changed after admission


@pytest.fixture(name="admitted")
def _admitted(cluster: Cluster) -> Iterator[str]:
    """The path of a pod that was admitted."""
    cluster.made(pod("nightly", name="changed"))
    path = f"{PODS_HERE}/changed"
    yield path
    cluster.api.delete(path)


def labels(**changes: str | None) -> Json:
    return {"metadata": {"labels": {name.replace("__", "/"): value for name, value in changes.items()}}}


def test_an_admitted_pod_cannot_be_given_to_another_workload(cluster: Cluster, admitted: str) -> None:
    refused(cluster.api.patch(admitted, labels(ebbtide__workload="training")), "stays as it was created (nightly)")
    refused(cluster.api.patch(admitted, labels(ebbtide__workload=None)), "stays as it was created (nightly)")


def test_an_admitted_pod_cannot_leave_the_selector_of_its_contract(cluster: Cluster, admitted: str) -> None:
    refused(cluster.api.patch(admitted, labels(app="elsewhere")), "belongs to workload nightly by its labels app=night")
    assert cluster.api.patch(admitted, labels(note="fine")).accepted


def test_a_pod_without_a_contract_cannot_be_given_one_or_our_taint_later(cluster: Cluster) -> None:
    cluster.made(pod(name="plain"))
    path = f"{PODS_HERE}/plain"
    refused(cluster.api.patch(path, labels(ebbtide__workload="nightly", app="nightly")), "as it was created (absent)")
    toleration = {"op": "add", "path": "/spec/tolerations/-", "value": {"key": TAINT_KEY, "operator": "Exists"}}
    refused(cluster.api.patch(path, [toleration], kind=JSON_PATCH), f"tolerates the taint {TAINT_KEY}")
    assert cluster.api.patch(path, labels(note="fine")).accepted
    cluster.api.delete(path)


def test_an_admitted_pod_cannot_be_resized_beyond_its_unit(cluster: Cluster, admitted: str) -> None:
    larger = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]}}
    kind = "application/strategic-merge-patch+json"
    refused(cluster.api.patch(f"{admitted}/resize", larger, kind=kind), "asks for cpu 5")
    within = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
    assert cluster.api.patch(f"{admitted}/resize", within, kind=kind).accepted


def test_a_container_for_looking_in_needs_no_contract_of_its_own(cluster: Cluster, admitted: str) -> None:
    look = {"spec": {"ephemeralContainers": [{"name": "look", "image": "registry.example/shell:1"}]}}
    kind = "application/strategic-merge-patch+json"
    assert cluster.api.patch(f"{admitted}/ephemeralcontainers", look, kind=kind).accepted


# --------------------------------------------------------------------------------------------------------- ways around


def test_the_nodes_own_software_is_not_asked_for_a_contract(cluster: Cluster) -> None:
    everywhere = pod(tolerations=[{"operator": "Exists"}])
    for namespace in (*SYSTEM_NAMESPACES, "monitoring"):
        assert cluster.judged(everywhere, namespace).accepted


def test_a_mirror_pod_of_a_node_is_taken_and_nobody_elses(cluster: Cluster) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "eb-aarhus-3-000017"}}
    uid = cluster.api.post("/api/v1/nodes", node).field("metadata", "uid")
    mirror = pod(nodeName="eb-aarhus-3-000017", tolerations=[{"operator": "Exists"}])
    mirror["metadata"] = {
        "name": "static-eb-aarhus-3-000017",
        "namespace": "astro",
        "annotations": {"kubernetes.io/config.mirror": "0f"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "eb-aarhus-3-000017", "uid": uid, "controller": True}
        ],
    }
    node_user, group = "system:node:eb-aarhus-3-000017", ("system:nodes",)

    def taken() -> bool:  # once the server's own list of nodes knows it
        return cluster.api.post(f"{PODS_HERE}?dryRun=All", mirror, as_user=node_user, groups=group).accepted

    cluster.until(taken)
    refused(cluster.asked(mirror, dry=True), f"has no label {WORKLOAD_LABEL}")


def test_binding_and_relabelling_by_status_take_rights_that_editors_have_not(cluster: Cluster) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}
    cluster.made({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "roleRef": role,
                  "metadata": {"name": "edit", "namespace": "astro"}, "subjects": [subject]})  # fmt: skip
    cluster.until(lambda: cluster.asked(pod(name="by-ann"), as_user="ann").accepted)
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "by-ann"},
               "target": {"kind": "Node", "name": "eb-aarhus-3-000017"}}  # fmt: skip
    by_editor = cluster.api.post(f"{PODS_HERE}/by-ann/binding", binding, as_user="ann")
    refused(by_editor, 'cannot create resource "pods/binding"')
    by_status = cluster.api.request(
        "PATCH", f"{PODS_HERE}/by-ann/status", labels(ebbtide__workload="nightly"), content=MERGE_PATCH, as_user="ann"
    )
    refused(by_status, 'cannot patch resource "pods/status"')
    assert cluster.api.post(f"{PODS_HERE}/by-ann/binding", binding).accepted  # an administrator may, and answers for it
    cluster.api.delete(f"{PODS_HERE}/by-ann")


# ------------------------------------------------------------------------------------------------------ at their end


def test_a_bundle_past_its_end_stops_what_is_new_and_replaces_what_was_there(cluster: Cluster) -> None:
    cluster.made(templated("Deployment", pod("nightly", lands=False), name="lasting", replicas=1))
    cluster.until(lambda: len(pods_of(cluster, "lasting")) == 1)
    path = "/apis/apps/v1/namespaces/astro/deployments/lasting"
    try:
        cluster.table(view(version=VERSION + 1, expires_ms=PAST_MS))
        refused(
            cluster.judged(pod("nightly")), f"the bundle of version {VERSION + 1} that admits workload nightly ended"
        )
        refused(cluster.asked(templated("Job", pod("nightly", lands=False)), dry=True), "nothing new starts on it")
        before = {one["metadata"]["name"] for one in pods_of(cluster, "lasting")}  # type: ignore[index]  # JSON
        for name in before:
            cluster.api.delete(f"{PODS_HERE}/{name}")
        cluster.until(lambda: {one["metadata"]["name"] for one in pods_of(cluster, "lasting")} - before != set())  # type: ignore[index]  # JSON
        assert cluster.api.patch(path, {"spec": {"replicas": 0}}).accepted
    finally:
        cluster.table(view(version=VERSION))
        cluster.api.delete(path)
        cluster.until(lambda: _emptied(cluster, "lasting"))


def test_a_line_that_an_older_table_left_behind_admits_nobody(cluster: Cluster) -> None:
    table = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TABLE, "namespace": NAMESPACE}}
    left = {**table, "data": {"left": line(contract("left"), VERSION - 1)}}
    other = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{TABLE}?fieldManager=another-pipeline&force=true"
    assert cluster.api.request("PATCH", other, left, content=APPLY_PATCH).accepted
    cluster.table(view(version=VERSION + 3))
    cluster.table(view())
    assert cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{TABLE}").field("data", "left") is not None
    refused(cluster.judged(pod("left")), "no contract admits workload left")


def test_a_workload_whose_contract_went_can_still_be_scaled_down(cluster: Cluster) -> None:
    cluster.made(templated("Deployment", pod("nightly", lands=False), name="leaving", replicas=0))
    path = "/apis/apps/v1/namespaces/astro/deployments/leaving"
    gone = view(version=VERSION + 2)
    table = tuple(one for one in gone.table if one.workload != "nightly")
    try:
        cluster.table(type(gone)(gone.estate, gone.region, gone.cluster, gone.scheduler, gone.version, 0, table))
        assert cluster.api.patch(path, {"spec": {"replicas": 0}, "metadata": {"labels": {"note": "ends"}}}).accepted
        changed = {"spec": {"template": {"metadata": {"labels": {"note": "grows"}}}}}
        refused(cluster.api.patch(path, changed), "no contract admits workload nightly")
    finally:
        cluster.table(view())
        cluster.api.delete(path)
