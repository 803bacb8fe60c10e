"""What a node holds of its workload's contract: the node payload, and the node bundle that carries it, signed.

The compiler writes payloads, CI writes bundles, the agent reads both before and during the last 120 seconds, with
nothing central alive. Standard library only. It must not know who signed: that is `contracts.verify`'s.

A payload says its `format` and what it `require`s: names of fields (`drain.how`) that a reader has to know. A reader
takes the last two formats, passes over fields that it does not know, and refuses a payload that requires one of them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from contracts.canonical import JsonValue, canonical
from contracts.errors import Refused
from contracts.strict_json import Reader, read_canonical, read_json

FORMAT: Final = 1
"""The format of payloads and of node bundles that this version writes; it reads this one and the one before."""

MAX_NODE_BUNDLE: Final = 8 * 1024
"""Bytes of a node bundle: the share of a provider's user data that the design gives it."""

MAX_NODE_PAYLOAD: Final = 3 * 1024
"""Bytes of a node payload: 4 KiB once in base64, which leaves room for three signatures of 1.3 KiB in the bundle."""

MAX_SIGNATURES: Final = 8
"""More than fit; a list that is longer is nobody's."""

MAX_COMMAND: Final = 32
_NAME: Final = 63
_LINE: Final = 200
_FORMAT: Final = "format"

FormatConverter = Callable[[Mapping[str, JsonValue]], Mapping[str, JsonValue]]
CONVERTERS: Mapping[int, FormatConverter] = {}
"""From the number of the format before to the step that makes the current one of it. There is one format so far."""


@dataclass(frozen=True, slots=True)
class NodeDrain:
    """How the node ends the work: `how` is evict, signal-and-wait, command or nothing."""

    budget_s: int
    how: str
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeCheckpoint:
    """What survives, of one unit: `interval_s` and `size` (bytes) are None where the contract names none."""

    mode: str
    interval_s: int | None = None
    size: int | None = None
    start_up_s: int = 0


