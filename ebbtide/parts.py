"""What there is to verify in a signed folder: every payload with its bundles, and every node bundle.

`ebbtide verify` shows the verdict on each part, `ebbtide publish` refuses a folder with a bad one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contracts.bundle import read_node_bundle
from contracts.dsse import Kind
from contracts.errors import Refused
from contracts.verify import Expects
from ebbtide.advice import unknown
from ebbtide.trust import Folder
from repo_layout.sign import NODES, REGION, by_payload, keyless_file, workload_of

NODE_BUNDLE = ".bundle.json"


@dataclass(frozen=True, slots=True)
class Part:
    """One payload to look at, with its bundles and whom it should be for."""

    file: str
    payload: bytes
    bundles: tuple[bytes, ...]
    expects: Expects


def parts_of(folder: Folder, estate: str | None, region: str | None, node: str | None) -> Iterator[Part]:
    """Every payload with its bundles, and every node bundle; without an estate, which a key set names, keyless ones."""
    names, managed = sorted(folder.compiled.digests, key=lambda name: (name != REGION, name)), estate is not None
    signed = by_payload(folder.files)
    if node is not None:
        if f"{NODES}{node}.json" not in names:
            nodes = [workload_of(name) for name in names if name.startswith(NODES)]
            raise unknown("node bundle", node, nodes, lists=f"ls {folder.where}")
        names = [f"{NODES}{node}.json"]
    for name in names:
        payload = folder.files.get(name, b"")
        found = signed.get(name, []) if managed else [keyless_file(name)]
        bundles = tuple(folder.files[file] for file in found if file in folder.files)
        yield Part(name, payload, bundles, _expects(name, estate, region))
        carried = folder.files.get(name.removesuffix(".json") + NODE_BUNDLE)
        if managed and name.startswith(NODES) and carried is not None:
            yield node_part(name.removesuffix(".json") + NODE_BUNDLE, carried, _expects(name, estate, region))


def _expects(name: str, estate: str | None, region: str | None) -> Expects:
    if name == REGION:
        return Expects(estate, region, Kind.REGION)
    return Expects(estate, region, Kind.NODE, workload_of(name))


def node_part(name: str, raw: bytes, expects: Expects) -> Part:
    """A node bundle; one that cannot be read is a part all the same, and refused."""
    try:
        bundle = read_node_bundle(raw)
    except Refused:
        return Part(name, b"", (raw,), expects)  # the verifier says what is wrong with it
    return Part(name, bundle.payload, bundle.bundles, expects)
