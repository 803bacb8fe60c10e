"""`ebbtide admission`: what one scheduler cluster applies so that only contracts enter, from a signed bundle."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from contracts.untrusted import Untrusted
from contracts.verify import Late
from ebbtide.advice import Advice, unknown
from ebbtide.render_trust import refusal_document, refusal_text
from ebbtide.taken import held_at
from ebbtide.terminal import Terminal
from ebbtide.text import count
from ebbtide.trust import write_all
from repo_layout import admission_kubernetes, admission_slurm
from repo_layout.adapters.accepted_file import AcceptedFile
from repo_layout.adapters.clock import now_ms
from repo_layout.admission import AdmissionView, view
from repo_layout.model import Estate
from repo_layout.payload import digest, node_payloads

SLURM = "slurm"
NEXT = {
    # Applied by the client, a table of some 1,200 contracts would not fit the annotation in which kubectl keeps it.
    "kubernetes": "kubectl apply --server-side -f {out}/table.yaml -f {out}/land.yaml -f {out}/admission.yaml"
    "   (with Kyverno: -f {out}/table.yaml -f {out}/kyverno.yaml)",
    SLURM: "copy the files beside slurm.conf; scontrol reconfigure where its nodes changed",
}


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when the files are written, 1 when the bundle does not hold; nothing is written then."""
    kept = AcceptedFile(Path(args.accepted)) if args.accepted else None
    try:
        # An expired bundle is taken: what is rendered judges time by itself.
        held, keys = held_at(args.where, region=args.region, trust=args.trust, kept=kept, now=now_ms(), late=Late.SAY)
    except Untrusted as error:
        return _refused(error, terminal)
    verified, statement = held.verified, held.verified.statement
    seen = _view(held.estate, args.cluster, version=statement.version, expires_ms=statement.expires)
    if args.warn and seen.scheduler == SLURM:
        raise Advice("--warn is for Kubernetes: a job_submit script accepts or refuses", hint="leave --warn out")
    files = _rendered(seen, enforce=not args.warn)
    write_all(Path(args.out), {name: text.encode() for name, text in files.items()})
    if kept is not None:
        kept.accept(verified, keys)
    late = f"version {statement.version} has expired: nothing new is admitted until it is signed again"
    if terminal.as_json:
        terminal.document(
            {"cluster": seen.cluster, "region": seen.region, "scheduler": seen.scheduler, "version": seen.version,
             "expires": seen.expires_ms, "expired": verified.expired, "contracts": len(seen.table),
             "commit": statement.commit, "out": args.out, "files": sorted(files)}
        )  # fmt: skip
    else:
        told = f"{count(len(seen.table), 'contract')} of {seen.cluster} ({seen.region}, version {seen.version})"
        terminal.lines([f"{told} in {args.out}: {', '.join(sorted(files))}", *([late] if verified.expired else [])])
        terminal.lines([f"next: {NEXT[seen.scheduler].format(out=args.out)}"])
    return 0


def _view(estate: Estate, cluster: str, *, version: int, expires_ms: int) -> AdmissionView:
    clusters = sorted(estate.region_of_cluster)
    if cluster not in clusters:
        raise unknown("cluster", cluster, clusters, lists=f"this bundle has {', '.join(clusters)}")
    nodes = node_payloads(estate, estate.region_of_cluster[cluster])
    digests = {name: digest(payload) for name, payload in nodes.items()}
    return view(estate, cluster, version=version, expires_ms=expires_ms, digests=digests)


def _rendered(seen: AdmissionView, *, enforce: bool) -> Mapping[str, str]:
    if seen.scheduler == SLURM:
        return admission_slurm.render(seen)
    return admission_kubernetes.render(seen, enforce=enforce)


def _refused(error: Untrusted, terminal: Terminal) -> int:
    if terminal.as_json:
        terminal.document(refusal_document(error))
    else:
        terminal.lines(refusal_text(error, terminal.paint, "nothing was written"))
    return 1