@dataclass(frozen=True, slots=True)
class NodeUnit:
    """One unit, memory and disk in bytes."""

    vcpu: int
    memory: int
    gpu: int = 0
    local_disk: int = 0


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where the work runs: namespace and selector on Kubernetes, partition and account on Slurm, the others empty."""

    scheduler: str
    cluster: str
    namespace: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    partition: str = ""
    account: str = ""


@dataclass(frozen=True, slots=True)
class NodePayload:
    """Everything that a node needs of its contract.

    `contract` is the digest of the whole contract (hexadecimal SHA-256 of its canonical form), so that a record can
    name what held. `notice_window_s` is the shortest that any pool of the workload promises, `verification_margin_s`
    the region's. No bucket, key or person is here: user data is public, and the node reads none of them.
    """

    estate: str
    region: str
    workload: str
    team: str
    tier: str
    contract: str
    restart: str
    gang: int
    notice_window_s: int
    verification_margin_s: int
    unit: NodeUnit
    place: NodePlace
    drain: NodeDrain
    checkpoint: NodeCheckpoint


HOW = ("evict", "signal-and-wait", "command", "nothing")
TIERS = ("anchored", "resumable", "staged", "requeued", "scavenger")
RESTARTS = ("from-scratch", "from-checkpoint", "requeue", "never")
CHECKPOINTS = ("none", "periodic", "on-notice", "both")
SCHEDULERS = ("kubernetes", "slurm")

_ALONE = (
    "estate", "region", "workload", "team", "tier", "contract", "restart", "gang", "noticeWindow", "verificationMargin",
)  # fmt: skip
_BELOW: Mapping[str, tuple[str, ...]] = {
    "unit": ("vcpu", "memory", "gpu", "localDisk"),
    "place": ("scheduler", "cluster", "namespace", "selector", "partition", "account"),
    "drain": ("budget", "how", "command"),
    "checkpoint": ("mode", "interval", "size", "startUp"),
}
KNOWN: frozenset[str] = frozenset(
    {*_ALONE, *_BELOW, *(f"{name}.{below}" for name, inner in _BELOW.items() for below in inner)}
)
"""The fields that this version reads, by their path."""


# --------------------------------------------------------------------------------------------------------- the payload


def write_node(payload: NodePayload, *, require: Sequence[str] = ()) -> bytes:
    """The canonical bytes; `require` names fields that a reader has to know. Durations in seconds, sizes in bytes.

    Raises `Refused` above `MAX_NODE_PAYLOAD`.
    """
    raw = node_bytes(payload, require=require)
    if len(raw) > MAX_NODE_PAYLOAD:
        raise Refused(f"the node payload of {payload.workload} has {len(raw):,} bytes, more than {MAX_NODE_PAYLOAD:,}")
    return raw


def node_bytes(payload: NodePayload, *, require: Sequence[str] = ()) -> bytes:
    """The same of any size: for whoever has to say by how much it is too large."""
    place, drain, checkpoint = payload.place, payload.drain, payload.checkpoint
    document: dict[str, JsonValue] = {
        _FORMAT: FORMAT,
        "require": sorted(require),
        "estate": payload.estate,
        "region": payload.region,
        "workload": payload.workload,
        "team": payload.team,
        "tier": payload.tier,
        "contract": payload.contract,
        "restart": payload.restart,
        "gang": payload.gang,
        "noticeWindow": payload.notice_window_s,
        "verificationMargin": payload.verification_margin_s,
        "unit": {
            "vcpu": payload.unit.vcpu,
            "memory": payload.unit.memory,
            "gpu": payload.unit.gpu,
            "localDisk": payload.unit.local_disk,
        },
        "place": _present(
            {
                "scheduler": place.scheduler,
                "cluster": place.cluster,
                "namespace": place.namespace or None,
                "selector": dict(place.selector) or None,
                "partition": place.partition or None,
                "account": place.account or None,
            }
        ),
        "drain": _present({"budget": drain.budget_s, "how": drain.how, "command": list(drain.command) or None}),
        "checkpoint": _present(
            {
                "mode": checkpoint.mode,
                "interval": checkpoint.interval_s,
                "size": checkpoint.size,
                "startUp": checkpoint.start_up_s,
            }
        ),
    }
    return canonical(document)


def read_node(raw: bytes, *, converters: Mapping[int, FormatConverter] = CONVERTERS) -> NodePayload:
    """The payload that the bytes hold. Verify them first: this says what they mean, not whose they are.

    Raises `Refused` for anything that `write_node` of this version or the one before could not have written, but for
    fields that are not known here and not required.
    """
    try:
        document = open_payload(raw, limit=MAX_NODE_PAYLOAD, known=KNOWN, converters=converters)
        return _node(document)
    except ValueError as error:
        raise Refused(f"this is no node payload: {error}") from None


def open_payload(
    raw: bytes, *, limit: int, known: frozenset[str], converters: Mapping[int, FormatConverter] = CONVERTERS
) -> Mapping[str, JsonValue]:
    """The document behind canonical bytes, in the current format. Region payloads open in the same way.

    Raises `ValueError` for what is too large, not canonical, of a format that is not read, or in need of a field that
    `known` lacks.
    """
    document = read_canonical(raw, limit=limit)
    if not isinstance(document, Mapping):
        raise ValueError("it is no object")  # noqa: TRY004 - callers turn ValueError into their refusal
    written = document.get(_FORMAT)
    if not isinstance(written, int) or isinstance(written, bool):
        raise ValueError("it names no format")  # noqa: TRY004 - the same
    if written != FORMAT:
        converter = converters.get(written) if written == FORMAT - 1 else None
        if converter is None:
            raise ValueError(_of_another_format(written))
        document = converter(document)
    _require(document, known)
    return document


def _of_another_format(written: int) -> str:
    if written > FORMAT:
        return f"it has format {written}, and this version reads up to {FORMAT}: it needs a newer ebbtide"
    return f"it has format {written}, and this version reads from {max(FORMAT - 1, 1)}: compile it again"


def _require(document: Mapping[str, JsonValue], known: frozenset[str]) -> None:
    """Raises `ValueError` for a required field that is not known here, or not there."""
    for name in Reader({"require": document.get("require", [])}, "it").items("require", most=64, least=0):
        if not isinstance(name, str):
            raise ValueError("what it requires is no list of names")  # noqa: TRY004 - the same
        if name not in known:
            raise ValueError(f"it requires {name[:_NAME]!a}, which this version does not know: update it first")
        at: JsonValue = document
        for step in name.split("."):
            at = at.get(step) if isinstance(at, Mapping) else None
        if at is None:
            raise ValueError(f"it requires {name} and lacks it")


def _node(document: Mapping[str, JsonValue]) -> NodePayload:
    fields, place = Reader(document, "the payload"), document.get("place")
    labels = place.get("selector") if isinstance(place, Mapping) else None
    return NodePayload(
        estate=fields.text("estate", longest=_NAME),
        region=fields.text("region", longest=_NAME),
        workload=fields.text("workload", longest=_NAME),
        team=fields.text("team", longest=_NAME),
        tier=_one_of(fields, "tier", TIERS),
        contract=fields.digest("contract"),
        restart=_one_of(fields, "restart", RESTARTS),
        gang=fields.number("gang", least=1),
        notice_window_s=fields.number("noticeWindow"),
        verification_margin_s=fields.number("verificationMargin"),
        unit=_unit(fields.object("unit")),
        place=_place(fields.object("place"), labels),
        drain=_drain(fields.object("drain")),
        checkpoint=_checkpoint(fields.object("checkpoint")),
    )


def _unit(fields: Reader) -> NodeUnit:
    return NodeUnit(
        vcpu=fields.number("vcpu", least=1),
        memory=fields.number("memory", least=1),
        gpu=fields.number("gpu"),
        local_disk=fields.number("localDisk"),
    )


def _place(fields: Reader, labels: JsonValue) -> NodePlace:
    scheduler = _one_of(fields, "scheduler", SCHEDULERS)
    cluster = fields.text("cluster", longest=_NAME)
    if scheduler == "slurm":
        partition, account = fields.text("partition", longest=_NAME), fields.text("account", longest=_NAME)
        return NodePlace(scheduler, cluster, partition=partition, account=account)
    namespace = fields.text("namespace", longest=_NAME)
    if not isinstance(labels, Mapping) or not all(isinstance(value, str) for value in labels.values()):
        raise ValueError("place: selector is no object of text")
    return NodePlace(scheduler, cluster, namespace, {name: str(value) for name, value in labels.items()})


def _drain(fields: Reader) -> NodeDrain:
    how = _one_of(fields, "how", HOW)
    words = fields.items("command", most=MAX_COMMAND) if how == "command" else ()
    if not all(isinstance(word, str) and 0 < len(word) <= _LINE for word in words):
        raise ValueError("drain: command is no list of words")
    return NodeDrain(fields.number("budget"), how, tuple(str(word) for word in words))


def _checkpoint(fields: Reader) -> NodeCheckpoint:
    return NodeCheckpoint(
        mode=_one_of(fields, "mode", CHECKPOINTS),
        interval_s=fields.number("interval") if fields.has("interval") else None,
        size=fields.number("size") if fields.has("size") else None,
        start_up_s=fields.number("startUp"),
    )


def _one_of(fields: Reader, name: str, choices: tuple[str, ...]) -> str:
    value = fields.text(name, longest=_NAME)
    if value not in choices:
        raise ValueError(f"{name} is {value!a}, none of {', '.join(choices)}")
    return value


def _present(fields: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The fields that have a value; a field that is absent has none."""
    return {name: value for name, value in fields.items() if value is not None}


