"""An estate's signers for tests: keys from names, key sets, a small compiled folder, and what is signed with them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from nacl.signing import SigningKey

from contracts.canonical import JsonValue, canonical
from contracts.dsse import Statement, Subject, pae
from contracts.key_set import PAYLOAD_TYPE, KeySet, PublicKey, Role, write_signed
from repo_layout.model import Estate
from repo_layout.payload import region_payload
from repo_layout.sign import Facts, Signer, node_bundles, signed_folder, sigstore_bundle
from repo_layout.sign import read_compiled as compiled_of
from tests.checks.estates import judged, minimal

ESTATE, REGION, WORKLOAD = "harbour", "aarhus", "nightly-build"
DAY_MS = 86_400_000
T0 = 1_793_491_200_000
"""When everything begins to hold."""
NOW = T0 + DAY_MS
COMMIT = "c" * 40
BOTH = frozenset(Role)


def _payload() -> bytes:
    """A region's payload without a pool or a contract, as the compiler writes it."""
    read = judged(minimal()).estate
    if read is None:
        raise AssertionError("the minimal estate holds")
    region = read.settings.regions[0].model_copy(update={"name": REGION})
    settings = read.settings.model_copy(update={"estate": ESTATE, "regions": (region,)})
    return region_payload(Estate(COMMIT, 0, settings, read.directory, (), (), ()), REGION)


PAYLOAD = _payload()


def private(name: str) -> SigningKey:
    return SigningKey(hashlib.sha256(name.encode()).digest())


def signer(name: str) -> Signer:
    key = private(name)
    return Signer(key_id(name), lambda data: key.sign(data).signature)


def key_id(name: str) -> str:
    return hashlib.sha256(bytes(private(name).verify_key)).hexdigest()


def public(name: str, *, roles: frozenset[Role] = BOTH, begins: int = T0, ends: int = T0 + 365 * DAY_MS) -> PublicKey:
    return PublicKey(bytes(private(name).verify_key), name, roles, begins, ends)


def key_set(
    *keys: PublicKey, version: int = 1, bundles: int = 1, sets: int = 1, estate: str = ESTATE, issued: int = T0
) -> KeySet:
    thresholds = {Role.BUNDLES: bundles, Role.KEYS: sets}
    return KeySet(estate, version, issued, thresholds, {key.id: key for key in keys})


def signed_set(keys: KeySet, *by: str) -> bytes:
    payload = keys.payload
    return write_signed(payload, {key_id(name): signer(name).sign(pae(PAYLOAD_TYPE, payload)) for name in by})


def statement(
    payload: bytes = PAYLOAD,
    *,
    version: int = 7,
    workload: str = "",
    region: str = REGION,
    estate: str = ESTATE,
    begins: int = T0,
    ends: int = T0 + 30 * DAY_MS,
    requester: str = "ci@harbour",
) -> Statement:
    digest = hashlib.sha256(payload).hexdigest()
    return Statement(Subject(estate, region, workload), digest, COMMIT, requester, version, begins, ends)


def bundles(said: Statement, *by: str) -> list[bytes]:
    return [sigstore_bundle(said, signer(name)) for name in by]


def compiled(workloads: Sequence[str] = (WORKLOAD, "render"), *, region: str = REGION) -> dict[str, bytes]:
    """A compiled folder: the region's payload, one a workload, and the list."""
    files = {"region.json": PAYLOAD}
    for name in workloads:
        files[f"nodes/{name}.json"] = canonical({"format": 1, "require": [], "workload": name})
    digests = {name: hashlib.sha256(payload).hexdigest() for name, payload in files.items()}
    listing: dict[str, JsonValue] = {
        "format": 1,
        "estate": ESTATE,
        "region": region,
        "commit": COMMIT,
        "payloads": digests,
    }
    return {**files, "compiled.json": canonical(listing)}


def signed(files: Mapping[str, bytes], *by: str, version: int = 7, ends: int = T0 + 30 * DAY_MS) -> dict[str, bytes]:
    """The folder with the bundles of every signer and the node bundles."""
    listing = compiled_of(files["compiled.json"])
    payloads = {name: files[name] for name in listing.digests}
    made: dict[str, bytes] = {}
    for name in by:
        made |= signed_folder(payloads, listing, Facts("ci@harbour", version, T0, ends), signer(name))
    return {**files, **made, **node_bundles(payloads, made)}
