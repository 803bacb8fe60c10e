"""The Kyverno rendering, by Kyverno's own command: the same pods, without a cluster.

`kyverno apply` ends with 0 when it found no policy, and skips what it cannot read: so each result is asked for by name.
"""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from repo_layout.admission import WORKLOAD_LABEL
from repo_layout.admission_kubernetes import render
from tests.servers.admission_cases import PODS, Case, Json, pod, view
from tools.servers.control_plane import BINARIES

pytestmark = pytest.mark.interop
CREATED = "2026-01-01T00:00:00Z"
"""An API server sets it before it asks; the command takes the pod as it is written."""
Results = Mapping[str, Mapping[str, tuple[str, str]]]


def results_of(folder: Path, pods: list[Json]) -> Results:
    """What each policy said of each pod: result and message, by name of pod and of policy."""
    rendered = render(view())
    tables = [one for one in yaml.safe_load_all(rendered["table.yaml"]) if one["kind"] == "ConfigMap"]
    known = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Context", "metadata": {"name": "known"},
             "spec": {"resources": tables}}  # fmt: skip
    (folder / "policies.yaml").write_text(rendered["kyverno.yaml"], encoding="utf-8")
    (folder / "context.yaml").write_text(yaml.safe_dump(known), encoding="utf-8")
    (folder / "pods.yaml").write_text(yaml.safe_dump_all(pods), encoding="utf-8")
    files = ["apply", "policies.yaml", "--resource", "pods.yaml", "--context-file", "context.yaml"]
    command = [str(BINARIES / "kyverno"), *files, "--policy-report", "--output-format", "json"]
    said = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=300).stdout
    start = said.index('{"kind":"ClusterReport"')
    report, _ = json.JSONDecoder().raw_decode(said[start:])
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for one in report["results"]:
        for resource in one["resources"]:
            said_of = found.setdefault(resource["name"], {})
            said_of[one["policy"]] = (one["result"], one.get("description") or one.get("message", ""))
    return found


@pytest.fixture(name="results", scope="module")
def _results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    pods = []
    for number, case in enumerate(PODS):
        one = copy.deepcopy(case.pod)
        metadata = one["metadata"]
        assert isinstance(metadata, dict)
        metadata |= {"name": f"case-{number}", "namespace": case.namespace, "creationTimestamp": CREATED}
        pods.append(one)
    return results_of(tmp_path_factory.mktemp("kyverno"), pods)


@pytest.mark.parametrize(("number", "case"), list(enumerate(PODS)), ids=lambda value: getattr(value, "name", ""))
def test_the_command_says_of_each_pod_what_the_api_server_says(results: Results, number: int, case: Case) -> None:
    said = results[f"case-{number}"]
    metadata = case.pod["metadata"]
    assert isinstance(metadata, dict)
    labelled = WORKLOAD_LABEL in metadata["labels"]
    assert set(said) == ({"ebbtide-land", "ebbtide-ask", "ebbtide-contract"} if labelled else {"ebbtide-ask"})
    refusals = [message for result, message in said.values() if result not in {"pass", "skip"}]
    if case.refused:
        assert any(case.refused in message for message in refusals), said
    else:
        assert refusals == []
        assert all(result == "pass" for result, _ in said.values()) is labelled  # who asks for nothing is passed over


def test_the_command_lands_a_pod_before_it_judges_it(tmp_path: Path) -> None:
    bare = pod("nightly", name="bare", lands=False)
    bare["metadata"] |= {"namespace": "astro", "creationTimestamp": CREATED}  # type: ignore[operator]  # JSON
    assert {result for result, _ in results_of(tmp_path, [bare])["bare"].values()} == {"pass"}
