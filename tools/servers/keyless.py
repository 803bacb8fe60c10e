"""A private keyless site on loopback: an authority that certifies signers, a CT log, a timestamp authority, a log.

Tests call `site`. What it starts is Fulcio, TesseraCT, the timestamp authority and Rekor, which `tools/keyless.sh`
builds; the issuer of identities is `tools.servers.identity`. What a signer and a verifier have to be given,
`signing_config.json` and `trusted_root.json`, is written by cosign, as an organisation would. It needs no network.
"""

from __future__ import annotations

import http.client
import os
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.servers.identity import AUDIENCE, Issuer, issuer
from tools.servers.keyless_papers import Papers
from tools.servers.process import NotReadyError, Server, free_ports, listens, start

BINARIES = Path(__file__).parents[2] / ".tools" / "bin"
NEEDED = ("cosign", "fulcio", "rekor-server", "tesseract", "timestamp-server")
SINCE = "2026-01-01T00:00:00Z"
HERE = "127.0.0.1"
CT_ORIGIN = "ct.harbour.example"
STAMP_PATH = "/api/v1/timestamp"
METRICS_PORT = 2112
"""The timestamp authority's metrics; it takes no other, so that one site runs on a machine at a time."""


@dataclass(frozen=True)
class Site:
    """What runs, and the two documents that it is used with."""

    folder: Path
    issuer: Issuer
    papers: Papers
    servers: tuple[Server, ...]

    @property
    def signing_config(self) -> Path:
        """Where a signer finds everybody."""
        return self.folder / "signing_config.json"

    @property
    def trusted_root(self) -> Path:
        """What a verifier believes."""
        return self.folder / "trusted_root.json"


@dataclass(frozen=True)
class _Ports:
    authority: int
    authority_grpc: int
    authority_metrics: int
    certificates: int
    stamps: int
    log: int
    log_grpc: int
    log_metrics: int


@contextmanager
def site(folder: Path, *, logs_certificates: bool = True, binaries: Path = BINARIES) -> Generator[Site]:
    """Start all of it in `folder`, and end all of it; without `logs_certificates` the authority does not enter what it
    issues into the CT log. Raises `FileNotFoundError` and `NotReadyError`.
    """
    for name in NEEDED:
        if not (binaries / name).exists():
            raise FileNotFoundError(f"no {binaries / name}: make test-interop builds it")
    if listens(METRICS_PORT):
        raise NotReadyError(f"somebody listens on port {METRICS_PORT}, which the timestamp authority cannot do without")
    ports = _Ports(*free_ports(8))
    papers = Papers.written(folder / "keys")
    with ExitStack() as running:
        who = running.enter_context(issuer())
        servers = (
            running.enter_context(_certificate_log(folder, papers, ports, binaries)),
            running.enter_context(_authority(folder, papers, ports, binaries, who, log=logs_certificates)),
            running.enter_context(_stamps(folder, papers, ports, binaries)),
            running.enter_context(_log(folder, papers, ports, binaries)),
        )
        made = Site(folder, who, papers, servers)
        _documents(made, ports, binaries)
        yield made


def _answers(port: int, path: str, host: str = HERE) -> bool:
    line = http.client.HTTPConnection(HERE, port, timeout=2)
    try:
        line.request("GET", path, headers={"Host": host})
        return line.getresponse().status == http.HTTPStatus.OK
    except http.client.HTTPException:
        return False
    finally:
        line.close()


def _certificate_log(folder: Path, papers: Papers, ports: _Ports, binaries: Path) -> Server:
    command = [
        str(binaries / "tesseract"), f"--http_endpoint={HERE}:{ports.certificates}", f"--origin={CT_ORIGIN}",
        f"--private_key={papers.key('certificates')}", f"--roots_pem_file={papers.chain('authority')}",
        f"--storage_dir={folder / 'certificates'}", "--checkpoint_interval=100ms", "--batch_max_age=10ms",
    ]  # fmt: skip
    (folder / "certificates").mkdir()
    # It would send its metrics to a collector, and wait for one when it ends.
    quiet = {"OTEL_METRIC_EXPORT_INTERVAL": "86400000", "OTEL_EXPORTER_OTLP_TIMEOUT": "100"}
    return start(
        "CT log", command, log=folder / "certificates.log", environment=quiet,
        ready=lambda: _answers(ports.certificates, "/ct/v1/get-roots", CT_ORIGIN),
    )  # fmt: skip


