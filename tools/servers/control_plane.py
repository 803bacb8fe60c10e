"""A real Kubernetes control plane on loopback: etcd and the API server, and the controller manager when asked.

Tests and benchmarks call `control_plane`; what it starts is `.tools/bin/kubernetes` (tools/kubernetes.sh builds it). No
kubelet runs: pods are objects that controllers make and nobody starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from tools.servers.certificates import Authority, key_pair
from tools.servers.kubernetes_api import Api, Connection
from tools.servers.process import Server, free_ports, listens, start

BINARIES = Path(__file__).parents[2] / ".tools" / "bin"
ADMIN_TOKEN = "admin-of-a-server-that-dies-with-its-test"  # noqa: S105 - opens a server on loopback for minutes
CONTROLLER_TOKEN = "controllers-of-the-same-server"  # noqa: S105 - the same
CONTROLLERS = (
    "clusterrole-aggregation-controller", "cronjob-controller", "daemonset-controller", "deployment-controller",
    "disruption-controller", "garbage-collector-controller", "job-controller", "namespace-controller",
    "replicaset-controller", "statefulset-controller", "validatingadmissionpolicy-status-controller",
)  # fmt: skip


@dataclass(slots=True)
class ControlPlane:
    """A running control plane; `servers` by the name of their part, `connection` for an administrator."""

    folder: Path
    connection: Connection
    servers: dict[str, Server]

    def api(self) -> Api:
        """A client of its own connection, with every right."""
        return Api(self.connection)

    @property
    def kubeconfig(self) -> Path:
        """What kubectl and Kyverno read."""
        return self.folder / "admin.kubeconfig"


@contextmanager
def control_plane(
    folder: Path, *, controllers: bool = False, gates: Sequence[str] = (), binaries: Path = BINARIES
) -> Generator[ControlPlane]:
    """Start it below `folder` and end it with the block; the logs stay there.

    Raises `NotReadyError` with the end of a log when a part does not come up, and `FileNotFoundError` without binary.
    """
    if not (binaries / "kube-apiserver").exists():
        raise FileNotFoundError(f"no {binaries / 'kube-apiserver'}: run make .tools/bin/kubernetes")
    authority = Authority.new()
    certificate, key = authority.certify(folder / "pki", "kube-apiserver", "127.0.0.1", "localhost")
    clients, peers, secure, managed = free_ports(4)
    with ExitStack() as running:
        servers = {"etcd": running.enter_context(_etcd(binaries, folder, clients, peers))}
        connection = Connection("127.0.0.1", secure, authority.file(folder / "pki"), ADMIN_TOKEN)
        asking = running.enter_context(Api(connection))
        command = [*_api_server_flags(folder, certificate, key, clients, secure)]
        if gates:
            command.append(f"--feature-gates={','.join(gates)}")
        servers["kube-apiserver"] = running.enter_context(
            start(
                "kube-apiserver",
                [binaries / "kube-apiserver", *command],
                log=folder / "kube-apiserver.log",
                ready=lambda: asking.get("/readyz").status == 200,
                within_s=90.0,
            )
        )
        _write_kubeconfig(folder / "admin.kubeconfig", connection, ADMIN_TOKEN)
        if controllers:
            _write_kubeconfig(folder / "controllers.kubeconfig", connection, CONTROLLER_TOKEN)
            servers["kube-controller-manager"] = running.enter_context(_controllers(binaries, folder, managed))
        yield ControlPlane(folder, connection, servers)


def _etcd(binaries: Path, folder: Path, clients: int, peers: int) -> Server:
    def healthy() -> bool:
        with closing(HTTPConnection("127.0.0.1", clients, timeout=2)) as connection:
            connection.request("GET", "/health")
            return b"true" in connection.getresponse().read()

    at, peer = f"http://127.0.0.1:{clients}", f"http://127.0.0.1:{peers}"
    command: list[str | Path] = [
        binaries / "etcd", "--name=one", f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn",
        f"--listen-client-urls={at}", f"--advertise-client-urls={at}", f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=one={peer}",
    ]  # fmt: skip
    return start("etcd", command, log=folder / "etcd.log", ready=healthy, within_s=60.0)


def _api_server_flags(folder: Path, certificate: Path, key: Path, etcd: int, port: int) -> list[str]:
    tokens = folder / "tokens.csv"
    tokens.write_text(
        f'{ADMIN_TOKEN},admin,1,"system:masters"\n'
        f'{CONTROLLER_TOKEN},system:kube-controller-manager,2,"system:masters"\n',
        encoding="utf-8",
    )
    signing = key_pair(folder / "pki" / "service-accounts.key")
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}",
        "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}", f"--token-auth-file={tokens}", "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={signing}",
        f"--service-account-signing-key-file={signing}", "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true", "--profiling=false", "--v=0",
    ]  # fmt: skip


def _controllers(binaries: Path, folder: Path, port: int) -> Server:
    command: list[str | Path] = [
        binaries / "kube-controller-manager", f"--kubeconfig={folder / 'controllers.kubeconfig'}",
        f"--controllers={','.join(CONTROLLERS)}", "--use-service-account-credentials=false", "--leader-elect=false",
        "--bind-address=127.0.0.1", f"--secure-port={port}", "--kube-api-qps=500", "--kube-api-burst=1000",
        "--concurrent-deployment-syncs=5", "--v=0",
    ]  # fmt: skip
    name = "kube-controller-manager"
    return start(name, command, log=folder / f"{name}.log", ready=lambda: listens(port), within_s=60.0)


def _write_kubeconfig(path: Path, connection: Connection, token: str) -> None:
    """JSON is YAML: what every client of Kubernetes reads."""
    server = f"https://{connection.host}:{connection.port}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": server, "certificate-authority": str(connection.authority)}}],
        "users": [{"name": "it", "user": {"token": token}}],
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump(document, out)