# ---------------------------------------------------------------------------------------------------- the node bundle


@dataclass(frozen=True, slots=True)
class NodeBundle:
    """The exact bytes that were signed, and each signature's own bundle, in the order of the file."""

    payload: bytes
    bundles: tuple[bytes, ...]


def write_node_bundle(payload: bytes, bundles: Sequence[bytes]) -> bytes:
    """`nodes/<workload>.bundle.json`: one line of ASCII, the whole of it at most `MAX_NODE_BUNDLE` bytes.

    `bundles` are Sigstore bundles as JSON. Raises `Refused` where one is no JSON, where there is none, or above the
    limit; the message counts what each part takes.
    """
    if not 1 <= len(bundles) <= MAX_SIGNATURES:
        raise Refused(f"a node bundle has 1 to {MAX_SIGNATURES} signatures, not {len(bundles)}")
    encoded = base64.b64encode(payload).decode("ascii")
    try:
        _require_small(payload)
        signatures = [read_json(raw, limit=MAX_NODE_BUNDLE) for raw in bundles]
        raw = canonical({_FORMAT: FORMAT, "payload": encoded, "bundles": signatures})
    except ValueError as error:
        raise Refused(f"a node bundle cannot carry what it was given: {error}") from None
    if not raw.isascii():
        raise Refused("a signature of the node bundle holds text that is not ASCII")
    if len(raw) > MAX_NODE_BUNDLE:
        raise Refused(
            f"the node bundle has {len(raw):,} bytes, more than {MAX_NODE_BUNDLE:,}: the payload takes "
            f"{len(encoded):,} in base64, {len(bundles)} signatures take {len(raw) - len(encoded):,}"
        )
    return raw


def read_node_bundle(raw: bytes) -> NodeBundle:
    """The parts of a node bundle, nothing verified. Raises `Refused` for anything that no `write_node_bundle` wrote."""
    try:
        document = Reader(read_canonical(raw, limit=MAX_NODE_BUNDLE), "the node bundle")
        _require_bundle_format(document.number(_FORMAT))
        payload = document.data("payload", limit=MAX_NODE_PAYLOAD)
        bundles = tuple(_objects(document.items("bundles", most=MAX_SIGNATURES)))
        document.done()
        _require_small(payload)
    except ValueError as error:
        raise Refused(f"this is no node bundle: {error}") from None
    return NodeBundle(payload, bundles)


def _require_small(payload: bytes) -> None:
    if len(payload) > MAX_NODE_PAYLOAD:
        raise ValueError(f"the payload has {len(payload):,} bytes, more than {MAX_NODE_PAYLOAD:,}")


def _require_bundle_format(written: int) -> None:
    """The envelope has one format so far; the one before it will be read here once there is another."""
    if written != FORMAT:
        raise ValueError(_of_another_format(written))


def _objects(items: Sequence[JsonValue]) -> Iterator[bytes]:
    for item in items:
        if not isinstance(item, Mapping):
            raise ValueError("a signature is no object")  # noqa: TRY004 - the same
        yield canonical(item)
