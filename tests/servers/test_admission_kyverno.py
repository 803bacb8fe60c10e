"""Admission by Kyverno's own controller, called by a real API server as its webhook."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from repo_layout.admission import TAINT_KEY, WORKLOAD_LABEL
from repo_layout.admission_kubernetes import NAMESPACE, TABLE
from repo_layout.admission_policies import SYSTEM_NAMESPACES
from tests.servers import admission_twin
from tests.servers.admission_cases import PAST_MS, PODS, VERSION, Case, Json, landed, pod, templated, view
from tests.servers.admission_twin import pods
from tests.servers.cluster import NAMESPACES, Cluster
from tools.servers.control_plane import control_plane
from tools.servers.kyverno import kyverno
from tools.servers.process import Server

pytestmark = pytest.mark.interop
FILES = ("table.yaml", "kyverno.yaml")
TABLE_HERE = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{TABLE}"
PLAIN = pod()
UNLABELLED = pod(tolerations=[{"key": TAINT_KEY, "operator": "Exists"}])


@pytest.fixture(name="engine", scope="module")
def _engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Server]]:
    with control_plane(tmp_path_factory.mktemp("control-plane")) as plane, plane.api() as api, kyverno(plane) as engine:
        cluster = Cluster(plane, api)
        cluster.namespaces(*NAMESPACES)
        cluster.namespaces("monitoring", labels={"ebbtide/infrastructure": "true"})
        cluster.install(view(), files=FILES, enforce=True)
        cluster.until(lambda: all(_configured(cluster)))
        yield cluster, engine


@pytest.fixture(name="cluster")
def _cluster(engine: tuple[Cluster, Server]) -> Iterator[Cluster]:
    cluster, _ = engine
    yield cluster
    cluster.install(view(), files=("table.yaml",))


def _configured(cluster: Cluster) -> list[bool]:
    """Whether the engine carries out each of the refusals and the mutation, by trying."""
    small = templated("Deployment", pod("moonlight", lands=False))
    cron = templated("CronJob", pod("moonlight", lands=False))
    return [
        "no contract admits" in cluster.judged(pod("moonlight")).message,
        "has no label" in cluster.judged(UNLABELLED).message,
        "no contract admits" in cluster.asked(small, dry=True).message,
        "no contract admits" in cluster.asked(cron, dry=True).message,
        cluster.judged(pod("nightly", lands=False)).accepted,
    ]


@pytest.mark.parametrize("case", PODS, ids=lambda case: case.name)
def test_kyverno_admits_a_pod_or_says_what_the_api_server_would(cluster: Cluster, case: Case) -> None:
    answer = cluster.judged(case.pod, case.namespace)
    if case.refused:
        assert case.refused in answer.message
        assert "denied the request" in answer.message
    else:
        assert answer.accepted, answer.message


def test_kyverno_lands_a_pod_on_its_own_instances(cluster: Cluster) -> None:
    answer = cluster.judged(pod("nightly", lands=False, nodeSelector={"zone": "a"}))
    assert answer.field("spec", "nodeSelector") == {"zone": "a", WORKLOAD_LABEL: "nightly"}
    assert TAINT_KEY in str(answer.field("spec", "tolerations"))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=pods())
def test_kyverno_agrees_with_the_twin_that_the_api_servers_policies_are_held_to(
    cluster: Cluster, drawn: tuple[Json, str]
) -> None:
    drawn_pod, namespace = drawn
    answer = cluster.judged(drawn_pod, namespace)
    assert answer.accepted or "denied the request" in answer.message, answer.message
    assert answer.accepted is not admission_twin.refused(landed(drawn_pod), namespace, view()), answer.message


def test_kyverno_keeps_the_labels_of_an_admitted_pod(cluster: Cluster) -> None:
    cluster.made(pod("nightly", name="kept"))
    path = "/api/v1/namespaces/astro/pods/kept"
    moved = cluster.api.patch(path, {"metadata": {"labels": {WORKLOAD_LABEL: "training"}}})
    assert "stays as it was created (nightly)" in moved.message
    left = cluster.api.patch(path, {"metadata": {"labels": {"app": "elsewhere"}}})
    assert "belongs to workload nightly by its labels app=nightly" in left.message
    assert cluster.api.patch(path, {"metadata": {"labels": {"note": "fine"}}}).accepted
    larger = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]}}
    resized = cluster.api.patch(f"{path}/resize", larger, kind="application/strategic-merge-patch+json")
    assert "asks for cpu 5" in resized.message
    cluster.api.delete(path)


def test_kyverno_leaves_the_nodes_own_software_alone(cluster: Cluster) -> None:
    everywhere = pod(tolerations=[{"operator": "Exists"}])
    for namespace in (*SYSTEM_NAMESPACES, "monitoring"):
        assert cluster.judged(everywhere, namespace).accepted


def test_kyverno_judges_a_bundle_past_its_end_by_the_time_of_creation(cluster: Cluster) -> None:
    cluster.install(view(version=VERSION + 1, expires_ms=PAST_MS), files=("table.yaml",))
    cluster.until(lambda: not cluster.judged(pod("nightly")).accepted)
    assert f"the bundle of version {VERSION + 1}" in cluster.judged(pod("nightly")).message
    made = pod("nightly")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "0f", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]  # type: ignore[index]  # JSON
    assert cluster.judged(made).accepted


def test_without_its_table_kyverno_refuses_work_with_our_label_and_names_the_command(cluster: Cluster) -> None:
    cluster.api.delete(TABLE_HERE)
    cluster.until(lambda: not cluster.judged(pod("nightly")).accepted)
    assert f"ConfigMap {TABLE} in namespace {NAMESPACE}, is not there" in cluster.judged(pod("nightly")).message
    assert "run `ebbtide admission`" in cluster.judged(pod("nightly")).message
    assert cluster.judged(PLAIN).accepted
    assert "add contracts/<team>/<workload>.yaml" in cluster.judged(UNLABELLED).message
    assert cluster.asked(templated("Deployment", pod("moonlight", lands=False)), dry=True).accepted


def test_with_kyverno_down_work_of_ours_waits_and_nobody_else_notices(engine: tuple[Cluster, Server]) -> None:
    cluster, server = engine
    cluster.made(pod("nightly", name="running"))
    server.kill()  # the last test of this module: it does not come back
    path = "/api/v1/namespaces/astro/pods/running"
    assert "failed calling webhook" in cluster.judged(pod("nightly")).message
    assert "failed calling webhook" in cluster.judged(UNLABELLED).message
    assert cluster.judged(PLAIN).accepted
    assert cluster.judged(pod(tolerations=[{"operator": "Exists"}]), "monitoring").accepted
    assert cluster.api.patch(path, {"metadata": {"finalizers": None, "labels": {"note": "ends"}}}).accepted
    assert cluster.asked(templated("Deployment", pod("moonlight", lands=False)), dry=True).accepted
    assert cluster.api.delete(path).accepted
