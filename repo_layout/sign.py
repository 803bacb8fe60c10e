"""What CI signs: the statement about each payload of a compiled folder, as Sigstore bundles and node bundles.

`ebbtide sign` calls it with a signer that holds the key, `contracts.verify` reads what it writes. It decides which
files a signed folder has. It must not know key files, clocks or folders.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from contracts.bundle import write_node_bundle
from contracts.canonical import canonical
from contracts.dsse import (
    MEDIA_TYPE,
    PAYLOAD_TYPE,
    Statement,
    Subject,
    pae,
    read_bundle,
    read_statement,
    write_statement,
)
from contracts.errors import Refused
from contracts.strict_json import Reader, read_json
from contracts.verify import MAX_PAYLOAD_BYTES

COMPILED = "compiled.json"
REGION = "region.json"
SIGSTORE = ".sigstore.json"
STATEMENT = ".statement.json"
NODES = "nodes/"
KEY_SETS = "keys/"
SHORT_ID = 12
"""Digits of a key id in a file's name."""
MAX_WORKLOADS = 100_000
CLOCKS_DIFFER_MS = 300_000
"""What is signed, and a key, begins to hold so long before it is made: a clock that is behind takes it at once."""
_MANAGED = re.compile(rf"([^.]+)\.[0-9a-f]{{{SHORT_ID}}}{re.escape(SIGSTORE)}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that signs: its id, and the function that makes an Ed25519 signature of exactly the bytes given."""

    key_id: str
    sign: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What `compiled.json` says: the commit, and each payload's file with its SHA-256 in hexadecimal."""

    estate: str
    region: str
    commit: str
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the signer adds to a payload."""

    requester: str
    version: int
    not_before: int
    expires: int


def read_compiled(raw: bytes) -> Compiled:
    """The list of payloads. Raises `Refused`."""
    try:
        document = Reader(read_json(raw, limit=MAX_PAYLOAD_BYTES), COMPILED)
        document.exactly("format", 1)
        found = Compiled(
            estate=document.text("estate", longest=200),
            region=document.text("region", longest=200),
            commit=document.text("commit", longest=200),
            digests={name: str(digest) for name, digest in document.mapping("payloads", most=MAX_WORKLOADS).items()},
        )
    except ValueError as error:
        raise Refused(f"this folder cannot be signed: {error}; compile it again") from None
    for name in found.digests:
        subject_of(name, found)
    return found


def workload_of(name: str) -> str:
    """The workload whose node payload this file is, by its name alone."""
    return name.removeprefix(NODES).removesuffix(".json")


def subject_of(name: str, compiled: Compiled) -> Subject:
    """Whom the payload in this file is for. Raises `Refused` for a file that is no payload."""
    workload = workload_of(name)
    if name == REGION:
        return Subject(compiled.estate, compiled.region)
    if name == f"{NODES}{workload}.json" and workload and "/" not in workload and "." not in workload:
        return Subject(compiled.estate, compiled.region, workload)
    raise Refused(f"{COMPILED} names {name!r}, which is no payload: compile the folder again")


def statements(payloads: Mapping[str, bytes], compiled: Compiled, facts: Facts) -> dict[str, Statement]:
    """What there is to sign: one statement for every payload, by its file in the folder. Raises `Refused` for a payload
    that is not the one that was compiled.
    """
    made = {}
    for name, digest in compiled.digests.items():
        payload = payloads.get(name)
        if payload is None or hashlib.sha256(payload).hexdigest() != digest:
            raise Refused(f"{name} is not the file that was compiled: compile the folder again")
        made[name] = Statement(
            subject=subject_of(name, compiled),
            digest=digest,
            commit=compiled.commit,
            requester=facts.requester,
            version=facts.version,
            not_before=facts.not_before,
            expires=facts.expires,
        )
    return made


def signed_folder(payloads: Mapping[str, bytes], compiled: Compiled, facts: Facts, signer: Signer) -> dict[str, bytes]:
    """One Sigstore bundle for every payload, by its file in the folder. Raises `Refused` as `statements` does."""
    made = statements(payloads, compiled, facts).items()
    return {bundle_file(name, signer.key_id): sigstore_bundle(statement, signer) for name, statement in made}


def statement_files(payloads: Mapping[str, bytes], compiled: Compiled, facts: Facts) -> dict[str, bytes]:
    """The statements for who signs elsewhere, in a folder of their own. Raises `Refused` as `statements` does."""
    made = statements(payloads, compiled, facts).items()
    return {f"{name.removesuffix('.json')}{STATEMENT}": _exact(statement) for name, statement in made}


def sigstore_bundle(statement: Statement, signer: Signer) -> bytes:
    """The bundle v0.3 of one signer. Raises `Refused` for facts that no verifier would take."""
    raw = _exact(statement)
    signature = signer.sign(pae(PAYLOAD_TYPE, raw))
    return canonical(
        {
            "mediaType": MEDIA_TYPE,
            "verificationMaterial": {"publicKey": {"hint": signer.key_id}},
            "dsseEnvelope": {
                "payload": b64encode(raw).decode("ascii"),
                "payloadType": PAYLOAD_TYPE,
                # Empty: cosign takes nothing else here but the fingerprint of an SSH key.
                "signatures": [{"keyid": "", "sig": b64encode(signature).decode("ascii")}],
            },
        }
    )


def node_bundles(payloads: Mapping[str, bytes], bundles: Mapping[str, bytes]) -> dict[str, bytes]:
    """The node bundle of every node payload from the bundles of all its signers, by its file in the folder.

    Raises `Refused` for one above 8 KiB.
    """
    files, signed = {}, by_payload(bundles)
    for name, payload in payloads.items():
        if name.startswith(NODES):
            mine = [bundles[file] for file in signed.get(name, [])]
            files[f"{name.removesuffix('.json')}.bundle.json"] = write_node_bundle(payload, mine)
    return files


def bundle_file(name: str, key_id: str) -> str:
    """Where one signer's bundle of a payload lies."""
    return f"{name.removesuffix('.json')}.{key_id[:SHORT_ID]}{SIGSTORE}"


def bundles_of(name: str, files: Iterable[str]) -> list[str]:
    """The sorted files that hold bundles with managed keys of the payload in the file `name`."""
    return by_payload(files).get(name, [])


def by_payload(files: Iterable[str]) -> dict[str, list[str]]:
    """The sorted files that hold bundles with managed keys, by the file of their payload."""
    found: dict[str, list[str]] = {}
    for file in sorted(files):
        if name := _MANAGED.fullmatch(file):
            found.setdefault(f"{name[1]}.json", []).append(file)
    return found


def keyless_file(name: str) -> str:
    """Where the keyless bundle of a payload lies."""
    return f"{name.removesuffix('.json')}.keyless{SIGSTORE}"


def facts_of(bundle: bytes) -> Facts:
    """What another signer said about a payload, to say the same. Its signature is not looked at. Raises `Refused`."""
    statement = read_statement(read_bundle(bundle).statement)
    return Facts(statement.requester, statement.version, statement.not_before, statement.expires)


def _exact(statement: Statement) -> bytes:
    """The bytes that are signed. Raises `Refused` for facts that would not be read back."""
    raw = write_statement(statement)
    if read_statement(raw) != statement:
        raise Refused(f"the facts about {statement.subject} cannot be written down: {statement}")
    return raw
