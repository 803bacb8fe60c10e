"""A real API server with our admission on it, and the few things that tests do there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from repo_layout.admission import AdmissionView
from repo_layout.admission_kubernetes import render
from tests.servers.admission_cases import Json, pod
from tools.servers.control_plane import ControlPlane
from tools.servers.kubernetes_api import Answer, Api
from tools.servers.process import wait_until

SOON_S = 90.0  # on a machine that is busy with other things; what waits goes on as soon as it may
NAMESPACES = ("astro", "other")


@dataclass(frozen=True, slots=True)
class Cluster:
    """One administrator at one cluster."""

    plane: ControlPlane
    api: Api

    def namespaces(self, *names: str, labels: Mapping[str, str] | None = None) -> None:
        for name in names:
            self.made({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})

    def made(self, document: Mapping[str, object]) -> Answer:
        """Create it, and fail with the server's words where it was refused."""
        answer = self.asked(document)
        assert answer.accepted, answer.message
        return answer

    def asked(self, document: Mapping[str, object], *, dry: bool = False, as_user: str = "") -> Answer:
        """Create it, or only ask whether one might; `as_user` of no group."""
        path = path_in(document) + ("?dryRun=All" if dry else "")
        return self.api.post(path, document, as_user=as_user)

    def judged(self, document: Json, namespace: str = "astro") -> Answer:
        """Whether a pod might be created there; nothing is."""
        metadata = {**_mapping(document["metadata"]), "namespace": namespace}
        return self.asked({**document, "metadata": metadata}, dry=True)

    def install(self, view: AdmissionView, *, files: tuple[str, ...], enforce: bool = True) -> None:
        """Apply these files of the rendering, and wait until the server reads the table."""
        rendered = render(view, enforce=enforce)
        for name in files:
            for answer in self.api.apply(rendered[name]):
                assert answer.accepted, answer.message
        if enforce and "admission.yaml" in files:
            self.until_version(view.version)

    def table(self, view: AdmissionView) -> None:
        """Apply the table of a view alone, and wait until the server reads it."""
        self.install(view, files=("table.yaml",))
        self.until_version(view.version)

    def until_version(self, version: int) -> None:
        """Wait until a refusal names this version of the bundle."""
        probe = pod("nobody-s-work")
        self.until(lambda: f"bundle version {version}" in self.judged(probe).message)

    def until(self, true: Callable[[], bool], within_s: float = SOON_S) -> None:
        """Wait for it, and fail where it does not come."""
        assert wait_until(true, within_s=within_s), "did not come true in time"


def path_in(document: Mapping[str, object]) -> str:
    """Where an object of this kind is created; the namespace is `astro` unless it names another."""
    version, kind = str(document["apiVersion"]), str(document["kind"])
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    if kind == "Namespace":
        return f"{root}/namespaces"
    namespace = _mapping(document["metadata"]).get("namespace", "astro")
    return f"{root}/namespaces/{namespace}/{kind.lower()}s"


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value
