"""Payloads and signatures for tests: any node payload that a contract could give, and text in place of a signature."""

from __future__ import annotations

from hypothesis import strategies as st

from contracts import bundle
from contracts.bundle import NodeCheckpoint, NodeDrain, NodePayload, NodePlace, NodeUnit
from contracts.canonical import MAX_INTEGER, canonical

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
LINES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
SIZES = st.integers(1, MAX_INTEGER)
SECONDS = st.integers(0, 10**6)

PLACES = st.one_of(
    st.builds(
        NodePlace,
        st.just("kubernetes"),
        NAMES,
        NAMES,
        st.dictionaries(LINES, st.text(st.characters(codec="utf-8"), max_size=8), min_size=1, max_size=3),
    ),
    st.builds(NodePlace, st.just("slurm"), NAMES, partition=NAMES, account=NAMES),
)
DRAINS = st.one_of(
    st.builds(NodeDrain, SECONDS, st.sampled_from([how for how in bundle.HOW if how != "command"])),
    st.builds(NodeDrain, SECONDS, st.just("command"), st.lists(LINES, min_size=1, max_size=4).map(tuple)),
)
PAYLOADS = st.builds(
    NodePayload,
    estate=NAMES,
    region=NAMES,
    workload=NAMES,
    team=NAMES,
    tier=st.sampled_from(bundle.TIERS),
    contract=st.just("0a" * 32),
    restart=st.sampled_from(bundle.RESTARTS),
    gang=st.integers(1, 64),
    notice_window_s=SECONDS,
    verification_margin_s=SECONDS,
    unit=st.builds(NodeUnit, st.integers(1, 512), SIZES, st.integers(0, 16), st.integers(0, MAX_INTEGER)),
    place=PLACES,
    drain=DRAINS,
    checkpoint=st.builds(
        NodeCheckpoint, st.sampled_from(bundle.CHECKPOINTS), st.none() | SECONDS, st.none() | SIZES, SECONDS
    ),
)
ONE = NodePayload(
    estate="three-ports",
    region="aarhus",
    workload="nightly-features",
    team="maps",
    tier="staged",
    contract="0a" * 32,
    restart="from-checkpoint",
    gang=1,
    notice_window_s=120,
    verification_margin_s=5,
    unit=NodeUnit(4, 16 * 2**30),
    place=NodePlace("kubernetes", "aarhus-k8s-a", "maps", {"workload": "nightly-features"}),
    drain=NodeDrain(60, "command", ("/opt/stop", "--now")),
    checkpoint=NodeCheckpoint("periodic", 1800, 2**30, 60),
)


def signature(size: int = 0) -> bytes:
    """JSON of the kind that stands where a Sigstore bundle does, at least so long."""
    return canonical({"mediaType": "application/json", "sig": "x" * size})
