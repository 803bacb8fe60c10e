"""Kyverno's admission controller as a process beside a real control plane, which calls it as its webhook.

Tests call `kyverno`; what it starts is `.tools/bin/kyverno-controller` (tools/kyverno.sh builds it). It registers its
webhooks itself, by address instead of by service, because no network of a cluster is here.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tools.servers.control_plane import BINARIES, ControlPlane
from tools.servers.kubernetes_api import Api
from tools.servers.process import Server, free_ports, start, wait_until

NAMESPACE = "kyverno"
CRDS = BINARIES.parent / "kyverno" / "crds"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
# Where Kyverno would call the outside or wait for its own Deployment, it is told not to.
FLAGS = (
    "--disableMetrics", "--controllerRuntimeMetricsAddress=0", "--admissionReports=false", "--enableReporting=",
    "--caSecretName=kyverno-ca", "--tlsSecretName=kyverno-tls", "--tlsKeyAlgorithm=ECDSA",
    "--leaderElectionRetryPeriod=1s",
    "--clientRateLimitQPS=500", "--clientRateLimitBurst=500", "--disableLogColor", "--v=2",
)  # fmt: skip

# What its Deployment would tell it about itself.
NAMES = {
    "KYVERNO_NAMESPACE": NAMESPACE, "KYVERNO_DEPLOYMENT": "kyverno", "KYVERNO_POD_NAME": "kyverno-0",
    "KYVERNO_SERVICEACCOUNT_NAME": "kyverno", "KYVERNO_SVC": "kyverno-svc", "KYVERNO_ROLE_NAME": "kyverno",
    "INIT_CONFIG": "kyverno", "METRICS_CONFIG": "kyverno-metrics",
}  # fmt: skip


@contextmanager
def kyverno(plane: ControlPlane, *, binaries: Path = BINARIES) -> Generator[Server]:
    """Define its kinds, start it, and return once its webhooks are registered.

    Raises `FileNotFoundError` without binary and `NotReadyError` with the end of its log.
    """
    if not (binaries / "kyverno-controller").exists():
        raise FileNotFoundError(f"no {binaries / 'kyverno-controller'}: run make .tools/bin/kyverno")
    (port,) = free_ports(1)
    with plane.api() as api:
        _prepare(api)
        command = [
            str(binaries / "kyverno-controller"), f"--kubeconfig={plane.kubeconfig}", f"--serverIP=127.0.0.1:{port}",
            "--webhookServerHost=127.0.0.1", f"--webhookServerPort={port}", f"--servicePort={port}", *FLAGS,
        ]  # fmt: skip
        server = start(
            "kyverno",
            command,
            log=plane.folder / "kyverno.log",
            ready=lambda: "kyverno-policy-validating-webhook-cfg" in api.get(WEBHOOKS).text and _answers(port),
            within_s=120.0,
            environment=NAMES,
        )
        with server:
            yield server


def _answers(port: int) -> bool:
    """Whether it has its certificate: it registers before that. A failed handshake is an `OSError`."""
    anybody = ssl.create_default_context()
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=5) as line, anybody.wrap_socket(line):
        return True


def _prepare(api: Api) -> None:
    for path in sorted(CRDS.rglob("*.yaml")):
        for answer in api.apply(path.read_text(encoding="utf-8")):
            if not answer.accepted:
                raise RuntimeError(f"{path.name}: {answer.message}")
    api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for name in ("kyverno", "kyverno-metrics"):
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}}
        api.post(f"/api/v1/namespaces/{NAMESPACE}/configmaps", settings)
    served = "/apis/policies.kyverno.io/v1/validatingpolicies"
    wait_until(lambda: api.get(served).accepted, within_s=60.0)