def _authority(folder: Path, papers: Papers, ports: _Ports, binaries: Path, who: Issuer, *, log: bool) -> Server:
    logged = (
        f"--ct-log-url=http://{HERE}:{ports.certificates}", f"--ct-log-origin={CT_ORIGIN}",
        f"--ct-log-public-key-path={papers.public('certificates')}",
    )  # fmt: skip
    config = folder / "authority.yaml"
    config.write_text(
        f"oidc-issuers:\n  {who.url}:\n    issuer-url: {who.url}\n    client-id: {AUDIENCE}\n    type: email\n",
        encoding="utf-8",
    )
    command = [
        str(binaries / "fulcio"), "serve", f"--config-path={config}", "--ca=fileca", "--fileca-watch=false",
        f"--fileca-cert={papers.chain('authority')}", f"--fileca-key={papers.key('authority')}", "--fileca-key-passwd=",
        *(logged if log else ("--ct-log-url=",)),
        f"--host={HERE}", f"--port={ports.authority}", f"--grpc-host={HERE}", f"--grpc-port={ports.authority_grpc}",
        f"--metrics-port={ports.authority_metrics}", f"--legacy-unix-domain-socket=@ebbtide-{os.getpid()}",
    ]  # fmt: skip
    return start("fulcio", command, log=folder / "authority.log", ready=lambda: _answers(ports.authority, "/healthz"))


def _stamps(folder: Path, papers: Papers, ports: _Ports, binaries: Path) -> Server:
    command = [
        str(binaries / "timestamp-server"), "serve",
        f"--host={HERE}", f"--port={ports.stamps}", "--timestamp-signer=file",
        f"--file-signer-key-path={papers.key('stamps')}", "--file-signer-passwd=",
        f"--certificate-chain-path={papers.chain('stamps')}", "--disable-ntp-monitoring", "--cleanup-timeout=1s",
    ]  # fmt: skip
    return start(
        "timestamp authority", command, log=folder / "stamps.log", ready=lambda: _answers(ports.stamps, "/ping")
    )


def _log(folder: Path, papers: Papers, ports: _Ports, binaries: Path) -> Server:
    command = [
        str(binaries / "rekor-server"), "serve", f"--http-address={HERE}", f"--http-port={ports.log}",
        f"--grpc-address={HERE}", f"--grpc-port={ports.log_grpc}", f"--http-metrics-port={ports.log_metrics}",
        f"--hostname={HERE}", f"--storage-dir={folder / 'log'}", f"--signer-filepath={papers.key('log')}",
        "--checkpoint-interval=100ms", "--batch-max-age=10ms", "--tlog-timeout=2s",
    ]  # fmt: skip
    return start("rekor", command, log=folder / "log.log", ready=lambda: _answers(ports.log, "/healthz"))


def _documents(made: Site, ports: _Ports, binaries: Path) -> None:
    """What cosign makes of addresses, keys and certificates. The log's origin is the host of its address alone."""
    papers, cosign = made.papers, binaries / "cosign"
    authority, stamps, log = (f"http://{HERE}:{port}" for port in (ports.authority, ports.stamps, ports.log))
    about = f"start-time={SINCE},operator=harbour"
    commands = (
        [
            "signing-config", "create", f"--fulcio=url={authority},api-version=1,{about}",
            f"--rekor=url={log},api-version=2,{about}", "--rekor-config=ANY",
            f"--tsa=url={stamps}{STAMP_PATH},api-version=1,{about}", "--tsa-config=ANY",
            f"--oidc-provider=url={made.issuer.url},api-version=1,{about}", "--out", str(made.signing_config),
        ],
        [
            "trusted-root", "create",
            f"--fulcio=url={authority},certificate-chain={papers.chain('authority')},start-time={SINCE}",
            f"--ctfe=url=http://{HERE}:{ports.certificates},public-key={papers.public('certificates')},start-time={SINCE}",
            f"--tsa=url={stamps}{STAMP_PATH},certificate-chain={papers.chain('stamps')},start-time={SINCE}",
            f"--rekor=url={log},public-key={papers.public('log')},start-time={SINCE},origin={HERE}",
            "--out", str(made.trusted_root),
        ],
    )  # fmt: skip
    for words in commands:
        subprocess.run([cosign, *words], check=True, capture_output=True, env={"HOME": str(made.folder)}, timeout=60)
