"""What happens when the check itself is down: on a server of its own, because deleting policies leaves marks there.

Once the last policy with a ConfigMap as its parameter is gone, a running API server may find no new one for good: each
test puts back what it took away while others of them stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from repo_layout.admission import TAINT_KEY, WORKLOAD_LABEL
from repo_layout.admission_kubernetes import FOUND_BINDING, NAMESPACE, TABLE
from tests.servers.admission_cases import Json, pod, view
from tests.servers.cluster import NAMESPACES, Cluster
from tools.servers.control_plane import control_plane
from tools.servers.kubernetes_api import Answer

FILES = ("table.yaml", "land.yaml", "admission.yaml")
POLICIES = "/apis/admissionregistration.k8s.io/v1"
TABLE_HERE = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{TABLE}"
PLAIN = pod()
UNLABELLED = pod(tolerations=[{"key": TAINT_KEY, "operator": "Exists"}])
UNKNOWN = pod("moonlight")


@pytest.fixture(name="cluster", scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with control_plane(tmp_path_factory.mktemp("control-plane")) as plane, plane.api() as api:
        cluster = Cluster(plane, api)
        cluster.namespaces(*NAMESPACES)
        cluster.install(view(), files=FILES)
        cluster.until(lambda: cluster.judged(pod("nightly", lands=False)).accepted)
        yield cluster


@pytest.fixture(name="restored", autouse=True)
def _restored(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.install(view(), files=FILES)
    cluster.until(lambda: cluster.judged(pod("nightly", lands=False)).accepted)


def no_table(answer: Answer) -> bool:
    """Whether the server says that it found no table; the name of the binding tells what writes one."""
    return "no params found" in answer.message and FOUND_BINDING in answer.message


def deployment(template: Json) -> Mapping[str, object]:
    bare = {"metadata": template["metadata"], "spec": template["spec"]}
    selector = {"matchLabels": template["metadata"]["labels"]}  # type: ignore[index]  # JSON
    spec = {"replicas": 1, "selector": selector, "template": bare}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def test_without_its_table_work_with_our_label_waits_and_the_refusal_names_the_command(cluster: Cluster) -> None:
    cluster.api.delete(TABLE_HERE)
    cluster.until(lambda: no_table(cluster.judged(pod("nightly"))))
    answer = cluster.judged(pod("nightly"))
    assert answer.status == 422
    assert "written-by-ebbtide-admission" in answer.message
    cluster.table(view())
    assert cluster.judged(pod("nightly")).accepted


def test_without_its_table_a_pod_that_asks_for_nothing_of_ours_is_not_affected(cluster: Cluster) -> None:
    cluster.api.delete(TABLE_HERE)
    cluster.until(lambda: no_table(cluster.judged(pod("nightly"))))
    assert cluster.judged(PLAIN).accepted
    assert cluster.judged(pod(tolerations=[{"key": "dedicated", "operator": "Exists"}])).accepted


def test_without_its_table_a_pod_without_a_contract_is_still_told_the_file_and_the_command(cluster: Cluster) -> None:
    cluster.api.delete(TABLE_HERE)
    cluster.until(lambda: no_table(cluster.judged(pod("nightly"))))
    answer = cluster.judged(UNLABELLED)
    assert answer.status == 403
    assert "add contracts/<team>/<workload>.yaml" in answer.message
    assert "`ebbtide explain contract`" in answer.message


def test_without_its_table_templates_pass_and_their_pods_wait(cluster: Cluster) -> None:
    cluster.api.delete(TABLE_HERE)
    cluster.until(lambda: no_table(cluster.judged(pod("nightly"))))
    assert cluster.asked(deployment(pod("moonlight")), dry=True).accepted


def test_without_its_table_a_controller_still_lets_go_of_a_finished_pod(cluster: Cluster) -> None:
    finished = pod("nightly", name="finished")
    finished["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]  # type: ignore[index]  # JSON
    cluster.made(finished)
    cluster.api.delete(TABLE_HERE)
    cluster.until(lambda: no_table(cluster.judged(pod("nightly"))))
    path = "/api/v1/namespaces/astro/pods/finished"
    assert cluster.api.patch(path, {"metadata": {"labels": {"app": "elsewhere"}}}).accepted  # nobody can tell any more
    assert cluster.api.patch(path, {"metadata": {"finalizers": None}}).accepted
    cluster.api.delete(path)
    assert cluster.api.get(path).status == 404


def test_a_table_that_cannot_be_read_refuses_work_with_our_label_alone(cluster: Cluster) -> None:
    cluster.api.patch(TABLE_HERE, {"data": {"nightly": "namespace=astro"}})
    cluster.until(lambda: not cluster.judged(pod("nightly")).accepted)
    assert cluster.judged(pod("nightly")).status in (403, 422)
    assert cluster.judged(PLAIN).accepted


@pytest.mark.parametrize(
    "deleted",
    ["validatingadmissionpolicies/ebbtide-contract", f"validatingadmissionpolicybindings/{FOUND_BINDING}"],
)
def test_without_the_policy_of_contracts_or_its_binding_the_label_alone_opens_and_the_other_check_stands(
    cluster: Cluster, deleted: str
) -> None:
    assert not cluster.judged(UNKNOWN).accepted
    cluster.api.delete(f"{POLICIES}/{deleted}")
    cluster.until(lambda: cluster.judged(UNKNOWN).accepted)
    assert not cluster.judged(UNLABELLED).accepted
    assert cluster.judged(UNKNOWN).field("spec", "nodeSelector") == {WORKLOAD_LABEL: "moonlight"}  # no such instance


def test_without_the_policy_of_labels_a_toleration_opens_and_the_check_of_contracts_stands(cluster: Cluster) -> None:
    cluster.api.delete(f"{POLICIES}/validatingadmissionpolicies/ebbtide-ask")
    cluster.until(lambda: cluster.judged(UNLABELLED).accepted)
    assert not cluster.judged(UNKNOWN).accepted


def test_without_the_mutation_a_pod_is_told_the_lines_to_add(cluster: Cluster) -> None:
    cluster.api.delete(f"{POLICIES}/mutatingadmissionpolicies/ebbtide-land")
    cluster.until(lambda: not cluster.judged(pod("nightly", lands=False)).accepted)
    message = cluster.judged(pod("nightly", lands=False)).message
    assert f"nodeSelector: {{{WORKLOAD_LABEL}: nightly}}" in message
    assert f"tolerations: [{{key: {TAINT_KEY}, operator: Exists, effect: NoSchedule}}]" in message
    assert cluster.judged(pod("nightly")).accepted


def test_rolled_out_as_a_warning_it_refuses_nothing_and_says_the_same(cluster: Cluster) -> None:
    cluster.install(view(), files=FILES, enforce=False)
    cluster.until(lambda: cluster.judged(UNKNOWN).accepted)
    assert any("no contract admits workload moonlight" in warning for warning in cluster.judged(UNKNOWN).warnings)
    assert cluster.judged(PLAIN).warnings == ()
