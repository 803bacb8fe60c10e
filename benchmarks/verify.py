"""What it costs a node to verify its bundle: from the first import to the first answer, each answer after, memory.

Each run is a fresh interpreter that imports what an agent imports for it and nothing else (`contracts.verify` and its
like; PyNaCl when the first signature is looked at), reads the key set of its image, and verifies one node bundle of 1.2
KiB of payload. `ms` is everything up to the first answer, imports included, `cpu_ms` its time on a processor, which a
busy machine stretches less, `rss_mib` the most that the process ever held; all are medians of all runs. None grows with
the estate; `ms` grows with signers and bundle size, which 8 KiB bounds. Peers: an interpreter that imports nothing, and
the same with two signers of a threshold of two.

    python -m benchmarks.verify [--runs N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from nacl.signing import SigningKey

from contracts.bundle import write_node_bundle
from contracts.canonical import canonical
from contracts.dsse import Statement, Subject, pae
from contracts.key_set import PAYLOAD_TYPE, KeySet, PublicKey, Role, write_signed
from repo_layout.sign import Signer, sigstore_bundle

BEGINS, NOW, ENDS = 1_790_000_000_000, 1_790_000_001_000, 1_800_000_000_000
PAYLOAD = canonical({"format": 1, "padding": "x" * 1_200})
WARM = 200

NODE = f"""
import sys
from time import perf_counter, process_time
began, used = perf_counter(), process_time()
from contracts.dsse import Kind
from contracts.key_set import anchor
from contracts.verify import NOTHING, Expects, verify_node
raw, keys = (bytes.fromhex(line) for line in sys.argv[1:])
def answer():
    expects = Expects("harbour", "aarhus", Kind.NODE)
    return verify_node(raw, keys=held, expects=expects, accepted=NOTHING, now={NOW})
held = anchor(keys)
answer()
first, used = perf_counter() - began, process_time() - used
each = []
for _ in range({WARM}):
    began = perf_counter()
    answer()
    each.append(perf_counter() - began)
print(first * 1000, used * 1000, sorted(each)[{WARM // 2}] * 1000)
"""
BARE = "print(0, 0, 0)"
MEMORY = """
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds to the first answer (and of them on a processor) and for each after, and MiB at most."""

    first_ms: float
    cpu_ms: float
    each_ms: float
    rss_mib: float


def node_bundle(*names: str) -> tuple[bytes, bytes]:
    """A node bundle signed by these keys, and the key set that asks for all of them."""
    private = {name: SigningKey(hashlib.sha256(name.encode()).digest()) for name in names}
    public = [PublicKey(bytes(key.verify_key), name, frozenset(Role), BEGINS, ENDS) for name, key in private.items()]
    limits = dict.fromkeys(Role, len(names))
    keys = KeySet("harbour", 1, BEGINS, limits, {key.id: key for key in public})
    digest = hashlib.sha256(PAYLOAD).hexdigest()
    said = Statement(Subject("harbour", "aarhus", "render"), digest, "c" * 40, "ci@harbour", 7, BEGINS, ENDS)
    signers = [Signer(key.id, lambda data, name=key.name: private[name].sign(data).signature) for key in public]  # type: ignore[misc]  # the default binds the name
    signatures = {one.key_id: one.sign(pae(PAYLOAD_TYPE, keys.payload)) for one in signers}
    return (
        write_node_bundle(PAYLOAD, [sigstore_bundle(said, one) for one in signers]),
        write_signed(keys.payload, signatures),
    )


def measured(program: str, *given: bytes) -> Cost:
    """One fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", program + MEMORY, *(one.hex() for one in given)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return Cost(*map(float, done.stdout.split()))


def median(costs: list[Cost]) -> Cost:
    """Each figure's own median."""
    return Cost(
        statistics.median(cost.first_ms for cost in costs),
        statistics.median(cost.cpu_ms for cost in costs),
        statistics.median(cost.each_ms for cost in costs),
        statistics.median(cost.rss_mib for cost in costs),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    runs: int = parser.parse_args().runs
    one, two = node_bundle("ci"), node_bundle("ci", "ann")
    measured(NODE, *one)  # compiles what was never compiled
    node, pair, bare = (
        median([measured(program, *given) for _ in range(runs)])
        for program, given in ((NODE, one), (NODE, two), (BARE, ()))
    )
    print(f"node bundle of {len(one[0]):,} bytes, one signer  {_told(node)}")
    print(f"node bundle of {len(two[0]):,} bytes, two signers {_told(pair)}")
    print(f"an interpreter that does nothing                  {bare.rss_mib:.1f} MiB")
    print(
        json.dumps(
            {
                "bench": "verify",
                "ms": round(node.first_ms, 2),
                "rss_mib": round(node.rss_mib, 1),
                "cpu_ms": round(node.cpu_ms, 2),
                "warm_ms": round(node.each_ms, 3),
                "two_signers_ms": round(pair.first_ms, 2),
                "two_signers_warm_ms": round(pair.each_ms, 3),
                "bare_rss_mib": round(bare.rss_mib, 1),
                "bundle_bytes": len(one[0]),
                "runs": runs,
            }
        )
    )


def _told(cost: Cost) -> str:
    first = f"{cost.first_ms:.1f} ms to the first answer ({cost.cpu_ms:.1f} on a processor)"
    return f"{first}, {cost.each_ms:.2f} ms each after, {cost.rss_mib:.1f} MiB"


if __name__ == "__main__":
    main()
