"""What admission adds to creating a pod: the same pods at two API servers side by side, one of which checks them.

Peer: the other server, of the same build, on the same machine in the same seconds, without a policy. Each pair creates
one pod at each of the two, in alternating order, so that what else the machine does falls on both. The table holds the
contracts of a whole estate in one cluster (220). A pod without our label is what everybody else pays.

    python -m benchmarks.admission [--pairs N] [--contracts N] [--runs N] [--engine server|kyverno]

With --engine kyverno the checks are Kyverno's, called as a webhook; tools/kyverno.sh builds it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from repo_layout.admission import WORKLOAD_LABEL, AdmissionView, Admitted
from repo_layout.admission_kubernetes import render
from tools.servers.control_plane import control_plane
from tools.servers.kubernetes_api import Api
from tools.servers.kyverno import kyverno
from tools.servers.process import wait_until

GIB = 1 << 30
WARM_UP = 50
"""Pairs that are not counted: the first requests fill caches and compile expressions."""
NAMESPACE = "astro"
FILES = {"server": ("table.yaml", "land.yaml", "admission.yaml"), "kyverno": ("table.yaml", "kyverno.yaml")}
CREATE = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(slots=True)
class Pairs:
    """Milliseconds of the same creations without and with admission."""

    bare: list[float] = field(default_factory=list)
    checked: list[float] = field(default_factory=list)

    def figures(self, name: str) -> dict[str, float]:
        """Medians and the 99th of a hundred; what is added is the median of the pairs' differences."""
        added = [with_it - without for without, with_it in zip(self.bare, self.checked, strict=True)]
        return {
            f"{name}_bare_ms": _rounded(statistics.median(self.bare)),
            f"{name}_ms": _rounded(statistics.median(self.checked)),
            f"{name}_added_ms": _rounded(statistics.median(added)),
            f"{name}_bare_p99_ms": _rounded(_p99(self.bare)),
            f"{name}_p99_ms": _rounded(_p99(self.checked)),
        }


def estate(contracts: int) -> AdmissionView:
    """So many contracts of one cluster."""
    table = tuple(
        Admitted(
            workload=f"workload-{number:04d}", digest=f"{number:064x}", team=f"team-{number % 25}", tier="staged",
            restart="requeue", drain_budget_s=60, gang=1, maximum=40, vcpu=8, memory=32 * GIB, gpu=0,
            namespace=NAMESPACE, selector={"workload": f"workload-{number:04d}"},
        )
        for number in range(contracts)
    )  # fmt: skip
    return AdmissionView("estate", "aarhus", "aarhus-k8s", "kubernetes", 1, 4_102_444_800_000, table)


def pod(name: str, workload: str) -> Mapping[str, object]:
    """A pod of two containers; without a workload it asks for nothing of ours."""
    labels = {"workload": workload, WORKLOAD_LABEL: workload} if workload else {"app": "plain"}
    container = {"image": "registry.example/work:1", "resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}
    containers = [{"name": "main", **container}, {"name": "beside", **container}]
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


def timed(api: Api, document: Mapping[str, object]) -> float:
    """Milliseconds of one creation as its client sees it."""
    began = time.perf_counter()
    answer = api.post(CREATE, document)
    took = (time.perf_counter() - began) * 1000
    if not answer.accepted:
        raise SystemExit(f"a pod was refused: {answer.message}")
    return took


def measured(bare: Api, checked: Api, workloads: Sequence[str], pairs: int, tag: str) -> Pairs:
    """Create pairs, alternating which of the two goes first."""
    found = Pairs()
    for number in range(WARM_UP + pairs):
        document = pod(f"{tag}-{number:06d}", workloads[number % len(workloads)])
        first, second = (bare, checked) if number % 2 else (checked, bare)
        took = {id(first): timed(first, document), id(second): timed(second, document)}
        if number >= WARM_UP:
            found.bare.append(took[id(bare)])
            found.checked.append(took[id(checked)])
    return found


def installed(api: Api, view: AdmissionView, engine: str) -> None:
    """Put admission on a server and wait until it refuses and lands."""
    for name in FILES[engine]:
        refused = [answer.message for answer in api.apply(render(view)[name]) if not answer.accepted]
        if refused:
            raise SystemExit(f"{name} was refused: {refused[0]}")
    probes = (pod("probe", "nobody-s"), pod("probe", view.table[0].workload))

    def works() -> bool:
        unknown, known = (api.post(f"{CREATE}?dryRun=All", probe) for probe in probes)
        return not unknown.accepted and known.accepted

    if not wait_until(works, within_s=60):
        raise SystemExit("the policies do not tell an admitted workload from an unknown one")


def one_run(folder: Path, view: AdmissionView, pairs: int, engine: str) -> Mapping[str, Pairs]:
    """Both kinds of pod at two fresh servers."""
    workloads = [one.workload for one in view.table]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    with (
        control_plane(folder / "bare") as one,
        control_plane(folder / "checked") as other,
        one.api() as bare,
        other.api() as checked,
        ExitStack() as running,
    ):
        for api in (bare, checked):
            api.post("/api/v1/namespaces", namespace)
        running.enter_context(kyverno(other) if engine == "kyverno" else nullcontext())
        installed(checked, view, engine)
        return {
            "plain": measured(bare, checked, [""], pairs, "plain"),
            "admitted": measured(bare, checked, workloads, pairs, "admitted"),
        }


def main() -> None:
    """Measure, say it, and end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--contracts", type=int, default=220)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", choices=FILES, default="server")
    args = parser.parse_args()
    view = estate(args.contracts)
    plain, admitted = Pairs(), Pairs()
    with tempfile.TemporaryDirectory() as folder:
        for run in range(args.runs):
            for name, found in one_run(Path(folder) / str(run), view, args.pairs, args.engine).items():
                print(f"run {run + 1}: {json.dumps(found.figures(name))}", flush=True)
                into = plain if name == "plain" else admitted
                into.bare += found.bare
                into.checked += found.checked
    figures = {**plain.figures("plain"), **admitted.figures("admitted")}
    print(
        f"creating a pod of an admitted workload: {figures['admitted_bare_ms']} ms without admission, "
        f"{figures['admitted_added_ms']} ms more with it; any other pod: {figures['plain_added_ms']} ms more"
    )
    print(
        json.dumps(
            {"bench": "admission", "engine": args.engine, "contracts": args.contracts, **figures, "runs": args.runs}
        )
    )


def _p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


def _rounded(value: float) -> float:
    return round(value, 2)


if __name__ == "__main__":
    main()
